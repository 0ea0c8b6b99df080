/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/simt.h
 * The one seam between GPU and CPU: what a block allocator, or a kernel that shall also run on the
 * CPU block executor, may use of the machine.
 *
 * Under nvcc and NVRTC these are device functions that compile to one or two instructions
 * (impl/simt/cuda.h); under any other compiler they run on the executor (impl/simt/cpu.h,
 * shpool/executor.h) and are only valid inside a kernel that simt_run() started.  The text that
 * uses them is the subset of C11 and C++17 that both sides accept.
 *
 * Ranks.  All unsigned 32-bit, x varies fastest:
 *   simt_thread_rank()   rank of the thread in its block, 0 .. simt_block_threads()-1
 *   simt_block_threads() threads of the block, 1..1,024
 *   simt_lane()          rank in the warp, 0..31;  simt_warp()  rank of the warp in the block
 *   simt_block_rank()    rank of the block in the grid;  simt_grid_blocks()  blocks of the grid
 *   simt_launch_number() 64 bits that tell the grid from those launched before and after it
 *   simt_thread_x/y/z(), simt_block_x/y/z()   the indexes as CUDA names them
 *
 * Addresses.  simt_addr is an offset in shared memory (types.h):
 *   simt_is_shared(p)    nonzero if the generic pointer p lies in this block's shared memory
 *   simt_to_shared(p)    p as a simt_addr; only where simt_is_shared(p)
 *   simt_from_shared(a)  a as a generic pointer (void *)
 *   simt_window()        where generic pointers see shared memory; never 0.  The GPU takes as long
 *                        to look that up as for a load: ask once and pass it to the next two.
 *   simt_is_within(w, p)   simt_is_shared(p) for w = simt_window(); nothing but NULL is within 0
 *   simt_from_window(w, a) simt_from_shared(a); for addresses of other blocks of a cluster this one
 *                        only: behind simt_from_shared() nvcc uses LDS, which has no such addresses
 *   simt_dynamic_base()  first byte of the launch's dynamic shared memory, as an array of alignment
 *                        16 has it; an array of a larger alignment may begin behind it
 *   simt_dynamic_bytes() its size
 *   simt_addr_rank(a)    which block of the cluster the address belongs to: its top byte (sm_90 and
 *                        the executor; below sm_90 always 0)
 *   simt_addr_offset(a)  the rest: where in that block's shared memory
 *   simt_shared_end(s)   first byte behind the block's shared memory, which the GPU hands out in
 *                        units of 128 bytes (256 on sm_75); s: bytes that the system has in front
 *                        of it (cudaDevAttrReservedSharedMemoryPerBlock; the executor knows its
 *                        own); as a simt_addr_offset()
 *
 * Plain accesses.  No two threads may use the same bytes at the same time unless both read:
 *   simt_load8/16/32/64(a), simt_load128(a)   simt_store8/16/32/64(a, v), simt_store128(a, v)
 *   naturally aligned; 64 is unsigned long long, 128 is simt_u128.
 *
 * Atomics on 32-bit words (64 where it says so); the order is the last argument and a constant:
 * SIMT_RELAXED, SIMT_ACQUIRE, SIMT_RELEASE, SIMT_ACQ_REL.  All but load and store return the word
 * before the operation.  Scope is the block.
 *   simt_atomic_load(a, o)         simt_atomic_store(a, v, o)
 *   simt_atomic_add(a, v, o)       simt_atomic_exchange(a, v, o)
 *   simt_atomic_and(a, v, o)       simt_atomic_or(a, v, o)
 *   simt_atomic_min(a, v, o)       simt_atomic_max(a, v, o)
 *   simt_atomic_cas(a, expected, desired, o)     simt_atomic_cas64(a, expected, desired, o)
 *   simt_atomic_load_pair(a, o)    two neighbouring words, a a multiple of 8, as a simt_pair: as
 *                                  they were at one instant
 *   simt_atomic_load_pairs(a, v, n, o)    n of them, a constant, from addresses a[] to v[]; on the
 *                                  GPU they do not wait for each other
 *   simt_atomic_cas_pair(a, expected, desired, o)    the same two at once; 1 if it has swapped, 0
 *   simt_peek(a)                   a word that others change by atomics, as a hint: it may be old,
 *                                  and orders nothing.  What it says an atomic decides again;
 *                                  nobody waits by it.  nvcc 13.0 makes loops that only peek
 *                                  without the YIELD that parts a warp (bitmap's bitmap.h).
 *
 * Clusters.  Blocks of a cluster (sm_90 and up) reach each other's shared memory; everywhere else a
 * block is a cluster of one, and the following are what they are called without the prefix.
 *   simt_cluster_rank()      rank of the block in its cluster
 *   simt_cluster_blocks()    blocks of the cluster
 *   simt_cluster_barrier()   every thread of every block of the cluster comes; orders memory.  In
 *                            front of the first access to a neighbour's memory, which must have
 *                            begun, and behind the last, or it may have exited.
 *   simt_map_cluster(a, r)   where the bytes that this block has at a lie in block r
 *   simt_is_within()         also says yes to pointers into a neighbour's memory;
 *                            simt_is_shared() does not
 * Accesses that threads of other blocks make at the same time; addresses of any block of the
 * cluster (cluster_), or only of the own one (near_: as fast as without the prefix).  Atomics among
 * both kinds are atomic.  The release of near_ orders what lies in the own block's shared memory,
 * the acquire of both what lies in the cluster's; nothing else.
 *   simt_cluster_load32(a)   simt_cluster_store32(a, v)   simt_cluster_peek(a)
 *   simt_cluster_atomic_load/load_pair/store/add/and/or/cas     and the same nine as simt_near_...
 *
 * Bits:  simt_popc(v)  simt_clz(v) (32 for 0)  simt_ffs(v) (1..32; 0 for 0)  simt_reverse(v)
 *        simt_mulhi(a, b)     simt_mask(first, count): `count` ones from bit `first` up, each 0..32
 *        simt_pin(v)    v, which the compiler can neither foresee nor compute elsewhere
 *        simt_keep(v)   v; the compiler keeps it, and not what it was computed from, in a register
 *
 * Whole block:  simt_barrier(): every thread of the block comes, to the same one; orders memory.
 *   (Hardware may let the others pass when a thread has exited; the executor reports it.)
 *   simt_broadcast(v): a barrier, and the 64-bit v of thread 0 for all
 *
 * Warp, for the lanes named in mask (the caller among them; each must call with the same mask):
 *   simt_warp_sync(mask)  orders memory among them; the others below do not
 *   simt_ballot(mask, p)  simt_any(mask, p)  simt_all(mask, p)
 *   simt_shfl(mask, v, lane)  simt_shfl_xor/up/down(mask, v, n)   n 0..31, lane modulo 32; a source
 *                         outside the warp: own v; a source in the warp that mask does not name:
 *                         undefined (the executor answers ~v, so that nobody gets used to it)
 *   simt_match_any(mask, v)   lanes of mask whose v equals the caller's
 *   simt_converged()      lanes that happen to be here together and that will take the same path
 *                         next; any subset of them is a legal answer, and the executor gives one
 *                         that the schedule chooses
 *
 * Waiting:  simt_wait(a, seen) returns when the word at a may have changed from `seen`.  Call it in
 * the body of every spin loop: on the GPU it yields issue slots, on the executor it parks the
 * thread, which keeps explorations finite.
 *
 *   simt_wait_briefly(a, seen)   the same, and it also returns, then not 0, if nothing happens:
 *                    on the GPU soon, on the executor when no thread can go on.  SIMT_PATIENCE of
 *                    these in a row, with no other sign of life, mean that the word will not
 *                    change.
 *   simt_pause(ns)   lets other threads run, about that long, and returns in any case
 *   simt_clock()     32 bits of the multiprocessor's cycle counter; 0 on the executor
 *
 * mbarriers, 8 bytes of shared memory at a multiple of 8 (SIMT_HAS_MBARRIER: sm_80 and newer).  One
 * goes through phases; each ends when `count` threads have arrived and all announced bytes have
 * landed.  The phases' parities are 0, 1, 0, ...:
 *   simt_mbar_init(a, count)   by one thread, with a barrier between it and the others' first use;
 *                              count up to 2^20-1
 *   simt_mbar_arrive(a)        release: what the caller did comes before the end of the phase
 *   simt_mbar_arrive_expect(a, bytes)   the same, and the phase waits for so many bytes, up to
 *                              2^20-1 a phase (SIMT_HAS_BULK)
 *   simt_mbar_test(a, parity)  nonzero if the current phase has the other parity, so that the one
 *                              before, of this parity, has ended; acquire.  An mbarrier that is two
 *                              phases on says 0.
 *   simt_mbar_wait(a, parity)  until simt_mbar_test() would say so; acquire
 *   simt_mbar_inval(a)         before the 8 bytes are used for anything else
 *
 * Copies by the copy engine (SIMT_HAS_BULK: sm_90 and newer): multiples of 16 bytes, at most
 * 2^20-1, between multiples of 16 in this block's shared memory and in global memory.  Neither side
 * may be touched but as said here until the copy has ended:
 *   simt_copy_async(a, global, bytes, mbar)   into shared memory; ends with the phase of mbar,
 *                              somebody's simt_mbar_arrive_expect() of which has the bytes in
 *   simt_copy_async_out(global, a, bytes)     out of it; belongs to the caller's next group
 *   simt_copy_commit()         ends the caller's group of copies out
 *   simt_copy_wait_read(n)     until all but the caller's last n groups have been read: their
 *                              shared memory is free for other uses; n is a constant
 *   simt_copy_wait(n)          until they have been written, too
 *   simt_fence_async()         what this thread did to either memory, or what a barrier or an
 *                              acquire has ordered before, comes before the copies that are started
 *                              behind it
 * cp.async, 16 bytes each (SIMT_HAS_MBARRIER), with groups of their own:
 *   simt_copy16_async(a, global)   simt_copy16_commit()   simt_copy16_wait(n)   n a constant
 * An architecture that lacks a function does not declare it.  On the executor a copy lands late or
 * early, as the schedule says, and it reports what the hardware leaves undefined: an mbarrier that
 * was not initialised, one arrival too many, bytes that nobody waits for before the block (copies
 * out and cp.async: the thread) ends, a bulk copy of or to bytes that threads wrote behind the last
 * simt_fence_async() of the block.
 *
 * Global memory (reports, traces), generic pointers, relaxed, device-wide:
 *   simt_global_add32(p, v)  simt_global_max32(p, v)  simt_global_min32(p, v)
 *   simt_global_add64(p, v)  simt_global_store32(p, v)
 *   simt_global_or32(p, v)   acquires;  simt_global_and32(p, v)  releases; both give the old word
 *   simt_native_malloc(n)    simt_native_free(p)       CUDA's in-kernel heap; on the CPU malloc
 *
 * Definitions:
 *   SIMT_FN              prefix of every function: inlined, local to the translation unit
 *   SIMT_FN_NOINLINE     the same, for slow paths; a real call
 *   SIMT_HD              like SIMT_FN, callable on the host as well (layout computations)
 *   SIMT_ROLLED          in front of a loop: not to be unrolled (registers, instruction cache)
 *   SIMT_UNROLLED        in front of a loop with a constant count: no loop is to remain
 *   SIMT_LIKELY(x)       x, a condition that is nearly always true
 *   SIMT_TABLE(type, name, count)   heads a constant table at file scope: SIMT_TABLE(...) = {...};
 */
#ifndef SHPOOL_SIMT_H
#define SHPOOL_SIMT_H

#include <shpool/types.h>

/** 16 bytes that move as one access. */
typedef struct simt_u128 {
    uint32_t x, y, z, w;
} simt_u128;

/** Two words that one access reads. */
typedef struct simt_pair {
    uint32_t x, y;
} simt_pair;

/** Memory order of an atomic; always a constant. */
typedef enum simt_order {
    SIMT_RELAXED = 0,
    SIMT_ACQUIRE = 1,
    SIMT_RELEASE = 2,
    SIMT_ACQ_REL = 3
} simt_order;

#define SIMT_WARP      32u         /**< lanes of a warp */
#define SIMT_ALL_LANES 0xffffffffu /**< mask of a full warp */

#define SIMT_RANK_SHIFT 24u         /**< where in a simt_addr the rank of the block begins */
#define SIMT_OFFSET     0x00ffffffu /**< the bits below it */

#if defined(__CUDACC__)
#include <shpool/impl/simt/cuda.h>
#include <shpool/impl/simt/cuda_async.h>
#else
#include <shpool/impl/simt/cpu.h>
#include <shpool/impl/simt/cpu_async.h>
#endif

#endif /* SHPOOL_SIMT_H */
