/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/shpool.cuh
 * The header for CUDA programs: the functions for kernels (shpool/heap.h) and the host calls that
 * need the application's own CUDA runtime.  nvcc (C++17) and NVRTC, sm_75 and newer.
 *
 * One kernel source has three bindings.  A define before this header, or on the command line,
 * chooses:
 *
 *   nothing                 function table: any allocator, by name at run time; compile with
 *                           -rdc=true and link libshpool_device.a
 *   SHPOOL_INLINE=NAME      compile time: the allocator is inlined.  With SHPOOL_CHECK also stats,
 *                           check and trace, with SHPOOL_SPILL also spill.
 *   SHPOOL_LINKED           run-time link: compile the kernel to LTO-IR, then link and load it with
 *                           shpool_link_library().  With SHPOOL_CHECK also stats, check and trace.
 *
 * Translation units of a program that pass heaps to each other must use the same binding.
 *
 *     shpool_pool   pool;
 *     shpool_config want = {};
 *     want.block_threads = 256;
 *     want.payload_bytes = 32 * 1024;
 *     if (shpool_open(NULL, &want, &pool) != SHPOOL_OK) { puts(shpool_last_error()); return 1; }
 *     if (shpool_allow_shared(kernel, pool.shared_bytes) != SHPOOL_OK) ...
 *     kernel<<<grid, 256, pool.shared_bytes>>>(pool);
 *     ...
 *     shpool_close(&pool);
 */
#ifndef SHPOOL_SHPOOL_CUH
#define SHPOOL_SHPOOL_CUH

#if defined(SHPOOL_CHECKED) /* shpool-check: the program runs on the executor */
#include <shpool/check/pool.cuh>
#else

#include <shpool/heap.h>

#if !defined(__CUDACC_RTC__)

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#include <shpool/impl/cuda_status.h>
#include <shpool/impl/report/empty.h>
#include <shpool/shpool.h>
#include <shpool/trace.h>

#if !defined(SHPOOL_INLINE) && !defined(SHPOOL_LINKED)
/* Without it, kernel and table are in two images, and calls through the table fail. */
#if defined(__CUDACC__) && !defined(__CUDACC_RDC__)
#error "shpool: -rdc=true (CMake: CUDA_SEPARABLE_COMPILATION) or -DSHPOOL_INLINE=NAME is missing"
#endif
#include <shpool/impl/image.h>
#endif

/* Fill in the fields that bind the pool to this image and to the current device. */
static inline shpool_status shpool_bind(shpool_pool *pool)
{
    const uint32_t counted = pool->flags & (SHPOOL_FLAG_STATS | SHPOOL_FLAG_CHECK);
    shpool_status  status  = SHPOOL_OK;

#if defined(SHPOOL_INLINE)
    if (pool->allocator != shpool_name_id(SHPOOL_BOUND_NAME)) {
        return shpool_error(SHPOOL_ERR_BINDING,
                            "allocator \"%s\" was requested, but this kernel is compiled for "
                            "\"%s\" (SHPOOL_INLINE): request that one, or compile the kernel "
                            "without SHPOOL_INLINE",
                            pool->name, SHPOOL_BOUND_NAME);
    }
    status = shpool_same_geometry(SHPOOL_INLINE_(shpool_, _layout), pool);
#elif !defined(SHPOOL_LINKED)
    status = shpool_image_bind(pool);
#endif
    if (status != SHPOOL_OK) {
        return status;
    }
    if (((pool->flags & SHPOOL_FLAG_SPILL) != 0) && (SHPOOL_SPILLS == 0)) {
        return shpool_error(SHPOOL_ERR_UNSUPPORTED,
                            "spill needs the function table, run-time linking, or a kernel "
                            "compiled with SHPOOL_INLINE and SHPOOL_SPILL");
    }
    if ((counted != 0) && (SHPOOL_COUNTED == 0)) {
        return shpool_error(SHPOOL_ERR_UNSUPPORTED,
                            "stats, check and trace need the function table, or a kernel compiled "
                            "with SHPOOL_CHECK");
    }
    return SHPOOL_OK;
}

/* One attribute of the current device. */
static inline shpool_status shpool_device_get(cudaDeviceAttr what, const char *name,
                                              uint32_t *value_p)
{
    int           device = 0;
    int           value  = 0;
    shpool_status status = shpool_cuda_status(cudaGetDevice(&device), "cudaGetDevice");

    if (status == SHPOOL_OK) {
        status = shpool_cuda_status(cudaDeviceGetAttribute(&value, what, device), name);
    }
    *value_p = (uint32_t)value;
    return status;
}

/* shpool_plan() with the current device's limit, so that its advice is valid for this device. */
static inline shpool_status shpool_plan_here(const char *spec, const shpool_config *want,
                                             shpool_pool *pool)
{
    shpool_config shape  = {};
    uint32_t      most   = 0;
    uint32_t      system = 0;
    shpool_status status;
    shpool_status device = shpool_device_get(cudaDevAttrMaxSharedMemoryPerBlockOptin,
                                             "cudaDeviceGetAttribute", &most);

    if (device == SHPOOL_OK) {
        device = shpool_device_get(cudaDevAttrReservedSharedMemoryPerBlock,
                                   "cudaDeviceGetAttribute", &system);
    }
    if (want != NULL) {
        shape = *want;
        if ((device == SHPOOL_OK) && ((shape.shared_limit == 0) || (shape.shared_limit > most))) {
            shape.shared_limit = most;
        }
    }
    /* without a device, too: what is invalid on any device is reported first */
    status             = shpool_plan(spec, (want != NULL) ? &shape : NULL, pool);
    pool->system_bytes = system;
    return (status != SHPOOL_OK) ? status : device;
}

/* Number of blocks with this pool and all their threads that the current device can run at once. */
static inline shpool_status shpool_blocks_at_once(const shpool_pool *pool, uint32_t *blocks_p)
{
    uint32_t      units   = 0;
    uint32_t      threads = 0;
    uint32_t      shared  = 0;
    uint32_t      most    = 0;
    uint32_t      blocks  = 0;
    shpool_status status  = shpool_device_get(cudaDevAttrMultiProcessorCount,
                                              "cudaDeviceGetAttribute", &units);

    if (status == SHPOOL_OK) {
        status = shpool_device_get(cudaDevAttrMaxThreadsPerMultiProcessor,
                                   "cudaDeviceGetAttribute", &threads);
    }
    if (status == SHPOOL_OK) {
        status = shpool_device_get(cudaDevAttrMaxSharedMemoryPerMultiprocessor,
                                   "cudaDeviceGetAttribute", &shared);
    }
    if (status == SHPOOL_OK) {
        status = shpool_device_get(cudaDevAttrMaxBlocksPerMultiprocessor,
                                   "cudaDeviceGetAttribute", &most);
    }
    if (status == SHPOOL_OK) {
        blocks = threads / pool->block_threads;
        blocks = (shared / (pool->shared_bytes + pool->system_bytes) < blocks)
                     ? shared / (pool->shared_bytes + pool->system_bytes) : blocks;
        blocks = ((blocks > most) && (most != 0)) ? most : (blocks != 0) ? blocks : 1u;
    }
    *blocks_p = units * blocks;
    return status;
}

/* A stream for copies of a few bytes, while the thread's capture mode is "relaxed".  The legacy
 * stream would wait for the application's work, and end the captures of streams that are ordered
 * with it. */
typedef struct shpool_side {
    cudaStream_t          stream;
    cudaStreamCaptureMode mode;
} shpool_side;

static inline shpool_status shpool_side_begin(shpool_side *side)
{
    shpool_status status;

    side->mode   = shpool_cuda_relax();
    side->stream = NULL;
    status = shpool_cuda_status(cudaStreamCreateWithFlags(&side->stream, cudaStreamNonBlocking),
                                "cudaStreamCreate (report)");
    if (status != SHPOOL_OK) {
        shpool_cuda_restore(side->mode);
    }
    return status;
}

/* Waits for the copies; returns `status`, or why they failed. */
static inline shpool_status shpool_side_end(const shpool_side *side, shpool_status status)
{
    shpool_status waited = shpool_cuda_status(cudaStreamSynchronize(side->stream),
                                              "cudaStreamSynchronize (report)");

    (void)cudaStreamDestroy(side->stream);
    shpool_cuda_restore(side->mode);
    return (status != SHPOOL_OK) ? status : waited;
}

static inline shpool_status shpool_side_copy(const shpool_side *side, void *to, const void *from,
                                             size_t bytes, cudaMemcpyKind kind)
{
    return shpool_cuda_status(cudaMemcpyAsync(to, from, bytes, kind, side->stream),
                              "cudaMemcpyAsync (report)");
}

/* Wait for all work of the device.  cudaDeviceSynchronize() ends every capture; the driver also
 * waits before it frees memory, of the host if the device has none left. */
static inline shpool_status shpool_side_wait(void)
{
    void       *ptr   = NULL;
    cudaError_t error = cudaMalloc(&ptr, 1);

    if (error != cudaErrorMemoryAllocation) {
        return shpool_cuda_status((error == cudaSuccess) ? cudaFree(ptr) : error,
                                  "cudaFree, a wait for the device,");
    }
    (void)cudaGetLastError();
    error = cudaMallocHost(&ptr, 1);
    return shpool_cuda_status((error == cudaSuccess) ? cudaFreeHost(ptr) : error,
                              "cudaFreeHost, a wait for the device,");
}

static inline shpool_status shpool_free_report(const shpool_pool *pool)
{
    const cudaStreamCaptureMode mode   = shpool_cuda_relax();
    const shpool_status         status = shpool_cuda_status(cudaFree(pool->report),
                                                            "cudaFree (report)");

    shpool_cuda_restore(mode);
    return status;
}

/* Initialise a report that was just allocated. */
static inline shpool_status shpool_blank_report(const shpool_side *side, const shpool_pool *pool,
                                                const shpool_trace_begin *trace)
{
    shpool_report_data blank   = {};
    char              *records = (char *)pool->report + shpool_slots_end(pool);
    shpool_status      status;

    shpool_report_clear(&blank);
    status = shpool_cuda_status(cudaMemsetAsync(pool->report, 0,
                                                shpool_slots_head(pool->spill_slots),
                                                side->stream), "cudaMemsetAsync (report)");
    if ((status == SHPOOL_OK) && (trace->bytes != 0)) {
        blank.trace = (unsigned long long)(size_t)records;
        status      = shpool_cuda_status(cudaMemsetAsync(records, 0, trace->bytes, side->stream),
                                         "cudaMemsetAsync (trace)");
    }
    if ((status == SHPOOL_OK) && (trace->bytes != 0)) {
        status = shpool_side_copy(side, records, trace->word, sizeof(trace->word),
                                  cudaMemcpyHostToDevice);
    }
    if (status == SHPOOL_OK) {
        status = shpool_side_copy(side, pool->report, &blank, sizeof(blank),
                                  cudaMemcpyHostToDevice);
    }
    return status;
}

/* Allocate the report, followed by the slots of spill=arena and the records of a trace. */
static inline shpool_status shpool_new_report(const char *spec, shpool_pool *pool)
{
    shpool_trace_begin trace;
    shpool_side        side;
    shpool_status      status = SHPOOL_OK;
    cudaError_t        error;
    size_t             bytes;

    if ((pool->spill_bytes != 0) && (pool->spill_slots == 0)) {
        status = shpool_blocks_at_once(pool, &pool->spill_slots);
    }
    if (status == SHPOOL_OK) {
        status = shpool_trace_open(spec, pool, &trace);
    }
    if (status != SHPOOL_OK) {
        return status;
    }
    status = shpool_side_begin(&side);
    if (status != SHPOOL_OK) {
        (void)shpool_trace_close(pool, NULL);
        return status;
    }
    bytes = shpool_slots_end(pool) + trace.bytes;
    error = cudaMalloc(&pool->report, bytes);
    if ((error == cudaErrorMemoryAllocation) && ((pool->spill_bytes | trace.bytes) != 0)) {
        (void)cudaGetLastError();
        status = shpool_error(SHPOOL_ERR_NO_MEMORY,
                              "cudaMalloc: no %zu bytes of device memory for a report, %u slots of "
                              "%u bytes and %zu bytes of records: lower spill_bytes, trace_bytes "
                              "or spill_blocks", bytes, pool->spill_slots, pool->spill_bytes,
                              trace.bytes);
    } else {
        status = shpool_cuda_status(error, "cudaMalloc (report)");
    }
    if (error == cudaSuccess) {
        status = shpool_blank_report(&side, pool, &trace);
    }
    status = shpool_side_end(&side, status);
    if (status != SHPOOL_OK) {
        (void)shpool_trace_close(pool, NULL);
        if (error == cudaSuccess) {
            (void)shpool_free_report(pool);
        }
    }
    return status;
}

/* Copy the pool's trace records to the host, if there are any, and write them. */
static inline shpool_status shpool_write_trace(shpool_pool *pool)
{
    const size_t  bytes   = shpool_trace_bytes(pool);
    char         *records = (char *)malloc((bytes != 0) ? bytes : 1u);
    shpool_side   side;
    shpool_status status;
    shpool_status closed;

    if (records == NULL) {
        (void)shpool_trace_close(pool, NULL);
        return shpool_error(SHPOOL_ERR_NO_MEMORY, "no %zu bytes of host memory for the records of "
                            "a trace: lower trace_bytes", bytes);
    }
    status = shpool_side_begin(&side);
    if (status == SHPOOL_OK) {
        status = shpool_side_wait();
        if (status == SHPOOL_OK) {
            status = shpool_side_copy(&side, records, (char *)pool->report + shpool_slots_end(pool),
                                      bytes, cudaMemcpyDeviceToHost);
        }
        status = shpool_side_end(&side, status);
    }
    closed = shpool_trace_close(pool, (status == SHPOOL_OK) ? records : NULL);
    free(records);
    return (status == SHPOOL_OK) ? closed : status;
}

static inline shpool_status shpool_report(const shpool_pool *pool, shpool_report_data *report_p);

/**
 * Open a pool for kernels of this image on the current device.
 *
 * Scope: host, any thread.  Allocates device memory only for stats, check, trace and spill.  Does
 * not end the capture of a graph.
 *
 * @param [in]  spec    allocator, as for shpool_plan(); NULL: $SHPOOL_ALLOCATOR, else the allocator
 *                      that the kernel was compiled for, else the build's default
 * @param [in]  want    shape and size
 * @param [out] pool_p  the kernel's parameter; close it with shpool_close(); zeroed on failure
 * @return SHPOOL_OK; as shpool_plan(), with the current device's shared memory as a limit; and
 *   - SHPOOL_ERR_ABI          header, archive and libshpool.so have different versions
 *   - SHPOOL_ERR_BINDING      the kernel was compiled for another allocator (SHPOOL_INLINE)
 *   - SHPOOL_ERR_INVALID      pool_p is NULL, or the allocator's function table is incomplete
 *   - SHPOOL_ERR_UNSUPPORTED  stats, check or trace without SHPOOL_CHECK, spill without
 *                             SHPOOL_SPILL, or an allocator that has no device code in this image
 *   - SHPOOL_ERR_SYSTEM       the file of trace=FILE cannot be written; and as shpool_trace_open()
 *   - SHPOOL_ERR_NO_MEMORY, SHPOOL_ERR_CUDA  no device, or a CUDA call failed
 */
static inline shpool_status shpool_open(const char *spec, const shpool_config *want,
                                        shpool_pool *pool_p)
{
    const shpool_pool none = {};
    shpool_status     status;
    uint32_t          archive = SHPOOL_ABI;

    if (pool_p == NULL) {
        return shpool_error(SHPOOL_ERR_INVALID, "shpool_open: pool_p is NULL");
    }
    *pool_p = none;
#if !defined(SHPOOL_INLINE) && !defined(SHPOOL_LINKED)
    archive = shpool_image_abi();
#endif
    status = shpool_fits(SHPOOL_ABI, archive);
    if (status != SHPOOL_OK) {
        return status;
    }
#if defined(SHPOOL_INLINE)
    if ((spec == NULL) && !shpool_selected()) {
        spec = SHPOOL_BOUND_NAME;
    }
#endif
    status = shpool_plan_here(spec, want, pool_p);
    if (status == SHPOOL_OK) {
#if defined(SHPOOL_CALLS) && !SHPOOL_CALLS
        pool_p->flags |= SHPOOL_FLAG_FLAT;
#endif
        status = shpool_bind(pool_p);
    }
    if ((status == SHPOOL_OK) && (pool_p->area_bytes != 0)) {
        status = shpool_new_report(spec, pool_p);
    }
    if (status != SHPOOL_OK) {
        *pool_p = none;
        return status;
    }
    shpool_show_later(pool_p, shpool_report);
    shpool_announce(pool_p, "the current device");
    return SHPOOL_OK;
}

/* The report, when the device has finished. */
static inline shpool_status shpool_fetch_report(const shpool_pool *pool,
                                                shpool_report_data *report_p)
{
    shpool_side   side;
    shpool_status status = shpool_side_begin(&side);

    if (status != SHPOOL_OK) {
        return status;
    }
    status = shpool_side_wait();
    if (status == SHPOOL_OK) {
        status = shpool_side_copy(&side, report_p, pool->report, sizeof(*report_p),
                                  cudaMemcpyDeviceToHost);
    }
    return shpool_side_end(&side, status);
}

/**
 * Read what the kernels that used this pool have reported so far.
 *
 * Scope: host; waits for the device.
 * @param [out] report_p  zeroed on failure
 * With only a spill option, the report counts spills, native_spills, failures, blocks, status and
 * bad frees of spilled allocations, nothing else.
 * If report_p->status is not SHPOOL_OK, blocks got an empty heap, or requests could never succeed
 * (report_p->refused); shpool_last_error() tells the cause with its numbers, and what would work.
 * @return SHPOOL_OK; SHPOOL_ERR_INVALID: a NULL argument; SHPOOL_ERR_UNSUPPORTED: the pool was
 *         opened without stats, check and spill; SHPOOL_ERR_NO_MEMORY: none for a stream to copy
 *         on; SHPOOL_ERR_CUDA: also for errors of earlier kernels
 */
static inline shpool_status shpool_report(const shpool_pool *pool, shpool_report_data *report_p)
{
    const shpool_report_data blank = {};
    shpool_status            status;

    if ((pool == NULL) || (report_p == NULL)) {
        return shpool_error(SHPOOL_ERR_INVALID, "shpool_report: %s is NULL",
                            (pool == NULL) ? "pool" : "report_p");
    }
    *report_p = blank;
    if (pool->report == NULL) {
        return shpool_error(SHPOOL_ERR_UNSUPPORTED,
                            "shpool_report: the pool was opened without stats, check and spill; "
                            "open it with \"%s:stats=1\"",
                            (pool->name[0] != '\0') ? pool->name : "NAME");
    }
    status = shpool_fetch_report(pool, report_p);
    if (status != SHPOOL_OK) {
        *report_p = blank;
        return status;
    }
    shpool_report_close(report_p);
    shpool_report_explain(pool, report_p);
    return status;
}

/**
 * Call shpool_report(), then shpool_stats_read().
 *
 * Scope: host; waits for the device.
 * @param [out] stats_p  zeroed on failure
 * @return as these two functions
 */
static inline shpool_status shpool_stats(const shpool_pool *pool, shpool_stats_data *stats_p)
{
    const shpool_stats_data none = {};
    shpool_report_data      report;
    shpool_status           status;

    if (stats_p != NULL) {
        *stats_p = none;
    }
    status = shpool_report(pool, &report);
    return (status == SHPOOL_OK) ? shpool_stats_read(pool, &report, stats_p) : status;
}

/**
 * Release the memory that shpool_open() allocated, and zero the pool; with trace=FILE, write the
 * file.
 *
 * Scope: host; no kernel may still use the pool if it was opened with stats, check or a spill
 *        option.  Allocations that have spilled to a slot become invalid.  With trace it waits for
 *        the device.  If $SHPOOL_ALLOCATOR requested stats or check, it waits, too, and writes the
 *        report to stderr (shpool_report_text()).
 * @param [in,out] pool  NULL and zeroed pools have no effect
 * @return SHPOOL_OK, SHPOOL_ERR_CUDA; with trace SHPOOL_ERR_NO_MEMORY, and as shpool_trace_close()
 *         (the pool is zeroed even on failure)
 */
static inline shpool_status shpool_close(shpool_pool *pool)
{
    const shpool_pool none   = {};
    shpool_status     status = SHPOOL_OK;

    if (pool != NULL) {
        shpool_show_now(pool, shpool_report);
        if (pool->trace != NULL) {
            status = shpool_write_trace(pool);
        }
        if (pool->report != NULL) {
            shpool_status freed = shpool_free_report(pool);

            status = (status == SHPOOL_OK) ? freed : status;
        }
        *pool = none;
    }
    return status;
}

#include <shpool/launch.cuh> /* after the functions that it needs */

#endif /* !__CUDACC_RTC__ */

#endif /* !SHPOOL_CHECKED */

#endif /* SHPOOL_SHPOOL_CUH */
