/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PyTorch's own allocator behind ours: what it still does, in the words of each version of PyTorch.
 *
 * Pools (CUDA graphs, graph trees, torch.cuda.MemPool) need fixed addresses, checkpoints, and
 * allocators of their own.  PyTorch's own allocator has all that, and stays in the process: it
 * serves the allocations that a pool's filter selects.
 *
 * SHPOOL_TORCH is PyTorch's version, MAJOR * 100 + MINOR.
 */
#ifndef SHPOOL_TORCH_NATIVE_H
#define SHPOOL_TORCH_NATIVE_H

#include <atomic>
#include <mutex>

#include <torch/csrc/cuda/CUDAPluggableAllocator.h>

namespace shpool_torch {

namespace caching = c10::cuda::CUDACachingAllocator;
using c10::DeviceIndex;
using c10::cuda::MempoolId_t;
using Filter = std::function<bool(cudaStream_t)>;
using Lock = std::lock_guard<std::mutex>;
using Plug = torch::cuda::CUDAPluggableAllocator::CUDAPluggableAllocator;

constexpr int         max_devices = 64; /* as many as libshpool serves */
constexpr MempoolId_t no_pool{0, 0};

/* One value for each device; other numbers are an exception. */
template <typename Value> class PerDevice {
public:
    Value &operator[](DeviceIndex device)
    {
        TORCH_CHECK((device >= 0) && (device < max_devices), "libshpool serves devices 0 to ",
                    max_devices - 1, ", not ", int(device));
        return values_[device];
    }

    auto begin() { return std::begin(values_); }
    auto end() { return std::end(values_); }

private:
    Value values_[max_devices] = {};
};

/* What recordHistory() is called with. */
struct History {
    bool                     enabled;
    caching::CreateContextFn recorder;
    size_t                   most;
    caching::RecordContext   when;
    bool                     clear;
};

class Native : public Plug {
public:
    explicit Native(caching::CUDAAllocator *native)
        : Plug(nullptr, nullptr), native_(native), pool_deleter_(native->raw_deleter())
    {
    }

    void init(int devices) override { native_->init(devices); }
    bool initialized() override { return is_installed_ && native_->initialized(); }

    /* PyTorch exchanges only an allocator that says it is not initialised, which is true of ours
     * until then.  What PyTorch's own has given remains its own, and is freed there. */
    static void install(const std::shared_ptr<Native> &made)
    {
        caching::allocator.store(made.get());
        torch::cuda::CUDAPluggableAllocator::changeCurrentAllocator(made);
        c10::SetAllocator(c10::kCUDA, made.get(), 1); /* for torch.accelerator */
        made->is_installed_ = true;
    }

    /* Without caching, PyTorch's own allocator calls cudaMalloc and cudaFree.  Where these find no
     * memory, it does not try again, so idle memory is returned now. */
    void enable(bool caching) override
    {
        native_->enable(caching);
        caching_.store(caching, std::memory_order_relaxed); /* a thread relies on its own call */
        if (!caching) {
            trim();
        }
    }

    bool isEnabled() const override { return caching_.load(std::memory_order_relaxed); }
    bool isHistoryEnabled() override { return native_->isHistoryEnabled(); }

    std::shared_ptr<void> getIpcDevPtr(std::string handle) override
    {
        return native_->getIpcDevPtr(std::move(handle));
    }

    void recordAnnotation(const std::vector<std::pair<std::string, std::string>> &text) override
    {
        native_->recordAnnotation(text);
    }

    /* Only of pools' segments: those of libshpool have no events. */
    void attachAllocatorTraceTracker(caching::AllocatorTraceTracker tracker) override
    {
        native_->attachAllocatorTraceTracker(std::move(tracker));
    }

    /* ---- pools ---- */

    void beginAllocateToPool(DeviceIndex device, MempoolId_t id, Filter filter) override
    {
        native_->beginAllocateToPool(device, id, filter);
        Lock lock(pools_lock_);
        pools_.push_back({device, id, std::move(filter)});
        pools_open_ = pools_.size();
    }

    void endAllocateToPool(DeviceIndex device, MempoolId_t id) override
    {
        {
            Lock lock(pools_lock_);
            auto at = std::find_if(pools_.begin(), pools_.end(), [&](const Pool &pool) {
                return (pool.device == device) && (pool.id == id);
            });
            if (at != pools_.end()) {
                pools_.erase(at);
            }
            pools_open_ = pools_.size();
        }
        native_->endAllocateToPool(device, id);
    }

    void releasePool(DeviceIndex device, MempoolId_t id) override
    {
        native_->releasePool(device, id);
    }

    int getPoolUseCount(DeviceIndex device, MempoolId_t id) override
    {
        return native_->getPoolUseCount(device, id);
    }

    bool checkPoolLiveAllocations(DeviceIndex device, MempoolId_t id,
                                  const std::unordered_set<void *> &expected) override
    {
        return native_->checkPoolLiveAllocations(device, id, expected);
    }

    std::shared_ptr<caching::AllocatorState> getCheckpointState(DeviceIndex device,
                                                                MempoolId_t id) override
    {
        return native_->getCheckpointState(device, id);
    }

    caching::CheckpointDelta
    setCheckpointPoolState(DeviceIndex device,
                           std::shared_ptr<caching::AllocatorState> state) override
    {
        auto delta = native_->setCheckpointPoolState(device, std::move(state));

        for (c10::DataPtr &made : delta.dataptrs_allocd) {
            made = with_own_deleter(std::move(made));
        }
        return delta;
    }

    /* ---- the same in each version's words ---- */

#if SHPOOL_TORCH >= 211
    using Owner = std::shared_ptr<caching::CUDAAllocator>;
#else
    using Owner = caching::CUDAAllocator *;
#endif
#if SHPOOL_TORCH >= 208
    void createOrIncrefPool(DeviceIndex device, MempoolId_t id, Owner owner) override
    {
        native_->createOrIncrefPool(device, id, std::move(owner));
    }

    void emptyCache(MempoolId_t id) override
    {
        if (id == no_pool) {
            trim();
        }
        native_->emptyCache(id);
    }
#else
    void ensureExistsAndIncrefPool(DeviceIndex device, MempoolId_t id) override
    {
        native_->ensureExistsAndIncrefPool(device, id);
    }

    void emptyCache() override
    {
        trim();
        native_->emptyCache();
    }
#endif
#if SHPOOL_TORCH >= 211
    void setUseOnOOM(DeviceIndex device, MempoolId_t id, bool use) override
    {
        native_->setUseOnOOM(device, id, use);
    }
#elif SHPOOL_TORCH >= 208
    void setUseOnOOM(DeviceIndex device, MempoolId_t id) override
    {
        native_->setUseOnOOM(device, id);
    }
#endif
#if SHPOOL_TORCH >= 210
    void setNoSplit(DeviceIndex device, MempoolId_t id) override
    {
        native_->setNoSplit(device, id);
    }

    std::vector<caching::StreamSegmentSize> getExpandableSegmentSizes(DeviceIndex device) override
    {
        return native_->getExpandableSegmentSizes(device);
    }
#endif
#if SHPOOL_TORCH >= 211
    void recordHistory(bool enabled, caching::CreateContextFn recorder, size_t most,
                       caching::RecordContext when, bool clear,
                       const std::vector<std::string> &skip) override
    {
        native_->recordHistory(enabled, recorder, most, when, clear, skip);
        record({enabled, recorder, most, when, clear});
    }

    caching::SnapshotInfo snapshot(MempoolId_t id, bool traces) override
    {
        return with_own(native_->snapshot(id, traces), id == no_pool, traces);
    }
#elif SHPOOL_TORCH >= 208
    void recordHistory(bool enabled, caching::CreateContextFn recorder, size_t most,
                       caching::RecordContext when, bool clear) override
    {
        native_->recordHistory(enabled, recorder, most, when, clear);
        record({enabled, recorder, most, when, clear});
    }

    caching::SnapshotInfo snapshot(MempoolId_t id) override
    {
        return with_own(native_->snapshot(id), id == no_pool, true);
    }
#else
    void recordHistory(bool enabled, caching::CreateContextFn recorder, size_t most,
                       caching::RecordContext when) override
    {
        native_->recordHistory(enabled, recorder, most, when);
        record({enabled, recorder, most, when, false});
    }

    caching::SnapshotInfo snapshot() override { return with_own(native_->snapshot(), true, true); }
#endif

protected:
    /* Return idle memory of libshpool to the driver. */
    virtual void trim() = 0;
    virtual void record(const History &history) = 0;
    virtual caching::SnapshotInfo with_own(caching::SnapshotInfo info, bool segments,
                                           bool traces) = 0;

    bool is_any_pool_open() const
    {
        /* relaxed: a thread relies on its own begin only, or on one that it was ordered after */
        return pools_open_.load(std::memory_order_relaxed) > 0;
    }

    /* A pool takes allocations of this thread and stream. */
    bool is_of_pool(DeviceIndex device, cudaStream_t stream)
    {
        if (C10_LIKELY(!is_any_pool_open())) {
            return false;
        }
        Lock lock(pools_lock_);
        return std::any_of(pools_.begin(), pools_.end(), [&](const Pool &pool) {
            return (pool.device == device) && pool.filter(stream);
        });
    }

    /* PyTorch compares deleters to recognise memory of its current allocator.  Memory that was made
     * without caching keeps its deleter, which calls cudaFree. */
    c10::DataPtr with_own_deleter(c10::DataPtr made)
    {
        (void)made.compare_exchange_deleter(pool_deleter_, raw_deleter());
        return made;
    }

    caching::CUDAAllocator *native_;
    c10::DeleterFnPtr       pool_deleter_; /* native's raw_deleter() while caching is enabled */

private:
    struct Pool {
        DeviceIndex device;
        MempoolId_t id;
        Filter      filter;
    };

    std::mutex          pools_lock_; /* held while filters are called */
    std::vector<Pool>   pools_;
    std::atomic<size_t> pools_open_{0};
    std::atomic<bool>   caching_{true};
    std::atomic<bool>   is_installed_{false};
};

} // namespace shpool_torch

#endif /* SHPOOL_TORCH_NATIVE_H */
