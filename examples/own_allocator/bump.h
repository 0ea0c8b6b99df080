/* SPDX-License-Identifier: BSD-3-Clause */
/* bump: a small allocator, complete.  Each thread has a pool; it starts again when all is freed.
 * Pool: live allocations, bytes taken, 8 spare bytes, then allocations, each after its size. */
#include <shpool/module.h>

/* What a pool of `bytes` can serve; `largest` must grow with it.  word[] is kept in the view. */
SIMT_HD shpool_layout shpool_bump_layout(uint32_t bytes, uint32_t alignment)
{
    const uint32_t      used   = (bytes >= 48u) ? bytes & ~15u : 0u;
    const shpool_layout layout = {used, (used != 0) ? used - 32u : 0u, {0, 0}};

    (void)alignment; /* 16: it does not declare SHPOOL_CAP_ALIGNED */
    return layout;
}
SIMT_FN void shpool_bump_init(shpool_view view, uint32_t member, uint32_t members)
{
    (void)member, (void)members; /* one thread a pool */
    if (view.bytes != 0) { simt_store64(view.base, 0); }
}
SIMT_FN uint32_t shpool_bump_largest(shpool_view view)
{
    const uint32_t left = (view.bytes != 0) ? view.bytes - 16u - simt_load32(view.base + 4u) : 0u;
    return (left > 16u) ? left - 16u : 0u;
}
SIMT_FN simt_addr shpool_bump_malloc(shpool_view view, uint32_t bytes, uint32_t alignment,
                                     uint32_t site)
{
    const uint32_t need = (bytes + 15u) & ~15u;
    simt_addr      at;

    (void)alignment, (void)site;
    if (need > shpool_bump_largest(view)) { return 0; }
    at = view.base + 16u + simt_load32(view.base + 4u);
    simt_store32(view.base, simt_load32(view.base) + 1u);
    simt_store32(view.base + 4u, simt_load32(view.base + 4u) + 16u + need);
    simt_store32(at, need);
    return at + 16u;
}
/* No list of allocations is kept, so it cannot refuse all bad frees: no SHPOOL_CAP_REFUSES. */
SIMT_FN uint32_t shpool_bump_owns(shpool_view view, simt_addr addr)
{
    const uint32_t offset = addr - view.base;
    if ((offset < 32u) || (offset >= view.bytes)) { return SHPOOL_FREE_FOREIGN; }
    return (offset < 16u + simt_load32(view.base + 4u)) ? SHPOOL_FREE_OK : SHPOOL_FREE_DOUBLE;
}
SIMT_FN uint32_t shpool_bump_free(shpool_view view, simt_addr addr, uint32_t site)
{
    const uint32_t reason = shpool_bump_owns(view, addr);

    (void)site;
    if (reason != SHPOOL_FREE_OK) { return reason; }
    simt_store32(view.base, simt_load32(view.base) - 1u);
    if (simt_load32(view.base) == 0) { simt_store32(view.base + 4u, 0); }
    return SHPOOL_FREE_OK;
}
SHPOOL_DISCARD(bump)
SIMT_FN uint32_t shpool_bump_usable(shpool_view view, simt_addr addr)
{
    return (shpool_bump_owns(view, addr) == SHPOOL_FREE_OK) ? simt_load32(addr - 16u) : 0u;
}
SIMT_FN uint32_t shpool_bump_resize(shpool_view view, simt_addr addr, uint32_t bytes)
{
    return bytes <= shpool_bump_usable(view, addr);
}
/* Invariant 1: bytes are taken if and only if an allocation is live. */
SIMT_FN shpool_walk shpool_bump_walk(shpool_view view)
{
    const uint32_t    live   = (view.bytes != 0) ? simt_load32(view.base) : 0u;
    const uint32_t    used   = (view.bytes != 0) ? simt_load32(view.base + 4u) : 0u;
    const uint32_t    broken = (live == 0) != (used == 0);
    const shpool_walk walk   = {broken, (broken != 0) ? view.base : 0u, live, used};

    return walk;
}
