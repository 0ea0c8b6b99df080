/* SPDX-License-Identifier: BSD-3-Clause */
/* How shpool_malloc() and the other functions reach the allocator.  Not for direct inclusion.
 *
 * Three bindings, one set of names for heap.h:
 *   SHPOOL_INLINE=NAME   compile time: the allocator's header is included, everything is inline
 *                        (with SHPOOL_SPILL also the spill code, with SHPOOL_CHECK also the
 *                        counters)
 *   SHPOOL_LINKED        run-time link: calls under fixed names, linked by shpool_link() (with
 *                        SHPOOL_CHECK the counters wrap these)
 *   neither              function table: calls through the pointers that the pool carries
 *
 * SHPOOL_DO(heap, call, (arguments)) calls a module function; SHPOOL_GROUPED(heap) says whether the
 * module has functions for groups; SHPOOL_COUNTED says whether the binding supports stats and check
 * at all, SHPOOL_CLUSTERED whether its pools can have scope cluster (such an allocator NAME has
 * `#define SHPOOL_CLUSTERS_NAME 1`). */
#ifndef SHPOOL_IMPL_BIND_H
#define SHPOOL_IMPL_BIND_H

#include <shpool/module.h>

#if defined(SHPOOL_INLINE) && defined(SHPOOL_LINKED)
#error "SHPOOL_INLINE and SHPOOL_LINKED are two bindings: define one of them"
#endif

#define SHPOOL_STRING_(_x) #_x
#define SHPOOL_STRING(_x)  SHPOOL_STRING_(_x)

#if defined(SHPOOL_CHECK) && (defined(SHPOOL_INLINE) || defined(SHPOOL_LINKED))
/* Stats, check and trace for this translation unit, at their cost.  It has both sets of functions,
 * because a pool that was opened without these options has no counters. */
#define SHPOOL_IS_COUNTED(_view) \
    (((_view).flags & (SHPOOL_FLAG_STATS | SHPOOL_FLAG_CHECK)) != 0)
#define SHPOOL_EITHER_FN(_type, _name, _function, _parameters, _arguments) \
    SIMT_FN _type shpool_either_##_name##_##_function _parameters \
    { \
        return SHPOOL_IS_COUNTED(view) ? shpool_counted_##_name##_##_function _arguments \
                                       : shpool_##_name##_##_function _arguments; \
    }
#define SHPOOL_EITHER_GROUPS(_name) \
    SHPOOL_EITHER_FN(simt_addr, _name, malloc_group, \
                     (shpool_view view, uint32_t bytes, uint32_t alignment, uint32_t site, \
                      uint32_t lanes), \
                     (view, bytes, alignment, site, lanes)) \
    SHPOOL_EITHER_FN(uint32_t, _name, free_group, \
                     (shpool_view view, simt_addr addr, uint32_t site, uint32_t lanes), \
                     (view, addr, site, lanes))
#define SHPOOL_EITHER_MODULE(_name) \
    SHPOOL_INSTRUMENT(_name) \
    SHPOOL_EITHER_FN(simt_addr, _name, malloc, \
                     (shpool_view view, uint32_t bytes, uint32_t alignment, uint32_t site), \
                     (view, bytes, alignment, site)) \
    SHPOOL_EITHER_FN(uint32_t, _name, free, (shpool_view view, simt_addr addr, uint32_t site), \
                     (view, addr, site)) \
    SHPOOL_EITHER_FN(uint32_t, _name, resize, (shpool_view view, simt_addr addr, uint32_t bytes), \
                     (view, addr, bytes)) \
    SHPOOL_EITHER_FN(uint32_t, _name, usable, (shpool_view view, simt_addr addr), (view, addr)) \
    SHPOOL_EITHER_FN(uint32_t, _name, largest, (shpool_view view), (view)) \
    SHPOOL_EITHER_FN(shpool_walk, _name, walk, (shpool_view view), (view)) \
    SIMT_FN void shpool_either_##_name##_init(shpool_view view, uint32_t member, \
                                              uint32_t members) \
    { \
        if (SHPOOL_IS_COUNTED(view)) { \
            shpool_counted_##_name##_init(view, member, members); \
        } else { \
            shpool_##_name##_init(view, member, members); \
        } \
    } \
    SIMT_FN uint32_t shpool_either_##_name##_rewind(shpool_view view, uint32_t to) \
    { \
        return SHPOOL_IS_COUNTED(view) \
                   ? SHPOOL_IF_MARKS(_name, shpool_counted_##_name##_rewind, \
                                     shpool_no_rewind)(view, to) \
                   : SHPOOL_IF_MARKS(_name, shpool_##_name##_rewind, shpool_no_rewind)(view, to); \
    } \
    SHPOOL_IF_GROUPS(_name, SHPOOL_EITHER_GROUPS(_name), ) \
    SIMT_FN void shpool_either_##_name##_fini(shpool_view view) \
    { \
        if (SHPOOL_IS_COUNTED(view)) { \
            shpool_counted_##_name##_fini(view); \
        } else { \
            shpool_spill_fini(view); \
        } \
    }
#endif

#if defined(SHPOOL_INLINE)

/* An allocator of your own: -DSHPOOL_INLINE=mine -DSHPOOL_INLINE_HEADER='"mine.h"' */
#if defined(SHPOOL_INLINE_HEADER)
#include SHPOOL_INLINE_HEADER
#else
#define SHPOOL_INLINE_PATH(_name) SHPOOL_STRING(shpool/allocators/_name/_name.h)
#include SHPOOL_INLINE_PATH(SHPOOL_INLINE)
#endif

#define SHPOOL_BOUND_NAME SHPOOL_STRING(SHPOOL_INLINE)
#define SHPOOL_INLINE_(_prefix, _suffix) \
    SHPOOL_PASTE(SHPOOL_PASTE(_prefix, SHPOOL_INLINE), _suffix)

#if defined(SHPOOL_CHECK)
#define SHPOOL_EITHER_MODULE_OF(_name) SHPOOL_EITHER_MODULE(_name)
SHPOOL_EITHER_MODULE_OF(SHPOOL_INLINE)
#define SHPOOL_COUNTED 1
#define SHPOOL_DO_allocate(_heap) SHPOOL_INLINE_(shpool_either_, _malloc)
#define SHPOOL_DO_release(_heap)  SHPOOL_INLINE_(shpool_either_, _free)
#define SHPOOL_DO_resize(_heap)   SHPOOL_INLINE_(shpool_either_, _resize)
#define SHPOOL_DO_usable(_heap)   SHPOOL_INLINE_(shpool_either_, _usable)
#define SHPOOL_DO_largest(_heap)  SHPOOL_INLINE_(shpool_either_, _largest)
#define SHPOOL_DO_walk(_heap)     SHPOOL_INLINE_(shpool_either_, _walk)
#define SHPOOL_DO_fini(_heap)     SHPOOL_INLINE_(shpool_either_, _fini)
#define SHPOOL_DO_rewind(_heap)   SHPOOL_INLINE_(shpool_either_, _rewind)
#define SHPOOL_DO_init(_heap)     SHPOOL_INLINE_(shpool_either_, _init)
#else
#define SHPOOL_COUNTED 0
#define SHPOOL_DO_fini(_heap)     shpool_spill_fini
#define SHPOOL_DO_init(_heap)     SHPOOL_INLINE_(shpool_, _init)
#define SHPOOL_DO_allocate(_heap) SHPOOL_INLINE_(shpool_, _malloc)
#define SHPOOL_DO_release(_heap)  SHPOOL_INLINE_(shpool_, _free)
#define SHPOOL_DO_resize(_heap)   SHPOOL_INLINE_(shpool_, _resize)
#define SHPOOL_DO_usable(_heap)   SHPOOL_INLINE_(shpool_, _usable)
#define SHPOOL_DO_largest(_heap)  SHPOOL_INLINE_(shpool_, _largest)
#define SHPOOL_DO_walk(_heap)     SHPOOL_INLINE_(shpool_, _walk)
#define SHPOOL_DO_rewind(_heap)   SHPOOL_INLINE_REWIND(SHPOOL_INLINE)
#define SHPOOL_INLINE_REWIND(_name) SHPOOL_INLINE_REWIND_(_name)
#define SHPOOL_INLINE_REWIND_(_name) \
    SHPOOL_IF_MARKS(_name, shpool_##_name##_rewind, shpool_no_rewind)
#endif
/* a request by one lane for its group becomes one by all lanes if the allocator has functions for
 * it */
#if defined(SHPOOL_CHECK)
#define SHPOOL_INLINE_GROUP_(_name, _function) \
    SHPOOL_IF_GROUPS(_name, shpool_either_##_name##_##_function, shpool_no_##_function)
#else
#define SHPOOL_INLINE_GROUP_(_name, _function) \
    SHPOOL_IF_GROUPS(_name, shpool_##_name##_##_function, shpool_no_##_function)
#endif
#define SHPOOL_INLINE_GROUP(_name, _function) SHPOOL_INLINE_GROUP_(_name, _function)
#define SHPOOL_INLINE_GROUPED(_name)          SHPOOL_HAS_GROUPS(_name)
#define SHPOOL_GROUPED(_heap)           SHPOOL_INLINE_GROUPED(SHPOOL_INLINE)
#define SHPOOL_DO_allocate_group(_heap) SHPOOL_INLINE_GROUP(SHPOOL_INLINE, malloc_group)
#define SHPOOL_DO_release_group(_heap)  SHPOOL_INLINE_GROUP(SHPOOL_INLINE, free_group)
#define SHPOOL_DO_layout(_heap)  SHPOOL_INLINE_(shpool_, _layout)
#define SHPOOL_BOUND(_pool)      ((_pool)->allocator == shpool_module_id(SHPOOL_BOUND_NAME))
#if defined(SHPOOL_SPILL) || SHPOOL_PASTE(SHPOOL_SPILLS_, SHPOOL_INLINE)
#define SHPOOL_SPILLS 1
#else
#define SHPOOL_SPILLS 0
#endif
#if SHPOOL_PASTE(SHPOOL_CLUSTERS_, SHPOOL_INLINE)
#define SHPOOL_CLUSTERED 1
#else
#define SHPOOL_CLUSTERED 0
#endif
#if SHPOOL_SPILLS
#define SHPOOL_DO_spill(_heap)   shpool_spill
#define SHPOOL_DO_unspill(_heap) shpool_unspill
#define SHPOOL_DO_spilled(_heap) shpool_spill_bytes
#else
#define SHPOOL_DO_spill(_heap)   shpool_no_spill
#define SHPOOL_DO_unspill(_heap) shpool_refuse
#endif

#elif defined(SHPOOL_LINKED)

#include <shpool/impl/calls.h>
#define SHPOOL_BOUND_NAME NULL
#define SHPOOL_SPILLS     1
#define SHPOOL_CLUSTERED  1
#define SHPOOL_DO_layout(_heap)   shpool_linked_layout
#define SHPOOL_DO_init(_heap)     SHPOOL_LINKED_(init)
#if defined(SHPOOL_CHECK)
#define SHPOOL_MARKS_linked  ~, 1
#define SHPOOL_GROUPS_linked ~, 1
#define SHPOOL_GUARDS_linked ~, 1
SHPOOL_EITHER_MODULE(linked)
/* without spilling, the linked spill part counts nothing */
SIMT_FN void *shpool_either_linked_spill(shpool_view view, unsigned long long bytes,
                                         uint32_t alignment)
{
    return ((view.flags & SHPOOL_FLAG_SPILL) != 0) ? shpool_linked_spill(view, bytes, alignment)
                                                   : shpool_no_spill(view, bytes, alignment);
}
SIMT_FN uint32_t shpool_either_linked_unspill(shpool_view view, void *ptr, uint32_t site)
{
    return ((view.flags & SHPOOL_FLAG_SPILL) != 0) ? shpool_linked_unspill(view, ptr, site)
                                                   : shpool_refuse(view, ptr, site);
}
#define SHPOOL_COUNTED       1
#define SHPOOL_LINKED_(_what) shpool_either_linked_##_what
#else
#define SHPOOL_COUNTED       0
#define SHPOOL_LINKED_(_what) shpool_linked_##_what
#endif
#define SHPOOL_DO_allocate(_heap) SHPOOL_LINKED_(malloc)
#define SHPOOL_DO_release(_heap)  SHPOOL_LINKED_(free)
#define SHPOOL_GROUPED(_heap)           (shpool_linked_grouped() != 0)
#define SHPOOL_DO_allocate_group(_heap) SHPOOL_LINKED_(malloc_group)
#define SHPOOL_DO_release_group(_heap)  SHPOOL_LINKED_(free_group)
#define SHPOOL_DO_resize(_heap)   SHPOOL_LINKED_(resize)
#define SHPOOL_DO_usable(_heap)   SHPOOL_LINKED_(usable)
#define SHPOOL_DO_largest(_heap)  SHPOOL_LINKED_(largest)
#define SHPOOL_DO_walk(_heap)     SHPOOL_LINKED_(walk)
#define SHPOOL_DO_rewind(_heap)   SHPOOL_LINKED_(rewind)
#define SHPOOL_DO_spill(_heap)    SHPOOL_LINKED_(spill)
#define SHPOOL_DO_unspill(_heap)  SHPOOL_LINKED_(unspill)
#define SHPOOL_DO_spilled(_heap)  shpool_linked_spilled
#define SHPOOL_DO_fini(_heap)     SHPOOL_LINKED_(fini)
/* a kernel that was linked for a pool without spill has no code for spilling */
#define SHPOOL_BOUND(_pool) \
    (((_pool)->allocator == shpool_linked_id()) && \
     ((((_pool)->flags & SHPOOL_FLAG_SPILL) == 0) || (shpool_linked_can_spill() != 0)))

#else /* function table */

#define SHPOOL_BOUND_NAME NULL
#define SHPOOL_COUNTED    1
#define SHPOOL_SPILLS     1
#define SHPOOL_CLUSTERED  1
#define SHPOOL_DO_allocate(_heap) (_heap).allocate
#define SHPOOL_DO_release(_heap)  (_heap).release
#define SHPOOL_DO_allocate_group(_heap) (_heap).allocate_group
#define SHPOOL_DO_release_group(_heap)  (_heap).release_group
#define SHPOOL_DO_layout(_heap)   (_heap).table->layout
#define SHPOOL_DO_init(_heap)     (_heap).table->init
#define SHPOOL_DO_resize(_heap)   (_heap).table->resize
#define SHPOOL_DO_usable(_heap)   (_heap).table->usable
#define SHPOOL_DO_largest(_heap)  (_heap).table->largest
#define SHPOOL_DO_walk(_heap)     (_heap).table->walk
#define SHPOOL_DO_fini(_heap)     (_heap).table->fini
#define SHPOOL_DO_rewind(_heap)   shpool_table_rewind((_heap).table)
#define SHPOOL_DO_spill(_heap)    (_heap).table->spill
#define SHPOOL_DO_unspill(_heap)  (_heap).table->unspill
#define SHPOOL_DO_spilled(_heap)  (_heap).table->spilled
/* If the object also has LTO-IR (SHPOOL_LTO), a relinked image has names for one allocator's
 * functions (calls.h), and a flag of the heap says so.  There are two calls instead of one through
 * a selected pointer: nvcc would select all pointers early and keep them in registers.  In the
 * relinked image the flag is a constant; elsewhere the named call is the rare one (expect: 2 % of
 * a malloc and free). */
#if defined(SHPOOL_LTO) && defined(__CUDACC__)
#include <shpool/impl/calls.h>
#define SHPOOL_HEAP_FLAGS(_flags) shpool_named_flags(_flags)
#define SHPOOL_DO(_heap, _what, _arguments) \
    (__builtin_expect(((_heap).view.flags & SHPOOL_FLAG_NAMED) != 0, 0) \
         ? shpool_named_##_what _arguments : SHPOOL_DO_##_what(_heap) _arguments)
#define SHPOOL_GROUPED(_heap) \
    ((((_heap).view.flags & SHPOOL_FLAG_NAMED) != 0) ? (shpool_named_grouped() != 0) \
                                                     : ((_heap).allocate_group != NULL))
#else
#define SHPOOL_GROUPED(_heap) ((_heap).allocate_group != NULL)
#endif
#if defined(__CUDACC__)
/* In the archive (lib/cuda/image.cu).  Each image has its own mark at its own address, which
 * identifies pools of other images, whose functions this image must not call. */
extern "C" __device__ const uint32_t shpool_image_mark;
#define SHPOOL_IS_OF_IMAGE(_pool) ((_pool)->image == (const void *)&shpool_image_mark)
#else
#define SHPOOL_IS_OF_IMAGE(_pool) 1 /* the executor has one */
#endif
#define SHPOOL_BOUND(_pool) (((_pool)->table != NULL) && SHPOOL_IS_OF_IMAGE(_pool))
SIMT_FN shpool_rewind_fn shpool_table_rewind(const shpool_table *table)
{
    return (table->rewind != NULL) ? table->rewind : shpool_no_rewind;
}

#endif

#if !defined(SHPOOL_HEAP_FLAGS)
#define SHPOOL_HEAP_FLAGS(_flags) (_flags)
#endif

#define SHPOOL_HAS_AREA (SHPOOL_SPILLS || SHPOOL_COUNTED)

/* Heaps with one of these flags call the module again when an allocation fails, or when a pointer
 * is not in the pool (spill, unspill).  The last one is set in empty heaps with counters. */
#if SHPOOL_COUNTED
#define SHPOOL_FLAGS_SLOW \
    (SHPOOL_FLAG_SPILL | SHPOOL_FLAG_STATS | SHPOOL_FLAG_CHECK | SHPOOL_FLAG_REFUSED_MASK)
#else
#define SHPOOL_FLAGS_SLOW SHPOOL_FLAG_SPILL
#endif

/* A barrier for all threads that share pools with these flags: the block's or the cluster's. */
#define SHPOOL_IS_CLUSTER(_flags) \
    ((SHPOOL_CLUSTERED != 0) && (((_flags) & SHPOOL_FLAG_CLUSTER) != 0))
#define SHPOOL_BARRIER(_flags) \
    do { \
        if (SHPOOL_IS_CLUSTER(_flags)) { \
            simt_cluster_barrier(); \
        } else { \
            simt_barrier(); \
        } \
    } while (0)

#if !defined(SHPOOL_DO)
#define SHPOOL_DO(_heap, _what, _arguments) (SHPOOL_DO_##_what(_heap) _arguments)
#endif

#endif /* SHPOOL_IMPL_BIND_H */
