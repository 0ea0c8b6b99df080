# Arrays, buffers, and what stands on them.
noinst_HEADERS += tests/page_arrays.h
if HAVE_CMOCKA
shpool_cmocka_tests += \
	tests/test_array \
	tests/test_fill_kernels \
	tests/test_print
tests_test_array_CPPFLAGS        = $(AM_CPPFLAGS) -I$(top_srcdir)/device
tests_test_fill_kernels_CPPFLAGS = $(tests_test_array_CPPFLAGS)
endif
