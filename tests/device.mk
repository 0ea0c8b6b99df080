# Tests of device/: with a fake driver (tests/fake_driver.h), so that they run anywhere.
check_LTLIBRARIES += libshpool_fake.la
libshpool_fake_la_SOURCES = \
	tests/device_base_trial.h \
	tests/device_trial.h \
	tests/fake_driver.c \
	tests/fake_driver.h \
	tests/fake_events.c \
	tests/fake_memory.c \
	tests/fake_state.h \
	tests/fake_streams.c
shpool_device_ldadd = libshpool_fake.la $(LDADD)
if HAVE_CMOCKA
shpool_device_tests = \
	tests/test_device_bins \
	tests/test_device_buckets \
	tests/test_device_context \
	tests/test_device_end \
	tests/test_device_faults \
	tests/test_device_graph \
	tests/test_device_host \
	tests/test_device_messages \
	tests/test_device_model \
	tests/test_device_open \
	tests/test_device_plugin \
	tests/test_device_streams \
	tests/test_device_threads \
	tests/test_device_train \
	tests/test_device_trim
shpool_cmocka_tests += $(shpool_device_tests)
tests_test_device_bins_LDADD = $(shpool_device_ldadd)
tests_test_device_buckets_LDADD = $(shpool_device_ldadd)
tests_test_device_context_LDADD = $(shpool_device_ldadd)
tests_test_device_end_LDADD = $(shpool_device_ldadd)
tests_test_device_faults_LDADD = $(shpool_device_ldadd)
tests_test_device_graph_LDADD = $(shpool_device_ldadd)
tests_test_device_host_LDADD = $(shpool_device_ldadd)
tests_test_device_messages_LDADD = $(shpool_device_ldadd)
tests_test_device_model_LDADD = $(shpool_device_ldadd)
tests_test_device_open_LDADD = $(shpool_device_ldadd)
tests_test_device_plugin_LDADD = $(shpool_device_ldadd)
tests_test_device_streams_LDADD = $(shpool_device_ldadd)
tests_test_device_threads_LDADD = $(shpool_device_ldadd)
tests_test_device_train_LDADD = $(shpool_device_ldadd)
tests_test_device_trim_LDADD = $(shpool_device_ldadd)
endif

# ---- on a GPU: exit 77 (skipped) without one ----
if HAVE_NVCC
shpool_tests += tests/gpu_device
tests_gpu_device_SOURCES      = tests/gpu_device.cu
tests_gpu_device_LDADD        = $(SHPOOL_NVCC_LIBS)
tests_gpu_device_DEPENDENCIES = $(SHPOOL_NVCC_DEPS)
tests_gpu_device_LINK         = $(SHPOOL_NVCC_LINK)
-include tests/gpu_device.cud
endif
