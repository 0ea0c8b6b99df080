/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The allocations of two programs of tests/gpu/python/pytorch_programs.py, as PyTorch makes them: a
 * small transformer, and key-value caches that grow.  The same calls each time, no model, no GPU.
 *
 * Small programs are the hard ones for reserved bytes: each piece of memory that no request can use
 * is a larger part of the whole.  Here it also matters that the optimizer's temporaries are all
 * live together, and that the three copies of the logits are the largest requests.
 */
#ifndef SHPOOL_BENCH_SMALL_H
#define SHPOOL_BENCH_SMALL_H

#include "train.h"

#define SMALL_LAYERS  8u
#define SMALL_HIDDEN  ((size_t)512)
#define SMALL_WORDS   ((size_t)8000)
#define SMALL_BATCH   16u
#define SMALL_OF_LAYER 12u /* weights of a layer */
#define SMALL_WEIGHTS (SMALL_LAYERS * SMALL_OF_LAYER + 3u)
#define SMALL_SAVED   16u
#define SMALL_SEQUENCES 48u
#define SMALL_CACHES    8u /* of a sequence */
#define SMALL_GROWTH    ((size_t)64) /* words by which a cache grows */

/* ---- a transformer ---- */

typedef struct small_loop {
    train_loop base;
    size_t bytes[SMALL_WEIGHTS];      /* of a weight in four bytes an element */
    void *weight[SMALL_WEIGHTS];
    void *half[SMALL_WEIGHTS];        /* its copy in two bytes, in the forward pass */
    void *gradient[SMALL_WEIGHTS];
    void *moment[SMALL_WEIGHTS][2];
    void *root[SMALL_WEIGHTS];        /* the optimizer's temporaries */
    void *saved[SMALL_LAYERS][SMALL_SAVED];
    void *workspace;
    size_t row;                       /* bytes of an activation of two bytes an element */
    size_t tokens;
} small_loop;

/* Weights of a layer: of attention, its result, two wide layers, two norms; each with a bias. */
static inline void small_shapes(small_loop *s)
{
    const size_t h = 4 * SMALL_HIDDEN;
    const size_t of_layer[SMALL_OF_LAYER] = {
        3 * h * SMALL_HIDDEN, 3 * h, h * SMALL_HIDDEN, h, 4 * h * SMALL_HIDDEN, 4 * h,
        4 * h * SMALL_HIDDEN, h, h, h, h, h,
    };

    s->bytes[0] = h * SMALL_WORDS;
    for (unsigned i = 0; i < SMALL_LAYERS * SMALL_OF_LAYER; i++) {
        s->bytes[1 + i] = of_layer[i % SMALL_OF_LAYER];
    }
    s->bytes[SMALL_WEIGHTS - 2] = h * SMALL_WORDS;
    s->bytes[SMALL_WEIGHTS - 1] = 4 * SMALL_WORDS;
}

/* A new value in place of the old one, which is freed afterwards. */
static inline void small_next(small_loop *s, void **value_p, size_t bytes)
{
    void *next = train_take(&s->base, bytes);

    train_give(&s->base, value_p);
    *value_p = next;
}

/* A multiplication by weights, whose copy stays: the product of `bytes`. */
static inline void *small_linear(small_loop *s, unsigned weight, size_t bytes)
{
    for (unsigned i = weight; i < weight + 2; i++) {
        s->half[i] = train_take(&s->base, s->bytes[i] / 2);
    }
    return train_take(&s->base, bytes);
}

static inline void small_norm(small_loop *s, void **saved)
{
    saved[0] = train_take(&s->base, 2 * s->row);
    saved[1] = train_take(&s->base, 4 * s->tokens);
    saved[2] = train_take(&s->base, 4 * s->tokens);
}

static inline void small_layer_forward(small_loop *s, unsigned layer)
{
    const unsigned weight = 1 + layer * SMALL_OF_LAYER;
    void **saved = s->saved[layer];
    void *product;

    saved[0] = train_take(&s->base, s->row);
    saved[1] = small_linear(s, weight, 3 * s->row);
    small_next(s, &saved[1], 3 * s->row);
    saved[2] = train_take(&s->base, s->row);
    saved[3] = train_take(&s->base, 4 * 8 * s->tokens);
    product = small_linear(s, weight + 2, s->row);
    saved[4] = train_take(&s->base, 2 * s->row);
    train_give(&s->base, &product);
    small_norm(s, &saved[5]);
    saved[8] = train_take(&s->base, s->row);
    product = small_linear(s, weight + 4, 4 * s->row);
    saved[9] = train_take(&s->base, 4 * s->row);
    train_give(&s->base, &product);
    product = small_linear(s, weight + 6, s->row);
    saved[10] = train_take(&s->base, 2 * s->row);
    train_give(&s->base, &product);
    small_norm(s, &saved[11]);
}

/* The gradient of a weight in two bytes an element, then in four. */
static inline void small_gradients(small_loop *s, unsigned weight)
{
    s->gradient[weight] = train_take(&s->base, s->bytes[weight] / 2);
    small_next(s, &s->gradient[weight], s->bytes[weight]);
    s->gradient[weight + 1] = train_take(&s->base, s->bytes[weight + 1]);
}

static inline void small_drop(small_loop *s, unsigned layer, unsigned first, unsigned count)
{
    for (unsigned i = first; i < first + count; i++) {
        train_give(&s->base, &s->saved[layer][i]);
    }
}

/* Back through a multiplication; the slope that came in becomes that of its input. */
static inline void small_linear_backward(small_loop *s, unsigned weight, void **slope_p,
                                         size_t bytes)
{
    void *below = train_take(&s->base, bytes);

    small_gradients(s, weight);
    train_give(&s->base, slope_p);
    *slope_p = below;
}

/* slope: of the layer's output, afterwards of its input; four bytes an element */
static inline void small_layer_backward(small_loop *s, unsigned layer, void **slope_p)
{
    const unsigned weight = 1 + layer * SMALL_OF_LAYER;
    void *inner;

    small_next(s, slope_p, 2 * s->row);
    small_drop(s, layer, 11, 3);
    inner = train_take(&s->base, s->row);
    small_linear_backward(s, weight + 6, &inner, 4 * s->row);
    small_next(s, &inner, 4 * s->row);
    small_drop(s, layer, 9, 1);
    small_linear_backward(s, weight + 4, &inner, s->row);
    small_drop(s, layer, 8, 1);
    small_next(s, &inner, 2 * s->row);
    small_next(s, slope_p, 2 * s->row);
    train_give(&s->base, &inner);
    small_drop(s, layer, 10, 1);
    small_next(s, slope_p, 2 * s->row);
    small_drop(s, layer, 5, 3);
    inner = train_take(&s->base, s->row);
    small_linear_backward(s, weight + 2, &inner, s->row);
    small_next(s, &inner, 3 * s->row);
    small_drop(s, layer, 1, 3);
    small_next(s, &inner, 3 * s->row);
    small_linear_backward(s, weight, &inner, s->row);
    small_drop(s, layer, 0, 1);
    small_next(s, &inner, 2 * s->row);
    small_next(s, slope_p, 2 * s->row);
    train_give(&s->base, &inner);
    small_drop(s, layer, 4, 1);
    for (unsigned i = weight + 8; i < weight + SMALL_OF_LAYER; i++) {
        s->gradient[i] = train_take(&s->base, s->bytes[i]);
    }
}

/* The loss: logits in two bytes an element, then in four, and their logarithms; and back. */
static inline void *small_loss(small_loop *s)
{
    const size_t logits = 2 * s->tokens * SMALL_WORDS;
    void *input = train_take(&s->base, s->row);
    void *product = small_linear(s, SMALL_WEIGHTS - 2, logits);
    void *wide = train_take(&s->base, 2 * logits);
    void *slope;

    small_next(s, &wide, 2 * logits);
    train_give(&s->base, &product);
    for (unsigned i = 0; i < SMALL_WEIGHTS; i++) {
        train_give(&s->base, &s->half[i]);
    }
    slope = train_take(&s->base, 2 * logits);
    small_next(s, &slope, 2 * logits);
    train_give(&s->base, &wide);
    small_next(s, &slope, logits);
    small_linear_backward(s, SMALL_WEIGHTS - 2, &slope, s->row);
    train_give(&s->base, &input);
    small_next(s, &slope, 2 * s->row);
    return slope;
}

static inline void small_update(small_loop *s)
{
    for (unsigned i = 0; (s->moment[0][0] == NULL) && (i < 2 * SMALL_WEIGHTS); i++) {
        s->moment[i % SMALL_WEIGHTS][i / SMALL_WEIGHTS] =
            train_take(&s->base, s->bytes[i % SMALL_WEIGHTS]);
    }
    for (unsigned i = 0; i < SMALL_WEIGHTS; i++) {
        s->root[i] = train_take(&s->base, s->bytes[i]);
    }
    for (unsigned i = 0; i < SMALL_WEIGHTS; i++) {
        train_give(&s->base, &s->root[i]);
    }
}

static inline void small_step(small_loop *s, unsigned step, int varied)
{
    void *words;
    void *input;
    void *slope;

    s->tokens = SMALL_BATCH * (varied ? 128 + 32 * (size_t)(step * 7 % 13) : 320);
    s->row = 2 * s->tokens * SMALL_HIDDEN;
    words = train_take(&s->base, 8 * s->tokens);
    for (unsigned i = 0; i < SMALL_WEIGHTS; i++) {
        train_give(&s->base, &s->gradient[i]);
    }
    input = train_take(&s->base, 2 * s->row);
    if (s->workspace == NULL) {
        s->workspace = train_take(&s->base, (size_t)32 << 20);
    }
    for (unsigned i = 0; i < SMALL_LAYERS; i++) {
        small_layer_forward(s, i);
    }
    slope = small_loss(s);
    for (unsigned i = SMALL_LAYERS; i-- > 0;) {
        small_layer_backward(s, i, &slope);
    }
    s->gradient[0] = train_take(&s->base, s->bytes[0]);
    train_give(&s->base, &slope);
    train_give(&s->base, &input);
    small_update(s);
    train_give(&s->base, &words);
}

static inline int small_run(const train_memory *memory, unsigned steps, int varied)
{
    static small_loop loop;
    small_loop *s = &loop;

    *s = (small_loop){ .base = { .memory = memory } };
    small_shapes(s);
    for (unsigned i = 0; i < SMALL_WEIGHTS; i++) {
        s->weight[i] = train_take(&s->base, s->bytes[i]);
    }
    for (unsigned i = 0; (i < steps) && !s->base.refused; i++) {
        small_step(s, i, varied);
    }
    for (unsigned i = 0; i < SMALL_WEIGHTS; i++) {
        train_give(&s->base, &s->weight[i]);
        train_give(&s->base, &s->gradient[i]);
        train_give(&s->base, &s->moment[i][0]);
        train_give(&s->base, &s->moment[i][1]);
    }
    train_give(&s->base, &s->workspace);
    return s->base.refused;
}

/* ---- caches ---- */

typedef struct small_sequence {
    unsigned number;
    size_t words;
    void *cache[SMALL_CACHES];
} small_sequence;

static inline void small_resize(train_loop *t, small_sequence *s, size_t words)
{
    s->words = words;
    for (unsigned i = 0; i < SMALL_CACHES; i++) {
        void *fresh = train_take(t, 8192 * words);

        train_give(t, &s->cache[i]);
        s->cache[i] = fresh;
    }
}

static inline void small_sequence_end(train_loop *t, small_sequence *s)
{
    for (unsigned i = 0; i < SMALL_CACHES; i++) {
        train_give(t, &s->cache[i]);
    }
}

/* Sequences grow in the order in which they began: one that ends goes, a new one is the last. */
static inline void small_caches_step(train_loop *t, small_sequence all[SMALL_SEQUENCES])
{
    unsigned at = 0;

    for (unsigned i = 0; i < SMALL_SEQUENCES; i++) {
        small_sequence s = all[at];

        small_resize(t, &s, s.words + SMALL_GROWTH);
        all[at] = s;
        if (s.words < SMALL_GROWTH * (4 + s.number % 997 * 37 % 61)) {
            at++;
            continue;
        }
        small_sequence_end(t, &s);
        for (unsigned j = at; j + 1 < SMALL_SEQUENCES; j++) {
            all[j] = all[j + 1];
        }
        s.number = 1 + all[SMALL_SEQUENCES - 2].number;
        small_resize(t, &s, SMALL_GROWTH);
        all[SMALL_SEQUENCES - 1] = s;
    }
}

static inline int small_caches(const train_memory *memory, unsigned steps)
{
    static train_loop loop;
    static small_sequence all[SMALL_SEQUENCES];
    train_loop *t = &loop;

    *t = (train_loop){ .memory = memory };
    for (unsigned i = 0; i < SMALL_SEQUENCES; i++) {
        all[i] = (small_sequence){ .number = i };
        small_resize(t, &all[i], SMALL_GROWTH);
    }
    for (unsigned i = 0; (i < steps) && !t->refused; i++) {
        small_caches_step(t, all);
    }
    for (unsigned i = 0; i < SMALL_SEQUENCES; i++) {
        small_sequence_end(t, &all[i]);
    }
    return t->refused;
}

#endif /* SHPOOL_BENCH_SMALL_H */
