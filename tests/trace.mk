# Recording, replay and heap maps, on the executor.
noinst_HEADERS += tests/trace_text.h tests/trace_trial.h
if HAVE_CMOCKA
shpool_cmocka_tests += tests/test_heap_map tests/test_replay tests/test_trace
tests_test_heap_map_SOURCES = tests/test_heap_map.c $(shpool_trace_sources)
tests_test_heap_map_CFLAGS  = $(AM_CFLAGS)
tests_test_replay_SOURCES = tests/test_replay.c $(shpool_trace_sources)
# flags of its own: the tool compiles the same files with its own
tests_test_replay_CFLAGS  = $(AM_CFLAGS)
endif
shpool_test_scripts += tests/trace.sh
