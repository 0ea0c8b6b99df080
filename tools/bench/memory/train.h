/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A synthetic training loop's allocations and frees: the same calls each time, no model, no GPU.
 *
 * A transformer as PyTorch trains it, with mixed precision, Adam, and gradients that are dropped
 * after each step: weights that stay, activations that are kept from the forward pass to the
 * backward pass and freed in reverse, gradients of both, temporaries in between.  If the length of
 * the sequences changes from step to step, no step requests the sizes of the previous one.
 */
#ifndef SHPOOL_BENCH_TRAIN_H
#define SHPOOL_BENCH_TRAIN_H

#include <stddef.h>
#include <stdint.h>

#define TRAIN_LAYERS 24u
#define TRAIN_HIDDEN ((size_t)1024)
#define TRAIN_HEADS  16u
#define TRAIN_WORDS  ((size_t)50304)
#define TRAIN_BATCH  8u
#define TRAIN_SAVED  8u /* activations of a layer that the backward pass needs */
#define TRAIN_PARTS  6u /* weights of a layer */

/* The allocator under test.  0 from `take`: refused; the loop then ends. */
typedef struct train_memory {
    int (*take)(void *user, void **ptr_p, size_t bytes);
    void (*give)(void *user, void *ptr);
    void *user;
} train_memory;

typedef struct train_loop {
    const train_memory *memory;
    uint64_t random;
    int refused;
    int varied;    /* lengths change from step to step */
    size_t tokens; /* of this step */
    size_t length; /* of its sequences */
    void *weight[TRAIN_LAYERS + 1][TRAIN_PARTS];
    void *moment[TRAIN_LAYERS + 1][TRAIN_PARTS][2];
    void *gradient[TRAIN_LAYERS + 1][TRAIN_PARTS];
    void *saved[TRAIN_LAYERS][TRAIN_SAVED];
} train_loop;

static inline unsigned train_draw(uint64_t *random, unsigned below)
{
    *random = *random * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)((*random >> 40) % below);
}

static inline void *train_take(train_loop *t, size_t bytes)
{
    void *ptr = NULL;

    if (!t->refused) {
        t->refused = !t->memory->take(t->memory->user, &ptr, bytes);
    }
    return t->refused ? NULL : ptr;
}

static inline void train_give(train_loop *t, void **ptr_p)
{
    if (*ptr_p != NULL) {
        t->memory->give(t->memory->user, *ptr_p);
        *ptr_p = NULL;
    }
}

static inline void train_borrow(train_loop *t, size_t bytes)
{
    void *ptr = train_take(t, bytes);

    train_give(t, &ptr);
}

/* Bytes of a weight: of attention (two), of the two wide layers, of two norms; of the embedding. */
static inline size_t train_weight_bytes(unsigned layer, unsigned part)
{
    static const size_t of_layer[TRAIN_PARTS] = {
        3 * TRAIN_HIDDEN * TRAIN_HIDDEN, TRAIN_HIDDEN * TRAIN_HIDDEN,
        4 * TRAIN_HIDDEN * TRAIN_HIDDEN, 4 * TRAIN_HIDDEN * TRAIN_HIDDEN,
        2 * TRAIN_HIDDEN, 2 * TRAIN_HIDDEN,
    };

    if (layer == TRAIN_LAYERS) {
        return (part == 0) ? 4 * TRAIN_WORDS * TRAIN_HIDDEN : 0;
    }
    return 4 * of_layer[part];
}

/* Bytes that the forward pass keeps: norm, q-k-v, probabilities, attention, sum, norm, wide
 * layer, its activation; two bytes an element. */
static inline size_t train_saved_bytes(const train_loop *t, unsigned which)
{
    static const unsigned wide[TRAIN_SAVED] = { 1, 3, 0, 1, 1, 1, 4, 4 };

    if (which == 2) {
        return 2 * TRAIN_HEADS * t->tokens * t->length;
    }
    return 2 * wide[which] * t->tokens * TRAIN_HIDDEN;
}

static inline void train_forward(train_loop *t)
{
    for (unsigned layer = 0; layer < TRAIN_LAYERS; layer++) {
        for (unsigned i = 0; i < TRAIN_SAVED; i++) {
            t->saved[layer][i] = train_take(t, train_saved_bytes(t, i));
            if (i % 3 == 0) {
                train_borrow(t, train_saved_bytes(t, 0)); /* a cast, a workspace */
            }
        }
    }
}

static inline void train_backward(train_loop *t)
{
    void *logits = train_take(t, 2 * t->tokens * TRAIN_WORDS);
    void *upper = train_take(t, 2 * t->tokens * TRAIN_WORDS);

    train_give(t, &logits);
    for (unsigned layer = TRAIN_LAYERS + 1; layer-- > 0;) {
        void *below;

        for (unsigned i = TRAIN_SAVED; (layer < TRAIN_LAYERS) && (i-- > 0);) {
            void *slope = train_take(t, train_saved_bytes(t, i));

            train_give(t, &t->saved[layer][i]);
            train_give(t, &slope);
        }
        for (unsigned part = 0; part < TRAIN_PARTS; part++) {
            size_t bytes = train_weight_bytes(layer, part);

            t->gradient[layer][part] = (bytes > 0) ? train_take(t, bytes) : NULL;
        }
        below = train_take(t, train_saved_bytes(t, 0));
        train_give(t, &upper);
        upper = below;
    }
    train_give(t, &upper);
}

static inline void train_update(train_loop *t)
{
    for (unsigned layer = 0; layer <= TRAIN_LAYERS; layer++) {
        for (unsigned part = 0; part < TRAIN_PARTS; part++) {
            size_t bytes = train_weight_bytes(layer, part);

            for (unsigned i = 0; (bytes > 0) && (i < 2); i++) {
                if (t->moment[layer][part][i] == NULL) {
                    t->moment[layer][part][i] = train_take(t, bytes);
                }
            }
            train_borrow(t, (bytes > 0) ? bytes : 4);
            train_give(t, &t->gradient[layer][part]);
        }
    }
}

static inline void train_step(train_loop *t)
{
    t->length = t->varied ? 256 + 32 * (size_t)train_draw(&t->random, 25) : 512;
    t->tokens = TRAIN_BATCH * t->length;
    train_forward(t);
    train_backward(t);
    train_update(t);
}

static inline void train_begin(train_loop *t)
{
    for (unsigned layer = 0; layer <= TRAIN_LAYERS; layer++) {
        for (unsigned part = 0; part < TRAIN_PARTS; part++) {
            size_t bytes = train_weight_bytes(layer, part);

            t->weight[layer][part] = (bytes > 0) ? train_take(t, bytes) : NULL;
        }
    }
}

static inline void train_end(train_loop *t)
{
    for (unsigned layer = 0; layer <= TRAIN_LAYERS; layer++) {
        for (unsigned part = 0; part < TRAIN_PARTS; part++) {
            train_give(t, &t->weight[layer][part]);
            train_give(t, &t->gradient[layer][part]);
            train_give(t, &t->moment[layer][part][0]);
            train_give(t, &t->moment[layer][part][1]);
        }
        for (unsigned i = 0; (layer < TRAIN_LAYERS) && (i < TRAIN_SAVED); i++) {
            train_give(t, &t->saved[layer][i]);
        }
    }
}

/* Runs the steps; 0: all requests were served. */
static inline int train_run(const train_memory *memory, unsigned steps, int varied)
{
    static train_loop loop;
    train_loop *t = &loop;

    *t = (train_loop){ .memory = memory, .random = 1, .varied = varied };
    train_begin(t);
    for (unsigned i = 0; (i < steps) && !t->refused; i++) {
        train_step(t);
    }
    train_end(t);
    return t->refused;
}

#endif /* SHPOOL_BENCH_TRAIN_H */
