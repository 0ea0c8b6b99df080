/* SPDX-License-Identifier: BSD-3-Clause */
#include "heap_model.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <shpool/shpool.h>

static void lock(heap_model *model)
{
    (void)pthread_mutex_lock(&model->lock);
}

static void unlock(heap_model *model)
{
    (void)pthread_mutex_unlock(&model->lock);
}

void heap_model_reset(heap_model *model)
{
    memset(model->owner, 0, model->used * sizeof(model->owner[0]));
    memset(model->bytes, 0, model->used * sizeof(model->bytes[0]));
    memset(model, 0, offsetof(heap_model, owner));
    (void)pthread_mutex_init(&model->lock, NULL);
}

static void fault(heap_model *model, const char *format, va_list args)
{
    if (model->faults++ == 0) {
        (void)vsnprintf(model->text, sizeof(model->text), format, args);
    }
}

void heap_model_fault(heap_model *model, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    lock(model);
    fault(model, format, args);
    unlock(model);
    va_end(args);
}

/* Every caller below holds the lock. */
static void fault_locked(heap_model *model, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fault(model, format, args);
    va_end(args);
}

void heap_model_claim(heap_model *model, heap_place place, const heap_slot *slot, size_t asked,
                      uint32_t alignment)
{
    uint32_t rank = simt_thread_rank();

    lock(model);
    if (slot->bytes < asked) {
        fault_locked(model, "%zu bytes asked for, %u usable (thread %u)", asked, slot->bytes, rank);
    }
    if (((uintptr_t)slot->at & (alignment - 1u)) != 0) {
        fault_locked(model, "%p is not aligned to %u (thread %u)", (void *)slot->at, alignment,
                     rank);
    }
    if (simt_is_within(simt_window(), slot->at)) { /* also a neighbour block's */
        simt_addr at    = simt_to_shared(slot->at);
        uint32_t  first = (at - place.region) >> 4;
        uint32_t  end   = (at - place.region + slot->bytes + 15u) >> 4;

        if ((at < place.base) || (at + slot->bytes > place.base + place.bytes) ||
            (end > HEAP_GRANULES)) {
            fault_locked(model, "0x%x..+%u is not in the pool 0x%x..+%u of thread %u", at,
                         slot->bytes, place.base, place.bytes, rank);
            unlock(model);
            return;
        }
        model->used = (end > model->used) ? end : model->used;
        for (uint32_t g = first; g < end; g++) {
            if (model->owner[g] != 0) {
                fault_locked(model, "0x%x..+%u of thread %u overlaps the live allocation at 0x%x",
                             at, slot->bytes, rank, place.region + ((model->owner[g] - 1u) << 4));
            }
            model->owner[g] = first + 1u;
        }
        model->bytes[first] = slot->bytes;
        model->live++;
    }
    unlock(model);
}

void heap_model_drop(heap_model *model, heap_place place, const heap_slot *slot)
{
    if (!simt_is_within(simt_window(), slot->at)) {
        return;
    }
    lock(model);
    uint32_t first = (simt_to_shared(slot->at) - place.region) >> 4;
    uint32_t end   = first + ((slot->bytes + 15u) >> 4);

    if ((end > HEAP_GRANULES) || (model->owner[first] != first + 1u) ||
        (model->bytes[first] != slot->bytes)) {
        fault_locked(model, "%p..+%u of thread %u is not live", (void *)slot->at, slot->bytes,
                     simt_thread_rank());
    } else {
        for (uint32_t g = first; g < end; g++) {
            model->owner[g] = 0;
        }
        model->bytes[first] = 0;
        model->live--;
    }
    unlock(model);
}

void heap_model_count_resize(heap_model *model, uint32_t before, uint32_t after)
{
    lock(model);
    model->held_bytes += after - before;
    if (model->held_bytes > model->peak_bytes) {
        model->peak_bytes = model->held_bytes;
    }
    unlock(model);
}

void heap_model_count_malloc(heap_model *model, uint32_t usable)
{
    lock(model);
    model->mallocs++;
    if (usable == 0) {
        model->failures++;
    } else {
        model->held++;
    }
    unlock(model);
    heap_model_count_resize(model, 0, usable);
}

void heap_model_count_free(heap_model *model, uint32_t usable)
{
    lock(model);
    model->frees++;
    model->held--;
    unlock(model);
    heap_model_count_resize(model, usable, 0);
}

/* ---- payload: plain accesses, so that ThreadSanitizer sees whose they are ----
 *
 * By words (usable sizes are whole words): it remembers 4 accesses to each 8 bytes, and of 8 single
 * bytes it would forget the first 4 before the next owner comes to them in the same order. */

static uint32_t pattern(uint32_t tag, uint32_t i)
{
    return (tag + i) * 2654435769u;
}

void heap_fill(const heap_slot *slot)
{
    uint32_t *word = (uint32_t *)(void *)slot->at;

    for (uint32_t i = 0; i < slot->bytes / 4u; i++) {
        word[i] = pattern(slot->tag, i);
    }
}

void heap_verify(heap_model *model, const unsigned char *at, uint32_t bytes, uint32_t tag)
{
    const uint32_t *word = (const uint32_t *)(const void *)at;

    for (uint32_t i = 0; i < (bytes + 3u) / 4u; i++) {
        uint32_t wrong = word[i] ^ pattern(tag, i);

        if (bytes - 4u * i < 4u) { /* the bytes that count of the last word; little endian */
            wrong &= (1u << 8u * (bytes - 4u * i)) - 1u;
        }
        if (wrong != 0) {
            heap_model_fault(model, "word %u of %u bytes at %p is 0x%08x, not 0x%08x (thread %u)",
                             i, bytes, (const void *)at, word[i], pattern(tag, i),
                             simt_thread_rank());
            return;
        }
    }
}

uint32_t heap_random(uint32_t *state)
{
    uint32_t x = (*state != 0) ? *state : 1u;

    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    *state = x;
    return x;
}

int heap_long(void)
{
    const char *value = getenv("LIBSHPOOL_TEST_LONG");

    return (value != NULL) && (value[0] != '\0') && (value[0] != '0');
}

#if defined(__SANITIZE_THREAD__)
#define UNDER_TSAN 1
#else
#define UNDER_TSAN 0
#endif

uint32_t heap_preemptions(uint32_t usual)
{
    if (heap_long() != 0) {
        return usual + 1u;
    }
    return ((UNIT_STEP > 1u) && (usual > 1u)) ? 1u : usual;
}

uint32_t heap_seeds(uint32_t usual)
{
    if (heap_long() != 0) {
        return 20u * usual;
    }
    return UNDER_TSAN ? (usual + 3u) / 4u : usual;
}
