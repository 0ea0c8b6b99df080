/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/compat/device/launchbox.cuh
 * MGPU's launch boxes over shpool/loadstore/launch.cuh.
 *
 * Sm20, Sm30 and Sm35 name GPUs that compilers no longer support.  MGPU uses Sm35 from sm_35 on, so
 * every kernel from a current compiler uses it, whatever its GPU; the host decides by the device's
 * version.  New kernels should use shpool::launch_box, which knows current GPUs.
 */
#ifndef SHPOOL_COMPAT_DEVICE_LAUNCHBOX_CUH
#define SHPOOL_COMPAT_DEVICE_LAUNCHBOX_CUH

#include <shpool/compat/device/macros.cuh>
#include <shpool/loadstore/launch.cuh>
#if !defined(__CUDACC_RTC__)
#include <shpool/compat/util/mgpucontext.h> /* as MGPU's: a program may include nothing else */
#endif

/* The set that kernels of this compilation use. */
#define MGPU_SM_TAG Sm35

/* In a kernel template with a parameter Tuning. */
#define MGPU_LAUNCH_PARAMS typename Tuning::MGPU_SM_TAG
#if defined(__CUDACC__)
#define MGPU_LAUNCH_BOUNDS \
    __global__ __launch_bounds__(Tuning::MGPU_SM_TAG::NT, Tuning::MGPU_SM_TAG::OCC)
#endif

namespace mgpu {

/** NT and VT of a launch box, as x and y. */
template <typename Derived> struct LaunchBoxRuntime {
#if defined(__CUDACC__) && !defined(__CUDACC_RTC__)
    /** For the device of a context. */
    static int2 GetLaunchParams(const CudaContext &context)
    {
        return GetLaunchParams(context.PTXVersion());
    }
    /** For a version, 350 for sm_35. */
    static int2 GetLaunchParams(int version)
    {
        return version >= 350 ? make_int2(Derived::Sm35::NT, Derived::Sm35::VT)
               : version >= 300 ? make_int2(Derived::Sm30::NT, Derived::Sm30::VT)
                                : make_int2(Derived::Sm20::NT, Derived::Sm20::VT);
    }
#endif
};

/** Three sets of constants: NT, VT, OCC and any others that a kernel needs. */
template <typename Sm20_, typename Sm30_ = Sm20_, typename Sm35_ = Sm30_>
struct LaunchBox : LaunchBoxRuntime<LaunchBox<Sm20_, Sm30_, Sm35_>> {
    typedef Sm20_ Sm20;
    typedef Sm30_ Sm30;
    typedef Sm35_ Sm35;
};

/** One set with only these three numbers. */
template <int NT_, int VT_, int OCC_ = 0> struct LaunchParamsVT {
    enum { NT = NT_, VT = VT_, OCC = OCC_ };
};

/** The same, written as numbers; omitted ones are those of the previous GPU. */
template <int NT20, int VT20, int OCC20 = 0, int NT30 = NT20, int VT30 = VT20, int OCC30 = OCC20,
          int NT35 = NT30, int VT35 = VT30, int OCC35 = OCC30>
struct LaunchBoxVT
    : LaunchBox<LaunchParamsVT<NT20, VT20, OCC20>,
                LaunchParamsVT<NT30, VT30, OCC30>,
                LaunchParamsVT<NT35, VT35, OCC35>> { };

} // namespace mgpu

#endif /* SHPOOL_COMPAT_DEVICE_LAUNCHBOX_CUH */
