/* SPDX-License-Identifier: BSD-3-Clause */
/* The machine layer of loadstore.cuh: accesses of 1 to 16 bytes, asynchronous copies (cp.async,
 * bulk copies), and their counterparts on the CPU block executor.
 * Not for direct inclusion.
 *
 * Like the GPU, the CPU side reports a misaligned wide access.  A cp.async arrives only when it is
 * waited for, so a missing wait is found without a GPU. */
#ifndef SHPOOL_IMPL_WIDE_H
#define SHPOOL_IMPL_WIDE_H

#include <shpool/simt.h>

#if defined(__CUDACC_RTC__)
typedef decltype(static_cast<char *>(0) - static_cast<char *>(0)) ptrdiff_t;
typedef decltype(sizeof(0)) uintptr_t;
#endif

/* Before a member function, where SIMT_FN would add `static`; before a constexpr function.  After
 * registers that are used only if a test has filled them, which host compilers cannot see. */
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

#define SHPOOL_HAS_BULK SIMT_HAS_BULK

#if defined(__CUDACC__)

#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ < 800)
#define SHPOOL_HAS_ASYNC 0
#else
#define SHPOOL_HAS_ASYNC 1
#endif

/* The type that one access moves. */
template <int Bytes> struct wide_type;
template <> struct wide_type<1> { typedef unsigned char type; };
template <> struct wide_type<2> { typedef unsigned short type; };
template <> struct wide_type<4> { typedef unsigned int type; };
template <> struct wide_type<8> { typedef uint2 type; };
template <> struct wide_type<16> { typedef uint4 type; };

/** Bytes at p, naturally aligned.  ReadOnly: no thread writes them while the kernel runs. */
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

#else /* the CPU block executor */

#define SHPOOL_HAS_ASYNC 1

/* Reports an access for which the hardware would fault. */
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
        memset(shared, 0xee, 16); /* makes a premature read visible */
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

#endif

/* ---- bulk copies: sm_90 and up, and the executor; gate is the address of an mbarrier ---- */

/* Called by one thread: arrives at the gate, which also waits for `bytes`. */
SIMT_FN void bulk_load(simt_addr gate, void *shared, const void *global, uint32_t bytes)
{
#if SHPOOL_HAS_BULK
    /* orders earlier writes by threads, to either memory, that the caller's barrier has ordered
     * before the copy; a proxy fence may be anywhere between the two */
    simt_fence_async();
    simt_mbar_arrive_expect(gate, bytes);
    simt_copy_async(simt_to_shared(shared), global, bytes, gate);
#else
    (void)gate;
    (void)shared;
    (void)global;
    (void)bytes;
#endif
}
/* Called by one thread, after a barrier with the writers; returns when the bytes are written. */
SIMT_FN void bulk_store(void *global, const void *shared, uint32_t bytes)
{
#if SHPOOL_HAS_BULK
    simt_fence_async(); /* as in bulk_load */
    simt_copy_async_out(global, simt_to_shared(shared), bytes);
    simt_copy_commit();
    simt_copy_wait(0);
#else
    (void)global;
    (void)shared;
    (void)bytes;
#endif
}

} // namespace impl
} // namespace shpool

#endif /* SHPOOL_IMPL_WIDE_H */
