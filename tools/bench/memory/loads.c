/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs as lists of words, which name memory by letters (A to P: saved from a layer's forward
 * pass to its backward pass; others: temporaries) and sizes by letters of their own:
 *
 *   x=3n    a new x of 3 n bytes; the old one is freed afterwards
 *   -x      x is freed
 *   ~n      n bytes, freed at once: a cast, a workspace
 *   h2      copies of weights 2 and 3 of the layer in two bytes an element
 *   -*      all such copies are freed
 *   g8      the gradient of weight 8
 *   x<2=n   x goes back through weights 2 and 3: a new x of n bytes, their gradients, the first one
 *           in two bytes an element at first; then the old x is freed
 *
 * Training is that of PyTorch with Adam.  If the sizes change from step to step, no step requests
 * those of the one before it.
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "loads.h"

#define WEIGHTS   160u
#define LAYERS    24u
#define SEQUENCES 48u

/* Floats, unless said otherwise. */
typedef struct weight {
    size_t bytes;
    void  *value, *half, *gradient, *moment[2], *root;
} weight;

/* A sequence, whose keys and values are cached. */
typedef struct sequence {
    unsigned number;
    size_t   words; /* 0: it has not begun */
    size_t   last;
    void    *cache[16];
} sequence;

typedef struct loop {
    const loads_memory *memory;
    uint64_t random;
    int      refused;
    int      varied;
    unsigned step;
    size_t   size['z' + 1];      /* by its letter */
    void    *place['z' + 1];
    void    *saved[LAYERS]['P' + 1];
    unsigned weights;
    weight   weight[WEIGHTS];
    sequence sequence[SEQUENCES];
} loop;

typedef struct loads_program {
    void (*begin)(loop *t);
    void (*step)(loop *t);
} loads_program;

static unsigned draw(loop *t, unsigned below)
{
    t->random = t->random * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)((t->random >> 40) % below);
}

static void *take(loop *t, size_t bytes)
{
    void *ptr = NULL;

    if (!t->refused) {
        t->refused = !t->memory->take(t->memory->user, &ptr, bytes);
    }
    return t->refused ? NULL : ptr;
}

static void give(loop *t, void **ptr_p)
{
    if (*ptr_p != NULL) {
        t->memory->give(t->memory->user, *ptr_p);
        *ptr_p = NULL;
    }
}

/* A new value in place of the old one, which is freed afterwards. */
static void put(loop *t, void **ptr_p, size_t bytes)
{
    void *fresh = take(t, bytes);

    give(t, ptr_p);
    *ptr_p = fresh;
}

static void borrow(loop *t, size_t bytes)
{
    void *ptr = take(t, bytes);

    give(t, &ptr);
}

/* ---- words ---- */

static void **place_of(loop *t, unsigned layer, char letter)
{
    return (letter <= 'P') ? &t->saved[layer][(unsigned char)letter]
                           : &t->place[(unsigned char)letter];
}

/* A size, from its sign on: "=3n". */
static size_t size_at(const loop *t, const char *at)
{
    const size_t times = ((at[1] >= '0') && (at[1] <= '9')) ? (size_t)(*++at - '0') : 1;

    return times * t->size[(unsigned char)at[1]];
}

static void go_back(loop *t, weight *w, void **ptr_p, size_t bytes)
{
    void *below = take(t, bytes);

    put(t, &w[0].gradient, w[0].bytes / 2);
    put(t, &w[0].gradient, w[0].bytes);
    put(t, &w[1].gradient, w[1].bytes);
    give(t, ptr_p);
    *ptr_p = below;
}

static void do_word(loop *t, unsigned layer, weight *of_layer, const char *word)
{
    const char   *sign = strpbrk(word, "=~");
    weight *const w    = &of_layer[(word[0] == 'h') || (word[0] == 'g') ? atoi(word + 1)
                                   : (word[1] == '<') ? atoi(word + 2) : 0];

    if (word[0] == '~') {
        borrow(t, size_at(t, word));
    } else if (word[0] == 'h') {
        put(t, &w[0].half, w[0].bytes / 2);
        put(t, &w[1].half, w[1].bytes / 2);
    } else if (word[0] == 'g') {
        put(t, &w->gradient, w->bytes);
    } else if (word[1] == '<') {
        go_back(t, w, place_of(t, layer, word[0]), size_at(t, sign));
    } else if (word[1] == '=') {
        put(t, place_of(t, layer, word[0]), size_at(t, sign));
    } else if (word[1] != '*') {
        give(t, place_of(t, layer, word[1]));
    } else {
        for (unsigned i = 0; i < t->weights; i++) {
            give(t, &t->weight[i].half);
        }
    }
}

/* of_layer: the layer's first weight. */
static void run(loop *t, unsigned layer, unsigned of_layer, const char *words)
{
    for (const char *at = words; at != NULL; at = strchr(at, ' ')) {
        at += at[0] == ' ';
        do_word(t, layer, &t->weight[of_layer], at);
    }
}

/* ---- weights ---- */

static void add_weights(loop *t, size_t count, const size_t *bytes)
{
    for (size_t i = 0; i < count; i++) {
        weight *w = &t->weight[t->weights++];

        w->bytes = bytes[i];
        w->value = (bytes[i] > 0) ? take(t, bytes[i]) : NULL;
    }
}

static void add_gradients(loop *t, unsigned first, unsigned count)
{
    for (weight *w = &t->weight[first]; w < &t->weight[first + count]; w++) {
        if (w->bytes > 0) {
            put(t, &w->gradient, w->bytes);
        }
    }
}

/* Each weight is updated alone, with a temporary or without, and its gradient dropped. */
static void update(loop *t, int borrows)
{
    for (weight *w = t->weight; w < &t->weight[t->weights]; w++) {
        for (unsigned i = 0; (w->bytes > 0) && (i < 2); i++) {
            if (w->moment[i] == NULL) {
                put(t, &w->moment[i], w->bytes);
            }
        }
        if (borrows) {
            borrow(t, (w->bytes > 0) ? w->bytes : 4);
        }
        give(t, &w->gradient);
    }
}

/* All weights are updated together: all temporaries are live, and gradients stay.  Of the moments,
 * which stay for good, there is only the first one. */
static void update_together(loop *t)
{
    if (t->weight[0].moment[0] == NULL) {
        put(t, &t->weight[0].moment[0], t->weight[0].bytes);
    }
    for (unsigned i = 0; i < t->weights; i++) {
        put(t, &t->weight[i].root, t->weight[i].bytes);
    }
    for (unsigned i = 0; i < t->weights; i++) {
        give(t, &t->weight[i].root);
    }
}

/* ---- a transformer with mixed precision ---- */

#define HIDDEN ((size_t)1024)
#define WORDS  ((size_t)50304)
#define PARTS  6u /* weights of a layer: of attention (two), of two wide layers, of two norms */

static void transformer_begin(loop *t)
{
    const size_t h = 4 * HIDDEN;

    for (unsigned i = 0; i < LAYERS; i++) {
        add_weights(t, PARTS, (const size_t[]){ 3 * h * HIDDEN, h * HIDDEN, 4 * h * HIDDEN,
                                                4 * h * HIDDEN, 2 * h, 2 * h });
    }
    add_weights(t, PARTS, (const size_t[PARTS]){ h * WORDS });
}

static void transformer_step(loop *t)
{
    const size_t length = t->varied ? 256 + 32 * (size_t)draw(t, 25) : 512;
    const size_t tokens = 8 * length;

    t->size['n'] = 2 * tokens * HIDDEN; /* two bytes an element */
    t->size['p'] = 2 * tokens * 16 * length;
    t->size['l'] = 2 * tokens * WORDS;
    for (unsigned i = 0; i < LAYERS; i++) { /* norm, q-k-v, probabilities, attention, sum, norm,
                                               wide layer, its activation */
        run(t, i, 0, "A=n ~n B=3n C=p D=n ~n E=n F=n G=4n ~n H=4n");
    }
    run(t, 0, 0, "y=l x=l -y");
    add_gradients(t, LAYERS * PARTS, PARTS);
    run(t, 0, 0, "x=n");
    for (unsigned i = LAYERS; i-- > 0;) {
        run(t, i, 0, "y=4n -H -y y=4n -G -y y=n -F -y y=n -E -y y=n -D -y y=p -C -y y=3n -B -y "
                     "y=n -A -y");
        add_gradients(t, i * PARTS, PARTS);
        run(t, i, 0, "x=n");
    }
    run(t, 0, 0, "-x");
    update(t, 1);
}

/* ---- convolutions over images of changing size and number ---- */

#define BLOCKS 6u /* of a stage */

static void images_begin(loop *t)
{
    for (unsigned i = 0; i < LAYERS; i++) {
        const size_t wide = (size_t)64 << (i / BLOCKS);

        add_weights(t, 3, (const size_t[]){ 16 * wide * wide, 36 * wide * wide, 16 * wide * wide });
    }
}

static void set_image_sizes(loop *t, unsigned stage, size_t side, size_t images)
{
    const size_t n = 2 * ((size_t)64 << stage) * images * (side >> stage) * (side >> stage);

    t->size['n'] = n;
    t->size['a'] = n + 4096; /* workspaces */
    t->size['c'] = n / 3 + 4096;
    t->size['e'] = 4 * n / 5 + 4096;
}

/* A block of a bottleneck network: three convolutions, the last of them to four times as wide. */
static void images_step(loop *t)
{
    const size_t side   = (128 + 32 * (size_t)draw(t, 13)) / 4;
    const size_t images = 8 + 8 * (size_t)draw(t, 8);

    for (unsigned i = 0; i < LAYERS; i++) {
        set_image_sizes(t, i / BLOCKS, side, images);
        run(t, i, 0, "A=n ~a B=n C=n ~c D=4n E=4n ~e");
    }
    for (unsigned i = LAYERS; i-- > 0;) {
        set_image_sizes(t, i / BLOCKS, side, images);
        run(t, i, 0, "x=4n -E x=4n -D x=n -C x=n -B x=n -A");
        add_gradients(t, 3 * i, 3);
    }
    run(t, 0, 0, "-x");
    update(t, 0);
}

/* ---- a small transformer ----
 *
 * It and the caches that grow are two programs of tests/gpu/python/pytorch_programs.py.  Small
 * programs are the hard ones for reserved bytes: each piece of memory that no request can use is a
 * larger part of the whole.  Here it also matters that the optimizer's temporaries are all live
 * together, and that the three copies of the logits are the largest requests. */

#define SMALL_LAYERS 8u
#define SMALL_PARTS  12u /* attention, its result, two wide layers, two norms; each with a bias */
#define SMALL_HIDDEN ((size_t)512)
#define SMALL_WORDS  ((size_t)8000)

static void small_begin(loop *t)
{
    const size_t h = 4 * SMALL_HIDDEN;
    const size_t b = h * SMALL_HIDDEN;

    add_weights(t, 1, (const size_t[]){ h * SMALL_WORDS });
    for (unsigned i = 0; i < SMALL_LAYERS; i++) {
        add_weights(t, SMALL_PARTS, (const size_t[]){ 3 * b, 3 * h, b, h, 4 * b, 4 * h, 4 * b, h,
                                                      h, h, h, h });
    }
    add_weights(t, 2, (const size_t[]){ h * SMALL_WORDS, 4 * SMALL_WORDS });
}

static void small_step(loop *t)
{
    const size_t   tokens = 16 * (t->varied ? 128 + 32 * (size_t)(t->step * 7 % 13) : 320);
    const unsigned head   = t->weights - 2;

    t->size['n'] = 2 * tokens * SMALL_HIDDEN;
    t->size['l'] = 2 * tokens * SMALL_WORDS;
    t->size['u'] = 4 * tokens;
    run(t, 0, 0, "w=2u");
    for (unsigned i = 0; i < t->weights; i++) {
        give(t, &t->weight[i].gradient);
    }
    run(t, 0, 0, "v=2n");
    if (t->place['z'] == NULL) { /* a workspace */
        put(t, &t->place['z'], (size_t)32 << 20);
    }
    for (unsigned i = 0; i < SMALL_LAYERS; i++) {
        run(t, i, 1 + i * SMALL_PARTS,
            "A=n h0 B=3n B=3n C=n D=8u h2 y=n E=2n -y F=2n G=u H=u I=n h4 y=4n J=4n -y h6 y=n K=2n "
            "-y L=2n M=u N=u");
    }
    /* the loss: logits in two bytes an element, then in four, and their logarithms; and back */
    run(t, 0, head, "y=n h0 q=l r=2l r=2l -q -* x=2l x=2l -r x=l x<0=n -y x=2n");
    for (unsigned i = SMALL_LAYERS; i-- > 0;) {
        run(t, i, 1 + i * SMALL_PARTS,
            "x=2n -L -M -N y=n y<6=4n y=4n -J y<4=n -I y=2n x=2n -y -K x=2n -F -G -H y=n y<2=n "
            "y=3n -B -C -D y=3n y<0=n -A y=2n x=2n -y -E g8 g9 g10 g11");
    }
    run(t, 0, 0, "g0 -x -v");
    update_together(t);
    run(t, 0, 0, "-w");
}

/* ---- caches of sequences ---- */

/* A cache that grows is a larger one, into which it is copied. */
static void resize(loop *t, sequence *s, unsigned caches, size_t words, size_t word)
{
    s->words = words;
    for (unsigned i = 0; i < caches; i++) {
        put(t, &s->cache[i], word * words);
    }
}

static void end(loop *t, sequence *s)
{
    for (unsigned i = 0; i < sizeof(s->cache) / sizeof(s->cache[0]); i++) {
        give(t, &s->cache[i]);
    }
    s->words = 0;
}

static void caches_begin(loop *t)
{
    (void)t;
}

static void caches_step(loop *t)
{
    for (sequence *s = t->sequence; s < &t->sequence[SEQUENCES]; s++) {
        if (s->words == 0) {
            if (draw(t, 4) == 0) {
                const size_t words = 64 + draw(t, 512);

                s->last = words + 200 + draw(t, 2000);
                resize(t, s, 16, words, 4096);
            }
        } else if (s->words + 32 > s->last) {
            end(t, s);
        } else {
            resize(t, s, 16, s->words + 32, 4096);
        }
    }
}

#define GROWTH ((size_t)64) /* words by which a cache grows */

static void growing_begin(loop *t)
{
    for (unsigned i = 0; i < SEQUENCES; i++) {
        t->sequence[i].number = i;
        resize(t, &t->sequence[i], 8, GROWTH, 8192);
    }
}

/* Sequences grow in the order in which they began: one that ends goes, a new one is the last. */
static void growing_step(loop *t)
{
    sequence *const all = t->sequence;
    unsigned at = 0;

    for (unsigned i = 0; i < SEQUENCES; i++) {
        resize(t, &all[at], 8, all[at].words + GROWTH, 8192);
        if (all[at].words < GROWTH * (4 + all[at].number % 997 * 37 % 61)) {
            at++;
            continue;
        }
        end(t, &all[at]);
        memmove(&all[at], &all[at + 1], (SEQUENCES - 1 - at) * sizeof(*all));
        all[SEQUENCES - 1] = (sequence){ .number = 1 + all[SEQUENCES - 2].number };
        resize(t, &all[SEQUENCES - 1], 8, GROWTH, 8192);
    }
}

/* ---- all of them ---- */

static const loads_program transformer = { transformer_begin, transformer_step };
static const loads_program images = { images_begin, images_step };
static const loads_program caches = { caches_begin, caches_step };
static const loads_program small = { small_begin, small_step };
static const loads_program growing = { growing_begin, growing_step };

const loads_load loads[LOADS_COUNT] = {
    { "one length", &transformer, 0, 10 },
    { "lengths", &transformer, 1, 40 },
    { "images", &images, 1, 40 },
    { "caches", &caches, 1, 80 },
    { "small, one length", &small, 0, 26 },
    { "small, lengths", &small, 1, 40 },
    { "caches that grow", &growing, 1, 104 },
};

int loads_run(const loads_load *load, const loads_memory *memory, unsigned steps)
{
    static loop all;
    loop *t = &all;

    *t = (loop){ .memory = memory, .random = 1, .varied = load->varied };
    load->program->begin(t);
    for (; (t->step < steps) && !t->refused; t->step++) {
        load->program->step(t);
    }
    for (weight *w = t->weight; w < &t->weight[WEIGHTS]; w++) {
        give(t, &w->value);
        give(t, &w->gradient);
        give(t, &w->moment[0]);
        give(t, &w->moment[1]);
    }
    for (unsigned i = 0; i < LAYERS * ('P' + 1); i++) {
        give(t, &t->saved[i / ('P' + 1)][i % ('P' + 1)]);
    }
    for (unsigned i = 0; i <= 'z'; i++) {
        give(t, &t->place[i]);
    }
    for (unsigned i = 0; i < SEQUENCES; i++) {
        end(t, &t->sequence[i]);
    }
    return t->refused;
}
