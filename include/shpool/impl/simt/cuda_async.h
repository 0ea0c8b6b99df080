/* SPDX-License-Identifier: BSD-3-Clause */
/* simt.h's mbarriers and asynchronous copies on the GPU.  Not for direct inclusion.
 *
 * Functions that an architecture lacks are not declared for it, so a kernel that uses them does not
 * compile.  nvcc's host pass declares everything. */
#ifndef SHPOOL_IMPL_SIMT_CUDA_ASYNC_H
#define SHPOOL_IMPL_SIMT_CUDA_ASYNC_H

#if !defined(__CUDA_ARCH__) || (__CUDA_ARCH__ >= 800)
#define SIMT_HAS_MBARRIER 1
#else
#define SIMT_HAS_MBARRIER 0
#endif
#if !defined(__CUDA_ARCH__) || (__CUDA_ARCH__ >= 900)
#define SIMT_HAS_BULK 1
#else
#define SIMT_HAS_BULK 0
#endif

#if SIMT_HAS_MBARRIER

/* ---- mbarriers ---- */
SIMT_FN void simt_mbar_init(simt_addr a, uint32_t count)
{
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" : : "r"(a), "r"(count) : "memory");
#if SIMT_HAS_BULK
    /* also visible to the copy engine */
    asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
#endif
}
SIMT_FN void simt_mbar_inval(simt_addr a)
{
    asm volatile("mbarrier.inval.shared.b64 [%0];" : : "r"(a) : "memory");
}
SIMT_FN void simt_mbar_arrive(simt_addr a)
{
    asm volatile("{ .reg .b64 s; mbarrier.arrive.shared.b64 s, [%0]; }" : : "r"(a) : "memory");
}
SIMT_FN int simt_mbar_test(simt_addr a, uint32_t parity)
{
    uint32_t done;

    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; "
                 "selp.u32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(a), "r"(parity) : "memory");
    return (int)done;
}
#if SIMT_HAS_BULK
/* The hardware suspends the thread before it returns 0: for 7,800 cycles on an H200.  One attempt:
 * another, and one with a time limit, would wake 50 cycles later. */
SIMT_FN int simt_mbar_wait_briefly(simt_addr a, uint32_t parity)
{
    uint32_t done;

    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; "
                 "selp.u32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(a), "r"(parity) : "memory");
    return (int)done;
}
#endif
SIMT_FN void simt_mbar_wait(simt_addr a, uint32_t parity)
{
#if SIMT_HAS_BULK
    while (!simt_mbar_wait_briefly(a, parity)) {
    }
#else
    while (!simt_mbar_test(a, parity)) {
        __nanosleep(20);
    }
#endif
}

/* ---- cp.async: 16 bytes by the calling thread ---- */
SIMT_FN void simt_copy16_async(simt_addr to, const void *from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                 : : "r"(to), "l"(__cvta_generic_to_global(from)) : "memory");
}
SIMT_FN void simt_copy16_commit(void) { asm volatile("cp.async.commit_group;" : : : "memory"); }
/* A macro: the count is part of the instruction. */
#define simt_copy16_wait(_n) asm volatile("cp.async.wait_group %0;" : : "n"(_n) : "memory")

#endif /* SIMT_HAS_MBARRIER */

#if SIMT_HAS_BULK

/* ---- bulk copies: by the copy engine ---- */
SIMT_FN void simt_mbar_arrive_expect(simt_addr a, uint32_t bytes)
{
    asm volatile("{ .reg .b64 s; mbarrier.arrive.expect_tx.shared::cta.b64 s, [%0], %1; }"
                 : : "r"(a), "r"(bytes) : "memory");
}
SIMT_FN void simt_fence_async(void) { asm volatile("fence.proxy.async;" : : : "memory"); }
SIMT_FN void simt_fence_async_shared(void)
{
    asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
}
SIMT_FN void simt_copy_async(simt_addr to, const void *from, uint32_t bytes, simt_addr mbar)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];"
                 : : "r"(to), "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(mbar)
                 : "memory");
}
SIMT_FN void simt_copy_async_out(void *to, simt_addr from, uint32_t bytes)
{
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                 : : "l"(__cvta_generic_to_global(to)), "r"(from), "r"(bytes) : "memory");
}
SIMT_FN void simt_copy_commit(void) { asm volatile("cp.async.bulk.commit_group;" : : : "memory"); }
#define simt_copy_wait(_n) asm volatile("cp.async.bulk.wait_group %0;" : : "n"(_n) : "memory")
#define simt_copy_wait_read(_n) \
    asm volatile("cp.async.bulk.wait_group.read %0;" : : "n"(_n) : "memory")

#endif /* SIMT_HAS_BULK */

#endif /* SHPOOL_IMPL_SIMT_CUDA_ASYNC_H */
