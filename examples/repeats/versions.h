/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernels that process documents.  They differ in where a document's memory comes from and in
 * which threads work on it:
 *
 *   grams_in_pool                a pool that all warps of the block share; each document gets as
 *                                much as it needs, and as many warps as that deserves
 *   grams_by_warps<in_shared>    a static array for each warp
 *   grams_by_blocks<in_shared>   a static array for each block, whose warps share a document
 *   grams_by_blocks<in_global>   the same in global memory, for documents that are too long
 */
#ifndef SHPOOL_EXAMPLES_REPEATS_VERSIONS_H
#define SHPOOL_EXAMPLES_REPEATS_VERSIONS_H

#include "grams.h"

/* Entries of collection.order that one kind of group processes, those of long documents first. */
struct part {
    uint32_t from, to;
    uint32_t counter; /* index in totals.next_in */
};

/* Take the next document of a part; false: there are none left. */
template <class Take>
SIMT_FN bool next_document(const collection &c, const part &all, listed *d, Take take)
{
    const uint32_t at = all.from + take(&c.sum->next_in[all.counter]);

    if (at < all.to) {
        *d = c.order[at];
    }
    return at < all.to;
}

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
        if (rank() == 0) {
            simt_store32(board + 4u * word, value);
        }
        sync();
        return simt_load32(board + 4u * word);
    }
};

/* A stage's documents.  If the pool has enough memory for all teams, `least` bytes are enough for
 * each of these documents, so that a team allocates once.  Otherwise `least` is 0. */
struct stage_part {
    part     all;
    uint32_t least;

    MACHINE_METHOD uint32_t bytes_for(const listed &d) const
    {
        const uint32_t bytes = document_bytes(d.words);

        return (bytes > least) ? bytes : least;
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

    /* Have at least `want` bytes; false if all 2^32 attempts to get them have failed. */
    MACHINE_METHOD bool fit(uint32_t want)
    {
        if ((want > bytes) || (want < bytes / KEPT)) {
            release();
            memory = shpool_malloc_wait_warp(heap, want, ~0u);
            bytes  = (memory != nullptr) ? want : 0u;
        }
        return memory != nullptr;
    }
    MACHINE_METHOD void release()
    {
        shpool_free_warp(heap, memory);
        memory = nullptr;
        bytes  = 0;
    }
    MACHINE_METHOD shared_words words() const { return { simt_to_shared(memory) }; }
};

struct grams_in_pool {
    collection c;
    stage_part stages[STAGES];

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
            if (stages[stage].all.from < stages[stage].all.to) {
                do_stage(kept, stages[stage], team(boards, stage));
            }
        }
        shpool_fini(heap);
    }

    /* The team's first warp takes documents, and requests memory for them. */
    MACHINE_METHOD void do_stage(kept_memory &kept, const stage_part &own, const team &group) const
    {
        const auto take = [&](uint32_t *next) {
            const uint32_t turn = (group.warp() == 0) ? whole_warp{}.take(next) : 0u;

            return group.share(turn, TURN);
        };
        listed d = {};

        while (next_document(c, own.all, &d, take)) { /* a sync(): the document before is done */
            const bool      has  = (group.warp() == 0) && kept.fit(own.bytes_for(d));
            const simt_addr base = group.share(has ? kept.words().base : 0u, MEMORY);

            if (base != 0) {
                count_repeats(c, d, shared_words{ base }, group);
            } else if (group.rank() == 0) {
                (void)simt_global_add32(&c.sum->unserved, 1);
            }
        }
        kept.release();
    }
};

/* ---- static arrays, and global memory ---- */

/* The `each` bytes of the i-th of a block's `groups` groups. */
struct in_shared { /* after the turn */
    MACHINE_METHOD shared_words at(uint32_t each, uint32_t i, uint32_t) const
    {
        return { simt_dynamic_base() + TURN_BYTES + i * each };
    }
};
struct in_global {
    uint32_t *memory;

    MACHINE_METHOD global_words at(uint32_t each, uint32_t i, uint32_t groups) const
    {
        const size_t rank = static_cast<size_t>(simt_block_rank()) * groups + i;

        return { memory + rank * (each / 4u) };
    }
};

template <class Place>
struct grams_by_warps {
    collection c;
    Place      place;
    part       all;
    uint32_t   each; /* bytes */

    MACHINE_METHOD void operator()() const
    {
        const whole_warp warp;
        const auto       memory = place.at(each, simt_warp(), simt_block_threads() / SIMT_WARP);

        listed           d      = {};

        while (next_document(c, all, &d, [&](uint32_t *next) { return warp.take(next); })) {
            count_repeats(c, d, memory, warp);
            warp.sync();
        }
    }
};

template <class Place>
struct grams_by_blocks {
    collection c;
    Place      place;
    part       all;
    uint32_t   each;

    MACHINE_METHOD void operator()() const
    {
        const whole_block block;
        const simt_addr   word   = simt_dynamic_base();
        const auto        memory = place.at(each, 0, 1);

        listed            d      = {};

        while (next_document(c, all, &d, [&](uint32_t *next) { return block.take(next, word); })) {
            count_repeats(c, d, memory, block);
        }
    }
};

#endif /* SHPOOL_EXAMPLES_REPEATS_VERSIONS_H */
