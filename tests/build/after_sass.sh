#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The cost of after.h: none where it is not used (the same cubin, byte for byte, with and without
# it), and no stack frame where it is.  No GPU needed.
#
#   NVCC        [nvcc]
#   sass_archs  architectures [75 80 90 100 120]
#   top_srcdir  source folder [the one above this script's]
#
# Prints a PASS or FAIL line for each check.  Exit: 0; 1; 77: no nvcc.
set -u
here=$(cd "$(dirname "$0")" && pwd)
src=$(cd "${top_srcdir:-$here/../..}" && pwd)
NVCC=${NVCC-nvcc} # empty: built without CUDA
[ -n "$NVCC" ] && command -v "${NVCC%% *}" >/dev/null 2>&1 || {
    echo "skipped: no nvcc ($NVCC)"
    exit 77
}
# shellcheck source=tests/build/checks.sh
. "$src/tests/build/checks.sh"
tmp=$work
mkdir -p "$tmp/include/shpool"
ln -s "$src/allocators" "$tmp/include/shpool/allocators"

# The same file for both, because a cubin names it.
cat >"$tmp/unused.cu" <<'CUDA'
#define BINDING_KERNEL sass_kernel
#ifdef WITH_AFTER
#include <shpool/after.h>
#endif
#include "binding_kernel.cuh"
CUDA
cat >"$tmp/used.cu" <<'CUDA'
#include <shpool/after.h>
#include <shpool/shpool.cuh>
extern "C" __global__ void sass_kernel(shpool_pool pool, float *out, unsigned rows)
{
    extern __shared__ __align__(16) unsigned char smem[];
    shpool_heap  heap  = shpool_init(&pool, smem);
    shpool_after after = shpool_after_init(heap, 4);

    for (unsigned i = threadIdx.x; i < rows; i += blockDim.x) {
        float *tile = (float *)shpool_after_malloc(&after, 64);

        for (unsigned k = 0; (tile != NULL) && (k < 16); k++) {
            tile[k] = (float)(i + k);
        }
        simt_fence_async();
        if (tile != NULL) {
            simt_copy_async_out(out + 16 * i, simt_to_shared(tile), 64);
        }
        shpool_free_after_group(&after, tile);
    }
    shpool_after_fini(&after);
}
CUDA

compile() { # ARCH OUTPUT SOURCE FLAGS...
    arch=$1 out=$2 source=$3
    shift 3
    # $NVCC may hold options
    # shellcheck disable=SC2086
    $NVCC -std=c++17 -arch="sm_$arch" -I"$tmp/include" -I"$src/include" -I"$src/tests/gpu" \
        -DSHPOOL_INLINE=bitmap "$@" -Xptxas -v -cubin -o "$tmp/$out" "$tmp/$source" \
        >"$tmp/log" 2>&1 && return 0
    cat "$tmp/log"
    return 1
}

for arch in $(echo "${sass_archs:-75 80 90 100 120}" | tr ',' ' '); do
    if ! ${NVCC%% *} --list-gpu-code | grep -q "sm_$arch\$"; then
        echo "SKIP sm_$arch: this nvcc does not know it"
        continue
    fi
    compile "$arch" without.cubin unused.cu && compile "$arch" with.cubin unused.cu -DWITH_AFTER &&
        cmp -s "$tmp/without.cubin" "$tmp/with.cubin"
    result $? "sm_$arch: a kernel that does not use after.h is the same with it"
    if [ "$arch" -ge 90 ]; then
        compile "$arch" used.cubin used.cu &&
            sed -n '/properties for sass_kernel/{n;p;}' "$tmp/log" | grep -q ' 0 bytes stack frame'
        result $? "sm_$arch: a queue lies in registers ($(grep -o 'Used [0-9]* registers' \
            "$tmp/log" | head -n 1))"
    fi
done
exit $failed
