/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernels that fill buffers, written with simt.h: nvcc compiles them to device code
 * (kernels.cu), and the tests run them on the CPU block executor.  Their results are those of
 * elements.c and random.c, bit for bit.
 *
 * MT19937 in parallel: a word of the next 624 needs the word 397 places on, or, from place 227 on,
 * the new word 227 places back.  So 227 words at a time are independent of each other, and a block
 * computes 624 in three steps with a barrier each.  One block is much faster than a host core and
 * the bus.
 */
#ifndef SHPOOL_DEVICE_FILL_KERNELS_H
#define SHPOOL_DEVICE_FILL_KERNELS_H

#include <shpool/simt.h>

#if !defined(__CUDACC__)
#include <math.h>
#endif

#define SHPOOL_FILL_THREADS     256u
#define SHPOOL_FILL_WARPS       (SHPOOL_FILL_THREADS / SIMT_WARP)
#define SHPOOL_FILL_WORDS       624u /* of the generator's state */
#define SHPOOL_FILL_SHIFT       397u
#define SHPOOL_FILL_STEP        (SHPOOL_FILL_WORDS - SHPOOL_FILL_SHIFT)
/* two states, a count for each warp, and where the last element's word was */
#define SHPOOL_FILL_SHARED      (4u * (2u * SHPOOL_FILL_WORDS + SHPOOL_FILL_WARPS + 1u))

/* shpool_type of device/array.h, which a kernel cannot include */
enum {
    SHPOOL_FILL_F32 = 0x03000004,
    SHPOOL_FILL_F64 = 0x03000008
};

/* Element i is first + i * step. */
typedef struct shpool_ascending_task {
    void *data;
    unsigned long long count;
    unsigned long long first; /* integers */
    unsigned long long step;
    double first_float;       /* floats */
    double step_float;
    uint32_t type;
    uint32_t bytes;           /* of an element */
} shpool_ascending_task;

/* Uniform elements, one draw each, drawn again as long as the lower half is below `reject`. */
typedef struct shpool_random_task {
    void *data;
    unsigned long long count;
    unsigned long long base;   /* integers: the least value */
    unsigned long long values; /* 1 to 2^32 */
    double min;                /* floats */
    double width;
    uint32_t *state;           /* 624 words and how many of them were drawn; read and written */
    uint32_t reject;           /* 2^32 mod values; 0 for floats */
    uint32_t type;
    uint32_t bytes;
} shpool_random_task;

SIMT_FN void shpool_fill_put(void *data, uint32_t bytes, unsigned long long i,
                             unsigned long long value)
{
    switch (bytes) {
    case 1:  ((uint8_t *)data)[i] = (uint8_t)value; break;
    case 2:  ((uint16_t *)data)[i] = (uint16_t)value; break;
    case 4:  ((uint32_t *)data)[i] = (uint32_t)value; break;
    default: ((unsigned long long *)data)[i] = value; break;
    }
}

/* ---- ascending: any grid ---- */

SIMT_FN void shpool_fill_ascending(const shpool_ascending_task *task)
{
    const unsigned long long threads =
        (unsigned long long)simt_grid_blocks() * simt_block_threads();
    unsigned long long i =
        (unsigned long long)simt_block_rank() * simt_block_threads() + simt_thread_rank();

    for (; i < task->count; i += threads) {
        if (task->type == SHPOOL_FILL_F32) {
            ((float *)task->data)[i] =
                (float)fma((double)i, task->step_float, task->first_float);
        } else if (task->type == SHPOOL_FILL_F64) {
            ((double *)task->data)[i] = fma((double)i, task->step_float, task->first_float);
        } else {
            shpool_fill_put(task->data, task->bytes, i, task->first + i * task->step);
        }
    }
}

/* ---- random: one block of SHPOOL_FILL_THREADS ---- */

SIMT_FN uint32_t shpool_fill_twisted(uint32_t upper, uint32_t lower)
{
    const uint32_t word = (upper & 0x80000000u) | (lower & 0x7fffffffu);

    return (word >> 1) ^ ((0u - (word & 1u)) & 0x9908b0dfu);
}

/* Called by the whole block, after a barrier that follows the writes of `from`; ends with a
 * barrier.  `to` becomes the state after `from`. */
SIMT_FN void shpool_fill_renew(simt_addr from, simt_addr to)
{
    const uint32_t t = simt_thread_rank();

    for (uint32_t begin = 0; begin < SHPOOL_FILL_WORDS; begin += SHPOOL_FILL_STEP) {
        const uint32_t i = begin + t;

        if ((t < SHPOOL_FILL_STEP) && (i < SHPOOL_FILL_WORDS)) {
            const uint32_t next = (i + 1 < SHPOOL_FILL_WORDS) ? simt_load32(from + 4 * (i + 1))
                                                              : simt_load32(to);
            const uint32_t far = (i < SHPOOL_FILL_STEP)
                ? simt_load32(from + 4 * (i + SHPOOL_FILL_SHIFT))
                : simt_load32(to + 4 * (i - SHPOOL_FILL_STEP));

            simt_store32(to + 4 * i, far ^ shpool_fill_twisted(simt_load32(from + 4 * i), next));
        }
        simt_barrier();
    }
}

SIMT_FN uint32_t shpool_fill_tempered(simt_addr state, uint32_t i)
{
    uint32_t word = simt_load32(state + 4 * i);

    word ^= word >> 11;
    word ^= (word << 7) & 0x9d2c5680u;
    word ^= (word << 15) & 0xefc60000u;
    return word ^ (word >> 18);
}

SIMT_FN void shpool_fill_draw(const shpool_random_task *task, unsigned long long at, uint32_t word)
{
    const double unit = 1.0 / 4294967296.0;

    if (task->type == SHPOOL_FILL_F32) {
        ((float *)task->data)[at] = (float)fma(word * unit, task->width, task->min);
    } else if (task->type == SHPOOL_FILL_F64) {
        ((double *)task->data)[at] = fma(word * unit, task->width, task->min);
    } else {
        shpool_fill_put(task->data, task->bytes, at,
                        task->base + ((word * task->values) >> 32));
    }
}

/*
 * The words of one state from `next` on, where some may be rejected: those that are not keep their
 * order.  *done_p elements are there before, and after.  Returns how many words were drawn.
 */
SIMT_FN uint32_t shpool_fill_select(const shpool_random_task *task, simt_addr state,
                                    simt_addr counts, uint32_t next, unsigned long long *done_p)
{
    const uint32_t t    = simt_thread_rank();
    const simt_addr end = counts + 4 * SHPOOL_FILL_WARPS;
    uint32_t word, taken, before, all, w;
    unsigned long long at;
    int good;

    for (; (next < SHPOOL_FILL_WORDS) && (*done_p < task->count); next += SHPOOL_FILL_THREADS) {
        word  = (next + t < SHPOOL_FILL_WORDS) ? shpool_fill_tempered(state, next + t) : 0;
        good  = (next + t < SHPOOL_FILL_WORDS) &&
               ((uint32_t)(word * task->values) >= task->reject);
        taken = simt_ballot(SIMT_ALL_LANES, good);
        if (simt_lane() == 0) {
            simt_store32(counts + 4 * simt_warp(), simt_popc(taken));
        }
        simt_barrier();

        before = simt_popc(taken & simt_mask(0, simt_lane()));
        all    = 0;
        for (w = 0; w < SHPOOL_FILL_WARPS; w++) {
            const uint32_t count = simt_load32(counts + 4 * w);

            before += (w < simt_warp()) ? count : 0;
            all += count;
        }
        at = *done_p + before;
        if (good && (at < task->count)) {
            shpool_fill_draw(task, at, word);
            if (at + 1 == task->count) {
                simt_store32(end, next + t + 1);
            }
        }
        *done_p += all;
        simt_barrier(); /* the counts are read, `end` is written */
    }
    if (*done_p >= task->count) {
        *done_p = task->count;
        return simt_load32(end);
    }
    return SHPOOL_FILL_WORDS;
}

SIMT_FN void shpool_fill_random(const shpool_random_task *task)
{
    const uint32_t t         = simt_thread_rank();
    const simt_addr counts   = simt_dynamic_base() + 8 * SHPOOL_FILL_WORDS;
    simt_addr state          = simt_dynamic_base();
    simt_addr other          = state + 4 * SHPOOL_FILL_WORDS;
    unsigned long long done  = 0;
    uint32_t next            = task->state[SHPOOL_FILL_WORDS];
    uint32_t i;

    for (i = t; i < SHPOOL_FILL_WORDS; i += SHPOOL_FILL_THREADS) {
        simt_store32(state + 4 * i, task->state[i]);
    }
    simt_barrier();

    while (done < task->count) {
        if (next >= SHPOOL_FILL_WORDS) {
            const simt_addr old = state;

            /* no thread reads `other` any more: all have passed the last barrier of its renewal */
            shpool_fill_renew(state, other);
            state = other;
            other = old;
            next  = 0;
        }
        if (task->reject == 0) {
            const unsigned long long left = task->count - done;
            const uint32_t there          = SHPOOL_FILL_WORDS - next;
            const uint32_t take           = (left < there) ? (uint32_t)left : there;

            for (i = t; i < take; i += SHPOOL_FILL_THREADS) {
                shpool_fill_draw(task, done + i, shpool_fill_tempered(state, next + i));
            }
            done += take;
            next += take;
        } else {
            next = shpool_fill_select(task, state, counts, next, &done);
        }
    }

    for (i = t; i < SHPOOL_FILL_WORDS; i += SHPOOL_FILL_THREADS) {
        task->state[i] = simt_load32(state + 4 * i);
    }
    if (t == 0) {
        task->state[SHPOOL_FILL_WORDS] = next;
    }
}

#endif /* SHPOOL_DEVICE_FILL_KERNELS_H */
