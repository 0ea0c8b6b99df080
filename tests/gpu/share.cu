// SPDX-License-Identifier: BSD-3-Clause
// Device memory that processes share, on a GPU: each role is a process of its own, which runs this
// program again.  With two GPUs, importers also run on the other one.
//
//   share [--two 1]     only the tests that need two GPUs; 77 with one
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <string>
#include <sys/socket.h>
#include <sys/wait.h>

#include "check.h"

#include <shpool/device.h>

static const size_t   BYTES = (size_t(6) << 20) + 100; // three granules and a part of one
static const unsigned WORDS = unsigned(BYTES / 4);

static __global__ void fill(unsigned *out, unsigned count, unsigned value)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count;
         i += gridDim.x * blockDim.x) {
        out[i] = value + i;
    }
}

static __global__ void compare(const unsigned *in, unsigned count, unsigned value,
                               unsigned long long *wrong)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count;
         i += gridDim.x * blockDim.x) {
        if (in[i] != value + i) {
            atomicAdd(wrong, 1ull);
        }
    }
}

static bool ok(shpool_status status, const char *what)
{
    return gpu_check(status == SHPOOL_OK, "%s: %s: %s", what, shpool_strerror(status),
                     shpool_last_error());
}

// A status that is not success, and says why.
static void refused(shpool_status status, const char *what)
{
    (void)gpu_check((status != SHPOOL_OK) && (shpool_last_error()[0] != '\0'), "%s was accepted",
                    what);
    std::printf("  %s: %s\n", what, shpool_last_error());
}

static void write_words(void *ptr, unsigned value)
{
    fill<<<64, 256>>>(static_cast<unsigned *>(ptr), WORDS, value);
    gpu_wait("fill");
}

static void expect_words(const void *ptr, unsigned value, const char *when)
{
    unsigned long long *wrong = nullptr;

    (void)gpu_cuda(cudaMallocManaged(&wrong, sizeof(*wrong)), "cudaMallocManaged");
    *wrong = 0;
    compare<<<64, 256>>>(static_cast<const unsigned *>(ptr), WORDS, value, wrong);
    gpu_wait("compare");
    (void)gpu_check(*wrong == 0, "%s: %llu of %u words are wrong", when, *wrong, WORDS);
    (void)cudaFree(wrong);
}

// ---- the other process ----

static void say(int socket)
{
    char word = 'x';

    (void)gpu_check(write(socket, &word, 1) == 1, "the other process does not listen: %s",
                    std::strerror(errno));
}

// False: the other end is closed.
static bool hear(int socket)
{
    char word;

    return read(socket, &word, 1) == 1;
}

struct Process {
    pid_t pid;
    int   socket;
};

// This program again, in a role; it inherits its end of the socket.
static Process start(const char *role, int device)
{
    Process     process = {-1, -1};
    int         ends[2];
    std::string end;
    std::string on = std::to_string(device);

    if (!gpu_check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "socketpair")) {
        std::exit(1);
    }
    end                = std::to_string(ends[1]);
    char *arguments[]  = {const_cast<char *>("share"), const_cast<char *>(role), &end[0], &on[0],
                          nullptr};
    (void)fflush(stdout);
    process.pid = fork();
    if (process.pid == 0) {
        (void)fcntl(ends[1], F_SETFD, 0);
        (void)alarm(240);
        (void)execv("/proc/self/exe", arguments);
        _exit(127);
    }
    close(ends[1]);
    process.socket = ends[0];
    return process;
}

// The status as waitpid() gives it.
static int finish(const Process &process)
{
    int status = -1;

    close(process.socket);
    (void)waitpid(process.pid, &status, 0);
    return status;
}

static unsigned open_descriptors()
{
    DIR     *folder = opendir("/proc/self/fd");
    unsigned count  = 0;

    while ((folder != nullptr) && (readdir(folder) != nullptr)) {
        count++;
    }
    closedir(folder);
    return count;
}

// ---- steps ----

static shpool_device_allocator *open_shared(int device)
{
    shpool_device_allocator *allocator = nullptr;

    (void)cudaSetDevice(device);
    if (!ok(shpool_device_allocator_open("bins:share=1", device, &allocator), "open")) {
        std::exit(1);
    }
    return allocator;
}

static void *allocate(shpool_device_allocator *allocator)
{
    void *ptr = nullptr;

    if (!ok(shpool_device_malloc(allocator, BYTES, SHPOOL_STREAM_LEGACY, &ptr), "malloc")) {
        std::exit(1);
    }
    return ptr;
}

static void release(shpool_device_allocator *allocator, void *ptr)
{
    (void)ok(shpool_device_free(allocator, ptr, SHPOOL_STREAM_LEGACY), "free");
}

static void send(int socket, shpool_device_allocator *allocator, const void *ptr)
{
    shpool_device_handle handle;

    (void)ok(shpool_device_export(allocator, ptr, &handle), "export");
    (void)gpu_check(fcntl(handle.fd, F_GETFD) == FD_CLOEXEC, "exec() would keep the descriptor");
    (void)ok(shpool_device_handle_send(socket, &handle), "send");
    shpool_device_handle_close(&handle);
}

static shpool_device_import *receive(int socket, int device)
{
    shpool_device_handle  handle;
    shpool_device_import *import = nullptr;

    (void)ok(shpool_device_handle_receive(socket, &handle), "receive");
    (void)gpu_check(fcntl(handle.fd, F_GETFD) == FD_CLOEXEC, "exec() would keep the descriptor");
    if (!ok(shpool_device_import_open(&handle, device, &import), "import")) {
        std::exit(1);
    }
    shpool_device_handle_close(&handle);
    (void)gpu_check(shpool_device_import_bytes(import) >= BYTES, "%zu bytes were imported",
                    shpool_device_import_bytes(import));
    (void)gpu_check(shpool_device_import_device(import) == device, "imported on device %d",
                    shpool_device_import_device(import));
    (void)cudaSetDevice(device);
    return import;
}

// ---- roles ----

// Reads, writes, and reads again after the exporter has freed the memory and closed its allocator.
static void import_role(int socket, int device)
{
    shpool_device_import *import = receive(socket, device);
    void                 *ptr    = shpool_device_import_ptr(import);

    expect_words(ptr, 1, "importer, what the exporter wrote");
    write_words(ptr, 2);
    say(socket);
    (void)gpu_check(hear(socket), "the exporter is gone");
    expect_words(ptr, 2, "importer, after the exporter's free");
    say(socket);
    (void)gpu_check(hear(socket), "the exporter is gone");
    expect_words(ptr, 2, "importer, after the exporter closed its allocator");
    (void)ok(shpool_device_import_close(import), "close");
    (void)gpu_check(!hear(socket), "the exporter goes on");
}

static void die_role(int socket, int device)
{
    (void)receive(socket, device);
    say(socket);
    (void)raise(SIGKILL);
}

// Is killed while it waits.
static void export_role(int socket, int device)
{
    shpool_device_allocator *allocator = open_shared(device);
    void                    *ptr       = allocate(allocator);

    write_words(ptr, 3);
    send(socket, allocator, ptr);
    (void)hear(socket);
}

// ---- tests ----

static void test_two_processes(int exporter, int importer)
{
    Process                  other     = start("import", importer);
    shpool_device_allocator *allocator = open_shared(exporter);
    void                    *ptr       = allocate(allocator);
    void                    *next[4];

    write_words(ptr, 1);
    send(other.socket, allocator, ptr);
    (void)gpu_check(hear(other.socket), "the importer ended");
    expect_words(ptr, 2, "exporter, what the importer wrote");
    release(allocator, ptr);
    for (void *&one : next) { // of the same size: none may be the exported memory
        one = allocate(allocator);
        write_words(one, 9);
    }
    say(other.socket);
    (void)gpu_check(hear(other.socket), "the importer ended");
    for (void *one : next) {
        expect_words(one, 9, "exporter, memory of its own");
        release(allocator, one);
    }
    (void)ok(shpool_device_check(allocator), "check");
    shpool_device_allocator_unref(allocator);
    say(other.socket);
    (void)gpu_check(finish(other) == 0, "the importer failed");
    std::printf("exporter on device %d, importer on %d: done\n", exporter, importer);
}

static void test_the_importer_dies(int device)
{
    Process                  other     = start("die", device);
    shpool_device_allocator *allocator = open_shared(device);
    void                    *ptr       = allocate(allocator);

    write_words(ptr, 1);
    send(other.socket, allocator, ptr);
    (void)gpu_check(hear(other.socket), "the importer ended too early");
    (void)gpu_check(WIFSIGNALED(finish(other)), "the importer was not killed");
    expect_words(ptr, 1, "exporter, after the importer's death");
    write_words(ptr, 4);
    expect_words(ptr, 4, "exporter, after the importer's death");
    release(allocator, ptr);
    shpool_device_allocator_unref(allocator);
}

static void test_the_exporter_dies(int device)
{
    Process               other  = start("export", device);
    shpool_device_import *import = receive(other.socket, device);
    void                 *ptr    = shpool_device_import_ptr(import);

    (void)kill(other.pid, SIGKILL);
    (void)gpu_check(WIFSIGNALED(finish(other)), "the exporter was not killed");
    expect_words(ptr, 3, "importer, after the exporter's death");
    write_words(ptr, 5);
    expect_words(ptr, 5, "importer, after the exporter's death");
    (void)ok(shpool_device_import_close(import), "close");
}

// The driver's answers to forged handles.
static void test_wrong_handles(int device)
{
    shpool_device_allocator *allocator = open_shared(device);
    void                    *ptr       = allocate(allocator);
    shpool_device_import    *import    = nullptr;
    shpool_device_handle     handle;
    shpool_device_handle     wrong;
    int                      pipes[2];

    (void)ok(shpool_device_export(allocator, ptr, &handle), "export");
    wrong = handle;
    (void)gpu_check(pipe(pipes) == 0, "pipe");
    wrong.fd = pipes[0];
    refused(shpool_device_import_open(&wrong, device, &import), "a pipe");
    close(pipes[0]);
    close(pipes[1]);
    refused(shpool_device_import_open(&wrong, device, &import), "a closed descriptor");
    wrong.fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    refused(shpool_device_import_open(&wrong, device, &import), "/dev/null");
    close(wrong.fd);
    wrong.fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    refused(shpool_device_import_open(&wrong, device, &import), "a file");
    close(wrong.fd);
    wrong       = handle;
    wrong.bytes = handle.bytes * 2;
    refused(shpool_device_import_open(&wrong, device, &import), "twice the size");
    wrong.bytes = handle.bytes - 1;
    refused(shpool_device_import_open(&wrong, device, &import), "a part of a granule");
    wrong         = handle;
    wrong.uuid[0] = static_cast<uint8_t>(~wrong.uuid[0]);
    refused(shpool_device_import_open(&wrong, device, &import), "another device");
    refused(shpool_device_export(allocator, static_cast<char *>(ptr) + 4, &wrong), "inside");
    // nothing of the above has harmed the memory
    (void)ok(shpool_device_import_open(&handle, device, &import), "import by the exporter itself");
    write_words(ptr, 6);
    expect_words(shpool_device_import_ptr(import), 6, "importer in the same process");
    (void)ok(shpool_device_import_close(import), "close");
    shpool_device_handle_close(&handle);
    release(allocator, ptr);
    shpool_device_allocator_unref(allocator);
}

// A capture survives an export; an import during one works, or says that it does not.
static void test_captures(int device)
{
    shpool_device_allocator *allocator = open_shared(device);
    void                    *ptr       = allocate(allocator);
    shpool_device_import    *import    = nullptr;
    shpool_device_handle     handle;
    shpool_status            status;
    cudaStream_t             stream;
    cudaGraph_t              graph = nullptr;

    (void)gpu_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
    (void)gpu_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "begin");
    (void)ok(shpool_device_export(allocator, ptr, &handle), "export during a capture");
    (void)gpu_cuda(cudaStreamEndCapture(stream, &graph), "the capture during an export");
    (void)cudaGraphDestroy(graph);
    (void)gpu_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "begin");
    status = shpool_device_import_open(&handle, device, &import);
    std::printf("  import during a capture: %s; %s\n", shpool_strerror(status),
                (status == SHPOOL_OK) ? "" : shpool_last_error());
    std::printf("  the capture then: %s\n",
                cudaGetErrorName(cudaStreamEndCapture(stream, &graph)));
    (void)cudaGetLastError();
    (void)gpu_check((status == SHPOOL_OK) || (status == SHPOOL_ERR_CAPTURE),
                    "import during a capture: %s", shpool_strerror(status));
    (void)ok(shpool_device_import_close(import), "close");
    shpool_device_handle_close(&handle);
    (void)cudaStreamDestroy(stream);
    release(allocator, ptr);
    shpool_device_allocator_unref(allocator);
}

// Neither descriptors nor memory are leaked; also measures the cost.
static void test_a_hundred(int device)
{
    const int                ROUNDS    = 100;
    shpool_device_allocator *allocator = open_shared(device);
    unsigned                 descriptors = 0;
    size_t                   before = 0;
    size_t                   after  = 0;
    size_t                   total;
    double                   microseconds[4] = {};

    for (int round = 0; round < ROUNDS + 10; round++) {
        void                 *ptr;
        shpool_device_handle  handle;
        shpool_device_import *import = nullptr;
        int                   step   = 0;
        auto                  then   = std::chrono::steady_clock::now();
        auto                  lap    = [&] {
            auto now = std::chrono::steady_clock::now();

            microseconds[step++] += (round < 10) ? 0.0
                : std::chrono::duration<double, std::micro>(now - then).count() / ROUNDS;
            then = now;
        };

        if (round == 10) { // the driver has opened the descriptors that it keeps
            (void)ok(shpool_device_trim(allocator, 0), "trim");
            descriptors = open_descriptors();
            (void)cudaMemGetInfo(&before, &total);
        }
        ptr  = allocate(allocator);
        then = std::chrono::steady_clock::now();
        (void)ok(shpool_device_export(allocator, ptr, &handle), "export");
        lap();
        (void)ok(shpool_device_import_open(&handle, device, &import), "import");
        lap();
        shpool_device_handle_close(&handle);
        then = std::chrono::steady_clock::now();
        (void)ok(shpool_device_import_close(import), "close");
        lap();
        release(allocator, ptr);
        lap();
    }
    (void)ok(shpool_device_trim(allocator, 0), "trim");
    (void)cudaMemGetInfo(&after, &total);
    (void)gpu_check(after >= before, "%zu bytes of the device are lost", before - after);
    (void)gpu_check(open_descriptors() == descriptors, "%u descriptors were open, %u are",
                    descriptors, open_descriptors());
    std::printf("  6 MB: export %.0f us, import %.0f us, close %.0f us, free %.0f us\n",
                microseconds[0], microseconds[1], microseconds[2], microseconds[3]);
    shpool_device_allocator_unref(allocator);
}

static void test_device(int device)
{
    test_two_processes(device, device);
    test_the_importer_dies(device);
    test_the_exporter_dies(device);
    test_wrong_handles(device);
    test_captures(device);
    test_a_hundred(device);
}

int main(int argc, char **argv)
{
    const struct { const char *name; void (*role)(int socket, int device); } roles[] = {
        {"import", import_role}, {"die", die_role}, {"export", export_role},
    };
    bool two     = (argc == 3) && (std::strcmp(argv[1], "--two") == 0);
    int  devices = 0;

    if (argc == 4) {
        for (const auto &one : roles) {
            if (std::strcmp(argv[1], one.name) == 0) {
                one.role(std::atoi(argv[2]), std::atoi(argv[3]));
                return (gpu_failed == 0) ? 0 : 1;
            }
        }
        return 2;
    }
    gpu_need_device();
    (void)cudaGetDeviceCount(&devices);
    if (!two) {
        test_device(0);
    }
    if (devices > 1) {
        test_two_processes(0, 1);
        test_two_processes(1, 0);
        test_two_processes(1, 1);
    } else {
        std::printf("one device: nothing is said about two\n");
        if (two) {
            return 77;
        }
    }
    return gpu_summary();
}
