# Recording, replay and heap maps, on the executor.
noinst_HEADERS += tests/trace_text.h tests/trace_trial.h
if HAVE_CMOCKA
shpool_cmocka_tests += tests/test_heap_map tests/test_replay tests/test_trace tests/test_trace_edges
tests_test_heap_map_SOURCES = tests/test_heap_map.c $(shpool_trace_sources)
tests_test_heap_map_CFLAGS  = $(AM_CFLAGS)
tests_test_replay_SOURCES = tests/test_replay.c $(shpool_trace_sources)
# flags of its own: the tool compiles the same files with its own
tests_test_replay_CFLAGS  = $(AM_CFLAGS)
endif
shpool_test_scripts += tests/trace.sh

# on a GPU; exit 77 (skipped) without
noinst_HEADERS += tests/trace_kernel.cuh
EXTRA_DIST += tests/trace_linked.cu
if HAVE_NVCC
shpool_tests += tests/gpu_trace
tests_gpu_trace_SOURCES      = tests/gpu_trace.cu tests/gpu_trace_inline.cu \
	tests/gpu_trace_linked.cu
tests_gpu_trace_LDADD        = $(SHPOOL_NVCC_LIBS)
tests_gpu_trace_DEPENDENCIES = $(SHPOOL_NVCC_DEPS)
tests_gpu_trace_LINK         = $(SHPOOL_NVCC_LINK)
# flags of its own, as tests/gpu_bindings
tests_gpu_trace_CFLAGS       = $(AM_CFLAGS)
if HAVE_LTO_IR
nodist_tests_gpu_trace_SOURCES = tests/trace_linked_lto.c
-include tests/trace_linked_lto.cud
endif
-include $(tests_gpu_trace_OBJECTS:.o=.cud)
endif
