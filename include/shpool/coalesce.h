/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/coalesce.h
 * Finds uncoalesced memory accesses in PTX, and repairs them where that is correct and pays.
 *
 *     char *better;
 *     status = shpool_coalesce_rewrite(ptx, 0, NULL, &better, NULL, NULL);
 *     cuModuleLoadData(&module, (status == SHPOOL_OK) ? better : ptx);
 *     shpool_coalesce_free(better);
 *
 * For PTX of any origin: NVRTC, nvcc -ptx, clang, Triton, a fat binary.  The command
 * shpool-coalesce does the same for files and in nvcc builds; doc/COALESCE.md is the manual.
 *
 * What is rewritten.  In an array of structs, neighbouring threads read or write neighbouring
 * records word by word, and each word costs one request of up to 32 sectors.  After the rewrite,
 * the warp accesses the same bytes with neighbouring lanes at neighbouring addresses and exchanges
 * them by shuffles; pure copies need no exchange.  For each record the code tests at run time that
 * all 32 lanes are present, that their records are adjacent and aligned, and, in copies, that
 * source and destination do not overlap partially.  If a test fails, the original code runs.
 * Bounds, divergence, blocks of any shape and wrapping indices therefore need no proof, and none is
 * attempted.
 *
 * What is not rewritten.  Records for which no measurement shows a gain (see `force`); volatile,
 * atomic and predicated accesses; inline assembly; shared memory; records over 64 words; accesses
 * separated by other accesses that may alias.  Kernels that rely on warps running in lockstep,
 * which CUDA has not guaranteed since Volta, may behave differently.
 *
 * Thread safety: all functions may be called from any thread.  No CUDA library is needed.
 * Errors: functions return a negative shpool_status.  Outputs are then NULL or 0, and
 * shpool_last_error() has the detail.
 */
#ifndef SHPOOL_COALESCE_H
#define SHPOOL_COALESCE_H

#include <shpool/shpool.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Put this into a kernel to leave it unchanged. */
#define SHPOOL_COALESCE_OFF() asm volatile("// shpool-coalesce: off")

/** How important a finding is, ascending. */
typedef enum shpool_coalesce_level {
    SHPOOL_COALESCE_REMARK  = 0, /**< records that were rewritten, and why others were not */
    SHPOOL_COALESCE_NOTE    = 1, /**< may cost something: gathers, short records */
    SHPOOL_COALESCE_WARNING = 2  /**< wasted sectors or passes through shared memory */
} shpool_coalesce_level;

/** A finding about the accesses of one place in the source.  Its strings are valid only during the
 *  call. */
typedef struct shpool_coalesce_finding {
    shpool_coalesce_level level;
    const char *rule;       /**< strided, pitch, irregular, bank-conflict, rewritten, kept, input */
    const char *file;       /**< source file; NULL: the PTX has no .loc (nvcc -lineinfo) */
    uint32_t    line;       /**< line of the file or, without a file, of the PTX */
    uint32_t    column;     /**< 0: unknown */
    const char *function;   /**< kernel or device function; NULL: the whole input */
    const char *message;    /**< a sentence */
    const char *suggestion; /**< how to change the source, or NULL */
    uint32_t    accesses;   /**< number of instructions */
    uint32_t    bytes;      /**< bytes of one access of one thread */
    long long   stride;     /**< bytes from lane to lane; 0: unknown */
    uint32_t    sectors;    /**< 32-byte sectors per request; bank-conflict: passes */
    uint32_t    ideal;      /**< sectors or passes that would suffice */
    uint32_t    record_bytes; /**< 0: not a record */
    uint32_t    used_bytes;   /**< bytes of the record that are used */
    uint32_t    loop_depth;
    double      weight;     /**< for sorting: waste, times 10 for each enclosing loop */
    uint32_t    times;      /**< equal findings at this place, as in an unrolled loop */
} shpool_coalesce_finding;

/** Receives one finding; findings arrive in source order. */
typedef void (*shpool_coalesce_report_fn)(const shpool_coalesce_finding *finding, void *user);

/** Options.  A zeroed structure, or NULL in place of a pointer to one, selects the defaults. */
typedef struct shpool_coalesce_options {
    int      force;    /**< rewrite every legal record, even if it may be slower */
    int      remarks;  /**< also report remarks */
    uint32_t block[3]; /**< blockDim, as far as known; x 0: a multiple of 32 */
    const char *const        *skip;  /**< kernels that rewrite leaves unchanged and lint ignores:
                                          their names in the PTX */
    size_t                    skips;
    shpool_coalesce_report_fn report; /**< may be NULL */
    void                     *user;   /**< passed to report */
    void                     *reserved[4]; /**< NULL */
} shpool_coalesce_options;

/**
 * Find uncoalesced accesses and bank conflicts.
 *
 * @param [in]  ptx         text; need not end with NUL if bytes is not 0
 * @param [in]  bytes       length of the text; 0: it ends with NUL
 * @param [in]  options     or NULL
 * @param [out] warnings_p  findings of level WARNING; may be NULL
 * @return SHPOOL_OK, even if there are findings; SHPOOL_ERR_INVALID: not PTX, the detail has line
 *         and column; SHPOOL_ERR_TOO_LARGE: 1 GiB or more; SHPOOL_ERR_NO_MEMORY
 */
SHPOOL_API shpool_status shpool_coalesce_lint(const char *ptx, size_t bytes,
                                              const shpool_coalesce_options *options,
                                              size_t *warnings_p);

/**
 * Rewrite the records that pay (with `force`: all legal ones).  Everything else stays unchanged,
 * byte for byte.
 *
 * Does not assemble the result: pass it to the driver or ptxas like the original.  A text that has
 * already been rewritten is refused, so that a build cannot rewrite twice.
 * @param [in]  ptx          as for shpool_coalesce_lint()
 * @param [in]  bytes        as for shpool_coalesce_lint()
 * @param [in]  options      or NULL
 * @param [out] ptx_p        the new text, ending with NUL; release it with shpool_coalesce_free()
 * @param [out] bytes_p      its length without the NUL; may be NULL
 * @param [out] rewritten_p  records that were rewritten, 0 if nothing pays; may be NULL
 * @return SHPOOL_OK; SHPOOL_ERR_INVALID, SHPOOL_ERR_TOO_LARGE, SHPOOL_ERR_NO_MEMORY as above;
 *         SHPOOL_ERR_UNSUPPORTED: .version below 6.2, .target below sm_70, .address_size other than
 *         64, or already rewritten: continue with the original
 */
SHPOOL_API shpool_status shpool_coalesce_rewrite(const char *ptx, size_t bytes,
                                                 const shpool_coalesce_options *options,
                                                 char **ptx_p, size_t *bytes_p,
                                                 size_t *rewritten_p);

/** Release a text from shpool_coalesce_rewrite(); NULL has no effect. */
SHPOOL_API void shpool_coalesce_free(char *ptx);

#ifdef __cplusplus
}
#endif

#endif /* SHPOOL_COALESCE_H */
