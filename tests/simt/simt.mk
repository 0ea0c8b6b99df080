# The CPU block executor.
noinst_HEADERS += tests/simt/trial.h
if HAVE_CMOCKA
shpool_cmocka_tests += \
	tests/simt/test_async \
	tests/simt/test_cluster \
	tests/simt/test_explore \
	tests/simt/test_memory \
	tests/simt/test_pairs \
	tests/simt/test_simt \
	tests/simt/test_warp
tests_simt_test_memory_LDFLAGS = $(AM_LDFLAGS) $(shpool_failing)
endif

# ThreadSanitizer finds the bugs of a program that runs on the executor.
shpool_test_scripts += tests/simt/planted_race.sh
check_PROGRAMS += tests/simt/planted_race
tests_simt_planted_race_LDADD = libshpool_core.la
