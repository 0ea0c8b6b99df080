/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/trace.h
 * Traces: the host side of trace=FILE in a spec.
 *
 * A pool that was opened with "NAME:trace=FILE" records every malloc and free of its kernels, and
 * shpool_close() (shpool_simt_close() on the executor) writes FILE; doc/TRACE.md describes the uses
 * and the format.  Programs need not call the functions below: opening and closing a pool call
 * them.  C11 and C++17, no CUDA.
 */
#ifndef SHPOOL_TRACE_H
#define SHPOOL_TRACE_H

#include <shpool/shpool.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Initial contents of a record buffer; its cursors and records all start at 0
 *  (impl/report/trace.h). */
typedef struct shpool_trace_begin {
    uint32_t word[4]; /**< first bytes of the buffer */
    size_t   bytes;   /**< size of the whole buffer; 0: this pool records nothing */
} shpool_trace_begin;

/**
 * Open the trace file that a planned pool's spec names; its previous contents are lost.
 *
 * Scope: host, any thread.
 * @param [in]     spec     the one the pool was planned with
 * @param [in,out] pool     planned; afterwards it owns pool->trace
 * @param [out]    begin_p  the buffer to create; zeroed on failure, and if the spec has no trace
 * @return SHPOOL_OK
 *   - SHPOOL_ERR_SYSTEM       the file cannot be written (the detail says why), or another open
 *                             pool writes it
 *   - SHPOOL_ERR_UNSUPPORTED  SHPOOL_ALLOCATOR names a file, and the program has more privileges
 *                             than its user
 *   - SHPOOL_ERR_SPEC         trace_bytes cannot hold one record for each of trace_blocks
 *   - SHPOOL_ERR_NO_MEMORY
 */
SHPOOL_API shpool_status shpool_trace_open(const char *spec, shpool_pool *pool,
                                           shpool_trace_begin *begin_p);

/** Size of the buffer that a pool records to, in bytes; 0 if it records nothing. */
SHPOOL_API size_t shpool_trace_bytes(const shpool_pool *pool);

/**
 * Note how many registers a thread of a kernel that uses the pool has; the file gets the most.
 *
 * Scope: host; no other thread may use the same pool's trace.
 * @param [in] pool  nothing happens if it records nothing
 */
SHPOOL_API void shpool_trace_registers(const shpool_pool *pool, uint32_t registers);

/**
 * Write the records to the file and close it; sets pool->trace to NULL.
 *
 * Scope: host, any thread; no kernel may still use the pool.
 * @param [in] buffer  shpool_trace_bytes() bytes, on the host; NULL: no records, the file stays
 *                     empty
 * @return SHPOOL_OK, also for a pool that records nothing; SHPOOL_ERR_SYSTEM: the file could not be
 *         written (the disk is full); SHPOOL_ERR_NO_MEMORY
 */
SHPOOL_API shpool_status shpool_trace_close(shpool_pool *pool, const void *buffer);

#ifdef __cplusplus
}
#endif
#endif /* SHPOOL_TRACE_H */
