/* SPDX-License-Identifier: BSD-3-Clause */
/* MGPU's names on the block executor: the trials of shpool's functions, called as MGPU's are. */
#include "cpu.h"
#include "paths.h"

#include "device/launchbox.cuh"
#include "device/loadstore.cuh"
#include "mgpudevice.cuh"

namespace {

/* A trial of _name, which is equivalent to _op; the arguments before sync. */
#define PORT(_name, _op, _call, ...) \
    template <typename S> struct port_##_name : _op<S> { \
        static SHPOOL_METHOD void run(frame<S> &f) { SYNCED(f, _call, __VA_ARGS__); } \
    }; \
    UNIT_TEST(test_##_name) \
    { \
        const unsigned failed = check_all<port_##_name, SHAPES>(#_name, rounds(8)); \
        assert_int_equal(failed, 0); \
    }
/* The same for functions without sync. */
#define PORT_BARE(_name, _op, _call, ...) \
    template <typename S> struct port_##_name : _op<S> { \
        static SHPOOL_METHOD void run(frame<S> &f) \
        { \
            _call(__VA_ARGS__); \
            simt_barrier(); \
        } \
    }; \
    UNIT_TEST(test_##_name) \
    { \
        const unsigned failed = check_all<port_##_name, SHAPES>(#_name, rounds(8)); \
        assert_int_equal(failed, 0); \
    }
#define SHAPES shape<64, 7, uint32_t>, shape<96, 4, double>, shape<32, 1, uint8_t>
#define COUNT  static_cast<int>(f.count)
#define COUNT2 static_cast<int>(f.count2)
#define INIT_VALUE init_value<typename S::type>()

PORT(DeviceSharedToReg, op_shared_to_reg, (mgpu::DeviceSharedToReg<S::NT, S::VT>), f.shared, f.tid,
     f.reg)
PORT(DeviceSharedToRegCounted, op_shared_to_reg_counted, (mgpu::DeviceSharedToReg<S::NT, S::VT>),
     COUNT, f.shared, f.tid, f.reg)
PORT(DeviceGlobalToReg, op_global_to_reg, (mgpu::DeviceGlobalToReg<S::NT, S::VT>), COUNT, f.in,
     f.tid, f.reg)
PORT(DeviceGlobalToRegPred, op_global_to_reg_pred, (mgpu::DeviceGlobalToRegPred<S::NT, S::VT>),
     COUNT, f.in, f.tid, f.reg)
PORT(DeviceGlobalToReg2, op_global_to_reg2, (mgpu::DeviceGlobalToReg2<S::NT, S::VT / 2, S::VT>),
     COUNT, f.in, f.tid, f.reg)
PORT(DeviceGlobalToRegThree, op_global_to_reg2, (mgpu::DeviceGlobalToReg<S::NT, S::VT / 2, S::VT>),
     COUNT, f.in, f.tid, f.reg)
PORT(DeviceGlobalToRegDefault, op_global_to_reg_default,
     (mgpu::DeviceGlobalToRegDefault<S::NT, S::VT>), COUNT, f.in, f.tid, f.reg, INIT_VALUE)
PORT(DeviceGlobalToRegDefault2, op_global_to_reg_default2,
     (mgpu::DeviceGlobalToRegDefault2<S::NT, S::VT / 2, S::VT>), COUNT, f.in, f.tid, f.reg,
     INIT_VALUE)
PORT(DeviceGlobalToRegLoop, op_global_to_reg_loop, (mgpu::DeviceGlobalToRegLoop<S::NT, S::VT>),
     COUNT, f.in, f.tid, f.reg)
PORT(DeviceRegToShared, op_reg_to_shared, (mgpu::DeviceRegToShared<S::NT, S::VT>), f.reg, f.tid,
     f.shared)
PORT(DeviceRegToGlobal, op_reg_to_global, (mgpu::DeviceRegToGlobal<S::NT, S::VT>), COUNT, f.reg,
     f.tid, f.out)
PORT(DeviceMemToMem4, op_mem_to_mem4, (mgpu::DeviceMemToMem4<S::NT, S::VT>), COUNT, f.in, f.tid,
     f.out)
PORT(DeviceMemToMemLoop, op_mem_to_mem_loop, (mgpu::DeviceMemToMemLoop<S::NT>), COUNT, f.in, f.tid,
     f.out)
PORT(DeviceSharedToGlobal, op_shared_to_global, (mgpu::DeviceSharedToGlobal<S::NT, S::VT>), COUNT,
     f.shared, f.tid, f.out)
PORT(DeviceGlobalToGlobal, op_global_to_global, (mgpu::DeviceGlobalToGlobal<S::NT, S::VT>), COUNT,
     f.in, f.tid, f.out)
PORT(DeviceGlobalToShared, op_global_to_shared, (mgpu::DeviceGlobalToShared<S::NT, S::VT>), COUNT,
     f.in, f.tid, f.shared)
PORT(DeviceGlobalToShared2, op_global_to_shared2,
     (mgpu::DeviceGlobalToShared2<S::NT, S::VT / 2, S::VT>), COUNT, f.in, f.tid, f.shared)
PORT(DeviceGlobalToSharedLoop, op_global_to_shared_loop,
     (mgpu::DeviceGlobalToSharedLoop<S::NT, S::VT>), COUNT, f.in, f.tid, f.shared)
PORT(DeviceGlobalToSharedDefault, op_global_to_shared_default,
     (mgpu::DeviceGlobalToSharedDefault<S::NT, S::VT>), COUNT, f.in, f.tid, f.shared, INIT_VALUE)
PORT(DeviceGlobalToSharedDefault2, op_global_to_shared_default2,
     (mgpu::DeviceGlobalToSharedDefault2<S::NT, S::VT / 2, S::VT>), COUNT, f.in, f.tid, f.shared,
     INIT_VALUE)
PORT_BARE(DeviceGlobalToThread, op_global_to_thread, (mgpu::DeviceGlobalToThread<S::NT, S::VT>),
          COUNT, f.in, f.tid, f.reg)
PORT_BARE(DeviceGlobalToThreadDefault, op_global_to_thread_default,
          (mgpu::DeviceGlobalToThreadDefault<S::NT, S::VT>), COUNT, f.in, f.tid, f.reg, INIT_VALUE)
PORT(DeviceThreadToShared, op_thread_to_shared, (mgpu::DeviceThreadToShared<S::VT>), f.reg, f.tid,
     f.shared)
PORT(DeviceSharedToThread, op_shared_to_thread, (mgpu::DeviceSharedToThread<S::VT>), f.shared,
     f.tid, f.reg)
PORT(DeviceGather, op_gather, (mgpu::DeviceGather<S::NT, S::VT>), COUNT, f.in, f.indices, f.tid,
     f.reg)
PORT(DeviceGatherDefault, op_gather_default, (mgpu::DeviceGatherDefault<S::NT, S::VT>), COUNT, f.in,
     f.indices, f.tid, f.reg, INIT_VALUE)
PORT(DeviceScatter, op_scatter, (mgpu::DeviceScatter<S::NT, S::VT>), COUNT, f.reg, f.tid, f.indices,
     f.out)
PORT(DeviceGatherGlobalToGlobal, op_gather_global_to_global,
     (mgpu::DeviceGatherGlobalToGlobal<S::NT, S::VT>), COUNT, f.in, f.shared_indices, f.tid, f.out)
PORT(DeviceLoad2ToReg, op_load2_to_reg, (mgpu::DeviceLoad2ToReg<S::NT, S::VT / 2, S::VT>), f.in,
     COUNT, f.in2, COUNT2, f.tid, f.reg)
PORT(DeviceLoad2ToShared, op_load2_to_shared, (mgpu::DeviceLoad2ToShared<S::NT, S::VT / 2, S::VT>),
     f.in, COUNT, f.in2, COUNT2, f.tid, f.shared)
PORT(DeviceTransferMergeValuesReg, op_transfer_merge_reg,
     (mgpu::DeviceTransferMergeValuesReg<S::NT, S::VT>), COUNT + COUNT2, f.in, f.in2, COUNT,
     f.indices, f.tid, f.reg)
PORT(DeviceTransferMergeValuesShared, op_transfer_merge_shared,
     (mgpu::DeviceTransferMergeValuesShared<S::NT, S::VT>), COUNT + COUNT2, f.in, f.in2, COUNT,
     f.shared_indices, f.tid, f.out)

template <typename S> struct port_HalfSmemTranspose : op_half_smem_transpose<S> {
    static SHPOOL_METHOD void run(frame<S> &f)
    {
        typename S::type x[S::VT];

        memcpy(x, f.reg, sizeof(x));
        mgpu::HalfSmemTranspose<S::NT, S::VT>(x, f.tid, f.shared, f.reg);
    }
};
UNIT_TEST(test_HalfSmemTranspose)
{
    assert_int_equal((check_all<port_HalfSmemTranspose, SHAPES>("HalfSmemTranspose", rounds(8))),
                     0);
}

/* After a call without sync a thread has its own elements: MGPU's code relies on that. */
template <typename S> struct port_unsynced : operation<S, REG, false> {
    static SHPOOL_METHOD void run(frame<S> &f)
    {
        mgpu::DeviceGlobalToGlobal<S::NT, S::VT>(COUNT, f.in, f.tid, f.out);
        mgpu::DeviceGlobalToReg<S::NT, S::VT>(COUNT, f.out, f.tid, f.reg);
        simt_barrier();
        for (int i = 0; i < S::VT; i++) { /* out belongs to the registers again */
            f.out[S::VT * f.tid + i] = f.reg[i];
        }
        simt_barrier();
    }
    static void expect(model<S> &m)
    {
        op_global_to_reg<S>::expect(m);
    }
};
UNIT_TEST(test_without_sync_a_thread_has_its_own)
{
    assert_int_equal((check_all<port_unsynced, SHAPES>("unsynced", rounds(20))), 0);
}

/* As in moderngpu's kernels; omitted parameters are those of the previous GPU. */
typedef mgpu::LaunchBoxVT<128, 7, 0, 256, 11> three;
struct Small { enum { NT = 64, VT = 3, OCC = 0, ODD = 5 }; };

template <typename Tuning> struct port_params {
    typedef MGPU_LAUNCH_PARAMS Params;
};

UNIT_TEST(test_launch_boxes)
{
    assert_int_equal(static_cast<int>(three::Sm20::NT), 128);
    assert_int_equal(static_cast<int>(three::Sm30::VT), 11);
    assert_int_equal(static_cast<int>(three::Sm35::NT), 256);
    assert_int_equal(static_cast<int>(three::Sm35::OCC), 0);
    assert_int_equal(static_cast<int>(port_params<mgpu::LaunchBox<Small>>::Params::ODD), 5);
}

} // namespace
