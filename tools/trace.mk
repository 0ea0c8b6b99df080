# shpool-bench's commands that read a trace; tests link the same files.
shpool_trace_sources = \
	tools/heap_map.c \
	tools/heap_map.h \
	tools/heap_map_fault.c \
	tools/heap_map_legend.c \
	tools/replay.h \
	tools/replay_cpu.c \
	tools/replay_kernel.h \
	tools/replay_script.c \
	tools/trace_file.c \
	tools/trace_file.h \
	tools/trace_life.c \
	tools/trace_life.h
shpool_bench_trace = tools/bench_map.c tools/bench_replay.c tools/bench_replay.h \
	tools/bench_replay_table.c tools/bench_trace.h \
	$(shpool_trace_sources)
