# SHPOOL_CHECK_HARDENING
# ----------------------
# Look for the flags that make bugs of C programs hard to exploit: guarded stacks, string functions
# that know the size of their target, and tables of functions that are read-only once the program
# runs.  --disable-hardening leaves them out.  String functions are checked only in optimised
# code, and not under sanitizers, which look for the same; a level that the user or the compiler
# chose is kept.
#
# Output: SHPOOL_HARDENING_CFLAGS, SHPOOL_HARDENING_LDFLAGS
AC_DEFUN([SHPOOL_CHECK_HARDENING], [
AC_ARG_ENABLE([hardening],
  [AS_HELP_STRING([--disable-hardening],
                  [no stack protector, fortified functions or read-only relocations])],
  [], [enable_hardening=yes])
SHPOOL_HARDENING_CFLAGS= SHPOOL_HARDENING_LDFLAGS=
AS_IF([test "x$enable_hardening" != xno], [
  SHPOOL_TRY_HARDENING([CFLAGS], [-fstack-protector-strong])
  SHPOOL_TRY_HARDENING([CFLAGS], [-fstack-clash-protection])
  AS_CASE([" $CFLAGS $SHPOOL_TSAN_CFLAGS"], [*" -fsanitize="*], [], [
    AC_PREPROC_IFELSE([AC_LANG_SOURCE([[
#ifdef _FORTIFY_SOURCE
#error
#endif]])], [SHPOOL_TRY_HARDENING([CFLAGS], [-D_FORTIFY_SOURCE=2])])])
  SHPOOL_TRY_HARDENING([LDFLAGS], [-Wl,-z,relro])
  SHPOOL_TRY_HARDENING([LDFLAGS], [-Wl,-z,now])
])
AC_SUBST([SHPOOL_HARDENING_CFLAGS])
AC_SUBST([SHPOOL_HARDENING_LDFLAGS])
])

# SHPOOL_TRY_HARDENING(VARIABLE, FLAG)
# ------------------------------------
# Append FLAG to SHPOOL_HARDENING_VARIABLE if a program is compiled and linked with it, without a
# warning.
AC_DEFUN([SHPOOL_TRY_HARDENING], [
AC_MSG_CHECKING([for $2])
shpool_kept=$[]$1
$1="$[]$1 -Werror $2"
AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <string.h>]], [[
char room@<:@16@:>@;
strcpy(room, "text");
return room@<:@0@:>@ == 0;]])],
  [AC_MSG_RESULT([yes])
   AS_VAR_APPEND([SHPOOL_HARDENING_$1], [" $2"])],
  [AC_MSG_RESULT([no])])
$1=$shpool_kept
])
