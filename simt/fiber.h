/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file simt/fiber.h
 * Fibers: stacks, the context switch, and the sanitizers' annotations for both.
 */
#ifndef SHPOOL_SIMT_FIBER_H
#define SHPOOL_SIMT_FIBER_H

#include <stddef.h>
#include <stdint.h>

#include <shpool/shpool.h>

#if defined(__clang__) || defined(__GNUC__)
#define SIMT_UNLIKELY(_x) __builtin_expect(!!(_x), 0)
#else
#define SIMT_UNLIKELY(_x) (_x)
#endif

/** One flow of control on its own stack. */
typedef struct simt_fiber {
    void       *context;     /**< saved stack pointer; ucontext_t * in the portable version */
    const void *stack;       /**< lowest byte; the main fiber's comes from AddressSanitizer */
    size_t      stack_bytes;
    void       *fake_stack;  /**< AddressSanitizer's, while the fiber is not running */
    void       *tsan;        /**< ThreadSanitizer's name for it, or NULL */
    struct simt_fiber *from; /**< the fiber that switched here last */
    void      (*entry)(void *arg);
    void       *arg;
} simt_fiber;

/** The stacks of one run; they serve all its blocks and schedules. */
typedef struct simt_stacks {
    unsigned char *map;
    size_t map_bytes;
    size_t stack_bytes; /**< of one, without its guard page */
    size_t stride;
} simt_stacks;

/** Stacks of at least `least` bytes. */
shpool_status simt_stacks_create(simt_stacks *stacks, uint32_t count, uint32_t least);
void simt_stacks_destroy(simt_stacks *stacks);

/** Turn the calling flow into a fiber that others can switch back to. */
shpool_status simt_fiber_adopt(simt_fiber *fiber);
shpool_status simt_fiber_create(simt_fiber *fiber, const simt_stacks *stacks, uint32_t index);
void simt_fiber_destroy(simt_fiber *fiber);

/** Make the next switch to `fiber` call entry(arg), which must end in simt_fiber_finish(). */
void simt_fiber_prepare(simt_fiber *fiber, void (*entry)(void *arg), void *arg);
void simt_fiber_switch(simt_fiber *from, simt_fiber *to);

/** Leave `from` for good: it must be prepared before the next switch to it. */
void simt_fiber_finish(simt_fiber *from, simt_fiber *to) __attribute__((noreturn));

/**
 * Clean up after a fiber that will never be resumed; called on `main`.  For ThreadSanitizer, its
 * actions happen before the caller's next ones.
 */
shpool_status simt_fiber_abandon(simt_fiber *fiber, simt_fiber *main_fiber);

/**
 * Let ThreadSanitizer attribute the following actions to `fiber`, until the next call.
 *
 * The engine's own data needs no order between fibers, but libc's functions are always
 * instrumented: a fiber that calls one on shared data poses as the main fiber.
 */
void simt_fiber_pose(const simt_fiber *fiber);

/** Nonzero if AddressSanitizer or ThreadSanitizer is in the process. */
int simt_sanitized(void);

/** Forbid the bytes to instrumented code; no effect without AddressSanitizer. */
void simt_poison(const void *start, size_t bytes);
void simt_unpoison(const void *start, size_t bytes);

#endif /* SHPOOL_SIMT_FIBER_H */
