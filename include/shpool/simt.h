/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/simt.h
 * The interface between portable code and GPU or CPU: the machine functions available to a block
 * allocator, or to a kernel that also runs on the CPU block executor.
 *
 * Under nvcc and NVRTC these are device functions that compile to one or two instructions
 * (impl/simt/cuda.h); under any other compiler they run on the executor (impl/simt/cpu.h,
 * shpool/executor.h) and are only valid inside a kernel that simt_run() started.  Code that uses
 * them is written in the subset of C11 and C++17 that both sides accept.
 *
 * Ranks.  All unsigned 32-bit; x varies fastest:
 *   simt_thread_rank()   rank of the thread in its block, 0 .. simt_block_threads()-1
 *   simt_block_threads() threads of the block, 1..1,024
 *   simt_lane()          rank in the warp, 0..31;  simt_warp()  rank of the warp in the block
 *   simt_block_rank()    rank of the block in the grid;  simt_grid_blocks()  blocks of the grid
 *   simt_launch_number() 64 bits that distinguish the grid from those launched before and after it
 *   simt_thread_x/y/z(), simt_block_x/y/z()   CUDA's indexes
 *
 * Addresses.  simt_addr is an offset in shared memory (types.h):
 *   simt_is_shared(p)    nonzero if the generic pointer p lies in this block's shared memory
 *   simt_is_shared_base(p)  likewise, or p is the address of dynamic memory of 0 bytes
 *   simt_to_shared(p)    p as a simt_addr; requires simt_is_shared(p)
 *   simt_from_shared(a)  a as a generic pointer (void *)
 *   simt_window()        base of shared memory in generic pointers; never 0.  On the GPU it takes
 *                        as long as a load: call it once and pass the result to the next two
 *                        functions.
 *   simt_is_within(w, p)   simt_is_shared(p) for w = simt_window(); nothing but NULL is within 0
 *   simt_from_window(w, a) simt_from_shared(a); for addresses of other blocks of a cluster use only
 *                        this one: after simt_from_shared() nvcc uses LDS, which cannot reach them
 *   simt_dynamic_base()  first byte of the launch's dynamic shared memory, where an array of
 *                        alignment 16 begins, the next multiple of 16 after static memory; an array
 *                        of a larger alignment may begin later
 *   simt_dynamic_bytes() its size
 *   simt_shared_bytes()  size of the block's static and dynamic memory; on the executor dynamic
 *   simt_addr_rank(a)    rank of the block in the cluster that the address belongs to: its top byte
 *                        (sm_90 and the executor; below sm_90 always 0)
 *   simt_addr_offset(a)  the rest: the offset in that block's shared memory
 *   simt_shared_end(s)   first byte after the block's shared memory, which the GPU allocates in
 *                        units of 128 bytes (256 on sm_75), as a simt_addr_offset(); s: bytes that
 *                        the system reserves before it (cudaDevAttrReservedSharedMemoryPerBlock;
 *                        the executor knows its own)
 *
 * Plain accesses.  No two threads may use the same bytes at the same time unless both read:
 *   simt_load8/16/32/64(a), simt_load128(a)   simt_store8/16/32/64(a, v), simt_store128(a, v)
 *   naturally aligned; 64 is unsigned long long, 128 is simt_u128.
 *
 * Atomics on 32-bit words (64 bits where stated); the order is the last argument and a constant:
 * SIMT_RELAXED, SIMT_ACQUIRE, SIMT_RELEASE, SIMT_ACQ_REL, or SIMT_FENCED, a release for which the
 * caller has called simt_fence() since what it releases: one fence for several.  All except load
 * and store return the previous word.  Scope is the block.
 *   simt_fence()                   all accesses before it come before all after it, also a write
 *                                  before a read of another word; all fences have one order
 *   simt_atomic_load(a, o)         simt_atomic_store(a, v, o)
 *   simt_atomic_add(a, v, o)       simt_atomic_exchange(a, v, o)
 *   simt_atomic_and(a, v, o)       simt_atomic_or(a, v, o)
 *   simt_atomic_min(a, v, o)       simt_atomic_max(a, v, o)
 *   simt_atomic_cas(a, expected, desired, o)     simt_atomic_cas64(a, expected, desired, o)
 *   simt_atomic_cas_run(a, expected, desired, n, o)  a compare-and-swap of n neighbouring words in
 *                                  turn, up to the first that differs; how many it has swapped
 *   simt_atomic_load_pair(a, o)    two neighbouring words, read at one instant, as a simt_pair; a
 *                                  is a multiple of 8
 *   simt_atomic_cas_pair(a, expected, desired, o)    both words at once; 1 if it has swapped, or 0
 *   simt_atomic_cas_pairs(a, n, expected, desired, o)    the same for n neighbouring pairs, up to
 *                                  the first that differs; how many it has swapped
 *   simt_atomic_and_pairs(a, v, n, o)    n pairs (n is a constant) at addresses a[] by v[], word by
 *                                  word; returns nothing
 *   simt_atomic_clear_run(a, last, expected, next_p, o)  stores 0 to neighbouring pairs from a on,
 *                                  as long as they equal `expected`; returns the address of the
 *                                  first other one, which comes at `last` or before, and in *next_p
 *                                  its value.  It does not compare and store at one instant: no
 *                                  other thread may change a pair that equals `expected`
 *   simt_peek(a)                   a word that others change by atomics, as a hint: it may be
 *                                  stale, and orders nothing.  An atomic must confirm the value; do
 *                                  not wait with it.  In loops that only peek, nvcc 13.0 does not
 *                                  insert the YIELD that splits a warp (bitmap's bitmap.h).
 *   simt_peek_pair(a)              the same for a pair
 *   simt_peek_quad(a)              the same for four words, in any order; a is a multiple of 16
 *
 * Clusters.  Blocks of a cluster (sm_90 and up) reach each other's shared memory; everywhere else a
 *   block is a cluster of one, and the following functions equal those without the prefix.
 *   simt_cluster_rank()      rank of the block in its cluster
 *   simt_cluster_blocks()    blocks of the cluster
 *   simt_cluster_barrier()   all threads of all blocks of the cluster take part; orders memory.
 *                            Required before the first access to a neighbour's memory, because the
 *                            neighbour must have started, and after the last, because it must not
 *                            have exited.
 *   simt_map_cluster(a, r)   address in block r of the bytes that this block has at a
 *   simt_is_within()         is also nonzero for pointers into a neighbour's memory;
 *                            simt_is_shared() is not
 * Accesses to words that threads of other blocks access at the same time: in any block of the
 * cluster (cluster_), or only in the own block (near_: as fast as without the prefix).  Both kinds
 * are atomic with respect to each other.  The release of near_ orders the own block's shared
 * memory, the acquire of both kinds the cluster's; nothing else.
 *   simt_cluster_load32(a)   simt_cluster_store32(a, v)   simt_cluster_peek(a)
 *   simt_cluster_peek_pair(a)
 *   simt_cluster_atomic_load/load_pair/store/add/and/and_pairs/or/cas/cas_run/clear_run
 *   and the same as simt_near_...
 *
 * Bits:  simt_popc(v)  simt_clz(v) (32 for 0)  simt_ffs(v) (1..32; 0 for 0)  simt_fls(v) (as
 *        simt_ffs, of the highest bit)  simt_reverse(v)
 *        simt_mulhi(a, b)     simt_mask(first, count): `count` ones from bit `first` up, each 0..32
 *        simt_pin(v)    v; the compiler can neither predict it nor compute it elsewhere
 *        simt_keep(v)   v; the compiler keeps v, and not its operands, in a register
 *
 * Whole block:  simt_barrier(): all threads of the block take part, in the same call; orders
 *   memory. (Hardware may let the others pass when a thread has exited; the executor reports it.)
 *   simt_broadcast(v): a barrier, and the 64-bit v of thread 0 for all
 *
 * Warp, for the lanes named in mask (the caller among them; each must call with the same mask):
 *   simt_warp_sync(mask)  orders memory among them; the functions below do not
 *   simt_ballot(mask, p)  simt_any(mask, p)  simt_all(mask, p)
 *   simt_shfl(mask, v, lane)  simt_shfl_xor/up/down(mask, v, n)   n 0..31, lane modulo 32; a source
 *                         outside the warp gives the caller's v; a source in the warp that mask
 *                         does not name is undefined (the executor returns ~v, so that no code
 *                         relies on it)
 *   simt_match_any(mask, v)   lanes of mask whose v equals the caller's
 *   simt_converged()      lanes that are converged here and will take the same path next; any
 *                         subset of them is a legal result, and the executor returns one that the
 *                         schedule chooses
 *
 * Waiting:  simt_wait(a, seen) returns when the word at a may have changed from `seen`.  Call it in
 * the body of every spin loop: on the GPU it yields issue slots, on the executor it parks the
 * thread, which keeps explorations finite.
 *
 *   simt_wait_briefly(a, seen)   the same, but also returns, with a value other than 0, if nothing
 *                    happens: on the GPU soon, on the executor when no thread can continue.
 *                    SIMT_PATIENCE such returns in a row, with no other progress, mean that the
 *                    word will not change.
 *   simt_pause(ns)   lets other threads run for about ns nanoseconds, and always returns
 *   simt_clock()     32 bits of the multiprocessor's cycle counter; 0 on the executor
 *
 * mbarriers, 8 bytes of shared memory at a multiple of 8 (SIMT_HAS_MBARRIER: sm_80 and newer).  An
 * mbarrier goes through phases; each ends when `count` threads have arrived and all announced bytes
 * have landed.  The phases' parities are 0, 1, 0, ...:
 *   simt_mbar_init(a, count)   called by one thread, with a barrier before the others' first use;
 *                              count up to 2^20-1
 *   simt_mbar_arrive(a)        release: the caller's earlier accesses happen before the end of the
 *                              phase
 *   simt_mbar_arrive_expect(a, bytes)   the same, and the phase also waits for `bytes` bytes, up
 *                              to 2^20-1 per phase (SIMT_HAS_BULK)
 *   simt_mbar_test(a, parity)  nonzero if the current phase has the other parity, so that the
 *                              previous one, which has this parity, has ended; acquire.  Returns 0
 *                              if the mbarrier is two phases further on.
 *   simt_mbar_wait(a, parity)  waits until simt_mbar_test() would be nonzero; acquire
 *   simt_mbar_wait_briefly(a, parity)   simt_mbar_test() that waits for as long as the hardware
 *                              does, 4 us on an H200, before it returns 0 (SIMT_HAS_BULK)
 *   simt_mbar_inval(a)         required before the 8 bytes are used for anything else
 *
 * Copies by the copy engine (SIMT_HAS_BULK: sm_90 and newer): multiples of 16 bytes, at most
 * 2^20-1, between multiples of 16 in this block's shared memory and in global memory.  Until the
 * copy has ended, neither side may be accessed except as stated here:
 *   simt_copy_async(a, global, bytes, mbar)   into shared memory; ends with the phase of mbar for
 *                              which simt_mbar_arrive_expect() has announced the bytes
 *   simt_copy_async_out(global, a, bytes)     out of it; belongs to the caller's next group
 *   simt_copy_commit()         ends the caller's group of copies out
 *   simt_copy_wait_read(n)     waits until all but the caller's last n groups have been read: their
 *                              shared memory can be reused; n is a constant
 *   simt_copy_wait(n)          waits until they have also been written
 *   simt_fence_async()         this thread's earlier accesses to either memory, and those that a
 *                              barrier or an acquire has ordered before, happen before the copies
 *                              that are started after it
 *   simt_fence_async_shared()  the same for shared memory only; the fence for both also waits until
 *                              the whole GPU sees the thread's accesses to global memory
 * cp.async, 16 bytes each (SIMT_HAS_MBARRIER), with groups of their own:
 *   simt_copy16_async(a, global)   simt_copy16_commit()   simt_copy16_wait(n)   n a constant
 * An architecture that lacks a function does not declare it.  On the executor the schedule decides
 * when a copy lands.  The executor reports what the hardware leaves undefined: an mbarrier that was
 * not initialised, too many arrivals, bytes not waited for before the block (for copies out and
 * cp.async: the thread) ends, a bulk copy from or to bytes that threads wrote after the last
 * simt_fence_async() of the block.
 *
 * Global memory (reports, traces), generic pointers, relaxed, device-wide:
 *   simt_global_add32(p, v)  simt_global_max32(p, v)  simt_global_min32(p, v)
 *   simt_global_add64(p, v)  simt_global_store32(p, v)
 *   simt_global_cas32(p, expected, desired)                            returns the old word
 *   simt_global_or32(p, v)   acquires;  simt_global_and32(p, v)  releases; both return the old word
 *   simt_native_malloc(n)    simt_native_free(p)       CUDA's in-kernel heap; on the CPU malloc
 *
 * Definitions:
 *   SIMT_FN              prefix of every function: inlined, local to the translation unit
 *   SIMT_FN_NOINLINE     the same, for slow paths; a real call
 *   SIMT_HD              like SIMT_FN, callable on the host as well (layout computations)
 *   SIMT_ROLLED          before a loop: do not unroll it (registers, instruction cache)
 *   SIMT_UNROLLED        before a loop with a constant count: unroll it completely
 *   SIMT_LIKELY(x)       x, a condition that is nearly always true
 *   SIMT_TABLE(type, name, count)   begins a constant table at file scope: SIMT_TABLE(...) = {...};
 */
#ifndef SHPOOL_SIMT_H
#define SHPOOL_SIMT_H

#include <shpool/types.h>

/** 16 bytes, moved by one access. */
typedef struct simt_u128 {
    uint32_t x, y, z, w;
} simt_u128;

/** Two words, read by one access. */
typedef struct simt_pair {
    uint32_t x, y;
} simt_pair;

/** Memory order of an atomic; always a constant. */
typedef enum simt_order {
    SIMT_RELAXED = 0,
    SIMT_ACQUIRE = 1,
    SIMT_RELEASE = 2,
    SIMT_ACQ_REL = 3,
    SIMT_FENCED  = 4
} simt_order;

#define SIMT_WARP      32u         /**< lanes of a warp */
#define SIMT_ALL_LANES 0xffffffffu /**< mask of a full warp */

#define SIMT_RANK_SHIFT 24u         /**< first bit of the block's rank in a simt_addr */
#define SIMT_OFFSET     0x00ffffffu /**< the bits below it */

#if defined(__CUDACC__)
#include <shpool/impl/simt/cuda.h>
#include <shpool/impl/simt/cuda_async.h>
#else
#include <shpool/impl/simt/cpu.h>
#include <shpool/impl/simt/cpu_async.h>
#endif

#endif /* SHPOOL_SIMT_H */
