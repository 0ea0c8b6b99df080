# Programs that were written for cuda_memory and MGPU.
noinst_HEADERS += \
	tests/compat/glob.h \
	tests/compat/mgpu_capture.h \
	tests/compat/mgpu_programs.h \
	tests/compat/trial.h
EXTRA_DIST += \
	tests/compat/cumem.cu \
	tests/compat/cumem_host.cc \
	tests/compat/mgpu_programs.cu \
	tests/compat/use.cu
shpool_test_scripts += tests/compat/compat.sh tests/compat/mgpu.sh
if HAVE_CMOCKA
shpool_cxx_tests += \
	tests/compat/test_compat \
	tests/compat/test_debug \
	tests/compat/test_mgpu \
	tests/compat/test_mgpu_memory \
	tests/compat/test_mgpu_sync \
	tests/compat/test_mgpu_versions
tests_compat_test_compat_SOURCES      = tests/compat/test_compat.cc
tests_compat_test_debug_SOURCES       = tests/compat/test_debug.cc
tests_compat_test_mgpu_SOURCES        = tests/compat/test_mgpu.cc
tests_compat_test_mgpu_memory_SOURCES = tests/compat/test_mgpu_memory.cc
tests_compat_test_mgpu_sync_SOURCES   = tests/compat/test_mgpu_sync.cc
tests_compat_test_mgpu_versions_SOURCES = tests/compat/test_mgpu_versions.cc
tests_compat_test_compat_CPPFLAGS     = $(shpool_compat_cppflags)
tests_compat_test_debug_CPPFLAGS      = $(shpool_compat_cppflags)
tests_compat_test_mgpu_CPPFLAGS       = $(shpool_compat_cppflags)
tests_compat_test_mgpu_memory_CPPFLAGS = $(shpool_compat_cppflags)
tests_compat_test_mgpu_sync_CPPFLAGS  = $(shpool_compat_cppflags)
tests_compat_test_mgpu_versions_CPPFLAGS = $(shpool_compat_cppflags)
endif
