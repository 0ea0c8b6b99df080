/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool/memory_resource.hpp with the cuda::mr of the CUDA Toolkit that was found, over the fake
 * driver.  For another one: make check SHPOOL_CUDA_INCLUDES='-isystem .../include/cccl ...'. */
#include "tests/test.h"

#include <cstring>
#include <set>
#include <stdexcept>

#include <shpool/memory_resource.hpp>

#include "runtime_fake.h"

namespace mr = cuda::mr;

#define RUNTIME_TEST(_name) UNIT_TEST_WITH(_name, fake_runtime_setup, fake_runtime_teardown)

namespace {

#if (CCCL_VERSION >= 3001000)
template <class Resource> constexpr bool is_resource = mr::resource_with<Resource,
                                                                         mr::device_accessible>;
using resource_ref = mr::resource_ref<mr::device_accessible>;
void *take(resource_ref from, cudaStream_t stream, size_t bytes)
{
    return from.allocate(cuda::stream_ref(stream), bytes, 256);
}
void give(resource_ref to, cudaStream_t stream, void *ptr, size_t bytes)
{
    to.deallocate(cuda::stream_ref(stream), ptr, bytes, 256);
}
#else
template <class Resource> constexpr bool is_resource =
    mr::async_resource_with<Resource, mr::device_accessible>;
using resource_ref = mr::async_resource_ref<mr::device_accessible>;
void *take(resource_ref from, cudaStream_t stream, size_t bytes)
{
    return from.allocate_async(bytes, 256, cuda::stream_ref(stream));
}
void give(resource_ref to, cudaStream_t stream, void *ptr, size_t bytes)
{
    to.deallocate_async(ptr, bytes, 256, cuda::stream_ref(stream));
}
#endif

static_assert(is_resource<shpool::memory_resource>, "cuda::mr takes it in its own spelling");

/* ---- an allocator as a resource ---- */

/* A call throws this, with these words in the text. */
template <class Exception, class Call> void throws(const char *words, Call call)
{
    try {
        call();
    } catch (const Exception &failure) {
        assert_non_null(strstr(failure.what(), words));
        return;
    }
    fail_msg("no exception with \"%s\"", words);
}

uint64_t live(const shpool::memory_resource &resource)
{
    shpool_device_stats stats;

    shpool::check(shpool_device_get_stats(resource.get(), &stats));
    return stats.live_bytes;
}

RUNTIME_TEST(test_a_reference_of_cuda_mr_allocates_and_frees)
{
    shpool::memory_resource resource("bins");
    resource_ref            ref(resource);
    const cudaStream_t      stream = fake_runtime_stream(0);
    void                   *ptr    = take(ref, stream, 5000);

    assert_non_null(ptr);
    assert_int_equal(reinterpret_cast<uintptr_t>(ptr) % 256, 0);
    assert_true(live(resource) >= 5000);
    fake_runtime_work(stream, ptr, 5000);
    give(ref, stream, ptr, 5000);
    assert_int_equal(live(resource), 0);
}

RUNTIME_TEST(test_memory_without_a_stream_is_usable_at_once)
{
    for (int device = 0; device < 2; device++) { /* the first is current */
        shpool::memory_resource resource("bins", device);
        const cudaStream_t      stream = fake_runtime_stream(device);
        void                   *first  = resource.allocate(SHPOOL_STREAM_LEGACY, 3 << 20);
        void                   *ptr;

        /* work of the legacy stream is ordered before that of `stream` by the wait alone */
        fake_runtime_use(device);
        fake_runtime_work(SHPOOL_STREAM_LEGACY, first, 3 << 20);
        fake_runtime_use(0);
        resource.deallocate(SHPOOL_STREAM_LEGACY, first, 3 << 20);
        ptr = resource.allocate_sync(3 << 20);
        assert_ptr_equal(ptr, first);
        fake_runtime_work(stream, ptr, 3 << 20);
        cudaStreamSynchronize(stream);
        resource.deallocate_sync(ptr, 3 << 20);
        ptr = resource.allocate(1000); /* the other spelling */
        resource.deallocate(ptr, 1000);
        assert_int_equal(live(resource), 0);
    }
}

RUNTIME_TEST(test_a_wait_that_fails_keeps_nothing)
{
    shpool::memory_resource resource("bins");

    fake_runtime_fail_next_sync();
    throws<std::bad_alloc>("illegal memory access", [&] { (void)resource.allocate_sync(4096); });
    assert_int_equal(live(resource), 0);
}

/* The wait for the legacy stream would end the capture of a stream that is ordered with it. */
RUNTIME_TEST(test_a_capture_goes_on)
{
    shpool::memory_resource resource("bins");

    (void)fake_runtime_capture(0, 0);
    resource.deallocate_sync(resource.allocate_sync(4096), 4096);
    (void)fake_runtime_capture(0, 1);
    throws<std::bad_alloc>("legacy default stream", [&] { (void)resource.allocate_sync(4096); });
    assert_int_equal(live(resource), 0);
}

RUNTIME_TEST(test_refusals_are_bad_alloc_and_say_why)
{
    shpool::memory_resource resource("limit:bytes=1M|bins");

    for (const size_t alignment : {size_t(512), size_t(24)}) {
        throws<std::bad_alloc>((alignment == 512) ? "512" : "24",
                               [&] { (void)resource.allocate_sync(100, alignment); });
    }
    throws<shpool::bad_alloc>("", [&] {
        try {
            (void)resource.allocate_sync(2 << 20);
        } catch (const shpool::bad_alloc &failure) {
            assert_int_equal(failure.status(), SHPOOL_ERR_LIMIT);
            throw;
        }
    });
    throws<shpool::error>("bins", [] { shpool::memory_resource none("bisn"); });
    assert_null(resource.allocate_sync(0));
    resource.deallocate_sync(nullptr, 0);
}

RUNTIME_TEST(test_copies_share_one_allocator)
{
    shpool_device_allocator *shared;
    void                    *ptr;

    {
        shpool::memory_resource first("bins");
        shpool::memory_resource copy(first);
        shpool::memory_resource other("bins", 1);

        assert_true(first == copy);
        assert_true(first != other);
        ptr = first.allocate_sync(1000);
        {
            shpool::memory_resource last(first);

            first = other;
            last.deallocate_sync(ptr, 1000);
        }
        assert_int_equal(live(copy), 0);
        assert_true(first == other);
        assert_int_equal(shpool_device_allocator_device(first.get()), 1);
    }
    shpool::check(shpool_device_allocator_default(0, &shared));
    {
        auto resource = shpool::memory_resource::of(shared);

        ptr = resource.allocate_sync(1000);
    }
    shpool::check(shpool_device_free(shared, ptr, nullptr)); /* it outlives the resource */
}

/* ---- a resource as an allocator ---- */

/* Returns addresses of its own, with both spellings, and records the requests. */
struct book {
    std::set<void *> given;
    size_t           bytes     = 0;
    unsigned         calls     = 0;
    cudaStream_t     last      = nullptr;
    int              device    = -1;
    int              trouble   = 0; /* 1: no memory; 2: another exception; 3: no exception class */
};

struct resource {
    book *notes;

    void *take(cudaStream_t stream, size_t bytes)
    {
        char *ptr = nullptr;

        notes->calls++;
        notes->last = stream;
        cudaGetDevice(&notes->device);
        switch (notes->trouble) {
        case 1: throw std::bad_alloc();
        case 2: throw std::runtime_error("the pool is on fire");
        case 3: throw 7;
        default: break;
        }
        ptr = static_cast<char *>(::operator new(bytes, std::align_val_t(256)));
        notes->given.insert(ptr);
        notes->bytes += bytes;
        return ptr;
    }
    void give(cudaStream_t stream, void *ptr, size_t bytes)
    {
        notes->last = stream;
        notes->bytes -= bytes;
        assert_int_equal(notes->given.erase(ptr), 1);
        ::operator delete(ptr, std::align_val_t(256));
    }

#if (CCCL_VERSION >= 3001000)
    void *allocate(cuda::stream_ref stream, size_t bytes, size_t)
    {
        return take(stream.get(), bytes);
    }
    void deallocate(cuda::stream_ref stream, void *ptr, size_t bytes, size_t) noexcept
    {
        give(stream.get(), ptr, bytes);
    }
    void *allocate_sync(size_t bytes, size_t) { return take(nullptr, bytes); }
    void deallocate_sync(void *ptr, size_t bytes, size_t) noexcept { give(nullptr, ptr, bytes); }
#else
    void *allocate_async(size_t bytes, size_t, cuda::stream_ref stream)
    {
        return take(stream.get(), bytes);
    }
    void deallocate_async(void *ptr, size_t bytes, size_t, cuda::stream_ref stream)
    {
        give(stream.get(), ptr, bytes);
    }
    void *allocate(size_t bytes, size_t) { return take(nullptr, bytes); }
    void deallocate(void *ptr, size_t bytes, size_t) { give(nullptr, ptr, bytes); }
#endif
    friend bool operator==(const resource &a, const resource &b) { return a.notes == b.notes; }
    friend bool operator!=(const resource &a, const resource &b) { return !(a == b); }
    friend void get_property(const resource &, mr::device_accessible) {}
};

static_assert(is_resource<resource>, "the test's own resource is one");

shpool_device_allocator *open(const char *spec, int device)
{
    shpool_device_allocator *allocator;

    shpool::check(shpool_device_allocator_open(spec, device, &allocator));
    return allocator;
}

RUNTIME_TEST(test_a_resource_serves_under_layers)
{
    static book              notes;
    void                    *ptr;
    void                    *base;
    size_t                   bytes;
    shpool_device_stats      stats;
    shpool_device_allocator *allocator;
    const cudaStream_t       stream = fake_runtime_stream(1);

    shpool::provide("served", resource{&notes}, 1);
    allocator = open("stats|served", 1);
    shpool::check(shpool_device_malloc(allocator, 1000, stream, &ptr));
    assert_ptr_equal(notes.last, stream);
    assert_int_equal(notes.bytes, 1000);
    assert_int_equal(notes.device, 1); /* current for the time of the call */
    cudaGetDevice(&notes.device);
    assert_int_equal(notes.device, 0);
    shpool::check(shpool_device_get_stats(allocator, &stats));
    assert_int_equal(stats.live_count, 1);
    shpool::check(shpool_device_base(allocator, static_cast<char *>(ptr) + 999, &base, &bytes));
    assert_ptr_equal(base, ptr);
    assert_int_equal(bytes, 1000);
    assert_int_equal(shpool_device_base(allocator, static_cast<char *>(ptr) + 1000, &base, &bytes),
                     SHPOOL_ERR_INVALID);
    shpool::check(shpool_device_free(allocator, ptr, nullptr));
    assert_ptr_equal(notes.last, SHPOOL_STREAM_LEGACY);
    assert_int_equal(shpool_device_free(allocator, ptr, nullptr), SHPOOL_ERR_DOUBLE_FREE);
    assert_int_equal(shpool_device_free(allocator, &notes, nullptr), SHPOOL_ERR_INVALID);
    assert_int_equal(notes.bytes, 0);
    shpool::check(shpool_device_malloc(allocator, 10, stream, &ptr));
    shpool::check(shpool_device_malloc(allocator, 20, stream, &ptr));
    assert_int_equal(notes.bytes, 30);
    shpool_device_allocator_unref(allocator); /* frees live allocations */
    assert_int_equal(notes.bytes, 0);
}

RUNTIME_TEST(test_exceptions_become_statuses)
{
    static book              notes;
    static const char *const text[] = {"", "bad_alloc", "on fire", "without a text"};
    shpool_device_allocator *allocator;
    void                    *ptr;

    shpool::provide("throws", resource{&notes});
    allocator = open("throws", 0);
    for (notes.trouble = 1; notes.trouble <= 3; notes.trouble++) {
        assert_int_equal(shpool_device_malloc(allocator, 10, nullptr, &ptr),
                         (notes.trouble == 1) ? SHPOOL_ERR_NO_MEMORY : SHPOOL_ERR_CUDA);
        assert_null(ptr);
        assert_non_null(strstr(shpool_last_error(), text[notes.trouble]));
        assert_non_null(strstr(shpool_last_error(), "throws"));
    }
    notes.trouble = 0;
    shpool::check(shpool_device_malloc(allocator, 10, nullptr, &ptr));
    shpool_device_allocator_unref(allocator);
    assert_int_equal(notes.bytes, 0);
}

RUNTIME_TEST(test_what_cannot_be_provided_or_opened)
{
    static book              notes;
    shpool_device_allocator *allocator;

    for (const char *name : {"bins", "Bad Name", static_cast<const char *>(nullptr)}) {
        throws<shpool::error>("", [&] { shpool::provide(name, resource{&notes}); });
    }
    fake_runtime_use(1);
    shpool::provide("second_device", resource{&notes}); /* the current one's */
    fake_runtime_use(0);
    assert_int_equal(shpool_device_allocator_open("second_device", 0, &allocator),
                     SHPOOL_ERR_NOT_FOUND);
    assert_non_null(strstr(shpool_last_error(), "device 1 and not for device 0"));
    assert_int_equal(shpool_device_allocator_open("second_device:size=1", 1, &allocator),
                     SHPOOL_ERR_SPEC);
    assert_non_null(strstr(shpool_last_error(), "size"));
    assert_int_equal(notes.calls, 0);
}

/* Round and round: an allocator over a resource over an allocator. */
RUNTIME_TEST(test_a_resource_of_ours_is_provided)
{
    shpool_device_allocator *allocator;
    void                    *ptr;

    {
        shpool::memory_resource below("simple");

        shpool::provide("below", below);
        allocator = open("stats|below", 0);
        shpool::check(shpool_device_malloc(allocator, 7000, nullptr, &ptr));
        assert_true(live(below) >= 7000);
        shpool::check(shpool_device_free(allocator, ptr, nullptr));
        assert_int_equal(live(below), 0);
    }
    shpool_device_allocator_unref(allocator);
}

} /* namespace */
