#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The messages of doc/TROUBLESHOOTING.md that compilers and linkers print: each is provoked, and the
# output is compared with the page.  In the build folder.
#
#   NVCC, CC, CXX, top_srcdir, cuda_low, cuda_libdir   as in tests.mk
#
# Exit: 0; 1; 77: built without nvcc, or without a shared library where that is all.
set -u
. "${top_srcdir:-.}/tests/build/checks.sh"
page=$top_srcdir/doc/TROUBLESHOOTING.md
here=$PWD
include="-I$top_builddir/include -I$top_srcdir/include"

# A sentence in the page; ld's quotes are two kinds, the page's one.
plain() { tr '`' "'" | tr -s ' '; }

# says WORDS COMMAND...: it fails with these words, which the page has, too
says() {
    words=$1
    shift
    if ! plain <"$page" | grep -qF -- "$words"; then
        echo "FAIL the page lacks: $words"
        failed=1
    elif "$@" >"$work/says" 2>&1; then
        echo "FAIL it worked: $*"
        failed=1
    elif ! plain <"$work/says" | grep -qF -- "$words"; then
        echo "FAIL no \"$words\" from: $*"
        head -5 "$work/says"
        failed=1
    else
        echo "PASS $words"
    fi
}

tried=0
if [ -f .libs/libshpool.so ]; then
    tried=1
    # shellcheck disable=SC2086
    check "a program" $CC $include -o "$work/c" "$top_srcdir/tests/build/consumer.c" \
        -L.libs -lshpool
    says 'error while loading shared libraries: libshpool.so' env -u LD_LIBRARY_PATH "$work/c"
fi
if [ -z "${NVCC:-}" ]; then
    [ $tried = 1 ] || { echo "skipped: built without nvcc"; exit 77; }
    exit $failed
fi

cat >"$work/app.cu" <<'END'
#include <shpool/shpool.cuh>
static __global__ void kernel(shpool_pool pool)
{
    extern __shared__ __align__(16) unsigned char smem[];
    shpool_heap heap = shpool_init(&pool, smem);
    shpool_free(heap, shpool_malloc(heap, 8));
    shpool_fini(heap);
}
int NAME(void)
{
    shpool_pool   pool;
    shpool_config want = {32, 4096};
    kernel<<<1, 32>>>(pool);
    return (int)shpool_open(NULL, &want, &pool);
}
END
sed 's/NAME/second/' "$work/app.cu" >"$work/second.cu"
sed 's/NAME/main/' "$work/app.cu" >"$work/main.cu"
cp "$top_srcdir/examples/plugin/own.h" "$work"
sed 's|\.\./plugin/||' "$top_srcdir/examples/own_allocator/device.cu" >"$work/own.cu"
cp "$work/own.cu" "$work/again.cu"

# shellcheck disable=SC2086
nvcc() { $NVCC -std=c++17 "-arch=sm_$cuda_low" $include -o "$work/out" "$@"; }
archive="-L$here -lshpool_device"
core="$here/.libs/libshpool_core.a -lpthread -ldl -lm"

says 'shpool: -rdc=true (CMake: CUDA_SEPARABLE_COMPILATION) or -DSHPOOL_INLINE=NAME is missing' \
    nvcc "$work/main.cu"
says "shpool/allocators/bitmpa/bitmpa.h: No such file or directory" \
    nvcc -DSHPOOL_INLINE=bitmpa "$work/main.cu"
says "nvcc fatal : Unknown option '-pthread'" nvcc -pthread "$work/main.cu"
check "an object" nvcc -rdc=true -c "$work/main.cu" -o "$work/main.o"
check "an object to be linked at run time" \
    nvcc -rdc=true -DSHPOOL_LINKED -c "$work/main.cu" -o "$work/linked.o"
# shellcheck disable=SC2086
{
    says "undefined reference to 'shpool_plan'" nvcc -rdc=true "$work/main.o" $archive
    says "nvlink error : Undefined reference to 'shpool_image_mark'" \
        nvcc -rdc=true "$work/main.o" $core
    if [ "$cuda_low" -gt 75 ]; then # an archive without the program's architecture
        says "nvlink error : Undefined reference to 'shpool_image_mark'" \
            $NVCC -std=c++17 -arch=sm_75 $include -rdc=true -o "$work/out" "$work/main.cu" \
            $archive $core
    fi
    says "ptxas fatal : Unresolved extern function 'shpool_linked_id'" \
        nvcc -DSHPOOL_LINKED "$work/main.cu" $core
    says "nvlink error : Undefined reference to 'shpool_linked_id'" \
        nvcc -rdc=true "$work/linked.o" $core
    says "nvlink error : Multiple definition of 'shpool_own_tables'" \
        nvcc -rdc=true "$work/main.o" "$work/own.cu" "$work/again.cu" $archive $core
    says "undefined reference to '__cudaRegisterLinkedBinary_" \
        $CXX -o "$work/out" "$work/main.o" $archive $core -L"$cuda_libdir" -lcudart_static -lrt
    # errors that cuda_memory's users met, and that do not occur here
    check "two files with the headers, and the archive named twice" \
        nvcc -rdc=true "$work/main.o" "$work/second.cu" $archive $archive $core
    check "two files with the headers, inline" \
        nvcc "-DSHPOOL_INLINE=${allocators%% *}" "$work/main.cu" "$work/second.cu" $core
}
exit $failed
