/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/compat/device/loadstore.cuh
 * MGPU's load and store functions, by their names, over shpool/loadstore.cuh: kernels written for
 * them compile unchanged.  Arguments, orders and sync defaults are theirs; doc/COMPAT.md lists what
 * differs.
 *
 * All keep to the element by element path: kernels written for MGPU rely on a thread's own
 * elements, NT * i + tid, being its own, without a barrier before or after a call, and on
 * calls that only some threads of a warp make.  The faster paths have shpool's names.
 */
#ifndef SHPOOL_COMPAT_DEVICE_LOADSTORE_CUH
#define SHPOOL_COMPAT_DEVICE_LOADSTORE_CUH

#include <shpool/compat/device/macros.cuh>
#include <shpool/loadstore.cuh>

namespace mgpu {

/* ---- registers, strided ---- */
template <int NT, int VT, typename InputIt, typename T>
SIMT_FN void DeviceSharedToReg(InputIt data, int tid, T *reg, bool sync = true)
{
    shpool::shared_to_reg<NT, VT>(data, tid, reg, sync);
}
/* As MGPU's page shows it. */
template <int NT, int VT, typename InputIt, typename T>
SIMT_FN void DeviceSharedToReg(int count, InputIt data, int tid, T *reg, bool sync = true)
{
    shpool::shared_to_reg<NT, VT>(count, data, tid, reg, sync);
}
template <int NT, int VT, typename InputIt, typename T>
SIMT_FN void DeviceGlobalToReg(int count, InputIt data, int tid, T *reg, bool sync = false)
{
    shpool::global_to_reg<NT, VT>(count, data, tid, reg, sync);
}
template <int NT, int VT, typename InputIt, typename T>
SIMT_FN void DeviceGlobalToRegPred(int count, InputIt data, int tid, T *reg, bool sync = false)
{
    shpool::global_to_reg_pred<NT, VT>(count, data, tid, reg, sync);
}
template <int NT, int VT0, int VT1, typename InputIt, typename T>
SIMT_FN void DeviceGlobalToReg2(int count, InputIt data, int tid, T *reg, bool sync = false)
{
    shpool::global_to_reg2<NT, VT0, VT1>(count, data, tid, reg, sync);
}
template <int NT, int VT0, int VT1, typename InputIt, typename T>
SIMT_FN void DeviceGlobalToReg(int count, InputIt data, int tid, T *reg, bool sync = false)
{
    shpool::global_to_reg2<NT, VT0, VT1>(count, data, tid, reg, sync);
}
template <int NT, int VT, typename InputIt, typename T>
SIMT_FN void DeviceGlobalToRegDefault(int count, InputIt data, int tid, T *reg, T init,
                                      bool sync = false)
{
    shpool::global_to_reg_default<NT, VT>(count, data, tid, reg, init, sync);
}
template <int NT, int VT0, int VT1, typename InputIt, typename T>
SIMT_FN void DeviceGlobalToRegDefault2(int count, InputIt data, int tid, T *reg, T init,
                                       bool sync = false)
{
    shpool::global_to_reg_default2<NT, VT0, VT1>(count, data, tid, reg, init, sync);
}
template <int NT, int VT, typename InputIt, typename T>
SIMT_FN void DeviceGlobalToRegLoop(int count, InputIt data, int tid, T *reg, bool sync = false)
{
    shpool::global_to_reg_loop<NT, VT>(count, data, tid, reg, sync);
}
template <int NT, int VT, typename OutputIt, typename T>
SIMT_FN void DeviceRegToShared(const T *reg, int tid, OutputIt dest, bool sync = true)
{
    shpool::reg_to_shared<NT, VT>(reg, tid, dest, sync);
}
template <int NT, int VT, typename OutputIt, typename T>
SIMT_FN void DeviceRegToGlobal(int count, const T *reg, int tid, OutputIt dest, bool sync = false)
{
    shpool::reg_to_global<NT, VT>(count, reg, tid, dest, sync);
}

/* ---- memory to memory ---- */
template <int NT, int VT, typename InputIt, typename OutputIt>
SIMT_FN void DeviceMemToMem4(int count, InputIt source, int tid, OutputIt dest, bool sync = true)
{
    shpool::mem_to_mem4<NT, VT>(count, source, tid, dest, sync);
}
template <int NT, typename InputIt, typename OutputIt>
SIMT_FN void DeviceMemToMemLoop(int count, InputIt source, int tid, OutputIt dest,
                                bool sync = true)
{
    shpool::mem_to_mem_loop<NT, shpool::copy_path::elements>(count, source, tid, dest, sync);
}
template <int NT, int VT, typename T, typename OutputIt>
SIMT_FN void DeviceSharedToGlobal(int count, const T *source, int tid, OutputIt dest,
                                  bool sync = true)
{
    shpool::shared_to_global<NT, VT, shpool::copy_path::elements>(count, source, tid, dest, sync);
}
template <int NT, int VT, typename InputIt, typename OutputIt>
SIMT_FN void DeviceGlobalToGlobal(int count, InputIt source, int tid, OutputIt dest,
                                  bool sync = false)
{
    shpool::global_to_global<NT, VT, shpool::copy_path::elements>(count, source, tid, dest, sync);
}

/* ---- global to shared ---- */
template <int NT, int VT, typename InputIt, typename T>
SIMT_FN void DeviceGlobalToShared(int count, InputIt source, int tid, T *dest, bool sync = true)
{
    shpool::global_to_shared<NT, VT, shpool::copy_path::elements>(count, source, tid, dest, sync);
}
template <int NT, int VT0, int VT1, typename InputIt, typename T>
SIMT_FN void DeviceGlobalToShared2(int count, InputIt source, int tid, T *dest, bool sync = true)
{
    static_assert((VT0 >= 0) && (VT0 <= VT1), "VT0 (full rows) must be 0 to VT1 (rows in all)");
    DeviceGlobalToShared<NT, VT1>(count, source, tid, dest, sync);
}
template <int NT, int VT, typename InputIt, typename T>
SIMT_FN void DeviceGlobalToSharedLoop(int count, InputIt source, int tid, T *dest,
                                      bool sync = true)
{
    shpool::global_to_shared_loop<NT, VT, shpool::copy_path::elements>(count, source, tid, dest,
                                                                       sync);
}
template <int NT, int VT, typename InputIt, typename T>
SIMT_FN void DeviceGlobalToSharedDefault(int count, InputIt source, int tid, T *dest, T init,
                                         bool sync = true)
{
    shpool::global_to_shared_default<NT, VT, shpool::copy_path::elements>(count, source, tid, dest,
                                                                          init, sync);
}
template <int NT, int VT0, int VT1, typename InputIt, typename T>
SIMT_FN void DeviceGlobalToSharedDefault2(int count, InputIt source, int tid, T *dest, T init,
                                          bool sync = true)
{
    static_assert((VT0 >= 0) && (VT0 <= VT1), "VT0 (full rows) must be 0 to VT1 (rows in all)");
    DeviceGlobalToSharedDefault<NT, VT1>(count, source, tid, dest, init, sync);
}

/* ---- thread order ---- */
template <int NT, int VT, typename InputIt, typename T>
SIMT_FN void DeviceGlobalToThread(int count, InputIt source, int tid, T *reg)
{
    shpool::global_to_thread<NT, VT, shpool::copy_path::elements>(count, source, tid, reg);
}
template <int NT, int VT, typename InputIt, typename T>
SIMT_FN void DeviceGlobalToThreadDefault(int count, InputIt source, int tid, T *reg, T init)
{
    shpool::global_to_thread_default<NT, VT, shpool::copy_path::elements>(count, source, tid, reg,
                                                                          init);
}
template <int VT, typename T>
SIMT_FN void DeviceThreadToShared(const T *reg, int tid, T *shared, bool sync = true)
{
    shpool::thread_to_shared<VT>(reg, tid, shared, sync);
}
template <int VT, typename T>
SIMT_FN void DeviceSharedToThread(const T *shared, int tid, T *reg, bool sync = true)
{
    shpool::shared_to_thread<VT>(shared, tid, reg, sync);
}
template <int NT, int VT, typename T>
SIMT_FN void HalfSmemTranspose(const T *x, int tid, T *shared, T *y)
{
    shpool::half_smem_transpose<NT, VT>(x, tid, shared, y);
}

/* ---- gather, scatter, two sources ---- */

/* An array that MGPU declares as int indices[VT], a parameter that does not carry VT. */
template <int VT> SIMT_FN const int (&all_indices(const int *indices))[VT]
{
    return reinterpret_cast<const int (&)[VT]>(*indices);
}

template <int NT, int VT, typename InputIt, typename T>
SIMT_FN void DeviceGather(int count, InputIt data, const int *indices, int tid, T *reg,
                          bool sync = true)
{
    shpool::gather<NT, VT>(count, data, all_indices<VT>(indices), tid, reg, sync);
}
template <int NT, int VT, typename InputIt, typename T>
SIMT_FN void DeviceGatherDefault(int count, InputIt data, const int *indices, int tid, T *reg,
                                 T identity, bool sync = true)
{
    shpool::gather_default<NT, VT>(count, data, all_indices<VT>(indices), tid, reg, identity, sync);
}
template <int NT, int VT, typename T, typename OutputIt>
SIMT_FN void DeviceScatter(int count, const T *reg, int tid, const int *indices, OutputIt data,
                           bool sync = true)
{
    shpool::scatter<NT, VT>(count, reg, tid, all_indices<VT>(indices), data, sync);
}
template <int NT, int VT, typename InputIt, typename OutputIt>
SIMT_FN void DeviceGatherGlobalToGlobal(int count, InputIt data_global, const int *indices_shared,
                                        int tid, OutputIt dest_global, bool sync = true)
{
    shpool::gather_global_to_global<NT, VT>(count, data_global, indices_shared, tid, dest_global,
                                            sync);
}
template <int NT, int VT0, int VT1, typename InputIt1, typename InputIt2, typename T>
SIMT_FN void DeviceLoad2ToReg(InputIt1 a_global, int aCount, InputIt2 b_global, int bCount,
                              int tid, T *reg, bool sync = false)
{
    shpool::load2_to_reg<NT, VT0, VT1>(a_global, aCount, b_global, bCount, tid, reg, sync);
}
template <int NT, int VT0, int VT1, typename InputIt1, typename InputIt2, typename T>
SIMT_FN void DeviceLoad2ToShared(InputIt1 a_global, int aCount, InputIt2 b_global, int bCount,
                                 int tid, T *shared, bool sync = true)
{
    shpool::load2_to_shared<NT, VT0, VT1>(a_global, aCount, b_global, bCount, tid, shared, sync);
}
template <int NT, int VT, typename InputIt1, typename InputIt2, typename T>
SIMT_FN void DeviceTransferMergeValuesReg(int count, InputIt1 a_global, InputIt2 b_global,
                                          int bStart, const int *indices, int tid, T *reg,
                                          bool sync = false)
{
    shpool::transfer_merge_reg<NT, VT>(count, a_global, b_global, bStart, indices, tid, reg, sync);
}
template <int NT, int VT, typename InputIt1, typename InputIt2, typename OutputIt>
SIMT_FN void DeviceTransferMergeValuesShared(int count, InputIt1 a_global, InputIt2 b_global,
                                             int bStart, const int *indices_shared, int tid,
                                             OutputIt dest_global, bool sync = true)
{
    typename shpool::impl::value_of<InputIt1>::type reg[VT] SHPOOL_UNSET;
    int indices[VT] SHPOOL_UNSET;

    shpool::shared_to_reg<NT, VT>(count, indices_shared, tid, indices, true); /* as MGPU, always */
    shpool::transfer_merge_reg<NT, VT>(count, a_global, b_global, bStart, indices, tid, reg, false);
    shpool::reg_to_global<NT, VT>(count, reg, tid, dest_global, sync);
}

} // namespace mgpu

#endif /* SHPOOL_COMPAT_DEVICE_LOADSTORE_CUH */
