# Device memory, with a fake driver (fake/driver.h), so that the tests run anywhere.
libshpool_tests_la_SOURCES += \
	tests/device/fake/driver.c \
	tests/device/fake/events.c \
	tests/device/fake/granules.c \
	tests/device/fake/memory.c \
	tests/device/fake/share.c \
	tests/device/fake/streams.c \
	tests/device/runtime_fake.c \
	tests/device/scene.c
noinst_HEADERS += \
	tests/device/capture_calls.h \
	tests/device/fake/driver.h \
	tests/device/graph_ways.h \
	tests/device/runtime_fake.h \
	tests/device/page_arrays.h \
	tests/device/scene.h \
	tests/device/share_trial.h \
	tests/device/trial.h
if HAVE_CMOCKA
shpool_cmocka_tests += \
	tests/device/test_array \
	tests/device/test_bins \
	tests/device/test_buckets \
	tests/device/test_buffer \
	tests/device/test_capture \
	tests/device/test_context \
	tests/device/test_devices \
	tests/device/test_end \
	tests/device/test_faults \
	tests/device/test_fill \
	tests/device/test_fork \
	tests/device/test_graph \
	tests/device/test_handle \
	tests/device/test_hooks \
	tests/device/test_host \
	tests/device/test_messages \
	tests/device/test_model \
	tests/device/test_nvtx \
	tests/device/test_open \
	tests/device/test_plugin \
	tests/device/test_ranges \
	tests/device/test_share \
	tests/device/test_shards \
	tests/device/test_streams \
	tests/device/test_threads \
	tests/device/test_train \
	tests/device/test_trim \
	tests/device/test_waits \
	tests/device/test_windows
shpool_tests += tests/device/fuzz_device
tests_device_fuzz_device_SOURCES = tests/device/fuzz_device.c $(shpool_fuzz_main)
if HAVE_NVCC
# cuda::mr comes with the CUDA Toolkit
SHPOOL_CUDA_INCLUDES = -isystem $(SHPOOL_CUDA_LIBDIR)/../include/cccl \
	-isystem $(SHPOOL_CUDA_LIBDIR)/../include
shpool_cxx_tests += tests/device/test_resource
tests_device_test_resource_SOURCES = tests/device/test_resource.cc
tests_device_test_resource_CPPFLAGS = $(AM_CPPFLAGS) \
	-DLIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE $(SHPOOL_CUDA_INCLUDES)
endif
tests_device_test_faults_LDFLAGS = $(AM_LDFLAGS) $(shpool_failing)
tests_device_test_plugin_LDFLAGS = $(AM_LDFLAGS) $(shpool_failing)
endif
