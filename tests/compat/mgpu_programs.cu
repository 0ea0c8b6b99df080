/* SPDX-License-Identifier: BSD-3-Clause */
/* An MGPU program with algorithms, for our headers (tests/compat/mgpu.sh): nvcc compiles and
 * links it against MGPU's include folder with ours copied over it, or with ours alone (ALONE). */
#include <cstdio>
#include <vector>

#if defined(ALONE)
#include "device/launchbox.cuh"
#else
#include "moderngpu.cuh"
#endif

using namespace mgpu;

/* As testlaunchbox does: a kernel by its launch box. */
template <int NT_, int VT_, int OCC_, int Extra_> struct Numbers {
    enum { NT = NT_, VT = VT_, OCC = OCC_, Extra = Extra_ };
};
typedef LaunchBox<Numbers<128, 7, 4, 1>, Numbers<256, 9, 5, 2>, Numbers<256, 15, 3, 3>> Box;

template <typename Tuning> MGPU_LAUNCH_BOUNDS void Tuned(int *out)
{
    typedef MGPU_LAUNCH_PARAMS Params;

    if (threadIdx.x == 0) {
        out[0] = Params::NT * 1000 + Params::VT * 10 + Params::Extra;
    }
}

static bool TunedRuns(CudaContext &context)
{
    int2             launch = Box::GetLaunchParams(context);
    int              version = 300;
    MGPU_MEM(int)    out    = context.Fill<int>(1, 0);
    std::vector<int> host;

    Tuned<Box><<<MGPU_DIV_UP(1000, launch.x * launch.y), launch.x, 0, context.Stream()>>>(*out);
    MGPU_SYNC_CHECK("Tuned");
    out->ToHost(host);
    return (host[0] == launch.x * 1000 + launch.y * 10 + 3) &&
           (Box::GetLaunchParams(version).y == 9) && (Box::GetLaunchParams(200).y == 7);
}

/* Events, timers, properties: CUDA's runtime is linked. */
static bool RuntimeServes(CudaContext &context)
{
    CudaEvent start, end(cudaEventDisableTiming);
    CudaTimer timer;
    int       threads = context.Device().Prop().maxThreadsPerBlock;

    timer.Start();
    start.Swap(end);
    return (cudaEventRecord(start, context.Stream()) == cudaSuccess) && (timer.Split() >= 0) &&
           (threads >= 1024);
}

int main(int argc, char **argv)
{
    if (CudaDevice::DeviceCount() == 0) {
        return 77;
    }
    ContextPtr context = CreateCudaDevice(argc, argv);
    bool       right   = TunedRuns(*context) && RuntimeServes(*context);

#if !defined(ALONE)
    const int        N    = 5000;
    MGPU_MEM(int)    data = context->Fill<int>(N, 1);
    std::vector<int> host;
    int              total = 0;

    ScanExc(data->get(), N, &total, *context);
    data->ToHost(host);
    right = right && (total == N) && (host[N - 1] == N - 1);
#endif
    std::printf("%s\n", right ? "right" : "WRONG");
    return right ? 0 : 1;
}
