# The programs of tools/.
noinst_HEADERS += tests/tools/colliding.h tests/tools/replay_trial.h tests/tools/trace_text.h
EXTRA_DIST += tests/tools/fail_malloc.c tests/tools/stand_in_driver.c \
	tests/tools/stand_in_linker.c tests/tools/test_draw.py
shpool_test_scripts += tests/tools/bench.sh tests/tools/devices.sh tests/tools/faults.sh \
	tests/tools/info.sh tests/tools/output.sh tests/tools/plot.sh \
	tests/tools/tools.sh tests/tools/trace.sh
if HAVE_CMOCKA
shpool_cmocka_tests += tests/tools/test_advise \
	tests/tools/test_bench_gpu tests/tools/test_bench_memory \
	tests/tools/test_memory_log tests/tools/test_replay tests/tools/test_replay_groups \
	tests/tools/test_tool_faults
# Fuzz targets; tests/build/fuzz.sh has the same lists.
shpool_tests += tests/tools/fuzz_log tests/tools/fuzz_options tests/tools/fuzz_trace
tests_tools_fuzz_log_SOURCES = tests/tools/fuzz_log.c $(shpool_fuzz_main) \
	tools/bench/column.c tools/bench/memory/common.c tools/bench/memory/replay.c \
	tools/bench/places.c $(shpool_tool_sources)
tests_tools_fuzz_options_SOURCES = tests/tools/fuzz_options.c $(shpool_fuzz_main) \
	tests/tools/fuzz_options_stubs.c \
	tools/bench/block/options.c tools/bench/compare.c tools/bench/list.c \
	tools/bench/loadstore/loadstore.c tools/bench/memory/memory.c tools/bench/names.c \
	tools/bench/plot.c tools/bench/trace/map.c \
	tools/bench/trace/replay.c tools/message.c tools/options.c
tests_tools_fuzz_options_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=tool_parse \
	-Wl,--wrap=bench_picture_check
tests_tools_fuzz_options_LDADD   = $(LDADD) $(LIBM)
tests_tools_fuzz_trace_SOURCES = tests/tools/fuzz_trace.c $(shpool_fuzz_main) \
	tools/bench/trace/file.c tools/bench/trace/life.c tools/bench/places.c \
	$(shpool_tool_sources)
tests_tools_fuzz_log_CFLAGS     = $(AM_CFLAGS)
tests_tools_fuzz_options_CFLAGS = $(AM_CFLAGS)
tests_tools_fuzz_trace_CFLAGS   = $(AM_CFLAGS)
# Commands that need a GPU, with a fake driver and made-up rows.
tests_tools_test_bench_gpu_SOURCES = \
	tests/tools/test_bench_gpu.c \
	tools/bench/column.c \
	tools/bench/facts.c \
	tools/bench/list.c \
	tools/bench/loadstore/facts.c \
	tools/bench/loadstore/loadstore.c \
	tools/bench/memory/common.c \
	tools/bench/memory/memory.c \
	tools/bench/memory/replay.c \
	tools/bench/names.c \
	tools/bench/places.c \
	tools/bench/record.c \
	$(shpool_tool_sources)
# The questions of shpool-bench memory.
tests_tools_test_bench_memory_SOURCES = tests/tools/test_bench_memory.c tools/bench/column.c \
	tools/bench/memory/common.c tools/bench/memory/run.c tools/bench/memory/streams.c \
	tools/bench/memory/train.c $(shpool_tool_sources)
tests_tools_test_bench_memory_CFLAGS = $(AM_CFLAGS)
tests_tools_test_memory_log_SOURCES = tests/tools/test_memory_log.c tools/bench/memory/replay.c \
	tools/bench/places.c $(shpool_tool_sources)
tests_tools_test_memory_log_CFLAGS  = $(AM_CFLAGS)
tests_tools_test_advise_SOURCES = tests/tools/test_advise.c $(shpool_trace_sources) \
	tools/bench/places.c $(shpool_tool_sources)
tests_tools_test_advise_CFLAGS = $(AM_CFLAGS)
tests_tools_test_replay_SOURCES   = tests/tools/test_replay.c $(shpool_trace_sources) \
	tools/bench/places.c $(shpool_tool_sources)
tests_tools_test_replay_groups_SOURCES = tests/tools/test_replay_groups.c $(shpool_trace_sources) \
	tools/bench/places.c $(shpool_tool_sources)
# Commands whose allocations fail.
tests_tools_test_tool_faults_SOURCES = \
	tests/tools/test_tool_faults.c \
	$(shpool_trace_sources) \
	tools/bench/column.c \
	tools/bench/compare.c \
	tools/bench/facts.c \
	tools/bench/list.c \
	tools/bench/names.c \
	tools/bench/no_cuda.c \
	tools/bench/picture.c \
	tools/bench/places.c \
	tools/bench/plot.c \
	tools/bench/python.c \
	tools/bench/record.c \
	tools/bench/results.c \
	tools/bench/trace/advise.c \
	tools/bench/trace/map.c \
	tools/bench/trace/replay.c \
	tools/bench/trace/replay_table.c \
	$(shpool_tool_sources)
nodist_tests_tools_test_tool_faults_SOURCES = tools/bench/programs.c
tests_tools_test_tool_faults_CFLAGS  = $(AM_CFLAGS) \
	-DSYSTEM_PYTHON='"/nonexistent/python3"'
tests_tools_test_tool_faults_LDFLAGS = $(AM_LDFLAGS) $(shpool_failing)
# flags of their own: the tool compiles the same files with its own
tests_tools_test_bench_gpu_CFLAGS = $(AM_CFLAGS)
tests_tools_test_replay_CFLAGS    = $(AM_CFLAGS)
tests_tools_test_replay_groups_CFLAGS = $(AM_CFLAGS)
endif
