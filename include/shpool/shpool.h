/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/shpool.h
 * Host API: which allocators exist, which one is selected, and what a pool of it needs.
 *
 * C11 and C++17, no CUDA header, no CUDA library.  What needs the application's CUDA runtime
 * (shpool_open, shpool_close, shpool_report, shpool_allow_shared) is in shpool/shpool.cuh; what
 * opens a pool on the CPU block executor is at the end of this file.
 *
 * Thread safety: every function may be called from any thread at any time, and by a child of
 * fork() whatever the threads of its parent did; of CUDA it has nothing (shpool/device.h).
 * Errors: a negative shpool_status; outputs are then NULL or zeroed, nothing is printed, and
 * shpool_last_error() has the detail for the calling thread.
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
 * Compare the ABI numbers of the parts that meet in this process.
 *
 * The header and the device archive are frozen into the application, the library is not: each
 * `open` calls this first, programs need not.
 *
 * @param [in] header   SHPOOL_ABI as the caller was compiled with it
 * @param [in] archive  the stamp of the caller's libshpool_device.a; `header` if it has none
 * @return SHPOOL_OK, or SHPOOL_ERR_ABI: the detail gives all three numbers and what to rebuild
 */
SHPOOL_API shpool_status shpool_fits(uint32_t header, uint32_t archive);

/**
 * Compare a planned pool with what an image's own copy of the allocator makes of it.
 *
 * The geometry was worked out by the library, the kernel uses the code that it was compiled with:
 * `open` calls this, programs need not.
 * @param [in] layout  the allocator's layout function, as the image has it
 * @return SHPOOL_OK, or SHPOOL_ERR_ABI: header or archive are of another version of the allocator
 */
SHPOOL_API shpool_status shpool_same_geometry(shpool_layout_fn layout, const shpool_pool *pool);

/** One sentence for a status; never NULL, also for values that are not in the enum. */
SHPOOL_API const char *shpool_strerror(shpool_status status);

/**
 * Detail of this thread's latest failure: what was asked, what was found, what would work.
 * Never NULL; "" before the first failure, and where the process has no memory or no thread key
 * (PTHREAD_KEYS_MAX) for it.  Valid until this thread's next failing call.
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
    SHPOOL_LEVEL_WARN  = 2, /**< something is odd, work goes on */
    SHPOOL_LEVEL_INFO  = 3  /**< what was chosen */
} shpool_level;

/** Receives one message: lower case, no newline.  May be called from any thread. */
typedef void (*shpool_message_fn)(shpool_level level, const char *text, void *user);

/**
 * Install the receiver of messages; NULL: none, the default.
 *
 * The library itself never prints.  With SHPOOL_LOG_LEVEL set to error, warn or info, messages up
 * to that level go to stderr as long as no receiver is installed.
 */
SHPOOL_API void shpool_set_message_handler(shpool_message_fn handler, void *user);

/* ---- registry ---- */

/** LTO-IR that a build embeds, and what it was made by and for; 0: not known, and not compared. */
typedef struct shpool_blob {
    const unsigned char *data;
    size_t               bytes;
    uint32_t             cuda; /**< CUDA version that made it, as CUDART_VERSION: 12080 for 12.8 */
    uint32_t             arch; /**< compute capability times 10 that it was compiled for */
    const struct shpool_blob *newer; /**< the same code for a newer architecture, or NULL */
} shpool_blob;

/**
 * What the registry knows of one allocator.  One const object each, static storage.
 * Third parties fill one in with SHPOOL_HOST_MODULE (shpool/module.h).
 */
typedef struct shpool_allocator {
    uint32_t abi;        /**< SHPOOL_ABI */
    uint32_t bytes;      /**< sizeof(shpool_allocator) */
    const char *name;    /**< [a-z][a-z0-9_]*, under SHPOOL_NAME_BYTES; value of SHPOOL_ALLOCATOR */
    const char *summary; /**< one line */
    uint32_t scope;      /**< shpool_scope */
    uint32_t caps;       /**< SHPOOL_CAP_* */
    shpool_layout_fn layout;     /**< the overhead calculator: the very function the device runs */
    const shpool_table *simt[2]; /**< the module for the CPU executor: plain, with stats/check */
    const char *tables;  /**< symbol of the two device tables, plain and with stats/check, in an
                              image that has its device code */
    const shpool_blob *lto_ir;   /**< for shpool_link(), that for the oldest GPU first; or NULL */
    uint32_t threads_per_pool;   /**< scope group: what 0 in a configuration stands for; 0: 32 */
    uint32_t reserved32;         /**< 0 */
    void *reserved[6];           /**< NULL */
} shpool_allocator;

/** Number of registered allocators; at least 1. */
SHPOOL_API size_t shpool_allocator_count(void);

/** Allocator `index`, 0 <= index < count: built in, then as they were registered; else NULL. */
SHPOOL_API const shpool_allocator *shpool_allocator_get(size_t index);

/**
 * Find an allocator by its name or an alias (cuda_memory's USE_WARP_LOCAL and so on), exactly; no
 * spec, no environment.
 * @return SHPOOL_OK; SHPOOL_ERR_INVALID: a NULL argument; SHPOOL_ERR_NOT_FOUND: the detail lists
 *         every registered name, and the plugins that are not used
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
 * What a plugin exports under the name shpool_plugin; SHPOOL_PLUGIN (shpool/module.h) defines it.
 *
 * A plugin is a shared object, *.so, in a folder of $SHPOOL_PLUGIN_PATH.  Its allocators join the
 * registry before that answers for the first time, so they serve programs that were built before
 * there was such a plugin: on the CPU block executor, and on the GPU by run-time linking.  One that
 * does not fit is left out; a message of level warn says why, and so does the detail when a name is
 * not found.  doc/PLUGINS.md tells how to write one.
 */
typedef struct shpool_plugin_info {
    uint32_t abi;        /**< SHPOOL_ABI; in front in every version */
    uint32_t bytes;      /**< sizeof(shpool_plugin_info) */
    uint32_t count;      /**< of allocators, at least 1 */
    uint32_t reserved32; /**< 0 */
    const shpool_allocator *const *allocators; /**< all of them are taken, or none */
    shpool_status (*library)(const shpool_allocator *allocator); /**< shpool_register, as the plugin
                                                                      finds it */
    void *reserved[4];   /**< NULL */
} shpool_plugin_info;

/** 32-bit FNV-1a hash of a name; shpool_pool.allocator.  0 for NULL. */
SHPOOL_API uint32_t shpool_name_id(const char *name);

/* ---- planning ---- */

/** What a kernel wants.  Zero what you do not set: fields added later mean nothing at 0. */
typedef struct shpool_config {
    uint32_t block_threads;    /**< threads of a block, x*y*z: 1..1,024 */
    uint32_t payload_bytes;    /**< largest single malloc of a fresh pool times number of pools */
    uint32_t threads_per_pool; /**< for scope group; 0: the allocator's own choice */
    uint32_t alignment;        /**< largest alignment, a power of two 16..1,024; 0: 16 */
    uint32_t flags;            /**< SHPOOL_FLAG_STATS, SHPOOL_FLAG_CHECK, SHPOOL_FLAG_COPIES */
    uint32_t total_bytes;      /**< instead of payload_bytes: shared memory for the pools to fill */
    uint32_t shared_limit;     /**< most shared memory they may take; 0, or over 227 KiB: 227 KiB */
    uint32_t spill;            /**< SHPOOL_SPILL_*: what to do when a pool has no room; 0: fail */
    uint32_t spill_bytes;      /**< SHPOOL_SPILL_ARENA: global memory for each block; 0: 64 KiB */
    uint32_t spill_blocks;     /**< blocks that run at once; 0: as many as the device can hold */
    uint32_t binding;          /**< SHPOOL_BINDING_*, of kernels for the function table */
    uint32_t reserved[5];      /**< 0 */
} shpool_config;

/**
 * Work out a pool: which allocator, and exactly what it needs.  No CUDA.
 *
 * The spec is `name` or `name:key=value,...` with the keys payload_bytes, total_bytes,
 * threads_per_pool, alignment (sizes may end in K, M or G), stats and check (0 or 1), spill (fail,
 * arena, native or arena+native), spill_bytes and spill_blocks, trace (a file, which `open` makes),
 * trace_bytes and trace_blocks; what it says wins over `want`.
 *
 * The result is exact: a launch needs pool_p->shared_bytes, each of pool_p->pools pools has
 * pool_p->pool_bytes, and a malloc of pool_p->largest bytes succeeds in a fresh one, a larger one
 * does not.  `payload_bytes` gives the least shared memory for it; `total_bytes` gives pools as
 * large as that allows (some bytes may be left over).
 *
 * @param [in]  spec    NULL: $SHPOOL_ALLOCATOR, else the build's default allocator
 * @param [in]  want    shape and size
 * @param [out] pool_p  everything but the device pointers and the report; zeroed on failure
 * @return SHPOOL_OK
 *   - SHPOOL_ERR_INVALID      a NULL argument, block_threads outside 1..1,024, threads_per_pool
 *                             above, other flags or spill bits, spill_blocks over 65,536,
 *                             reserved not 0, payload_bytes and total_bytes both
 *   - SHPOOL_ERR_SPEC         the spec does not parse, or has an unknown key (the detail lists the
 *                             known ones) or value; a bad SHPOOL_LOG_LEVEL
 *   - SHPOOL_ERR_NOT_FOUND    unknown allocator (the detail lists the known ones)
 *   - SHPOOL_ERR_ALIGNMENT    alignment is not a power of two from 16 to 1,024
 *   - SHPOOL_ERR_TOO_SMALL    no payload was asked for, or total_bytes cannot hold one allocation
 *                             in each pool (the detail says how much can)
 *   - SHPOOL_ERR_TOO_LARGE    more than shared_limit (the detail says what would fit), or
 *                             spill_bytes over 1 GiB with SHPOOL_SPILL_ARENA
 *   - SHPOOL_ERR_UNSUPPORTED  the allocator cannot do check, or that alignment, has scope cluster
 *                             and is to spill to an arena, or a spec gives threads_per_pool for an
 *                             allocator of another scope than group
 */
SHPOOL_API shpool_status shpool_plan(const char *spec, const shpool_config *want,
                                     shpool_pool *pool_p);

/** What an architecture gives a block and a multiprocessor (SM). */
typedef struct shpool_arch {
    uint32_t arch;            /**< compute capability times 10: 86 for sm_86 */
    uint32_t shared_block;    /**< most shared memory of a block, opted in, bytes */
    uint32_t shared_sm;       /**< of an SM, bytes */
    uint32_t shared_reserved; /**< what the system takes of an SM for each block, bytes */
    uint32_t threads_sm;      /**< resident threads of an SM */
    uint32_t blocks_sm;       /**< resident blocks of an SM */
} shpool_arch;

/** Architecture `index`, ascending from sm_75; SHPOOL_ERR_NOT_FOUND past the last,
 *  SHPOOL_ERR_INVALID for NULL. */
SHPOOL_API shpool_status shpool_arch_get(size_t index, shpool_arch *arch_p);

/**
 * Find an architecture by name: "sm_86", "86" or "8.6".
 *
 * Its shared_block, less the kernel's own arrays, is a shpool_config.shared_limit.
 * @return SHPOOL_OK; SHPOOL_ERR_INVALID: a NULL argument; SHPOOL_ERR_NOT_FOUND: the detail lists
 *         the known ones
 */
SHPOOL_API shpool_status shpool_arch_find(const char *name, shpool_arch *arch_p);

/**
 * How many blocks with this pool one SM holds at the same time, as far as shared memory, threads
 * and block slots decide.  Registers are the kernel's affair: it may be fewer.
 *
 * @param [in] pool          planned
 * @param [in] arch          from shpool_arch_find()
 * @param [in] other_shared  shared memory of the kernel beside the pool, bytes
 * @return 0 if not even one fits, or for a NULL argument
 */
SHPOOL_API uint32_t shpool_blocks_per_sm(const shpool_pool *pool, const shpool_arch *arch,
                                         uint32_t other_shared);

/* ---- what kernels needed ---- */

/** Figures of all blocks that ended, for a person.  Of one block where it says so. */
typedef struct shpool_stats_data {
    unsigned long long mallocs;    /**< requests, failed ones included */
    unsigned long long frees;
    unsigned long long failures;   /**< requests that got NULL */
    unsigned long long live;       /**< allocations that were never freed */
    unsigned long long live_bytes; /**< of those */
    unsigned long long spills;     /**< requests served from global memory */
    unsigned long long native_spills; /**< spills that CUDA's in-kernel heap served */
    unsigned long long waits;      /**< attempts of shpool_malloc_wait and shpool_after_malloc that
                                        got nothing, and were followed by another one */
    uint32_t peak_bytes;     /**< most bytes live at once in one block, spilled ones included */
    uint32_t capacity_bytes; /**< of all pools of a block */
    uint32_t fragmentation;  /**< percent of the capacity that was free as a request failed, the
                                  worst case: in pieces too small, or in other threads' pools */
    uint32_t contention;     /**< percent of the cycles in malloc and free above those of the
                                  fastest call: waiting, retries and searches; 0 on the executor */
    uint32_t mean_cycles;    /**< of a malloc or free of a pool: the attempt of a request that was
                                  spilled counts, spilling it and shpool_release() do not */
    uint32_t slowest_cycles; /**< of one of them */
} shpool_stats_data;

/**
 * Work out the figures of a report: of shpool_report(), or shpool_simt_report() on the executor.
 * shpool_stats() (shpool/shpool.cuh) reads the report as well.
 *
 * Scope: host, any thread.
 * @param [out] stats_p  zeroed on failure
 * @return SHPOOL_OK
 *   - SHPOOL_ERR_INVALID      a NULL argument, or no block has called shpool_fini
 *   - SHPOOL_ERR_UNSUPPORTED  the pool was opened without stats and check
 *   - SHPOOL_ERR_ABI          a report of another library
 */
SHPOOL_API shpool_status shpool_stats_read(const shpool_pool *pool,
                                           const shpool_report_data *report,
                                           shpool_stats_data *stats_p);

/** The shared memory that a kernel needed, of its pools; statistics areas are left out. */
typedef struct shpool_advice {
    uint32_t payload_bytes; /**< to ask for: the most that was live at once in a block */
    uint32_t least_bytes;   /**< shared memory for that.  Less cannot do; whether this does, the
                                 next run tells: pieces too small, or one thread's pool that is full
                                 while others are not, may ask for more */
    uint32_t enough_bytes;  /**< what the run had, if nothing failed or spilled; else 0: not known,
                                 run with spill=native,stats=1, which counts what is spilled, too */
    uint32_t blocks_now;    /**< of an SM: with what the run had */
    uint32_t blocks_least;  /**< with least_bytes */
} shpool_advice;

/**
 * Advise on the size of a pool from what a run needed.
 *
 * Scope: host, any thread; no CUDA.
 * @param [in]  pool          as it was opened for the run, with stats
 * @param [in]  report        of the run
 * @param [in]  arch          shpool_arch_find()
 * @param [in]  other_shared  shared memory of the kernel beside the pool, bytes
 * @param [out] advice_p      zeroed on failure
 * @return as shpool_stats_read(), and SHPOOL_ERR_TOO_LARGE: what was live at once, spilled bytes
 *         included, is more than a block of that architecture has
 */
SHPOOL_API shpool_status shpool_advise(const shpool_pool *pool, const shpool_report_data *report,
                                       const shpool_arch *arch, uint32_t other_shared,
                                       shpool_advice *advice_p);

/**
 * Send the message of level info that says what was opened.
 *
 * For the inline parts of the headers.
 * @param [in] pool   an open pool
 * @param [in] where  for whose kernels
 */
SHPOOL_API void shpool_announce(const shpool_pool *pool, const char *where);

/**
 * Send the message of level warn that a pool's kernels run by the function table, although they
 * were to be linked; shpool_last_error() says why.
 *
 * For the device archive.
 */
SHPOOL_API void shpool_announce_table(const shpool_pool *pool);

/**
 * Nonzero if $SHPOOL_ALLOCATOR is set, and therefore serves where no spec is given.
 * The environment is read once, in the first call that needs it; later changes have no effect.
 */
SHPOOL_API int shpool_selected(void);

/** One environment variable, as shpool-info config shows it. */
typedef struct shpool_variable {
    const char *name;
    const char *type;          /**< "spec", "level", ... */
    const char *unit;          /**< of a number; "" if it is none, or the text says it */
    const char *default_value;
    const char *text;          /**< what it does, with units and legal values */
    const char *value;         /**< what the process has, or NULL: the default serves */
} shpool_variable;

/** Variable `index` in alphabetical order; SHPOOL_ERR_NOT_FOUND past the last, SHPOOL_ERR_INVALID
 *  for NULL. */
SHPOOL_API shpool_status shpool_variable_get(size_t index, shpool_variable *variable_p);

/* ---- run-time linking ---- */

/**
 * Join a kernel's LTO-IR with an allocator's, to a cubin.  Needs libnvJitLink, no GPU.
 *
 * The kernel was compiled with -DSHPOOL_LINKED and to LTO-IR (nvcc -dlto, or a fat binary or an
 * object that holds it).  Of an allocator's LTO-IR that for the newest architecture up to `arch` is
 * taken.  The cubin is not loaded: shpool_link_library() (shpool/shpool.cuh) does both, a program
 * that uses the driver API gives it to cuLibraryLoadData() or cuModuleLoadData().
 *
 * What was joined before is not joined again: it is kept in memory (the latest 64, at most 16 MiB),
 * and with $SHPOOL_CACHE_DIR set in that folder, too, for other processes.  A hit there loads no
 * libnvJitLink, and works where there is none.  It also stays one when nvJitLink is updated: delete
 * the folder to have kernels joined by the new one.
 *
 * Scope: host, any thread; blocks while nvJitLink works.
 * @param [in]  kernel       LTO-IR, fat binary or relocatable object; not kept
 * @param [in]  kernel_bytes
 * @param [in]  allocator    a registered name with lto_ir; or a spec, of which only its spill
 *                           option matters: kernels whose pools do not spill have no code for it
 * @param [in]  arch         compute capability times 10: 90 for sm_90; not below the LTO-IR's own
 * @param [out] cubin_p      the caller's, to be given to free(); NULL on failure
 * @param [out] bytes_p      its size; 0 on failure
 * @return SHPOOL_OK
 *   - SHPOOL_ERR_INVALID      a NULL argument, no bytes, arch below 75 or above 999
 *   - SHPOOL_ERR_NOT_FOUND    no such allocator
 *   - SHPOOL_ERR_UNSUPPORTED  no LTO-IR in this build, or none for so old an architecture; no
 *                             libnvJitLink (the detail says what was tried), or one that is older
 *                             than the CUDA that made the LTO-IR, or of another major version
 *   - SHPOOL_ERR_LINK         the linker's own log is the detail
 *   - SHPOOL_ERR_SPEC         SHPOOL_CACHE_BYTES is no number, or the spec does not parse
 *   - SHPOOL_ERR_NO_MEMORY
 */
SHPOOL_API shpool_status shpool_link(const void *kernel, size_t kernel_bytes, const char *allocator,
                                     uint32_t arch, void **cubin_p, size_t *bytes_p);

/**
 * The LTO-IR that shpool_link() joins with a kernel: for programs that have a linker of their own
 * (Numba, nvJitLink, cuLinkAddData).
 *
 * Scope: host, any thread; no CUDA.
 * @param [in]  allocator    as for shpool_link(): of a spec only the spill option matters
 * @param [in]  arch         compute capability times 10: 90 for sm_90
 * @param [out] allocator_p  the allocator's, for the newest architecture up to `arch`; belongs to
 *                           the library or the plugin, and stays valid; NULL on failure
 * @param [out] spill_p      likewise the part that spills, or says that nothing does; NULL in a
 *                           build without nvcc, and on failure
 * @return SHPOOL_OK; SHPOOL_ERR_INVALID: a NULL argument; SHPOOL_ERR_NOT_FOUND: no such allocator;
 *         SHPOOL_ERR_SPEC; SHPOOL_ERR_UNSUPPORTED: no LTO-IR in this build, or none for so old an
 *         architecture
 */
SHPOOL_API shpool_status shpool_link_code(const char *allocator, uint32_t arch,
                                          const shpool_blob **allocator_p,
                                          const shpool_blob **spill_p);

/**
 * Join an image's own kernels with an allocator, to a cubin.  Needs libnvJitLink, no GPU.
 *
 * For the device archive, through which shpool_open() calls it; nvcc leaves the relocatable device
 * code of all objects in the image.  The allocator is one that the image has not, or, for a pool of
 * SHPOOL_BINDING_LINKED without stats and check, one that is to be inlined.  Kept as shpool_link()
 * keeps its cubins.
 *
 * Scope: host, any thread; blocks while nvJitLink works.
 * @param [in]  row_start  the image's section __nv_relfatbin: fat binaries, one after the other
 * @param [in]  row_bytes  its size
 * @param [in]  pool       from shpool_plan()
 * @param [in]  arch       as for shpool_link()
 * @param [out] cubin_p    as for shpool_link()
 * @param [out] bytes_p    as for shpool_link()
 * @return as shpool_link(); SHPOOL_ERR_UNSUPPORTED also: no relocatable code in the row; nothing
 *         with LTO-IR, where the allocator is to be inlined; variables of the program, of which the
 *         cubin would have copies, and no SHPOOL_FLAG_COPIES
 */
SHPOOL_API shpool_status shpool_relink(const void *row_start, size_t row_bytes,
                                       const shpool_pool *pool, uint32_t arch, void **cubin_p,
                                       size_t *bytes_p);

/* ---- pools on the CPU block executor (shpool/executor.h) ---- */

/**
 * Open a pool for kernels that run on the executor; otherwise as shpool_open().
 * @param [out] pool_p  close it with shpool_simt_close(); zeroed on failure
 * @return as shpool_plan() and shpool_trace_open(); SHPOOL_ERR_NO_MEMORY; SHPOOL_ERR_UNSUPPORTED:
 *         the allocator has no functions for the executor; SHPOOL_ERR_ABI: they are of another
 *         version
 */
SHPOOL_API shpool_status shpool_simt_open(const char *spec, const shpool_config *want,
                                          shpool_pool *pool_p);

/**
 * Read the report of a pool that was opened with stats or check.  No kernel may be using it.
 * @return SHPOOL_OK; SHPOOL_ERR_INVALID: a NULL argument; SHPOOL_ERR_UNSUPPORTED: the pool was
 *         opened with neither
 */
SHPOOL_API shpool_status shpool_simt_report(const shpool_pool *pool, shpool_report_data *report_p);

/**
 * Release what shpool_simt_open() took, and zero the pool; write the file of trace=FILE.  NULL and
 * zeroed pools: no effect.
 * @return SHPOOL_OK; as shpool_trace_close() (the pool is zeroed all the same)
 */
SHPOOL_API shpool_status shpool_simt_close(shpool_pool *pool);

#ifdef __cplusplus
}
#endif
#endif /* SHPOOL_SHPOOL_H */
