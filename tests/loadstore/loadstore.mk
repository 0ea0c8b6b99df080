# Block-cooperative loads and stores, and the blocked layout, on the executor.
noinst_HEADERS += \
	tests/loadstore/cpu.h \
	tests/loadstore/examples.h \
	tests/loadstore/gpu.cuh \
	tests/loadstore/layout_trial.h \
	tests/loadstore/ops.h \
	tests/loadstore/paths.h \
	tests/loadstore/run.h \
	tests/loadstore/scene.h \
	tests/loadstore/trial.h
EXTRA_DIST += tests/loadstore/kernels.cu
shpool_test_scripts += tests/loadstore/sass.sh
if HAVE_CMOCKA
shpool_cxx_tests += \
	tests/loadstore/test_far \
	tests/loadstore/test_layout \
	tests/loadstore/test_loadstore \
	tests/loadstore/test_mgpu \
	tests/loadstore/test_own \
	tests/loadstore/test_paths \
	tests/loadstore/test_snippets \
	tests/loadstore/test_thread
tests_loadstore_test_far_SOURCES = tests/loadstore/test_far.cc
tests_loadstore_test_layout_SOURCES = tests/loadstore/test_layout.cc
tests_loadstore_test_loadstore_SOURCES = tests/loadstore/test_loadstore.cc
tests_loadstore_test_mgpu_SOURCES = tests/loadstore/test_mgpu.cc
tests_loadstore_test_own_SOURCES = tests/loadstore/test_own.cc
tests_loadstore_test_paths_SOURCES = tests/loadstore/test_paths.cc
tests_loadstore_test_snippets_SOURCES = tests/loadstore/test_snippets.cc
tests_loadstore_test_thread_SOURCES = tests/loadstore/test_thread.cc
tests_loadstore_test_mgpu_CPPFLAGS = $(shpool_compat_cppflags)
tests_loadstore_test_own_CPPFLAGS  = $(shpool_compat_cppflags)
endif
