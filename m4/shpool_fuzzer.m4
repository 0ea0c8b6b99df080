# SHPOOL_CHECK_FUZZER
# -------------------
# Look for a compiler with libFuzzer (clang, and its runtime, which Debian packages
# separately).  It need not be the compiler of the library: tests/build/fuzz.sh compiles the code
# that it fuzzes itself.
#
# Output: FUZZ_CC (empty: none), shpool_have_fuzzer
AC_DEFUN([SHPOOL_CHECK_FUZZER], [
AC_ARG_VAR([FUZZ_CC], [C compiler with -fsanitize=fuzzer, for tests/build/fuzz.sh @<:@clang@:>@])
AC_CHECK_PROGS([FUZZ_CC], [clang clang-20 clang-19 clang-18 clang-17 clang-16 clang-15 clang-14])
shpool_have_fuzzer=no
AS_IF([test -n "$FUZZ_CC"], [
  AC_MSG_CHECKING([whether $FUZZ_CC has -fsanitize=fuzzer,address,undefined])
  shpool_kept_cc=$CC shpool_kept_cflags=$CFLAGS
  CC=$FUZZ_CC CFLAGS="-fsanitize=fuzzer,address,undefined"
  # not AC_RUN_IFELSE: without -runs it would never end
  AC_LINK_IFELSE([AC_LANG_SOURCE([[
int LLVMFuzzerTestOneInput(const unsigned char *data, __SIZE_TYPE__ size);
int LLVMFuzzerTestOneInput(const unsigned char *data, __SIZE_TYPE__ size)
{
    (void)data;
    return (int)(size - size);
}]])],
    [AS_IF([test "x$cross_compiling" != xyes && ./conftest$EXEEXT -runs=1 >&AS_MESSAGE_LOG_FD 2>&1],
       [shpool_have_fuzzer=$FUZZ_CC])])
  CC=$shpool_kept_cc CFLAGS=$shpool_kept_cflags
  AC_MSG_RESULT([$shpool_have_fuzzer])
  AS_IF([test "x$shpool_have_fuzzer" = xno], [FUZZ_CC=])
])
])
