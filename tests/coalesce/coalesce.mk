# The coalescing lint and rewriter.  nvcc makes PTX from the .cu here and from
# tools/bench/coalesce/kernels.cu (nvcc.sh); lint.ptx and tests/corpus/ptx have a part of it.
noinst_HEADERS += \
	tests/coalesce/cuda.h \
	tests/coalesce/ptx_machine.h \
	tests/coalesce/ptx_trial.h \
	tests/coalesce/ptx_warps.h \
	tests/coalesce/suite.h \
	tests/coalesce/defects.h
if HAVE_CMOCKA
shpool_coalesce_tests = \
	tests/coalesce/fuzz_lint \
	tests/coalesce/fuzz_ptx \
	tests/coalesce/test_coalesce \
	tests/coalesce/test_memory \
	tests/coalesce/test_plan \
	tests/coalesce/test_random \
	tests/coalesce/test_run \
	tests/coalesce/test_warp
tests_coalesce_fuzz_lint_SOURCES = tests/coalesce/fuzz_lint.c tools/coalesce/json.c \
	tools/json.c $(shpool_fuzz_main)
tests_coalesce_fuzz_lint_CFLAGS = $(AM_CFLAGS)
tests_coalesce_fuzz_ptx_SOURCES = tests/coalesce/fuzz_ptx.c $(shpool_fuzz_main)
shpool_ptx_machine = \
	tests/coalesce/ptx_alu.c \
	tests/coalesce/ptx_machine.c \
	tests/coalesce/ptx_trial.c \
	tests/coalesce/ptx_warps.c
tests_coalesce_test_memory_SOURCES = tests/coalesce/test_memory.c tools/coalesce/json.c \
	tools/json.c
tests_coalesce_test_memory_LDFLAGS = $(AM_LDFLAGS) $(shpool_failing)
tests_coalesce_test_random_SOURCES = tests/coalesce/test_random.c $(shpool_ptx_machine)
tests_coalesce_test_run_SOURCES    = tests/coalesce/test_run.c $(shpool_ptx_machine)
check_PROGRAMS += $(shpool_coalesce_tests)
TESTS += $(shpool_coalesce_tests)
endif
shpool_test_scripts += tests/coalesce/coalesce.sh tests/coalesce/growth.sh \
	tests/coalesce/nvcc.sh
EXTRA_DIST += tests/coalesce/both.cu tests/coalesce/both.txt tests/coalesce/decisions.sh \
	tests/coalesce/defects.cu tests/coalesce/defects.txt tests/coalesce/hand.ptx \
	tests/coalesce/kept.txt tests/coalesce/lint.cu tests/coalesce/lint.ptx \
	tests/coalesce/lint.txt tests/coalesce/suite.txt

# The rewrite in clang: these scripts skip (77) where the plugin is not built.
check_PROGRAMS += tests/coalesce/emulate tests/coalesce/fuzz
tests_coalesce_emulate_LDADD = libshpool_core.la
tests_coalesce_fuzz_LDADD =
shpool_test_scripts += tests/coalesce/llvm.sh tests/coalesce/routes.sh
EXTRA_DIST += tests/coalesce/clang_defects.cu tests/coalesce/clang_lint.txt \
	tests/coalesce/clang_remarks.txt tests/coalesce/faults.sh tests/coalesce/host.sh \
	tests/coalesce/kernels.cu tests/coalesce/legal.ll tests/coalesce/llvm_memory.c
