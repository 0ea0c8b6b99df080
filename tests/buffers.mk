# Arrays, buffers, and what stands on them.
noinst_HEADERS += \
	tests/buffer_trial.h \
	tests/mgpu_capture.h \
	tests/mgpu_fake.h \
	tests/mgpu_programs.h \
	tests/page_arrays.h
if HAVE_CMOCKA
shpool_cmocka_tests += \
	tests/test_array \
	tests/test_buffer \
	tests/test_buffer_copies \
	tests/test_fill \
	tests/test_fill_kernels \
	tests/test_hooks \
	tests/test_print
tests_test_buffer_LDADD          = $(shpool_device_ldadd)
tests_test_buffer_copies_LDADD   = $(shpool_device_ldadd)
tests_test_fill_LDADD            = $(shpool_device_ldadd)
tests_test_hooks_LDADD           = $(shpool_device_ldadd)

# MGPU's names, C++.
shpool_tests += tests/test_mgpu tests/test_mgpu_memory tests/test_mgpu_sync
tests_test_mgpu_SOURCES         = tests/mgpu_fake.c tests/test_mgpu.cc
tests_test_mgpu_CPPFLAGS        = $(AM_CPPFLAGS) -I$(top_srcdir)/include/shpool/compat
tests_test_mgpu_LDADD           = $(shpool_device_ldadd)
tests_test_mgpu_memory_SOURCES  = tests/mgpu_fake.c tests/test_mgpu_memory.cc
tests_test_mgpu_memory_CPPFLAGS = $(tests_test_mgpu_CPPFLAGS)
tests_test_mgpu_memory_LDADD    = $(shpool_device_ldadd)
tests_test_mgpu_sync_SOURCES    = tests/test_mgpu_sync.cc
tests_test_mgpu_sync_CPPFLAGS   = $(tests_test_mgpu_CPPFLAGS)
tests_test_mgpu_sync_LDADD      = libshpool_core.la $(CMOCKA_LIBS)
endif

# On a GPU; exit 77 (skipped) without one.
if HAVE_NVCC
shpool_tests += tests/gpu_buffers
tests_gpu_buffers_SOURCES      = tests/gpu_buffers.cu
tests_gpu_buffers_LDADD        = $(SHPOOL_NVCC_LIBS)
tests_gpu_buffers_DEPENDENCIES = $(SHPOOL_NVCC_DEPS)
tests_gpu_buffers_LINK         = $(SHPOOL_NVCC_LINK)
tests/gpu_buffers.o: SHPOOL_NVCC_CPPFLAGS += -I$(top_srcdir)/include/shpool/compat
-include tests/gpu_buffers.cud
endif

# PyTorch and CuPy.
dist_examples_DATA += examples/cupy_example.py examples/shpool_torch.py examples/torch_train.py
EXTRA_DIST += tests/gpu_torch.py tests/gpu_torch_peak.py
shpool_test_scripts += tests/torch.sh
