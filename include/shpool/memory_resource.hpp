/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/memory_resource.hpp
 * C++17: device allocators as resources of cuda::mr, and resources of cuda::mr as device
 * allocators.
 *
 *     shpool::memory_resource resource("stats|bins");                // any spec, current device
 *     rmm::mr::set_current_device_resource(resource);                // RMM's containers use it
 *     cuda::mr::resource_ref<cuda::mr::device_accessible> ref(resource);
 *
 *     shpool::provide("rmm_pool", rmm::mr::cuda_async_memory_resource());
 *     shpool_device_allocator_open("stats|rmm_pool", -1, &allocator); // the other direction
 *
 * Works with cuda::mr of the CUDA Toolkit 13.0 (CCCL 3.0, whose file cuda/memory_resource requires
 * LIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE) and with that of CCCL 3.1 and later.  The two use
 * different names for the same functions; both spellings are defined here.  For host code; nvcc is
 * not needed.  Link with libshpool and the CUDA runtime.
 */
#ifndef SHPOOL_MEMORY_RESOURCE_HPP
#define SHPOOL_MEMORY_RESOURCE_HPP

#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include <cuda_runtime_api.h>

#include <cuda/version>
#if (CCCL_VERSION < 3001000) && !defined(LIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE)
#error "this CUDA Toolkit's cuda::mr needs -DLIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE"
#endif
#include <cuda/memory_resource>
#include <cuda/stream_ref>

#include <shpool/device.h>
#include <shpool/error.hpp>
#include <shpool/impl/cuda_status.h>

namespace shpool {

/** Out of memory, or an unsupported alignment: a std::bad_alloc that carries the reason. */
class bad_alloc : public std::bad_alloc {
  public:
    explicit bad_alloc(shpool_status status) : why_(status) {}
    const char   *what() const noexcept override { return why_.what(); }
    shpool_status status() const noexcept { return why_.status(); }

  private:
    error why_;
};

namespace detail {

/* Makes a device current during a call: resources allocate on the current device, and the legacy
 * stream is that device's. */
class on_device {
  public:
    explicit on_device(int device)
    {
        const bool known = cudaGetDevice(&before_) == cudaSuccess;

        switched_ = known && (before_ != device) && (cudaSetDevice(device) == cudaSuccess);
    }
    on_device(const on_device &)            = delete;
    on_device &operator=(const on_device &) = delete;
    ~on_device()
    {
        if (switched_) {
            (void)cudaSetDevice(before_);
        }
    }

  private:
    int  before_   = 0;
    bool switched_ = false;
};

} /* namespace detail */

/**
 * A device allocator as a resource of cuda::mr: device accessible and stream-ordered.
 *
 * Copies share the allocator, and the last copy closes it; all uses of its memory must have
 * finished then (see shpool_device_allocator_unref()).  Two resources are equal if they share one
 * allocator.  Any thread may call any function, and the current device does not matter: memory
 * comes from the allocator's device.
 */
class memory_resource {
  public:
    /** shpool_device_allocator_open(spec, device).  Throws error. */
    explicit memory_resource(const char *spec = nullptr, int device = -1)
    {
        check(shpool_device_allocator_open(spec, device, &allocator_));
    }
    /** Wraps an open allocator, such as that of shpool_device_allocator_default(), and acquires a
     *  reference to it. */
    static memory_resource of(shpool_device_allocator *allocator) noexcept
    {
        return memory_resource(shpool_device_allocator_ref(allocator), adopt());
    }
    memory_resource(const memory_resource &other) noexcept
        : allocator_(shpool_device_allocator_ref(other.allocator_))
    {
    }
    memory_resource &operator=(memory_resource other) noexcept
    {
        std::swap(allocator_, other.allocator_);
        return *this;
    }
    ~memory_resource() { shpool_device_allocator_unref(allocator_); }

    /** For the C functions; borrowed. */
    shpool_device_allocator *get() const noexcept { return allocator_; }

    /* ---- CCCL 3.1 and later ---- */

    /** shpool_device_malloc().  Throws bad_alloc, also for an alignment over 256. */
    void *allocate(::cuda::stream_ref stream, size_t bytes,
                   size_t alignment = SHPOOL_DEVICE_ALIGNMENT)
    {
        return take(stream.get(), bytes, alignment);
    }
    /** shpool_device_free().  If it refuses, the memory stays allocated, and shpool_last_error()
     *  has the reason. */
    void deallocate(::cuda::stream_ref stream, void *ptr, size_t,
                    size_t = SHPOOL_DEVICE_ALIGNMENT) noexcept
    {
        (void)shpool_device_free(allocator_, ptr, stream.get());
    }
    /** Waits for the legacy stream, so that every stream may use the memory on return. */
    void *allocate_sync(size_t bytes, size_t alignment = SHPOOL_DEVICE_ALIGNMENT)
    {
        const detail::on_device here(shpool_device_allocator_device(allocator_));
        void                   *ptr    = take(SHPOOL_STREAM_LEGACY, bytes, alignment);
        shpool_status           status = shpool_cuda_may_work(SHPOOL_STREAM_LEGACY);

        if (status == SHPOOL_OK) {
            const cudaStreamCaptureMode mode = shpool_cuda_relax();

            status = shpool_cuda_status(cudaStreamSynchronize(SHPOOL_STREAM_LEGACY),
                                        "cudaStreamSynchronize (legacy stream)");
            shpool_cuda_restore(mode);
        }
        if (status != SHPOOL_OK) {
            (void)shpool_device_free(allocator_, ptr, SHPOOL_STREAM_LEGACY);
            throw bad_alloc(status);
        }
        return ptr;
    }
    /** All uses of the memory must have finished. */
    void deallocate_sync(void *ptr, size_t, size_t = SHPOOL_DEVICE_ALIGNMENT) noexcept
    {
        (void)shpool_device_free(allocator_, ptr, SHPOOL_STREAM_LEGACY);
    }

    /* ---- the same with the names of CCCL 3.0 ---- */

    void *allocate_async(size_t bytes, size_t alignment, ::cuda::stream_ref stream)
    {
        return allocate(stream, bytes, alignment);
    }
    void deallocate_async(void *ptr, size_t bytes, size_t alignment, ::cuda::stream_ref stream)
    {
        deallocate(stream, ptr, bytes, alignment);
    }
    void *allocate(size_t bytes, size_t alignment = SHPOOL_DEVICE_ALIGNMENT)
    {
        return allocate_sync(bytes, alignment);
    }
    void deallocate(void *ptr, size_t bytes, size_t alignment = SHPOOL_DEVICE_ALIGNMENT)
    {
        deallocate_sync(ptr, bytes, alignment);
    }

    friend bool operator==(const memory_resource &a, const memory_resource &b) noexcept
    {
        return a.allocator_ == b.allocator_;
    }
    friend bool operator!=(const memory_resource &a, const memory_resource &b) noexcept
    {
        return !(a == b);
    }
    friend void get_property(const memory_resource &, ::cuda::mr::device_accessible) noexcept {}

  private:
    struct adopt {
    };

    memory_resource(shpool_device_allocator *allocator, adopt) noexcept : allocator_(allocator) {}

    void *take(shpool_stream stream, size_t bytes, size_t alignment)
    {
        void         *ptr    = nullptr;
        shpool_status status = SHPOOL_OK;

        if ((alignment > SHPOOL_DEVICE_ALIGNMENT) || ((alignment & (alignment - 1)) != 0)) {
            status = shpool_error(SHPOOL_ERR_INVALID, "an alignment of %zu is not possible, "
                                  "powers of 2 up to %u are", alignment, SHPOOL_DEVICE_ALIGNMENT);
        } else {
            status = shpool_device_malloc(allocator_, bytes, stream, &ptr);
        }
        if (status != SHPOOL_OK) {
            throw bad_alloc(status);
        }
        return ptr;
    }

    shpool_device_allocator *allocator_ = nullptr;
};

namespace detail {

/* cuda::mr's calls in both spellings; allocate(stream, ...) is that of CCCL 3.1 and later. */
template <class Resource, class = void> struct stream_first : std::false_type {
};
template <class Resource>
struct stream_first<Resource, std::void_t<decltype(std::declval<Resource &>().allocate(
                                  std::declval<::cuda::stream_ref>(), size_t(), size_t()))>>
    : std::true_type {
};

template <class Resource> void *allocate(Resource &from, cudaStream_t stream, size_t bytes)
{
    if constexpr (stream_first<Resource>::value) {
        return from.allocate(::cuda::stream_ref(stream), bytes, SHPOOL_DEVICE_ALIGNMENT);
    } else {
        return from.allocate_async(bytes, SHPOOL_DEVICE_ALIGNMENT, ::cuda::stream_ref(stream));
    }
}

template <class Resource>
void deallocate(Resource &from, cudaStream_t stream, void *ptr, size_t bytes)
{
    if constexpr (stream_first<Resource>::value) {
        from.deallocate(::cuda::stream_ref(stream), ptr, bytes, SHPOOL_DEVICE_ALIGNMENT);
    } else {
        from.deallocate_async(ptr, bytes, SHPOOL_DEVICE_ALIGNMENT, ::cuda::stream_ref(stream));
    }
}

/* A registered resource.  The table is the first member: create() finds the rest by its address. */
template <class Resource> struct provider {
    shpool_device_provider table = {};
    std::string            name;
    Resource               resource;
    int                    device;

    provider(const char *called, Resource &&given, int on)
        : name(called), resource(std::move(given)), device(on)
    {
        table.abi     = SHPOOL_DEVICE_ABI;
        table.bytes   = sizeof(table);
        table.flags   = SHPOOL_DEVICE_ORDERED;
        table.name    = name.c_str();
        table.summary = "a resource of cuda::mr";
        table.create  = create;
        table.destroy = destroy;
        table.malloc  = malloc;
        table.free    = free;
        table.base    = base;
    }

    /* One opened allocator over it.  The library makes one call at a time. */
    struct opened {
        provider                          *from;
        std::unordered_map<void *, size_t> bytes;
    };

    /* Convert a resource's exceptions to a status. */
    template <class Function> static shpool_status guarded(const provider *self, Function function)
    {
        try {
            const on_device here(self->device);

            return function();
        } catch (const std::bad_alloc &failure) {
            return shpool_error(SHPOOL_ERR_NO_MEMORY, "%s: %s", self->table.name, failure.what());
        } catch (const std::exception &failure) {
            return shpool_error(SHPOOL_ERR_CUDA, "%s: %s", self->table.name, failure.what());
        } catch (...) {
            return shpool_error(SHPOOL_ERR_CUDA, "%s: an exception without a text",
                                self->table.name);
        }
    }

    static shpool_status create(const shpool_device_setup *setup, void **self_p)
    {
        auto *from = reinterpret_cast<provider *>(
            const_cast<shpool_device_provider *>(setup->provider));

        if (setup->device != from->device) {
            return shpool_error(SHPOOL_ERR_NOT_FOUND, "\"%s\" was provided for device %d and not "
                                "for device %d", from->table.name, from->device, setup->device);
        }
        if (setup->option_count > 0) {
            return shpool_error(SHPOOL_ERR_SPEC, "\"%s\" has no option \"%.64s\", nor any other",
                                from->table.name, setup->options[0].key);
        }
        return guarded(from, [&] {
            *self_p = new opened{from, {}};
            return SHPOOL_OK;
        });
    }

    static void destroy(void *self)
    {
        std::unique_ptr<opened> all(static_cast<opened *>(self));

        for (const auto &[ptr, bytes] : all->bytes) {
            (void)guarded(all->from, [&, ptr = ptr, bytes = bytes] {
                deallocate(all->from->resource, SHPOOL_STREAM_LEGACY, ptr, bytes);
                return SHPOOL_OK;
            });
        }
    }

    static shpool_status malloc(void *self, size_t bytes, shpool_stream stream, void **ptr_p)
    {
        auto *all = static_cast<opened *>(self);

        return guarded(all->from, [&] {
            void *ptr = allocate(all->from->resource, handle(stream), bytes);

            try {
                all->bytes.emplace(ptr, bytes);
            } catch (...) { /* no host memory for the detail */
                deallocate(all->from->resource, handle(stream), ptr, bytes);
                throw;
            }
            *ptr_p = ptr;
            return SHPOOL_OK;
        });
    }

    static shpool_status free(void *self, void *ptr, shpool_stream stream)
    {
        auto      *all   = static_cast<opened *>(self);
        const auto found = all->bytes.find(ptr);

        if (found == all->bytes.end()) {
            return shpool_error(SHPOOL_ERR_INVALID, "%p is not a live allocation of \"%s\"", ptr,
                                all->from->table.name);
        }
        return guarded(all->from, [&] {
            deallocate(all->from->resource, handle(stream), ptr, found->second);
            all->bytes.erase(found);
            return SHPOOL_OK;
        });
    }

    static shpool_status base(void *self, const void *ptr, void **base_p, size_t *bytes_p)
    {
        auto *all = static_cast<opened *>(self);

        for (const auto &[first, bytes] : all->bytes) {
            if (static_cast<size_t>(static_cast<const char *>(ptr) -
                                    static_cast<const char *>(first)) < bytes) {
                *base_p  = first;
                *bytes_p = bytes;
                return SHPOOL_OK;
            }
        }
        return shpool_error(SHPOOL_ERR_INVALID, "%p is not in a live allocation of \"%s\"", ptr,
                            all->from->table.name);
    }

    /* cuda::stream_ref and some resources reject a NULL that the compiler can see. */
    static cudaStream_t handle(shpool_stream stream)
    {
        return (stream != nullptr) ? stream : SHPOOL_STREAM_LEGACY;
    }
};

} /* namespace detail */

/**
 * Add a resource of cuda::mr to the registry of device allocators, as a base, for the rest of the
 * process.
 *
 * Layers work on it as on any base ("stats|NAME", "limit:bytes=8G|NAME"), and so does everything
 * that opens an allocator by its spec: contexts, buffers, SHPOOL_DEVICE_ALLOCATOR.  Each opened
 * allocator makes one call to the resource at a time.
 *
 * @tparam Resource  satisfies cuda::mr::resource, or async_resource of CCCL 3.0; aligns its memory
 *                    to 256 bytes on request
 * @param [in] name      [a-z][a-z0-9_]*, copied
 * @param [in] resource  copied or moved; lives as long as the process
 * @param [in] device    the device of its memory; -1: the calling thread's current device
 * Throws error: as shpool_device_register(), or SHPOOL_ERR_CUDA.
 */
template <class Resource> void provide(const char *name, Resource resource, int device = -1)
{
    if (name == nullptr) {
        throw error(shpool_error(SHPOOL_ERR_INVALID, "name is NULL"));
    }
    if (device < 0) {
        const cudaError_t code = cudaGetDevice(&device);

        if (code != cudaSuccess) {
            throw error(shpool_error(SHPOOL_ERR_CUDA, "no current device: %s",
                                     cudaGetErrorString(code)));
        }
    }
    auto made = std::make_unique<detail::provider<Resource>>(name, std::move(resource), device);

    check(shpool_device_register(&made->table));
    (void)made.release(); /* the registry owns it now */
}

} /* namespace shpool */

#endif /* SHPOOL_MEMORY_RESOURCE_HPP */
