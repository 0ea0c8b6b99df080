/* SPDX-License-Identifier: BSD-3-Clause */
/* Boundary-tag pools of one thread each.  Not for direct inclusion. */
#ifndef SHPOOL_IMPL_TAGS_THREAD_H
#define SHPOOL_IMPL_TAGS_THREAD_H

#include <shpool/impl/heap/boundary_tags.h>

/* The functions of an allocator NAME with one pool per thread. */
#define SHPOOL_TAGS_THREAD_MODULE(_name, _best) \
    SIMT_HD shpool_layout shpool_##_name##_layout(uint32_t bytes, uint32_t alignment) \
    { \
        return shpool_tags_layout(bytes, alignment); \
    } \
    SIMT_FN void shpool_##_name##_init(shpool_view view, uint32_t member, uint32_t members) \
    { \
        (void)member; \
        (void)members; \
        shpool_tags_init(view); \
    } \
    SIMT_FN simt_addr shpool_##_name##_malloc(shpool_view view, uint32_t bytes, \
                                              uint32_t alignment, uint32_t site) \
    { \
        (void)site; \
        return shpool_tags_malloc(view, shpool_tags_want(bytes, alignment), _best); \
    } \
    SIMT_FN uint32_t shpool_##_name##_free(shpool_view view, simt_addr addr, uint32_t site) \
    { \
        (void)site; \
        return shpool_tags_free(view, addr); \
    } \
    SIMT_FN uint32_t shpool_##_name##_owns(shpool_view view, simt_addr addr) \
    { \
        return shpool_tags_owns(view, addr); \
    } \
    SHPOOL_DISCARD(_name) \
    SIMT_FN uint32_t shpool_##_name##_resize(shpool_view view, simt_addr addr, uint32_t bytes) \
    { \
        return shpool_tags_resize(view, addr, bytes); \
    } \
    SIMT_FN uint32_t shpool_##_name##_usable(shpool_view view, simt_addr addr) \
    { \
        return shpool_tags_usable(view, addr); \
    } \
    SIMT_FN uint32_t shpool_##_name##_largest(shpool_view view) \
    { \
        return shpool_tags_largest(view); \
    } \
    SIMT_FN shpool_walk shpool_##_name##_walk(shpool_view view) { return shpool_tags_walk(view); }

#endif /* SHPOOL_IMPL_TAGS_THREAD_H */
