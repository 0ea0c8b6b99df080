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
shpool_tests += tests/tools/fuzz_log tests/tools/fuzz_options tests/tools/fuzz_trace
tests_tools_fuzz_log_SOURCES = tests/tools/fuzz_log.c $(shpool_fuzz_main)
tests_tools_fuzz_options_SOURCES = tests/tools/fuzz_options.c $(shpool_fuzz_main)
tests_tools_fuzz_options_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=tool_parse \
	-Wl,--wrap=bench_picture_check
tests_tools_fuzz_trace_SOURCES = tests/tools/fuzz_trace.c $(shpool_fuzz_main)
# Commands whose allocations fail, and which find no Python of the system.
tests_tools_test_tool_faults_SOURCES = tests/tools/test_tool_faults.c tools/bench/python.c
tests_tools_test_tool_faults_CFLAGS  = $(AM_CFLAGS) -DSYSTEM_PYTHON='"/nonexistent/python3"'
tests_tools_test_tool_faults_LDFLAGS = $(AM_LDFLAGS) $(shpool_failing)
endif
