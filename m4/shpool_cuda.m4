# SHPOOL_CHECK_CUDA
# -----------------
# Options:   --with-cuda[=DIR] | --without-cuda     default: auto
#            --with-cuda-arch=LIST                  default: all-major
#                                                   (with letters, too: 75,90a,100f)
#            --disable-bench-kernels                default: enabled
#            NVCC=...  NVCCFLAGS=...                (user variables, never overwritten)
# Output:    NVCC, SHPOOL_NVCC_GENCODE, SHPOOL_CUDA_ARCHS, SHPOOL_CUDA_LOW, SHPOOL_CUDA_LIBDIR,
#            SHPOOL_CUDA_VERSION and SHPOOL_LTO_ARCH (the stamps of LTO-IR: 13000 and 75, and
#            SHPOOL_LTO_LETTERS, 90, of that for kernels of architectures with a letter),
#            SHPOOL_LTO_CFLAGS (for programs whose allocator is to be inlined at run time),
#            SHPOOL_PC_DEVICE_LIBS; AM_CONDITIONAL HAVE_NVCC, HAVE_BENCH_KERNELS, HAVE_LTO_IR,
#            HAVE_NVRTC;
#            HAVE_LTO_IR, HAVE_CUDA_DEVICE and HAVE_BENCH_KERNELS in config.h
#
# LIST is all, all-major, native, or compute capabilities separated by commas: 75,80,90 .  The
# groups are expanded here, from the architectures of this nvcc: sm_75 is the library's lowest, and
# nvcc's own -arch=all-major would begin at sm_50 with CUDA 12.
#
# PTX of the LOWEST one is always added: the device linker uses SASS of the same major and a lower
# or equal minor, else PTX of a lower or equal capability, else it reports "Undefined reference".
# With the lowest PTX in the archive no user of a supported GPU ever sees that message.
AC_DEFUN([SHPOOL_CHECK_CUDA], [
AC_ARG_WITH([cuda],
  [AS_HELP_STRING([--with-cuda@<:@=DIR@:>@],
                  [build libshpool_device.a with DIR/bin/nvcc @<:@auto@:>@])],
  [], [with_cuda=auto])
AC_ARG_WITH([cuda-arch],
  [AS_HELP_STRING([--with-cuda-arch=LIST],
                  [all, all-major, native, or e.g. 75,80,90 @<:@all-major@:>@])],
  [], [with_cuda_arch=all-major])
AC_ARG_ENABLE([bench-kernels],
  [AS_HELP_STRING([--disable-bench-kernels],
                  [shpool-bench without its kernels for GPUs: they take most of a build's time])],
  [], [enable_bench_kernels=yes])
AC_ARG_VAR([NVCC], [CUDA compiler driver])
AC_ARG_VAR([NVCCFLAGS], [extra flags for NVCC, e.g. -lineinfo])
: ${NVCCFLAGS="-O2"}

shpool_have_nvcc=no shpool_have_nvcc_reason=
shpool_have_lto_ir=no shpool_have_nvrtc=no
SHPOOL_NVCC_GENCODE= SHPOOL_CUDA_ARCHS= SHPOOL_CUDA_LOW= SHPOOL_CUDA_LIBDIR=
SHPOOL_CUDA_VERSION= SHPOOL_LTO_ARCH= SHPOOL_LTO_CFLAGS=
# A user's NVCC is used unchanged ("nvcc -ccbin g++-12" too: AC_PATH_PROG would drop such a value,
# so it is not called then).
AS_CASE([$with_cuda],
  [no], [NVCC= shpool_have_nvcc_reason="(disabled)"],
  [AS_IF([test -z "$NVCC"], [
     AS_CASE([$with_cuda],
       [auto|yes], [AC_PATH_PROG([NVCC], [nvcc], [], [$PATH$PATH_SEPARATOR/usr/local/cuda/bin])],
       [AC_PATH_PROG([NVCC], [nvcc], [], [$with_cuda/bin])])])
   AS_IF([test -z "$NVCC"], [shpool_have_nvcc_reason="(no nvcc)"])])

AS_IF([test -n "$NVCC"], [
  shpool_nvcc_release=`$NVCC --version | sed -n 's/.*release \(@<:@0-9.@:>@*\).*/\1/p'`
  SHPOOL_CUDA_VERSION=`echo "$shpool_nvcc_release" |
    awk -F. '{ print $[1] * 1000 + $[2] * 10 }'`
  # every capability from 75 on that this nvcc compiles for
  shpool_all=`$NVCC --list-gpu-arch | sed -n 's/^compute_\(@<:@0-9@:>@*\)$/\1/p' |
    awk '$[1] >= 75' | sort -n | tr '\n' ' '`

  AS_CASE([$with_cuda_arch],
    [native], [shpool_said=`$NVCC -arch=native -dryrun -cubin conftest.cu 2>&1`
               shpool_list=`echo "$shpool_said" |
                 sed -n 's/.*arch=sm_\(@<:@0-9@:>@*\).*/\1/p' | sort -un | tr '\n' ' '`
               AS_CASE([$shpool_said], [*"annot find valid GPU"*],
                 [AC_MSG_WARN([--with-cuda-arch=native without a GPU: it is sm_$shpool_list])])],
    [all], [shpool_list=$shpool_all],
    [all-major], [shpool_list=`echo $shpool_all | tr ' ' '\n' |
                    awk '{ major = int($[1] / 10) } !seen@<:@major@:>@++' | tr '\n' ' '`],
    [shpool_list=`echo "$with_cuda_arch" | tr -s ',;' '\n\n' | sed 's/^sm_//' | sort -n |
                    tr '\n' ' '`])
  AS_CASE([$with_cuda_arch:$shpool_list], [yes:*|no:*|*:|*:" "],
    [AC_MSG_ERROR([--with-cuda-arch=$with_cuda_arch: it needs a list, such as 75,90])])
  for shpool_arch in $shpool_list; do
    AS_IF([$NVCC -dryrun -cubin -arch=sm_$shpool_arch conftest.cu >/dev/null 2>&1], [],
      [AC_MSG_ERROR(m4_normalize([
        --with-cuda-arch=$with_cuda_arch: nvcc $shpool_nvcc_release does not know
        sm_$shpool_arch.  It knows $shpool_all and, with letters, such as 90a and 100f]))])
  done
  shpool_high=
  for shpool_arch in $shpool_list; do
    AS_VAR_APPEND([SHPOOL_NVCC_GENCODE],
      ["${SHPOOL_NVCC_GENCODE:+ }-gencode=arch=compute_$shpool_arch,code=sm_$shpool_arch"])
    AS_VAR_APPEND([SHPOOL_LTO_CFLAGS],
      [" -gencode arch=compute_$shpool_arch,code=sm_$shpool_arch"])
    AS_VAR_APPEND([SHPOOL_LTO_CFLAGS],
      [" -gencode arch=compute_$shpool_arch,code=lto_$shpool_arch"])
    : "${SHPOOL_CUDA_LOW:=$shpool_arch}"
    shpool_high=$shpool_arch
  done
  shpool_ptx=" -gencode=arch=compute_$SHPOOL_CUDA_LOW,code=compute_$SHPOOL_CUDA_LOW"
  # the highest too, for GPUs that this nvcc does not know; "90a" does not run on later ones
  AS_CASE([$shpool_high], [$SHPOOL_CUDA_LOW|*@<:@a-z@:>@], [],
    [AS_VAR_APPEND([shpool_ptx],
       [" -gencode=arch=compute_$shpool_high,code=compute_$shpool_high"])])
  AS_VAR_APPEND([SHPOOL_NVCC_GENCODE], ["$shpool_ptx"])
  AS_VAR_APPEND([SHPOOL_LTO_CFLAGS], ["$shpool_ptx"])
  SHPOOL_CUDA_ARCHS=`echo $shpool_list | tr ' ' ','`
  SHPOOL_LTO_ARCH=`echo "$SHPOOL_CUDA_LOW" | tr -d a-z`
  SHPOOL_LTO_LETTERS=90
  AS_IF([test "$SHPOOL_LTO_ARCH" -gt 90], [SHPOOL_LTO_LETTERS=$SHPOOL_LTO_ARCH])

  # One probe of the whole pipeline: -dc, ar, device link, host link; then LTO-IR, the input of
  # nvJitLink, and NVRTC for the tests.
  AC_MSG_CHECKING([whether $NVCC compiles and links relocatable device code])
  mkdir conftest.cud
  cat >conftest.cud/a.cu <<'_SHPOOL_EOF'
extern "C" __device__ int shpool_probe(int x) { return x + 1; }
_SHPOOL_EOF
  cat >conftest.cud/b.cu <<'_SHPOOL_EOF'
extern "C" __device__ int shpool_probe(int x);
__global__ void k(int *p) { *p = shpool_probe(*p); }
int main() { return 0; }
_SHPOOL_EOF
  cat >conftest.cud/c.cu <<'_SHPOOL_EOF'
#include <nvrtc.h>
int main() { int a, b; return nvrtcVersion(&a, &b); }
_SHPOOL_EOF
  AS_IF([(cd conftest.cud &&
          $NVCC $SHPOOL_NVCC_GENCODE $NVCCFLAGS -Xcompiler -fPIC -dc a.cu -o a.o &&
          $AR cr libp.a a.o && $RANLIB libp.a &&
          $NVCC $SHPOOL_NVCC_GENCODE $NVCCFLAGS -rdc=true b.cu -L. -lp -o b
         ) >&AS_MESSAGE_LOG_FD 2>&1],
        [shpool_have_nvcc=yes shpool_have_nvcc_reason="(release $shpool_nvcc_release)"],
        [shpool_have_nvcc_reason="(nvcc found, probe failed: see config.log)"])
  AC_MSG_RESULT([$shpool_have_nvcc])
  AS_IF([test "x$shpool_have_nvcc" = xyes], [
    AC_MSG_CHECKING([whether $NVCC writes LTO-IR])
    AS_IF([(cd conftest.cud &&
            $NVCC -rdc=true -dlto -arch=sm_$SHPOOL_LTO_ARCH -ltoir a.cu -o a.ltoir &&
            test -s a.ltoir) >&AS_MESSAGE_LOG_FD 2>&1], [shpool_have_lto_ir=yes])
    AC_MSG_RESULT([$shpool_have_lto_ir])
    AC_MSG_CHECKING([whether $NVCC links with NVRTC])
    AS_IF([(cd conftest.cud && $NVCC c.cu -lnvrtc -o c) >&AS_MESSAGE_LOG_FD 2>&1],
          [shpool_have_nvrtc=yes])
    AC_MSG_RESULT([$shpool_have_nvrtc])
    # where nvcc finds its own libraries: tests that need one at run time look there
    SHPOOL_CUDA_LIBDIR=`$NVCC -dryrun conftest.cud/b.cu -o conftest.cud/b 2>&1 |
      sed -n 's/^#\$ LIBRARIES=//p' | tr -d '"' | tr ' ' '\n' |
      sed -n '/stubs/d;s/^-L//p' | sed 1q`
  ])
  rm -rf conftest.cud
])

AS_IF([test "x$shpool_have_nvcc" = xno], [
  NVCC= SHPOOL_NVCC_GENCODE= SHPOOL_CUDA_ARCHS= SHPOOL_LTO_CFLAGS=
  AS_CASE([$with_cuda], [auto|no], [],
    [AC_MSG_ERROR(
      [--with-cuda=$with_cuda given, but CUDA cannot be used $shpool_have_nvcc_reason])])
])

AC_SUBST([SHPOOL_NVCC_GENCODE])
AC_SUBST([SHPOOL_CUDA_ARCHS])
AC_SUBST([SHPOOL_CUDA_LOW])
AC_SUBST([SHPOOL_CUDA_LIBDIR])
AC_SUBST([SHPOOL_CUDA_VERSION])
AC_SUBST([SHPOOL_LTO_ARCH])
AC_SUBST([SHPOOL_LTO_LETTERS])
AS_IF([test "x$shpool_have_lto_ir" = xyes && test -n "$SHPOOL_LTO_CFLAGS"],
      [SHPOOL_LTO_CFLAGS="-DSHPOOL_LTO$SHPOOL_LTO_CFLAGS"], [SHPOOL_LTO_CFLAGS=])
AC_SUBST([SHPOOL_LTO_CFLAGS])
AS_IF([test "x$shpool_have_nvcc" = xyes],
      [AC_SUBST([SHPOOL_PC_DEVICE_LIBS], ['-L${libdir}/shpool -lshpool_device'])
       AC_DEFINE([HAVE_CUDA_DEVICE], [1], [Define to 1 if libshpool_device.a is built])],
      [AC_SUBST([SHPOOL_PC_DEVICE_LIBS], [])])
AS_IF([test "x$shpool_have_lto_ir" = xyes],
      [AC_DEFINE([HAVE_LTO_IR], [1], [Define to 1 if libshpool.so holds the allocators' LTO-IR])])
AM_CONDITIONAL([HAVE_NVCC], [test "x$shpool_have_nvcc" = xyes])
AS_IF([test "x$shpool_have_nvcc" = xno], [enable_bench_kernels=no])
AM_CONDITIONAL([HAVE_BENCH_KERNELS], [test "x$enable_bench_kernels" != xno])
AS_IF([test "x$enable_bench_kernels" != xno],
      [AC_DEFINE([HAVE_BENCH_KERNELS], [1], [Define to 1 if shpool-bench has kernels for GPUs])])
AM_CONDITIONAL([HAVE_LTO_IR], [test "x$shpool_have_lto_ir" = xyes])
AM_CONDITIONAL([HAVE_NVRTC], [test "x$shpool_have_nvrtc" = xyes])
])
