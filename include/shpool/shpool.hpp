/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/shpool.hpp
 * C++17 classes over shpool.cuh: pools and allocations that are released automatically.
 *
 *     __global__ void kernel(shpool_pool pool, const unsigned *lengths)
 *     {
 *         extern __shared__ __align__(16) unsigned char smem[];
 *         shpool_heap heap = shpool_init(&pool, smem);
 *         {
 *             shpool::array<float> row(heap, lengths[threadIdx.x]);          // of this thread
 *             shpool::array<int, shpool::warp> bins(heap, 256);              // of this warp
 *
 *             if (row && bins) ...                                           // false: no memory
 *         }                                                                  // freed here
 *         shpool_fini(heap);
 *     }
 *     ...
 *     shpool::pool pool({.block_threads = 256, .payload_bytes = 32 * 1024});
 *     pool.launch(kernel, grid, 256, stream, lengths);
 *
 * Under nvcc a pool comes from shpool_open() for the current device; under a C++ compiler alone it
 * comes from shpool_simt_open() for the executor.  The classes add nothing that the C functions
 * cannot do, and do not synchronise by themselves: only the called C functions wait.
 */
#ifndef SHPOOL_SHPOOL_HPP
#define SHPOOL_SHPOOL_HPP

#if defined(__CUDACC__)
#include <shpool/shpool.cuh>
#define SHPOOL_MEMBER __device__ __forceinline__
#else
#include <shpool/heap.h>
#include <shpool/shpool.h>
#define SHPOOL_MEMBER inline
#endif
#include <shpool/group.h>

#if !defined(__CUDACC_RTC__)
#include <utility>

#include <shpool/error.hpp>
#endif

namespace shpool {

#if !defined(__CUDACC_RTC__)

/**
 * An open pool, which the destructor closes.  It can be moved but not copied.
 *
 * Scope: host; one thread at a time.  As with shpool_close(), no kernel may still be using it.
 */
class pool {
  public:
    /** shpool_open(spec, &want): NULL selects $SHPOOL_ALLOCATOR, else the default.  Throws
     *  error. */
    explicit pool(const shpool_config &want, const char *spec = nullptr)
    {
#if defined(__CUDACC__)
        check(shpool_open(spec, &want, &pool_));
#else
        check(shpool_simt_open(spec, &want, &pool_));
#endif
    }
    pool(pool &&other) noexcept : pool_(std::exchange(other.pool_, shpool_pool{})) {}
    pool &operator=(pool &&other) noexcept
    {
        if (this != &other) {
            (void)end();
            pool_ = std::exchange(other.pool_, shpool_pool{});
        }
        return *this;
    }
    ~pool() { (void)end(); }

    /** For a kernel's parameter, and for the C functions. */
    const shpool_pool &get() const noexcept { return pool_; }
    operator const shpool_pool &() const noexcept { return pool_; }

    /** shpool_close().  The destructor ignores its failures (a trace that could not be written). */
    void close() { check(end()); }

    /** shpool_report(), for a pool with stats=1 or check=1.  Throws error. */
    shpool_report_data report() const
    {
        shpool_report_data data = {};

#if defined(__CUDACC__)
        check(shpool_report(&pool_, &data));
#else
        check(shpool_simt_report(&pool_, &data));
#endif
        return data;
    }

#if defined(__CUDACC__) && (CUDART_VERSION >= 12000)
    /** shpool_launch(): a kernel whose first parameter is the pool.  Throws error. */
    template <typename... Parameters>
    void launch(void (*kernel)(shpool_pool, Parameters...), dim3 grid, dim3 block,
                cudaStream_t stream, typename shpool_parameter<Parameters>::type... values) const
    {
        check(shpool_launch(kernel, grid, block, stream, &pool_, values...));
    }
#endif

  private:
    shpool_status end() noexcept
    {
#if defined(__CUDACC__)
        return shpool_close(&pool_);
#else
        return shpool_simt_close(&pool_);
#endif
    }

    shpool_pool pool_ = {};
};

#endif /* __CUDACC_RTC__ */

/* ---- in a kernel: who owns an allocation ---- */

/** The calling thread. */
struct thread {
    template <size_t Alignment>
    SHPOOL_MEMBER void *allocate(shpool_heap heap, size_t bytes) const
    {
        return (Alignment <= SHPOOL_MIN_ALIGNMENT) ? shpool_malloc(heap, bytes)
                                                   : shpool_aligned_malloc(heap, Alignment, bytes);
    }
    SHPOOL_MEMBER void release(shpool_heap heap, void *ptr) const { shpool_free(heap, ptr); }
};

/** These lanes of a warp, which call together: bit i of the mask is lane i. */
struct lanes {
    uint32_t mask;

    template <size_t Alignment>
    SHPOOL_MEMBER void *allocate(shpool_heap heap, size_t bytes) const
    {
        return (Alignment <= SHPOOL_MIN_ALIGNMENT)
                   ? shpool_malloc_lanes(heap, mask, bytes)
                   : shpool_aligned_malloc_lanes(heap, mask, Alignment, bytes);
    }
    SHPOOL_MEMBER void release(shpool_heap heap, void *ptr) const
    {
        shpool_free_lanes(heap, mask, ptr);
    }
};

/** All lanes of the calling warp. */
struct warp {
    template <size_t Alignment>
    SHPOOL_MEMBER void *allocate(shpool_heap heap, size_t bytes) const
    {
        return (Alignment <= SHPOOL_MIN_ALIGNMENT)
                   ? shpool_malloc_warp(heap, bytes)
                   : shpool_aligned_malloc_warp(heap, Alignment, bytes);
    }
    SHPOOL_MEMBER void release(shpool_heap heap, void *ptr) const { shpool_free_warp(heap, ptr); }
};

/** All threads of the block; both calls have the barriers of the _block functions (group.h). */
struct block {
    template <size_t Alignment>
    SHPOOL_MEMBER void *allocate(shpool_heap heap, size_t bytes) const
    {
        return (Alignment <= SHPOOL_MIN_ALIGNMENT)
                   ? shpool_malloc_block(heap, bytes)
                   : shpool_aligned_malloc_block(heap, Alignment, bytes);
    }
    SHPOOL_MEMBER void release(shpool_heap heap, void *ptr) const { shpool_free_block(heap, ptr); }
};

/**
 * An allocation of `count` elements that its owner frees at the end of its scope.
 *
 * Elements are not initialised, and their destructors do not run.  The members of a group get the
 * same address; they construct and destroy the array together, with the same arguments.  They must
 * synchronise before one of them reads data that another one wrote.
 *
 * @tparam T      trivially copyable; aligned to at most 1,024 bytes.  If the pool's alignment is less
 *                than T's, the array is empty, and the report says which one it needs.
 * @tparam Owner  thread, lanes, warp or block
 */
template <typename T, typename Owner = thread> class array {
  public:
    /** Empty if the memory does not suffice, or if count * sizeof(T) exceeds 32 bits. */
    SHPOOL_MEMBER array(shpool_heap heap, size_t count, Owner owner = Owner())
        : heap_(heap), owner_(owner), data_(nullptr), count_(0)
    {
        static_assert(__is_trivially_copyable(T), "shpool::array: elements are bytes to it");
        static_assert(alignof(T) <= SHPOOL_MAX_ALIGNMENT,
                      "shpool::array: a pool is aligned to at most 1,024 bytes");
        const bool fits = count <= 0xffffffffu / sizeof(T);

        /* an impossible size: the request counts as failed, and all members take part */
        data_  = static_cast<T *>(owner_.template allocate<alignof(T)>(
            heap_, fits ? count * sizeof(T) : ~size_t(0)));
        count_ = (data_ != nullptr) ? static_cast<uint32_t>(count) : 0u;
    }
    SHPOOL_MEMBER array(array &&other)
        : heap_(other.heap_), owner_(other.owner_), data_(other.data_), count_(other.count_)
    {
        (void)other.release();
    }
    array(const array &)            = delete;
    array &operator=(const array &) = delete;
    array &operator=(array &&)      = delete;
    SHPOOL_MEMBER ~array() { owner_.release(heap_, data_); }

    SHPOOL_MEMBER explicit operator bool() const { return data_ != nullptr; }
    SHPOOL_MEMBER T       *data() const { return data_; }
    SHPOOL_MEMBER uint32_t size() const { return count_; }
    SHPOOL_MEMBER T       &operator[](uint32_t i) const { return data_[i]; }
    SHPOOL_MEMBER T       *begin() const { return data_; }
    SHPOOL_MEMBER T       *end() const { return data_ + count_; }

    /** Returns the pointer, which the caller must now free, with any function of the same heap. */
    SHPOOL_MEMBER T *release()
    {
        T *data = data_;

        data_  = nullptr;
        count_ = 0;
        return data;
    }

  private:
    shpool_heap heap_;
    Owner       owner_;
    T          *data_;
    uint32_t    count_;
};

} /* namespace shpool */

#undef SHPOOL_MEMBER

#endif /* SHPOOL_SHPOOL_HPP */
