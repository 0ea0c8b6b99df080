/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/compat/util/mgpualloc.h
 * MGPU's devices and allocators: CudaAlloc to derive from, CudaAllocSimple, CudaAllocBuckets.
 *
 * A stream-ordered allocator overrides MallocOn and FreeOn, like the two here: memory that is freed
 * on one stream is then not reused by another too early.  An allocator that has only MGPU's Malloc
 * and Free reuses memory immediately, as in MGPU: all its contexts must use one stream.
 */
#ifndef SHPOOL_COMPAT_UTIL_MGPUALLOC_H
#define SHPOOL_COMPAT_UTIL_MGPUALLOC_H

#include <map>
#include <mutex>
#include <vector>

#include <shpool/compat/util/util.h>

namespace mgpu {

class CudaAlloc;
class CudaContext;

/** A device; one object each, which lives until the process ends. */
class CudaDevice : public CudaBase {
public:
    static int DeviceCount()
    {
        int count = 0;

        return shpool_device_count(&count) == SHPOOL_OK ? count : 0;
    }
    /** Throws if there is no such device. */
    static CudaDevice &ByOrdinal(int ordinal)
    {
        /* never deleted: contexts may outlive main() */
        static std::vector<CudaDevice *> &devices = *new std::vector<CudaDevice *>;
        static std::mutex                 lock;
        std::lock_guard<std::mutex>       hold(lock);

        for (CudaDevice *device : devices) {
            if (device->Ordinal() == ordinal) {
                return *device;
            }
        }
        devices.push_back(new CudaDevice(ordinal));
        return *devices.back();
    }
    /** The calling thread's current one. */
    static CudaDevice &Selected()
    {
        shpool_context *standard = nullptr;

        Check(shpool_context_standard(-1, &standard));
        return ByOrdinal(shpool_context_device(standard));
    }

    int Ordinal() const { return properties_.ordinal; }
    int NumSMs() const { return properties_.sm_count; }
    /** 100 * major + 10 * minor. */
    int ArchVersion() const { return 100 * properties_.major + 10 * properties_.minor; }
    /** The newest PTX that it compiles; MGPU returns the version that the program was compiled
     *  to. */
    int PTXVersion() const { return shpool_context_ptx_version(context_); }
    /** The text of shpool_context_describe(): clock, SMs, memory, bandwidth, ECC. */
    std::string DeviceString() const
    {
        std::size_t need = 0;

        Check(shpool_context_describe(context_, nullptr, 0, &need));
        std::vector<char> text(need + 1);
        Check(shpool_context_describe(context_, text.data(), text.size(), nullptr));
        return std::string(text.data());
    }
    /** Make it the calling thread's current device. */
    void SetActive() { Check(shpool_context_activate(context_)); }
    /** MGPU 1.0's name for PTXVersion(). */
    int CompilerVersion() const { return PTXVersion(); }
    /** The library's. */
    const shpool_device_properties &Properties() const { return properties_; }
#if defined(SHPOOL_COMPAT_CUDA)
    /** CUDA's structure, by CUDA's runtime, which the program links.  Without clocks since 13.0. */
    const cudaDeviceProp &Prop() const
    {
        /* not a member, so that the class has one layout with and without CUDA's headers */
        static std::map<int, cudaDeviceProp> known;
        static std::mutex                    lock;
        std::lock_guard<std::mutex>          hold(lock);

        if (known.find(Ordinal()) == known.end()) {
            cudaDeviceProp prop;

            Check(cudaGetDeviceProperties(&prop, Ordinal()));
            known[Ordinal()] = prop;
        }
        return known[Ordinal()];
    }
#endif
    /** MGPU 1.0: a context on this device, of mgpucontext.h, on the default stream, a new one or
     *  the caller's.  Without an allocator: the device's CudaAllocBuckets. */
    intrusive_ptr<CudaContext> CreateStream(bool stream, CudaAlloc *alloc);
    intrusive_ptr<CudaContext> AttachStream(cudaStream_t stream, CudaAlloc *alloc);

private:
    explicit CudaDevice(int ordinal)
    {
        Check(shpool_device_get_properties(ordinal, &properties_));
        Check(shpool_context_standard(ordinal, &context_));
        AddRef(); /* a reference of its own, so that no pointer deletes it */
    }

    shpool_device_properties properties_;
    shpool_context          *context_; /* borrowed */
};
typedef intrusive_ptr<CudaDevice> DevicePtr;

/** A device, constructed from a pointer, as in MGPU 1.0, or a reference, as in 1.1; converts to
 *  both. */
class DeviceRef {
public:
    DeviceRef(CudaDevice &device) : device_(&device) {}
    DeviceRef(CudaDevice *device) : device_(device) {}
    DeviceRef(const DevicePtr &device) : device_(device.get()) {}

    CudaDevice *get() const { return device_; }
    CudaDevice *operator->() const { return device_; }
    CudaDevice &operator*() const { return *device_; }
    operator CudaDevice &() const { return *device_; }
    operator CudaDevice *() const { return device_; }

    int         Ordinal() const { return device_->Ordinal(); }
    int         NumSMs() const { return device_->NumSMs(); }
    int         ArchVersion() const { return device_->ArchVersion(); }
    int         PTXVersion() const { return device_->PTXVersion(); }
    std::string DeviceString() const { return device_->DeviceString(); }
    void        SetActive() const { device_->SetActive(); }
#if defined(SHPOOL_COMPAT_CUDA)
    const cudaDeviceProp &Prop() const { return device_->Prop(); }
#endif

private:
    CudaDevice *device_; /* lives as long as the process */
};

/** The source of a context's memory.  Base class. */
class CudaAlloc : public CudaBase {
public:
    virtual ~CudaAlloc() {}

    /** Allocate; 0 bytes: NULL and cudaSuccess.  Any failure: *p is NULL. */
    virtual cudaError_t Malloc(std::size_t size, void **p) = 0;
    /** Free memory from Malloc; false: it is not from this allocator. */
    virtual bool Free(void *p) = 0;
    /** Return cached memory to the driver. */
    virtual void Clear() {}

    /** The same, stream-ordered. */
    virtual cudaError_t MallocOn(cudaStream_t, std::size_t size, void **p)
    {
        return Malloc(size, p);
    }
    virtual bool FreeOn(cudaStream_t, void *p) { return Free(p); }
    /** The underlying allocator of the library, borrowed; NULL: it has none. */
    virtual shpool_device_allocator *Handle() const { return nullptr; }

    const CudaDevice &Device() const { return *_device; }
    CudaDevice       &Device() { return *_device; }

protected:
    CudaAlloc(DeviceRef device) : _device(device) {}

    DeviceRef _device;
};
typedef intrusive_ptr<CudaAlloc> AllocPtr;

/** One of the library's allocators, by its spec. */
class CudaAllocNamed : public CudaAlloc {
public:
    CudaAllocNamed(DeviceRef device, const std::string &spec) : CudaAlloc(device)
    {
        Check(shpool_device_allocator_open(spec.c_str(), device->Ordinal(), &allocator_));
    }
    virtual ~CudaAllocNamed() { shpool_device_allocator_unref(allocator_); }

    virtual cudaError_t Malloc(std::size_t size, void **p)
    {
        return MallocOn(nullptr, size, p);
    }
    virtual bool Free(void *p) { return FreeOn(nullptr, p); }
    virtual void Clear() { (void)shpool_device_trim(allocator_, 0); }
    virtual cudaError_t MallocOn(cudaStream_t stream, std::size_t size, void **p)
    {
        return CudaException::Nearest(shpool_device_malloc(allocator_, size, stream, p));
    }
    virtual bool FreeOn(cudaStream_t stream, void *p)
    {
        return shpool_device_free(allocator_, p, stream) == SHPOOL_OK;
    }
    virtual shpool_device_allocator *Handle() const { return allocator_; }

protected:
    shpool_device_stats Stats() const
    {
        shpool_device_stats stats = shpool_device_stats();

        (void)shpool_device_get_stats(allocator_, &stats);
        return stats;
    }

private:
    shpool_device_allocator *allocator_;
};

/** Allocates and frees through the driver each time. */
class CudaAllocSimple : public CudaAllocNamed {
public:
    explicit CudaAllocSimple(DeviceRef device) : CudaAllocNamed(device, "simple") {}
};

/** MGPU's cache: 84 sizes, weighted least recently used first, a capacity in bytes. */
class CudaAllocBuckets : public CudaAllocNamed {
public:
    explicit CudaAllocBuckets(DeviceRef device) : CudaAllocNamed(device, "buckets")
    {
        SetCapacity(DefaultCapacity, DefaultMaxObject);
    }

    /** Most bytes of idle memory, and the largest allocation that is cached. */
    void SetCapacity(std::size_t capacity, std::size_t maxObject = DefaultMaxObject)
    {
        Check(shpool_device_set(Handle(), "max_object", std::to_string(maxObject).c_str()));
        Check(shpool_device_set(Handle(), "capacity", std::to_string(capacity).c_str()));
        capacity_ = capacity;
    }
    /** Bytes live and idle. */
    std::size_t Allocated() const { return (std::size_t)Stats().driver_bytes; }
    /** Bytes live. */
    std::size_t Committed() const { return (std::size_t)Stats().live_bytes; }
    std::size_t Capacity() const { return capacity_; }
    /** Whether the allocator's data is consistent. */
    bool SanityCheck() const { return shpool_device_check(Handle()) == SHPOOL_OK; }

private:
    static const std::size_t DefaultCapacity  = (std::size_t)128 << 20;
    static const std::size_t DefaultMaxObject = (std::size_t)64 << 20;

    std::size_t capacity_;
};

} // namespace mgpu

#endif /* SHPOOL_COMPAT_UTIL_MGPUALLOC_H */
