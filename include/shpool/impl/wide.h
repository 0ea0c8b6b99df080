/* SPDX-License-Identifier: BSD-3-Clause */
/* The machine under loadstore.cuh: accesses of 1 to 16 bytes, copies that a warp does not wait for
 * (cp.async, bulk copies with an mbarrier), and what stands for them on the CPU block executor.
 * Not for direct inclusion.
 *
 * The CPU's side reports a wide access that is not aligned as the GPU would, and a cp.async arrives
 * when it is waited for and not before: a forgotten wait is found without a GPU.  A bulk copy
 * arrives at once. */
#ifndef SHPOOL_IMPL_WIDE_H
#define SHPOOL_IMPL_WIDE_H

#include <shpool/simt.h>

#if defined(__CUDACC_RTC__)
typedef decltype(static_cast<char *>(0) - static_cast<char *>(0)) ptrdiff_t;
typedef decltype(sizeof(0)) uintptr_t;
#endif

/* In front of a member function, where SIMT_FN would say `static`; in front of a function that the
 * compiler computes.  Behind registers of which only those are used that a test has filled, which
 * host compilers do not see. */
#if defined(__CUDACC__)
#define SHPOOL_METHOD      __device__ __forceinline__
#define SHPOOL_HOST_METHOD __host__ __device__ __forceinline__
#define SHPOOL_CONSTANT    __host__ __device__ constexpr
#define SHPOOL_UNSET
#else
#define SHPOOL_METHOD      inline
#define SHPOOL_HOST_METHOD inline
#define SHPOOL_CONSTANT    constexpr
#define SHPOOL_UNSET       = {}
#endif

namespace shpool {
namespace impl {

/** `Bytes` bytes (1, 2, 4, 8 or 16) in registers; below 4 the upper bytes are 0. */
template <int Bytes> struct unit {
    static_assert((Bytes == 1) || (Bytes == 2) || (Bytes == 4) || (Bytes == 8) || (Bytes == 16),
                  "shpool: an access has 1, 2, 4, 8 or 16 bytes");
    uint32_t w[(Bytes + 3) / 4];
};

#if defined(__CUDACC__)

#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ < 800)
#define SHPOOL_HAS_ASYNC 0
#else
#define SHPOOL_HAS_ASYNC 1
#endif
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ < 900)
#define SHPOOL_HAS_BULK 0
#else
#define SHPOOL_HAS_BULK 1
#endif

/* The type that moves as one access. */
template <int Bytes> struct wide_type;
template <> struct wide_type<1> { typedef unsigned char type; };
template <> struct wide_type<2> { typedef unsigned short type; };
template <> struct wide_type<4> { typedef unsigned int type; };
template <> struct wide_type<8> { typedef uint2 type; };
template <> struct wide_type<16> { typedef uint4 type; };

/** Bytes at p, aligned to their number.  ReadOnly: nobody writes them while the kernel runs. */
template <int Bytes, bool ReadOnly> SIMT_FN unit<Bytes> wide_load(const void *p)
{
    typedef typename wide_type<Bytes>::type type;
    const type *at = static_cast<const type *>(p);
    const type  v  = ReadOnly ? __ldg(at) : *at;
    unit<Bytes> u;

    if constexpr (Bytes == 16) {
        u.w[0] = v.x;
        u.w[1] = v.y;
        u.w[2] = v.z;
        u.w[3] = v.w;
    } else if constexpr (Bytes == 8) {
        u.w[0] = v.x;
        u.w[1] = v.y;
    } else {
        u.w[0] = v;
    }
    return u;
}

template <int Bytes> SIMT_FN void wide_store(void *p, const unit<Bytes> &u)
{
    typedef typename wide_type<Bytes>::type type;
    type *at = static_cast<type *>(p);

    if constexpr (Bytes == 16) {
        *at = make_uint4(u.w[0], u.w[1], u.w[2], u.w[3]);
    } else if constexpr (Bytes == 8) {
        *at = make_uint2(u.w[0], u.w[1]);
    } else {
        *at = static_cast<type>(u.w[0]);
    }
}

/** The caller's own copies of 16 bytes from global to shared memory, at most Most of them. */
template <int Most> struct async_copies {
    SHPOOL_METHOD void copy(void *shared, const void *global)
    {
#if SHPOOL_HAS_ASYNC && defined(__CUDA_ARCH__)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                     : : "r"(simt_to_shared(shared)), "l"(__cvta_generic_to_global(global))
                     : "memory");
#else
        wide_store<16>(shared, wide_load<16, false>(global));
#endif
    }
    SHPOOL_METHOD void wait()
    {
#if SHPOOL_HAS_ASYNC && defined(__CUDA_ARCH__)
        asm volatile("cp.async.wait_all;" : : : "memory");
#endif
    }
};

/* ---- bulk copies: sm_90 and up; gate is the shared address of an mbarrier ---- */
SIMT_FN void bulk_open(simt_addr gate, uint32_t threads)
{
#if SHPOOL_HAS_BULK && defined(__CUDA_ARCH__)
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" : : "r"(gate), "r"(threads) : "memory");
    /* the copy engine sees it, too */
    asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
#endif
    (void)gate;
    (void)threads;
}
SIMT_FN void bulk_close(simt_addr gate)
{
#if SHPOOL_HAS_BULK && defined(__CUDA_ARCH__)
    asm volatile("mbarrier.inval.shared::cta.b64 [%0];" : : "r"(gate) : "memory");
#endif
    (void)gate;
}
/* By one thread; its arrival, and `bytes` that the gate waits for. */
SIMT_FN void bulk_load(simt_addr gate, void *shared, const void *global, uint32_t bytes)
{
#if SHPOOL_HAS_BULK && defined(__CUDA_ARCH__)
    /* what threads wrote before, to either memory, and the caller's barrier ordered, precedes the
     * copy: a proxy fence counts wherever it lies between the two */
    asm volatile("fence.proxy.async;" : : : "memory");
    asm volatile("{ .reg .b64 s; mbarrier.arrive.expect_tx.shared::cta.b64 s, [%0], %1; }"
                 : : "r"(gate), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];"
                 : : "r"(simt_to_shared(shared)), "l"(__cvta_generic_to_global(global)),
                   "r"(bytes), "r"(gate) : "memory");
#else
    (void)gate;
    (void)shared;
    (void)global;
    (void)bytes;
#endif
}
SIMT_FN void bulk_arrive(simt_addr gate)
{
#if SHPOOL_HAS_BULK && defined(__CUDA_ARCH__)
    asm volatile("{ .reg .b64 s; mbarrier.arrive.shared::cta.b64 s, [%0]; }"
                 : : "r"(gate) : "memory");
#endif
    (void)gate;
}
SIMT_FN void bulk_wait(simt_addr gate, uint32_t parity)
{
#if SHPOOL_HAS_BULK && defined(__CUDA_ARCH__)
    uint32_t done = 0;

    while (done == 0) {
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; "
                     "selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(gate), "r"(parity) : "memory");
    }
#endif
    (void)gate;
    (void)parity;
}
/* By one thread, after the barrier of those who wrote; returns when it is written. */
SIMT_FN void bulk_store(void *global, const void *shared, uint32_t bytes)
{
#if SHPOOL_HAS_BULK && defined(__CUDA_ARCH__)
    /* as in bulk_load */
    asm volatile("fence.proxy.async;" : : : "memory");
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                 : : "l"(__cvta_generic_to_global(global)), "r"(simt_to_shared(shared)),
                   "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.commit_group;" : : : "memory");
    asm volatile("cp.async.bulk.wait_group 0;" : : : "memory");
#else
    (void)global;
    (void)shared;
    (void)bytes;
#endif
}

#else /* the CPU block executor */

#define SHPOOL_HAS_ASYNC 1
#define SHPOOL_HAS_BULK  1

/* Where the hardware would fault. */
SIMT_FN void wide_check(const char *what, const void *p, uint32_t bytes)
{
    if ((reinterpret_cast<uintptr_t>(p) & (bytes - 1u)) != 0) {
        simt_engine_fault(what, static_cast<uint32_t>(reinterpret_cast<uintptr_t>(p)), bytes);
    }
}

template <int Bytes, bool ReadOnly> SIMT_FN unit<Bytes> wide_load(const void *p)
{
    unit<Bytes> u = {};

    wide_check("wide load", p, Bytes);
    memcpy(&u, p, Bytes);
    return u;
}

template <int Bytes> SIMT_FN void wide_store(void *p, const unit<Bytes> &u)
{
    wide_check("wide store", p, Bytes);
    memcpy(p, &u, Bytes);
}

template <int Most> struct async_copies {
    void copy(void *shared, const void *global)
    {
        wide_check("async copy to", shared, 16);
        wide_check("async copy from", global, 16);
        if (count == Most) {
            simt_engine_fault("async copy beyond the tile", 0, 16);
        }
        to[count]   = shared;
        from[count] = global;
        count++;
        memset(shared, 0xee, 16); /* who reads it too early shall see that */
    }
    void wait()
    {
        for (int i = 0; i < count; i++) {
            memcpy(to[i], from[i], 16);
        }
        count = 0;
    }

    void       *to[Most];
    const void *from[Most];
    int         count = 0;
};

/* The two words of a gate: threads that still have to arrive, of how many (upper half); phases that
 * have ended. */
SIMT_FN void bulk_open(simt_addr gate, uint32_t threads)
{
    simt_atomic_store(gate, (threads << 16) | threads, SIMT_RELAXED);
    simt_atomic_store(gate + 4u, 0, SIMT_RELAXED);
}
SIMT_FN void bulk_close(simt_addr gate)
{
    simt_atomic_store(gate, 0, SIMT_RELAXED);
}
SIMT_FN void bulk_arrive(simt_addr gate)
{
    /* acq_rel: the last one takes over what the others wrote, and hands it on with the phase */
    uint32_t left = simt_atomic_add(gate, 0xffffffffu, SIMT_ACQ_REL);

    if ((left & 0xffffu) == 1u) {
        simt_atomic_store(gate, (left & 0xffff0000u) | (left >> 16), SIMT_RELAXED);
        /* release: pairs with the acquire in bulk_wait() */
        (void)simt_atomic_add(gate + 4u, 1, SIMT_RELEASE);
    }
}
SIMT_FN void bulk_load(simt_addr gate, void *shared, const void *global, uint32_t bytes)
{
    wide_check("bulk load to", shared, 16);
    wide_check("bulk load from", global, 16);
    wide_check("bulk load of", reinterpret_cast<const void *>(static_cast<uintptr_t>(bytes)), 16);
    memcpy(shared, global, bytes);
    bulk_arrive(gate);
}
SIMT_FN void bulk_wait(simt_addr gate, uint32_t parity)
{
    uint32_t phase = simt_atomic_load(gate + 4u, SIMT_ACQUIRE); /* pairs with bulk_arrive() */

    while ((phase & 1u) == parity) {
        simt_wait(gate + 4u, phase);
        phase = simt_atomic_load(gate + 4u, SIMT_ACQUIRE);
    }
}
SIMT_FN void bulk_store(void *global, const void *shared, uint32_t bytes)
{
    wide_check("bulk store to", global, 16);
    wide_check("bulk store from", shared, 16);
    wide_check("bulk store of", reinterpret_cast<const void *>(static_cast<uintptr_t>(bytes)), 16);
    memcpy(global, shared, bytes);
}

#endif

} // namespace impl
} // namespace shpool

#endif /* SHPOOL_IMPL_WIDE_H */
