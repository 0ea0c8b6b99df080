# Tests of the rewrite in clang: they skip (77) where the plugin is not built.
check_PROGRAMS += tests/coalesce_emulate tests/coalesce_fuzz
tests_coalesce_emulate_LDADD = libshpool_core.la
tests_coalesce_fuzz_LDADD =
noinst_HEADERS += tests/coalesce_cuda.h tests/coalesce_suite.h
shpool_llvm_tests = tests/coalesce_llvm.sh tests/coalesce_routes.sh
EXTRA_DIST += $(shpool_llvm_tests) tests/coalesce_defects.cu tests/coalesce_faults.sh \
	tests/coalesce_host.sh tests/coalesce_kernels.cu tests/coalesce/clang_lint.txt \
	tests/coalesce/clang_remarks.txt tests/coalesce/legal.ll
TESTS += $(shpool_llvm_tests)
AM_TESTS_ENVIRONMENT += \
	llvm_bindir='$(SHPOOL_LLVM_BINDIR)' llvm_includedir='$(SHPOOL_LLVM_INCLUDEDIR)'; \
	export llvm_bindir llvm_includedir; unset SHPOOL_COALESCE;
if HAVE_CMOCKA
check_PROGRAMS += tests/test_coalesce_rows
TESTS += tests/test_coalesce_rows
endif
