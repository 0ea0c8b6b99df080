/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/loadstore.cuh
 * Moving data between global memory, shared memory and registers, by a whole block.
 *
 * Header only, C++17; device code under nvcc (sm_75 and newer), and the same functions under any
 * C++17 compiler inside a kernel of the CPU block executor (shpool/executor.h).  Nothing is linked
 * but by launch_params().  Functions and argument orders are those of MGPU 1.x
 * (include/device/loadstore.cuh there); its own names are in shpool/compat/device/loadstore.cuh.
 *
 * Words
 *   NT             threads of the block, whole warps: 32, 64, ..., 1024
 *   VT             values per thread, 1 to 32
 *   tile           the NT * VT elements that a block moves in one call
 *   tid            the calling thread, 0 .. NT-1; usually threadIdx.x
 *   count          elements of the tile that there are, from 0 on; more than NT * VT mean NT * VT
 *   strided order  register i of thread tid is element NT * i + tid: neighbours in a warp touch
 *                  neighbours in memory
 *   thread order   register i of thread tid is element VT * tid + i: each thread holds neighbours
 *   sync           the block meets in a barrier at the end of the call
 *
 * Functions, all in namespace shpool (*: there is more than one path).  Beyond count: what becomes
 * of registers, slots and elements there.
 *   function                                   order    beyond count        sync     file
 *   shared_to_reg<NT, VT>                      strided  (no count) or kept  true     reg
 *   global_to_reg<NT, VT>                      strided  kept                false    reg
 *   global_to_reg_pred<NT, VT>                 strided  kept                false    reg
 *   global_to_reg2<NT, VT0, VT1>               strided  kept                false    reg
 *   global_to_reg_default<NT, VT>              strided  init                false    reg
 *   global_to_reg_default2<NT, VT0, VT1>       strided  init                false    reg
 *   global_to_reg_loop<NT, VT>                 strided  kept                false    reg
 *   reg_to_shared<NT, VT>                      strided  (no count)          true     reg
 *   reg_to_global<NT, VT>                      strided  kept                false    reg
 *   mem_to_mem4<NT, VT>                        strided  kept                true     copy
 *   mem_to_mem_loop<NT> *                      any      (any count)         true     copy
 *   shared_to_global<NT, VT> *                 any      kept                true     copy
 *   global_to_global<NT, VT> *                 any      kept                false    copy
 *   global_to_shared<NT, VT> *                 any      kept                true     shared
 *   global_to_shared2<NT, VT0, VT1> *          any      kept                true     shared
 *   global_to_shared_loop<NT, VT> *            any      kept                true     shared
 *   global_to_shared_default<NT, VT> *         any      init                true     shared
 *   global_to_shared_default2<NT, VT0, VT1> *  any      init                true     shared
 *   global_to_shared<NT, VT>(..., gate) *      any      kept                true     bulk
 *   global_to_thread<NT, VT> *                 thread   kept                never    thread
 *   global_to_thread_default<NT, VT> *         thread   init                never    thread
 *   thread_to_global<NT, VT> *                 thread   kept                false    thread
 *   thread_to_shared<VT>                       thread   (no count)          true     thread
 *   shared_to_thread<VT>                       thread   (no count)          true     thread
 *   half_smem_transpose<NT, VT>                both     (no count)          always   thread
 *   gather<NT, VT>                             strided  kept                true     gather
 *   gather_default<NT, VT>                     strided  identity            true     gather
 *   scatter<NT, VT>                            strided  kept                true     gather
 *   gather_global_to_global<NT, VT>            strided  kept                true     gather
 *   load2_to_reg<NT, VT0, VT1>                 strided  kept                false    merge
 *   load2_to_shared<NT, VT0, VT1>              strided  kept                true     merge
 *   transfer_merge_reg<NT, VT>                 strided  kept                false    merge
 *   transfer_merge_shared<NT, VT>              strided  kept                true     merge
 *
 * Rules
 *   Scope      All NT threads of the block call, with the same arguments but tid and registers.  If
 *              the block has more threads than NT, sync must be false and the barriers are the
 *              caller's (half_smem_transpose and a bulk_gate have their own: whole blocks only).
 *              global_to_thread and thread_to_global also need each warp's lanes together, and
 *              tid % 32 to be the lane.
 *   Barriers   The caller owes one between writing a source that other threads wrote and the call,
 *              between the last use of shared memory and a call that writes it, and, where sync is
 *              false, between the call and the use of what it wrote, or the next write to its
 *              source, also of a thread's own part: other threads may have moved that.
 *   Kept       What lies beyond count is neither read nor written: no register, slot or byte.
 *   Sources    Pointers, read_only(ptr), and anything with operator[](ptrdiff_t) (and operator+
 *              for the _loop functions).  Destinations likewise.  Elements are converted as by =,
 *              and have a default constructor.
 *   Aliasing   Source and destination do not overlap; the functions of copy.cuh also serve a
 *              destination that is the source.  Loads are ordinary loads, which see what the block
 *              stored before, unless the source is read_only(ptr).
 *   Sizes      Counts, offsets and indexes are ptrdiff_t where they are of a whole array: nothing
 *              wraps at 2^31.  A tile's own elements are counted in 32 bits.
 *   Elements   Of any size and alignment; those that are not trivially copyable, or volatile, move
 *              element by element.
 *
 * Paths (copy_path, common.cuh): the last constant template argument, as in
 * global_to_shared<NT, VT, copy_path::vector>(...).  Chosen at compile time by the type of the
 * operands, and served at run time where the pointers allow:
 *   from, to               automatic        taken at run time if
 *   memory to memory       vector; tiles    both addresses are equal modulo 16; ends that are no
 *                          below 16 bytes   multiples of 16 bytes move in smaller pieces
 *                          a thread of
 *                          words: elements
 *   global to shared       async, sm_80+    the same
 *   ... with a bulk_gate   bulk, sm_90+     the same
 *   thread order, global   vector up to 16  the warp's run is full; units of up to 16 bytes if the
 *                          bytes a thread,  pointer is aligned to them, else of the elements'
 *                          or two units;    alignment if that is 4 or more
 *                          else transpose
 *   all others             elements
 *   What is not served goes element by element, in the function's order.
 *
 * A kernel that reverses each tile, with all that is usual of it:
 *
 * @code tile_reverse
 * shpool::global_to_shared<128, 7>(count, data, tid, shared);      // coalesced, and a barrier
 * shpool::shared_to_thread<7>(shared, 127 - tid, reg);             // the other end's run
 * for (int i = 0; i < 3; i++) {                                    // turned around
 *     const float swap = reg[i];
 *     reg[i]           = reg[6 - i];
 *     reg[6 - i]       = swap;
 * }
 * shpool::thread_to_shared<7>(reg, tid, shared);
 * shpool::shared_to_global<128, 7>(count, shared, tid, out);
 * @endcode
 */
#ifndef SHPOOL_LOADSTORE_CUH
#define SHPOOL_LOADSTORE_CUH

#include <shpool/loadstore/bulk.cuh>
#include <shpool/loadstore/copy.cuh>
#include <shpool/loadstore/gather.cuh>
#include <shpool/loadstore/launch.cuh>
#include <shpool/loadstore/merge.cuh>
#include <shpool/loadstore/reg.cuh>
#include <shpool/loadstore/shared.cuh>
#include <shpool/loadstore/thread.cuh>

#endif /* SHPOOL_LOADSTORE_CUH */
