#!/bin/sh
# cuda_memory's USE_* defines: the program compat/use.cu under each of them, on the executor, and on
# a GPU if there is one (built, in any case, if there is nvcc).
set -u
tmp=$(mktemp -d "${TMPDIR:-/tmp}/shpool-compat.XXXXXX") || exit 99
trap 'rm -rf "$tmp"' EXIT
failed=0
include="-I$top_builddir/include -I$top_srcdir/include -I$top_srcdir/include/shpool/compat"
program=$top_srcdir/tests/compat/use.cu

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

# try WHAT DEFINE POOL MALLOC NAME IS_SHARED
try() {
    # $CXX and $NVCC may hold options
    # shellcheck disable=SC2086
    $CXX -std=c++17 -Wall -Wextra -Werror $include -D$2 "-DPOOL=$3" "-DMALLOC=$4" \
        "-DNAME=\"$5\"" "-DIS_SHARED=$6" -o "$tmp/cpu" -x c++ "$program" -x none \
        "$top_builddir/.libs/libshpool_core.a" -lpthread -lm -ldl >"$tmp/log" 2>&1 &&
        "$tmp/cpu" >>"$tmp/log" 2>&1
    result "$1, executor" $?
    if [ -n "$NVCC" ]; then
        # shellcheck disable=SC2086
        $NVCC -std=c++17 -Xcompiler -Wall,-Wextra -Werror all-warnings -arch="sm_$cuda_low" \
            $include -D$2 "-DPOOL=$3" "-DMALLOC=$4" "-DNAME=\"$5\"" "-DIS_SHARED=$6" \
            -o "$tmp/gpu" "$program" >"$tmp/log" 2>&1 &&
            "$tmp/gpu" >>"$tmp/log" 2>&1
        result "$1, nvcc" $?
    fi
}

try "no define" NO_USE native_pool native_pool::pmalloc "Native Device Malloc" 0
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
    try "$define" "$define" "$pool" "$pool::${u%%:*}" "${u#*:}" 1
done
try "a program's own macros" "OWN_MACROS -DUSE_THREAD_LOCAL_BEST_FIT" thread_pool \
    thread_pool::pmalloc "Thread Local (Best Fit)" 1
exit $failed
