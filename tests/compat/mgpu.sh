#!/bin/sh
# MGPU's algorithm headers together with ours: a tree with MGPU's folders and ways to include, over
# which ours are copied as doc/COMPAT.md says.  The headers that ours replace have an #error there.
set -u
if [ -z "$NVCC" ]; then
    echo "no nvcc"
    exit 77
fi
tmp=$(mktemp -d "${TMPDIR:-/tmp}/shpool-mgpu.XXXXXX") || exit 99
trap 'rm -rf "$tmp"' EXIT
failed=0
program=$top_srcdir/tests/compat/mgpu_programs.cu
tree=$tmp/mgpu
mkdir -p "$tree/device" "$tree/kernels" "$tree/util"

for name in moderngpu.cuh mgpudevice.cuh device/launchbox.cuh device/loadstore.cuh util/util.h \
    util/format.h util/mgpualloc.h util/mgpucontext.h; do
    echo "#error \"$name of the original\"" >"$tree/$name"
done
cat >"$tree/util/static.h" <<'EOF'
#pragma once
#include <functional>
#ifndef MGPU_MIN
#define MGPU_MIN(x, y) (((x) <= (y)) ? (x) : (y))
#define MGPU_DIV_UP(x, y) (((x) + (y) - 1) / (y))
#endif
namespace mgpu {
typedef unsigned char byte;
typedef unsigned int  uint;
typedef short         int16;
typedef long long     int64;
template <int X, int Y> struct sDivUp {
    enum { value = (X + Y - 1) / Y };
};
}
EOF
# Without .sync, as in MGPU 1.1: doc/COMPAT.md has the commands that replace these instructions.
cat >"$tree/device/intrinsics.cuh" <<'EOF'
#pragma once
#include "../util/static.h"
namespace mgpu {
__device__ __forceinline__ int shfl_add(int x, int offset)
{
    int sum;
    asm("{.reg .s32 y;"
        ".reg .pred p;"
        "shfl.up.b32 y|p, %1, %2, 0;"
        "@p add.s32 y, y, %1;"
        "mov.s32 %0, y; }"
        : "=r"(sum) : "r"(x), "r"(offset));
    return sum;
}
__device__ __forceinline__ float shfl_up(float x, unsigned delta)
{
    return __shfl_up(x, delta, 32);
}
}
EOF
cat >"$tree/device/deviceutil.cuh" <<'EOF'
#pragma once
#include "../device/intrinsics.cuh"
#define MGPU_HOST __host__ __forceinline__
#define MGPU_DEVICE __device__ __forceinline__
#define MGPU_HOST_DEVICE __host__ __device__ __forceinline__
namespace mgpu {
const int WARP_SIZE = 32;
template <typename T> struct plus {
    MGPU_HOST_DEVICE T operator()(T a, T b) { return a + b; }
};
}
EOF
cat >"$tree/mgpuenums.h" <<'EOF'
#pragma once
namespace mgpu {
enum MgpuScanType { MgpuScanTypeExc, MgpuScanTypeInc };
}
EOF
cat >"$tree/device/ctascan.cuh" <<'EOF'
#pragma once
#include "../mgpuenums.h"
#include "deviceutil.cuh"
namespace mgpu {
template <int NT, typename T> MGPU_DEVICE T CTAScanExc(int tid, T x, T *shared, T *total)
{
    T y = x;
    for (int offset = 1; offset < 32; offset *= 2) y = shfl_add(y, offset);
    if (tid % 32 == 31) shared[tid / 32] = y;
    __syncthreads();
    T before = y - x, all = 0;
    for (int i = 0; i < NT / 32; i++) {
        before += (i < tid / 32) ? shared[i] : 0;
        all += shared[i];
    }
    __syncthreads();
    *total = all;
    return before;
}
}
EOF
cat >"$tree/device/ctasegscan.cuh" <<'EOF'
#pragma once
#include "../device/ctascan.cuh"
namespace mgpu {
/* the flags of the thread's warp; all must have one, which the first lanes find out together */
template <int NT> MGPU_DEVICE unsigned Flags(int tid, bool flag, unsigned *shared)
{
    const int NumWarps = NT / 32;
    unsigned  bits = __ballot(flag);
    if (tid % 32 == 0) shared[tid / 32] = bits;
    __syncthreads();
    if (tid < NumWarps && __ballot(0 != shared[tid]) != 0xffffffff >> (32 - NumWarps)) bits = 0;
    __syncthreads();
    return bits;
}
}
EOF
# Calls a function of ctamerge.cuh, which it does not include.
cat >"$tree/device/ctaloadbalance.cuh" <<'EOF'
#pragma once
#include "../mgpudevice.cuh"
namespace mgpu {
template <int NT> MGPU_DEVICE int4 CTALoadBalance(int count, const int *mp_global)
{
    return ComputeMergeRange(count, 0, blockIdx.x, 0, NT, mp_global);
}
}
EOF
cat >"$tree/device/ctamerge.cuh" <<'EOF'
#pragma once
#include "../mgpudevice.cuh"
namespace mgpu {
MGPU_HOST_DEVICE int4 ComputeMergeRange(int aCount, int bCount, int block, int coop, int NV,
                                        const int *mp_global)
{
    return make_int4(mp_global[block], aCount, bCount + coop, NV);
}
}
EOF
cat >"$tree/mgpuhost.cuh" <<'EOF'
#pragma once
#include "mgpudevice.cuh"
#include "util/mgpucontext.h"
namespace mgpu {
template <MgpuScanType Type, typename It, typename T>
MGPU_HOST void Scan(It data_global, int count, T *reduce_host, CudaContext &context);
template <typename It, typename T>
MGPU_HOST void ScanExc(It data_global, int count, T *total, CudaContext &context);
}
EOF
cat >"$tree/kernels/scan.cuh" <<'EOF'
#pragma once
#include "../mgpuhost.cuh"
#include "../device/loadstore.cuh"
#include "../device/launchbox.cuh"
namespace mgpu {
template <typename Tuning, typename It, typename T>
MGPU_LAUNCH_BOUNDS void KernelScan(It data_global, int count, T *sums, const T *start)
{
    typedef MGPU_LAUNCH_PARAMS Params;
    const int NT = Params::NT, VT = Params::VT, NV = NT * VT;
    __shared__ T shared[NV];
    T reg[VT], total, x = 0;
    if (Flags<NT>(threadIdx.x, true, (unsigned *)shared) != 0xffffffff) return;
    int tid = threadIdx.x, gid = NV * blockIdx.x, rest = min(NV, count - gid);
    DeviceGlobalToSharedDefault<NT, VT>(rest, data_global + gid, tid, shared, T(0));
    DeviceSharedToThread<VT>(shared, tid, reg);
    for (int i = 0; i < VT; i++) x += reg[i];
    x = CTAScanExc<NT>(tid, x, shared, &total) + (start ? start[blockIdx.x] : T(0));
    for (int i = 0; i < VT; i++) { T y = reg[i]; reg[i] = x; x += y; }
    if (sums) { if (!tid) sums[blockIdx.x] = total; return; }
    DeviceThreadToShared<VT>(reg, tid, shared);
    DeviceSharedToGlobal<NT, VT>(rest, shared, tid, data_global + gid);
}
/* calls itself, as MGPU's does */
template <MgpuScanType Type, typename It, typename T>
MGPU_HOST void Scan(It data_global, int count, T *reduce_host, CudaContext &context)
{
    typedef LaunchBoxVT<128, 7> Tuning;
    int2 launch = Tuning::GetLaunchParams(context);
    int blocks = MGPU_DIV_UP(count, launch.x * launch.y);
    MGPU_MEM(T) sums = context.Malloc<T>(blocks);
    KernelScan<Tuning><<<blocks, launch.x, 0, context.Stream()>>>(data_global, count, sums->get(),
                                                                  (const T *)0);
    MGPU_SYNC_CHECK("KernelScan");
    if (blocks > 1) {
        Scan<Type>(sums->get(), blocks, reduce_host, context);
    } else {
        copyDtoH(reduce_host, sums->get(), 1);
        context.Fill<T>(1, 0)->ToDevice(sums->get(), 1);
    }
    KernelScan<Tuning><<<blocks, launch.x, 0, context.Stream()>>>(data_global, count, (T *)0,
                                                                  (const T *)sums->get());
    MGPU_SYNC_CHECK("KernelScan");
}
template <typename It, typename T>
MGPU_HOST void ScanExc(It data_global, int count, T *total, CudaContext &context)
{
    Scan<MgpuScanTypeExc>(data_global, count, total, context);
}
}
EOF

cat >"$tree/kernels/loadbalance.cuh" <<'EOF'
#pragma once
#include "../mgpuhost.cuh"
#include "../device/ctaloadbalance.cuh"
#include "../device/ctamerge.cuh"
namespace mgpu {
template <int NT> __global__ void KernelLoadBalance(int count, const int *mp_global, int4 *range)
{
    *range = CTALoadBalance<NT>(count, mp_global);
}
template __global__ void KernelLoadBalance<128>(int, const int *, int4 *);
}
EOF

# build WHAT FLAGS: compile, link, and run on a GPU if there is one
build() {
    # $NVCC and $2 may hold options
    # shellcheck disable=SC2086
    $NVCC -std=c++17 -arch="sm_$cuda_low" $2 -I"$top_builddir/include" -I"$top_srcdir/include" \
        -o "$tmp/program" "$program" "$top_builddir/.libs/libshpool_core.a" -lpthread -lm -ldl \
        >"$tmp/log" 2>&1
    status=$?
    if [ $status = 0 ]; then
        "$tmp/program" >"$tmp/log" 2>&1
        status=$?
    fi
    case $status in
    0) echo "ok   $1" ;;
    77) echo "skip $1: no GPU, but it is built" ;;
    *)
        echo "FAIL $1"
        cat "$tmp/log"
        failed=1
        ;;
    esac
}

cp -R "$top_srcdir/include/shpool/compat/." "$tree/"
sed -n '/^    sed -i /p' "$top_srcdir/doc/COMPAT.md" >"$tmp/sync.sh"
(cd "$tmp" && sh sync.sh) || failed=1

# MGPU's states vote in three forms.  After the commands each names the lanes that vote: with a
# mask of a whole warp, the others are waited for without end.
mkdir -p "$tmp/states/mgpu/device"
cat >"$tmp/states/mgpu/device/ctasegscan.cuh" <<'EOF'
bits = __ballot(0 != shared[tid]);
bits = ballot(0 != shared[tid]);
bits = ballot(0 != shared[tid], (1 << NumWarps) - 1);
EOF
(cd "$tmp/states" && sh ../sync.sh)
if [ "$(grep -c '_sync(0xffffffff >> (32 - NumWarps), 0 != shared\[tid\])' \
    "$tmp/states/mgpu/device/ctasegscan.cuh")" = 1 ] &&
    [ "$(grep -c ' ballot(0 != shared\[tid\], [(0]' "$tmp/states/mgpu/device/ctasegscan.cuh")" = 2 ]
then
    echo "ok   votes of a part of a warp name its lanes"
else
    echo "FAIL votes of a part of a warp:"
    cat "$tmp/states/mgpu/device/ctasegscan.cuh"
    failed=1
fi
build "beside MGPU's algorithms" "-I$tree"
build "beside MGPU's algorithms, debug" "-I$tree -D_DEBUG"
build "alone" "-DALONE -I$top_srcdir/include/shpool/compat"
exit $failed
