/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/module.h
 * How to write an allocator as a module: the functions that it defines, and the macros that
 * register them.  For authors of allocators; users of pools do not need this header.
 *
 * An allocator NAME is one header NAME.h that defines, with SIMT_FN and using only simt.h:
 *
 *   SIMT_HD shpool_layout shpool_NAME_layout(uint32_t bytes, uint32_t alignment)
 *       Computes the layout of a pool of `bytes` (a multiple of 16) whose base is aligned to
 *       `alignment`.  It runs on host and device and is the overhead calculator.  `largest` must
 *       not decrease as bytes grow, and must also be available at the configured alignment.
 *   SIMT_FN void shpool_NAME_init(shpool_view view, uint32_t member, uint32_t members)
 *       Called by each of the `members` threads that share the pool, between two block barriers.
 *   SIMT_FN simt_addr shpool_NAME_malloc(shpool_view view, uint32_t bytes, uint32_t alignment,
 *                                        uint32_t site)
 *       bytes 1..SHPOOL_MAX_REQUEST, alignment a power of two from 16 to the configured one;
 *       Returns at least bytes bytes, or 0 if they did not fit at some instant of the call; an
 *       allocation counts until its free has returned.
 *   SIMT_FN uint32_t shpool_NAME_free(shpool_view view, simt_addr addr, uint32_t site)
 *       0, or a shpool_free_result if it was refused.
 *   SIMT_FN uint32_t shpool_NAME_owns(shpool_view view, simt_addr addr)
 *       0 if addr is the start of a live allocation, else the shpool_free_result.  Follows nothing
 *       that a wild address or an overrun could have changed; may be slow (check=1 calls it).
 *   SIMT_FN uint32_t shpool_NAME_discard(shpool_view view, simt_addr addr, uint32_t site)
 *       owns and free in one step, for callers without zones (compat's ALLOCATOR_DEBUG).
 *       `SHPOOL_DISCARD(NAME)` defines it for allocators whose free decides by one atomic, or whose
 *       pools have one thread.
 *   SIMT_FN uint32_t shpool_NAME_resize(shpool_view view, simt_addr addr, uint32_t bytes)
 *       1 if the allocation now holds at least bytes bytes at the same place, else 0 (unchanged).
 *   SIMT_FN uint32_t shpool_NAME_usable(shpool_view view, simt_addr addr)
 *       Bytes of a live allocation, a multiple of 4.
 *   SIMT_FN uint32_t shpool_NAME_largest(shpool_view view)
 *       Largest malloc that would succeed now; exact when no other thread uses the pool.
 *   SIMT_FN uint32_t shpool_NAME_rewind(shpool_view view, uint32_t to)
 *       Only for allocators with marks (SHPOOL_CAP_MARK), which declare it with a line `#define
 *       SHPOOL_MARKS_NAME ~, 1`.  If `to` is SHPOOL_NO_MARK, returns a mark.  Else frees everything
 *       that was allocated since the mark `to`, and returns 1; returns 0, and nothing changes, if
 *       the pool has gone below the mark.
 *   SIMT_FN simt_addr shpool_NAME_malloc_group(shpool_view view, uint32_t bytes,
 *                                              uint32_t alignment, uint32_t site, uint32_t lanes)
 *   SIMT_FN uint32_t shpool_NAME_free_group(shpool_view view, simt_addr addr, uint32_t site,
 *                                           uint32_t lanes)
 *       Only for allocators whose groups work together (SHPOOL_CAP_GROUP), which declare it with a
 *       line `#define SHPOOL_GROUPS_NAME ~, 1`.  Their scope is block, so that all lanes share one
 *       pool.  Any set of `lanes` of a warp calls, converged, with the same arguments except
 *       view.rank.  The address is the same in all; each lane's later accesses happen after the
 *       memory's last use.  free_group is called after a simt_warp_sync(); only its result in the
 *       lowest lane counts.  Without these two functions the lowest lane requests for the group.
 *   SIMT_FN shpool_walk shpool_NAME_walk(shpool_view view)
 *       Checks every invariant, without following anything that an overrun could have changed.  No
 *       other thread uses the pool, with one exception: without SHPOOL_CAP_OUT_OF_BAND, check=1
 *       calls it before each malloc and free, so that a shared pool must take its lock.
 *
 *   SIMT_FN shpool_walk shpool_NAME_guard(shpool_view view)
 *       Only for allocators that declare it with a line `#define SHPOOL_GUARDS_NAME ~, 1`.  check=1
 *       calls it before walk or, if threads share a pool without a lock, instead of walk.  Other
 *       threads use the pool, so it checks only data that never change, and waits for locks by
 *       impl/heap/patience.h.
 *
 * A line `#define SHPOOL_CLEAN_NAME ~, 1` declares that free memory contains no data of the
 * allocator, and that resize to fewer bytes never fails and frees everything above the next
 * multiple of 16.  check=1 then detects memory that was written to while it was free, and memory
 * that is not free.
 *
 * A line `#define SHPOOL_PACKS_NAME ~, SHPOOL_PACKING(...)` (shpool.h) states where requests go in
 * a fresh pool; shpool_plan_requests() needs it.
 *
 * All other functions are called by single threads without convergence.  For the view of an empty
 * pool (bytes and word[] 0) malloc, resize, usable and largest return 0, free and owns return a
 * nonzero reason, and nothing touches memory.  On the device each of them stays within 32 registers
 * and off the stack: a kernel that calls through a pointer inherits the highest count of all table
 * functions.
 *
 * Registration, one line each (a built-in allocator needs no NAME.cu: the build has one for all of
 * them):
 *   NAME.c    SHPOOL_HOST_MODULE(NAME, "summary", scope, caps, lto_ir)
 *   NAME.cu   SHPOOL_DEVICE_MODULE(NAME)
 * A .cu for function tables may define SHPOOL_TABLE_MODULE before it includes NAME.h: table
 * functions have few registers, so bitmap.h then calls functions that are otherwise inlined.
 *
 * A plugin (shpool.h, shpool_plugin_info) has one more line, at the end of NAME.c:
 *             SHPOOL_PLUGIN(NAME)
 */
#ifndef SHPOOL_MODULE_H
#define SHPOOL_MODULE_H

#include <shpool/abi.h>
#include <shpool/impl/report/instrument.h>
#include <shpool/simt.h>

/** Define shpool_NAME_discard() if nothing can happen between owns and free; see above. */
#define SHPOOL_DISCARD(_name) \
    SIMT_FN uint32_t shpool_##_name##_discard(shpool_view view, simt_addr addr, uint32_t site) \
    { \
        uint32_t reason = shpool_##_name##_owns(view, addr); \
        return (reason == SHPOOL_FREE_OK) ? shpool_##_name##_free(view, addr, site) : reason; \
    }

/** Body of a module that has no pool of its own (null, native). */
#define SHPOOL_EMPTY_MODULE(_name) \
    SIMT_HD shpool_layout shpool_##_name##_layout(uint32_t bytes, uint32_t alignment) \
    { \
        shpool_layout layout = {0, 0, {0, 0}}; \
        (void)bytes; \
        (void)alignment; \
        return layout; \
    } \
    SIMT_FN void shpool_##_name##_init(shpool_view view, uint32_t member, uint32_t members) \
    { \
        (void)view; \
        (void)member; \
        (void)members; \
    } \
    SIMT_FN simt_addr shpool_##_name##_malloc(shpool_view view, uint32_t bytes, \
                                              uint32_t alignment, uint32_t site) \
    { \
        (void)view; \
        (void)bytes; \
        (void)alignment; \
        (void)site; \
        return 0; \
    } \
    SIMT_FN uint32_t shpool_##_name##_owns(shpool_view view, simt_addr addr) \
    { \
        (void)view; \
        (void)addr; \
        return SHPOOL_FREE_FOREIGN; \
    } \
    SIMT_FN uint32_t shpool_##_name##_free(shpool_view view, simt_addr addr, uint32_t site) \
    { \
        (void)site; \
        return shpool_##_name##_owns(view, addr); \
    } \
    SHPOOL_DISCARD(_name) \
    SIMT_FN uint32_t shpool_##_name##_resize(shpool_view view, simt_addr addr, uint32_t bytes) \
    { \
        (void)view; \
        (void)addr; \
        (void)bytes; \
        return 0; \
    } \
    SIMT_FN uint32_t shpool_##_name##_usable(shpool_view view, simt_addr addr) \
    { \
        (void)view; \
        (void)addr; \
        return 0; \
    } \
    SIMT_FN uint32_t shpool_##_name##_largest(shpool_view view) \
    { \
        (void)view; \
        return 0; \
    } \
    SIMT_FN shpool_walk shpool_##_name##_walk(shpool_view view) \
    { \
        shpool_walk walk = {0, 0, 0, 0}; \
        (void)view; \
        return walk; \
    }

/* Ordered initialisers, because C++17 has no designated ones.  _i is empty or counted_; _spill is
 * the prefix of the functions that spill. */
#define SHPOOL_TABLE_OF(_name, _i, _fini, _spill) \
    { \
        SHPOOL_ABI, sizeof(shpool_table), shpool_##_name##_layout, shpool_##_i##_name##_init, \
            shpool_##_i##_name##_malloc, shpool_##_i##_name##_free, \
            shpool_##_i##_name##_resize, shpool_##_i##_name##_usable, \
            shpool_##_i##_name##_largest, shpool_##_i##_name##_walk, shpool_##_i##_name##_owns, \
            _fini, _spill##spill, _spill##unspill, \
            SHPOOL_IF_MARKS(_name, shpool_##_i##_name##_rewind, NULL), _spill##spill_bytes, \
            SHPOOL_IF_GROUPS(_name, shpool_##_i##_name##_malloc_group, NULL), \
            SHPOOL_IF_GROUPS(_name, shpool_##_i##_name##_free_group, NULL), \
        { \
            NULL, NULL, NULL, NULL \
        } \
    }

#define SHPOOL_PASTE_(_a, _b) _a##_b
#define SHPOOL_PASTE(_a, _b)  SHPOOL_PASTE_(_a, _b)

/* Whether a module has marks, groups or a guard, 1 or 0.  The comma in its SHPOOL_MARKS_NAME moves
 * a 1 to the second place; if that macro is not defined, the second place has the 0. */
#define SHPOOL_SECOND_(_a, _b, ...) _b
#define SHPOOL_SECOND(...)          SHPOOL_SECOND_(__VA_ARGS__)
#define SHPOOL_HAS_MARKS(_name)     SHPOOL_SECOND(SHPOOL_MARKS_##_name, 0, ~)
#define SHPOOL_HAS_GROUPS(_name)    SHPOOL_SECOND(SHPOOL_GROUPS_##_name, 0, ~)
#define SHPOOL_HAS_GUARD(_name)     SHPOOL_SECOND(SHPOOL_GUARDS_##_name, 0, ~)
#define SHPOOL_IS_CLEAN(_name, _view) \
    (SHPOOL_SECOND(SHPOOL_CLEAN_##_name, 0, ~) && (((_view).flags & SHPOOL_FLAG_CHECK) != 0))
#define SHPOOL_EITHER_1(_yes, _no)  _yes
#define SHPOOL_EITHER_0(_yes, _no)  _no
#define SHPOOL_IF_MARKS(_name, _yes, _no) \
    SHPOOL_PASTE(SHPOOL_EITHER_, SHPOOL_HAS_MARKS(_name))(_yes, _no)
#define SHPOOL_IF_GROUPS(_name, _yes, _no) \
    SHPOOL_PASTE(SHPOOL_EITHER_, SHPOOL_HAS_GROUPS(_name))(_yes, _no)
#define SHPOOL_IF_GUARDS(_name, _yes, _no) \
    SHPOOL_PASTE(SHPOOL_EITHER_, SHPOOL_HAS_GUARD(_name))(_yes, _no)

/* The value of shpool_name_id(), also on the device: FNV-1a of Fowler, Noll and Vo. */
SIMT_FN uint32_t shpool_module_id(const char *name)
{
    uint32_t id = 2166136261u;

    for (; *name != '\0'; name++) {
        id = (id ^ (unsigned char)*name) * 16777619u;
    }
    return id;
}

/* A module whose requests all spill has `#define SHPOOL_SPILLS_NAME 1` in NAME.h. */
#if defined(__CUDACC__)

/* Run-time linking: the image has one module, under fixed names (impl/bind.h). */
#define SHPOOL_LINKED_FUNCTIONS(_name) \
    extern "C" { \
    __device__ uint32_t shpool_linked_id(void) { return shpool_module_id(#_name); } \
    __device__ shpool_layout shpool_linked_layout(uint32_t bytes, uint32_t alignment) \
    { \
        return shpool_##_name##_layout(bytes, alignment); \
    } \
    __device__ void shpool_linked_init(shpool_view view, uint32_t member, uint32_t members) \
    { \
        shpool_##_name##_init(view, member, members); \
    } \
    __device__ simt_addr shpool_linked_malloc(shpool_view view, uint32_t bytes, \
                                              uint32_t alignment, uint32_t site) \
    { \
        return shpool_##_name##_malloc(view, bytes, alignment, site); \
    } \
    __device__ uint32_t shpool_linked_free(shpool_view view, simt_addr addr, uint32_t site) \
    { \
        return shpool_##_name##_free(view, addr, site); \
    } \
    __device__ uint32_t shpool_linked_resize(shpool_view view, simt_addr addr, uint32_t bytes) \
    { \
        return shpool_##_name##_resize(view, addr, bytes); \
    } \
    __device__ uint32_t shpool_linked_usable(shpool_view view, simt_addr addr) \
    { \
        return shpool_##_name##_usable(view, addr); \
    } \
    __device__ uint32_t shpool_linked_largest(shpool_view view) \
    { \
        return shpool_##_name##_largest(view); \
    } \
    __device__ shpool_walk shpool_linked_walk(shpool_view view) \
    { \
        return shpool_##_name##_walk(view); \
    } \
    __device__ shpool_walk shpool_linked_guard(shpool_view view) \
    { \
        return SHPOOL_IF_GUARDS(_name, shpool_##_name##_guard, shpool_no_guard)(view); \
    } \
    __device__ uint32_t shpool_linked_owns(shpool_view view, simt_addr addr) \
    { \
        return shpool_##_name##_owns(view, addr); \
    } \
    __device__ uint32_t shpool_linked_rewind(shpool_view view, uint32_t to) \
    { \
        return SHPOOL_IF_MARKS(_name, shpool_##_name##_rewind, shpool_no_rewind)(view, to); \
    } \
    __device__ uint32_t shpool_linked_grouped(void) { return SHPOOL_HAS_GROUPS(_name); } \
    __device__ simt_addr shpool_linked_malloc_group(shpool_view view, uint32_t bytes, \
                                                    uint32_t alignment, uint32_t site, \
                                                    uint32_t lanes) \
    { \
        return SHPOOL_IF_GROUPS(_name, shpool_##_name##_malloc_group, \
                                shpool_no_malloc_group)(view, bytes, alignment, site, lanes); \
    } \
    __device__ uint32_t shpool_linked_free_group(shpool_view view, simt_addr addr, uint32_t site, \
                                                 uint32_t lanes) \
    { \
        return SHPOOL_IF_GROUPS(_name, shpool_##_name##_free_group, \
                                shpool_no_free_group)(view, addr, site, lanes); \
    } \
    }

#if defined(SHPOOL_LINKED_MODULE)

#define SHPOOL_DEVICE_MODULE(_name) \
    SHPOOL_LINKED_FUNCTIONS(_name) \
    static_assert(sizeof(#_name) <= SHPOOL_NAME_BYTES, "allocator name too long")

#elif !defined(__CUDACC_RTC__) /* table of an archive or a program; NVRTC has no host side */

#include <cuda_runtime.h>

#include <shpool/impl/image.h>

/* In the archive (lib/cuda/image_spill.cu): the functions of impl/report/spill.h, once for all
 * tables. */
extern "C" {
__device__ void    *shpool_image_spill(shpool_view view, unsigned long long bytes,
                                       uint32_t alignment);
__device__ uint32_t shpool_image_unspill(shpool_view view, void *ptr, uint32_t site);
__device__ unsigned long long shpool_image_spill_bytes(shpool_view view, const void *ptr);
__device__ void     shpool_image_spill_fini(shpool_view view);
}

#define SHPOOL_DEVICE_TABLES(_name) \
    SHPOOL_INSTRUMENT(_name) \
    extern "C" { \
    extern SHPOOL_HIDDEN __device__ const shpool_table shpool_##_name##_tables[2]; \
    __device__ const shpool_table shpool_##_name##_tables[2] = { \
        SHPOOL_TABLE_OF(_name, , shpool_image_spill_fini, shpool_image_), \
        SHPOOL_TABLE_OF(_name, counted_, shpool_counted_##_name##_fini, shpool_image_)}; \
    } \
    static_assert(sizeof(#_name) <= SHPOOL_NAME_BYTES, "allocator name too long")

/** Define NAME's two device tables so that lib/cuda/image.cu finds them. */
#define SHPOOL_DEVICE_MODULE(_name) \
    SHPOOL_DEVICE_TABLES(_name); \
    static const shpool_image_module shpool_##_name##_in_image \
        __attribute__((section("shpool_modules"), used)) = { \
            "shpool_" #_name "_tables", shpool_##_name##_tables, shpool_##_name##_layout, NULL}

/** The device code of a plugin: for tables and for run-time linking. */
#define SHPOOL_PLUGIN_MODULE(_name) \
    SHPOOL_LINKED_FUNCTIONS(_name) \
    SHPOOL_DEVICE_TABLES(_name)

#endif /* SHPOOL_LINKED_MODULE */

#else /* host */

#include <shpool/shpool.h>

/** Define `const shpool_allocator shpool_allocator_NAME`, with NAME compiled for the executor. */
#define SHPOOL_HOST_MODULE(_name, _summary, _scope, _caps, _lto_ir) \
    SHPOOL_HOST_MODULE_GROUP(_name, _summary, _scope, 32, _caps, _lto_ir)

/** The same for scope group, with another default for the number of threads that share a pool. */
#define SHPOOL_HOST_MODULE_GROUP(_name, _summary, _scope, _threads, _caps, _lto_ir) \
    SHPOOL_INSTRUMENT(_name) \
    static const shpool_table shpool_##_name##_tables[2] = { \
        SHPOOL_TABLE_OF(_name, , shpool_spill_fini, shpool_), \
        SHPOOL_TABLE_OF(_name, counted_, shpool_counted_##_name##_fini, shpool_)}; \
    extern const shpool_allocator shpool_allocator_##_name; \
    const shpool_allocator shpool_allocator_##_name = { \
        SHPOOL_ABI, sizeof(shpool_allocator), #_name, _summary, _scope, _caps, \
        shpool_##_name##_layout, {&shpool_##_name##_tables[0], &shpool_##_name##_tables[1]}, \
        "shpool_" #_name "_tables", _lto_ir, _threads, \
        SHPOOL_SECOND(SHPOOL_PACKS_##_name, 0, ~), {NULL, NULL, NULL, NULL, NULL, NULL}}

#ifdef __cplusplus
#define SHPOOL_EXTERN_C extern "C"
#else
#define SHPOOL_EXTERN_C extern
#endif

/** Make this shared object a plugin that contains the allocator NAME of SHPOOL_HOST_MODULE. */
#define SHPOOL_PLUGIN(_name) SHPOOL_PLUGIN_OF(&shpool_allocator_##_name)

/** The same for several: pointers to const shpool_allocator, separated by commas. */
#define SHPOOL_PLUGIN_OF(...) \
    static const shpool_allocator *const shpool_plugin_allocators[] = {__VA_ARGS__}; \
    SHPOOL_EXTERN_C SHPOOL_API const shpool_plugin_info shpool_plugin; \
    const shpool_plugin_info shpool_plugin = { \
        SHPOOL_ABI, sizeof(shpool_plugin_info), \
        sizeof(shpool_plugin_allocators) / sizeof(shpool_plugin_allocators[0]), 0, \
        shpool_plugin_allocators, shpool_register, {NULL, NULL, NULL, NULL}}

#endif /* __CUDACC__ */

#endif /* SHPOOL_MODULE_H */
