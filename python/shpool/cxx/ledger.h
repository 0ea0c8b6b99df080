/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What PyTorch's statistics, snapshots and histories say of libshpool's memory: the live
 * allocations, sums over them, and the latest events.
 *
 * Allocated bytes are rounded as PyTorch rounds them, to 512, so that figures can be compared.
 */
#ifndef SHPOOL_TORCH_LEDGER_H
#define SHPOOL_TORCH_LEDGER_H

#include <chrono>
#include <deque>

#include <c10/util/flat_hash_map.h>
#include <shpool/device.h>

#include "native.h"

namespace shpool_torch {

using caching::DeviceStats;
using caching::RecordContext;
using caching::SegmentInfo;
using caching::TraceEntry;
using Context = std::shared_ptr<c10::GatheredContext>;
using Stat = decltype(DeviceStats::allocation)::value_type;

enum { all_sizes, small_sizes, large_sizes };
constexpr size_t small_bytes = 1 << 20; /* PyTorch's own limit between its two pools */

struct Allocation {
    size_t       bytes = 0; /* requested */
    cudaStream_t stream = nullptr;
    DeviceIndex  device = -1;
    Context      context; /* of the malloc, while history is recorded */

    size_t rounded() const { return std::max<size_t>((bytes + 511) / 512 * 512, 512); }
};

/* What changes with each malloc and free of a device: sizes apart, which is few cache lines. */
struct Sums {
    struct Size {
        Stat allocations, allocated, requested;
    };

    Size    size[3]; /* all_sizes, ... */
    int64_t ooms = 0;
};

class Ledger {
public:
    void add(void *ptr, const Allocation &one)
    {
        {
            Lock lock(lock_);
            live_[ptr] = one;
            count(one, true);
        }
        note(TraceEntry::ALLOC, ptr, one, one.context, RecordContext::ALLOC);
    }

    /* false: it is not of libshpool. */
    bool find(void *ptr, Allocation *one)
    {
        Lock lock(lock_);
        auto at = live_.find(ptr);

        if (at == live_.end()) {
            return false;
        }
        *one = at->second;
        return true;
    }

    bool remove(void *ptr, Allocation *one)
    {
        const Context here = context(RecordContext::ALL);
        {
            Lock lock(lock_);
            auto at = live_.find(ptr);

            if (at == live_.end()) {
                return false;
            }
            *one = std::move(at->second);
            live_.erase(at);
            count(*one, false);
        }
        note(TraceEntry::FREE_REQUESTED, ptr, *one, here, RecordContext::ALL);
        note(TraceEntry::FREE_COMPLETED, ptr, *one, here, RecordContext::ALL);
        return true;
    }

    /* To the driver: an event without an address. */
    void returned(DeviceIndex device, size_t bytes)
    {
        if (bytes > 0) {
            const Context here = context(RecordContext::ALL);

            note(TraceEntry::SEGMENT_FREE, nullptr, {bytes, nullptr, device, nullptr}, here,
                 RecordContext::ALL);
        }
    }

    /* Returns the live bytes. */
    size_t fail(const Allocation &one, size_t free_bytes)
    {
        note(TraceEntry::OOM, reinterpret_cast<void *>(free_bytes), one, one.context,
             RecordContext::STATE);
        Lock lock(lock_);
        sums_[one.device].ooms++;
        return size_t(sums_[one.device].size[all_sizes].allocated.current);
    }

    /* ---- statistics ---- */

    /* Add them to those of pools.  Memory that libshpool reserves is not divided by size. */
    void add_to(DeviceStats &sum, DeviceIndex device, const shpool_device_stats &now)
    {
        const uint64_t segments = now.driver_mallocs - now.driver_frees;
        Lock           lock(lock_);
        const auto    &base = base_[device];
        const Sums    &own = sums_[device];

        for (size_t kind : {all_sizes, small_sizes, large_sizes}) {
            add(sum.allocation[kind], own.size[kind].allocations);
            add(sum.allocated_bytes[kind], own.size[kind].allocated);
            add(sum.requested_bytes[kind], own.size[kind].requested);
            /* memory is active as long as it is allocated */
            add(sum.active[kind], own.size[kind].allocations);
            add(sum.active_bytes[kind], own.size[kind].allocated);
        }
        for (size_t kind : {all_sizes, large_sizes}) {
            add(sum.reserved_bytes[kind], state(now.driver_bytes, now.driver_bytes_peak));
            add(sum.segment[kind], state(segments, segments));
            add(sum.inactive_split_bytes[kind], state(now.idle_bytes, now.idle_bytes));
        }
        sum.num_ooms += own.ooms;
        sum.num_alloc_retries += int64_t(now.retries - base.retries);
        sum.num_device_alloc += int64_t(now.driver_mallocs - base.driver_mallocs);
        sum.num_device_free += int64_t(now.driver_frees - base.driver_frees);
    }

    void reset_accumulated(DeviceIndex device, const shpool_device_stats &now)
    {
        Lock lock(lock_);

        base_[device] = now;
        sums_[device].ooms = 0;
        for_each(device, [](Stat &stat) { stat.reset_accumulated(); });
    }

    void reset_peak(DeviceIndex device)
    {
        Lock lock(lock_);

        for_each(device, [](Stat &stat) { stat.reset_peak(); });
    }

    /* ---- history ---- */

    /* The stack, if history is recorded with at least such stacks.  Without the lock: it may need
     * Python's. */
    Context context(RecordContext least)
    {
        if (C10_LIKELY(!recording_.load(std::memory_order_relaxed))) {
            return nullptr;
        }
        const auto history = std::atomic_load(&history_); /* record() may replace it meanwhile */

        return (history->when >= least) ? history->recorder() : nullptr;
    }

    void record(History history)
    {
        Lock lock(lock_);

        if (!history.enabled || (history.recorder == nullptr)) {
            history.when = RecordContext::NEVER;
        }
        for (auto &entries : trace_) {
            if (history.clear || !history.enabled) {
                entries.clear();
            }
        }
        std::atomic_store(&history_, std::make_shared<const History>(history));
        /* relaxed: whoever sees it early finds a history, too, if only the one before */
        recording_.store(history.enabled, std::memory_order_relaxed);
    }

    /* ---- snapshots ---- */

    void add_segments(std::vector<SegmentInfo> &segments, DeviceIndex device,
                      const std::vector<shpool_device_block> &blocks)
    {
        Lock lock(lock_);

        for (const auto &block : blocks) {
            if (segments.empty() || (segments.back().device != device) ||
                (segments.back().address + segments.back().total_size != size_t(block.ptr))) {
                segments.push_back(segment_at(device, block));
            }
            add_block(segments.back(), block);
        }
    }

    /* In the order of time. */
    void add_trace(std::vector<TraceEntry> &entries, DeviceIndex device)
    {
        Lock lock(lock_);

        entries.insert(entries.end(), trace_[device].begin(), trace_[device].end());
        std::stable_sort(entries.begin(), entries.end(), [](const auto &a, const auto &b) {
            return a.time_.t_ < b.time_.t_;
        });
    }

private:
    void count(const Allocation &one, bool more)
    {
        const auto own = (one.bytes <= small_bytes) ? small_sizes : large_sizes;
        auto       change = [&](Stat &stat, size_t by) {
            more ? stat.increase(by) : stat.decrease(by);
        };

        for (size_t kind : {all_sizes, own}) {
            auto &[allocations, allocated, requested] = sums_[one.device].size[kind];

            change(allocations, 1);
            change(allocated, one.rounded());
            change(requested, one.bytes);
        }
    }

    static void add(Stat &to, const Stat &one)
    {
        to.current += one.current;
        to.peak += one.peak;
        to.allocated += one.allocated;
        to.freed += one.freed;
    }

    static Stat state(uint64_t current, uint64_t peak)
    {
        Stat stat;

        stat.current = stat.allocated = int64_t(current);
        stat.peak = int64_t(peak);
        return stat;
    }

    template <typename Function> void for_each(DeviceIndex device, Function function)
    {
        for (auto &[allocations, allocated, requested] : sums_[device].size) {
            function(allocations);
            function(allocated);
            function(requested);
        }
    }

    void note(TraceEntry::Action action, void *ptr, const Allocation &one, const Context &context,
              RecordContext least)
    {
        if (C10_LIKELY(!recording_.load(std::memory_order_relaxed))) {
            return;
        }
        Lock        lock(lock_);
        const auto &history = *history_; /* record() has the lock, too */
        auto       &entries = trace_[one.device];
        TraceEntry entry(action, one.device, size_t(ptr), one.bytes, one.stream,
#if SHPOOL_TORCH >= 208
                         no_pool,
#endif
                         0, (history.when >= least) ? context : nullptr);

        entry.time_.t_ = std::chrono::duration_cast<std::chrono::microseconds>(
                             std::chrono::system_clock::now().time_since_epoch())
                             .count();
        if (entries.size() >= std::max<size_t>(history.most, 1)) {
            entries.pop_front();
        }
        entries.push_back(std::move(entry));
    }

    /* A segment is memory without a gap: libshpool's ranges of addresses have gaps. */
    static SegmentInfo segment_at(DeviceIndex device, const shpool_device_block &block)
    {
        SegmentInfo segment;

        segment.device = device;
        segment.address = size_t(block.ptr);
        segment.stream = block.stream;
        segment.is_large = true;
        segment.is_expandable = true;
        return segment;
    }

    void add_block(SegmentInfo &segment, const shpool_device_block &block)
    {
        caching::BlockInfo info;
        const auto         at = live_.find(block.ptr);

        info.size = block.bytes;
        info.allocated = at != live_.end();
        info.active = info.allocated || (block.state == SHPOOL_DEVICE_PENDING);
        if (info.allocated) {
            info.requested_size = at->second.bytes;
            info.context_when_allocated = at->second.context;
            segment.allocated_size += block.bytes;
            segment.requested_size += at->second.bytes;
        }
        segment.active_size += info.active ? block.bytes : 0;
        segment.total_size += block.bytes;
        segment.blocks.push_back(std::move(info));
    }

    std::mutex                             lock_; /* of all below */
    ska::flat_hash_map<void *, Allocation> live_;
    PerDevice<Sums>                        sums_;
    PerDevice<shpool_device_stats>         base_; /* at reset_accumulated() */
    PerDevice<std::deque<TraceEntry>>      trace_;
    std::shared_ptr<const History>         history_ = std::make_shared<const History>();
    std::atomic<bool>                      recording_{false};
};

} // namespace shpool_torch

#endif /* SHPOOL_TORCH_LEDGER_H */
