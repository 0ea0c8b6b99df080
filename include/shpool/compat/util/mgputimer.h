/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/compat/util/mgputimer.h
 * MGPU's CudaEvent and CudaTimer.
 */
#ifndef SHPOOL_COMPAT_UTIL_MGPUTIMER_H
#define SHPOOL_COMPAT_UTIL_MGPUTIMER_H

#include <utility>

#include <shpool/compat/util/util.h>

namespace mgpu {

/** An event: its own, or a context's.  Own events come from CUDA's runtime, which the program must
 *  link. */
class CudaEvent : public noncopyable {
public:
#if defined(SHPOOL_COMPAT_CUDA)
    CudaEvent() : event_(nullptr), destroy_(cudaEventDestroy) { Check(cudaEventCreate(&event_)); }
    explicit CudaEvent(int flags) : event_(nullptr), destroy_(cudaEventDestroy)
    {
        Check(cudaEventCreateWithFlags(&event_, static_cast<unsigned>(flags)));
    }
#endif
    /** A context's: borrowed. */
    explicit CudaEvent(cudaEvent_t event) : event_(event), destroy_(nullptr) {}
    ~CudaEvent()
    {
        if (destroy_ != nullptr) {
            (void)destroy_(event_);
        }
    }
    operator cudaEvent_t() const { return event_; }
    void Swap(CudaEvent &other)
    {
        std::swap(event_, other.event_);
        std::swap(destroy_, other.destroy_);
    }

private:
    cudaEvent_t event_;
    cudaError_t (*destroy_)(cudaEvent_t); /* not every user of this header links CUDA's runtime */
};

/** Seconds on a stream: a context's or, for the program's own timers, the current device's default
 *  stream. */
class CudaTimer : public noncopyable {
public:
    CudaTimer() : context_(nullptr), own_(true) {}
    /** The timer of a context, which is borrowed. */
    explicit CudaTimer(shpool_context *context) : context_(context), own_(false) {}
    ~CudaTimer()
    {
        if (own_) {
            shpool_context_unref(context_);
        }
    }

    void Start()
    {
        if (context_ == nullptr) {
            shpool_context_options options = shpool_context_options();

            options.bytes  = sizeof(options);
            options.device = -1;
            Check(shpool_context_create(&options, &context_));
        }
        Check(shpool_timer_start(context_));
    }
    /** Seconds since Start or the previous Split. */
    double Split()
    {
        double seconds = 0;

        Check(shpool_timer_split(context_, &seconds));
        return seconds;
    }
    double Throughput(uint64 count, uint64 numIterations)
    {
        double rate = 0;

        Check(shpool_timer_throughput(context_, count, numIterations, &rate));
        return rate;
    }

private:
    friend class CudaContext;

    shpool_context *context_; /* NULL: not started yet */
    bool            own_;
};

} // namespace mgpu

#endif /* SHPOOL_COMPAT_UTIL_MGPUTIMER_H */
