/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libshpool as PyTorch's allocator.  A C function can neither throw torch.OutOfMemoryError nor fill
 * PyTorch's statistics and snapshots.
 *
 * shpool/torch.py compiles this file against the installed PyTorch, 2.6 or newer, and calls
 * shpool_torch_install().  Memory of pools comes from PyTorch's own allocator (native.h),
 * everything else from libshpool.  Each returns its idle memory to the driver before the other one
 * fails.
 */
#include <c10/core/impl/GPUTrace.h>
#include <c10/cuda/CUDAException.h>

#include "ledger.h"

namespace shpool_torch {
namespace {

void release(void *ptr);

void check(shpool_status status)
{
    TORCH_CHECK(status == SHPOOL_OK, shpool_last_error());
}

bool is_shortage(shpool_status status)
{
    return (status == SHPOOL_ERR_NO_MEMORY) || (status == SHPOOL_ERR_LIMIT) ||
           (status == SHPOOL_ERR_TOO_LARGE);
}

DeviceIndex current_device()
{
    DeviceIndex device = -1;

    C10_CUDA_CHECK(c10::cuda::GetDevice(&device));
    return device;
}

std::string text_of(size_t bytes)
{
    const char *units[] = {" bytes", " KiB", " MiB", " GiB"};
    const int   unit = (bytes < 1 << 10) ? 0 : (bytes < 1 << 20) ? 1 : (bytes < 1 << 30) ? 2 : 3;
    char        text[40];

    (void)snprintf(text, sizeof(text), (unit == 0) ? "%.0f%s" : "%.2f%s",
                   double(bytes) / double(1 << (10 * unit)), units[unit]);
    return text;
}

shpool_status request(shpool_device_allocator *allocator, const Allocation &one, void **ptr)
{
    /* PyTorch's streams live as long as the process; most calls come from one stream */
    static thread_local struct {
        shpool_device_allocator *allocator;
        cudaStream_t             stream;
    } declared = {};

    if ((declared.allocator != allocator) || (declared.stream != one.stream)) {
        (void)shpool_device_stream_stable(allocator, one.stream);
        declared = {allocator, one.stream};
    }
    return shpool_device_malloc(allocator, one.bytes, one.stream, ptr);
}

class Allocator final : public Native {
public:
    using Native::Native;

    std::string name() override { return "shpool"; }

    /* ---- malloc and free ---- */

    c10::DataPtr allocate(size_t bytes) override
    {
        const DeviceIndex  device = current_device();
        const cudaStream_t stream = c10::cuda::getCurrentCUDAStream(device);

        if (!isEnabled() || is_of_pool(device, stream)) {
            return with_own_deleter(
                from_native(device, [&] { return native_->allocate(bytes); }));
        }
        void *ptr = take({bytes, stream, device, nullptr});
        return {ptr, ptr, &release, c10::Device(c10::kCUDA, device)};
    }

    void *raw_alloc(size_t bytes) override
    {
        return raw_alloc_with_stream(bytes, c10::cuda::getCurrentCUDAStream(current_device()));
    }

    void *raw_alloc_with_stream(size_t bytes, cudaStream_t stream) override
    {
        const DeviceIndex device = current_device();

        if (!isEnabled() || is_of_pool(device, stream)) {
            return from_native(device,
                               [&] { return native_->raw_alloc_with_stream(bytes, stream); });
        }
        return take({bytes, stream, device, nullptr});
    }

    c10::DeleterFnPtr raw_deleter() const override { return &release; }

    void raw_delete(void *ptr) override
    {
        if ((ptr != nullptr) && !give_back(ptr)) {
            native_->raw_delete(ptr);
        }
    }

    /* Of a DataPtr.  Memory of pools is cached, also if it dies while caching is disabled. */
    void delete_data(void *ptr)
    {
        if ((ptr != nullptr) && !give_back(ptr)) {
            pool_deleter_(ptr);
        }
    }

    void recordStream(const c10::DataPtr &ptr, c10::cuda::CUDAStream stream) override
    {
        Allocation one;

        if ((ptr.get() == nullptr) || (ptr.get_deleter() != &release)) {
            native_->recordStream(ptr, stream); /* from before, or of another library */
            return;
        }
        if (!ledger_.find(ptr.get(), &one)) {
            /* PyTorch's own deleter identifies its memory; without a context nothing is freed */
            const c10::DataPtr alias(ptr.get(), nullptr, pool_deleter_, ptr.device());

            native_->recordStream(alias, stream);
        } else if (one.stream != stream.stream()) {
            check(shpool_device_record_stream(allocators_[one.device], ptr.get(), stream));
        }
    }

    /* ---- control ---- */

    double getMemoryFraction(DeviceIndex device) override
    {
        return native_->getMemoryFraction(device);
    }

    void setMemoryFraction(double fraction, DeviceIndex device) override
    {
        native_->setMemoryFraction(fraction, device);
        if (allocators_[device] != nullptr) {
            shpool_torch_memory_fraction(fraction, device);
        }
    }

    /* cuDNN's benchmark tries algorithms whose workspace fits. */
    void cacheInfo(DeviceIndex device, size_t *largest) override
    {
        native_->cacheInfo(device, largest);
        *largest = std::max<size_t>(*largest, stats_of(device).largest_idle);
    }

    void *getBaseAllocation(void *ptr, size_t *bytes) override
    {
        void  *base = nullptr;
        size_t size = 0;

        if (!base_of(ptr, &base, &size)) {
            return native_->getBaseAllocation(ptr, bytes);
        }
        if (bytes != nullptr) {
            *bytes = size;
        }
        return base;
    }

    caching::ShareableHandle shareIpcHandle(void *ptr) override
    {
        void  *base = nullptr;
        size_t size = 0;

        TORCH_CHECK(!base_of(ptr, &base, &size),
                    "torch.multiprocessing cannot share a tensor in libshpool's memory: send "
                    "tensor.cpu(), or allocate it under "
                    "torch.cuda.use_mem_pool(torch.cuda.MemPool())");
        return native_->shareIpcHandle(ptr);
    }

    void enablePeerAccess(DeviceIndex device, DeviceIndex owner) override
    {
        native_->enablePeerAccess(device, owner);
        /* a base without this key has memory that the call above covers */
        (void)shpool_device_set(allocator_of(owner), "peer", std::to_string(device).c_str());
    }

    cudaError_t memcpyAsync(void *to, int to_device, const void *from, int from_device,
                            size_t bytes, cudaStream_t stream, bool) override
    {
        return (to_device == from_device) /* mapped memory of two devices needs the peers' copy */
                   ? cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream)
                   : cudaMemcpyPeerAsync(to, to_device, from, from_device, bytes, stream);
    }

    /* ---- statistics ---- */

    DeviceStats getDeviceStats(DeviceIndex device) override
    {
        DeviceStats stats = native_->getDeviceStats(device);

        ledger_.add_to(stats, device, stats_of(device));
        return stats;
    }

    void resetAccumulatedStats(DeviceIndex device) override
    {
        native_->resetAccumulatedStats(device);
        ledger_.reset_accumulated(device, stats_of(device));
    }

    void resetPeakStats(DeviceIndex device) override
    {
        native_->resetPeakStats(device);
        if (allocators_[device] != nullptr) {
            check(shpool_device_reset_peak(allocators_[device]));
        }
        ledger_.reset_peak(device);
    }

    void attachOutOfMemoryObserver(caching::OutOfMemoryObserver observer) override
    {
        native_->attachOutOfMemoryObserver(observer);
        Lock lock(observers_lock_);
        observers_.push_back(std::move(observer));
    }

protected:
    void trim() override
    {
        for (DeviceIndex i = 0; i < max_devices; i++) {
            trim_device(i);
        }
    }

    void record(const History &history) override { ledger_.record(history); }

    caching::SnapshotInfo with_own(caching::SnapshotInfo info, bool segments, bool traces) override
    {
        for (DeviceIndex i = 0; i < max_devices; i++) {
            std::vector<shpool_device_block> blocks;

            if (segments && (allocators_[i] != nullptr)) {
                check(shpool_device_walk(
                    allocators_[i],
                    [](const shpool_device_block *block, void *to) {
                        try { /* no exception leaves a C function */
                            static_cast<decltype(blocks) *>(to)->push_back(*block);
                            return 0;
                        } catch (const std::exception &) {
                            return 1; /* the rest is missing */
                        }
                    },
                    &blocks));
                ledger_.add_segments(info.segments, i, blocks);
            }
            if (traces && (size_t(i) < info.device_traces.size())) {
                ledger_.add_trace(info.device_traces[i], i);
            }
        }
        return info;
    }

private:
    shpool_device_allocator *allocator_of(DeviceIndex device)
    {
        shpool_device_allocator *allocator = allocators_[device];

        if (C10_UNLIKELY(allocator == nullptr)) {
            check(shpool_device_allocator_default(device, &allocator));
            allocators_[device] = allocator;
            /* also of PYTORCH_CUDA_ALLOC_CONF, and from before enable() */
            if (const double fraction = getMemoryFraction(device); fraction < 1) {
                shpool_torch_memory_fraction(fraction, device);
            }
        }
        return allocator;
    }

    /* Zeros until the device is used. */
    shpool_device_stats stats_of(DeviceIndex device)
    {
        shpool_device_stats stats = {};

        if (allocators_[device] != nullptr) {
            check(shpool_device_get_stats(allocators_[device], &stats));
        }
        return stats;
    }

    bool base_of(const void *ptr, void **base, size_t *bytes)
    {
        return std::any_of(std::begin(allocators_), std::end(allocators_), [&](auto &allocator) {
            return (allocator != nullptr) &&
                   (shpool_device_base(allocator, ptr, base, bytes) == SHPOOL_OK);
        });
    }

    void *take(Allocation one)
    {
        shpool_device_allocator *allocator = allocator_of(one.device);
        void                    *ptr = nullptr;
        shpool_status            status;

        if (one.bytes == 0) {
            return nullptr;
        }
        TORCH_CHECK_WITH(OutOfMemoryError, one.bytes < (size_t(1) << 60),
                         "CUDA out of memory. Tried to allocate more than 1EB memory.");
        one.context = ledger_.context(RecordContext::STATE);
        status = request(allocator, one, &ptr);
        if (C10_UNLIKELY(is_shortage(status))) {
            reclaim();
            status = request(allocator, one, &ptr);
        }
        if (C10_UNLIKELY(is_shortage(status))) {
            fail(one);
        }
        check(status);
        ledger_.add(ptr, one);
        report(ptr, one, int64_t(one.rounded()));
        if (const auto *trace = c10::impl::GPUTrace::get_trace(); C10_UNLIKELY(trace != nullptr)) {
            (*trace)->trace_gpu_memory_allocation(c10::kCUDA, uintptr_t(ptr));
        }
        return ptr;
    }

    /* False: the memory is not libshpool's. */
    bool give_back(void *ptr)
    {
        Allocation one;

        if (!ledger_.remove(ptr, &one)) {
            return false;
        }
        report(ptr, one, -int64_t(one.rounded()));
        if (const auto *trace = c10::impl::GPUTrace::get_trace(); C10_UNLIKELY(trace != nullptr)) {
            (*trace)->trace_gpu_memory_deallocation(c10::kCUDA, uintptr_t(ptr));
        }
        if (shpool_device_free(allocators_[one.device], ptr, one.stream) != SHPOOL_OK) {
            TORCH_WARN("memory was not freed: ", shpool_last_error());
        }
        if (C10_UNLIKELY(!isEnabled())) {
            trim_device(one.device); /* no memory stays idle without caching */
        }
        return true;
    }

    void trim_device(DeviceIndex device)
    {
        const uint64_t before = stats_of(device).driver_bytes;

        if (before > 0) {
            (void)shpool_device_trim(allocators_[device], 0);
            ledger_.returned(device, before - std::min(before, stats_of(device).driver_bytes));
        }
    }

    /* Idle memory of pools goes back to the driver; PyTorch's own allocator cannot return it while
     * a pool is in use. */
    void reclaim()
    {
        if (!is_any_pool_open()) {
            native_->emptyCache();
        }
    }

    template <typename Function>
    auto from_native(DeviceIndex device, Function function) -> decltype(function())
    {
        try {
            return function();
        } catch (const c10::OutOfMemoryError &) {
            if (allocators_[device] == nullptr) {
                throw;
            }
        }
        trim_device(device);
        return function();
    }

    /* For torch.profiler with profile_memory=True. */
    void report(void *ptr, const Allocation &one, int64_t change)
    {
        if (C10_UNLIKELY(c10::memoryProfilingEnabled())) {
            const DeviceStats stats = getDeviceStats(one.device);

            c10::reportMemoryUsageToProfiler(ptr, change,
                                             size_t(stats.allocated_bytes[all_sizes].current),
                                             size_t(stats.reserved_bytes[all_sizes].current),
                                             c10::Device(c10::kCUDA, one.device));
        }
    }

    [[noreturn]] void fail(const Allocation &one)
    {
        const std::string         detail = shpool_last_error();
        const shpool_device_stats now = stats_of(one.device);
        const double              fraction = getMemoryFraction(one.device);
        const DeviceStats         native = native_->getDeviceStats(one.device);
        const size_t              pools = size_t(native.reserved_bytes[all_sizes].current);
        uint64_t                  free_bytes = 0;
        uint64_t                  total = 0;

        check(shpool_device_memory(one.device, &free_bytes, &total));
        const size_t live = ledger_.fail(one, free_bytes);
        const size_t allowed = size_t(fraction * double(total));

        observe(one, allowed, free_bytes);
        TORCH_CHECK_WITH(
            OutOfMemoryError, false, "CUDA out of memory. Tried to allocate ", text_of(one.bytes),
            ". GPU ", int(one.device), " has a total capacity of ", text_of(total), " of which ",
            text_of(free_bytes), " is free. ",
            (fraction < 1) ? text_of(allowed) + " allowed; " : std::string(),
            "Of the allocated memory ", text_of(live), " is allocated by PyTorch, ",
            (pools > 0) ? text_of(pools) + " by its graphs and pools, " : std::string(), "and ",
            text_of(now.driver_bytes > live ? now.driver_bytes - live : 0),
            " is reserved by PyTorch but unallocated, in pieces of at most ",
            text_of(now.largest_idle), ". libshpool: ", detail);
    }

    /* Without the lock: an observer may take a snapshot, or attach another one. */
    void observe(const Allocation &one, size_t allowed, size_t free_bytes)
    {
        std::vector<caching::OutOfMemoryObserver> observers;
        {
            Lock lock(observers_lock_);
            observers = observers_;
        }
        for (const auto &observer : observers) {
            observer(one.device, one.rounded(), allowed, free_bytes);
        }
    }

    Ledger                                    ledger_;
    PerDevice<std::atomic<shpool_device_allocator *>> allocators_;
    std::mutex                                observers_lock_;
    std::vector<caching::OutOfMemoryObserver> observers_;
};

/* Never destroyed: tensors are freed until the process ends. */
Allocator *installed;

void release(void *ptr)
{
    installed->delete_data(ptr);
}

} // namespace
} // namespace shpool_torch

/* NULL: PyTorch's memory comes from libshpool now; else why not.  No other thread may use PyTorch's
 * allocator meanwhile. */
extern "C" __attribute__((visibility("default"))) const char *shpool_torch_install(void)
{
    using namespace shpool_torch;
    static std::string reason;

    try {
        caching::CUDAAllocator *native = caching::get();

        TORCH_CHECK(native->name() == "native", "PyTorch has the allocator \"", native->name(),
                    "\" already");
        TORCH_CHECK(native->isEnabled(), "caching_allocator_enable(False) was called before");
        native->emptyCache();
        installed = new Allocator(native); /* first: new memory is released through it */
        Native::install(std::shared_ptr<Native>(installed, [](auto *) {}));
    } catch (const c10::Error &error) {
        reason = error.what_without_backtrace();
        return reason.c_str();
    } catch (const std::exception &error) {
        reason = error.what();
        return reason.c_str();
    }
    return nullptr;
}
