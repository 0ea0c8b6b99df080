/* SPDX-License-Identifier: BSD-3-Clause */
/* Scheduling: lanes of a warp, warps of a block, and its barrier. */
#include "ptx_warps.h"

/* The lane whose turn it is: with a seed now and then any, and then for a while. */
static uint32_t choose_lane(machine *m, warp *w, uint32_t ready, uint64_t rarely)
{
    uint32_t lane = 32;

    if ((m->random != 0) && (machine_random(m) % rarely == 0)) {
        w->favourite = (uint32_t)(machine_random(m) % 32);
        w->favoured  = (uint32_t)(machine_random(m) % 64);
    }
    if (w->favoured > 0) {
        w->favoured--;
        if ((ready >> w->favourite) & 1) {
            return w->favourite;
        }
    }
    for (uint32_t i = 0; i < 32; i++) { /* the lane with the lowest pc: lanes meet where
                                           branches join */
        if (((ready >> i) & 1) && ((lane == 32) || (w->pc[i] < w->pc[lane]))) {
            lane = i;
        }
    }
    return lane;
}

/* The lanes to go on with, all at *pc_p; 0: none can. */
static uint32_t choose(machine *m, warp *w, uint32_t *pc_p)
{
    /* some seeds split warps so rarely that they are converged when rewritten code tests it */
    const uint64_t rarely = 8u << (2 * (m->launch->seed / 16 % 4));
    const uint32_t ready  = w->live & ~w->at_bar & ~w->waiting;
    uint32_t       lanes  = 0;

    if (ready == 0) {
        return 0;
    }
    *pc_p = w->pc[choose_lane(m, w, ready, rarely)];
    for (uint32_t lane = 0; lane < 32; lane++) {
        lanes |= (((ready >> lane) & 1) && (w->pc[lane] == *pc_p)) ? 1u << lane : 0;
    }
    if ((m->random != 0) && (machine_random(m) % rarely == 0)) { /* a part of them */
        const uint32_t part = lanes & (uint32_t)(machine_random(m) ^ machine_random(m) << 16);

        if (part != 0) {
            lanes = part;
            w->favoured = (uint32_t)(machine_random(m) % 64);
            for (w->favourite = 0; ((part >> w->favourite) & 1) == 0;) {
                w->favourite++;
            }
        }
    }
    return lanes;
}

/* All live threads of the block are at the barrier: let them go. */
static int release_barrier(machine *m)
{
    uint32_t at_bar = 0;

    for (uint32_t i = 0; i < m->warp_count; i++) {
        if (m->warps[i].at_bar != m->warps[i].live) {
            return 0;
        }
        at_bar |= m->warps[i].at_bar;
    }
    for (uint32_t i = 0; i < m->warp_count; i++) {
        warp *w = &m->warps[i];

        for (uint32_t lane = 0; lane < 32; lane++) {
            w->pc[lane] += (w->at_bar >> lane) & 1;
        }
        w->at_bar = 0;
    }
    return at_bar != 0;
}

void machine_run_block(machine *m)
{
    const uint64_t most = (m->launch->most_steps != 0) ? m->launch->most_steps : 50000000;
    int            went = 1;

    while (m->result.fine && went) {
        went = 0;
        for (uint32_t i = 0; (i < m->warp_count) && m->result.fine; i++) {
            uint32_t turns = (m->random != 0) ? 1 + (uint32_t)(machine_random(m) % 64) : UINT32_MAX;
            uint32_t lanes;
            uint32_t pc;

            while ((turns-- > 0) && m->result.fine &&
                   ((lanes = choose(m, &m->warps[i], &pc)) != 0)) {
                machine_step(m, &m->warps[i], pc, lanes);
                went = 1;
                if (m->result.steps > most) {
                    machine_stop(m, "more than %llu steps", (unsigned long long)most);
                }
            }
        }
        went = went || release_barrier(m);
    }
    for (uint32_t i = 0; (i < m->warp_count) && m->result.fine; i++) {
        if (m->warps[i].live != 0) {
            machine_stop(m, "deadlock: lanes %08x of warp %u wait for others", m->warps[i].live, i);
        }
    }
}
