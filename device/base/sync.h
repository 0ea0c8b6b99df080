/* SPDX-License-Identifier: BSD-3-Clause */
/* Spin locks for short sections, one atomic exchange when uncontended; lib/mutex.h has the lock for
 * long ones. */
#ifndef SHPOOL_DEVICE_SYNC_H
#define SHPOOL_DEVICE_SYNC_H

#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

#include "lib/mutex.h"

#define SHPOOL_CACHE_LINE 64

/* Thread-local data that libshpool.so reaches without a call.  There is little of it: a program
 * that loads the library with dlopen() has room for some hundred bytes. */
#if defined(__GNUC__)
#define SHPOOL_FAST_TLS _Thread_local __attribute__((tls_model("initial-exec")))
#define SHPOOL_LIKELY(_condition)   __builtin_expect(!!(_condition), 1)
#define SHPOOL_UNLIKELY(_condition) __builtin_expect(!!(_condition), 0)
#else
#define SHPOOL_FAST_TLS _Thread_local
#define SHPOOL_LIKELY(_condition)   (_condition)
#define SHPOOL_UNLIKELY(_condition) (_condition)
#endif

typedef struct shpool_spin {
    atomic_int held;
} shpool_spin;

/* The core does something else, or nothing, for some ten cycles. */
static inline void shpool_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#endif
}

/* Exponential back-off up to a few microseconds.  The holder can then acquire the lock many times
 * in a row without its cache line moving between cores each time (Anderson, 1990). */
static inline void shpool_spin_wait(shpool_spin *lock)
{
    unsigned pauses = 4;

    do {
        for (unsigned i = 0; i < pauses; i++) {
            shpool_pause();
        }
        if (pauses < 128) {
            pauses *= 2;
        } else {
            sched_yield(); /* the holder may be in a driver call, or not running */
        }
    } while (atomic_load_explicit(&lock->held, memory_order_relaxed));
}

static inline int shpool_spin_try(shpool_spin *lock)
{
    /* acquire: pairs with the release of the previous holder */
    return !atomic_exchange_explicit(&lock->held, 1, memory_order_acquire);
}

static inline void shpool_spin_lock(shpool_spin *lock)
{
    /* acquire: pairs with the release of the previous holder */
    while (SHPOOL_UNLIKELY(atomic_exchange_explicit(&lock->held, 1, memory_order_acquire))) {
        shpool_spin_wait(lock);
    }
}

static inline void shpool_spin_unlock(shpool_spin *lock)
{
    /* release: pairs with the acquire in shpool_spin_lock() */
    atomic_store_explicit(&lock->held, 0, memory_order_release);
}

#endif /* SHPOOL_DEVICE_SYNC_H */
