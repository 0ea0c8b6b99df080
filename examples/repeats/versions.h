/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernels that process documents.  They differ in where a document's memory comes from:
 *
 *   grams_in_pool    a pool that all warps of the block share; each document gets as much as it
 *                    needs, and as many warps as that deserves
 *   grams_by<Group>  static arrays, one for each warp or block; all documents of a launch need
 *                    about the same
 */
#ifndef SHPOOL_EXAMPLES_REPEATS_VERSIONS_H
#define SHPOOL_EXAMPLES_REPEATS_VERSIONS_H

#include "grams.h"

/* Entries of collection.order that one kind of group processes, those of long documents first. */
struct part {
    uint32_t from, to;
    uint32_t counter; /* index in collection.next */
    uint32_t bytes;   /* for each document: of a static array, or at least */
};

/* ---- the pool ---- */

/* Long documents come first, and are processed by teams of 1/2, 1/4, 1/8 of the block's warps, then
 * by single warps.  Thus a team grows with the memory that it holds. */
#define STAGES  4u
#define SINGLES (STAGES - 1u)

#define KEPT 4u /* a warp keeps memory of up to this many times the bytes that it needs */

enum team_word { ARRIVED, TURN, MEMORY, TEAM_WORDS };

#define BOARD_BYTES (4u * TEAM_WORDS * ((2u << SINGLES) + 32u)) /* a multiple of 16 */

/* A team of a stage: some of the block's warps, with words of their own, and with a barrier if
 * there are several.  All teams run the same code: a copy for single warps would double it. */
struct team {
    simt_addr board;
    uint32_t  first; /* warp */
    uint32_t  count; /* of warps */
    uint32_t  number;

    MACHINE_METHOD team(simt_addr boards, uint32_t stage)
    {
        const uint32_t all   = simt_block_threads() / SIMT_WARP;
        const uint32_t each  = (stage < SINGLES) ? all >> (stage + 1u) : 1u;
        const uint32_t teams = (stage < SINGLES) ? 2u << stage : all;
        const uint32_t i     = (simt_warp() / each < teams) ? simt_warp() / each : teams - 1u;

        first  = i * each;
        count  = (i + 1u < teams) ? each : all - first; /* the last team gets the rest */
        number = (2u << stage) - 1u + i;
        board  = boards + 4u * TEAM_WORDS * number;
    }
    MACHINE_METHOD uint32_t warps() const { return count; }
    MACHINE_METHOD uint32_t warp() const { return simt_warp() - first; }
    MACHINE_METHOD uint32_t size() const { return count * SIMT_WARP; }
    MACHINE_METHOD uint32_t rank() const { return warp() * SIMT_WARP + simt_lane(); }
    MACHINE_METHOD void     sync() const
    {
        if (count == 1u) {
            simt_warp_sync(SIMT_ALL_LANES);
        } else {
            machine_part_barrier(board, number, size());
        }
    }

    /* The first warp's value, for all; a sync(). */
    MACHINE_METHOD uint32_t share(uint32_t value, team_word word) const
    {
        if (rank() == 0) { simt_store32(board + 4u * word, value); }
        sync();
        return simt_load32(board + 4u * word);
    }
};

/* An allocation of a warp, which it keeps for its next documents.
 *
 * A warp that waits for memory holds none, and a team that holds some is complete and finishes its
 * documents.  So no warp waits for ever. */
struct kept_memory {
    shpool_heap heap;
    void       *memory;
    uint32_t    bytes;

    /* At least `want` bytes; 0 if all 2^32 attempts to get them have failed. */
    MACHINE_METHOD simt_addr fit(uint32_t want)
    {
        if ((want > bytes) || (want < bytes / KEPT)) {
            release();
            memory = shpool_malloc_wait_warp(heap, want, ~0u);
            bytes  = (memory != nullptr) ? want : 0u;
        }
        return (memory != nullptr) ? simt_to_shared(memory) : 0u;
    }
    MACHINE_METHOD void release()
    {
        shpool_free_warp(heap, memory);
        memory = nullptr;
        bytes  = 0;
    }
};

struct grams_in_pool {
    collection c;
    part       stages[STAGES];

    MACHINE_METHOD void operator()(const shpool_pool &pool) const
    {
        const simt_addr boards = simt_dynamic_base();
        shpool_heap     heap   = shpool_init(&pool, simt_from_shared(boards + BOARD_BYTES));
        kept_memory     kept   = { heap, nullptr, 0 };

        for (uint32_t i = simt_thread_rank(); i < BOARD_BYTES / 4u; i += simt_block_threads()) {
            simt_store32(boards + 4u * i, 0);
        }
        simt_barrier();
        SIMT_ROLLED
        for (uint32_t stage = 0; stage < STAGES; stage++) {
            if (stages[stage].from < stages[stage].to) {
                do_stage(kept, stages[stage], team(boards, stage));
            }
        }
        shpool_fini(heap);
    }

    /* The team's first warp takes documents, and requests memory for them. */
    MACHINE_METHOD void do_stage(kept_memory &kept, const part &all, const team &group) const
    {
        uint32_t *const next  = &c.next[all.counter];
        const bool      leads = group.warp() == 0;
        uint32_t        at;

        /* share() is a sync(): the document before is done */
        while ((at = all.from + group.share(leads ? whole_warp{}.take(next) : 0u, TURN)) < all.to) {
            const listed    d    = c.order[at];
            const uint32_t  need = document_bytes(d.words);
            const uint32_t  want = (need > all.bytes) ? need : all.bytes;
            const simt_addr base = group.share(leads ? kept.fit(want) : 0u, MEMORY);

            if (base != 0) { count_repeats(c, d, shared_words{ base }, group); }
        }
        kept.release();
    }
};

/* ---- static arrays, after the word that passes turns ---- */

template <class Group>
struct grams_by {
    collection c;
    part       all;

    MACHINE_METHOD void operator()() const
    {
        const Group        group;
        const simt_addr    word   = simt_dynamic_base();
        const shared_words memory = { word + TURN_BYTES + group.number() * all.bytes };
        uint32_t           at;

        while ((at = all.from + group.take(&c.next[all.counter], word)) < all.to) {
            count_repeats(c, c.order[at], memory, group);
            group.sync();
        }
    }
};

#endif /* SHPOOL_EXAMPLES_REPEATS_VERSIONS_H */
