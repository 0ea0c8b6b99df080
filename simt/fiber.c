/* SPDX-License-Identifier: BSD-3-Clause */
/* Fibers: stacks, the context switch, and the sanitizers' annotations for both.
 *
 * The sanitizers' functions are weak: libshpool.so itself is built without them, and finds them at
 * run time when the program that holds the kernels was built with one.
 *
 * A switch saves only the ABI's callee-saved registers: not the signal mask (two system calls in
 * ucontext), and not the floating-point control words, which kernels must not change. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fiber.h"
#include "join.h"

#if !defined(SIMT_FIBER_UCONTEXT) && !defined(__x86_64__) && !defined(__aarch64__)
#define SIMT_FIBER_UCONTEXT 1
#endif

#if defined(SIMT_FIBER_UCONTEXT)
#include <ucontext.h>
#endif

#define STACK_BYTES           (64u * 1024u)
#define STACK_BYTES_SANITIZED (256u * 1024u) /* instrumented frames are several times larger */

/* AddressSanitizer */
extern void __sanitizer_start_switch_fiber(void **fake_stack_save, const void *bottom, size_t size)
    __attribute__((weak));
extern void __sanitizer_finish_switch_fiber(void *fake_stack_save, const void **bottom_old,
                                            size_t *size_old) __attribute__((weak));
extern void __asan_poison_memory_region(void const volatile *addr, size_t size)
    __attribute__((weak));
extern void __asan_unpoison_memory_region(void const volatile *addr, size_t size)
    __attribute__((weak));
extern void __asan_unpoison_memory_region(void const volatile *addr, size_t size)
    __attribute__((weak));

/* ThreadSanitizer */
extern void *__tsan_get_current_fiber(void) __attribute__((weak));
extern void *__tsan_create_fiber(unsigned flags) __attribute__((weak));
extern void  __tsan_destroy_fiber(void *fiber) __attribute__((weak));
extern void  __tsan_switch_to_fiber(void *fiber, unsigned flags) __attribute__((weak));

#define TSAN_NO_SYNC 1u /* a switch is not a happens-before edge: the threads count as parallel */

/* Its contexts that no fiber has, of the process's first OS thread: making one touches half a MiB,
 * which was most of the time of a short launch.  A context only orders launches of that OS thread,
 * which follow each other in any case.  Other OS threads may end, and keep none.  A child of fork()
 * begins with none: another OS thread may have forked while the first changed the list. */
#define MOST_IDLE 128u
static void    *idle[MOST_IDLE];
static uint32_t idle_count;
static pid_t    idle_process;

static int has_idle_contexts(void)
{
    const pid_t process = getpid();

    if (syscall(SYS_gettid) != process) {
        return 0;
    }
    if (idle_process != process) {
        idle_process = process;
        idle_count   = 0;
    }
    return 1;
}

static void *tsan_context_get(void)
{
    return (has_idle_contexts() && (idle_count > 0)) ? idle[--idle_count] : __tsan_create_fiber(0);
}

/* Its call stack is empty: the fiber's function has returned, or never begun. */
static void tsan_context_put(void *context)
{
    if (has_idle_contexts() && (idle_count < MOST_IDLE)) {
        idle[idle_count++] = context;
    } else {
        __tsan_destroy_fiber(context);
    }
}

int simt_sanitized(void)
{
    return (__sanitizer_start_switch_fiber != NULL) || (__tsan_create_fiber != NULL);
}

void simt_poison(const void *start, size_t bytes)
{
    if (__asan_poison_memory_region != NULL) {
        __asan_poison_memory_region(start, bytes);
    }
}

void simt_unpoison(const void *start, size_t bytes)
{
    if (__asan_unpoison_memory_region != NULL) {
        __asan_unpoison_memory_region(start, bytes);
    }
}

/* ---- the context switch ---- */

void simt_fiber_swap(void **save, void *load);
void simt_fiber_first(void);
void simt_fiber_enter(simt_fiber *fiber) __attribute__((used)); /* by the assembler text */

#if defined(SIMT_FIBER_UCONTEXT)

/* makecontext() hands over ints only: the pointer travels in two halves. */
static void ucontext_first(unsigned high, unsigned low)
{
    simt_fiber_enter((simt_fiber *)(((uintptr_t)high << 16 << 16) | low));
}

#elif defined(__x86_64__)

__asm__(".text\n"
        ".p2align 4\n"
        ".globl simt_fiber_swap\n"
        ".hidden simt_fiber_swap\n"
        ".type simt_fiber_swap,@function\n"
        "simt_fiber_swap:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq  %rsp, (%rdi)\n"
        "    movq  %rsi, %rsp\n"
        "    popq  %r15\n"
        "    popq  %r14\n"
        "    popq  %r13\n"
        "    popq  %r12\n"
        "    popq  %rbx\n"
        "    popq  %rbp\n"
        "    ret\n"
        ".size simt_fiber_swap,.-simt_fiber_swap\n"
        ".p2align 4\n"
        ".globl simt_fiber_first\n"
        ".hidden simt_fiber_first\n"
        ".type simt_fiber_first,@function\n"
        "simt_fiber_first:\n"
        "    .cfi_startproc\n"
        "    .cfi_undefined rip\n" /* unwinders stop here */
        "    movq  %r12, %rdi\n"
        "    callq simt_fiber_enter\n"
        "    ud2\n"
        "    .cfi_endproc\n"
        ".size simt_fiber_first,.-simt_fiber_first\n");

#define CONTEXT_WORDS 7 /* r15 r14 r13 r12 rbx rbp, return address: odd, for the call to align */
#define CONTEXT_ARG   3
#define CONTEXT_PC    6

#elif defined(__aarch64__)

__asm__(".text\n"
        ".p2align 4\n"
        ".globl simt_fiber_swap\n"
        ".hidden simt_fiber_swap\n"
        ".type simt_fiber_swap,%function\n"
        "simt_fiber_swap:\n"
        "    stp x19, x20, [sp, #-160]!\n"
        "    stp x21, x22, [sp, #16]\n"
        "    stp x23, x24, [sp, #32]\n"
        "    stp x25, x26, [sp, #48]\n"
        "    stp x27, x28, [sp, #64]\n"
        "    stp x29, x30, [sp, #80]\n"
        "    stp d8,  d9,  [sp, #96]\n"
        "    stp d10, d11, [sp, #112]\n"
        "    stp d12, d13, [sp, #128]\n"
        "    stp d14, d15, [sp, #144]\n"
        "    mov x9, sp\n"
        "    str x9, [x0]\n"
        "    mov sp, x1\n"
        "    ldp x21, x22, [sp, #16]\n"
        "    ldp x23, x24, [sp, #32]\n"
        "    ldp x25, x26, [sp, #48]\n"
        "    ldp x27, x28, [sp, #64]\n"
        "    ldp x29, x30, [sp, #80]\n"
        "    ldp d8,  d9,  [sp, #96]\n"
        "    ldp d10, d11, [sp, #112]\n"
        "    ldp d12, d13, [sp, #128]\n"
        "    ldp d14, d15, [sp, #144]\n"
        "    ldp x19, x20, [sp], #160\n"
        "    ret\n"
        ".size simt_fiber_swap,.-simt_fiber_swap\n"
        ".p2align 4\n"
        ".globl simt_fiber_first\n"
        ".hidden simt_fiber_first\n"
        ".type simt_fiber_first,%function\n"
        "simt_fiber_first:\n"
        "    .cfi_startproc\n"
        "    .cfi_undefined x30\n" /* unwinders stop here */
        "    mov x0, x19\n"
        "    bl  simt_fiber_enter\n"
        "    brk #1\n"
        "    .cfi_endproc\n"
        ".size simt_fiber_first,.-simt_fiber_first\n");

#define CONTEXT_WORDS 20 /* x19..x28, x29 x30, d8..d15 */
#define CONTEXT_ARG   0
#define CONTEXT_PC    11

#endif

/* ---- switching ---- */

/* First action on the new stack: AddressSanitizer learns its owner, and returns the bounds of the
 * previous stack, the only way to learn those of the main fiber. */
static void arrived(simt_fiber *fiber)
{
    if (__sanitizer_finish_switch_fiber != NULL) {
        __sanitizer_finish_switch_fiber(fiber->fake_stack, &fiber->from->stack,
                                        &fiber->from->stack_bytes);
        fiber->fake_stack = NULL;
    }
}

static inline void leave(simt_fiber *from, simt_fiber *to, void **fake_stack)
{
    to->from = from;
    if (SIMT_UNLIKELY(__sanitizer_start_switch_fiber != NULL)) {
        __sanitizer_start_switch_fiber(fake_stack, to->stack, to->stack_bytes);
    }
    if (SIMT_UNLIKELY(__tsan_switch_to_fiber != NULL)) {
        __tsan_switch_to_fiber(to->tsan, TSAN_NO_SYNC);
    }
#if defined(SIMT_FIBER_UCONTEXT)
    swapcontext((ucontext_t *)from->context, (ucontext_t *)to->context);
#else
    simt_fiber_swap(&from->context, to->context);
#endif
}

void simt_fiber_enter(simt_fiber *fiber)
{
    arrived(fiber);
    fiber->entry(fiber->arg);
    __builtin_unreachable();
}

void simt_fiber_switch(simt_fiber *from, simt_fiber *to)
{
    leave(from, to, &from->fake_stack);
    arrived(from);
}

void simt_fiber_finish(simt_fiber *from, simt_fiber *to)
{
    leave(from, to, NULL); /* NULL: also releases the fake stack */
    __builtin_unreachable();
}

shpool_status simt_fiber_abandon(simt_fiber *fiber, simt_fiber *main_fiber)
{
    /* Both sanitizers only see announcements: announce a switch there and back, and never go. */
    if (__sanitizer_start_switch_fiber != NULL) {
        void  *fake_stack = NULL;
        size_t bytes;
        const void *stack;

        __sanitizer_start_switch_fiber(&fake_stack, fiber->stack, fiber->stack_bytes);
        __sanitizer_finish_switch_fiber(fiber->fake_stack, &stack, &bytes);
        __sanitizer_start_switch_fiber(NULL, main_fiber->stack, main_fiber->stack_bytes);
        __sanitizer_finish_switch_fiber(fake_stack, &stack, &bytes);
        fiber->fake_stack = NULL;
    }
    if (__asan_unpoison_memory_region != NULL) {
        __asan_unpoison_memory_region(fiber->stack, fiber->stack_bytes);
    }
    if (__tsan_switch_to_fiber != NULL) {
        __tsan_switch_to_fiber(fiber->tsan, TSAN_NO_SYNC);
        simt_order_release(main_fiber);
        __tsan_switch_to_fiber(main_fiber->tsan, TSAN_NO_SYNC);
        simt_order_acquire(main_fiber);
        /* its shadow call stack is not empty: nothing else may run under that name */
        __tsan_destroy_fiber(fiber->tsan);
        fiber->tsan = __tsan_create_fiber(0);
        if (fiber->tsan == NULL) {
            return SHPOOL_ERR_NO_MEMORY;
        }
    }
    return SHPOOL_OK;
}

void simt_fiber_pose(const simt_fiber *fiber)
{
    if ((fiber->tsan != NULL) && (__tsan_switch_to_fiber != NULL)) {
        __tsan_switch_to_fiber(fiber->tsan, TSAN_NO_SYNC);
    }
}

/* ---- making them ---- */

void simt_fiber_prepare(simt_fiber *fiber, void (*entry)(void *arg), void *arg)
{
    fiber->entry = entry;
    fiber->arg   = arg;
#if defined(SIMT_FIBER_UCONTEXT)
    ucontext_t *context = (ucontext_t *)fiber->context;
    uintptr_t   self    = (uintptr_t)fiber;

    getcontext(context);
    context->uc_stack.ss_sp   = (void *)(uintptr_t)fiber->stack;
    context->uc_stack.ss_size = fiber->stack_bytes;
    context->uc_link          = NULL;
    makecontext(context, (void (*)(void))ucontext_first, 2, (unsigned)(self >> 16 >> 16),
                (unsigned)self);
#else
    uintptr_t  top   = ((uintptr_t)fiber->stack + fiber->stack_bytes) & ~(uintptr_t)15;
    uintptr_t *words = (uintptr_t *)top - CONTEXT_WORDS - 2; /* 2: end of the frame chain */

    for (uint32_t i = 0; i < CONTEXT_WORDS + 2; i++) {
        words[i] = 0;
    }
    words[CONTEXT_ARG] = (uintptr_t)fiber;
    words[CONTEXT_PC]  = (uintptr_t)simt_fiber_first;
    fiber->context     = words;
#endif
}

static shpool_status context_create(simt_fiber *fiber)
{
    *fiber = (simt_fiber){ 0 };
#if defined(SIMT_FIBER_UCONTEXT)
    fiber->context = calloc(1, sizeof(ucontext_t));
    if (fiber->context == NULL) {
        return SHPOOL_ERR_NO_MEMORY;
    }
#endif
    return SHPOOL_OK;
}

shpool_status simt_fiber_adopt(simt_fiber *fiber)
{
    shpool_status status = context_create(fiber);

    if ((status == SHPOOL_OK) && (__tsan_get_current_fiber != NULL)) {
        fiber->tsan = __tsan_get_current_fiber();
    }
    return status;
}

shpool_status simt_fiber_create(simt_fiber *fiber, const simt_stacks *stacks, uint32_t index)
{
    shpool_status status = context_create(fiber);

    if (status != SHPOOL_OK) {
        return status;
    }
    fiber->stack       = stacks->map + (stacks->stride * (index + 1u)) - stacks->stack_bytes;
    fiber->stack_bytes = stacks->stack_bytes;
    if (__tsan_create_fiber != NULL) {
        fiber->tsan = tsan_context_get();
        if (fiber->tsan == NULL) {
            return SHPOOL_ERR_NO_MEMORY;
        }
    }
    return SHPOOL_OK;
}

void simt_fiber_destroy(simt_fiber *fiber)
{
    /* the main fiber has no entry and belongs to the OS thread */
    if ((fiber->tsan != NULL) && (fiber->stack != NULL) && (__tsan_destroy_fiber != NULL)) {
        tsan_context_put(fiber->tsan);
    }
#if defined(SIMT_FIBER_UCONTEXT)
    free(fiber->context);
#endif
    *fiber = (simt_fiber){ 0 };
}

/* ---- stacks ---- */

/* Those of the last launch: mapping and guarding them took most of the time of a short one. */
static simt_stacks spare;
static uint32_t    spare_lock;

/* acquire and release: pair with each other; a launch that finds it taken does without */
static int spare_take(void) { return !__atomic_exchange_n(&spare_lock, 1u, __ATOMIC_ACQUIRE); }
static void spare_leave(void) { __atomic_store_n(&spare_lock, 0u, __ATOMIC_RELEASE); }

static void stacks_unmap(simt_stacks *stacks)
{
    if (stacks->map != NULL) {
        munmap(stacks->map, stacks->map_bytes);
    }
    *stacks = (simt_stacks){ 0 };
}

shpool_status simt_stacks_create(simt_stacks *stacks, uint32_t count, uint32_t least)
{
    size_t page  = (size_t)sysconf(_SC_PAGESIZE);
    size_t bytes = simt_sanitized() ? STACK_BYTES_SANITIZED : STACK_BYTES;

    bytes = (bytes < least) ? least : bytes;
    /* Rounded up for pages of 64 KiB; the guard page is below its stack. */
    stacks->stack_bytes = (bytes + page - 1u) / page * page;
    stacks->stride      = stacks->stack_bytes + page;
    stacks->map_bytes   = stacks->stride * count;
    stacks->map         = NULL;
    if (spare_take()) {
        if ((spare.map_bytes >= stacks->map_bytes) && (spare.stride == stacks->stride)) {
            *stacks = spare;
            spare   = (simt_stacks){ 0 };
        }
        spare_leave();
    }
    if (stacks->map != NULL) {
        return SHPOOL_OK;
    }
    stacks->map = mmap(NULL, stacks->map_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (stacks->map == MAP_FAILED) {
        stacks->map = NULL;
        return SHPOOL_ERR_NO_MEMORY;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (mprotect(stacks->map + (stacks->stride * i), page, PROT_NONE) != 0) {
            stacks_unmap(stacks);
            return SHPOOL_ERR_SYSTEM;
        }
    }
    return SHPOOL_OK;
}

void simt_stacks_destroy(simt_stacks *stacks)
{
    if (!simt_sanitized() && spare_take()) { /* a sanitizer may have poisoned them */
        if (stacks->map_bytes > spare.map_bytes) {
            const simt_stacks other = spare;

            spare   = *stacks;
            *stacks = other;
        }
        spare_leave();
    }
    stacks_unmap(stacks);
}
