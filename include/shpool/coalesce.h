/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/coalesce.h
 * Uncoalesced memory accesses of PTX: found, and repaired where that is right and pays.
 *
 *     char *better;
 *     status = shpool_coalesce_rewrite(ptx, 0, NULL, &better, NULL, NULL);
 *     cuModuleLoadData(&module, (status == SHPOOL_OK) ? better : ptx);
 *     shpool_coalesce_free(better);
 *
 * For PTX of any origin: NVRTC, nvcc -ptx, clang, Triton, a fat binary.  The command
 * shpool-coalesce does the same for files and for builds with nvcc; doc/COALESCE.md is the manual.
 *
 * What is rewritten.  A record that each thread reads or writes word by word, with neighbouring
 * threads at neighbouring records (an array of structs), costs one request of up to 32 sectors for
 * each word.  Rewritten, the warp accesses the same bytes side by side and exchanges them by
 * shuffles, or not at all where it only copies.  The code tests, at each record, that all 32 lanes
 * are there, that their records are neighbours and aligned, and in copies that source and
 * destination do not overlap by halves; where one of that fails it does what it did before.  So
 * bounds, divergence, blocks of any shape and wrapping indices need no proof, and none is tried.
 *
 * What is not.  Records for which no measurement says that it pays (see `force`); volatile, atomic
 * and predicated accesses, inline assembly; shared memory; records over 32 words; accesses with
 * others in between that may alias; kernels that rely on warps running in lockstep, which CUDA has
 * not promised since Volta, may behave differently.
 *
 * Thread safety: all functions may be called from any thread.  No CUDA library is needed.
 * Errors: a negative shpool_status; outputs are then NULL or 0, and shpool_last_error() has the
 * detail.
 */
#ifndef SHPOOL_COALESCE_H
#define SHPOOL_COALESCE_H

#include <shpool/shpool.h>

#ifdef __cplusplus
extern "C" {
#endif

/** In a kernel: leave it as it is, whatever pays. */
#define SHPOOL_COALESCE_OFF() asm volatile("// shpool-coalesce: off")

/** How important a finding is, ascending. */
typedef enum shpool_coalesce_level {
    SHPOOL_COALESCE_REMARK  = 0, /**< what was rewritten, and what was not and why */
    SHPOOL_COALESCE_NOTE    = 1, /**< may cost something: gathers, short records */
    SHPOOL_COALESCE_WARNING = 2  /**< wasted sectors or passes through shared memory */
} shpool_coalesce_level;

/** Something to say about accesses of one place.  Strings are valid during the call only. */
typedef struct shpool_coalesce_finding {
    shpool_coalesce_level level;
    const char *rule;       /**< strided, pitch, irregular, bank-conflict, rewritten, kept, input */
    const char *file;       /**< of the source; NULL: the PTX has no .loc (nvcc -lineinfo) */
    uint32_t    line;       /**< of the file; without one, of the PTX */
    uint32_t    column;     /**< 0: unknown */
    const char *function;   /**< kernel or device function; NULL: the whole input */
    const char *message;    /**< a sentence */
    const char *suggestion; /**< a change of the source, or NULL */
    uint32_t    accesses;   /**< instructions */
    uint32_t    bytes;      /**< of one access of one thread */
    long long   stride;     /**< bytes from lane to lane; 0: none that is known */
    uint32_t    sectors;    /**< of 32 bytes for each request; bank-conflict: passes */
    uint32_t    ideal;      /**< what would do */
    uint32_t    record_bytes; /**< 0: it is no record */
    uint32_t    used_bytes;   /**< of the record */
    uint32_t    loop_depth;
    double      weight;     /**< for the order of findings: waste, times 10 for each loop around */
    uint32_t    times;      /**< equal findings at the place, as in an unrolled loop */
} shpool_coalesce_finding;

/** Receives one finding; the order is that of the source. */
typedef void (*shpool_coalesce_report_fn)(const shpool_coalesce_finding *finding, void *user);

/** What is wanted.  Zeroed, or NULL in place of a pointer to it: the defaults. */
typedef struct shpool_coalesce_options {
    int      force;    /**< rewrite whatever is legal, also what may be slower */
    int      remarks;  /**< report also remarks */
    uint32_t block[3]; /**< blockDim, as far as known; x 0: a multiple of 32 */
    const char *const        *skip;  /**< kernels to leave as they are, and lint to pass over:
                                          their names in the PTX */
    size_t                    skips;
    shpool_coalesce_report_fn report; /**< may be NULL */
    void                     *user;   /**< handed to report */
    void                     *reserved[4]; /**< NULL */
} shpool_coalesce_options;

/**
 * Find uncoalesced accesses and bank conflicts.
 *
 * @param [in]  ptx         text; need not end with NUL if bytes is given
 * @param [in]  bytes       of the text; 0: it ends with NUL
 * @param [in]  options     or NULL
 * @param [out] warnings_p  findings of level WARNING; may be NULL
 * @return SHPOOL_OK, also if there are findings; SHPOOL_ERR_INVALID: no PTX, with line and column;
 *         SHPOOL_ERR_TOO_LARGE: 1 GiB and more; SHPOOL_ERR_NO_MEMORY
 */
SHPOOL_API shpool_status shpool_coalesce_lint(const char *ptx, size_t bytes,
                                              const shpool_coalesce_options *options,
                                              size_t *warnings_p);

/**
 * Rewrite what pays (with `force`: what is legal); all else stays byte for byte as it is.
 *
 * Does not assemble the result: hand it to the driver or ptxas as you would the original.  A text
 * that was rewritten before is refused, so that a build cannot do it twice.
 * @param [in]  ptx          as for shpool_coalesce_lint()
 * @param [in]  bytes        as for shpool_coalesce_lint()
 * @param [in]  options      or NULL
 * @param [out] ptx_p        the new text, ending with NUL; shpool_coalesce_free() it
 * @param [out] bytes_p      its length without the NUL; may be NULL
 * @param [out] rewritten_p  records that were rewritten, 0 if nothing pays; may be NULL
 * @return SHPOOL_OK; SHPOOL_ERR_INVALID, SHPOOL_ERR_TOO_LARGE, SHPOOL_ERR_NO_MEMORY as above;
 *         SHPOOL_ERR_UNSUPPORTED: .version below 6.2, .target below sm_70, .address_size other
 *         than 64, or rewritten already: go on with the original
 */
SHPOOL_API shpool_status shpool_coalesce_rewrite(const char *ptx, size_t bytes,
                                                 const shpool_coalesce_options *options,
                                                 char **ptx_p, size_t *bytes_p,
                                                 size_t *rewritten_p);

/** Release a text of shpool_coalesce_rewrite(); NULL does nothing. */
SHPOOL_API void shpool_coalesce_free(char *ptx);

#ifdef __cplusplus
}
#endif

#endif /* SHPOOL_COALESCE_H */
