/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/abi.h
 * Plain data shared by the host, kernels, the device archive and third-party allocators.
 *
 * Programs embed these layouts (a kernel has a shpool_pool among its parameters, an application has
 * libshpool_device.a linked into it), so they are frozen.  A field is never moved and never changes
 * its meaning; new fields replace reserved words.  Any other change raises SHPOOL_ABI.  Code that
 * receives one of these structures compares `abi` first.
 *
 * Terms
 *   block      a CUDA thread block; memory that an allocator returns is called "an allocation"
 *   pool       the memory that one group of threads allocates from; a block has 1..1,024 pools
 *   region     all pools of a block, and the statistics area if there is one: the shared memory
 *              that the launch reserves (shpool_pool.shared_bytes)
 *   payload    bytes a caller may use; metadata is everything else
 *   view       describes one thread's pool to the module's functions; passed by value in registers
 *   module     one allocator's device functions, compiled for one machine
 */
#ifndef SHPOOL_ABI_H
#define SHPOOL_ABI_H

#include <shpool/types.h>

/** Version of these layouts; see the file comment. */
#define SHPOOL_ABI 2u

#define SHPOOL_NAME_BYTES     32u         /**< longest allocator name + NUL */
#define SHPOOL_MIN_ALIGNMENT  16u         /**< every allocation is aligned to this */
#define SHPOOL_MAX_ALIGNMENT  1024u       /**< largest alignment a pool can be configured for */
#define SHPOOL_MAX_THREADS    1024u       /**< threads of a block */
#define SHPOOL_MAX_REQUEST    0x7fffffffu /**< larger requests never reach a module */
#define SHPOOL_AREA_BYTES     96u         /**< a block's statistics area; a multiple of 16 */
#define SHPOOL_AREA_CHECKED   208u        /**< likewise with check=1: each word twice */
#define SHPOOL_REPORT_ROOM    2048u       /**< room for a report, before the spill slots */
#define SHPOOL_SPILL_GRANULES 1024u       /**< most granules of a slot */
#define SHPOOL_SPILL_LEAST    64u         /**< fewest bytes of a slot's granule */
#define SHPOOL_BAD_FREE_SLOTS 16u         /**< bad frees a report describes; more are counted */
#define SHPOOL_LEAK_SLOTS     16u         /**< leaks a report describes; more are counted */
#define SHPOOL_BROKEN_ZONE    100u        /**< shpool_walk.broken: bytes around a payload changed */
#define SHPOOL_BROKEN_LOCK    101u        /**< likewise: first words of a group's pool changed */
#define SHPOOL_BROKEN_FREED   102u        /**< likewise: free memory, or what seemed so, changed */
#define SHPOOL_BROKEN_AREA    103u        /**< likewise: the block's statistics area changed */
#define SHPOOL_NO_MARK        0xffffffffu /**< shpool_mark() of an allocator without marks */
#define SHPOOL_SITE_WAIT      0xffffffffu /**< site of requests that wait; no caller uses it */
#define SHPOOL_SITE_TRY       0xfffffffeu /**< of their first attempt, which may be in vain although
                                               there is room: others follow */
#define SHPOOL_WAIT_BYTES     16u         /**< waiters' record, after a pool that threads share */

/** Bytes of a region in addition to its area and pools.  The linker aligns dynamic shared memory
 *  only to 16 if static arrays precede it, so shpool_init() aligns the pools. */
#define SHPOOL_SLACK_BYTES(_alignment) ((_alignment) - SHPOOL_MIN_ALIGNMENT)

/** Return value of every fallible function: 0 is success, errors are negative. */
typedef enum shpool_status {
    SHPOOL_OK              = 0,
    SHPOOL_ERR_INVALID     = -1,  /**< an argument violates the contract */
    SHPOOL_ERR_NOT_FOUND   = -2,  /**< nothing has that name or number */
    SHPOOL_ERR_NO_MEMORY   = -3,  /**< host or device memory ran out */
    SHPOOL_ERR_SPEC        = -4,  /**< an allocator spec or environment variable does not parse */
    SHPOOL_ERR_TOO_SMALL   = -5,  /**< the bytes given cannot hold the requested pools */
    SHPOOL_ERR_TOO_LARGE   = -6,  /**< more than a block, a pool or the device can have */
    SHPOOL_ERR_ALIGNMENT   = -7,  /**< a base or size is not aligned as the pool needs it */
    SHPOOL_ERR_LAUNCH      = -8,  /**< more threads, or less shared memory, than planned */
    SHPOOL_ERR_UNSUPPORTED = -9,  /**< this allocator, binding or build cannot do it */
    SHPOOL_ERR_ABI         = -10, /**< header, archive and library have different versions */
    SHPOOL_ERR_BINDING     = -11, /**< the kernel is bound to a different allocator */
    SHPOOL_ERR_CUDA        = -12, /**< a CUDA call failed; the detail names it */
    SHPOOL_ERR_LINK        = -13, /**< run-time linking failed; the detail holds the linker's log */
    SHPOOL_ERR_CORRUPT     = -14, /**< a pool's own data is damaged */
    SHPOOL_ERR_DEADLOCK    = -15, /**< executor: no thread can continue */
    SHPOOL_ERR_DIVERGENCE  = -16, /**< executor: threads of one barrier or vote disagree */
    SHPOOL_ERR_BUDGET      = -17, /**< executor: the budget of switches is spent */
    SHPOOL_ERR_SYSTEM      = -18, /**< a system call failed; the detail names it */
    SHPOOL_ERR_LIMIT       = -19, /**< a configured limit of device memory would be exceeded */
    SHPOOL_ERR_DOUBLE_FREE = -20, /**< the device memory is already free */
    SHPOOL_ERR_CAPTURE     = -21  /**< not possible while the stream captures a graph */
} shpool_status;

/** Which threads share one pool, and which may free an allocation. */
typedef enum shpool_scope {
    SHPOOL_SCOPE_THREAD = 1, /**< one pool per thread; only the owner frees */
    SHPOOL_SCOPE_GROUP  = 2, /**< threads_per_pool threads share a pool; any of them frees */
    SHPOOL_SCOPE_BLOCK  = 3, /**< one pool; any thread of the block frees */
    SHPOOL_SCOPE_CLUSTER = 4 /**< one pool in each block of a cluster; any thread of the cluster may
                                  allocate from all of them, and free */
} shpool_scope;

/** Capability bits (shpool_allocator.caps). */
enum {
    SHPOOL_CAP_FREE        = 1u << 0, /**< freed memory can be allocated again, in any order */
    SHPOOL_CAP_ALIGNED     = 1u << 1, /**< shpool_aligned_malloc beyond 16 bytes */
    SHPOOL_CAP_RESIZE      = 1u << 2, /**< realloc can succeed in place */
    SHPOOL_CAP_REFUSES     = 1u << 3, /**< bad frees are refused always, not only with check=1 */
    SHPOOL_CAP_LOCK_FREE   = 1u << 4, /**< no lock: a thread's request that fits never
                                           waits for another thread's (a warp's may) */
    SHPOOL_CAP_OUT_OF_BAND = 1u << 5, /**< no metadata between the allocations */
    SHPOOL_CAP_SPILL       = 1u << 6, /**< allocations may be in global memory */
    SHPOOL_CAP_CHECK       = 1u << 7, /**< shpool_check walks the structure, check=1 is available */
    SHPOOL_CAP_NONE        = 1u << 8, /**< never allocates anything (for measuring) */
    SHPOOL_CAP_MARK        = 1u << 9, /**< a stack: shpool_mark and shpool_release; without
                                           SHPOOL_CAP_FREE, memory comes back in stack order */
    SHPOOL_CAP_GROUP       = 1u << 10 /**< a whole warp serves its request together; without it, and
                                           for smaller groups, the first lane may request alone */
};

/** Why a free was refused (shpool_bad_free.reason). */
typedef enum shpool_free_result {
    SHPOOL_FREE_OK       = 0,
    SHPOOL_FREE_FOREIGN  = 1, /**< not an address of this thread's pool */
    SHPOOL_FREE_INTERIOR = 2, /**< inside an allocation, but not its start */
    SHPOOL_FREE_DOUBLE   = 3, /**< in the pool, but not allocated: freed before, or never made */
    SHPOOL_FREE_CORRUPT  = 4, /**< the pool's own data around it is damaged; nothing was changed */
    SHPOOL_FREE_GROUP    = 5  /**< check=1: members of a group disagree about the request or about
                                   who the members are; also for a malloc, with address 0 */
} shpool_free_result;

/** Why a request failed that no free could have made succeed (shpool_refused.reason). */
typedef enum shpool_refusal {
    SHPOOL_REFUSED_NONE      = 0, /**< it failed because memory is in use */
    SHPOOL_REFUSED_SIZE      = 1, /**< more bytes than a fresh pool serves (shpool_pool.largest)
                                       and, if the call spills, than a slot or CUDA's heap */
    SHPOOL_REFUSED_ALIGNMENT = 2, /**< not a power of two, or more than the pool's alignment */
    SHPOOL_REFUSED_GROUP     = 3, /**< check=1: members of a group disagree (bad_free has it too) */
    SHPOOL_REFUSED_SCOPE     = 4, /**< of a cluster, to a pool whose scope is not cluster */
    SHPOOL_REFUSED_EMPTY     = 7  /**< the heap is empty: shpool_report_data.status says why */
} shpool_refusal;

/** Bits of shpool_pool.flags and shpool_view.flags. */
enum {
    SHPOOL_FLAG_STATS       = 1u << 0, /**< counters are kept; a report can be read */
    SHPOOL_FLAG_CHECK       = 1u << 1, /**< checked mode */
    SHPOOL_FLAG_SPILL       = 1u << 2, /**< requests that do not fit go to global memory */
    SHPOOL_FLAG_LEADER      = 1u << 3, /**< view only: first thread of its pool */
    SHPOOL_FLAG_SHARED      = 1u << 4, /**< more than one thread may use a pool */
    SHPOOL_FLAG_IN_BAND     = 1u << 5, /**< an overrun can damage links or locks: check=1 walks
                                            before each call, also in a pool that threads share */
    SHPOOL_FLAG_SPILL_ARENA  = 1u << 6, /**< ... to the block's slot of global memory */
    SHPOOL_FLAG_SPILL_NATIVE = 1u << 7, /**< ... to CUDA's heap; with both, after the slot */
    SHPOOL_FLAG_ALIGN_SHIFT = 8,       /**< bits 8..11: log2 of the configured alignment */
    SHPOOL_FLAG_ALIGN_MASK  = 15u << 8,
    SHPOOL_FLAG_CLUSTER     = 1u << 12, /**< scope cluster; without it a view does not borrow */
    SHPOOL_FLAG_TRACE       = 1u << 13, /**< each malloc and free is recorded; only with STATS */
    SHPOOL_FLAG_COPIES      = 1u << 14, /**< a linked image may copy the program's variables */
    SHPOOL_FLAG_NAMED       = 1u << 15, /**< view only: the image calls its one allocator by name */
    SHPOOL_FLAG_MEMBERS_SHIFT = 16, /**< view only, bits 16..25: members of the calling group, minus
                                         1 */
    SHPOOL_FLAG_MEMBERS_MASK  = 1023 << 16,
    SHPOOL_FLAG_REFUSED_SHIFT = 26, /**< view only, bits 26..28: the shpool_refusal of a request.
                                         An empty heap with counters always has
                                         SHPOOL_REFUSED_EMPTY, and the report's address in word[] */
    SHPOOL_FLAG_REFUSED_MASK  = 7 << 26,
    SHPOOL_FLAG_SHOW          = 1 << 29, /**< pool only: $SHPOOL_ALLOCATOR requested stats or check,
                                              so closing the pool writes its report to stderr */
    SHPOOL_FLAG_FLAT          = 1 << 30  /**< pool only: opened in a file with SHPOOL_CALLS=0, so
                                              that a linked image has no calls of slow paths */
};

/** Destination of requests that a pool cannot serve (shpool_config.spill); a sum of bits. */
enum {
    SHPOOL_SPILL_FAIL   = 0, /**< they fail */
    SHPOOL_SPILL_ARENA  = 1, /**< a slot of spill_bytes in global memory for each running block */
    SHPOOL_SPILL_NATIVE = 2  /**< CUDA's in-kernel heap; with ARENA, once the slot is full */
};

/** How a kernel that was compiled for the function table reaches its allocator
 *  (shpool_config.binding). */
enum {
    SHPOOL_BINDING_AUTO   = 0, /**< $SHPOOL_BINDING, else TABLE */
    SHPOOL_BINDING_TABLE  = 1, /**< calls through pointers; an allocator that is not in the program
                                    is linked at run time */
    SHPOOL_BINDING_LINKED = 2  /**< linked at run time, and inlined if the kernel also has LTO-IR;
                                    TABLE if this is not possible, and with stats, check and
                                    trace */
};

/**
 * Describes the calling thread's own pool.  Passed by value; a zeroed view is an empty pool.  For
 * an empty pool (bytes and word[] 0) every module's malloc returns 0 and its free refuses, without
 * touching memory.
 */
typedef struct shpool_view {
    simt_addr base;     /**< first byte of this thread's pool */
    uint32_t  bytes;    /**< size of this thread's pool, metadata included; 0: empty */
    uint32_t  rank;     /**< rank of the thread in its block, 0..threads-1, x fastest */
    uint32_t  flags;    /**< SHPOOL_FLAG_* */
    uint32_t  word[2];  /**< the module's own geometry, from its layout function */
    simt_addr area;     /**< 16 bytes into the block's statistics area; 0: it has none */
} shpool_view;

/** How a module uses a number of bytes.  The overhead is computed nowhere else. */
typedef struct shpool_layout {
    uint32_t bytes;   /**< bytes used, at most those given; 0: too few to hold one allocation */
    uint32_t largest; /**< largest single malloc of a fresh pool, in bytes */
    uint32_t word[2]; /**< for shpool_view.word */
} shpool_layout;

/** Result of a module's walk over its structure: 0 if it is sound, else the broken invariant. */
typedef struct shpool_walk {
    uint32_t  broken; /**< 0, a number from the allocator's README, or SHPOOL_BROKEN_* */
    simt_addr where;  /**< address of the first inconsistency */
    uint32_t  live;   /**< allocations found */
    uint32_t  used;   /**< usable bytes of those */
} shpool_walk;

/* ---- module functions: the third party's interface; shpool/module.h says what each does ---- */
typedef simt_addr     (*shpool_malloc_group_fn)(shpool_view view, uint32_t bytes,
                                                uint32_t alignment, uint32_t site, uint32_t lanes);
typedef uint32_t      (*shpool_free_group_fn)(shpool_view view, simt_addr addr, uint32_t site,
                                              uint32_t lanes);
typedef shpool_layout (*shpool_layout_fn)(uint32_t bytes, uint32_t alignment);
typedef void          (*shpool_init_fn)(shpool_view view, uint32_t member, uint32_t members);
typedef simt_addr     (*shpool_malloc_fn)(shpool_view view, uint32_t bytes, uint32_t alignment,
                                          uint32_t site);
typedef uint32_t      (*shpool_free_fn)(shpool_view view, simt_addr addr, uint32_t site);
typedef uint32_t      (*shpool_resize_fn)(shpool_view view, simt_addr addr, uint32_t bytes);
typedef uint32_t      (*shpool_usable_fn)(shpool_view view, simt_addr addr);
typedef uint32_t      (*shpool_largest_fn)(shpool_view view);
typedef shpool_walk   (*shpool_walk_fn)(shpool_view view);
typedef uint32_t      (*shpool_owns_fn)(shpool_view view, simt_addr addr);
typedef uint32_t      (*shpool_rewind_fn)(shpool_view view, uint32_t to);
typedef void          (*shpool_fini_fn)(shpool_view view);
typedef void         *(*shpool_spill_fn)(shpool_view view, unsigned long long bytes,
                                         uint32_t alignment);
typedef uint32_t      (*shpool_unspill_fn)(shpool_view view, void *ptr, uint32_t site);
typedef unsigned long long (*shpool_spilled_fn)(shpool_view view, const void *ptr);

/** One module's functions.  Device pointers of one linked image, or host pointers (executor). */
typedef struct shpool_table {
    uint32_t          abi;   /**< SHPOOL_ABI that the module was compiled with */
    uint32_t          bytes; /**< sizeof(shpool_table) there */
    shpool_layout_fn  layout;
    shpool_init_fn    init;
    shpool_malloc_fn  allocate;
    shpool_free_fn    release;
    shpool_resize_fn  resize;
    shpool_usable_fn  usable;
    shpool_largest_fn largest;
    shpool_walk_fn    walk;
    shpool_owns_fn    owns;
    shpool_fini_fn    fini;    /**< closes the statistics; from here on see module.h */
    shpool_spill_fn   spill;   /**< a request that the pool cannot serve; view.base is its site */
    shpool_unspill_fn unspill; /**< a free of memory outside the pool */
    shpool_rewind_fn  rewind;  /**< marks; NULL: none */
    shpool_spilled_fn spilled; /**< usable bytes of a spilled allocation */
    shpool_malloc_group_fn allocate_group; /**< by several lanes; NULL: one of them requests */
    shpool_free_group_fn   release_group;  /**< NULL if allocate_group is */
    void             *reserved[4]; /**< NULL */
} shpool_table;

/**
 * A configured pool: plain data, created on the host and passed as a read-only kernel parameter.
 * Valid for one linked image and one device; copy it freely.  A zeroed pool gives empty heaps.
 */
typedef struct shpool_pool {
    uint32_t abi;              /**< SHPOOL_ABI */
    uint32_t bytes;            /**< sizeof(shpool_pool) */
    uint32_t allocator;        /**< shpool_name_id() of the allocator's name */
    uint32_t flags;            /**< SHPOOL_FLAG_* */
    uint32_t shared_bytes;     /**< region: bytes of shared memory the caller provides; 0, or
                                    SHPOOL_SLACK_BYTES, area_bytes and pools * pool_bytes */
    uint32_t area_bytes;       /**< of those, the statistics area before the pools (0: none) */
    uint32_t pools;            /**< pools per block */
    uint32_t pool_bytes;       /**< size of one pool, and the distance between two */
    uint32_t threads_per_pool; /**< the last pool may be shared by fewer */
    uint32_t block_threads;    /**< threads of the block it was planned for */
    uint32_t pool_magic;       /**< mulhi(rank, pool_magic) == rank / threads_per_pool; 0: rank */
    uint32_t alignment;        /**< largest alignment, a power of two; also that of each pool */
    uint32_t largest;          /**< largest single malloc of a fresh pool, bytes */
    uint32_t scope;            /**< shpool_scope */
    uint32_t word[2];          /**< the module's geometry, for shpool_view.word */
    shpool_malloc_fn    allocate; /**< from the table, by value: saves a load on each call */
    shpool_free_fn      release;  /**< likewise */
    shpool_malloc_group_fn allocate_group; /**< likewise */
    shpool_free_group_fn   release_group;  /**< likewise */
    const shpool_table *table;    /**< address of the module's functions, in the image's memory */
    void               *report;   /**< shpool_report_data in global memory, or NULL */
    char     name[SHPOOL_NAME_BYTES]; /**< of the allocator */
    uint32_t system_bytes;            /**< shared memory reserved before a block's, here */
    uint32_t spill_bytes;             /**< size of a block's slot; 0: no SHPOOL_FLAG_SPILL_ARENA */
    uint32_t spill_shift;             /**< log2 of the bytes of a slot's granule */
    uint32_t spill_slots;             /**< number of slots */
    uint32_t binding;                 /**< SHPOOL_BINDING_*, not AUTO */
    uint32_t reserved[5];             /**< 0 */
    const void *image;                /**< function table: address of shpool_image_mark in the image
                                           whose kernels may use the pool */
    void    *library;                 /**< host only: the image that was linked for the pool when it
                                           was opened, or NULL: the program's own */
    void    *reserved_pointer[2];     /**< NULL */
    void    *trace;                   /**< host only: the trace file to write, or NULL */
} shpool_pool;

/** One refused free. */
typedef struct shpool_bad_free {
    uint32_t  block;   /**< rank of the block in the grid */
    uint32_t  thread;  /**< rank of the thread in the block */
    uint32_t  reason;  /**< shpool_free_result */
    uint32_t  site;    /**< the caller's argument of shpool_free_at, or 0 */
    unsigned long long address; /**< generic address as the caller gave it */
    /** check=1, reasons DOUBLE and CORRUPT: the site given to shpool_malloc_at for this allocation,
     *  and the thread that called it; 0 if the record has been overwritten since. */
    uint32_t  malloc_site;
    uint32_t  malloc_thread;
} shpool_bad_free;

/** One allocation that was never freed. */
typedef struct shpool_leak {
    uint32_t  block;  /**< rank of the block in the grid */
    uint32_t  thread; /**< rank of the thread that allocated it */
    uint32_t  site;   /**< its argument of shpool_malloc_at, or 0 */
    uint32_t  usable; /**< usable bytes */
    unsigned long long address; /**< generic address in that block */
    uint32_t  reserved[2];
} shpool_leak;

/** One failed request. */
typedef struct shpool_refused {
    uint32_t reason;    /**< shpool_refusal; 0: there was no such request */
    uint32_t block;     /**< rank of the block in the grid */
    uint32_t thread;    /**< rank of the thread in the block; of a group, its first one */
    uint32_t site;      /**< the caller's argument of shpool_malloc_at, or 0 */
    unsigned long long bytes; /**< requested; a product that overflows counts as SIZE_MAX */
    uint32_t alignment; /**< requested; 0xffffffff stands for all above */
    uint32_t reserved32; /**< 0 */
} shpool_refused;

/** Report of a pool that was opened with stats, check or a spill option; read after its kernels. */
typedef struct shpool_report_data {
    uint32_t abi;        /**< SHPOOL_ABI */
    uint32_t bytes;      /**< sizeof(shpool_report_data) */
    int32_t  status;     /**< SHPOOL_OK; why a block got an empty heap (latest reason); or, if
                              none did, why `refused` could not succeed */
    uint32_t empty;      /**< blocks whose heap was empty */
    uint32_t blocks;     /**< blocks that called shpool_fini */
    uint32_t bad_frees;  /**< frees refused, over all blocks */
    unsigned long long mallocs;     /**< requests, failed ones included */
    unsigned long long frees;       /**< successful ones */
    unsigned long long failures;    /**< requests that returned NULL */
    unsigned long long live;        /**< allocations that were never freed, counted at fini */
    unsigned long long live_bytes;  /**< usable bytes of those */
    unsigned long long spills;      /**< requests served from global memory; with any spill option,
                                         this and failures are counted even without stats */
    uint32_t peak_bytes;    /**< most usable bytes live at once in any one block */
    uint32_t largest_free;  /**< largest malloc still possible at fini, worst block */
    uint32_t corrupt;       /**< damaged pools that shpool_fini found (check=1) */
    uint32_t leaks;         /**< live allocations that shpool_fini found in pools (check=1) */
    shpool_bad_free bad_free[SHPOOL_BAD_FREE_SLOTS]; /**< the first min(bad_frees, slots) */
    shpool_leak leak[SHPOOL_LEAK_SLOTS];             /**< the first min(leaks, slots) */
    unsigned long long native_spills; /**< spills that CUDA's in-kernel heap served */
    unsigned long long waits;       /**< attempts of shpool_malloc_wait and shpool_after_malloc that
                                         failed and were followed by another attempt */
    unsigned long long cycles;      /**< in malloc and free, all threads, approximate */
    uint32_t slowest;       /**< cycles of the slowest malloc or free */
    uint32_t fastest;       /**< cycles of the fastest one */
    uint32_t unused_bytes;  /**< most free bytes of a block's pools when a request failed */
    uint32_t broken;        /**< check=1: shpool_walk.broken of the first damaged pool, or 0 */
    unsigned long long timed;       /**< mallocs and frees that `cycles` covers: those of pools, not
                                         spilled requests nor shpool_release */
    unsigned long long trace;       /**< address of the records of trace=FILE, or 0 */
    unsigned long long broken_at;   /**< where it is broken: generic address in that block */
    unsigned long long refusals;    /**< of the failures, requests that no free could have made
                                         succeed */
    shpool_refused refused;         /**< the first of those */
    uint32_t empty_threads; /**< threads of a block whose heap was empty */
    uint32_t empty_base;    /**< there: the base that it passed, an offset in shared memory */
    uint32_t empty_bytes;   /**< there: bytes of shared memory from that base on */
    uint32_t reserved32;    /**< 0 */
} shpool_report_data;

#endif /* SHPOOL_ABI_H */
