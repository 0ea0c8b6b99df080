/* SPDX-License-Identifier: BSD-3-Clause */
/* Affine forms: arithmetic modulo 2^64, and consequences for a warp. */
#include "form.h"

#include <stdlib.h>
#include <string.h>

#define BANKS      32
#define FAR        ((int64_t)1 << 40) /* bytes */
#define LONGEST    ((int64_t)1 << 60) /* a distance between related accesses */

/* ---- arithmetic ---- */

/* Signed overflow is undefined in C; addresses wrap. */
static int64_t wrapping_add(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t wrapping_multiply(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

coalesce_form coalesce_form_unknown(void)
{
    return (coalesce_form){ .known = 0 };
}

coalesce_form coalesce_form_constant(int64_t value)
{
    coalesce_form form = { .known = 1, .terms = (value != 0) };

    form.term[0].coefficient = value;
    return form;
}

static int same_leaves(const coalesce_term *a, const coalesce_term *b)
{
    if (a->factors != b->factors) {
        return 0;
    }
    for (uint32_t i = 0; i < a->factors; i++) {
        if (a->leaf[i] != b->leaf[i]) {
            return 0;
        }
    }
    return 1;
}

static void add_term(coalesce_form *form, const coalesce_term *term)
{
    if (!form->known || (term->coefficient == 0)) {
        return;
    }
    for (uint32_t i = 0; i < form->terms; i++) {
        if (same_leaves(&form->term[i], term)) {
            int64_t sum = wrapping_add(form->term[i].coefficient, term->coefficient);

            form->term[i].coefficient = sum;
            if (sum == 0) {
                form->term[i] = form->term[--form->terms];
            }
            return;
        }
    }
    if (form->terms == COALESCE_TERMS) {
        *form = coalesce_form_unknown();
        return;
    }
    form->term[form->terms++] = *term;
}

coalesce_form coalesce_form_add(const coalesce_form *a, const coalesce_form *b, int64_t scale_of_b)
{
    coalesce_form sum = *a;

    if (!a->known || !b->known) {
        return coalesce_form_unknown();
    }
    for (uint32_t i = 0; i < b->terms; i++) {
        coalesce_term term = b->term[i];

        term.coefficient = wrapping_multiply(term.coefficient, scale_of_b);
        add_term(&sum, &term);
    }
    return sum;
}

/* The product of two terms, its leaves in ascending order; 0: too many leaves. */
static int multiply_terms(const coalesce_term *a, const coalesce_term *b, coalesce_term *product_p)
{
    coalesce_term product = { .coefficient = wrapping_multiply(a->coefficient, b->coefficient) };
    uint32_t      i       = 0;
    uint32_t      j       = 0;

    if (a->factors + b->factors > COALESCE_FACTORS) {
        return 0;
    }
    while ((i < a->factors) || (j < b->factors)) {
        int from_a = (j == b->factors) || ((i < a->factors) && (a->leaf[i] <= b->leaf[j]));

        product.leaf[product.factors++] = from_a ? a->leaf[i++] : b->leaf[j++];
    }
    *product_p = product;
    return 1;
}

coalesce_form coalesce_form_multiply(const coalesce_form *a, const coalesce_form *b)
{
    coalesce_form product = coalesce_form_constant(0);

    if (!a->known || !b->known) {
        return coalesce_form_unknown();
    }
    for (uint32_t i = 0; i < a->terms; i++) {
        for (uint32_t j = 0; j < b->terms; j++) {
            coalesce_term term;

            if (!multiply_terms(&a->term[i], &b->term[j], &term)) {
                return coalesce_form_unknown();
            }
            add_term(&product, &term);
        }
    }
    return product;
}

int coalesce_form_is_constant(const coalesce_form *form, int64_t *value_p)
{
    int only = form->known;

    *value_p = 0;
    for (uint32_t i = 0; form->known && (i < form->terms); i++) {
        if (form->term[i].factors == 0) {
            *value_p = form->term[i].coefficient;
        } else {
            only = 0;
        }
    }
    return only;
}

uint64_t coalesce_form_signature(const coalesce_form *form)
{
    uint64_t sum = form->known;

    for (uint32_t i = 0; form->known && (i < form->terms); i++) {
        const coalesce_term *term = &form->term[i];
        uint64_t             hash = (uint64_t)term->coefficient * 0x9e3779b97f4a7c15u;

        for (uint32_t k = 0; k < term->factors; k++) {
            hash = (hash ^ (hash >> 29) ^ term->leaf[k]) * 0xbf58476d1ce4e5b9u;
        }
        sum += (term->factors != 0) ? hash : 0; /* terms are in no order */
    }
    return sum;
}

int coalesce_form_distance(const coalesce_form *a, const coalesce_form *b, int64_t *difference_p)
{
    coalesce_form difference = coalesce_form_add(a, b, -1);

    return coalesce_form_is_constant(&difference, difference_p) &&
           (*difference_p > -LONGEST) && (*difference_p < LONGEST);
}

int coalesce_form_same_in_lanes(const coalesce_leaves *leaves, const coalesce_form *a,
                                const coalesce_form *b)
{
    coalesce_form difference = coalesce_form_add(a, b, -1);

    for (uint32_t i = 0; difference.known && (i < difference.terms); i++) {
        for (uint32_t j = 0; j < difference.term[i].factors; j++) {
            if (!leaves->leaf[difference.term[i].leaf[j]].grid_uniform) {
                return 0;
            }
        }
    }
    return difference.known;
}

/* ---- from lane to lane ---- */

#define ALL_DIMENSIONS 7u

/* How one term changes: the combination of its leaves. */
static coalesce_leaf_kind term_kind(const coalesce_leaves *leaves, const coalesce_term *term,
                                    int64_t step[3], uint32_t *pitch_p)
{
    coalesce_leaf_kind kind    = COALESCE_UNIFORM;
    int                changes = 0;

    for (uint32_t i = 0; i < term->factors; i++) {
        const coalesce_leaf *leaf = &leaves->leaf[term->leaf[i]];

        if ((leaf->kind == COALESCE_UNIFORM) || (leaf->kind == COALESCE_ITERATION)) {
            continue;
        }
        if ((leaf->kind == COALESCE_IRREGULAR) || (++changes > 1)) {
            return COALESCE_IRREGULAR; /* a square of the lane is not a stride either */
        }
        kind = (term->factors > 1) ? COALESCE_PITCH : leaf->kind;
        if (leaf->kind == COALESCE_PITCH) {
            *pitch_p |= (leaf->pitch != 0) ? leaf->pitch : ALL_DIMENSIONS;
        }
        for (uint32_t d = 0; d < 3; d++) {
            if (term->factors == 1) {
                step[d] = wrapping_multiply(term->coefficient, leaf->step[d]);
            } else if (leaf->step[d] != 0) {
                *pitch_p |= 1u << d; /* times a value that is uniform, but unknown */
            }
        }
    }
    return kind;
}

/* The kind of a whole form, its steps, and the dimensions along which there is a pitch. */
static coalesce_leaf_kind form_kind(const coalesce_leaves *leaves, const coalesce_form *form,
                                    int64_t step[3], uint32_t *pitch_p)
{
    coalesce_leaf_kind whole = COALESCE_UNIFORM;

    step[0] = step[1] = step[2] = 0;
    *pitch_p = 0;
    if (!form->known) {
        return COALESCE_IRREGULAR;
    }
    for (uint32_t i = 0; i < form->terms; i++) {
        int64_t            of_term[3] = { 0, 0, 0 };
        coalesce_leaf_kind kind = term_kind(leaves, &form->term[i], of_term, pitch_p);

        for (int d = 0; d < 3; d++) {
            step[d] = wrapping_add(step[d], of_term[d]);
        }
        whole = (kind > whole) ? kind : whole; /* the enum ascends from known to unknown */
    }
    return whole;
}

/* Threads of the block along a dimension; 32: unknown, and at least a warp has them. */
static uint32_t threads_along(const coalesce_block *block, int dimension)
{
    const uint32_t count = (block == NULL) ? 0
                           : (dimension == 0) ? block->x
                           : (dimension == 1) ? block->y : block->z;

    return (count != 0) ? count : COALESCE_LANES;
}

/* Do lanes of one warp differ along y or z, where there is a pitch?  A warp is part of a row of the
 * block, unless that is narrower or no multiple. */
static int has_rows_at_pitch(uint32_t pitch, const coalesce_block *block)
{
    const uint32_t x = threads_along(block, 0);
    const uint32_t y = threads_along(block, 1);
    const uint32_t z = threads_along(block, 2);

    if (x % COALESCE_LANES == 0) {
        return 0;
    }
    return (((pitch & 2u) != 0) && (y > 1)) ||
           (((pitch & 4u) != 0) && (z > 1) && ((uint64_t)x * y % COALESCE_LANES != 0));
}

/* Rows at a run-time distance count as far enough apart to share no sector, and as aligned: of
 * (n + 1) * row, only the row's part is known. */
static void set_offsets(coalesce_lanes *lanes, const int64_t step[3], uint32_t pitch,
                        const coalesce_block *block)
{
    const uint32_t x = threads_along(block, 0);
    const uint32_t y = threads_along(block, 1);
    const uint64_t threads = (uint64_t)x * y * threads_along(block, 2);
    const int64_t  along_y = ((pitch & 2u) != 0) ? FAR : step[1];
    const int64_t  along_z = ((pitch & 4u) != 0) ? 64 * FAR : step[2];

    for (uint32_t i = 0; i < COALESCE_LANES; i++) {
        const uint32_t l      = (uint32_t)(i % threads);
        int64_t        offset = wrapping_multiply(step[0], l % x);

        offset             = wrapping_add(offset, wrapping_multiply(along_y, l / x % y));
        lanes->offset[i] = wrapping_add(offset, wrapping_multiply(along_z, l / x / y));
    }
}

coalesce_lanes coalesce_lanes_of(const coalesce_leaves *leaves, const coalesce_form *form,
                                 const coalesce_block *block)
{
    coalesce_lanes     lanes = { .pattern = COALESCE_STRIDED };
    int64_t            step[3];
    uint32_t           pitch;
    coalesce_leaf_kind kind = form_kind(leaves, form, step, &pitch);

    if ((kind == COALESCE_IRREGULAR) || ((pitch & 1u) != 0)) {
        lanes.pattern = (kind == COALESCE_IRREGULAR) ? COALESCE_ANY : COALESCE_RUNTIME;
        return lanes;
    }
    set_offsets(&lanes, step, pitch, block);
    if (has_rows_at_pitch(pitch, block)) {
        lanes.pattern = COALESCE_PITCHED;
        return lanes;
    }
    lanes.stride = lanes.offset[1];
    for (uint32_t l = 0; l < COALESCE_LANES; l++) {
        if (lanes.offset[l] != wrapping_multiply(lanes.stride, l)) {
            lanes.pattern = COALESCE_BLOCKED;
            lanes.stride  = 0;
            return lanes;
        }
    }
    if (lanes.stride == 0) {
        lanes.pattern = COALESCE_BROADCAST;
    }
    return lanes;
}

coalesce_leaf coalesce_leaf_of(const coalesce_leaves *leaves, const coalesce_form *form)
{
    coalesce_leaf leaf = { .grid_uniform = form->known };

    leaf.kind = form_kind(leaves, form, leaf.step, &leaf.pitch);
    for (uint32_t i = 0; i < form->terms; i++) {
        for (uint32_t j = 0; j < form->term[i].factors; j++) {
            leaf.grid_uniform &= leaves->leaf[form->term[i].leaf[j]].grid_uniform;
        }
    }
    return leaf;
}

static int changes(const coalesce_leaf *leaf)
{
    return (leaf->kind == COALESCE_STEPPED) || (leaf->kind == COALESCE_PITCH);
}

/* The dimensions along which the leaf changes by what is not known. */
static uint32_t pitch_of(const coalesce_leaf *leaf)
{
    return (leaf->kind != COALESCE_PITCH) ? 0 : (leaf->pitch != 0) ? leaf->pitch : ALL_DIMENSIONS;
}

/* Along each dimension they change alike, or one of them does not: at x == 0, compilers make y * n
 * of y * n + x. */
int coalesce_leaf_meet(coalesce_leaf *met, const coalesce_leaf *other)
{
    const uint32_t pitch[2]  = { pitch_of(met), pitch_of(other) };
    int            irregular = (met->kind == COALESCE_IRREGULAR) ||
                               (other->kind == COALESCE_IRREGULAR);

    for (uint32_t d = 0; d < 3; d++) {
        const uint32_t bit     = 1u << d;
        const int      is_kept = (met->step[d] != 0) || ((pitch[0] & bit) != 0);
        const int      is_new  = (other->step[d] != 0) || ((pitch[1] & bit) != 0);

        irregular |= is_kept && is_new && ((met->step[d] != other->step[d]) ||
                                           (((pitch[0] ^ pitch[1]) & bit) != 0));
        met->step[d] = is_new ? other->step[d] : met->step[d];
    }
    met->pitch = pitch[0] | pitch[1];
    if (irregular) {
        met->kind = COALESCE_IRREGULAR;
    } else if (changes(met) || changes(other)) {
        met->kind = (met->pitch != 0) ? COALESCE_PITCH : COALESCE_STEPPED;
    } else {
        met->kind = COALESCE_UNIFORM;
    }
    met->grid_uniform = 0;
    return !irregular;
}

int coalesce_leaf_of_either(const coalesce_leaves *leaves, const coalesce_form *a,
                            const coalesce_form *b, coalesce_leaf *leaf_p)
{
    const coalesce_leaf of_b = coalesce_leaf_of(leaves, b);

    *leaf_p = coalesce_leaf_of(leaves, a);
    return coalesce_leaf_meet(leaf_p, &of_b);
}

coalesce_leaf coalesce_leaf_of_sum(const coalesce_leaves *leaves, const coalesce_form *a,
                                   const coalesce_form *b, int64_t scale_of_b)
{
    coalesce_leaf       sum  = coalesce_leaf_of(leaves, a);
    const coalesce_leaf more = coalesce_leaf_of(leaves, b);

    sum.pitch = pitch_of(&sum) | pitch_of(&more);
    sum.kind  = (more.kind > sum.kind) ? more.kind : sum.kind;
    sum.grid_uniform &= more.grid_uniform;
    for (int d = 0; d < 3; d++) {
        sum.step[d] = wrapping_add(sum.step[d], wrapping_multiply(more.step[d], scale_of_b));
    }
    return sum;
}

coalesce_leaf coalesce_leaf_of_product(const coalesce_leaves *leaves, const coalesce_form *a,
                                       const coalesce_form *b)
{
    const coalesce_leaf of_a    = coalesce_leaf_of(leaves, a);
    const coalesce_leaf of_b    = coalesce_leaf_of(leaves, b);
    coalesce_leaf       product = { .kind = COALESCE_UNIFORM };
    const coalesce_leaf *moving = changes(&of_a) ? &of_a : &of_b;

    if ((of_a.kind == COALESCE_IRREGULAR) || (of_b.kind == COALESCE_IRREGULAR) ||
        (changes(&of_a) && changes(&of_b))) {
        product.kind = COALESCE_IRREGULAR;
    } else if (changes(moving)) {
        product.kind  = COALESCE_PITCH;
        product.pitch = pitch_of(moving);
        for (uint32_t d = 0; d < 3; d++) {
            product.pitch |= (moving->step[d] != 0) ? 1u << d : 0;
        }
    }
    product.grid_uniform = of_a.grid_uniform && of_b.grid_uniform;
    return product;
}

/* ---- sectors ---- */

static int is_laid_out(const coalesce_lanes *lanes)
{
    return lanes->pattern <= COALESCE_PITCHED;
}

static int compare_offsets(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a;
    const int64_t y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

uint32_t coalesce_sectors(const coalesce_lanes *lanes, uint32_t bytes)
{
    int64_t  offset[COALESCE_LANES];
    uint64_t next  = 0; /* sectors below are counted */
    uint32_t count = 0;

    if (!is_laid_out(lanes)) {
        return COALESCE_LANES * ((bytes + COALESCE_SECTOR - 1) / COALESCE_SECTOR);
    }
    memcpy(offset, lanes->offset, sizeof(offset));
    qsort(offset, COALESCE_LANES, sizeof(offset[0]), compare_offsets);
    for (uint32_t l = 0; l < COALESCE_LANES; l++) {
        const uint64_t from  = (uint64_t)offset[l] - (uint64_t)offset[0]; /* the lowest is 0 */
        const uint64_t last  = (from + bytes - 1) / COALESCE_SECTOR;
        uint64_t       first = from / COALESCE_SECTOR;

        first = (first < next) ? next : first;
        if (last >= first) {
            count += (uint32_t)(last - first + 1);
            next = last + 1;
        }
    }
    return count;
}

uint32_t coalesce_sectors_ideal(const coalesce_lanes *lanes, uint32_t bytes)
{
    int64_t  offset[COALESCE_LANES];
    int64_t  end   = INT64_MIN; /* bytes below are counted */
    uint64_t total = 0;

    if (!is_laid_out(lanes)) {
        total = (uint64_t)COALESCE_LANES * bytes;
    } else {
        memcpy(offset, lanes->offset, sizeof(offset));
        qsort(offset, COALESCE_LANES, sizeof(offset[0]), compare_offsets);
        for (uint32_t l = 0; l < COALESCE_LANES; l++) {
            int64_t from = (offset[l] > end) ? offset[l] : end;
            int64_t to   = wrapping_add(offset[l], bytes);

            if (to > from) {
                total += (uint64_t)(to - from);
                end = to;
            }
        }
    }
    return (uint32_t)((total + COALESCE_SECTOR - 1) / COALESCE_SECTOR);
}

/* ---- banks ---- */

/* Passes of lanes first..first+count-1, `words` of 4 bytes each: distinct words of a bank. */
static uint32_t passes_of(const coalesce_lanes *lanes, uint32_t first, uint32_t count,
                          uint32_t words)
{
    int64_t  seen[BANKS][COALESCE_LANES];
    uint32_t used[BANKS] = { 0 };
    uint32_t most        = 1;

    for (uint32_t l = first; l < first + count; l++) {
        for (uint32_t w = 0; w < words; w++) {
            int64_t  at   = lanes->offset[l] / 4 - ((lanes->offset[l] % 4) < 0) + w;
            uint32_t bank = (uint32_t)((uint64_t)at % BANKS);
            uint32_t i    = 0;

            while ((i < used[bank]) && (seen[bank][i] != at)) {
                i++;
            }
            if (i == used[bank]) {
                seen[bank][used[bank]++] = at;
            }
            most = (used[bank] > most) ? used[bank] : most;
        }
    }
    return most;
}

uint32_t coalesce_bank_passes(const coalesce_lanes *lanes, uint32_t bytes, uint32_t *ideal_p)
{
    const uint32_t words  = (bytes + 3) / 4;
    const uint32_t group  = (words == 0) ? COALESCE_LANES : COALESCE_LANES / words;
    uint32_t       passes = 0;

    *ideal_p = (words == 0) ? 1 : words;
    if ((lanes->pattern > COALESCE_BLOCKED) || (bytes > 16) || (group * words != COALESCE_LANES)) {
        return *ideal_p; /* nothing is known: no finding */
    }
    for (uint32_t first = 0; first < COALESCE_LANES; first += group) {
        passes += passes_of(lanes, first, group, words);
    }
    return passes;
}
