/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/compat/util/mgpucontext.h
 * MGPU's contexts and device memory over shpool/device.h: programs written for them compile
 * unchanged.  C++11; doc/COMPAT.md lists what differs.
 *
 * A failure throws CudaException with the library's detail; functions that return cudaError_t in
 * MGPU return it here.
 */
#ifndef SHPOOL_COMPAT_UTIL_MGPUCONTEXT_H
#define SHPOOL_COMPAT_UTIL_MGPUCONTEXT_H

#include <algorithm>
#include <memory>

#include <shpool/compat/util/format.h>
#include <shpool/compat/util/mgpualloc.h>
#include <shpool/compat/util/mgpumem.h>
#include <shpool/compat/util/mgputimer.h>

/* In debug builds, in files compiled by nvcc or with <cuda_runtime.h> before this header: wait for
 * the device, and throw an error with the place where it was detected. */
#if defined(_DEBUG) && (defined(__CUDACC__) || defined(__CUDA_RUNTIME_H__))
#define MGPU_SYNC_CHECK(s)                                                                         \
    do {                                                                                           \
        cudaError_t sync_error_ = cudaDeviceSynchronize();                                         \
        if (sync_error_ != cudaSuccess) {                                                          \
            throw mgpu::CudaException(SHPOOL_ERR_CUDA,                                             \
                                      mgpu::stringprintf("%s: %s(%d): %s", (s), __FILE__,          \
                                                         __LINE__,                                 \
                                                         cudaGetErrorString(sync_error_)));        \
        }                                                                                          \
    } while (0)
#else
#define MGPU_SYNC_CHECK(s) ((void)0)
#endif

namespace mgpu {

/** A device's memory from an allocator.  Base class of CudaContext. */
class CudaMemSupport : public CudaBase {
public:
    virtual ~CudaMemSupport() { shpool_context_unref(context_); }

    /** The allocator's.  Throws if a derived class has not set one. */
    CudaDevice &Device() const
    {
        if (!_alloc) {
            throw CudaException(SHPOOL_ERR_INVALID, "the object has no allocator");
        }
        return _alloc->Device();
    }
    CudaAlloc *GetAllocator() const { return _alloc.get(); }
    /** Returns cudaErrorInvalidValue and changes nothing if alloc is NULL or for another device. */
    cudaError_t SetAllocator(CudaAlloc *alloc)
    {
        if ((alloc == nullptr) ||
            (_alloc && (alloc->Device().Ordinal() != Device().Ordinal()))) {
            return cudaErrorInvalidValue;
        }
        _alloc.reset(alloc);
        if (alloc->Handle() != nullptr) {
            (void)shpool_context_set_allocator(Handle(), alloc->Handle());
        }
        return cudaSuccess;
    }
    /** The library's, borrowed. */
    shpool_context *Handle() const
    {
        if (context_ == nullptr) { /* of a derived class that only set _alloc */
            context_ = OnDefaultStream(Device().Ordinal());
        }
        return context_;
    }

    template <typename T> MGPU_MEM(T) Malloc(std::size_t count)
    {
        return MGPU_MEM(T)(new CudaDeviceMem<T>(Handle(), _alloc, count));
    }
    template <typename T> MGPU_MEM(T) Malloc(const T *data, std::size_t count)
    {
        MGPU_MEM(T) mem = Malloc<T>(count);

        Check(shpool_buffer_from_host(mem->Handle(), 0, count, data));
        return mem;
    }
    template <typename T> MGPU_MEM(T) Malloc(const std::vector<T> &data)
    {
        return Malloc(data.data(), data.size());
    }
    template <typename T> MGPU_MEM(T) Fill(std::size_t count, T fillWith)
    {
        MGPU_MEM(T) mem = Malloc<T>(count);

        Check(shpool_buffer_fill(mem->Handle(), &fillWith));
        return mem;
    }
    template <typename T> MGPU_MEM(T) FillAscending(std::size_t count, T first, T step)
    {
        MGPU_MEM(T) mem = Malloc<T>(count);

        Check(shpool_buffer_fill_ascending(mem->Handle(), &first, &step));
        return mem;
    }
    /** Uniform in min to max, by the process's generator. */
    template <typename T> MGPU_MEM(T) GenRandom(std::size_t count, T min, T max)
    {
        MGPU_MEM(T) mem = Malloc<T>(count);
        SharedRandom random;

        Check(shpool_buffer_fill_random(mem->Handle(), &min, &max, random.Get()));
        return mem;
    }
    template <typename T> MGPU_MEM(T) SortRandom(std::size_t count, T min, T max)
    {
        MGPU_MEM(T) mem = Malloc<T>(count);
        SharedRandom random;

        Check(shpool_buffer_fill_sorted(mem->Handle(), &min, &max, random.Get()));
        return mem;
    }
    /** f(0), f(1), ...; made on the host. */
    template <typename T, typename Func> MGPU_MEM(T) GenFunc(std::size_t count, Func f)
    {
        std::unique_ptr<T[]> data(new T[count]);

        for (std::size_t i = 0; i < count; i++) {
            data[i] = f((int)i);
        }
        return Malloc<T>(data.get(), count);
    }

protected:
    /* For derived classes that set _alloc, or call SetAllocator, before they allocate.  The memory
     * is on the default stream. */
    CudaMemSupport() : context_(nullptr) {}
    /* Takes over the caller's reference. */
    CudaMemSupport(shpool_context *context, const AllocPtr &alloc) : context_(context)
    {
        CudaDevice &device = CudaDevice::ByOrdinal(shpool_context_device(context));

        _alloc = alloc ? alloc : AllocPtr(SharedBuckets(&device));
        if (_alloc->Device().Ordinal() != device.Ordinal()) {
            shpool_context_unref(context_);
            throw CudaException(SHPOOL_ERR_INVALID, "the allocator is for another device");
        }
        SetAllocator(_alloc);
    }

    static CudaAlloc *SharedBuckets(CudaDevice *device)
    {
        /* never deleted: memory may outlive main() */
        static std::vector<CudaAlloc *> &shared = *new std::vector<CudaAlloc *>;
        static std::mutex                lock;
        std::lock_guard<std::mutex>      hold(lock);

        for (CudaAlloc *alloc : shared) {
            if (&alloc->Device() == device) {
                return alloc;
            }
        }
        shared.push_back(new CudaAllocBuckets(device));
        shared.back()->AddRef();
        return shared.back();
    }

    /* The library's context on a device's default stream, with a reference for the caller. */
    static shpool_context *OnDefaultStream(int ordinal)
    {
        shpool_context_options options = shpool_context_options();
        shpool_context        *context = nullptr;

        options.bytes  = sizeof(options);
        options.device = ordinal;
        Check(shpool_context_create(&options, &context));
        return context;
    }

    mutable shpool_context *context_; /* a reference; NULL: not needed yet */
    AllocPtr                _alloc;
};

/** A device, a stream, an allocator, and other objects that a program creates first. */
class CudaContext : public CudaMemSupport {
public:
    /** The device's shared context: default stream, CudaAllocSimple.  -1: the current device's;
     *  otherwise the device is made current. */
    static CudaContext &StandardContext(int ordinal = -1)
    {
        /* never deleted, like MGPU's */
        static std::vector<CudaContext *> &contexts = *new std::vector<CudaContext *>;
        static std::mutex                  lock;
        CudaDevice &device = ordinal < 0 ? CudaDevice::Selected() : CudaDevice::ByOrdinal(ordinal);
        std::lock_guard<std::mutex> hold(lock);

        if (ordinal >= 0) {
            device.SetActive();
        }
        for (CudaContext *context : contexts) {
            if (&context->Device() == &device) {
                return *context;
            }
        }
        shpool_context *standard = nullptr;
        Check(shpool_context_standard(device.Ordinal(), &standard));
        contexts.push_back(new CudaContext(shpool_context_ref(standard),
                                           AllocPtr(new CudaAllocSimple(&device))));
        contexts.back()->AddRef();
        return *contexts.back();
    }

    /** Wrap the library's context, and take over the caller's reference to it.  Without an
     *  allocator: the CudaAllocBuckets that all contexts of the device share. */
    explicit CudaContext(shpool_context *context, const AllocPtr &alloc = AllocPtr())
        : CudaMemSupport(context, alloc), event_(shpool_context_event(context)), timer_(context)
    {
    }
    /** A context of a device, on the default stream or a new one; standard: with
     *  CudaAllocSimple. */
    CudaContext(DeviceRef device, bool newStream, bool standard = false)
        : CudaContext(Made(device->Ordinal(), StreamFlag(newStream), nullptr),
                      standard ? AllocPtr(new CudaAllocSimple(device)) : AllocPtr())
    {
    }
    static uint32_t StreamFlag(bool newStream)
    {
        return newStream ? static_cast<uint32_t>(SHPOOL_CONTEXT_NEW_STREAM) : 0u;
    }
    /** The library's context, with a reference for the caller. */
    static shpool_context *Made(int ordinal, uint32_t flags, cudaStream_t stream)
    {
        shpool_context_options options = shpool_context_options();
        shpool_context        *context = nullptr;

        options.bytes  = sizeof(options);
        options.flags  = flags;
        options.device = ordinal;
        options.stream = stream;
        Check(shpool_context_create(&options, &context));
        return context;
    }

    int          NumSMs() const { return Device().NumSMs(); }
    int          ArchVersion() const { return Device().ArchVersion(); }
    int          PTXVersion() const { return Device().PTXVersion(); }
    int          CompilerVersion() const { return Device().CompilerVersion(); }
    std::string  DeviceString() const { return Device().DeviceString(); }
    void         SetActive() { Device().SetActive(); }
    cudaStream_t Stream() const { return shpool_context_stream(context_); }
    cudaStream_t AuxStream() const
    {
        shpool_stream stream = nullptr;

        Check(shpool_context_aux_stream(context_, &stream));
        return stream;
    }
    /** MGPU 1.0: continue on the caller's stream.  Memory stays on the stream of its allocation;
     *  event, timer and page-locked memory are new. */
    void SetStream(cudaStream_t stream)
    {
        shpool_context *next = Made(Device().Ordinal(), SHPOOL_CONTEXT_ATTACH, stream);
        CudaEvent       event(shpool_context_event(next));

        shpool_context_unref(context_);
        context_        = next;
        timer_.context_ = next;
        event_.Swap(event);
        SetAllocator(_alloc);
    }
    CudaEvent &Event() { return event_; }
    /** 4,096 bytes of page-locked host memory. */
    int *PageLocked() const
    {
        return static_cast<int *>(shpool_context_pinned(context_, nullptr));
    }
    CudaTimer &Timer() { return timer_; }
    void       Start() { timer_.Start(); }
    double     Split() { return timer_.Split(); }
    double     Throughput(uint64 count, uint64 numIterations)
    {
        return timer_.Throughput(count, numIterations);
    }

private:
    CudaEvent event_; /* the library's */
    CudaTimer timer_;
};
typedef intrusive_ptr<CudaContext> ContextPtr;

/* ---- creation ---- */

inline ContextPtr CreateContext(int ordinal, uint32_t flags, cudaStream_t stream)
{
    return ContextPtr(new CudaContext(CudaContext::Made(ordinal, flags, stream)));
}
inline ContextPtr CreateContext(int argc, char **argv, uint32_t flags, bool printInfo)
{
    shpool_context *context = nullptr;

    Check(shpool_context_create_args(argc, argv, flags | SHPOOL_CONTEXT_ACTIVATE, &context));
    ContextPtr made(new CudaContext(context));
    if (printInfo) {
        std::printf("%s\n", made->DeviceString().c_str());
    }
    return made;
}

/** On the default stream; does not make the device current. */
inline ContextPtr CreateCudaDevice(int ordinal)
{
    return CreateContext(ordinal, 0, nullptr);
}
/** Ordinal from argv[1], else 0; makes the device current. */
inline ContextPtr CreateCudaDevice(int argc, char **argv, bool printInfo = false)
{
    return CreateContext(argc, argv, 0, printInfo);
}
/** On a new stream. */
inline ContextPtr CreateCudaDeviceStream(int ordinal)
{
    return CreateContext(ordinal, SHPOOL_CONTEXT_NEW_STREAM, nullptr);
}
inline ContextPtr CreateCudaDeviceStream(int argc, char **argv, bool printInfo = false)
{
    return CreateContext(argc, argv, SHPOOL_CONTEXT_NEW_STREAM, printInfo);
}
/** On the caller's stream, of the current device or the given one. */
inline ContextPtr CreateCudaDeviceAttachStream(cudaStream_t stream)
{
    return CreateContext(-1, SHPOOL_CONTEXT_ATTACH, stream);
}
inline ContextPtr CreateCudaDeviceAttachStream(int ordinal, cudaStream_t stream)
{
    return CreateContext(ordinal, SHPOOL_CONTEXT_ATTACH, stream);
}

/* ---- MGPU 1.0's, of a device ---- */

inline ContextPtr CudaDevice::CreateStream(bool stream, CudaAlloc *alloc)
{
    return ContextPtr(new CudaContext(
        CudaContext::Made(Ordinal(), CudaContext::StreamFlag(stream), nullptr), AllocPtr(alloc)));
}
inline ContextPtr CudaDevice::AttachStream(cudaStream_t stream, CudaAlloc *alloc)
{
    return ContextPtr(new CudaContext(
        CudaContext::Made(Ordinal(), SHPOOL_CONTEXT_ATTACH, stream), AllocPtr(alloc)));
}

} // namespace mgpu

#endif /* SHPOOL_COMPAT_UTIL_MGPUCONTEXT_H */
