// SPDX-License-Identifier: BSD-3-Clause
// Device allocators on a GPU, bins with both kinds of memory (it must support virtual memory):
// kernels tag every block and verify the tag before the next hand-over, large blocks move,
// graphs are captured and launched while others allocate, two devices work side by side.
//
//   gpu_device [--handovers N] [--every 8] [--allocator SPEC]   one hand-over in 8 has a kernel
//   gpu_device --two 1                              only tests that need two GPUs; 77 with one
//   gpu_device --captures 1                         only captures and the legacy stream
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "device_check.cuh"

static const int STREAMS = 8;
static unsigned  every   = 8; // hand-overs for one with a kernel

__global__ void write_tag(unsigned *words, size_t count, unsigned tag)
{
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        words[i] = tag + static_cast<unsigned>(i);
    }
}

__global__ void read_tag(const unsigned *words, size_t count, unsigned tag,
                         unsigned long long *wrong)
{
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        if (words[i] != tag + static_cast<unsigned>(i)) {
            atomicAdd(wrong, 1ull);
        }
    }
}

struct Random {
    unsigned long long state;
    unsigned below(unsigned n)
    {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        return static_cast<unsigned>((state >> 33) % n);
    }
};

// One thread: streams of its own, blocks handed from one to the next as fast as it goes.
static void hand_over(int device, shpool_device_allocator *allocator, unsigned long long operations,
                      unsigned seed, unsigned long long *wrong, unsigned long long *done)
{
    Random       random = {seed};
    cudaStream_t stream[STREAMS];
    cudaEvent_t  event;

    cudaSetDevice(device);
    cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    for (int i = 0; i < STREAMS; i++) {
        cudaStreamCreateWithFlags(&stream[i],
                                  (i % 2) ? cudaStreamNonBlocking : cudaStreamDefault);
        if (i % 3 == 0) {
            ok(shpool_device_stream_stable(allocator, stream[i]), "stable");
        }
    }
    for (unsigned long long i = 0; i < operations; i++) {
        cudaStream_t s     = stream[random.below(STREAMS)];
        size_t       bytes = 256u << random.below(9);
        void        *ptr   = nullptr;

        if (shpool_device_malloc(allocator, bytes, s, &ptr) != SHPOOL_OK) {
            ok(SHPOOL_ERR_NO_MEMORY, "malloc");
            break;
        }
        // a kernel for some: the others only move the memory on
        if (i % every == 0) {
            tag_and_verify<<<1, 64, 0, s>>>(static_cast<unsigned *>(ptr), bytes / 4,
                                            static_cast<unsigned>(i * 2654435761u + seed),
                                            static_cast<int>(random.below(4000)), wrong);
        }
        if (random.below(4) == 0) { // freed on another stream, after an event
            cudaStream_t other = stream[random.below(STREAMS)];

            cudaEventRecord(event, s);
            cudaStreamWaitEvent(other, event, 0);
            s = other;
        } else if (random.below(64) == 0) { // or used by one that is only named
            cudaStream_t other = stream[random.below(STREAMS)];

            cudaEventRecord(event, s);
            cudaStreamWaitEvent(other, event, 0);
            tag_and_verify<<<1, 64, 0, other>>>(static_cast<unsigned *>(ptr), bytes / 4,
                                                static_cast<unsigned>(i), 2000, wrong);
            shpool_device_record_stream(allocator, ptr, other);
        }
        if (shpool_device_free(allocator, ptr, s) != SHPOOL_OK) {
            ok(SHPOOL_ERR_INVALID, "free");
            break;
        }
        ++*done;
    }
    for (int i = 0; i < STREAMS; i++) {
        shpool_device_stream_retire(allocator, stream[i]);
        gpu_cuda(cudaStreamSynchronize(stream[i]), "synchronize");
        cudaStreamDestroy(stream[i]);
    }
    cudaEventDestroy(event);
}

static void test_hand_overs(int device, const char *spec, unsigned long long operations,
                            int threads)
{
    shpool_device_allocator         *allocator = nullptr;
    unsigned long long              *wrong     = nullptr;
    unsigned long long               done[16]  = {0};
    unsigned long long               sum       = 0;
    std::vector<std::thread>         all;
    shpool_device_stats              stats;

    cudaSetDevice(device);
    if (!ok(shpool_device_allocator_open(spec, device, &allocator), spec) ||
        !gpu_cuda(cudaMallocManaged(&wrong, sizeof(*wrong)), "cudaMallocManaged")) {
        return;
    }
    *wrong = 0;
    for (int i = 0; i < threads; i++) {
        all.emplace_back(hand_over, device, allocator, operations / threads, i + 1, wrong,
                         &done[i]);
    }
    for (std::thread &t : all) {
        t.join();
    }
    gpu_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    for (int i = 0; i < threads; i++) {
        sum += done[i];
    }
    gpu_check(*wrong == 0, "%s: %llu words were overwritten before their time", spec, *wrong);
    ok(shpool_device_check(allocator), "check");
    ok(shpool_device_get_stats(allocator, &stats), "stats");
    std::printf("device %d %-24s %d threads %llu hand-overs, wrong words %llu, hits %llu done %llu "
                "wait %llu misses %llu events %llu driver MiB %llu\n", device, spec, threads, sum,
                *wrong, (unsigned long long)stats.hits, (unsigned long long)stats.hits_done,
                (unsigned long long)stats.hits_wait, (unsigned long long)stats.misses,
                (unsigned long long)stats.events_recorded,
                (unsigned long long)(stats.driver_bytes_peak >> 20));
    cudaFree(wrong);
    shpool_device_allocator_unref(allocator);
}

// Large blocks of varying sizes on several streams, more than fit without moving memory: each is
// read completely before it is freed.  Prints reserved over live bytes, at the peaks.
static void test_varied(const char *spec, int rounds)
{
    static const int                 SLOTS = 64;
    shpool_device_allocator         *allocator = nullptr;
    unsigned long long              *wrong     = nullptr;
    Random                           random    = {1};
    cudaStream_t                     stream[4];
    struct { unsigned *ptr; size_t bytes; int at; unsigned tag; } slot[SLOTS] = {};
    size_t                           live = 0;
    size_t                           peak = 0;
    shpool_device_stats              stats;

    cudaSetDevice(0);
    if (!ok(shpool_device_allocator_open(spec, 0, &allocator), spec) ||
        !gpu_cuda(cudaMalloc(&wrong, sizeof(*wrong)), "cudaMalloc")) {
        return;
    }
    cudaMemset(wrong, 0, sizeof(*wrong));
    for (cudaStream_t &s : stream) {
        cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
        ok(shpool_device_stream_stable(allocator, s), "stable");
    }
    for (int i = 0; i < rounds + SLOTS; i++) {
        auto &s = slot[(i < rounds) ? random.below(SLOTS) : i - rounds];

        if (s.ptr != nullptr) {
            read_tag<<<64, 256, 0, stream[s.at]>>>(s.ptr, s.bytes / 4, s.tag, wrong);
            ok(shpool_device_free(allocator, s.ptr, stream[s.at]), "free");
            live -= s.bytes;
            s.ptr = nullptr;
        } else if (i < rounds) {
            void *ptr = nullptr;

            s.bytes = (random.below(4) == 0) ? 4u * (1 + random.below(200000))
                                             : 4u * (1 + random.below(16u << 20));
            s.at    = static_cast<int>(random.below(4));
            s.tag   = i * 2654435761u;
            if (shpool_device_malloc(allocator, s.bytes, stream[s.at], &ptr) != SHPOOL_OK) {
                continue; // `hard` is reached by live blocks
            }
            s.ptr = static_cast<unsigned *>(ptr);
            write_tag<<<64, 256, 0, stream[s.at]>>>(s.ptr, s.bytes / 4, s.tag);
            live += s.bytes;
            peak = (live > peak) ? live : peak;
        }
        if (i % 1000 == 999) {
            ok(shpool_device_check(allocator), "check");
            ok(shpool_device_trim(allocator, 256u << 20), "trim");
        }
    }
    unsigned long long count = 1;
    gpu_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    gpu_cuda(cudaMemcpy(&count, wrong, sizeof(count), cudaMemcpyDeviceToHost), "cudaMemcpy");
    gpu_check(count == 0, "%s: %llu words were overwritten before their time", spec, count);
    ok(shpool_device_check(allocator), "check");
    ok(shpool_device_get_stats(allocator, &stats), "stats");
    std::printf("varied %-32s wrong words %llu, reserved/live %.3f of %zu MiB\n", spec, count,
                static_cast<double>(stats.driver_bytes_peak) / static_cast<double>(peak),
                peak >> 20);
    ok(shpool_device_trim(allocator, 0), "trim");
    ok(shpool_device_get_stats(allocator, &stats), "stats");
    gpu_check(stats.driver_bytes == 0, "%s: %llu bytes are reserved after trim", spec,
              static_cast<unsigned long long>(stats.driver_bytes));
    for (cudaStream_t s : stream) {
        ok(shpool_device_stream_retire(allocator, s), "retire");
        cudaStreamDestroy(s);
    }
    cudaFree(wrong);
    shpool_device_allocator_unref(allocator);
}

// A graph whose memory comes from the allocator is launched while others allocate.
static void test_graph(const char *spec)
{
    shpool_device_allocator *allocator = nullptr;
    unsigned long long      *wrong     = nullptr;
    cudaStream_t             stream;
    cudaStream_t             other;
    cudaGraph_t              graph = nullptr;
    cudaGraphExec_t          exec  = nullptr;
    void                    *a     = nullptr;
    void                    *b     = nullptr;

    cudaSetDevice(0);
    if (!ok(shpool_device_allocator_open(spec, 0, &allocator), spec)) {
        return;
    }
    cudaMallocManaged(&wrong, sizeof(*wrong));
    *wrong = 0;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    tag_and_verify<<<1, 64, 0, stream>>>(nullptr, 0, 0, 0, wrong); // loads the module
    gpu_cuda(cudaStreamSynchronize(stream), "warm-up");

    ok(shpool_device_capture_begin(allocator, 1, 2), "capture_begin");
    gpu_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "begin capture");
    ok(shpool_device_malloc(allocator, 1 << 20, stream, &a), "malloc in a capture");
    ok(shpool_device_malloc(allocator, 30 << 20, stream, &b), "large malloc in a capture");
    tag_and_verify<<<1, 256, 0, stream>>>(static_cast<unsigned *>(a), 1 << 18, 0x11111111, 100000,
                                          wrong);
    tag_and_verify<<<1, 256, 0, stream>>>(static_cast<unsigned *>(b), 1 << 18, 0x22222222, 100000,
                                          wrong);
    ok(shpool_device_free(allocator, a, stream), "free in a capture");
    ok(shpool_device_free(allocator, b, stream), "free in a capture");
    gpu_cuda(cudaStreamEndCapture(stream, &graph), "end capture");
    ok(shpool_device_capture_end(allocator, 1, 2), "capture_end");
    gpu_cuda(cudaGraphInstantiate(&exec, graph, 0), "instantiate");
    for (int i = 0; i < 500; i++) {
        void *mine = nullptr;

        gpu_cuda(cudaGraphLaunch(exec, stream), "launch");
        ok(shpool_device_malloc(allocator, 1 << 20, other, &mine), "malloc beside a graph");
        tag_and_verify<<<1, 256, 0, other>>>(static_cast<unsigned *>(mine), 1 << 18, i, 50000,
                                             wrong);
        ok(shpool_device_free(allocator, mine, other), "free beside a graph");
        if (i % 100 == 0) {
            ok(shpool_device_trim(allocator, 0), "trim beside a graph");
        }
    }
    gpu_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    gpu_check(*wrong == 0, "graph: %llu words were overwritten", *wrong);
    std::printf("graph: 500 launches, wrong words %llu\n", *wrong);
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    ok(shpool_device_capture_release(allocator, 1, 2), "capture_release");
    ok(shpool_device_stream_retire(allocator, stream), "retire");
    ok(shpool_device_stream_retire(allocator, other), "retire");
    cudaStreamDestroy(stream);
    cudaStreamDestroy(other);
    ok(shpool_device_check(allocator), "check");
    cudaFree(wrong);
    shpool_device_allocator_unref(allocator);
}

static void test_context()
{
    shpool_context        *context = nullptr;
    shpool_context_options options = {};
    char                   text[1024];
    double                 seconds = 0.0;
    int                    before  = -1;
    int                    after   = -1;

    options.bytes = sizeof(options);
    options.flags = SHPOOL_CONTEXT_NEW_STREAM;
    cudaSetDevice(0);
    cudaGetDevice(&before);
    if (!ok(shpool_context_create(&options, &context), "context")) {
        return;
    }
    ok(shpool_context_describe(context, text, sizeof(text), nullptr), "describe");
    std::printf("%s", text);
    ok(shpool_timer_start(context), "timer");
    tag_and_verify<<<1, 32, 0, shpool_context_stream(context)>>>(nullptr, 0, 0, 10000000, nullptr);
    ok(shpool_timer_split(context, &seconds), "split");
    gpu_check((seconds > 0.001) && (seconds < 1.0), "ten million cycles took %g s", seconds);
    cudaGetDevice(&after);
    gpu_check(before == after, "the current device changed");
    gpu_check(cudaPeekAtLastError() == cudaSuccess, "an error is left in the runtime");
    shpool_context_unref(context);
}

// A refused request leaves nothing allocated.
static void test_out_of_memory(const char *spec)
{
    shpool_device_allocator *allocator = nullptr;
    void                    *ptr       = nullptr;

    if (!ok(shpool_device_allocator_open(spec, 0, &allocator), spec)) {
        return;
    }
    gpu_check(shpool_device_malloc(allocator, static_cast<size_t>(1) << 40, nullptr, &ptr) ==
                  SHPOOL_ERR_NO_MEMORY, "a terabyte");
    std::printf("%s\n", shpool_last_error());
    gpu_check(cudaGetLastError() == cudaSuccess, "an error is left in the runtime");
    ok(shpool_device_malloc(allocator, 1 << 20, nullptr, &ptr), "malloc after it");
    shpool_device_allocator_unref(allocator);
}

// A capture on a blocking stream: the legacy stream may not be touched meanwhile, and is not,
// although it holds memory that others want.
static void test_legacy_beside_a_capture(const char *spec)
{
    shpool_device_allocator *allocator = nullptr;
    cudaStream_t             stream;
    cudaStream_t             other;
    cudaGraph_t              graph = nullptr;
    void                    *ptr   = nullptr;

    cudaSetDevice(0);
    if (!ok(shpool_device_allocator_open(spec, 0, &allocator), spec)) {
        return;
    }
    cudaStreamCreate(&stream);
    cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    ok(shpool_device_stream_stable(allocator, other), "stable");
    tag_and_verify<<<1, 64, 0, other>>>(nullptr, 0, 0, 0, nullptr); // loads the module
    gpu_cuda(cudaDeviceSynchronize(), "warm-up");
    ok(shpool_device_malloc(allocator, 3 << 20, nullptr, &ptr), "malloc");
    tag_and_verify<<<1, 64>>>(static_cast<unsigned *>(ptr), 64, 1, 100000, nullptr);
    ok(shpool_device_free(allocator, ptr, nullptr), "free");
    ok(shpool_device_capture_begin(allocator, 5, 5), "capture_begin");
    gpu_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), "begin capture");
    ok(shpool_device_malloc(allocator, 1 << 20, stream, &ptr), "malloc in a capture");
    tag_and_verify<<<1, 64, 0, stream>>>(static_cast<unsigned *>(ptr), 64, 1, 0, nullptr);
    for (int i = 0; i < 3; i++) { // requests the legacy stream's memory, and its own is wanted
        ok(shpool_device_malloc(allocator, 3 << 20, other, &ptr), "malloc beside a capture");
        ok(shpool_device_free(allocator, ptr, other), "free beside a capture");
        ok(shpool_device_malloc(allocator, (5 + i) << 20, nullptr, &ptr), "malloc on legacy");
        ok(shpool_device_free(allocator, ptr, nullptr), "free on legacy");
    }
    ok(shpool_device_trim(allocator, 0), "trim in a capture"); // as when a capture needs room
    gpu_cuda(cudaStreamEndCapture(stream, &graph), "the capture goes on to its end");
    gpu_check(graph != nullptr, "no graph");
    ok(shpool_device_capture_end(allocator, 5, 5), "capture_end");
    std::printf("legacy stream beside a capture: left alone\n");
    cudaGraphDestroy(graph);
    ok(shpool_device_capture_release(allocator, 5, 5), "capture_release");
    ok(shpool_device_stream_retire(allocator, stream), "retire");
    ok(shpool_device_stream_retire(allocator, other), "retire");
    cudaDeviceSynchronize();
    cudaStreamDestroy(stream);
    cudaStreamDestroy(other);
    shpool_device_allocator_unref(allocator);
}

// Both devices from one thread, which never changes its own; then hand-overs on both at once.
static void test_two(unsigned long long handovers)
{
    shpool_device_allocator *allocator[2] = {nullptr, nullptr};
    shpool_context          *context[2][2];
    unsigned long long       sum     = 0;
    int                      current = -1;

    cudaSetDevice(0);
    for (int d = 0; d < 2; d++) {
        shpool_context_options options = {};

        options.bytes  = sizeof(options);
        options.flags  = SHPOOL_CONTEXT_NEW_STREAM;
        options.device = d;
        ok(shpool_device_allocator_open("bins", d, &allocator[d]), "bins");
        for (int i = 0; i < 2; i++) {
            if (!ok(shpool_context_create(&options, &context[d][i]), "context") ||
                !ok(shpool_context_set_allocator(context[d][i], allocator[d]), "allocator")) {
                return;
            }
        }
    }
    for (unsigned i = 0; i < 2000; i++) { // filled on one stream, freed on the other
        int            d     = i % 2;
        shpool_stream  first = shpool_context_stream(context[d][0]);
        shpool_stream  next  = shpool_context_stream(context[d][1]);
        size_t         count = 256u << (i / 2 % 9);
        shpool_buffer *a     = nullptr;
        shpool_buffer *b     = nullptr;
        unsigned       value = i * 2654435761u;
        unsigned       back[2] = {0, 0};
        void          *ptr   = nullptr;
        cudaPointerAttributes where;

        ok(shpool_device_malloc(allocator[d], 4 * count, first, &ptr), "malloc");
        gpu_cuda(cudaPointerGetAttributes(&where, ptr), "cudaPointerGetAttributes");
        gpu_check(where.device == d, "memory of device %d is on device %d", d, where.device);
        ok(shpool_device_record_stream(allocator[d], ptr, next), "record_stream");
        ok(shpool_device_free(allocator[d], ptr, first), "free");
        ok(shpool_buffer_create(context[d][0], SHPOOL_TYPE_U32, count, &a), "buffer");
        ok(shpool_buffer_fill(a, &value), "fill");
        ok(shpool_buffer_create(context[d][1], SHPOOL_TYPE_U32, count, &b), "buffer");
        ok(shpool_buffer_copy(b, 0, a, 0, count), "copy");
        shpool_buffer_unref(a); // at once: its memory waits for the copy
        ok(shpool_buffer_to_host(b, 0, 1, &back[0]), "to_host");
        ok(shpool_buffer_to_host(b, count - 1, 1, &back[1]), "to_host");
        gpu_check((back[0] == value) && (back[1] == value), "device %d: %u and %u, not %u", d,
                  back[0], back[1], value);
        sum += (back[0] == value) && (back[1] == value);
        shpool_buffer_unref(b);
    }
    cudaGetDevice(&current);
    gpu_check(current == 0, "the current device became %d", current);
    for (int d = 0; d < 2; d++) {
        ok(shpool_device_check(allocator[d]), "check");
        for (int i = 0; i < 2; i++) {
            shpool_context_unref(context[d][i]);
        }
        shpool_device_allocator_unref(allocator[d]);
    }
    std::printf("two devices: %llu of 2000 right, the caller's stayed current\n", sum);
    std::thread second(test_hand_overs, 1, "bins", handovers, 2);
    test_hand_overs(0, "bins", handovers, 2);
    second.join();
}

// Memory of device 0 that device 0 writes, device 1 reads and writes, and device 0 reads.
static void pass_on(void *ptr, size_t bytes, unsigned tag, unsigned long long *wrong)
{
    unsigned *words = static_cast<unsigned *>(ptr);

    for (int turn = 0; turn < 2; turn++) {
        cudaSetDevice(turn);
        write_tag<<<64, 256>>>(words, bytes / 4, tag + turn);
        gpu_cuda(cudaDeviceSynchronize(), "write");
        cudaSetDevice(1 - turn);
        read_tag<<<64, 256>>>(words, bytes / 4, tag + turn, wrong);
        gpu_cuda(cudaDeviceSynchronize(), "read");
    }
    cudaSetDevice(0);
}

// A peer reaches what was mapped before it was named, what is mapped later, memory that has moved,
// and a window; and the blocks whose memory a window has borrowed.
static void test_peers(const char *spec, bool named)
{
    static const int         BLOCKS    = 10;
    static const size_t      MIB       = 1u << 20;
    shpool_device_allocator *allocator = nullptr;
    unsigned long long      *wrong     = nullptr;
    void                    *ptr[BLOCKS];
    void                    *large = nullptr;

    cudaSetDevice(0);
    if (!ok(shpool_device_allocator_open(spec, 0, &allocator), spec) ||
        !gpu_cuda(cudaMallocManaged(&wrong, sizeof(*wrong)), "cudaMallocManaged")) {
        return;
    }
    *wrong = 0;
    for (int i = 0; i < BLOCKS; i++) {
        ok(shpool_device_malloc(allocator, 20 * MIB, nullptr, &ptr[i]), "malloc");
        if (!named && (i == BLOCKS / 2)) {
            ok(shpool_device_set(allocator, "peer", "1"), "peer=1");
        }
    }
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < BLOCKS; i++) {
            pass_on(ptr[i], 20 * MIB, 1000u * round + i, wrong);
        }
        for (int i = 0; i < BLOCKS; i += 2) {
            ok(shpool_device_free(allocator, ptr[i], nullptr), "free");
        }
        ok(shpool_device_malloc(allocator, (80 + round) * MIB, nullptr, &large), "window");
        pass_on(large, (80 + round) * MIB, 77u + round, wrong);
        ok(shpool_device_free(allocator, large, nullptr), "free");
        for (int i = 0; i < BLOCKS; i += 2) {
            ok(shpool_device_malloc(allocator, 20 * MIB, nullptr, &ptr[i]), "malloc");
        }
    }
    gpu_check(*wrong == 0, "%s: %llu words are wrong", spec, *wrong);
    ok(shpool_device_check(allocator), "check");
    std::printf("peers %s: wrong words %llu\n", spec, *wrong);
    for (void *one : ptr) {
        ok(shpool_device_free(allocator, one, nullptr), "free");
    }
    cudaFree(wrong);
    shpool_device_allocator_unref(allocator);
}

// All that needs two devices.
static void test_both(unsigned long long handovers)
{
    int can = 0;

    test_two(handovers);
    (void)cudaDeviceCanAccessPeer(&can, 1, 0);
    if (can) {
        test_peers("bins:memory=vmm,peer=all", true);
        test_peers("bins:memory=vmm", false);
    } else {
        std::printf("device 1 cannot reach device 0: nothing is said about peers\n");
    }
}

static const char *const kinds[] = {"bins:memory=driver", "bins:memory=vmm"};

static int done()
{
    std::printf("%u checks passed, %u failed\n", gpu_passed, gpu_failed);
    return (gpu_failed == 0) ? 0 : 1;
}

int main(int argc, char **argv)
{
    unsigned long long handovers = 200000;
    const char        *spec      = nullptr;
    bool               two       = false;
    bool               captures  = false;
    int                devices   = 0;

    for (int i = 1; i + 1 < argc; i += 2) {
        if (std::strcmp(argv[i], "--handovers") == 0) {
            handovers = std::strtoull(argv[i + 1], nullptr, 10);
        } else if (std::strcmp(argv[i], "--allocator") == 0) {
            spec = argv[i + 1];
        } else if (std::strcmp(argv[i], "--every") == 0) {
            every = static_cast<unsigned>(std::strtoul(argv[i + 1], nullptr, 10));
            every = (every > 0) ? every : 1;
        } else if (std::strcmp(argv[i], "--two") == 0) {
            two = true;
        } else if (std::strcmp(argv[i], "--captures") == 0) {
            captures = true;
        }
    }
    if ((cudaGetDeviceCount(&devices) != cudaSuccess) || (devices == 0)) {
        std::printf("no CUDA device\n");
        return 77;
    }
    if (two && (devices < 2)) {
        std::printf("one device: nothing is said about two\n");
        return 77;
    }
    if (two) {
        test_both(handovers);
        return done();
    }
    if (captures) {
        for (const char *kind : kinds) {
            test_legacy_beside_a_capture((std::string(kind) + ",soft=8M").c_str());
            test_graph(kind);
        }
        return done();
    }
    test_context();
    if (spec != nullptr) {
        test_hand_overs(0, spec, handovers, 4);
    } else {
        for (const char *kind : kinds) {
            test_hand_overs(0, kind, handovers, 1);
            test_hand_overs(0, kind, handovers, 8);
            test_hand_overs(0, (std::string(kind) + ",soft=4M").c_str(), handovers, 4);
            test_varied(kind, 4000);
            test_varied((std::string(kind) + ",hard=1G").c_str(), 4000);
            test_graph(kind);
            test_legacy_beside_a_capture((std::string(kind) + ",soft=8M").c_str());
            test_out_of_memory(kind);
        }
        test_hand_overs(0, "buckets", handovers / 4, 4);
        test_hand_overs(0, "async", handovers / 4, 4);
    }
    if (devices > 1) {
        test_both(handovers);
    } else {
        std::printf("one device: nothing is said about two\n");
    }
    return done();
}
