/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers and MGPU's names on a GPU: the page's programs, fills compared with the host's, and the
 * speed of each.  gpu_buffers [MiB of an array: 256].  Exit: 0; 1: something is wrong; 77: no
 * device. */
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

#include "tests/compat/mgpu_capture.h"
#include "tests/compat/mgpu_programs.h"
#include "tests/device/page_arrays.h"

namespace {

using mgpu::Check;
using mgpu::ContextPtr;

int    failures  = 0;
size_t mebibytes = 256;

void expect(bool good, const char *what)
{
    if (!good) {
        std::printf("FAIL %s: %s\n", what, shpool_last_error());
        failures++;
    }
}

/* ---- the page ---- */

void page_programs()
{
    char  name[] = "program";
    char *argv[] = {name, nullptr};

    capture     out;
    const int   result = programs::arrays(1, argv);
    std::string text   = out.text();
    text.push_back('\0');
    page_squeeze(&text[0]);
    expect((result == 0) && (std::string(text.c_str()) == std::string("A:\n") + page_a + "B:\n" +
                                                              page_b + "C:\n" + page_c),
           "the page's arrays");

    capture info_out;
    const int rest = programs::info(1, argv) + programs::simple(1, argv) +
                     programs::capacity(1, argv) + programs::derived(1, argv);
    text = info_out.text();
    expect((rest == 0) && (text.find("SMs enabled. Compute Capability sm_") != std::string::npos),
           "the page's other programs");
    std::printf("%s", text.substr(0, text.find("\n\n") + 1).c_str());
}

/* "source_global, indicesCount, partitionsDevice->get()": a kernel on the context's stream, with
 * memory of the context. */
__global__ void scale(const int *source, int count, int factor, int *dest)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);

    if (i < count) {
        dest[i] = factor * source[i];
    }
}

void kernel_on_the_stream()
{
    ContextPtr       context = mgpu::CreateCudaDeviceStream(0);
    const int        count   = 1000000;
    MGPU_MEM(int)    source  = context->FillAscending<int>(count, 0, 1);
    MGPU_MEM(int)    dest    = context->Malloc<int>(count);
    std::vector<int> host;

    context->Start();
    scale<<<(count + 255) / 256, 256, 0, context->Stream()>>>(*source, count, 3, dest->get());
    MGPU_SYNC_CHECK("scale");
    expect(context->Split() > 0, "the timer");
    expect(mgpu::copyDtoD(source->get(), (const int *)dest->get(), count, context->Stream()) ==
               cudaSuccess, "copyDtoD");
    expect(source->ToHost(host) == cudaSuccess, "ToHost");
    for (int i = 0; i < count; i++) {
        if (host[i] != 3 * i) {
            expect(false, "a kernel on the context's stream");
            break;
        }
    }
}

/* ---- fills ---- */

template <typename F> double gigabytes_per_second(ContextPtr context, size_t bytes, F f)
{
    double best = 0;

    for (int i = 0; i < 5; i++) {
        Check(shpool_context_sync(context->Handle()));
        const auto begin = std::chrono::steady_clock::now();
        f();
        Check(shpool_context_sync(context->Handle()));
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
        const double rate = (double)bytes / seconds.count() / 1e9;

        best = rate > best ? rate : best;
    }
    return best;
}

/* Compare element i with the host's, which is computed in another way. */
template <typename T>
void fills(ContextPtr context, const char *name, T first, T step, T min, T max)
{
    const size_t      count = (mebibytes << 20) / sizeof(T) + 3;
    const shpool_type type  = mgpu::ElementType<T>();
    const size_t      bytes = count * sizeof(T);
    MGPU_MEM(T)       mem   = context->Malloc<T>(count);
    shpool_buffer    *b     = mem->Handle();
    std::vector<T>    want(count), got;
    shpool_random     on_device, on_host;

    shpool_random_init(&on_device, 7);
    for (int i = 0; i < 1000; i++) {
        (void)shpool_random_draw(&on_device);
    }
    on_host = on_device;
    Check(shpool_buffer_fill_random(b, &min, &max, &on_device));
    const auto begin = std::chrono::steady_clock::now();
    Check(shpool_random_fill(type, &min, &max, &on_host, count, want.data()));
    const std::chrono::duration<double> host_seconds = std::chrono::steady_clock::now() - begin;
    expect(mem->ToHost(got) == cudaSuccess, "ToHost");
    expect(std::memcmp(got.data(), want.data(), bytes) == 0, "random: device and host");
    expect(std::memcmp(&on_device, &on_host, sizeof(on_host)) == 0 ||
               shpool_random_draw(&on_device) == shpool_random_draw(&on_host),
           "random: where the generator is");

    Check(shpool_buffer_fill_ascending(b, &first, &step));
    for (size_t i = 0; i < count; i++) {
        want[i] = std::is_floating_point<T>::value
                      ? (T)std::fma((double)i, (double)step, (double)first)
                      : (T)((uint64_t)first + (uint64_t)i * (uint64_t)step);
    }
    expect(mem->ToHost(got) == cudaSuccess, "ToHost");
    expect(std::memcmp(got.data(), want.data(), bytes) == 0, "ascending: device and host");

    Check(shpool_buffer_fill(b, &max));
    expect(mem->ToHost(got) == cudaSuccess, "ToHost");
    want.assign(count, max);
    expect(std::memcmp(got.data(), want.data(), bytes) == 0, "fill");

    std::printf("%-8s fill %7.0f  ascending %7.0f  random %6.2f  (host draws %5.2f) GB/s\n", name,
                gigabytes_per_second(context, bytes, [&] { Check(shpool_buffer_fill(b, &max)); }),
                gigabytes_per_second(
                    context, bytes, [&] { Check(shpool_buffer_fill_ascending(b, &first, &step)); }),
                gigabytes_per_second(
                    context, bytes,
                    [&] { Check(shpool_buffer_fill_random(b, &min, &max, &on_device)); }),
                (double)bytes / host_seconds.count() / 1e9);
}

} // namespace

int main(int argc, char **argv)
{
    if ((argc > 1) && (std::atoi(argv[1]) > 0)) {
        mebibytes = (size_t)std::atoi(argv[1]);
    }
    if (mgpu::CudaDevice::DeviceCount() == 0) {
        std::printf("skipped: %s\n", shpool_last_error());
        return 77;
    }
    try {
        page_programs(); /* first: its numbers are the process's first draws */
        kernel_on_the_stream();
        ContextPtr context = mgpu::CreateCudaDeviceStream(0);
        fills<signed char>(context, "int8", -5, 3, -100, 100);
        fills<unsigned short>(context, "uint16", 7, 9, 0, 65535);
        fills<int>(context, "int32", 0, 5, -1000000, 1000000);
        fills<long long>(context, "int64", -1, 1ll << 33, -5, 1ll << 20);
        fills<float>(context, "float32", 0.5f, 0.1f, 0.0f, 10.0f);
        fills<double>(context, "float64", 1e10, -0.3, -1.0, 1.0);
    } catch (const std::exception &e) {
        std::printf("FAIL %s\n", e.what());
        failures++;
    }
    std::printf("gpu_buffers: %d failures\n", failures);
    return failures == 0 ? 0 : 1;
}
