/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/compat/util/mgpumem.h
 * MGPU's device memory, its copies, its random numbers and its PrintArray.
 */
#ifndef SHPOOL_COMPAT_UTIL_MGPUMEM_H
#define SHPOOL_COMPAT_UTIL_MGPUMEM_H

#include <mutex>
#include <vector>

#include <shpool/compat/util/format.h>
#include <shpool/compat/util/mgpualloc.h>

namespace mgpu {

/** The process's only generator, seeded with 5489 like MGPU's; locked during this object's
 *  lifetime. */
class SharedRandom {
public:
    SharedRandom() : hold_(State().lock) {}
    shpool_random *Get() { return &State().random; }

private:
    struct Shared {
        Shared() { shpool_random_init(&random, SHPOOL_RANDOM_SEED); }
        std::mutex    lock;
        shpool_random random;
    };
    static Shared &State()
    {
        static Shared shared;
        return shared;
    }

    std::lock_guard<std::mutex> hold_;
};

/** One number from min to max; for every integer type and float, double. */
template <typename T> T Rand(T min, T max)
{
    SharedRandom random;
    T            x;

    Check(shpool_random_fill(ElementType<T>(), &min, &max, random.Get(), 1, &x));
    return x;
}
/* MGPU's six functions, for arguments of two types. */
inline int    Rand(int min, int max) { return Rand<int>(min, max); }
inline int64  Rand(int64 min, int64 max) { return Rand<int64>(min, max); }
inline uint   Rand(uint min, uint max) { return Rand<uint>(min, max); }
inline uint64 Rand(uint64 min, uint64 max) { return Rand<uint64>(min, max); }
inline float  Rand(float min, float max) { return Rand<float>(min, max); }
inline double Rand(double min, double max) { return Rand<double>(min, max); }

/**
 * An array of T in device memory; MGPU_MEM(T) is its pointer.
 *
 * Copies are ordered by the context's stream, and complete on return.  Ranges are checked: a bad
 * range returns cudaErrorInvalidValue, and nothing is copied.
 */
template <typename T> class CudaDeviceMem : public CudaBase {
public:
    /** Memory of an allocator, for the library's context.  Throws CudaException. */
    CudaDeviceMem(shpool_context *context, const AllocPtr &alloc, std::size_t count)
    {
        Owner *owner = new Owner{alloc, shpool_context_stream(context)};
        void  *p     = nullptr;

        if (count > (std::size_t)-1 / sizeof(T)) {
            delete owner;
            throw CudaException(SHPOOL_ERR_TOO_LARGE, "more elements than there are addresses");
        }
        const cudaError_t error = alloc->MallocOn(owner->stream, count * sizeof(T), &p);
        if (error != cudaSuccess) {
            delete owner;
            throw CudaException(error == cudaErrorMemoryAllocation ? SHPOOL_ERR_NO_MEMORY
                                                                   : SHPOOL_ERR_CUDA,
                                "the context's allocator failed");
        }
        const shpool_status status =
            shpool_buffer_wrap(context, p, ElementType<T>(), count, GiveBack, owner, &buffer_);
        if (status != SHPOOL_OK) {
            GiveBack(p, owner);
            Check(status);
        }
    }
    virtual ~CudaDeviceMem() { shpool_buffer_unref(buffer_); }

    T       *get() { return static_cast<T *>(shpool_buffer_ptr(buffer_)); }
    const T *get() const { return static_cast<const T *>(shpool_buffer_ptr(buffer_)); }
    operator T *() { return get(); }
    operator const T *() const { return get(); }
    /** Elements. */
    std::size_t    Size() const { return shpool_buffer_count(buffer_); }
    shpool_buffer *Handle() const { return buffer_; }

    /* ---- to device memory; the first form in elements, the second in bytes ---- */
    cudaError_t ToDevice(T *data, std::size_t count) const
    {
        return (count > Size()) ? cudaErrorInvalidValue : ToDevice(0, count * sizeof(T), data);
    }
    cudaError_t ToDevice(std::size_t srcOffset, std::size_t bytes, void *data) const
    {
        View self(buffer_), other(buffer_, data, bytes);

        return Wait(shpool_buffer_copy(other.Get(), 0, self.Get(), srcOffset, bytes));
    }
    cudaError_t FromDevice(const T *data, std::size_t count)
    {
        return (count > Size()) ? cudaErrorInvalidValue : FromDevice(0, count * sizeof(T), data);
    }
    cudaError_t FromDevice(std::size_t dstOffset, std::size_t bytes, const void *data)
    {
        View self(buffer_), other(buffer_, const_cast<void *>(data), bytes);

        return Wait(shpool_buffer_copy(self.Get(), dstOffset, other.Get(), 0, bytes));
    }

    /* ---- to host memory ---- */
    cudaError_t ToHost(T *data, std::size_t count) const
    {
        return CudaException::Nearest(shpool_buffer_to_host(buffer_, 0, count, data));
    }
    cudaError_t ToHost(std::size_t srcOffset, std::size_t bytes, void *data) const
    {
        View self(buffer_);

        return CudaException::Nearest(shpool_buffer_to_host(self.Get(), srcOffset, bytes, data));
    }
    /** Copies all elements, or the first `count`; resizes the vector. */
    cudaError_t ToHost(std::vector<T> &data) const { return ToHost(data, Size()); }
    cudaError_t ToHost(std::vector<T> &data, std::size_t count) const
    {
        if (count > Size()) {
            return cudaErrorInvalidValue;
        }
        data.resize(count);
        return ToHost(data.data(), count);
    }

    /* ---- from host memory ---- */
    cudaError_t FromHost(const T *data, std::size_t count)
    {
        return CudaException::Nearest(shpool_buffer_from_host(buffer_, 0, count, data));
    }
    cudaError_t FromHost(std::size_t dstOffset, std::size_t bytes, const void *data)
    {
        View self(buffer_);

        return CudaException::Nearest(shpool_buffer_from_host(self.Get(), dstOffset, bytes, data));
    }
    cudaError_t FromHost(const std::vector<T> &data) { return FromHost(data, data.size()); }
    cudaError_t FromHost(const std::vector<T> &data, std::size_t count)
    {
        return count <= data.size() ? FromHost(data.data(), count) : cudaErrorInvalidValue;
    }

private:
    /* The allocator that frees the memory: the context's may have been replaced since. */
    struct Owner {
        AllocPtr     alloc;
        cudaStream_t stream;
    };
    static void GiveBack(void *p, void *user)
    {
        Owner *owner = static_cast<Owner *>(user);

        (void)owner->alloc->FreeOn(owner->stream, p);
        delete owner;
    }

    /* A buffer over bytes of another buffer, or of any memory. */
    class View {
    public:
        explicit View(const shpool_buffer *buffer)
        {
            Make(buffer, shpool_buffer_ptr(buffer), shpool_buffer_count(buffer) * sizeof(T));
        }
        View(const shpool_buffer *buffer, void *data, std::size_t bytes)
        {
            Make(buffer, data, bytes);
        }
        ~View() { shpool_buffer_unref(view_); }
        View(const View &) = delete;
        View &operator=(const View &) = delete;
        /** NULL if the memory is NULL: the copy then refuses it. */
        shpool_buffer *Get() const { return view_; }

    private:
        void Make(const shpool_buffer *buffer, void *data, std::size_t bytes)
        {
            (void)shpool_buffer_wrap(shpool_buffer_context(buffer), data, SHPOOL_TYPE_OPAQUE(1),
                                     bytes, nullptr, nullptr, &view_);
        }
        shpool_buffer *view_;
    };

    cudaError_t Wait(shpool_status status) const
    {
        if (status == SHPOOL_OK) {
            status = shpool_context_sync(shpool_buffer_context(buffer_));
        }
        return CudaException::Nearest(status);
    }

    shpool_buffer *buffer_;
};
#define MGPU_MEM(type) mgpu::intrusive_ptr<mgpu::CudaDeviceMem<type>>

/* ---- printing ---- */

template <typename T, typename Op>
std::string FormatArrayOp(const CudaDeviceMem<T> &mem, int count, Op op, int numCols)
{
    std::vector<T> data;

    if (mem.ToHost(data, count > 0 ? (std::size_t)count : 0) != cudaSuccess) {
        throw CudaException(SHPOOL_ERR_INVALID, "more elements to format than there are");
    }
    return FormatArrayOp(data, op, numCols);
}
template <typename T, typename Op>
std::string FormatArrayOp(const CudaDeviceMem<T> &mem, Op op, int numCols)
{
    return FormatArrayOp(mem, (int)mem.Size(), op, numCols);
}

template <typename T>
void PrintArray(const CudaDeviceMem<T> &mem, int count, const char *format, int numCols)
{
    Check(shpool_buffer_print(stdout, mem.Handle(), count > 0 ? (std::size_t)count : 0, format,
                              numCols > 0 ? (std::size_t)numCols : 0));
}
template <typename T> void PrintArray(const CudaDeviceMem<T> &mem, const char *format, int numCols)
{
    Check(shpool_buffer_print(stdout, mem.Handle(), (std::size_t)-1, format,
                              numCols > 0 ? (std::size_t)numCols : 0));
}
template <typename T, typename Op>
void PrintArrayOp(const CudaDeviceMem<T> &mem, int count, Op op, int numCols)
{
    std::vector<T> data;

    if (mem.ToHost(data, count > 0 ? (std::size_t)count : 0) != cudaSuccess) {
        throw CudaException(SHPOOL_ERR_INVALID, "more elements to print than there are");
    }
    PrintArrayOp(data, op, numCols);
}
template <typename T, typename Op>
void PrintArrayOp(const CudaDeviceMem<T> &mem, Op op, int numCols)
{
    PrintArrayOp(mem, (int)mem.Size(), op, numCols);
}

/* ---- copies between plain pointers ---- */

/** A plain pointer as a buffer of a context, or of the current device's standard context. */
template <typename T> class PlainView {
public:
    PlainView(const T *data, std::size_t count, shpool_context *context = nullptr)
    {
        if (context == nullptr) {
            Check(shpool_context_standard(-1, &context));
        }
        Check(shpool_buffer_wrap(context, const_cast<T *>(data), SHPOOL_TYPE_OPAQUE(sizeof(T)),
                                 count, nullptr, nullptr, &view_));
    }
    ~PlainView() { shpool_buffer_unref(view_); }
    PlainView(const PlainView &) = delete;
    PlainView &operator=(const PlainView &) = delete;
    shpool_buffer *Get() const { return view_; }

private:
    shpool_buffer *view_;
};

template <typename T> cudaError_t copyDtoH(T *dest, const T *source, int count)
{
    return CudaException::Nearest(
        shpool_buffer_to_host(PlainView<T>(source, count).Get(), 0, count, dest));
}
template <typename T> cudaError_t copyDtoH(std::vector<T> &dest, const T *source, int count)
{
    dest.resize(count);
    return copyDtoH(dest.data(), source, count);
}
template <typename T> cudaError_t copyHtoD(T *dest, const T *source, int count)
{
    return CudaException::Nearest(
        shpool_buffer_from_host(PlainView<T>(dest, count).Get(), 0, count, source));
}
template <typename T> cudaError_t copyHtoD(T *dest, const std::vector<T> &source)
{
    return copyHtoD(dest, source.data(), (int)source.size());
}
/** Ordered by the default stream; does not wait. */
template <typename T> cudaError_t copyDtoD(T *dest, const T *source, int count)
{
    return CudaException::Nearest(
        shpool_buffer_copy(PlainView<T>(dest, count).Get(), 0, PlainView<T>(source, count).Get(),
                           0, count));
}
/** Ordered by a stream of the current device; does not wait. */
template <typename T>
cudaError_t copyDtoD(T *dest, const T *source, int count, cudaStream_t stream)
{
#if defined(__CUDACC__) /* by CUDA's runtime, which nvcc links */
    return cudaMemcpyAsync(dest, source, sizeof(T) * (std::size_t)count, cudaMemcpyDeviceToDevice,
                           stream);
#else /* by a context of its own, because the library's copies have one */
    shpool_context_options options = shpool_context_options();
    shpool_context        *context = nullptr;

    options.bytes  = sizeof(options);
    options.flags  = SHPOOL_CONTEXT_ATTACH;
    options.device = -1;
    options.stream = stream;
    Check(shpool_context_create(&options, &context));
    const shpool_status status =
        shpool_buffer_copy(PlainView<T>(dest, count, context).Get(), 0,
                           PlainView<T>(source, count, context).Get(), 0, count);
    shpool_context_unref(context);
    return CudaException::Nearest(status);
#endif
}

} // namespace mgpu

#endif /* SHPOOL_COMPAT_UTIL_MGPUMEM_H */
