/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench advise: the time of a recorded kernel with other pools (model.h). */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bench/column.h"
#include "model.h"

/* What calls cost, in cycles, by the function table.  Measured on an H200 on 2026-11-29: pairs of
 * calls by 1 to 256 lanes, and the kernels of doc/PLANNING.md, "Advise". */
typedef struct model_costs {
    const char *name;
    double call;   /* of one by a lane or a group, besides its accesses */
    double access; /* to shared memory */
    double lanes;  /* more if several lanes of a warp call: the warp splits, also afterwards */
    double crowd;  /* more for a malloc of several lanes in a crowded pool, for each pair of its
                      granules: each granule takes longer, and the longer the run is, the more
                      often another lane takes a part of it */
    double free_to; /* the part of the pool up to which there is no crowd, and that from which on */
    double crowded; /* there is all of it */
} model_costs;

static const model_costs known_costs[] = {
    { "arena", 110, 60, 0, 0, 0, 1 },
    { "bitmap", 0, 290, 11000, 530, 0.40, 0.45 },
    { "planes", 300, 160, 9000, 1500, 0.50, 1 },
    { "rbtree", 400, 40, 0, 0, 0, 1 },
    { "thread_best_fit", 150, 60, 0, 0, 0, 1 },
    { "thread_bitmap", 290, 60, 0, 0, 0, 1 },
    { "thread_first_fit", 140, 60, 0, 0, 0, 1 },
    { NULL, 400, 60, 0, 0, 0, 1 } /* others */
};
static const struct {
    double serial;   /* of a call: under the lock of a pool */
    double handover; /* cycles from one warp's lock to the next one's */
    double full;     /* of a pool, when requests begin to wait */
} pool_costs = { 0.5, 800, 0.9 };

#define GRANULE     16u /* bytes */
#define THREAD(_op) ((_op)->what >> 16)
#define KIND(_op)   ((_op)->what & 0xffu)

static const model_costs *costs_of(const char *allocator)
{
    const model_costs *costs = known_costs;

    while ((costs->name != NULL) && (strcmp(costs->name, allocator) != 0)) {
        costs++;
    }
    return costs;
}

/* ---- steps ---- */

/* Half of the median time from a thread's free to its next malloc: a kernel does little without its
 * memory, so that time is mostly that of the two calls, which recording makes longer. */
static double traced_cycles(const trace_file *trace)
{
    double *gaps = malloc((size_t)SHPOOL_MAX_THREADS * 64 * sizeof(*gaps));
    size_t count = 0;
    double found = 0;

    for (uint32_t l = 0; (gaps != NULL) && (l < trace->count); l++) {
        const trace_life *life = &trace->lives[l];
        unsigned long long freed[SHPOOL_MAX_THREADS]; /* when, plus 1 */

        memset(freed, 0, sizeof(freed));
        for (uint32_t i = 0; i < life->count; i++) {
            const trace_op *op = &life->ops[i];
            unsigned long long *at = &freed[op->thread];

            if ((op->kind == TRACE_MALLOC) && (*at != 0) && (op->cycles + 1 >= *at) &&
                (count < (size_t)SHPOOL_MAX_THREADS * 64)) {
                gaps[count++] = (double)(op->cycles + 1 - *at);
            }
            *at = (op->kind == TRACE_FREE) ? op->cycles + 1 : 0;
        }
    }
    if (count != 0) {
        bench_sort(gaps, count);
        found = gaps[count / 2] / 2;
    }
    free(gaps);
    return found;
}

/* The latest call of a warp, while its steps are made. */
typedef struct latest {
    unsigned long long cycles;
    uint32_t kind;
    uint32_t lanes; /* of the step */
    model_step *step;
} latest;

/* Whether a call belongs to the step before it: other lanes, the same kind. */
static int joins(const latest *l, const replay_op *op)
{
    return (l->step != NULL) && (l->kind == KIND(op)) && ((l->lanes & op->lanes) == 0);
}

static void add_call(model *m, latest *l, const replay_op *op, uint32_t index,
                     unsigned long long cycles, model_step **next, uint32_t *listed)
{
    const double gap = (cycles > l->cycles) ? (double)(cycles - l->cycles) : 0;
    const double calls = (l->kind == (uint32_t)REPLAY_FREE) + (KIND(op) != (uint32_t)REPLAY_FREE);

    if (joins(l, op)) {
        l->step->count++;
        l->lanes |= op->lanes;
    } else {
        const double rest = gap - calls * m->traced;

        l->step = (*next)++;
        *l->step = (model_step){ .warp = THREAD(op) / TRACE_WARP, .first = *listed, .count = 1,
                                 .gap = m->timed ? ((rest > 0) ? rest : 0) : MODEL_BLIND_CYCLES };
        l->lanes = op->lanes;
    }
    m->list[(*listed)++] = index;
    l->cycles = cycles;
    l->kind = KIND(op);
}

/* The steps of one warp of a block. */
static void add_warp(model *m, const trace_life *life, const replay_block *block, uint32_t warp,
                     model_step **next, uint32_t *listed)
{
    uint32_t index = block->begin;
    latest l = { .cycles = 0 };

    for (uint32_t i = 0; i < life->count; i++) {
        const replay_op *op = &m->script->ops[index];

        if (life->ops[i].kind == TRACE_SKIP) {
            continue;
        }
        if (THREAD(op) / TRACE_WARP == warp) {
            add_call(m, &l, op, index, life->ops[i].cycles, next, listed);
        }
        index++;
    }
}

int model_make(const trace_file *trace, const replay_script *script, model *m)
{
    const uint32_t warps = (trace->block_threads + TRACE_WARP - 1) / TRACE_WARP;
    model_step *next;
    uint32_t listed = 0;

    *m = (model){ .script = script, .warps = warps, .traced = traced_cycles(trace) };
    m->steps = calloc(script->count + 1u, sizeof(*m->steps));
    m->list = calloc(script->count + 1u, sizeof(*m->list));
    m->begin = calloc((size_t)trace->count * warps + 1, sizeof(*m->begin));
    if ((m->steps == NULL) || (m->list == NULL) || (m->begin == NULL)) {
        model_free(m);
        return -1;
    }
    next = m->steps;
    for (uint32_t b = 0; b < trace->count; b++) {
        m->timed |= trace->lives[b].timed;
        m->waits |= trace->lives[b].waiting != 0;
        for (uint32_t w = 0; w < warps; w++) {
            m->begin[b * warps + w] = (uint32_t)(next - m->steps);
            add_warp(m, &trace->lives[b], &script->block[b], w, &next, &listed);
        }
    }
    m->begin[trace->count * warps] = (uint32_t)(next - m->steps);
    return 0;
}

void model_free(model *m)
{
    free(m->steps);
    free(m->list);
    free(m->begin);
    memset(m, 0, sizeof(*m));
}

/* ---- a block, event by event ---- */

typedef struct warp_state {
    double   now;
    uint32_t step; /* the next one */
    uint32_t done; /* of its calls */
    int      stopped; /* 1: until memory is freed; 2: some was freed, it tries again */
    double   busy;
    double   calls;
} warp_state;

typedef struct simulation {
    const model *m;
    const shpool_pool *pool;
    int waits;
    const model_costs *costs;
    double crowd;      /* cycles for each pair of granules of a malloc by several lanes */
    const replay_block *block;
    warp_state *warp;
    uint32_t   *size;   /* of each operation of the block: its bytes now; ~0u: freed before */
    uint32_t   *used;   /* of each pool */
    double     *locked; /* of each pool, cycles */
    uint32_t    starved;
} simulation;

static uint32_t pool_of(const simulation *s, const replay_op *op)
{
    return THREAD(op) / s->pool->threads_per_pool;
}

static double call_cost(const simulation *s, uint32_t index)
{
    return s->costs->call + s->costs->access * s->m->script->spent[index];
}

/* Cycles of a step's calls.  Lanes of a warp take locks one after another, also of several pools;
 * otherwise they call at the same time. */
static double step_cost(simulation *s, const model_step *step)
{
    const int serial = s->pool->scope == SHPOOL_SCOPE_GROUP;
    double pairs = 0; /* of granules */
    double most = 0;
    double sum = 0;

    for (uint32_t i = 0; i < step->count; i++) {
        const uint32_t index = s->m->list[step->first + i];
        const replay_op *op = &s->m->script->ops[index];
        const double granules = (KIND(op) != (uint32_t)REPLAY_FREE)
                                    ? (op->bytes + GRANULE - 1) / GRANULE : 0;
        const double one = call_cost(s, index);

        sum += one;
        most = (one > most) ? one : most;
        pairs += granules * granules / step->count;
        s->locked[pool_of(s, op)] += serial ? pool_costs.handover + pool_costs.serial * one : 0;
    }
    if (step->count == 1) {
        return most;
    }
    return serial ? sum + pool_costs.handover * step->count
                  : most + s->costs->lanes + s->crowd * pairs;
}

/* One call's memory; 0: it does not fit now. */
static int claim(simulation *s, uint32_t index, int force)
{
    const replay_op *op = &s->m->script->ops[index];
    uint32_t *mine = &s->size[index - s->block->begin];
    uint32_t *used = &s->used[pool_of(s, op)];
    const double room = pool_costs.full * s->pool->largest;

    if (KIND(op) == (uint32_t)REPLAY_MALLOC) {
        if (s->waits && !force && (*used != 0) && ((double)*used + op->bytes > room)) {
            return 0;
        }
        if (*mine != ~0u) {
            *mine = op->bytes;
            *used += op->bytes;
        }
    } else if ((KIND(op) == (uint32_t)REPLAY_FREE) && (op->from != REPLAY_NONE)) {
        uint32_t *its = &s->size[op->from];

        used = &s->used[pool_of(s, &s->m->script->ops[s->block->begin + op->from])];
        *used -= (*its != ~0u) ? *its : 0;
        *its = (*its != 0) ? 0 : ~0u; /* its malloc still waits, and will be free at once */
    } else if (KIND(op) == (uint32_t)REPLAY_RESIZE) {
        *mine = s->size[op->from]; /* growth is left out */
        s->size[op->from] = 0;
    }
    return 1;
}

/* A warp's next step, or what is left of it. */
static void advance(simulation *s, warp_state *w, int force)
{
    const model_step *step = &s->m->steps[w->step];

    if ((w->done == 0) && !w->stopped) {
        const double cost = step_cost(s, step);

        w->now += step->gap + cost;
        w->busy += step->gap + cost;
        w->calls += cost;
    }
    w->stopped = 0;
    while (w->done < step->count) {
        const uint32_t index = s->m->list[step->first + w->done];

        if (!claim(s, index, force)) {
            w->stopped = 1;
            return;
        }
        force = 0;
        w->done++;
        if (KIND(&s->m->script->ops[index]) == (uint32_t)REPLAY_FREE) {
            for (uint32_t i = 0; i < s->m->warps; i++) { /* those that wait try again from now on */
                warp_state *other = &s->warp[i];

                if (other->stopped == 1) {
                    other->stopped = 2;
                    other->now = (other->now > w->now) ? other->now : w->now;
                }
            }
        }
    }
    w->done = 0;
    w->step++;
}

/* The warp that is next; NULL: none can go on. */
static warp_state *first_of(simulation *s, const uint32_t *begin, int stopped)
{
    warp_state *first = NULL;

    for (uint32_t i = 0; i < s->m->warps; i++) {
        warp_state *w = &s->warp[i];

        if ((w->step < begin[i + 1]) && ((w->stopped == 1) == stopped) &&
            ((first == NULL) || (w->now < first->now))) {
            first = w;
        }
    }
    return first;
}

static void run_block(simulation *s, uint32_t b, model_time *t)
{
    const uint32_t *begin = &s->m->begin[b * s->m->warps];
    uint32_t active = 0;
    double whole = 0;
    double locked = 0;
    double busy = 0;
    double calls = 0;

    s->block = &s->m->script->block[b];
    memset(s->size, 0, (s->block->count + 1u) * sizeof(*s->size));
    memset(s->used, 0, SHPOOL_MAX_THREADS * sizeof(*s->used));
    memset(s->locked, 0, SHPOOL_MAX_THREADS * sizeof(*s->locked));
    for (uint32_t i = 0; i < s->m->warps; i++) {
        s->warp[i] = (warp_state){ .step = begin[i] };
    }
    for (;;) {
        warp_state *w = first_of(s, begin, 0);
        const int force = w == NULL;

        w = force ? first_of(s, begin, 1) : w;
        if (w == NULL) {
            break;
        }
        s->starved += (uint32_t)force;
        advance(s, w, force);
    }
    for (uint32_t i = 0; i < s->m->warps; i++) {
        active += begin[i] < begin[i + 1];
        whole += s->warp[i].now;
        busy += s->warp[i].busy;
        calls += s->warp[i].calls;
    }
    for (uint32_t i = 0; i < s->pool->pools; i++) {
        locked = (s->locked[i] > locked) ? s->locked[i] : locked;
    }
    if (active != 0) {
        whole /= active;
        t->whole += hypot(whole, locked); /* at most the larger one if there were no queue */
        t->busy += busy / active;
        t->calls += calls / active;
    }
}

int model_estimate(const model *m, const shpool_pool *pool, int waits, model_time *time_p)
{
    simulation s = { .m = m, .pool = pool, .waits = waits, .costs = costs_of(pool->name) };
    const double full = (double)m->script->peak_bytes / pool->largest;
    int status = -1;

    s.crowd = s.costs->crowd *
              pow(fmin(fmax((full - s.costs->free_to) / (s.costs->crowded - s.costs->free_to), 0),
                       1), 2);
    memset(time_p, 0, sizeof(*time_p));
    s.warp = calloc(m->warps, sizeof(*s.warp));
    s.size = calloc(m->script->count + 1u, sizeof(*s.size));
    s.used = calloc(SHPOOL_MAX_THREADS, sizeof(*s.used));
    s.locked = calloc(SHPOOL_MAX_THREADS, sizeof(*s.locked));
    if ((s.warp != NULL) && (s.size != NULL) && (s.used != NULL) && (s.locked != NULL)) {
        for (uint32_t b = 0; b < m->script->blocks; b++) {
            run_block(&s, b, time_p);
        }
        time_p->starved = (double)s.starved / (m->script->count + 1.0);
        status = 0;
    }
    free(s.warp);
    free(s.size);
    free(s.used);
    free(s.locked);
    return status;
}
