# The coalescing lint and rewriter.  Kernels as PTX are in tests/coalesce: nvcc made them from the
# .cu there and from tools/coalesce_kernels.cu (tests/coalesce.sh makes them anew and compares).
if HAVE_CMOCKA
shpool_coalesce_tests = tests/fuzz_ptx tests/test_coalesce tests/test_coalesce_plan \
	tests/test_coalesce_random tests/test_coalesce_run
tests_fuzz_ptx_SOURCES = tests/fuzz.h tests/fuzz_main.c tests/fuzz_ptx.c
shpool_ptx_machine = \
	tests/coalesce/defects.h \
	tests/ptx_alu.c \
	tests/ptx_machine.c \
	tests/ptx_machine.h \
	tests/ptx_trial.c \
	tests/ptx_trial.h \
	tests/ptx_warps.c \
	tests/ptx_warps.h \
	tools/coalesce_suite.h
tests_test_coalesce_run_SOURCES    = $(shpool_ptx_machine) tests/test_coalesce_run.c
tests_test_coalesce_random_SOURCES = $(shpool_ptx_machine) tests/test_coalesce_random.c
check_PROGRAMS += $(shpool_coalesce_tests)
TESTS += $(shpool_coalesce_tests)
endif
TESTS += tests/coalesce.sh tests/coalesce_planted.sh
EXTRA_DIST += tests/coalesce.sh tests/coalesce_planted.sh tests/coalesce/defects.cu \
	tests/coalesce/defects.ptx \
	tests/coalesce/defects.txt tests/coalesce/hand.ptx tests/coalesce/kept.ptx \
	tests/coalesce/lint.cu tests/coalesce/lint.ptx tests/coalesce/lint.txt tests/coalesce/suite.ptx \
	tests/coalesce/suite.txt
