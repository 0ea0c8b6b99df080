/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * More made-up programs whose sizes vary: convolutions over images of changing size and number, and
 * key-value caches of sequences that grow and go.  The same calls each time.
 */
#ifndef SHPOOL_BENCH_LOADS_H
#define SHPOOL_BENCH_LOADS_H

#include "small.h"

#define LOADS_STAGES  4u
#define LOADS_BLOCKS  6u  /* of a stage, at most */
#define LOADS_SAVED   5u  /* activations of a block */
#define LOADS_WEIGHTS 3u
#define LOADS_SEQUENCES 48u
#define LOADS_LAYERS    16u

/* One block: its weights, and the data for the backward pass. */
typedef struct loads_block {
    size_t weight_bytes[LOADS_WEIGHTS];
    void *weight[LOADS_WEIGHTS];
    void *moment[LOADS_WEIGHTS][2];
    void *gradient[LOADS_WEIGHTS];
    size_t saved_bytes[LOADS_SAVED];
    void *saved[LOADS_SAVED];
} loads_block;

/* ---- images ---- */

/* A block of a bottleneck network: three convolutions, the last of them to four times as wide. */
static inline void loads_forward(train_loop *t, loads_block *b, size_t wide, size_t pixels)
{
    for (unsigned i = 0; i < LOADS_SAVED; i++) {
        b->saved_bytes[i] = 2 * wide * ((i >= 3) ? 4 : 1) * pixels;
        b->saved[i] = train_take(t, b->saved_bytes[i]);
        if (i % 2 == 0) {
            train_borrow(t, b->saved_bytes[i] / (i + 1) + 4096); /* a workspace */
        }
    }
}

static inline void loads_backward(train_loop *t, loads_block *b, void **slope_p)
{
    for (unsigned i = LOADS_SAVED; i-- > 0;) {
        void *slope = train_take(t, b->saved_bytes[i]);

        train_give(t, slope_p);
        train_give(t, &b->saved[i]);
        *slope_p = slope;
    }
    for (unsigned i = 0; i < LOADS_WEIGHTS; i++) {
        b->gradient[i] = train_take(t, b->weight_bytes[i]);
    }
}

static inline void loads_update(train_loop *t, loads_block *b)
{
    for (unsigned i = 0; i < LOADS_WEIGHTS; i++) {
        for (unsigned j = 0; j < 2; j++) {
            if (b->moment[i][j] == NULL) {
                b->moment[i][j] = train_take(t, b->weight_bytes[i]);
            }
        }
        train_give(t, &b->gradient[i]);
    }
}

static inline void loads_image_step(train_loop *t, loads_block all[LOADS_STAGES][LOADS_BLOCKS])
{
    size_t side = (128 + 32 * (size_t)train_draw(&t->random, 13)) / 4;
    size_t images = 8 + 8 * (size_t)train_draw(&t->random, 8);
    void *slope = NULL;

    for (unsigned i = 0; i < LOADS_STAGES * LOADS_BLOCKS; i++) {
        unsigned stage = i / LOADS_BLOCKS;

        loads_forward(t, &all[stage][i % LOADS_BLOCKS], (size_t)64 << stage,
                      images * (side >> stage) * (side >> stage));
    }
    for (unsigned i = LOADS_STAGES * LOADS_BLOCKS; i-- > 0;) {
        loads_backward(t, &all[i / LOADS_BLOCKS][i % LOADS_BLOCKS], &slope);
    }
    train_give(t, &slope);
    for (unsigned i = 0; i < LOADS_STAGES * LOADS_BLOCKS; i++) {
        loads_update(t, &all[i / LOADS_BLOCKS][i % LOADS_BLOCKS]);
    }
}

static inline void loads_block_begin(train_loop *t, loads_block *b, size_t wide)
{
    *b = (loads_block){ .weight_bytes = { 16 * wide * wide, 36 * wide * wide, 16 * wide * wide } };
    for (unsigned i = 0; i < LOADS_WEIGHTS; i++) {
        b->weight[i] = train_take(t, b->weight_bytes[i]);
    }
}

static inline void loads_block_end(train_loop *t, loads_block *b)
{
    for (unsigned i = 0; i < LOADS_WEIGHTS; i++) {
        train_give(t, &b->weight[i]);
        train_give(t, &b->moment[i][0]);
        train_give(t, &b->moment[i][1]);
        train_give(t, &b->gradient[i]);
    }
    for (unsigned i = 0; i < LOADS_SAVED; i++) {
        train_give(t, &b->saved[i]);
    }
}

static inline int loads_images(const train_memory *memory, unsigned steps)
{
    static train_loop loop;
    static loads_block all[LOADS_STAGES][LOADS_BLOCKS];
    train_loop *t = &loop;

    *t = (train_loop){ .memory = memory, .random = 1 };
    for (unsigned i = 0; i < LOADS_STAGES * LOADS_BLOCKS; i++) {
        loads_block_begin(t, &all[i / LOADS_BLOCKS][i % LOADS_BLOCKS],
                          (size_t)64 << (i / LOADS_BLOCKS));
    }
    for (unsigned i = 0; (i < steps) && !t->refused; i++) {
        loads_image_step(t, all);
    }
    for (unsigned i = 0; i < LOADS_STAGES * LOADS_BLOCKS; i++) {
        loads_block_end(t, &all[i / LOADS_BLOCKS][i % LOADS_BLOCKS]);
    }
    return t->refused;
}

/* ---- caches ---- */

typedef struct loads_sequence {
    size_t words; /* 0: it has not begun */
    size_t last;
    void *cache[LOADS_LAYERS];
} loads_sequence;

/* A cache that grows is a larger one, into which it is copied. */
static inline void loads_resize(train_loop *t, loads_sequence *s)
{
    for (unsigned i = 0; i < LOADS_LAYERS; i++) {
        void *fresh = train_take(t, 4096 * s->words);

        train_give(t, &s->cache[i]);
        s->cache[i] = fresh;
    }
}

static inline void loads_sequence_end(train_loop *t, loads_sequence *s)
{
    for (unsigned i = 0; i < LOADS_LAYERS; i++) {
        train_give(t, &s->cache[i]);
    }
    s->words = 0;
}

static inline void loads_sequence_step(train_loop *t, loads_sequence *s)
{
    if (s->words == 0) {
        if (train_draw(&t->random, 4) == 0) {
            s->words = 64 + train_draw(&t->random, 512);
            s->last = s->words + 200 + train_draw(&t->random, 2000);
            loads_resize(t, s);
        }
    } else if (s->words + 32 > s->last) {
        loads_sequence_end(t, s);
    } else {
        s->words += 32;
        loads_resize(t, s);
    }
}

static inline int loads_caches(const train_memory *memory, unsigned steps)
{
    static train_loop loop;
    static loads_sequence all[LOADS_SEQUENCES];
    train_loop *t = &loop;

    *t = (train_loop){ .memory = memory, .random = 1 };
    for (unsigned i = 0; i < LOADS_SEQUENCES; i++) {
        all[i] = (loads_sequence){ .words = 0 };
    }
    for (unsigned i = 0; (i < steps) && !t->refused; i++) {
        for (unsigned j = 0; j < LOADS_SEQUENCES; j++) {
            loads_sequence_step(t, &all[j]);
        }
    }
    for (unsigned i = 0; i < LOADS_SEQUENCES; i++) {
        loads_sequence_end(t, &all[i]);
    }
    return t->refused;
}

/* ---- all of them ---- */

static inline int loads_length(const train_memory *memory, unsigned steps)
{
    return train_run(memory, steps, 0);
}

static inline int loads_lengths(const train_memory *memory, unsigned steps)
{
    return train_run(memory, steps, 1);
}

static inline int loads_small(const train_memory *memory, unsigned steps)
{
    return small_run(memory, steps, 0);
}

static inline int loads_small_lengths(const train_memory *memory, unsigned steps)
{
    return small_run(memory, steps, 1);
}

typedef struct loads_load {
    const char *name;
    int (*run)(const train_memory *memory, unsigned steps);
    unsigned steps; /* enough to show the reserved bytes in the long run */
} loads_load;

static const loads_load loads[] = {
    { "one length", loads_length, 10 },
    { "lengths", loads_lengths, 40 },
    { "images", loads_images, 40 },
    { "caches", loads_caches, 80 },
    { "small, one length", loads_small, 26 },
    { "small, lengths", loads_small_lengths, 40 },
    { "caches that grow", small_caches, 104 },
};

#define LOADS_COUNT (sizeof(loads) / sizeof(loads[0]))

#endif /* SHPOOL_BENCH_LOADS_H */
