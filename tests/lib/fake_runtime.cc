/* SPDX-License-Identifier: BSD-3-Clause */
/* See fake_runtime.h.  Registration of a program's device code as nvcc's stubs do it (crt/host_
 * runtime.h); a variable on the device is memory of the host. */
#include "fake_runtime.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include <shpool/abi.h>

fake_runtime_state fake_runtime;

namespace {

struct library {
    std::string                          image;   /* the bytes that were loaded */
    std::map<std::string, std::string>   kernels; /* the handle is the address of the value */
    std::map<std::string, void *>        globals;
};

std::recursive_mutex lock; /* for libraries and counters */

typedef std::lock_guard<std::recursive_mutex> locked;

/* Created on first use, because programs register before main(). */
struct program {
    std::map<const void *, std::string>   functions;
    std::map<const void *, void *>        variables;
    std::map<const void *, size_t>        most;      /* shared bytes that a kernel may have */
    std::vector<library *>                libraries;
};

program &the_program(void)
{
    static program *one = new program;

    return *one;
}

/* Tables look like a device's, because shpool_open() copies them and they must be sound. */
void *new_variable(const std::string &name, size_t bytes)
{
    char *memory = static_cast<char *>(std::calloc(1, bytes));

    if ((name.size() > 7) && (name.compare(name.size() - 7, 7, "_tables") == 0)) {
        shpool_table *table = reinterpret_cast<shpool_table *>(memory);

        for (int i = 0; i < 2; i++) {
            table[i].abi      = SHPOOL_ABI;
            table[i].bytes    = sizeof(table[i]);
            table[i].allocate = reinterpret_cast<shpool_malloc_fn>(memory + 1 + i);
            table[i].release  = reinterpret_cast<shpool_free_fn>(memory + 3 + i);
            if (name.find("half") != std::string::npos) {
                table[i].allocate_group = reinterpret_cast<shpool_malloc_group_fn>(memory + 5 + i);
            }
        }
    }
    return memory;
}

cudaError_t launch(const void *kernel, size_t shared)
{
    const auto found = the_program().most.find(kernel);

    if (shared > ((found != the_program().most.end()) ? found->second : 48u * 1024u)) {
        fake_runtime.launch.refused++;
        return cudaErrorInvalidValue;
    }
    fake_runtime.launch.kernel = kernel;
    fake_runtime.launch.shared = shared;
    fake_runtime.launch.count++;
    return cudaSuccess;
}

} /* namespace */

std::string fake_kernel_name(const void *kernel)
{
    for (library *one : the_program().libraries) {
        for (auto &entry : one->kernels) {
            if (&entry.second == kernel) {
                return entry.first;
            }
        }
    }
    return "";
}

/* ---- functions that nvcc's stubs call ---- */

extern "C" {
void **__cudaRegisterFatBinary(void *)
{
    static void *handle;

    return &handle;
}
void __cudaRegisterFatBinaryEnd(void **) {}
void __cudaUnregisterFatBinary(void **) {}
char __cudaInitModule(void **) { return 0; }
void __cudaRegisterFunction(void **, const char *function, char *, const char *name, int, uint3 *,
                            uint3 *, dim3 *, dim3 *, int *)
{
    the_program().functions[function] = name;
}
void __cudaRegisterVar(void **, char *shadow, char *, const char *name, int, size_t bytes, int, int)
{
    the_program().variables[shadow] = new_variable(name, bytes);
}
unsigned __cudaPushCallConfiguration(dim3, dim3, size_t, cudaStream_t) { return 0; }
cudaError_t __cudaPopCallConfiguration(dim3 *, dim3 *, size_t *, void *) { return cudaSuccess; }

cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *function)
{
    *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void *>(function));
    return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3, dim3, void **, size_t shared,
                               cudaStream_t)
{
    return launch(kernel, shared);
}

/* ---- the runtime ---- */

static CUresult context_id(CUcontext, unsigned long long *id)
{
    *id = fake_runtime.context;
    return (*id != 0) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}
cudaError_t cudaGetDriverEntryPointByVersion(const char *, void **function, unsigned,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult *result)
{
    *function = reinterpret_cast<void *>(context_id);
    *result   = cudaDriverEntryPointSuccess;
    return cudaSuccess;
}
cudaError_t cudaGetDevice(int *device)
{
    *device = fake_runtime.device;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr what, int)
{
    switch (what) {
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
        *value = 232448;
        break;
    case cudaDevAttrReservedSharedMemoryPerBlock:
        *value = 1024;
        break;
    case cudaDevAttrComputeCapabilityMajor:
        *value = 9;
        break;
    default:
        *value = 0;
    }
    return cudaSuccess;
}
cudaError_t cudaGetLastError(void) { return cudaSuccess; }
const char *cudaGetErrorString(cudaError_t) { return "a fake's error"; }
const char *cudaGetErrorName(cudaError_t error)
{
    return (error == cudaErrorSymbolNotFound) ? "cudaErrorSymbolNotFound" : "cudaErrorOther";
}
cudaError_t cudaGetSymbolAddress(void **address, const void *symbol)
{
    const auto found = the_program().variables.find(symbol);

    *address = (found != the_program().variables.end()) ? found->second : NULL;
    return (*address != NULL) ? cudaSuccess : cudaErrorInvalidSymbol;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned)
{
    *stream = NULL;
    return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus *status)
{
    *status = fake_runtime.capturing ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    return cudaSuccess;
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode *) { return cudaSuccess; }
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t)
{
    locked here(lock);

    fake_runtime.copies += kind == cudaMemcpyDeviceToHost;
    std::memcpy(to, from, bytes);
    return cudaSuccess;
}
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind)
{
    std::memcpy(to, from, bytes);
    return cudaSuccess;
}
cudaError_t cudaMemset(void *to, int value, size_t bytes)
{
    std::memset(to, value, bytes);
    return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t)
{
    return cudaMemset(to, value, bytes);
}
cudaError_t cudaMalloc(void **memory, size_t bytes)
{
    *memory = std::calloc(1, bytes);
    return cudaSuccess;
}
cudaError_t cudaFree(void *memory)
{
    std::free(memory);
    return cudaSuccess;
}
cudaError_t cudaMallocHost(void **memory, size_t bytes) { return cudaMalloc(memory, bytes); }
cudaError_t cudaFreeHost(void *memory) { return cudaFree(memory); }
cudaError_t cudaDeviceSynchronize(void) { return cudaSuccess; }
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, const void *)
{
    std::memset(attributes, 0, sizeof(*attributes));
    attributes->numRegs            = FAKE_REGISTERS;
    attributes->maxThreadsPerBlock = FAKE_THREADS;
    return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void *kernel, cudaFuncAttribute, int value)
{
    fake_runtime.allowed++;
    the_program().most[kernel] = static_cast<size_t>(value);
    return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *kernel, int,
                                                          size_t shared)
{
    *blocks = static_cast<int>(233472 / (shared + 1024));
    return (kernel != NULL) ? cudaSuccess : cudaErrorInvalidValue;
}
cudaError_t cudaOccupancyMaxActiveClusters(int *, const void *, const cudaLaunchConfig_t *)
{
    return cudaSuccess;
}
cudaError_t cudaLaunchKernel(const void *kernel, dim3, dim3, void **, size_t shared, cudaStream_t)
{
    return launch(kernel, shared);
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *kernel,
                                void **arguments)
{
    if (fake_runtime.launch.look != NULL) {
        fake_runtime.launch.look(arguments);
    }
    if (config->blockDim.x * config->blockDim.y * config->blockDim.z > FAKE_THREADS) {
        return cudaErrorLaunchOutOfResources;
    }
    return launch(kernel, config->dynamicSmemBytes);
}
cudaError_t cudaFuncGetName(const char **name, const void *function)
{
    const auto found = the_program().functions.find(function);

    fake_runtime.names++;
    *name = (found != the_program().functions.end()) ? found->second.c_str() : NULL;
    return (*name != NULL) ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

/* The loaded data is text; it has the kernels and variables whose names are in it. */
cudaError_t cudaLibraryLoadData(cudaLibrary_t *to, const void *code, cudaJitOption *, void **,
                                unsigned, cudaLibraryOption *, void **, unsigned)
{
    locked   here(lock);
    library *one = new library;

    one->image = static_cast<const char *>(code);
    the_program().libraries.push_back(one);
    *to = reinterpret_cast<cudaLibrary_t>(one);
    fake_runtime.loads++;
    return cudaSuccess;
}
cudaError_t cudaLibraryUnload(cudaLibrary_t)
{
    locked here(lock);

    fake_runtime.unloads++;
    return cudaSuccess;
}
cudaError_t cudaLibraryGetGlobal(void **address, size_t *bytes, cudaLibrary_t of, const char *name)
{
    locked   here(lock);
    library *one = reinterpret_cast<library *>(of);

    if (one->image.find(name) == std::string::npos) {
        return cudaErrorSymbolNotFound;
    }
    if (one->globals[name] == NULL) {
        one->globals[name] = new_variable(name, 2 * sizeof(shpool_table));
    }
    *address = one->globals[name];
    *bytes   = 2 * sizeof(shpool_table);
    return cudaSuccess;
}
cudaError_t cudaLibraryGetKernel(cudaKernel_t *kernel, cudaLibrary_t of, const char *name)
{
    locked   here(lock);
    library *one = reinterpret_cast<library *>(of);

    if (one->image.find(name) == std::string::npos) {
        return cudaErrorSymbolNotFound;
    }
    *kernel = reinterpret_cast<cudaKernel_t>(&one->kernels[name]);
    return cudaSuccess;
}
}
