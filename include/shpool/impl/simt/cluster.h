/* SPDX-License-Identifier: BSD-3-Clause */
/* The part of impl/simt/cuda.h for clusters of blocks.  Not for direct inclusion.
 *
 * Below sm_90 a block is a cluster of one, and each access is the one without the prefix.
 *
 * On sm_90 a near_ access is LDS or ATOMS like any other; a cluster_ access is LD or ATOM with a
 * generic address, even if it is the own block's (44 cycles instead of 29 and 37, 225 to 254 in a
 * neighbour's; H200).
 *
 * Orders.  An acquire or release instruction of cluster scope also orders global memory: the
 * acquire becomes CCTL.IVALL, which empties the L1 cache, the release MEMBAR.GPU.  An allocator
 * only needs to order the payload.  So an acquire here is a relaxed access and a fence for shared
 * memory of the cluster, and the release of near_ has a fence for the own block's (PTX ISA,
 * fence.sync_restrict; no instruction and MEMBAR.CTA).  There is no such release for a payload in a
 * neighbour's memory: cluster_ uses the full one. */
#ifndef SHPOOL_IMPL_SIMT_CLUSTER_H
#define SHPOOL_IMPL_SIMT_CLUSTER_H

#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ >= 900)

SIMT_FN uint32_t simt_cluster_rank(void)
{
    uint32_t rank;

    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
SIMT_FN uint32_t simt_cluster_blocks(void)
{
    uint32_t blocks;

    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
    return blocks;
}
SIMT_FN void simt_cluster_barrier(void)
{
    asm volatile("barrier.cluster.arrive.release;\n\tbarrier.cluster.wait.acquire;"
                 : : : "memory");
}
SIMT_FN simt_addr simt_map_cluster(simt_addr a, uint32_t rank)
{
    simt_addr there;

    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(a), "r"(rank));
    return there;
}

/* PTX ISA 8.6 has these fences; with an older toolkit the full ones are used. */
#if (__CUDACC_VER_MAJOR__ > 12) || ((__CUDACC_VER_MAJOR__ == 12) && (__CUDACC_VER_MINOR__ >= 8))
#define SIMT_CLUSTER_ACQUIRE "fence.acquire.sync_restrict::shared::cluster.cluster;"
#define SIMT_NEAR_RELEASE    "fence.release.sync_restrict::shared::cta.cluster;"
#else
#define SIMT_CLUSTER_ACQUIRE "fence.acq_rel.cluster;"
#define SIMT_NEAR_RELEASE    "fence.acq_rel.cluster;"
#endif
#define SIMT_CLUSTER_RELEASE "fence.acq_rel.cluster;"

/* The order is a constant, so one case survives. */
#define SIMT_CLUSTER_BEFORE(_o, _release) \
    if (((_o) == SIMT_RELEASE) || ((_o) == SIMT_ACQ_REL)) { \
        asm volatile(_release : : : "memory"); \
    }
#define SIMT_CLUSTER_AFTER(_o) \
    if (((_o) == SIMT_ACQUIRE) || ((_o) == SIMT_ACQ_REL)) { \
        asm volatile(SIMT_CLUSTER_ACQUIRE : : : "memory"); \
    }
#define SIMT_CLUSTER_RMW(_p, _space, _release, _name, _op) \
    SIMT_FN uint32_t simt_##_p##atomic_##_name(simt_addr a, uint32_t v, simt_order o) \
    { \
        uint32_t old; \
        SIMT_CLUSTER_BEFORE(o, _release) \
        asm volatile("atom.relaxed.cluster." _space "." _op " %0, [%1], %2;" \
                     : "=r"(old) : "r"(a), "r"(v) : "memory"); \
        SIMT_CLUSTER_AFTER(o) \
        return old; \
    }
#define SIMT_CLUSTER_ACCESSES(_p, _space, _release) \
    SIMT_FN uint32_t simt_##_p##load32(simt_addr a) \
    { \
        uint32_t v; \
        asm volatile("ld." _space ".u32 %0, [%1];" : "=r"(v) : "r"(a) : "memory"); \
        return v; \
    } \
    SIMT_FN void simt_##_p##store32(simt_addr a, uint32_t v) \
    { \
        asm volatile("st." _space ".u32 [%0], %1;" : : "r"(a), "r"(v) : "memory"); \
    } \
    /* Weak: a race of accesses of one size is defined (PTX ISA, "Data-races"). */ \
    SIMT_FN uint32_t simt_##_p##peek(simt_addr a) { return simt_##_p##load32(a); } \
    /* Weak.  It races with 32-bit atomics, also of other blocks, and PTX does not define a race \
     * of accesses of different sizes.  The value is only a hint about where to search: the exact \
     * search confirms it. */ \
    SIMT_FN simt_pair simt_##_p##peek_pair(simt_addr a) \
    { \
        unsigned long long v; \
        asm volatile("ld." _space ".b64 %0, [%1];" : "=l"(v) : "r"(a) : "memory"); \
        return {(uint32_t)v, (uint32_t)(v >> 32)}; \
    } \
    SIMT_FN uint32_t simt_##_p##atomic_load(simt_addr a, simt_order o) \
    { \
        uint32_t v; \
        asm volatile("ld.relaxed.cluster." _space ".u32 %0, [%1];" : "=r"(v) : "r"(a) : "memory"); \
        SIMT_CLUSTER_AFTER(o) \
        return v; \
    } \
    SIMT_FN simt_pair simt_##_p##atomic_load_pair(simt_addr a, simt_order o) \
    { \
        unsigned long long v; \
        asm volatile("ld.relaxed.cluster." _space ".b64 %0, [%1];" \
                     : "=l"(v) : "r"(a) : "memory"); \
        SIMT_CLUSTER_AFTER(o) \
        return {(uint32_t)v, (uint32_t)(v >> 32)}; \
    } \
    SIMT_FN void simt_##_p##atomic_store(simt_addr a, uint32_t v, simt_order o) \
    { \
        SIMT_CLUSTER_BEFORE(o, _release) \
        asm volatile("st.relaxed.cluster." _space ".u32 [%0], %1;" : : "r"(a), "r"(v) : "memory"); \
    } \
    SIMT_CLUSTER_RMW(_p, _space, _release, add, "add.u32") \
    SIMT_CLUSTER_RMW(_p, _space, _release, and, "and.b32") \
    SIMT_CLUSTER_RMW(_p, _space, _release, or, "or.b32") \
    SIMT_FN uint32_t simt_##_p##atomic_cas(simt_addr a, uint32_t expected, uint32_t desired, \
                                           simt_order o) \
    { \
        uint32_t old; \
        SIMT_CLUSTER_BEFORE(o, _release) \
        asm volatile("atom.relaxed.cluster." _space ".cas.b32 %0, [%1], %2, %3;" \
                     : "=r"(old) : "r"(a), "r"(expected), "r"(desired) : "memory"); \
        SIMT_CLUSTER_AFTER(o) \
        return old; \
    } \
    SIMT_FN uint32_t simt_##_p##atomic_cas_run(simt_addr a, uint32_t expected, uint32_t desired, \
                                               uint32_t n, simt_order o) \
    { \
        uint32_t i = 0; \
        SIMT_CLUSTER_BEFORE(o, _release) \
        SIMT_ROLLED \
        while ((i < n) && (simt_##_p##atomic_cas(a + 4u * i, expected, desired, SIMT_ACQUIRE) == \
                           expected)) { \
            i++; \
        } \
        return i; \
    } \
    SIMT_FN void simt_##_p##atomic_and_pairs(const simt_addr *a, const simt_pair *v, uint32_t n, \
                                             simt_order o) \
    { \
        uint32_t i; \
        SIMT_CLUSTER_BEFORE(o, _release) \
        SIMT_UNROLLED \
        for (i = 0; i < n; i++) { \
            (void)simt_##_p##atomic_and(a[i], v[i].x, SIMT_RELAXED); \
            (void)simt_##_p##atomic_and(a[i] + 4u, v[i].y, SIMT_RELAXED); \
        } \
    } \
    SIMT_FN simt_addr simt_##_p##atomic_clear_run(simt_addr a, simt_addr last, \
                                                  simt_pair expected, simt_pair *next_p, \
                                                  simt_order o) \
    { \
        SIMT_CLUSTER_BEFORE(o, _release) \
        SIMT_ROLLED \
        for (;; a += 8u) { \
            *next_p = simt_##_p##atomic_load_pair(a, SIMT_RELAXED); \
            if ((a == last) || (next_p->x != expected.x) || (next_p->y != expected.y)) { \
                return a; \
            } \
            asm volatile("st.relaxed.cluster." _space ".b64 [%0], %1;" \
                         : : "r"(a), "l"(0ull) : "memory"); \
        } \
    }
SIMT_CLUSTER_ACCESSES(near_, "shared::cta", SIMT_NEAR_RELEASE)
SIMT_CLUSTER_ACCESSES(cluster_, "shared::cluster", SIMT_CLUSTER_RELEASE)
#undef SIMT_CLUSTER_ACCESSES
#undef SIMT_CLUSTER_RMW
#undef SIMT_CLUSTER_AFTER
#undef SIMT_CLUSTER_BEFORE
#undef SIMT_CLUSTER_RELEASE
#undef SIMT_NEAR_RELEASE
#undef SIMT_CLUSTER_ACQUIRE

#else

SIMT_FN uint32_t simt_cluster_rank(void) { return 0; }
SIMT_FN uint32_t simt_cluster_blocks(void) { return 1; }
SIMT_FN void simt_cluster_barrier(void) { __syncthreads(); }
SIMT_FN simt_addr simt_map_cluster(simt_addr a, uint32_t rank)
{
    (void)rank;
    return a;
}
#define SIMT_CLUSTER_PLAIN(_p) \
    SIMT_FN uint32_t simt_##_p##load32(simt_addr a) { return simt_load32(a); } \
    SIMT_FN void simt_##_p##store32(simt_addr a, uint32_t v) { simt_store32(a, v); } \
    SIMT_FN uint32_t simt_##_p##peek(simt_addr a) { return simt_peek(a); } \
    SIMT_FN simt_pair simt_##_p##peek_pair(simt_addr a) { return simt_peek_pair(a); } \
    SIMT_FN uint32_t simt_##_p##atomic_load(simt_addr a, simt_order o) \
    { \
        return simt_atomic_load(a, o); \
    } \
    SIMT_FN simt_pair simt_##_p##atomic_load_pair(simt_addr a, simt_order o) \
    { \
        return simt_atomic_load_pair(a, o); \
    } \
    SIMT_FN void simt_##_p##atomic_store(simt_addr a, uint32_t v, simt_order o) \
    { \
        simt_atomic_store(a, v, o); \
    } \
    SIMT_FN uint32_t simt_##_p##atomic_add(simt_addr a, uint32_t v, simt_order o) \
    { \
        return simt_atomic_add(a, v, o); \
    } \
    SIMT_FN uint32_t simt_##_p##atomic_and(simt_addr a, uint32_t v, simt_order o) \
    { \
        return simt_atomic_and(a, v, o); \
    } \
    SIMT_FN uint32_t simt_##_p##atomic_or(simt_addr a, uint32_t v, simt_order o) \
    { \
        return simt_atomic_or(a, v, o); \
    } \
    SIMT_FN uint32_t simt_##_p##atomic_cas(simt_addr a, uint32_t expected, uint32_t desired, \
                                           simt_order o) \
    { \
        return simt_atomic_cas(a, expected, desired, o); \
    } \
    SIMT_FN uint32_t simt_##_p##atomic_cas_run(simt_addr a, uint32_t expected, uint32_t desired, \
                                               uint32_t n, simt_order o) \
    { \
        return simt_atomic_cas_run(a, expected, desired, n, o); \
    } \
    SIMT_FN void simt_##_p##atomic_and_pairs(const simt_addr *a, const simt_pair *v, uint32_t n, \
                                             simt_order o) \
    { \
        simt_atomic_and_pairs(a, v, n, o); \
    } \
    SIMT_FN simt_addr simt_##_p##atomic_clear_run(simt_addr a, simt_addr last, \
                                                  simt_pair expected, simt_pair *next_p, \
                                                  simt_order o) \
    { \
        return simt_atomic_clear_run(a, last, expected, next_p, o); \
    }
SIMT_CLUSTER_PLAIN(near_)
SIMT_CLUSTER_PLAIN(cluster_)
#undef SIMT_CLUSTER_PLAIN

#endif
#endif /* SHPOOL_IMPL_SIMT_CLUSTER_H */
