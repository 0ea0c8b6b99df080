/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/loadstore.cuh
 * Block-cooperative moves of data between global memory, shared memory and registers.
 *
 * Header only, C++17; device code under nvcc (sm_75 and newer), and the same functions under any
 * C++17 compiler inside a kernel of the CPU block executor (shpool/executor.h).  Only
 * launch_params() needs a library to link.  Functions and argument orders are those of MGPU 1.x
 * (include/device/loadstore.cuh there); its own names are in shpool/compat/device/loadstore.cuh.
 *
 * Words
 *   NT             threads of the block, whole warps: 32, 64, ..., 1024
 *   VT             values per thread, 1 to 32
 *   tile           the NT * VT elements that a block moves in one call
 *   tid            the calling thread, 0 .. NT-1; usually threadIdx.x
 *   count          valid elements of the tile, from 0 on; a value above NT * VT means NT * VT
 *   strided order  register i of thread tid is element NT * i + tid: neighbouring lanes access
 *                  neighbouring elements
 *   thread order   register i of thread tid is element VT * tid + i: each thread has consecutive
 *                  elements
 *   sync           the call ends with a barrier of the block
 *
 * Functions, all in namespace shpool (*: has more than one path).  "Beyond count" says what happens
 * to registers, slots and elements there.
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
 *   Scope      All NT threads of the block call, with the same arguments except tid and registers.
 *              If the block has more than NT threads, sync must be false and the caller must
 *              provide the barriers (half_smem_transpose and a bulk_gate have their own: whole
 *              blocks only). global_to_thread and thread_to_global also require that each warp's
 *              lanes are converged and that tid % 32 is the lane.
 *   Barriers   The caller must provide one between writes of a source by other threads and the
 *              call, and between the last use of shared memory and a call that writes it.  If sync
 *              is false, another one is needed between the call and the use of its result, or the
 *              next write to its source, even for a thread's own part: other threads may have moved
 *              that.
 *   Kept       Nothing beyond count is read or written: no register, slot or byte.
 *   Sources    Pointers, read_only(ptr), and anything with operator[](ptrdiff_t) (and operator+
 *              for the _loop functions).  Destinations likewise.  Elements are converted as by =,
 *              and have a default constructor.
 *   Aliasing   Source and destination do not overlap; the functions of copy.cuh also serve a
 *              destination that is the source.  Loads are ordinary loads, which see the block's
 *              earlier stores, unless the source is read_only(ptr).
 *   Sizes      Counts, offsets and indexes of a whole array are ptrdiff_t: nothing wraps at 2^31.
 *              A tile's own elements are counted in 32 bits.
 *   Elements   Any size and alignment; types that are volatile or not trivially copyable move
 *              element by element.
 *
 * Paths (copy_path, common.cuh): the last constant template argument, as in global_to_shared<NT,
 * VT, copy_path::vector>(...).  The operands' types choose the path at compile time; at run time it
 * is used if the pointers permit:
 *   from, to               automatic        taken at run time if
 *   memory to memory       vector; tiles    both addresses are equal modulo 16; ends that are not
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
 *   Everything else moves element by element, in the function's order.
 *
 * A kernel that reverses each tile and shows the usual steps:
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
