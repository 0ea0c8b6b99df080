// SPDX-License-Identifier: BSD-3-Clause
// No host call of the library ends a capture: each is the first of its kind in a process of its own
// while a stream captures, in mode global, then thread-local and relaxed; for the stream that
// captures, for another one, and for the legacy stream beside a capture that is ordered with it.  A
// call works or is refused with a reason, and the graph is launched.
// Then memory of graphs goes all ways through captures, and words that are overwritten before their
// time are counted.  tests/device/test_capture.c and test_graph.c have the same calls of
// shpool/device.h and the same ways over the fake driver.
//
//   capture               all of it, 8 processes at a time
//   capture CALL PLACE    one call; ways@SPEC: the ways
#include <cstring>
#include <string>
#include <vector>

#include <sys/wait.h>

#include <shpool/layout.cuh>
#include <shpool/loadstore.cuh>
#include <shpool/shpool.cuh>

#include "device_check.cuh"
#include "tests/device/capture_calls.h"
#include "tests/device/graph_ways.h"

enum { CAPTURING, OUTSIDE, LEGACY, PLACES };

#define THREADS 64u

static __device__ void body(const shpool_pool &pool, unsigned *done)
{
    extern __shared__ __align__(16) unsigned char smem[];
    shpool_heap heap = shpool_init(&pool, smem);
    unsigned   *p    = static_cast<unsigned *>(shpool_malloc(heap, 64));

    if (p != nullptr) {
        *p = threadIdx.x;
        atomicAdd(done, (*p == threadIdx.x) ? 1u : 0u);
    }
    shpool_free(heap, p);
    shpool_fini(heap);
}

static __global__ void serve(shpool_pool pool, unsigned *done) { body(pool, done); }

static __global__ void serve_beside(shpool_pool pool, unsigned *done)
{
    __shared__ unsigned own[8 * 1024]; // 32 KiB, so that a pool of 20 KiB needs the opt-in

    own[threadIdx.x] = threadIdx.x;
    __syncthreads();
    body(pool, done + own[0]);
}

static __global__ void serve_greedy(shpool_pool pool, unsigned *done)
{
    float sum[200]; // registers: a block of 1,024 threads is refused

    for (int i = 0; i < 200; i++) {
        sum[i] = static_cast<float>(done[i & 7]);
    }
    for (int k = 0; k < static_cast<int>(pool.block_threads); k++) {
        for (int i = 0; i < 200; i++) {
            sum[i] = sum[i] * sum[(i + 7) % 200] + static_cast<float>(k);
        }
    }
    for (int i = 0; i < 200; i++) {
        atomicAdd(done, static_cast<unsigned>(sum[i]));
    }
}

// ---- calls of shpool.cuh ----

struct Subject {
    cudaStream_t stream;
    shpool_pool  pool;
    unsigned    *done;    // managed, 4,096 words
    bool         launched;
};

static shpool_status open_of(const char *spec, size_t bytes, shpool_pool *pool)
{
    shpool_config want = {};

    want.block_threads = THREADS;
    want.payload_bytes = static_cast<uint32_t>(bytes);
    return shpool_open(spec, &want, pool);
}

template <typename Kernel>
static shpool_status launch_of(Subject *s, Kernel kernel, const char *spec, size_t bytes,
                               unsigned threads)
{
    const shpool_status status = open_of(spec, bytes, &s->pool);

    s->launched = true;
    return (status == SHPOOL_OK) ? shpool_launch(kernel, 2, threads, s->stream, &s->pool, s->done)
                                 : status;
}

// `exact` bytes of dynamic shared memory, whatever the pool takes of them
static shpool_status launch_exact(Subject *s, unsigned exact)
{
    cudaLaunchConfig_t config = {};
    shpool_status      status = open_of("bitmap", 8192, &s->pool);
    void              *arguments[] = {&s->pool, &s->done};

    s->launched             = true;
    config.gridDim          = 2;
    config.blockDim         = THREADS;
    config.dynamicSmemBytes = exact - s->pool.shared_bytes;
    config.stream           = s->stream;
    return (status == SHPOOL_OK)
               ? shpool_launch_kernel(&config, reinterpret_cast<const void *>(serve), arguments,
                                      &s->pool) : status;
}

static shpool_status report_of(const char *spec, Subject *s)
{
    shpool_report_data report;
    shpool_status      status = open_of(spec, 8192, &s->pool);

    return (status == SHPOOL_OK) ? shpool_report(&s->pool, &report) : status;
}

typedef shpool::launch_box<shpool::tune<75, 128, 7>> box;

template <typename Box> SHPOOL_LAUNCH_BOUNDS(Box) void boxed(unsigned *out)
{
    typedef SHPOOL_LAUNCH_PARAMS(Box) params;

    out[threadIdx.x] = params::NT;
}

struct Call {
    const char   *name;
    shpool_status (*call)(Subject *s);
    shpool_status refused; // SHPOOL_OK: it works
};

static const Call calls[] = {
    {"open", [](Subject *s) { return open_of("bitmap", 8192, &s->pool); }, SHPOOL_OK},
    {"open_stats", [](Subject *s) { return open_of("bitmap:stats=1", 8192, &s->pool); }, SHPOOL_OK},
    {"open_spill", [](Subject *s) { return open_of("bitmap:spill=arena", 8192, &s->pool); },
     SHPOOL_OK},
    {"open_linked", [](Subject *s) { return open_of("bitmap:binding=linked", 8192, &s->pool); },
     SHPOOL_OK},
    {"report", [](Subject *s) { return report_of("bitmap:check=1", s); }, SHPOOL_OK},
    {"stats", [](Subject *s) {
         shpool_stats_data stats;
         shpool_status     status = open_of("bitmap:stats=1", 8192, &s->pool);
         return (status == SHPOOL_OK) ? shpool_stats(&s->pool, &stats) : status;
     }, SHPOOL_ERR_INVALID}, // no block has used the pool
    {"close", [](Subject *s) {
         shpool_status status = open_of("bitmap:stats=1", 8192, &s->pool);
         return (status == SHPOOL_OK) ? shpool_close(&s->pool) : status;
     }, SHPOOL_OK},
    {"close_trace", [](Subject *s) {
         shpool_status status = open_of("bitmap:trace=/dev/null", 8192, &s->pool);
         return (status == SHPOOL_OK) ? shpool_close(&s->pool) : status;
     }, SHPOOL_OK},
    {"allow_shared", [](Subject *) { return shpool_allow_shared(serve, 100000); }, SHPOOL_OK},
    {"occupancy", [](Subject *s) {
         int           blocks;
         shpool_status status = open_of("bitmap", 60000, &s->pool);
         return (status == SHPOOL_OK)
                    ? shpool_occupancy(reinterpret_cast<const void *>(serve), &s->pool, THREADS, 0,
                                       &blocks) : status;
     }, SHPOOL_OK},
    {"launch", [](Subject *s) { return launch_of(s, serve, "bitmap", 8192, THREADS); }, SHPOOL_OK},
    {"launch_stats", [](Subject *s) {
         return launch_of(s, serve, "bitmap:stats=1", 8192, THREADS);
     }, SHPOOL_OK},
    {"launch_48k", [](Subject *s) { return launch_exact(s, 48 * 1024); }, SHPOOL_OK},
    {"launch_more", [](Subject *s) { return launch_exact(s, 48 * 1024 + 16); }, SHPOOL_OK},
    {"launch_large", [](Subject *s) { return launch_of(s, serve, "bitmap", 90000, THREADS); },
     SHPOOL_OK},
    {"launch_beside", [](Subject *s) {
         return launch_of(s, serve_beside, "bitmap", 20000, THREADS);
     }, SHPOOL_OK},
    {"launch_linked", [](Subject *s) {
         return launch_of(s, serve, "bitmap:binding=linked", 60000, THREADS);
     }, SHPOOL_OK},
    {"launch_too_large", [](Subject *s) { return launch_exact(s, 300 * 1024); },
     SHPOOL_ERR_TOO_LARGE},
    {"launch_threads", [](Subject *s) {
         return launch_of(s, serve_greedy, "bitmap", 8192, 1024);
     }, SHPOOL_ERR_CUDA},
    {"launch_cluster", [](Subject *s) {
         shpool_status status = open_of("bitmap", 60000, &s->pool);
         s->launched = true;
         return (status == SHPOOL_OK)
                    ? shpool_launch_cluster(serve, 2, 2, THREADS, s->pool.shared_bytes, s->stream,
                                            s->pool, s->done) : status;
     }, SHPOOL_OK},
    {"layout_pack", [](Subject *s) {
         return shpool::layout_pack(s->done + 1024, 64, 4, 32, s->done + 2048, s->stream);
     }, SHPOOL_OK},
    {"layout_unpack", [](Subject *s) {
         return shpool::layout_unpack(s->done + 2048, 64, 4, 32, s->done + 1024, s->stream);
     }, SHPOOL_OK},
    {"launch_params", [](Subject *) {
         shpool::launch_shape shape;
         return shpool::launch_params<box>(boxed<box>, &shape);
     }, SHPOOL_OK},
};

// ---- ways ----

// One way of a block through captures (tests/device/graph_ways.h).
struct Way {
    shpool_device_allocator *allocator;
    size_t                   bytes;
    unsigned long long      *wrong;
    cudaStream_t             stream[GRAPH_STREAMS];
    void                    *ptr      = nullptr;
    unsigned                 tag      = 0;
    unsigned                 captures = 0;
    unsigned long long       pool     = 0; // open

    void use(cudaStream_t s, void *words)
    {
        tag_and_verify<<<1, 256, 0, s>>>(static_cast<unsigned *>(words), bytes / 4, ++tag, 1000000,
                                         wrong);
    }

    void order(int later, int earlier)
    {
        cudaEvent_t event = nullptr;

        gpu_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "event");
        gpu_cuda(cudaEventRecord(event, stream[earlier]), "record");
        gpu_cuda(cudaStreamWaitEvent(stream[later], event, 0), "wait");
        gpu_cuda(cudaEventDestroy(event), "destroy");
    }

    void begin(unsigned long long id)
    {
        pool = id;
        ok(shpool_device_capture_begin(allocator, pool, 1), "capture_begin");
        gpu_cuda(cudaStreamBeginCapture(stream[GRAPH_HOME], cudaStreamCaptureModeGlobal), "begin");
    }

    void end()
    {
        cudaStreamCaptureStatus forked = cudaStreamCaptureStatusNone;
        cudaGraph_t             graph  = nullptr;
        cudaGraphExec_t         exec   = nullptr;

        gpu_cuda(cudaStreamIsCapturing(stream[GRAPH_FORKED], &forked), "forked");
        if (forked != cudaStreamCaptureStatusNone) {
            order(GRAPH_HOME, GRAPH_FORKED);
        }
        gpu_cuda(cudaStreamEndCapture(stream[GRAPH_HOME], &graph), "end");
        ok(shpool_device_capture_end(allocator, pool, 1), "capture_end");
        gpu_cuda(cudaGraphInstantiate(&exec, graph, 0), "instantiate");
        gpu_cuda(cudaGraphLaunch(exec, stream[GRAPH_HOME]), "launch");
        gpu_cuda(cudaGraphLaunch(exec, stream[GRAPH_HOME]), "launch");
        gpu_cuda(cudaStreamSynchronize(stream[GRAPH_HOME]), "graph");
        cudaGraphExecDestroy(exec);
        cudaGraphDestroy(graph);
        captures++;
        pool = 0;
    }

    void finish()
    {
        cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;

        gpu_cuda(cudaThreadExchangeStreamCaptureMode(&mode), "mode");
        gpu_cuda(cudaStreamSynchronize(stream[GRAPH_OUTSIDE]), "outside");
        gpu_cuda(cudaThreadExchangeStreamCaptureMode(&mode), "mode");
    }

    const char *step(const char *at)
    {
        const bool   with = std::strchr("murf", at[0]) != nullptr;
        cudaStream_t s    = with ? stream[at[1] - '0'] : nullptr;
        void        *none = nullptr;

        switch (at[0]) {
        case 'm': ok(shpool_device_malloc(allocator, bytes, s, &ptr), "malloc"); break;
        case 'u': use(s, ptr); break;
        case 'r': ok(shpool_device_record_stream(allocator, ptr, s), "record"); break;
        case 'f': ok(shpool_device_free(allocator, ptr, s), "free"); break;
        case '(': begin(1); break;
        case '[': begin(2); break;
        case ')': end(); break;
        case '+': order(GRAPH_FORKED, GRAPH_HOME); break;
        case '-': order(GRAPH_HOME, GRAPH_FORKED); break;
        case 'o':
            gpu_check(shpool_device_malloc(allocator, static_cast<size_t>(1) << 40,
                                           stream[GRAPH_OUTSIDE], &none) == SHPOOL_ERR_NO_MEMORY,
                      "a terabyte");
            break;
        default: finish(); break;
        }
        return at + 1 + with;
    }
};

static void try_way(Way *w, const graph_way &way, unsigned ask)
{
    const cudaStream_t s = w->stream[way.asks[ask] - '0'];
    void              *next = nullptr;

    for (const char *at = way.steps; *at != '\0';) {
        at = w->step(at);
    }
    ok(shpool_device_malloc(w->allocator, w->bytes, s, &next), "malloc");
    w->use(s, next);
    ok(shpool_device_free(w->allocator, next, s), "free");
    if (w->pool != 0) {
        w->end();
    }
    gpu_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    gpu_check((next == w->ptr) == (way.get[ask] == 'y'), "%s, %zu bytes: stream %c %s the same "
              "memory", way.steps, w->bytes, way.asks[ask], (next == w->ptr) ? "has" : "has not");
    gpu_check(*w->wrong == 0, "%s, %zu bytes: %llu words were overwritten", way.steps, w->bytes,
              *w->wrong);
    for (unsigned i = 0; i < w->captures; i++) {
        ok(shpool_device_capture_release(
               w->allocator, ((i > 0) && (std::strchr(way.steps, '[') != nullptr)) ? 2 : 1, 1),
           "release");
    }
}

static void test_ways(const char *spec, size_t bytes)
{
    unsigned long long *wrong = nullptr;
    unsigned            tried = 0;

    if (!gpu_cuda(cudaMallocManaged(&wrong, sizeof(*wrong)), "cudaMallocManaged")) {
        return;
    }
    *wrong = 0;
    for (const graph_way &way : graph_ways) {
        for (unsigned ask = 0; way.asks[ask] != '\0'; ask++, tried++) {
            Way w = {nullptr, bytes, wrong, {}};

            if (!ok(shpool_device_allocator_open(spec, 0, &w.allocator), spec)) {
                return;
            }
            for (cudaStream_t &s : w.stream) {
                cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
            }
            try_way(&w, way, ask);
            for (cudaStream_t &s : w.stream) {
                ok(shpool_device_stream_retire(w.allocator, s), "retire");
                cudaStreamDestroy(s);
            }
            shpool_device_allocator_unref(w.allocator);
        }
    }
    std::printf("%s: %u ways of %zu bytes through captures, wrong words %llu\n", spec, tried, bytes,
                *wrong);
    cudaFree(wrong);
}

// ---- one call ----

static const char *const modes[] = {"global", "thread-local", "relaxed"};

// The capture, with a call inside; the graph is launched afterwards.
template <typename Function>
static void inside(const char *name, int place, int mode, cudaStream_t captured, unsigned *done,
                   Function call)
{
    cudaGraph_t     graph = nullptr;
    cudaGraphExec_t exec  = nullptr;
    cudaError_t     error;

    *done = 0;
    if (!gpu_cuda(cudaStreamBeginCapture(captured, static_cast<cudaStreamCaptureMode>(mode)),
                  "begin") ||
        !gpu_cuda(cudaMemsetAsync(done + 4095, 0, sizeof(unsigned), captured), "memset")) {
        return;
    }
    call();
    gpu_check(cudaPeekAtLastError() == cudaSuccess, "%s, place %d, %s: an error is left", name,
              place, modes[mode]);
    (void)cudaGetLastError();
    error = cudaStreamEndCapture(captured, &graph);
    if (gpu_check((error == cudaSuccess) && (graph != nullptr), "%s, place %d, %s: the capture "
                  "ended: %s", name, place, modes[mode], cudaGetErrorName(error)) &&
        gpu_cuda(cudaGraphInstantiate(&exec, graph, 0), "instantiate") &&
        gpu_cuda(cudaGraphLaunch(exec, captured), "launch")) {
        gpu_cuda(cudaDeviceSynchronize(), name);
    }
    (void)cudaGetLastError();
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
}

static void judge(const char *name, int place, int mode, shpool_status status,
                  shpool_status refused)
{
    gpu_check((status == refused) || (status == SHPOOL_ERR_CAPTURE), "%s, place %d, %s: status %d: "
              "%s", name, place, modes[mode], status, shpool_last_error());
    if ((mode == 0) && (status != SHPOOL_OK)) {
        std::printf("%s, place %d: %s\n", name, place, shpool_last_error());
    }
}

static void one_call(const Call &c, int place, cudaStream_t captured, cudaStream_t stream,
                     unsigned *done)
{
    for (int mode = 0; mode < 3; mode++) {
        Subject       s      = {stream, {}, done, false};
        shpool_status status = SHPOOL_OK;

        inside(c.name, place, mode, captured, done, [&] { status = c.call(&s); });
        judge(c.name, place, mode, status, c.refused);
        if (s.launched && (status == SHPOOL_OK)) {
            gpu_check(*done == 2 * THREADS, "%s, place %d, %s: %u served", c.name, place,
                      modes[mode], *done);
        }
        gpu_check(shpool_close(&s.pool) == SHPOOL_OK, "close: %s", shpool_last_error());
    }
}

static void one_of_device(const capture_call &c, const char *spec, int place,
                          cudaStream_t captured, cudaStream_t stream, unsigned *done)
{
    static unsigned host[CAPTURE_COUNT];
    cudaStream_t    other = nullptr;

    cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    for (int mode = 0; mode < 3; mode++) {
        capture_subject          s      = {};
        shpool_device_allocator *pooled = nullptr;
        shpool_status            status = SHPOOL_OK;

        s.spec   = spec;
        s.stream = stream;
        s.host   = host;
        if (!c.bare) {
            status = capture_prepare(&s, other);
            gpu_check(status == SHPOOL_OK, "%s: %s", c.name, shpool_last_error());
        }
        if ((mode != 0) && (s.allocator != nullptr) &&
            (shpool_device_capture_begin(s.allocator, 1, 1) == SHPOOL_OK)) {
            pooled = shpool_device_allocator_ref(s.allocator);
        }
        inside(c.name, place, mode, captured, done, [&] { status = c.call(&s); });
        gpu_check(status != SHPOOL_ERR_CUDA, "%s, %s, place %d, %s: status %d: %s", c.name, spec,
                  place, modes[mode], status, shpool_last_error());
        if (pooled != nullptr) {
            gpu_check(shpool_device_capture_end(pooled, 1, 1) == SHPOOL_OK, "end");
            gpu_check(shpool_device_capture_release(pooled, 1, 1) == SHPOOL_OK, "release");
        }
        capture_forget(&s);
        shpool_device_allocator_unref(pooled);
    }
}

static int child(const char *name, int place)
{
    cudaStream_t captured = nullptr;
    cudaStream_t stream   = nullptr;
    unsigned    *done     = nullptr;
    const char  *spec     = std::strchr(name, '@'); // of a device allocator
    std::string  call(name, (spec != nullptr) ? spec - name : std::strlen(name));

    gpu_need_device();
    if (!gpu_cuda(cudaStreamCreateWithFlags(&captured, (place == LEGACY) ? cudaStreamDefault
                                                                         : cudaStreamNonBlocking),
                  "stream") ||
        !gpu_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream") ||
        !gpu_cuda(cudaMallocManaged(&done, 4096 * sizeof(unsigned)), "cudaMallocManaged")) {
        return 1;
    }
    cudaMemset(done, 0, 4096 * sizeof(unsigned));
    cudaDeviceSynchronize();
    if ((spec != nullptr) && (call == "ways")) {
        test_ways(spec + 1, (place == 0) ? 4096 : place << 20);
    }
    stream = (place == CAPTURING) ? captured : (place == OUTSIDE) ? stream : nullptr;
    for (const Call &c : calls) {
        if ((spec == nullptr) && (call == c.name)) {
            one_call(c, place, captured, stream, done);
        }
    }
    for (const capture_call &c : capture_calls) {
        if ((spec != nullptr) && (call == c.name)) {
            one_of_device(c, spec + 1, place, captured, stream, done);
        }
    }
    std::fflush(stdout);
    return (gpu_failed != 0) || (gpu_passed == 0);
}

// ---- all of them ----

static void reap(unsigned *running)
{
    int status = 1;

    if (wait(&status) > 0) {
        --*running;
        if (WIFEXITED(status) && (WEXITSTATUS(status) == 77)) {
            std::exit(77);
        }
        gpu_check(WIFEXITED(status) && (WEXITSTATUS(status) == 0), "a call failed, see above");
    }
}

int main(int argc, char **argv)
{
    static const char *const specs[] = {"bins", "bins:memory=driver"};
    static const char *const few[]   = {"async", "simple", "buckets", "guard|bins"};
    std::vector<std::string> names;
    unsigned                 running = 0;

    if (argc == 3) {
        return child(argv[1], std::atoi(argv[2]));
    }
    for (const Call &c : calls) {
        names.push_back(c.name);
    }
    names.push_back("ways@bins:memory=vmm");
    names.push_back("ways@bins:memory=driver");
    for (const capture_call &c : capture_calls) {
        names.push_back(std::string(c.name) + "@" + specs[names.size() % 2]);
        for (const char *spec : few) {
            if ((std::strcmp(c.name, "first_malloc") == 0) || (std::strcmp(c.name, "trim") == 0) ||
                (std::strcmp(c.name, "record_free") == 0)) {
                names.push_back(std::string(c.name) + "@" + spec);
            }
        }
    }
    // this process uses no CUDA: its children are not forks of one that does
    for (const std::string &name : names) {
        for (int place = 0; place < PLACES; place++) {
            const std::string at  = std::to_string(place);
            const pid_t       pid = fork();

            if (pid == 0) {
                execl("/proc/self/exe", argv[0], name.c_str(), at.c_str(), nullptr);
                _exit(1);
            }
            gpu_check(pid > 0, "fork");
            if (++running == 8) {
                reap(&running);
            }
        }
    }
    while (running > 0) {
        reap(&running);
    }
    std::printf("%zu calls, %d places, 3 modes\n", names.size(), PLACES);
    return gpu_summary();
}
