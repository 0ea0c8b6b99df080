# Commands that read a trace.
tools_libtools_a_SOURCES += \
	tools/bench/trace/advise.c tools/bench/trace/file.c tools/bench/trace/file.h \
	tools/bench/trace/life.c tools/bench/trace/life.h tools/bench/trace/map.c \
	tools/bench/trace/model.c tools/bench/trace/model.h tools/bench/trace/replay.c \
	tools/bench/trace/replay.h tools/bench/trace/replay_cpu.c \
	tools/bench/trace/replay_kernel.h tools/bench/trace/replay_script.c \
	tools/bench/trace/replay_table.c tools/bench/trace/replay_table.h
EXTRA_DIST += tools/bench/trace/replay_cuda.cu
if HAVE_BENCH_KERNELS
shpool_bench_SOURCES += tools/bench/trace/replay_cuda.cu
endif
