/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/compat/device/launchbox.cuh
 * MGPU's launch boxes over shpool/loadstore/launch.cuh.
 *
 * Sm20, Sm30 and Sm35 name GPUs that no compiler serves any more.  Every GPU from sm_75 on takes
 * what MGPU takes on Sm35 and newer; the others are kept as types only.  A new kernel says
 * shpool::launch_box, which knows today's GPUs.
 */
#ifndef SHPOOL_COMPAT_DEVICE_LAUNCHBOX_CUH
#define SHPOOL_COMPAT_DEVICE_LAUNCHBOX_CUH

#include <shpool/loadstore/launch.cuh>

/* In a kernel template with a parameter Tuning. */
#define MGPU_LAUNCH_PARAMS typename Tuning::Sm35
#if defined(__CUDACC__)
#define MGPU_LAUNCH_BOUNDS __global__ __launch_bounds__(Tuning::Sm35::NT, Tuning::Sm35::OCC)
#endif

namespace mgpu {

/** Three sets of constants: NT, VT, OCC and what else a kernel wants of them. */
template <typename Sm20_, typename Sm30_ = Sm20_, typename Sm35_ = Sm30_> struct LaunchBox {
    typedef Sm20_ Sm20;
    typedef Sm30_ Sm30;
    typedef Sm35_ Sm35;

#if defined(__CUDACC__) && !defined(__CUDACC_RTC__)
    /** NT and VT, as x and y.  The context, which MGPU asks for its PTX version, does not matter:
     *  kernel and host take the same set on every GPU. */
    template <typename Context> static int2 GetLaunchParams(Context &)
    {
        return make_int2(Sm35::NT, Sm35::VT);
    }
#endif
};

/** One set that is no more than three numbers. */
template <int NT_, int VT_, int OCC_ = 0> struct LaunchNumbers {
    enum { NT = NT_, VT = VT_, OCC = OCC_ };
};

/** The same, spelt as numbers; what is left out is as for the GPU before. */
template <int NT20, int VT20, int OCC20 = 0, int NT30 = NT20, int VT30 = VT20, int OCC30 = OCC20,
          int NT35 = NT30, int VT35 = VT30, int OCC35 = OCC30>
struct LaunchBoxVT
    : LaunchBox<LaunchNumbers<NT20, VT20, OCC20>,
                LaunchNumbers<NT30, VT30, OCC30>,
                LaunchNumbers<NT35, VT35, OCC35>> { };

} // namespace mgpu

#endif /* SHPOOL_COMPAT_DEVICE_LAUNCHBOX_CUH */
