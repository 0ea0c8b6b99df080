# The CPU block executor.
noinst_HEADERS += tests/simt/trial.h
if HAVE_CMOCKA
shpool_cmocka_tests += \
	tests/simt/test_async \
	tests/simt/test_async_misuse \
	tests/simt/test_cluster \
	tests/simt/test_explore \
	tests/simt/test_simt \
	tests/simt/test_warp
endif
