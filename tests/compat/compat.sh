#!/bin/sh
# cuda_memory's names as its programs use them, on the executor, and on a GPU if there is one, else
# their kernels are compiled, and of each file one program: compat/use.cu under the USE_* defines,
# compat/cumem.cu under each define and with both kinds of headers, host files without nvcc, and how
# much code a kernel with many calls becomes.
set -u
tmp=$(mktemp -d "${TMPDIR:-/tmp}/shpool-compat.XXXXXX") || exit 99
trap 'rm -rf "$tmp"' EXIT
failed=0
part= # all of it
include="-I$top_builddir/include -I$top_srcdir/include -I$top_srcdir/include/shpool/compat"
here=$top_srcdir/tests/compat

for name in thread_first_fit thread_best_fit warp_first_fit warp_best_fit freelist rbtree; do
    case " $allocators " in
    *" $name "*) ;;
    *)
        echo "this build has no $name"
        exit 77
        ;;
    esac
done

# result WHAT STATUS: say it
result() {
    case $2 in
    0) echo "ok   $1" ;;
    77) echo "skip $1: no GPU" ;;
    *)
        echo "FAIL $1"
        cat "$tmp/log"
        failed=1
        ;;
    esac
}

# printed: four used blocks of thread 1 and the free one, twice each
printed() {
    [ "$(grep -c ', used$' "$tmp/log")" = 8 ] && [ "$(grep -c ', free$' "$tmp/log")" = 2 ] &&
        [ "$(grep -c 'thread 1: pool of' "$tmp/log")" = 3 ]
}

# run WHAT STATUS: what was compiled, if it was; its status
run() {
    status=$2
    if [ "$status" = 0 ]; then
        "$tmp/program" >"$tmp/log" 2>&1
        status=$?
        case $1 in
        *PRINTS*) [ $status != 0 ] || printed || status=1 ;;
        esac
    fi
    result "$1" $status
}

# try WHAT PROGRAM FLAGS...
try() {
    what=$1
    program=$here/$2
    shift 2
    # $CXX and $NVCC may hold options
    # shellcheck disable=SC2086
    $CXX -std=c++17 -Wall -Wextra -Werror $include "$@" -o "$tmp/program" \
        -x c++ "$program" -x none \
        "$top_builddir/.libs/libshpool_core.a" -lpthread -lm -ldl >"$tmp/log" 2>&1
    run "$what, executor" $?
    if [ -n "$NVCC" ]; then
        # shellcheck disable=SC2086
        $NVCC -std=c++17 -Xcompiler -Wall,-Wextra -Werror all-warnings -arch="sm_$cuda_low" $part \
            $include "$@" -o "$tmp/program" "$program" >"$tmp/log" 2>&1
        status=$?
        [ -z "$part" ] || echo 'exit 77' >"$tmp/program"
        run "$what, nvcc" $status
        nvidia-smi -L >/dev/null 2>&1 || part=-ptx
    fi
}

# use WHAT POOL MALLOC NAME IS_SHARED DEFINES...
use() {
    what=$1
    name=$4
    set -- "-DPOOL=$2" "-DMALLOC=$3" "-DIS_SHARED=$5" "$6" "${7:--DNOTHING}"
    try "$what" use.cu "-DNAME=\"$name\"" "$@"
}

use "no define" native_pool native_pool::pmalloc "Native Device Malloc" 0 -DNO_USE
for u in THREAD_LOCAL:thread_pool:pmalloc:"Thread Local (First Fit)" \
    THREAD_LOCAL_BEST_FIT:thread_pool:pmalloc_best_fit:"Thread Local (Best Fit)" \
    WARP_LOCAL:warp_pool:pmalloc:"Warp Local (First Fit)" \
    WARP_LOCAL_BEST_FIT:warp_pool:pmalloc_best_fit:"Warp Local (Best Fit)" \
    FREELIST_ALLOCATOR:list_pool:pmalloc:"Julian (Standard Freelist)" \
    BST_ALLOCATOR:bst_pool:pmalloc:"Julian (BST)"; do
    define=USE_${u%%:*}
    u=${u#*:}
    pool=${u%%:*}
    u=${u#*:}
    use "$define" "$pool" "$pool::${u%%:*}" "${u#*:}" 1 "-D$define"
done
use "a program's own macros" thread_pool thread_pool::pmalloc "Thread Local (Best Fit)" 1 \
    -DOWN_MACROS -DUSE_THREAD_LOCAL_BEST_FIT

# Kernels alone are compiled from the same lines as whole programs, as long as none of these asks
# which pass it is in.
grep -rn '__CUDA_ARCH__' "$top_srcdir/include/shpool/compat" "$here" --include='*.cu*' \
    --include='*.h' >"$tmp/log"
[ $? = 1 ]
result "no line depends on the pass" $?

nvcc=$NVCC
part=
for header in ALLOCATOR BLUEPRINT; do
    for define in NATIVE USE_THREAD_LOCAL USE_THREAD_LOCAL_BEST_FIT USE_WARP_LOCAL \
        USE_WARP_LOCAL_BEST_FIT; do
        # blueprint.h tells NATIVE from all others only: nvcc sees two of them
        [ $header = ALLOCATOR ] || [ $define = NATIVE ] || NVCC=
        try "-D$define -D$header" cumem.cu -D$define -D$header
    done
    NVCC=$nvcc
    for define in USE_FREELIST_ALLOCATOR USE_BST_ALLOCATOR; do
        try "-D$define -DPRINTS -D$header" cumem.cu -D$define -DPRINTS -D$header
    done
done

# host HEADER DEFINES: compiled without optimisation, which would remove unused functions
host() {
    # shellcheck disable=SC2086
    $CXX -std=c++17 -O0 -Wall -Wextra -Werror $include "-DHEADER=\"$1\"" $2 -o "$tmp/host" \
        "$here/cumem_host.cc" >"$tmp/log" 2>&1 && "$tmp/host" >>"$tmp/log" 2>&1
    result "a host file with $1 $2" $?
}
host allocator.cuh -DNONE
host cumem/blueprint.h -DNONE
host configure.h -DCONFIGURE
printf '#include "configure.h"\n#include "allocator.cuh"\n' >"$tmp/both.h"
printf '#include "%s"\n#include "cumem/blueprint.h"\n' "$tmp/both.h" >"$tmp/all.h"
host "$tmp/all.h" -DNONE
host "$tmp/both.h" -DUSE_WARP_LOCAL # CMake gives a define to all files

# Calls are not inlined: 24 of them need less than four times as much code as one.
if [ -n "$NVCC" ]; then
    for calls in 1 24; do
        {
            echo '#include "allocator.cuh"'
            echo '__global__ void kernel(void **p, size_t n) {'
            echo 'thread_pool::pool_init(n); glob_pool::pool_init(p, n);'
            i=0
            while [ $i -lt $calls ]; do
                echo "p[$i] = thread_pool::pmalloc($i + n);"
                echo "p[$i] = glob_pool::pmalloc($i + n); glob_pool::pfree(p[$i]);"
                i=$((i + 1))
            done
            echo '}'
        } >"$tmp/calls.cu"
        # shellcheck disable=SC2086
        $NVCC -std=c++17 -arch="sm_$cuda_low" $include -ptx -o "$tmp/calls$calls.ptx" \
            "$tmp/calls.cu" >"$tmp/log" 2>&1 || failed=1
    done
    one=$(grep -c ';' "$tmp/calls1.ptx")
    all=$(grep -c ';' "$tmp/calls24.ptx")
    echo "$all lines, $one for one call" >"$tmp/log"
    [ "$all" -lt $((4 * one)) ]
    result "24 calls of pmalloc in two pools" $?
fi
exit $failed
