/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/layout.cuh
 * Pack and unpack of the blocked layout of records on a GPU: launches, their kernels, and the
 * block-cooperative functions that the kernels consist of.  shpool/layout.h has the terms, the
 * maps, and the same functions for the host.
 *
 *     shpool::layout_pack(records, n, 3, 256, blocked, stream);     n records of 3 floats
 *     work<<<shpool_layout_groups(n, 256), 256, 0, stream>>>(blocked, n);
 *     shpool::layout_unpack(blocked, n, 3, 256, records, stream);
 *
 *     __global__ void work(float *blocked, unsigned long long n)
 *     {
 *         const unsigned long long indx = 256ull * blockIdx.x + threadIdx.x;
 *         const float x = blocked[shpool_layout_index(indx, 0, 3, 256)];    element 0, coalesced
 *         ...
 *
 * How it works.  Each group is a matrix of bd records by m words, which is transposed.  A block
 * moves a tile of it, `tile_records` by `tile_words`, through shared memory (the stage).  A tile
 * has several whole groups if they are small, whole records if 32 of them fit, else parts of
 * records.  Both arrays are read and written with neighbouring lanes at neighbouring addresses; a
 * lane moves 4 bytes for types of up to 4 bytes, else one element.
 *
 * Bank conflicts.  Lanes that read element i of neighbouring records from the stage are C units
 * apart (C: words of a record in the tile; a unit is the 4, 8 or 16 bytes that a lane moves), and
 * the hardware serves L lanes at a time: 32, 16 or 8.  The banks repeat after L/gcd(C, L) records,
 * so the stage has one unit of padding after that number of records.  Such a run is a multiple of L
 * units long, so that lanes that write consecutive units of the records never cross a padding.
 * Neither side has a conflict if a row of the tile (one element of a group's records) is a multiple
 * of 32 units.  This holds for all bd with types of 4 bytes and more, for multiples of 64 with 2
 * bytes and of 128 with 1.  Otherwise the blocked side may have conflicts of up to three ways.  An
 * odd pitch, the usual remedy, costs up to one unit per record and conflicts on the records' side.
 *
 * Types.  T is any trivially copyable type of 1, 2, 4, 8 or 16 bytes; pointers must be aligned to
 * sizeof(T), even if alignof(T) is less.  1- and 2-byte types are moved 4 bytes at a time only if
 * the array is aligned to 4, as memory from cudaMalloc is.
 *
 * nvcc (C++17) and NVRTC, sm_75 and newer; the block functions also with a C++17 compiler, for the
 * CPU block executor (shpool/executor.h).  The launches need libshpool and the CUDA runtime.
 */
#ifndef SHPOOL_LAYOUT_CUH
#define SHPOOL_LAYOUT_CUH

#include <shpool/layout.h>
#include <shpool/simt.h>

#include <shpool/impl/layout_tile.h>

namespace shpool
{

/**
 * Division of n records into tiles.  Plain data, a kernel parameter; layout_plan_of() fills it in.
 *
 * Example: 100,000 records of 3 floats, bd = 256, a stage of 16 KiB.  A group is 3 KiB; five of
 * them and their padding are a tile: tile_records = 1,280, tile_words = 3, tiles = 79.
 */
struct layout_plan {
    unsigned long long n;            /**< records */
    unsigned long long tiles;        /**< 0: nothing to do, or the plan failed */
    uint32_t           m;            /**< words of a record */
    uint32_t           bd;           /**< records of a group */
    uint32_t           tile_records; /**< a multiple or a divisor of bd; always a multiple of 32 */
    uint32_t           tile_words;   /**< m, or less if the stage cannot hold 32 records */
    uint32_t           stage_bytes;  /**< bytes that a tile uses, at most those given */
    uint32_t           reserved;     /**< 0 */
};

/**
 * Divide n records into tiles for a stage of stage_bytes.
 *
 * Host and device, any thread.  Tiles are as large as the stage allows, up to 64 KiB.
 * @param [in]  n, m, bd     as required by shpool_layout_check()
 * @param [in]  stage_bytes  of shared memory; 1 KiB is enough for any plan, less than 8 KiB is slow
 * @param [out] plan_p       zeroed if it fails
 * @return SHPOOL_OK, SHPOOL_ERR_INVALID (m, bd), SHPOOL_ERR_TOO_LARGE (more elements than 64 bits
 *         can count) or SHPOOL_ERR_TOO_SMALL (the stage cannot hold one word of each of 32 records)
 */
template <typename T>
SHPOOL_LAYOUT_FN shpool_status layout_plan_of(unsigned long long n, uint32_t m, uint32_t bd,
                                              uint32_t stage_bytes, layout_plan *plan_p)
{
    const unsigned long long places = shpool_layout_groups(n, bd) * bd;
    layout_plan              plan   = {};

    *plan_p = plan;
    if ((m == 0) || (bd == 0) || (bd % SHPOOL_LAYOUT_GRAIN != 0) || (bd > SHPOOL_MAX_THREADS)) {
        return SHPOOL_ERR_INVALID;
    }
    if ((n != 0) && (shpool_layout_elements(n, m, bd) == 0)) {
        return SHPOOL_ERR_TOO_LARGE;
    }
    if (!impl::layout_shape<T>(shpool_layout_groups(n, bd), m, bd, stage_bytes, &plan.tile_records,
                               &plan.tile_words)) {
        return SHPOOL_ERR_TOO_SMALL;
    }
    plan.n           = n;
    plan.m           = m;
    plan.bd          = bd;
    plan.stage_bytes = impl::layout_stage_bytes<T>(plan.tile_records, plan.tile_words);
    plan.tiles       = (places / plan.tile_records + (places % plan.tile_records != 0)) *
                 ((m - 1) / plan.tile_words + 1);
    *plan_p = plan;
    return SHPOOL_OK;
}

/**
 * Convert one tile from records to the blocked layout; writes zero for missing records of the last
 * group.
 *
 * Scope:  all threads of the block, converged, with the same arguments; any number of threads,
 *         which need not be bd.  One barrier inside.
 * Order:  the caller owes a simt_barrier() (__syncthreads()) before the stage is used again, for
 *         the next tile or for anything else; the tile is visible to others in the blocked array
 *         when the kernel ends.
 * Shape:  tiles write disjoint elements, so they can be processed in any order by any blocks.
 * @param [in]     plan     layout_plan_of<T>()
 * @param [in]     tile     0..plan.tiles-1; any other value only waits at the barrier
 * @param [in]     records  plan.n * plan.m elements in global memory
 * @param [out]    blocked  shpool_layout_elements() elements in global memory, not overlapping
 * @param [in,out] stage    plan.stage_bytes of shared memory, aligned to 16; its contents are lost
 */
template <typename T>
SIMT_FN void layout_pack_tile(const layout_plan &plan, unsigned long long tile, const T *records,
                              T *blocked, void *stage)
{
    const impl::layout_part part = impl::layout_part_of(plan, tile);

    impl::layout_read_records<T>(plan, part, records, stage);
    simt_barrier();
    impl::layout_write_blocked<T>(plan, part, blocked, stage);
}

/**
 * Convert one tile from the blocked layout to records: the inverse of layout_pack_tile().
 *
 * Reads the padding of the last group, but does not write it.  Otherwise as layout_pack_tile().
 */
template <typename T>
SIMT_FN void layout_unpack_tile(const layout_plan &plan, unsigned long long tile, const T *blocked,
                                T *records, void *stage)
{
    const impl::layout_part part = impl::layout_part_of(plan, tile);

    impl::layout_read_blocked<T>(plan, part, blocked, stage);
    simt_barrier();
    impl::layout_write_records<T>(plan, part, records, stage);
}

} // namespace shpool

#if defined(__CUDACC__)

/* Blocks of the kernels below per multiprocessor: 1,024 threads fit on each, 1,536 since sm_80.
 * Without this bound the compiler uses twice the registers, for no gain. */
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ >= 800)
#define SHPOOL_LAYOUT_BLOCKS 6
#else
#define SHPOOL_LAYOUT_BLOCKS 4
#endif

namespace shpool
{

/** Parameters of the launches below: threads of a block, and bytes of static shared memory. */
enum {
    LAYOUT_THREADS     = 256,
    LAYOUT_STAGE_BYTES = 16384
};

/**
 * Process all tiles of a plan, round-robin over the blocks of a one-dimensional grid: for any
 * number of blocks, and up to LAYOUT_THREADS threads.  The plan must be for STAGE_BYTES.
 */
template <typename T, uint32_t STAGE_BYTES>
__global__ void __launch_bounds__(LAYOUT_THREADS, SHPOOL_LAYOUT_BLOCKS)
    layout_pack_kernel(layout_plan plan, const T *records, T *blocked)
{
    __shared__ __align__(16) unsigned char stage[STAGE_BYTES];

    for (unsigned long long tile = blockIdx.x; tile < plan.tiles; tile += gridDim.x) {
        layout_pack_tile(plan, tile, records, blocked, stage);
        simt_barrier(); /* the next tile uses the same stage */
    }
}

/** The inverse of layout_pack_kernel(). */
template <typename T, uint32_t STAGE_BYTES>
__global__ void __launch_bounds__(LAYOUT_THREADS, SHPOOL_LAYOUT_BLOCKS)
    layout_unpack_kernel(layout_plan plan, const T *blocked, T *records)
{
    __shared__ __align__(16) unsigned char stage[STAGE_BYTES];

    for (unsigned long long tile = blockIdx.x; tile < plan.tiles; tile += gridDim.x) {
        layout_unpack_tile(plan, tile, blocked, records, stage);
        simt_barrier();
    }
}

} // namespace shpool

#if !defined(__CUDACC_RTC__)

#include <shpool/impl/cuda_status.h>

namespace shpool
{
namespace impl
{

/* Checks, plan and grid of both launches.  A grid of 0 means that there is nothing to launch. */
template <typename T>
static inline shpool_status layout_prepare(const T *from, unsigned long long n, uint32_t m,
                                           uint32_t bd, const T *to, layout_plan *plan_p,
                                           unsigned *grid_p)
{
    const unsigned long long most   = 0x7fffffff; /* blocks of a grid along x */
    shpool_status            status = shpool_layout_check(n, m, bd, sizeof(T));

    *grid_p = 0;
    if ((status != SHPOOL_OK) || (n == 0)) {
        return status;
    }
    if ((from == nullptr) || (to == nullptr)) {
        return shpool_error(SHPOOL_ERR_INVALID, "the array to %s is NULL",
                            (from == nullptr) ? "read" : "write");
    }
    if (((size_t)from % sizeof(T) != 0) || ((size_t)to % sizeof(T) != 0)) {
        return shpool_error(SHPOOL_ERR_ALIGNMENT,
                            "an array of elements of %u bytes is at %p, which is not aligned to "
                            "that", (unsigned)sizeof(T),
                            ((size_t)from % sizeof(T) != 0) ? (const void *)from
                                                            : (const void *)to);
    }
    status = layout_plan_of<T>(n, m, bd, LAYOUT_STAGE_BYTES, plan_p);
    if (status != SHPOOL_OK) { /* not after the check above */
        return shpool_error(status, "no plan for %llu records of %u words", n, (unsigned)m);
    }
    *grid_p = (unsigned)((plan_p->tiles < most) ? plan_p->tiles : most);
    return SHPOOL_OK;
}

} // namespace impl

/**
 * Convert records to the blocked layout, in device memory, on a stream.
 *
 * Host, any thread; returns when the kernel has been launched; can be captured into a graph.
 * @param [in]  records  n*m elements that the current device can read
 * @param [in]  n        records; 0: nothing is launched
 * @param [in]  m        words of a record
 * @param [in]  bd       records of a group: the block dimension of the kernels that will use them
 * @param [out] blocked  shpool_layout_elements(n, m, bd) elements that the current device can
 *                       write, all of which are written; not overlapping `records`
 * @param [in]  stream   of the current device
 * @return SHPOOL_OK
 *   - SHPOOL_ERR_INVALID, SHPOOL_ERR_TOO_LARGE  as shpool_layout_check(), or a NULL array
 *   - SHPOOL_ERR_ALIGNMENT  an array is not aligned to sizeof(T)
 *   - SHPOOL_ERR_CAPTURE    `stream` is the legacy stream, and the capture of a stream that is
 *                           ordered with it would end
 *   - SHPOOL_ERR_CUDA, SHPOOL_ERR_NO_MEMORY  the launch failed.  Errors inside the kernel (an
 *                           address that the device cannot access) are reported when the
 *                           application synchronises
 */
template <typename T>
static inline shpool_status layout_pack(const T *records, unsigned long long n, uint32_t m,
                                        uint32_t bd, T *blocked, cudaStream_t stream)
{
    layout_plan   plan   = {};
    unsigned      grid   = 0;
    shpool_status status = impl::layout_prepare(records, n, m, bd, blocked, &plan, &grid);

    if (grid != 0) {
        status = shpool_cuda_may_work(stream);
    }
    if ((grid == 0) || (status != SHPOOL_OK)) {
        return status;
    }
    void *arguments[] = {&plan, &records, &blocked};

    return shpool_cuda_status(
        cudaLaunchKernel((const void *)layout_pack_kernel<T, LAYOUT_STAGE_BYTES>, dim3(grid),
                         dim3(LAYOUT_THREADS), arguments, 0, stream),
        "launch of layout_pack_kernel");
}

/** Convert the blocked layout back to records: the inverse of layout_pack(), with its rules and
 *  statuses. */
template <typename T>
static inline shpool_status layout_unpack(const T *blocked, unsigned long long n, uint32_t m,
                                          uint32_t bd, T *records, cudaStream_t stream)
{
    layout_plan   plan   = {};
    unsigned      grid   = 0;
    shpool_status status = impl::layout_prepare(blocked, n, m, bd, records, &plan, &grid);

    if (grid != 0) {
        status = shpool_cuda_may_work(stream);
    }
    if ((grid == 0) || (status != SHPOOL_OK)) {
        return status;
    }
    void *arguments[] = {&plan, &blocked, &records};

    return shpool_cuda_status(
        cudaLaunchKernel((const void *)layout_unpack_kernel<T, LAYOUT_STAGE_BYTES>, dim3(grid),
                         dim3(LAYOUT_THREADS), arguments, 0, stream),
        "launch of layout_unpack_kernel");
}

} // namespace shpool

#endif /* !__CUDACC_RTC__ */
#endif /* __CUDACC__ */
#endif /* SHPOOL_LAYOUT_CUH */
