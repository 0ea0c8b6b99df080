/* SPDX-License-Identifier: BSD-3-Clause */
/* The allocator functions that kernels call, under names local to one image.  Not for direct
 * inclusion.
 *
 *   shpool_linked_...   for a kernel that shpool_link() links, or that is relinked to inline the
 *                       allocator
 *   shpool_named_...    for a kernel with the function table whose object also has LTO-IR: never
 *                       called (lib/cuda/image_calls.cu) until the image is relinked; then they are
 *                       the allocator's (lib/cuda/linked_calls.cu), and nvJitLink inlines them */
#ifndef SHPOOL_IMPL_CALLS_H
#define SHPOOL_IMPL_CALLS_H

#include <shpool/module.h>

/* _call(type, name, (parameters), (arguments)) */
#define SHPOOL_EACH_CALL(_call) \
    _call(void, init, (shpool_view view, uint32_t member, uint32_t members), \
          (view, member, members)) \
    _call(simt_addr, malloc, \
          (shpool_view view, uint32_t bytes, uint32_t alignment, uint32_t site), \
          (view, bytes, alignment, site)) \
    _call(uint32_t, free, (shpool_view view, simt_addr addr, uint32_t site), (view, addr, site)) \
    _call(uint32_t, resize, (shpool_view view, simt_addr addr, uint32_t bytes), \
          (view, addr, bytes)) \
    _call(uint32_t, usable, (shpool_view view, simt_addr addr), (view, addr)) \
    _call(uint32_t, largest, (shpool_view view), (view)) \
    _call(shpool_walk, walk, (shpool_view view), (view)) \
    _call(uint32_t, rewind, (shpool_view view, uint32_t to), (view, to)) \
    _call(shpool_layout, layout, (uint32_t bytes, uint32_t alignment), (bytes, alignment)) \
    _call(uint32_t, grouped, (void), ()) \
    _call(simt_addr, malloc_group, \
          (shpool_view view, uint32_t bytes, uint32_t alignment, uint32_t site, uint32_t lanes), \
          (view, bytes, alignment, site, lanes)) \
    _call(uint32_t, free_group, \
          (shpool_view view, simt_addr addr, uint32_t site, uint32_t lanes), \
          (view, addr, site, lanes)) \
    _call(void *, spill, \
          (shpool_view view, unsigned long long bytes, uint32_t alignment), \
          (view, bytes, alignment)) \
    _call(uint32_t, unspill, (shpool_view view, void *ptr, uint32_t site), (view, ptr, site)) \
    _call(unsigned long long, spilled, (shpool_view view, const void *ptr), (view, ptr)) \
    _call(void, fini, (shpool_view view), (view))

#define SHPOOL_LINKED_CALL(_type, _name, _parameters, _arguments) \
    extern "C" __device__ _type shpool_linked_##_name _parameters;
#define SHPOOL_NAMED_CALL(_type, _name, _parameters, _arguments) \
    extern "C" __device__ _type shpool_named_##_name _parameters;

#if defined(SHPOOL_LINKED)
SHPOOL_EACH_CALL(SHPOOL_LINKED_CALL)
extern "C" __device__ uint32_t    shpool_linked_id(void);
extern "C" __device__ shpool_walk shpool_linked_guard(shpool_view view);
extern "C" __device__ uint32_t    shpool_linked_owns(shpool_view view, simt_addr addr);
extern "C" __device__ uint32_t    shpool_linked_can_spill(void);
#endif

SHPOOL_EACH_CALL(SHPOOL_NAMED_CALL)
/* the names that bind.h uses */
#define shpool_named_allocate       shpool_named_malloc
#define shpool_named_release        shpool_named_free
#define shpool_named_allocate_group shpool_named_malloc_group
#define shpool_named_release_group  shpool_named_free_group
/* A pool's flags for its heaps.  Once the image has names to call: with SHPOOL_FLAG_NAMED, and
 * without the flags that the image's pools never have. */
extern "C" __device__ uint32_t shpool_named_flags(uint32_t flags);

#endif /* SHPOOL_IMPL_CALLS_H */
