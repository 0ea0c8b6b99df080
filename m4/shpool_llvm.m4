# SHPOOL_CHECK_LLVM
# -----------------
# Options:   --with-llvm[=LLVM-CONFIG] | --without-llvm     default: auto
# Output:    LLVM_CONFIG, SHPOOL_LLVM_CFLAGS, SHPOOL_LLVM_CXXFLAGS, SHPOOL_LLVM_LIBS,
#            SHPOOL_LLVM_INCLUDEDIR, SHPOOL_LLVM_BINDIR, SHPOOL_LLVM_LIBRARY (the shared one);
#            AM_CONDITIONAL HAVE_LLVM
#
# The clang plugin of shpool-coalesce requires one major version, 19: of the versions that were
# tried, its clang supports CUDA 13 best.  auto: a machine without it builds everything else.
AC_DEFUN([SHPOOL_CHECK_LLVM], [
AC_ARG_WITH([llvm],
  [AS_HELP_STRING([--with-llvm@<:@=LLVM-CONFIG@:>@],
                  [build the clang plugin of shpool-coalesce (LLVM 19) @<:@auto@:>@])],
  [], [with_llvm=auto])
shpool_llvm_major=19
shpool_have_llvm=no shpool_have_llvm_reason=
LLVM_CONFIG= SHPOOL_LLVM_CFLAGS= SHPOOL_LLVM_CXXFLAGS= SHPOOL_LLVM_LIBS=
SHPOOL_LLVM_INCLUDEDIR= SHPOOL_LLVM_BINDIR= SHPOOL_LLVM_LIBRARY=
AS_CASE([$with_llvm],
  [no], [shpool_have_llvm_reason="(disabled)"],
  [auto|yes], [AC_PATH_PROGS([LLVM_CONFIG], [llvm-config-$shpool_llvm_major llvm-config])
    AS_IF([test -z "$LLVM_CONFIG"],
          [shpool_have_llvm_reason="(no llvm-config-$shpool_llvm_major)"])],
  [LLVM_CONFIG=$with_llvm])
AS_IF([test -n "$LLVM_CONFIG"], [
  shpool_llvm_version=`$LLVM_CONFIG --version 2>/dev/null`
  AS_CASE([$shpool_llvm_version],
    [$shpool_llvm_major.*], [
      AC_MSG_CHECKING([whether $CXX compiles with LLVM $shpool_llvm_version])
      SHPOOL_LLVM_INCLUDEDIR=`$LLVM_CONFIG --includedir`
      SHPOOL_LLVM_CFLAGS="-isystem $SHPOOL_LLVM_INCLUDEDIR"
      SHPOOL_LLVM_CXXFLAGS="$SHPOOL_LLVM_CFLAGS -std=c++17 -fno-rtti -fno-exceptions"
      SHPOOL_LLVM_LIBS="`$LLVM_CONFIG --ldflags` `$LLVM_CONFIG --libs`"
      SHPOOL_LLVM_BINDIR=`$LLVM_CONFIG --bindir`
      SHPOOL_LLVM_LIBRARY=`$LLVM_CONFIG --link-shared --libfiles 2>/dev/null | sed 's/ .*//'`
      AC_LANG_PUSH([C++])
      shpool_saved_cxxflags=$CXXFLAGS shpool_saved_libs=$LIBS
      CXXFLAGS="$CXXFLAGS $SHPOOL_LLVM_CXXFLAGS"
      LIBS="$SHPOOL_LLVM_LIBS $LIBS"
      AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <llvm/IR/LLVMContext.h>
#include <llvm/Passes/PassPlugin.h>]], [[llvm::LLVMContext context;]])],
        [shpool_have_llvm=yes shpool_have_llvm_reason="(LLVM $shpool_llvm_version)"],
        [shpool_have_llvm_reason="($LLVM_CONFIG found, probe failed: see config.log)"])
      CXXFLAGS=$shpool_saved_cxxflags LIBS=$shpool_saved_libs
      AC_LANG_POP([C++])
      AC_MSG_RESULT([$shpool_have_llvm])],
    [""], [shpool_have_llvm_reason="($LLVM_CONFIG does not run)"],
    [shpool_have_llvm_reason="(LLVM $shpool_llvm_version, needs $shpool_llvm_major)"])])
AS_IF([test "x$shpool_have_llvm" = xno],
  [AS_CASE([$with_llvm], [auto|no], [],
    [AC_MSG_ERROR(
      [--with-llvm=$with_llvm given, but LLVM cannot be used $shpool_have_llvm_reason])])])
AC_SUBST([LLVM_CONFIG])
AC_SUBST([SHPOOL_LLVM_CFLAGS])
AC_SUBST([SHPOOL_LLVM_CXXFLAGS])
AC_SUBST([SHPOOL_LLVM_LIBS])
AC_SUBST([SHPOOL_LLVM_BINDIR])
AC_SUBST([SHPOOL_LLVM_LIBRARY])
AC_SUBST([SHPOOL_LLVM_INCLUDEDIR])
AM_CONDITIONAL([HAVE_LLVM], [test "x$shpool_have_llvm" = xyes])
])
