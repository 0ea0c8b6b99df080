/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/loadstore/launch.cuh
 * Launch boxes: NT and VT per architecture, the same for a kernel and for the host that launches
 * it.
 *
 *     typedef shpool::launch_box<shpool::tune<75, 128, 7>, shpool::tune<90, 256, 11, 2>> box;
 *
 *     template <typename Box>
 *     SHPOOL_LAUNCH_BOUNDS(Box) void kernel(const int *data, long long count)
 *     {
 *         typedef SHPOOL_LAUNCH_PARAMS(Box) params;
 *         ... params::NT, params::VT ...
 *     }
 *
 *     shpool::launch_shape shape;
 *     if (shpool::launch_params<box>(kernel<box>, &shape) == SHPOOL_OK) {
 *         const long long tile = (long long)shape.NT * shape.VT;
 *         kernel<box><<<(count + tile - 1) / tile, shape.NT>>>(data, count);
 *     }
 *
 * A kernel uses the tune<> of the highest SM that is not above the one it is compiled for.  The
 * host queries the runtime for the SM that the kernel was compiled for (its PTX version, which also
 * decides in code that the driver compiles).  So the two always agree, whatever architectures the
 * program's files were compiled for.
 */
#ifndef SHPOOL_LOADSTORE_LAUNCH_CUH
#define SHPOOL_LOADSTORE_LAUNCH_CUH

#include <shpool/impl/wide.h>

#if defined(__CUDACC__) && !defined(__CUDACC_RTC__)
#include <shpool/impl/cuda_status.h>
#endif

/** The SM that this pass compiles for, 75 for sm_75.  In a host pass and on the block executor it
 *  is the program's definition, or 0: the tune<> of the lowest SM. */
#if defined(__CUDA_ARCH__)
#undef SHPOOL_LAUNCH_SM
#define SHPOOL_LAUNCH_SM (__CUDA_ARCH__ / 10)
#elif !defined(SHPOOL_LAUNCH_SM)
#define SHPOOL_LAUNCH_SM 0
#endif

/** In a kernel template: the tune<> that it is compiled with, as a type. */
#define SHPOOL_LAUNCH_PARAMS(_box) typename _box::template at<SHPOOL_LAUNCH_SM>

/** Before a kernel template: __global__ with the launch bounds of its tune<>. */
#if defined(__CUDACC__)
#define SHPOOL_LAUNCH_BOUNDS(_box) \
    __global__ __launch_bounds__((_box::template at<SHPOOL_LAUNCH_SM>::NT), \
                                 (_box::template at<SHPOOL_LAUNCH_SM>::OCC))
#endif

namespace shpool {

/** A choice for SM and newer: threads of a block, values per thread, blocks that must fit on a
 *  multiprocessor (0: no requirement). */
template <int SM, int NT_, int VT_, int OCC_ = 0> struct tune {
    static_assert(SM >= 75, "shpool: tune<SM, ...> begins at 75 (sm_75), the first that is served");
    static_assert((NT_ > 0) && (NT_ <= 1024) && (NT_ % 32 == 0),
                  "shpool: NT (threads) must be whole warps: 32, 64, 96, ..., 1024");
    static_assert((VT_ >= 1) && (VT_ <= 32), "shpool: VT (values per thread) must be 1 to 32");
    static_assert(OCC_ >= 0, "shpool: OCC (blocks on a multiprocessor) must be 0 or more");
    enum { sm = SM, NT = NT_, VT = VT_, OCC = OCC_ };
};

/** The parameters of a tune<> for a launch. */
struct launch_shape {
    int sm;  /**< SM of the tune<>, which may be below the GPU's */
    int NT;  /**< threads of a block */
    int VT;  /**< values per thread */
    int OCC; /**< blocks that must fit on a multiprocessor, or 0 */
};

namespace impl {

struct no_tune {
    enum { sm = 0, NT = 0, VT = 0, OCC = 0 };
};

/* The highest one of a list that is not above SM; for 0 the lowest. */
template <int SM, typename Best, typename... Tunes> struct choose { typedef Best type; };
template <int SM, typename Best, typename First, typename... Rest>
struct choose<SM, Best, First, Rest...> {
    template <bool Better, typename A, typename B> struct either { typedef A type; };
    template <typename A, typename B> struct either<true, A, B> { typedef B type; };
    static constexpr int  first = static_cast<int>(First::sm);
    static constexpr int  best  = static_cast<int>(Best::sm);
    static constexpr bool better =
        (SM == 0) ? (best == 0) || (first < best) : (first <= SM) && (first > best);
    typedef typename choose<SM, typename either<better, Best, First>::type, Rest...>::type type;
};

template <typename Tune> struct found {
    static_assert(static_cast<int>(Tune::sm) != 0,
                  "shpool: the launch_box has no tune<> for this architecture or an older one: add "
                  "a tune<75, NT, VT>");
    typedef Tune type;
};

} // namespace impl

/** The choices of a kernel: tune<>s of different SMs, in any order. */
template <typename... Tunes> struct launch_box {
    static_assert(sizeof...(Tunes) > 0, "shpool: launch_box<> needs at least one tune<SM, NT, VT>");

    /** The tune<> for code that is compiled for SM; for 0 that of the lowest SM. */
    template <int SM>
    using at = typename impl::found<typename impl::choose<SM, impl::no_tune, Tunes...>::type>::type;

    /** The same at run time; all 0 if there is none. */
    static SHPOOL_HOST_METHOD launch_shape choose(int sm)
    {
        launch_shape best = {0, 0, 0, 0};

        (void)sm;
        ((best = (((int)Tunes::sm <= sm) && ((int)Tunes::sm > best.sm))
                     ? launch_shape{(int)Tunes::sm, (int)Tunes::NT, (int)Tunes::VT,
                                    (int)Tunes::OCC}
                     : best), ...);
        return best;
    }
};

#if defined(__CUDACC__) && !defined(__CUDACC_RTC__)
/**
 * Get the launch shape for a kernel that takes its parameters from Box.
 *
 * @param [in]  kernel   the __global__ function itself, as it will be launched
 * @param [out] shape_p  zeroed on failure
 * @return SHPOOL_OK
 *   - SHPOOL_ERR_INVALID  the box has no choice for the SM that the kernel was compiled for, or the
 *                         kernel permits fewer threads: its launch bounds are not those of Box
 *   - SHPOOL_ERR_CUDA     the runtime cannot find the kernel on the current device
 */
template <typename Box, typename Kernel>
static inline shpool_status launch_params(Kernel *kernel, launch_shape *shape_p)
{
    cudaFuncAttributes  attributes = {};
    const shpool_status status     =
        shpool_cuda_status(cudaFuncGetAttributes(&attributes, (const void *)kernel),
                           "cudaFuncGetAttributes");

    *shape_p = launch_shape{0, 0, 0, 0};
    if (status != SHPOOL_OK) {
        return status;
    }
    const launch_shape shape = Box::choose(attributes.ptxVersion);

    if (shape.NT == 0) {
        return shpool_error(SHPOOL_ERR_INVALID,
                            "the kernel was compiled for sm_%d, and its launch_box has no tune<> "
                            "for that or below: add a tune<75, NT, VT>", attributes.ptxVersion);
    }
    if (attributes.maxThreadsPerBlock < shape.NT) {
        return shpool_error(SHPOOL_ERR_INVALID,
                            "the launch_box wants %d threads for sm_%d, but the kernel takes %d: "
                            "its launch bounds are not this box's (SHPOOL_LAUNCH_BOUNDS)",
                            shape.NT, attributes.ptxVersion, attributes.maxThreadsPerBlock);
    }
    *shape_p = shape;
    return SHPOOL_OK;
}
#endif

} // namespace shpool

#endif /* SHPOOL_LOADSTORE_LAUNCH_CUH */
