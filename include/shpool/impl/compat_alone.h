/* SPDX-License-Identifier: BSD-3-Clause */
/* cuda_memory's pools of one thread each, for shpool/compat/cuda_memory.cuh.  Not for direct
 * inclusion.
 *
 * The pools are those of the allocators, but the calls acquire no lock, read no geometry from the
 * pool and look for no other lanes.  Under ALLOCATOR_DEBUG a free looks the allocation up first. */
#ifndef SHPOOL_IMPL_COMPAT_ALONE_H
#define SHPOOL_IMPL_COMPAT_ALONE_H

#include <shpool/impl/heap/boundary_tags.h>
#include <shpool/module.h>

#if defined(ALLOCATOR_DEBUG)
#define SHPOOL_COMPAT_ALONE_FREE(_owns, _free) \
    uint32_t reason = _owns(view, addr); \
    return (reason == SHPOOL_FREE_OK) ? _free(view, addr) : reason;
#else
#define SHPOOL_COMPAT_ALONE_FREE(_owns, _free) return _free(view, addr);
#endif

namespace shpool_compat {

/* Best: as in shpool_tags_take(). */
template <uint32_t Best>
SIMT_FN simt_addr tags_malloc(shpool_view view, uint32_t bytes, uint32_t alignment, uint32_t)
{
    return shpool_tags_malloc(view, shpool_tags_want(bytes, alignment), Best);
}
SIMT_FN uint32_t tags_free(shpool_view view, simt_addr addr, uint32_t)
{
    SHPOOL_COMPAT_ALONE_FREE(shpool_tags_owns, shpool_tags_free)
}

#if defined(SHPOOL_ALLOCATORS_FREELIST_H)
SIMT_FN simt_addr freelist_malloc(shpool_view view, uint32_t bytes, uint32_t alignment, uint32_t)
{
    return shpool_fl_serve(view, shpool_fl_want(bytes, alignment));
}
SIMT_FN uint32_t freelist_free(shpool_view view, simt_addr addr, uint32_t)
{
    SHPOOL_COMPAT_ALONE_FREE(shpool_fl_owns, shpool_fl_free)
}
#endif

#if defined(SHPOOL_ALLOCATORS_RBTREE_H)
SIMT_FN simt_addr rbtree_malloc(shpool_view view, uint32_t bytes, uint32_t alignment, uint32_t)
{
    return shpool_rb_serve(view, shpool_tags_want(bytes, alignment));
}
SIMT_FN uint32_t rbtree_free(shpool_view view, simt_addr addr, uint32_t)
{
    SHPOOL_COMPAT_ALONE_FREE(shpool_rb_owns, shpool_rb_free)
}
#endif

} // namespace shpool_compat

#undef SHPOOL_COMPAT_ALONE_FREE

#endif /* SHPOOL_IMPL_COMPAT_ALONE_H */
