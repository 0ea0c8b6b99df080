/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/shpool.h
 * Host API: lists the allocators, selects one, and plans pools.
 *
 * C11 and C++17; needs no CUDA header and no CUDA library.  The functions that need the
 * application's CUDA runtime (shpool_open, shpool_close, shpool_report, shpool_allow_shared) are in
 * shpool/shpool.cuh; the functions that open a pool on the CPU block executor are at the end of
 * this file.
 *
 * Thread safety: every function may be called from any thread at any time.  A child of fork() may
 * call them, too, whatever the threads of its parent did; CUDA does not work in the child
 * (shpool/device.h).
 * Errors: functions return a negative shpool_status.  Outputs are then NULL or zeroed, nothing is
 * printed, and shpool_last_error() has the detail for the calling thread.
 */
#ifndef SHPOOL_SHPOOL_H
#define SHPOOL_SHPOOL_H

#include <stddef.h>

#include <shpool/abi.h>

#if defined(__GNUC__)
#define SHPOOL_API __attribute__((visibility("default")))
#define SHPOOL_PRINTF(_format, _first) __attribute__((format(printf, _format, _first)))
#else
#define SHPOOL_API
#define SHPOOL_PRINTF(_format, _first)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- version and errors ---- */

/** Version of the running libshpool.so, "major.minor.patch".  Never NULL. */
SHPOOL_API const char *shpool_version(void);

/**
 * Compare the ABI numbers of header, device archive and library in this process.
 *
 * The header and the device archive are compiled into the application, but the library may be
 * replaced.  Each `open` calls this function first; programs need not call it.
 *
 * @param [in] header   SHPOOL_ABI as the caller was compiled with it
 * @param [in] archive  the stamp of the caller's libshpool_device.a; `header` if it has none
 * @return SHPOOL_OK, or SHPOOL_ERR_ABI: the detail gives all three numbers and what to rebuild
 */
SHPOOL_API shpool_status shpool_fits(uint32_t header, uint32_t archive);

/**
 * Check that an image's own copy of the allocator lays out a planned pool in the same way.
 *
 * The library computed the geometry, but the kernel uses the code that it was compiled with.
 * `open` calls this function; programs need not call it.
 * @param [in] layout  the allocator's layout function, as the image has it
 * @return SHPOOL_OK, or SHPOOL_ERR_ABI: the header or the archive contains another version of the
 *         allocator
 */
SHPOOL_API shpool_status shpool_same_geometry(shpool_layout_fn layout, const shpool_pool *pool);

/** One sentence that describes a status.  Never NULL, even for values that are not in the enum. */
SHPOOL_API const char *shpool_strerror(shpool_status status);

/**
 * Detail of this thread's latest failure: what was asked, what was found, what would work.
 * Never NULL.  The string is "" before the first failure, and also if the process has no memory or
 * no thread key (PTHREAD_KEYS_MAX) left for it.  Valid until this thread's next failing call.
 */
SHPOOL_API const char *shpool_last_error(void);

/**
 * Record a failure's detail for shpool_last_error(), printf-like.
 *
 * For allocators and the inline parts of the headers.
 * @return status, so that a caller can write `return shpool_error(...)`
 */
SHPOOL_API shpool_status shpool_error(shpool_status status, const char *format, ...)
    SHPOOL_PRINTF(2, 3);

/** Levels of shpool_message_fn, and values of SHPOOL_LOG_LEVEL. */
typedef enum shpool_level {
    SHPOOL_LEVEL_NONE  = 0, /**< nothing */
    SHPOOL_LEVEL_ERROR = 1, /**< a call failed */
    SHPOOL_LEVEL_WARN  = 2, /**< something is wrong, but the call continues */
    SHPOOL_LEVEL_INFO  = 3  /**< what was chosen */
} shpool_level;

/** Receives one message: lower case, no newline.  May be called from any thread. */
typedef void (*shpool_message_fn)(shpool_level level, const char *text, void *user);

/**
 * Install the function that receives messages.  NULL, the default, installs none.
 *
 * The library does not print on its own.  If SHPOOL_LOG_LEVEL is set to error, warn or info,
 * messages up to that level go to stderr while no handler is installed.
 */
SHPOOL_API void shpool_set_message_handler(shpool_message_fn handler, void *user);

/* ---- registry ---- */

/** LTO-IR that a build embeds, and its origin; a 0 is unknown and is not compared. */
typedef struct shpool_blob {
    const unsigned char *data;
    size_t               bytes;
    uint32_t             cuda; /**< version of CUDA that made it; 12080 is 12.8 */
    uint32_t             arch; /**< compute capability it was compiled for, times 10 */
    const struct shpool_blob *newer; /**< the same code for a newer architecture, or NULL */
} shpool_blob;

/** Where an allocator places requests in a fresh pool: shpool_allocator.packing. */
#define SHPOOL_PACK_UP   1u /**< side by side, from the lowest address on */
#define SHPOOL_PACK_DOWN 2u /**< side by side, from the highest address down */
#define SHPOOL_PACK_ANY  3u /**< in any free run that is long enough */

/**
 * A value of shpool_allocator.packing.  An allocation has whole units of 16 bytes, its header of
 * `header` bytes included.  It takes `entry` more bytes elsewhere, as does a gap before an aligned
 * one.  Requests of up to `unit` times 16 bytes do not cross the end of the first `unit` times 16
 * bytes of the pool, while there is room after it; 0: there is no such end.
 */
#define SHPOOL_PACKING(_place, _header, _entry, _unit) \
    ((_place) | ((_header) << 8) | ((_entry) << 16) | ((_unit) << 24))

/**
 * Describes one allocator to the registry.  Each allocator has one const object with static
 * storage.  Third parties fill one in with SHPOOL_HOST_MODULE (shpool/module.h).
 */
typedef struct shpool_allocator {
    uint32_t abi;        /**< SHPOOL_ABI */
    uint32_t bytes;      /**< sizeof(shpool_allocator) */
    const char *name;    /**< [a-z][a-z0-9_]*, under SHPOOL_NAME_BYTES; value of SHPOOL_ALLOCATOR */
    const char *summary; /**< one line */
    uint32_t scope;      /**< shpool_scope */
    uint32_t caps;       /**< SHPOOL_CAP_* */
    shpool_layout_fn layout;     /**< computes the overhead; the device runs the same function */
    const shpool_table *simt[2]; /**< the module for the CPU executor: plain, with stats/check */
    const char *tables;  /**< symbol of the two device tables (plain, and with stats/check) in an
                              image that has the allocator's device code */
    const shpool_blob *lto_ir;   /**< for shpool_link(), oldest architecture first; or NULL */
    uint32_t threads_per_pool;   /**< scope group: used where a configuration has 0; 0: 32 */
    uint32_t packing;            /**< SHPOOL_PACKING(), for shpool_plan_requests(); 0: not stated */
    void *reserved[6];           /**< NULL */
} shpool_allocator;

/** Number of registered allocators; at least 1. */
SHPOOL_API size_t shpool_allocator_count(void);

/** Allocator `index`, or NULL if index >= count: built-in ones first, then by registration. */
SHPOOL_API const shpool_allocator *shpool_allocator_get(size_t index);

/**
 * Find an allocator by its exact name or by an alias (cuda_memory's USE_WARP_LOCAL and so on).  The
 * name is not a spec, and the environment is not consulted.
 * @return SHPOOL_OK; SHPOOL_ERR_INVALID: a NULL argument; SHPOOL_ERR_NOT_FOUND: the detail lists
 *         every registered name, and the plugins that were rejected
 */
SHPOOL_API shpool_status shpool_allocator_find(const char *name,
                                               const shpool_allocator **allocator_p);

/**
 * Add an allocator for the rest of the process.
 * @param [in] allocator  must stay valid and unchanged
 * @return SHPOOL_OK; SHPOOL_ERR_INVALID: a name outside [a-z][a-z0-9_]*, a reserved name (all,
 *         default, none), or a missing function; SHPOOL_ERR_ABI: another SHPOOL_ABI;
 *         SHPOOL_ERR_TOO_LARGE: the registry is full (64); SHPOOL_ERR_UNSUPPORTED: name taken
 */
SHPOOL_API shpool_status shpool_register(const shpool_allocator *allocator);

/**
 * The object that a plugin exports under the name shpool_plugin.  SHPOOL_PLUGIN (shpool/module.h)
 * defines it.
 *
 * A plugin is a shared object, *.so, in a folder of $SHPOOL_PLUGIN_PATH.  Its allocators are
 * registered before the registry answers its first query, so they serve programs that were built
 * before the plugin existed: on the CPU block executor, and on the GPU through run-time linking.  A
 * plugin that does not match this library is skipped.  A message of level warn says why, and so
 * does the detail when a name is not found.  doc/PLUGINS.md explains how to write a plugin.
 */
typedef struct shpool_plugin_info {
    uint32_t abi;        /**< SHPOOL_ABI; the first field in every version */
    uint32_t bytes;      /**< sizeof(shpool_plugin_info) */
    uint32_t count;      /**< number of allocators, at least 1 */
    uint32_t reserved32; /**< 0 */
    const shpool_allocator *const *allocators; /**< all of them are registered, or none */
    shpool_status (*library)(const shpool_allocator *allocator); /**< shpool_register, as the plugin
                                                                      resolves it */
    void *reserved[4];   /**< NULL */
} shpool_plugin_info;

/** 32-bit FNV-1a hash of a name; shpool_pool.allocator.  0 for NULL. */
SHPOOL_API uint32_t shpool_name_id(const char *name);

/* ---- planning ---- */

/** A kernel's requirements.  Zero all other fields: those added later have no effect at 0. */
typedef struct shpool_config {
    uint32_t block_threads;    /**< threads of a block, x*y*z: 1..1,024 */
    uint32_t payload_bytes;    /**< largest malloc of a fresh pool times number of pools */
    uint32_t threads_per_pool; /**< for scope group; 0: the allocator's own choice */
    uint32_t alignment;        /**< largest alignment, a power of two 16..1,024; 0: 16 */
    uint32_t flags;            /**< SHPOOL_FLAG_STATS, SHPOOL_FLAG_CHECK, SHPOOL_FLAG_COPIES */
    uint32_t total_bytes;      /**< instead of payload_bytes: shared memory the pools may fill */
    uint32_t shared_limit;     /**< most shared memory they may take; 0, or over 227 KiB: 227 KiB */
    uint32_t spill;            /**< SHPOOL_SPILL_*: what to do if a request does not fit; 0: fail */
    uint32_t spill_bytes;      /**< SHPOOL_SPILL_ARENA: global memory for each block; 0: 64 KiB */
    uint32_t spill_blocks;     /**< blocks that run at the same time; 0: device maximum */
    uint32_t binding;          /**< SHPOOL_BINDING_*, of kernels for the function table */
    uint32_t request_bytes;    /**< largest request that the kernels make; 0: not stated */
    uint32_t reserved[4];      /**< 0 */
} shpool_config;

/**
 * Plan a pool: choose the allocator and compute exactly what the pool needs.  Does not use CUDA.
 *
 * The spec is `name` or `name:key=value,...`, and overrides `want`.  shpool-info config and
 * shpool(7) list the keys.
 *
 * The result is exact: a launch needs pool_p->shared_bytes of shared memory, and each of the
 * pool_p->pools pools has pool_p->pool_bytes.  In a fresh pool a malloc of pool_p->largest bytes
 * succeeds, and a larger one fails.  With `payload_bytes` the plan uses the least shared memory
 * that provides this payload; with `total_bytes` the pools are as large as possible (some bytes may
 * be left over).  With `request_bytes` a plan fails if its pools can never serve such a request.
 *
 * @param [in]  spec    NULL: $SHPOOL_ALLOCATOR, else the build's default allocator
 * @param [in]  want    shape and size
 * @param [out] pool_p  everything except the device pointers and the report; zeroed on failure
 * @return SHPOOL_OK
 *   - SHPOOL_ERR_INVALID      a NULL argument, block_threads outside 1..1,024, threads_per_pool
 *                             above 1,024, unknown flags or spill bits, spill_blocks over 65,536, a
 *                             reserved field that is not 0, or both payload_bytes and total_bytes
 *   - SHPOOL_ERR_SPEC         the spec does not parse, or has an unknown key (the detail lists the
 *                             known ones) or value; a bad SHPOOL_LOG_LEVEL
 *   - SHPOOL_ERR_NOT_FOUND    unknown allocator (the detail lists the known ones)
 *   - SHPOOL_ERR_ALIGNMENT    alignment is not a power of two from 16 to 1,024
 *   - SHPOOL_ERR_TOO_SMALL    no payload was requested, or total_bytes cannot hold one allocation
 *                             in each pool (the detail says how many bytes can)
 *   - SHPOOL_ERR_TOO_LARGE    more than shared_limit (the detail says what would fit);
 *                             request_bytes over `largest` (the detail says which threads_per_pool
 *                             and payload_bytes serve it); or spill_bytes over 1 GiB with
 *                             SHPOOL_SPILL_ARENA
 *   - SHPOOL_ERR_UNSUPPORTED  the allocator does not support check or that alignment; it has scope
 *                             cluster and would spill to an arena; it never allocates and would
 *                             spill; or the spec gives threads_per_pool for an allocator whose
 *                             scope is not group
 */
SHPOOL_API shpool_status shpool_plan(const char *spec, const shpool_config *want,
                                     shpool_pool *pool_p);

/** Requests that are live at the same time: `count` of `bytes` bytes each. */
typedef struct shpool_request {
    uint32_t count;     /**< at least 1 */
    uint32_t bytes;     /**< of each, as the kernel requests them */
    uint32_t alignment; /**< as of shpool_aligned_malloc(); 0: shpool_malloc() */
    uint32_t reserved;  /**< 0 */
} shpool_request;

/**
 * Plan a pool that holds several allocations at once.  Does not use CUDA.
 *
 * The requests are those of ONE pool: of the block with scope block, of each thread with scope
 * thread, of the threads_per_pool threads that share a pool with scope group.  A fresh pool of the
 * plan serves all of them, in whatever order and by whichever of its threads they are made, as long
 * as nothing else is requested and nothing is freed before.
 *
 * The plan is the smallest that does so where all alignments are 16, except with bitmap and
 * cluster_bitmap: their threads begin in different parts of the pool, and the bound leaves room for
 * the gaps between them.  A list with larger alignments may get more than the smallest plan; the
 * bound allows for the worst order (doc/PLANNING.md).
 *
 * Open the pool with payload_bytes = pool_p->largest * pool_p->pools, which gives the same plan.
 *
 * @param [in]  spec      as shpool_plan(), without payload_bytes and total_bytes
 * @param [in]  want      as shpool_plan(); payload_bytes and total_bytes are 0
 * @param [in]  requests  `n` kinds of requests
 * @param [in]  n         at least 1
 * @param [out] pool_p    as shpool_plan()
 * @return as shpool_plan()
 *   - SHPOOL_ERR_INVALID      also: no requests, a count of 0, a reserved field that is not 0, or a
 *                             size in want or spec
 *   - SHPOOL_ERR_ALIGNMENT    also: a request's alignment is not a power of two, or is more than
 *                             the pool's
 *   - SHPOOL_ERR_UNSUPPORTED  also: the allocator serves nothing (null), or a plugin's descriptor
 *                             does not state its packing
 */
SHPOOL_API shpool_status shpool_plan_requests(const char *spec, const shpool_config *want,
                                              const shpool_request *requests, uint32_t n,
                                              shpool_pool *pool_p);

/** The letter of an architecture: sm_90a is 90 | SHPOOL_ARCH_LETTER('a'). */
#define SHPOOL_ARCH_LETTER(_letter) ((uint32_t)(_letter) << 16)
/** Mask of the compute capability in an architecture with a letter. */
#define SHPOOL_ARCH_NUMBER 0xffffu

/** Limits that an architecture sets for a block and a multiprocessor (SM). */
typedef struct shpool_arch {
    uint32_t arch;            /**< compute capability times 10: 86 for sm_86; shpool_arch_find()
                                   adds the letter of a name that has one */
    uint32_t shared_block;    /**< most shared memory a block can opt in to, bytes */
    uint32_t shared_sm;       /**< shared memory of an SM, bytes */
    uint32_t shared_reserved; /**< shared memory the system uses per block, bytes */
    uint32_t threads_sm;      /**< most resident threads of an SM */
    uint32_t blocks_sm;       /**< most resident blocks of an SM */
} shpool_arch;

/** Architecture `index`, ascending from sm_75.  SHPOOL_ERR_NOT_FOUND past the last one,
 *  SHPOOL_ERR_INVALID for NULL. */
SHPOOL_API shpool_status shpool_arch_get(size_t index, shpool_arch *arch_p);

/**
 * Find an architecture by name: "sm_86", "86" or "8.6", each also with the letter that nvcc's names
 * have for code of one architecture ("sm_90a") or family ("sm_100f").
 *
 * For shpool_config.shared_limit, subtract the kernel's own arrays from shared_block.
 * @return SHPOOL_OK; SHPOOL_ERR_INVALID: a NULL argument; SHPOOL_ERR_NOT_FOUND: the detail lists
 *         the known ones
 */
SHPOOL_API shpool_status shpool_arch_find(const char *name, shpool_arch *arch_p);

/**
 * Number of blocks with this pool that one SM can hold at the same time.  Only shared memory,
 * threads and block slots are considered; the kernel's registers may reduce the number further.
 *
 * @param [in] pool          planned
 * @param [in] arch          from shpool_arch_find()
 * @param [in] other_shared  shared memory of the kernel apart from the pool, bytes
 * @return 0 if not even one block fits, or for a NULL argument
 */
SHPOOL_API uint32_t shpool_blocks_per_sm(const shpool_pool *pool, const shpool_arch *arch,
                                         uint32_t other_shared);

/* ---- what kernels needed ---- */

/** Statistics over all blocks that have ended, in readable form; one block's where stated. */
typedef struct shpool_stats_data {
    unsigned long long mallocs;    /**< requests, failed ones included */
    unsigned long long frees;
    unsigned long long failures;   /**< requests that returned NULL */
    unsigned long long live;       /**< allocations that were never freed */
    unsigned long long live_bytes; /**< usable bytes of those */
    unsigned long long spills;     /**< requests served from global memory */
    unsigned long long native_spills; /**< spills that CUDA's in-kernel heap served */
    unsigned long long waits;      /**< attempts of shpool_malloc_wait and shpool_after_malloc that
                                        failed and were followed by another attempt */
    uint32_t peak_bytes;     /**< most bytes live at once in one block, spilled ones included */
    uint32_t capacity_bytes; /**< of all pools of a block */
    uint32_t fragmentation;  /**< percent of the capacity that was free when a request failed, worst
                                  case: in pieces that were too small, or in other threads' pools */
    uint32_t contention;     /**< percent of the cycles in malloc and free that exceed those of the
                                  fastest call: waiting, retries and searches; 0 on the executor */
    uint32_t mean_cycles;    /**< of a malloc or free in a pool: the attempt of a request that was
                                  spilled counts, the spill itself and shpool_release() do not */
    uint32_t slowest_cycles; /**< cycles of the slowest of them */
} shpool_stats_data;

/**
 * Compute statistics from a report that shpool_report() returned, or shpool_simt_report() on the
 * executor.  shpool_stats() (shpool/shpool.cuh) also reads the report itself.
 *
 * Scope: host, any thread.
 * @param [out] stats_p  zeroed on failure
 * @return SHPOOL_OK
 *   - SHPOOL_ERR_INVALID      a NULL argument, or no block has called shpool_fini
 *   - SHPOOL_ERR_UNSUPPORTED  the pool was opened without stats and check
 *   - SHPOOL_ERR_ABI          the report comes from another version of the library
 */
SHPOOL_API shpool_status shpool_stats_read(const shpool_pool *pool,
                                           const shpool_report_data *report,
                                           shpool_stats_data *stats_p);

/* The detail of every call without a driver or a GPU; %s: the reason. */
#define SHPOOL_NO_DRIVER \
    "this machine has no CUDA driver or no GPU: %s; kernels run without one on the CPU block " \
    "executor (shpool-check app.cu; man simt_run)"

/** Bytes that hold the text of any report. */
#define SHPOOL_REPORT_TEXT 8192

/**
 * Write a report as text: a line with the counters, and one for each cause, invalid free, damaged
 * pool and leak, with its place and reason.  There is no newline at the end.
 *
 * Scope: host, any thread; no CUDA.
 * @param [in]  pool    as it was when its kernels ran
 * @param [in]  report  from shpool_report() or shpool_simt_report()
 * @param [out] text    ends with NUL; cut if it does not fit; "" on failure
 * @param [in]  bytes   size of text; SHPOOL_REPORT_TEXT is enough
 * @return SHPOOL_OK; SHPOOL_ERR_INVALID: a NULL argument, 0 bytes; SHPOOL_ERR_ABI: the report comes
 *         from another version of the library
 */
SHPOOL_API shpool_status shpool_report_text(const shpool_pool *pool,
                                            const shpool_report_data *report, char *text,
                                            size_t bytes);

/** Reads a pool's report: shpool_report() or shpool_simt_report(). */
typedef shpool_status (*shpool_report_fn)(const shpool_pool *pool, shpool_report_data *report_p);

/**
 * Hand the report of a pool to the message handler (SHPOOL_LEVEL_WARN if something is wrong, else
 * SHPOOL_LEVEL_INFO), or write it to stderr, at the end of the process, unless it is closed before.
 * Only if $SHPOOL_ALLOCATOR requested stats or check (SHPOOL_FLAG_SHOW), and SHPOOL_LOG_LEVEL is
 * not none.  The image of `read` is not unloaded any more.
 *
 * For the inline parts of the headers.
 */
SHPOOL_API void shpool_show_later(const shpool_pool *pool, shpool_report_fn read);

/**
 * The same at once, before a pool is closed.
 *
 * For the inline parts of the headers.
 */
SHPOOL_API void shpool_show_now(const shpool_pool *pool, shpool_report_fn read);

/** Shared memory that a kernel's pools needed, without the statistics area. */
typedef struct shpool_advice {
    uint32_t payload_bytes; /**< what to request: the most bytes live at once in a block */
    uint32_t least_bytes;   /**< shared memory for that.  This is a lower bound; only another run
                                 shows whether it suffices, because pieces may be too small, or one
                                 pool full while others are not */
    uint32_t enough_bytes;  /**< shared memory that the run had, if no request failed or spilled;
                                 else 0, unknown: run with spill=native,stats=1, which also counts
                                 spilled bytes */
    uint32_t blocks_now;    /**< blocks per SM with the run's shared memory */
    uint32_t blocks_least;  /**< blocks per SM with least_bytes */
} shpool_advice;

/**
 * Recommend a pool size from the report of a run.
 *
 * Scope: host, any thread; no CUDA.
 * @param [in]  pool          as it was opened for the run, with stats
 * @param [in]  report        of the run
 * @param [in]  arch          shpool_arch_find()
 * @param [in]  other_shared  shared memory of the kernel apart from the pool, bytes
 * @param [out] advice_p      zeroed on failure
 * @return as shpool_stats_read(), and SHPOOL_ERR_TOO_LARGE: the bytes live at once, spilled ones
 *         included, exceed the shared memory of a block of that architecture
 */
SHPOOL_API shpool_status shpool_advise(const shpool_pool *pool, const shpool_report_data *report,
                                       const shpool_arch *arch, uint32_t other_shared,
                                       shpool_advice *advice_p);

/**
 * Send the message of level info that says what was opened.
 *
 * For the inline parts of the headers.
 * @param [in] pool   an open pool
 * @param [in] where  whose kernels will use it
 */
SHPOOL_API void shpool_announce(const shpool_pool *pool, const char *where);

/**
 * Send the message of level warn that a pool's kernels use the function table although linking was
 * requested.  shpool_last_error() says why.
 *
 * For the device archive.
 */
SHPOOL_API void shpool_announce_table(const shpool_pool *pool);

/**
 * Nonzero if $SHPOOL_ALLOCATOR is set; it is then used wherever no spec is given.  The environment
 * is read once, by the first call that needs it; later changes have no effect.
 */
SHPOOL_API int shpool_selected(void);

/** One environment variable, as shpool-info config shows it. */
typedef struct shpool_variable {
    const char *name;
    const char *type;          /**< "spec", "level", ... */
    const char *unit;          /**< unit of a number, or "" if there is none or the text names it */
    const char *default_value;
    const char *text;          /**< describes the effect, with units and legal values */
    const char *value;         /**< value in this process, or NULL: the default applies */
} shpool_variable;

/** Variable number `index` in alphabetical order.  SHPOOL_ERR_NOT_FOUND past the last one,
 *  SHPOOL_ERR_INVALID for NULL. */
SHPOOL_API shpool_status shpool_variable_get(size_t index, shpool_variable *variable_p);

/* ---- run-time linking ---- */

/**
 * Link a kernel's LTO-IR with an allocator's into a cubin.  Needs libnvJitLink, but no GPU.
 *
 * The kernel must have been compiled with -DSHPOOL_LINKED and to LTO-IR (nvcc -dlto, or a fat
 * binary or an object that contains it).  If the allocator has LTO-IR for several architectures,
 * the newest one up to `arch` is used.  The cubin is not loaded: shpool_link_library()
 * (shpool/shpool.cuh) links and loads.  A program that uses the driver API passes the cubin to
 * cuLibraryLoadData() or cuModuleLoadData().
 *
 * Results are cached in memory (the latest 64, at most 16 MiB) and, if $SHPOOL_CACHE_DIR is set,
 * also in that folder for other processes, also on systems without libnvJitLink.  If another
 * version of nvJitLink is there than the one that made a file, the kernel is linked again.
 *
 * Scope: host, any thread; blocks while nvJitLink runs.
 * @param [in]  kernel       LTO-IR, fat binary or relocatable object; not retained
 * @param [in]  kernel_bytes
 * @param [in]  allocator    a registered name with lto_ir, or a spec, in which only the spill
 *                           option matters: kernels whose pools do not spill contain no code for
 *                           spilling
 * @param [in]  arch         compute capability times 10: 90 for sm_90; not below the LTO-IR's own.
 *                           A kernel that was compiled for an architecture with a letter needs it
 *                           here, too (SHPOOL_ARCH_LETTER), unless the kernel is a fat binary,
 *                           which says it
 * @param [out] cubin_p      owned by the caller, who releases it with free(); NULL on failure
 * @param [out] bytes_p      its size; 0 on failure
 * @return SHPOOL_OK
 *   - SHPOOL_ERR_INVALID      a NULL argument, no bytes, arch below 75 or above 999,
 *                             or an unknown letter
 *   - SHPOOL_ERR_NOT_FOUND    no such allocator
 *   - SHPOOL_ERR_UNSUPPORTED  this build has no LTO-IR, or none for an architecture that old;
 *                             libnvJitLink was not found (the detail says what was tried), is older
 *                             than the CUDA version that made the LTO-IR, or has another major
 *                             version
 *   - SHPOOL_ERR_LINK         the linker's own log is the detail; or the kernel was compiled
 *                             without SHPOOL_LINKED
 *   - SHPOOL_ERR_SPEC         SHPOOL_CACHE_BYTES is not a number, or the spec does not parse
 *   - SHPOOL_ERR_NO_MEMORY
 */
SHPOOL_API shpool_status shpool_link(const void *kernel, size_t kernel_bytes, const char *allocator,
                                     uint32_t arch, void **cubin_p, size_t *bytes_p);

/**
 * Get the LTO-IR that shpool_link() links with a kernel.  For programs that run a linker themselves
 * (Numba, nvJitLink, cuLinkAddData).
 *
 * Scope: host, any thread; no CUDA.
 * @param [in]  allocator    as for shpool_link(): in a spec only the spill option matters
 * @param [in]  arch         as for shpool_link(), with its letter
 * @param [out] allocator_p  the allocator's LTO-IR for the newest architecture up to `arch`; owned
 *                           by the library or the plugin, and stays valid; NULL on failure
 * @param [out] spill_p      likewise the part that spills, or a stub if nothing spills; NULL in a
 *                           build without nvcc, and on failure
 * @return SHPOOL_OK; SHPOOL_ERR_INVALID: a NULL argument; SHPOOL_ERR_NOT_FOUND: no such allocator;
 *         SHPOOL_ERR_SPEC; SHPOOL_ERR_UNSUPPORTED: this build has no LTO-IR, or none for an
 *         architecture that old
 */
SHPOOL_API shpool_status shpool_link_code(const char *allocator, uint32_t arch,
                                          const shpool_blob **allocator_p,
                                          const shpool_blob **spill_p);

/**
 * Link an image's own kernels with an allocator into a cubin.  Needs libnvJitLink, but no GPU.
 *
 * For the device archive, through which shpool_open() calls it.  nvcc leaves the relocatable device
 * code of all objects in the image.  The allocator is either missing from the image or, for a pool
 * of SHPOOL_BINDING_LINKED without stats and check, to be inlined.  Results are cached as those of
 * shpool_link().
 *
 * Scope: host, any thread; blocks while nvJitLink runs.
 * @param [in]  row_start  the image's section __nv_relfatbin: consecutive fat binaries
 * @param [in]  row_bytes  its size
 * @param [in]  pool       from shpool_plan()
 * @param [in]  arch       of the device: 90 for 9.0.  The image's code for it may have a letter
 * @param [out] cubin_p    as for shpool_link()
 * @param [out] bytes_p    as for shpool_link()
 * @return as shpool_link().  SHPOOL_ERR_UNSUPPORTED also if the section has no relocatable code; if
 *         it has no LTO-IR although the allocator is to be inlined; or if the cubin would have
 *         copies of the program's variables, and SHPOOL_FLAG_COPIES is not set
 */
SHPOOL_API shpool_status shpool_relink(const void *row_start, size_t row_bytes,
                                       const shpool_pool *pool, uint32_t arch, void **cubin_p,
                                       size_t *bytes_p);

/* ---- pools on the CPU block executor (shpool/executor.h) ---- */

/**
 * Open a pool for kernels that run on the executor; otherwise like shpool_open().
 * @param [out] pool_p  close it with shpool_simt_close(); zeroed on failure
 * @return as shpool_plan() and shpool_trace_open(); SHPOOL_ERR_NO_MEMORY; SHPOOL_ERR_UNSUPPORTED:
 *         the allocator has no functions for the executor; SHPOOL_ERR_ABI: the functions have
 *         another version
 */
SHPOOL_API shpool_status shpool_simt_open(const char *spec, const shpool_config *want,
                                          shpool_pool *pool_p);

/**
 * Read the report of a pool that was opened with stats or check.  No kernel may be using it.
 * If report_p->status is not SHPOOL_OK, shpool_last_error() tells the cause, as of shpool_report().
 * @return SHPOOL_OK; SHPOOL_ERR_INVALID: a NULL argument; SHPOOL_ERR_UNSUPPORTED: the pool was
 *         opened without both
 */
SHPOOL_API shpool_status shpool_simt_report(const shpool_pool *pool, shpool_report_data *report_p);

/**
 * Release the memory that shpool_simt_open() allocated, and zero the pool; with trace=FILE, write
 * the file.  NULL and zeroed pools have no effect.
 * @return SHPOOL_OK; as shpool_trace_close() (the pool is zeroed even on failure)
 */
SHPOOL_API shpool_status shpool_simt_close(shpool_pool *pool);

#ifdef __cplusplus
}
#endif
#endif /* SHPOOL_SHPOOL_H */
