/* SPDX-License-Identifier: BSD-3-Clause */
/* debug_print_buffer and its relatives, for list_pool and bst_pool.  Not for direct inclusion: see
 * shpool/compat/cuda_memory.cuh. */
#ifndef SHPOOL_IMPL_COMPAT_PRINT_H
#define SHPOOL_IMPL_COMPAT_PRINT_H

#include <cstdio>

namespace shpool_compat {

enum { PRINT_FREE = 1, PRINT_USED = 2, PRINT_ALL = 3 };

/* Walks through a pool: blocks by their first granule, in address order. */
#if __has_include(<shpool/allocators/freelist/freelist.h>)
struct freelist_blocks {
    SIMT_FN uint32_t  begin(shpool_view) { return 0; }
    SIMT_FN uint32_t  next(shpool_view v, uint32_t g) { return shpool_fl_next_block(v, g); }
    SIMT_FN bool      is_free(shpool_view v, uint32_t g) { return shpool_fl_what(v, g) == 3u; }
    SIMT_FN simt_addr payload(shpool_view v, uint32_t g) { return shpool_fl_payload(v, g); }
};
#endif
#if __has_include(<shpool/allocators/rbtree/rbtree.h>)
struct rbtree_blocks {
    SIMT_FN uint32_t begin(shpool_view v) { return v.word[1]; }
    SIMT_FN uint32_t next(shpool_view v, uint32_t g) { return g + shpool_rb_size(v, g); }
    SIMT_FN bool     is_free(shpool_view v, uint32_t g)
    {
        return (shpool_tags_header(v, g) & SHPOOL_TAGS_USED) == 0;
    }
    SIMT_FN simt_addr payload(shpool_view v, uint32_t g) { return shpool_tags_payload(v, g); }
};
#endif

/* Print the calling thread's pool of that kind: a line for the pool, and one for each block that
 * `which` names. */
template <typename Blocks> SHPOOL_COMPAT_CALL void print(uint32_t kind, uint32_t which)
{
    shpool_view view = view_of(kind);
    uint32_t    end  = view.word[0];

    if (view.bytes == 0) {
        std::printf("thread %u: no pool\n", simt_thread_rank());
        return;
    }
    std::printf("thread %u: pool of %u bytes at shared 0x%x\n", view.rank, view.bytes, view.base);
    for (uint32_t g = Blocks::begin(view); g < end;) {
        uint32_t next = Blocks::next(view, g);
        bool     free = Blocks::is_free(view, g);

        if ((which & (free ? PRINT_FREE : PRINT_USED)) != 0) {
            std::printf("thread %u:   %u bytes at 0x%x, %s\n", view.rank, (next - g) << 4,
                        Blocks::payload(view, g), free ? "free" : "used");
        }
        if (next <= g) {
            std::printf("thread %u:   broken here\n", view.rank);
            return;
        }
        g = next;
    }
}

} // namespace shpool_compat

/* Print the caller's pool to stdout: all blocks, free blocks, or used blocks.  Any thread may call
 * it at any time; lines of several threads are interleaved. */
#define SHPOOL_COMPAT_PRINT(_name, _kind) \
    SIMT_FN void debug_print_buffer() \
    { \
        shpool_compat::print<shpool_compat::_name##_blocks>(shpool_compat::_kind, \
                                                            shpool_compat::PRINT_ALL); \
    } \
    SIMT_FN void debug_print_free_list() \
    { \
        shpool_compat::print<shpool_compat::_name##_blocks>(shpool_compat::_kind, \
                                                            shpool_compat::PRINT_FREE); \
    } \
    SIMT_FN void debug_print_full_list() \
    { \
        shpool_compat::print<shpool_compat::_name##_blocks>(shpool_compat::_kind, \
                                                            shpool_compat::PRINT_USED); \
    }

#endif /* SHPOOL_IMPL_COMPAT_PRINT_H */
