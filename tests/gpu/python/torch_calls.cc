/* SPDX-License-Identifier: BSD-3-Clause */
/* The host's time of each malloc and free of PyTorch's allocator in a program that runs, ns:
 * pytorch_steps.py --calls.  The allocator gets a copy of its table of functions, in which
 * allocate() is replaced. */
#include <c10/cuda/CUDACachingAllocator.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <vector>

namespace {

using Allocate = c10::DataPtr (*)(c10::Allocator *, size_t);
enum { words_before = 2, destructors = 2, words = 200 }; /* of a table in the ABI of Itanium */

struct Times {
    std::vector<uint32_t> ns = std::vector<uint32_t>(1 << 22);
    std::atomic<size_t>   count{0};
    std::atomic<uint64_t> total{0};

    void add(uint64_t begin, uint64_t end)
    {
        ns[count++ % ns.size()] = uint32_t(end - begin);
        total += end - begin;
    }
} &mallocs = *new Times, &frees = *new Times;

Allocate          real_allocate;
c10::DeleterFnPtr real_delete;
void             *table[words];

uint64_t now()
{
    return uint64_t(std::chrono::steady_clock::now().time_since_epoch() /
                    std::chrono::nanoseconds(1));
}

void timed_delete(void *ptr)
{
    const uint64_t begin = now();

    real_delete(ptr);
    frees.add(begin, now());
}

c10::DataPtr timed_allocate(c10::Allocator *self, size_t bytes)
{
    const uint64_t begin = now();
    c10::DataPtr   made = real_allocate(self, bytes);

    mallocs.add(begin, now());
    (void)made.compare_exchange_deleter(real_delete, timed_delete);
    return made;
}

} // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED void calls_begin(void)
{
    c10::Allocator *allocator = c10::cuda::CUDACachingAllocator::get();
    void         ***at = reinterpret_cast<void ***>(allocator);

    if (*at != table + words_before) {
        std::copy_n(*at - words_before, words, table);
        real_delete = allocator->raw_deleter();
        real_allocate = reinterpret_cast<Allocate>(table[words_before + destructors]);
        table[words_before + destructors] = reinterpret_cast<void *>(timed_allocate);
        *at = table + words_before;
    }
    mallocs.count = frees.count = 0;
}

/* The time that a part of the mallocs (0) or frees (1) since then stayed below. */
EXPORTED uint32_t calls_ns(int kind, double part)
{
    const Times          &times = (kind == 0) ? mallocs : frees;
    const size_t          count = std::min(times.count.load(), times.ns.size());
    std::vector<uint32_t> sorted(times.ns.begin(), times.ns.begin() + long(count));

    std::sort(sorted.begin(), sorted.end());
    return sorted.empty() ? 0 : sorted[size_t(double(count - 1) * part)];
}

/* Of all mallocs and frees so far. */
EXPORTED double calls_total_ms(void)
{
    return double(mallocs.total + frees.total) / 1e6;
}
