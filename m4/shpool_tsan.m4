# SHPOOL_CHECK_TSAN
# -----------------
# The block executor (simt/) switches stacks and is annotated by hand: it must not itself be
# instrumented by ThreadSanitizer, while everything that runs on it must be.  Flags of one target
# come before the user's CFLAGS in automake's compile lines, so -fno-sanitize=thread there would
# lose.  Hence a -fsanitize=...thread... in CFLAGS or CXXFLAGS is moved to SHPOOL_TSAN_CFLAGS,
# which AM_CFLAGS and AM_CXXFLAGS contain and simt's own flags cancel.
#
# Output: SHPOOL_TSAN_CFLAGS, SHPOOL_NO_TSAN_CFLAGS, SHPOOL_TSAN in config.h
AC_DEFUN([SHPOOL_CHECK_TSAN], [
SHPOOL_TSAN_CFLAGS= SHPOOL_NO_TSAN_CFLAGS=
shpool_kept=
for shpool_word in $CFLAGS; do
  AS_CASE([$shpool_word],
    [-fsanitize=*thread*], [AS_VAR_APPEND([SHPOOL_TSAN_CFLAGS], [" $shpool_word"])],
    [AS_VAR_APPEND([shpool_kept], ["${shpool_kept:+ }$shpool_word"])])
done
AS_IF([test -n "$SHPOOL_TSAN_CFLAGS"], [
  CFLAGS=$shpool_kept
  shpool_kept=
  for shpool_word in $CXXFLAGS; do
    AS_CASE([$shpool_word], [-fsanitize=*thread*], [],
      [AS_VAR_APPEND([shpool_kept], ["${shpool_kept:+ }$shpool_word"])])
  done
  CXXFLAGS=$shpool_kept
  SHPOOL_NO_TSAN_CFLAGS="$SHPOOL_TSAN_CFLAGS -fno-sanitize=thread"
  AC_DEFINE([SHPOOL_TSAN], [1],
    [Define to 1 if all but the block executor is compiled for ThreadSanitizer])
])
AC_SUBST([SHPOOL_TSAN_CFLAGS])
AC_SUBST([SHPOOL_NO_TSAN_CFLAGS])
])
