/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures how repetitive each document of a collection is: for runs of n words, with n from 1 to
 * LENGTHS, it counts those that have occurred in the document before.  The proportion of repeated
 * runs is used to filter boilerplate and generated text out of a corpus (Rae et al., Scaling
 * Language Models, 2021).
 *
 * find_words() stores the hash of each word, in order.  Then a warp or a block takes one document
 * after another, computes the hashes of its runs, and groups equal runs with a hash table, which
 * is built again for each n.  The memory for that differs from document to document by a factor of
 * thousands.  The versions differ in where the memory comes from and in which threads work on a
 * document:
 *
 *   grams_in_pool                a pool that all warps of the block share; each warp allocates as
 *                                much as its document needs
 *   grams_by_warps<in_shared>    a static array for each warp, as long as the longest document
 *   grams_by_blocks<in_shared>   a static array for each block; its warps share a document
 *   grams_by_warps<in_global>, grams_by_blocks<in_global>   the same arrays in global memory
 *   grams_of_large               global memory, for longer documents; by blocks, in all versions
 *
 * Two words are considered equal if their 32-bit hashes are. */
#ifndef SHPOOL_EXAMPLES_REPEATS_GRAMS_H
#define SHPOOL_EXAMPLES_REPEATS_GRAMS_H

#include "../group.h"

#define LENGTHS 8u  /* of runs, in words */
#define AHEAD   8u  /* bytes that a lane reads at once; reading them one by one waits each time */
#define VACANT  ~0u /* an empty entry, in place of a run's number */

/* Counters of the kernels, which the host reads. */
struct totals {
    uint32_t           next;     /* first document that is not taken yet */
    uint32_t           large;    /* entries of collection.large */
    uint32_t           longest;  /* bytes of the longest among these */
    uint32_t           unserved; /* documents that got no memory; must be 0 */
    unsigned long long words;
};

struct collection {
    const uint8_t  *text;
    const uint32_t *begin; /* document d is text[begin[d]] up to [begin[d + 1] - 1] */
    uint32_t        documents;
    uint32_t        most;    /* bytes for the longest document that is not large */
    uint32_t       *hash;    /* of words; a document's start at first_word() */
    uint32_t       *words;   /* number of words of each document */
    uint32_t       *large;   /* documents that need more than most */
    uint32_t       *repeats; /* LENGTHS for each document */
    totals         *sum;
};

/* ---- words: letters, digits and bytes from 128 on; capitals count as small letters ---- */

/* The character in lower case; 0: it separates words. */
SIMT_HD uint32_t fold(uint32_t c)
{
    const uint32_t small = c | 0x20u;

    return ((small >= 'a') && (small <= 'z')) ? small
           : ((c >= '0') && (c <= '9')) || (c >= 128u) ? c
                                                       : 0u;
}

/* FNV-1a (Fowler, Noll and Vo) of the word at text[at]. */
SIMT_HD uint32_t hash_word(const uint8_t *text, uint32_t at, uint32_t end)
{
    uint32_t hash = 2166136261u;
    uint32_t c;

    while ((at < end) && ((c = fold(text[at])) != 0)) {
        hash = (hash ^ c) * 16777619u;
        at++;
    }
    return hash;
}

/* The hash of a run that is one word longer than these two, which overlap except for their ends. */
SIMT_FN uint32_t join(uint32_t run, uint32_t next)
{
    const uint32_t sum = (run << 7 | run >> 25) * 2654435761u + next;

    return sum ^ sum >> 15;
}

/* Index of a document's first hash: a word has at least two bytes, with the separator after it. */
SIMT_FN uint32_t first_word(const collection &c, uint32_t document)
{
    return c.begin[document] / 2u + document;
}

/* The hashes of the runs, then a hash table of their numbers with 1.5 times as many entries. */
SIMT_HD uint32_t table_entries(uint32_t words) { return words + words / 2u + 1u; }
SIMT_HD uint32_t document_bytes(uint32_t words) { return 4u * (words + table_entries(words)); }

/* A warp for each document: all lanes find where words begin, then compute their hashes. */
struct find_words {
    collection c;

    MACHINE_METHOD void operator()() const
    {
        const whole_warp warp;

        for (uint32_t d = warp.take(&c.sum->next); d < c.documents; d = warp.take(&c.sum->next)) {
            const uint32_t count = mark_words(d);
            uint32_t      *hash  = c.hash + first_word(c, d);

            simt_warp_sync(SIMT_ALL_LANES); /* all marks are written */
            for (uint32_t i = simt_lane(); i < count; i += SIMT_WARP) {
                hash[i] = hash_word(c.text, hash[i], c.begin[d + 1u]);
            }
            if (simt_lane() == 0) {
                note(d, count);
            }
        }
    }

    MACHINE_METHOD uint32_t mark_words(uint32_t d) const
    {
        const uint32_t end   = c.begin[d + 1u];
        uint32_t      *mark  = c.hash + first_word(c, d);
        uint32_t       count = 0;
        uint32_t       carry = 0; /* the last byte of the 32 before was a letter */

        for (uint32_t base = c.begin[d]; base < end; base += AHEAD * SIMT_WARP) {
            const uint32_t at = base + simt_lane();
            uint32_t       letter[AHEAD];

            for (uint32_t k = 0; k < AHEAD; k++) {
                letter[k] = (end - base > k * SIMT_WARP + simt_lane())
                                ? fold(c.text[at + k * SIMT_WARP])
                                : 0u;
            }
            for (uint32_t k = 0; k < AHEAD; k++) {
                const uint32_t letters = simt_ballot(SIMT_ALL_LANES, letter[k] != 0);
                const uint32_t begins  = letters & ~(letters << 1 | carry);

                if ((begins >> simt_lane() & 1u) != 0) {
                    mark[count + simt_popc(begins & simt_mask(0, simt_lane()))] =
                        at + k * SIMT_WARP;
                }
                count += simt_popc(begins);
                carry = letters >> 31;
            }
        }
        return count;
    }

    MACHINE_METHOD void note(uint32_t d, uint32_t count) const
    {
        c.words[d] = count;
        simt_global_add64(&c.sum->words, count);
        if (document_bytes(count) > c.most) {
            c.large[simt_global_add32(&c.sum->large, 1)] = d;
            simt_global_max32(&c.sum->longest, document_bytes(count));
        }
    }
};

/* ---- one document, by a group, in document_bytes() of memory ---- */

SIMT_FN bool same_words(const uint32_t *a, const uint32_t *b, uint32_t count)
{
    uint32_t i = 0;

    while ((i < count) && (a[i] == b[i])) {
        i++;
    }
    return i == count;
}

/* Insert the i-th run, n words from hash[i] on; returns 1 if the table already had an equal one.
 * A generator with a period of 2^32 (Numerical Recipes') gives the probe sequence: linear probing
 * would form longer and longer clusters, and 32 lanes wait for the unluckiest one. */
template <class Words>
SIMT_FN uint32_t seen_before(Words runs, Words table, uint32_t entries, const uint32_t *hash,
                             uint32_t i, uint32_t n)
{
    const uint32_t run  = runs.get(i);
    uint32_t       next = run * 2654435761u;

    for (;;) {
        const uint32_t at   = simt_mulhi(next, entries);
        uint32_t       seen = table.peek(at);

        if (seen == VACANT) {
            seen = table.cas(at, VACANT, i);
            if (seen == VACANT) {
                return 0;
            }
        }
        if ((runs.get(seen) == run) && ((n == 1u) || same_words(hash + i, hash + seen, n))) {
            return 1;
        }
        next = next * 1664525u + 1013904223u;
    }
}

/* Runs of n words become runs of n + 1, in place. */
template <class Words, class Group>
SIMT_FN void lengthen(Words runs, uint32_t count, Group group)
{
    for (uint32_t base = 0; base < count; base += group.size()) {
        const uint32_t i    = base + group.rank();
        const uint32_t run  = (i < count) ? runs.get(i) : 0u;
        const uint32_t next = (i < count) ? runs.get(i + 1u) : 0u;

        group.sync(); /* the thread before has read it, too */
        if (i < count) {
            runs.set(i, join(run, next));
        }
    }
}

template <class Words, class Group>
SIMT_FN void count_repeats(const collection &c, uint32_t d, Words runs, Group group)
{
    const uint32_t  words   = c.words[d];
    const uint32_t  entries = table_entries(words);
    const uint32_t *hash    = c.hash + first_word(c, d);
    const Words     table   = runs.from(words);

    for (uint32_t i = group.rank(); i < words; i += group.size()) {
        runs.set(i, hash[i]);
    }
    for (uint32_t n = 1; (n <= LENGTHS) && (n <= words); n++) {
        uint32_t repeats = 0;

        group.sync(); /* the hashes are written, and no thread uses the table any more */
        if (n > 1u) {
            lengthen(runs, words + 1u - n, group);
        }
        for (uint32_t i = group.rank(); i < entries; i += group.size()) {
            table.set(i, VACANT);
        }
        group.sync();
        for (uint32_t i = group.rank(); i < words + 1u - n; i += group.size()) {
            repeats += seen_before(runs, table, entries, hash, i, n);
        }
        simt_warp_sync(SIMT_ALL_LANES);
        for (uint32_t lane = SIMT_WARP / 2u; lane != 0; lane /= 2u) {
            repeats += simt_shfl_xor(SIMT_ALL_LANES, repeats, lane);
        }
        if ((simt_lane() == 0) && (repeats != 0)) {
            (void)simt_global_add32(c.repeats + d * LENGTHS + n - 1u, repeats);
        }
    }
}

/* ---- the versions ---- */

struct grams_in_pool {
    collection c;

    MACHINE_METHOD void operator()(const shpool_pool &pool) const
    {
        const whole_warp warp;
        shpool_heap      heap = shpool_init(&pool, simt_from_shared(simt_dynamic_base()));

        for (uint32_t d = warp.take(&c.sum->next); d < c.documents; d = warp.take(&c.sum->next)) {
            const uint32_t bytes = document_bytes(c.words[d]);

            if ((bytes <= c.most) &&
                !with_pool_memory(heap, bytes, [&](shared_words memory) {
                    count_repeats(c, d, memory, warp);
                }) && (simt_lane() == 0)) {
                (void)simt_global_add32(&c.sum->unserved, 1);
            }
        }
        shpool_fini(heap);
    }
};

/* The c.most bytes of the i-th of a block's `each` warps, or of the block. */
struct in_shared { /* after the turn */
    MACHINE_METHOD shared_words at(const collection &c, uint32_t i, uint32_t) const
    {
        return { simt_dynamic_base() + TURN_BYTES + i * c.most };
    }
};
struct in_global {
    uint32_t *memory;

    MACHINE_METHOD global_words at(const collection &c, uint32_t i, uint32_t each) const
    {
        const size_t rank = static_cast<size_t>(simt_block_rank()) * each + i;

        return { memory + rank * (c.most / 4u) };
    }
};

template <class Place>
struct grams_by_warps {
    collection c;
    Place      place;

    MACHINE_METHOD void operator()() const
    {
        const whole_warp warp;
        const auto       memory = place.at(c, simt_warp(), simt_block_threads() / SIMT_WARP);

        for (uint32_t d = warp.take(&c.sum->next); d < c.documents; d = warp.take(&c.sum->next)) {
            if (document_bytes(c.words[d]) <= c.most) {
                count_repeats(c, d, memory, warp);
            }
        }
    }
};

template <class Place>
struct grams_by_blocks {
    collection c;
    Place      place;

    MACHINE_METHOD void operator()() const
    {
        const whole_block block;
        const simt_addr   turn   = simt_dynamic_base();
        const auto        memory = place.at(c, 0, 1);

        for (uint32_t d = block.take(&c.sum->next, turn); d < c.documents;
             d          = block.take(&c.sum->next, turn)) {
            if (document_bytes(c.words[d]) <= c.most) {
                count_repeats(c, d, memory, block);
            }
        }
    }
};

struct grams_of_large {
    collection c;
    uint32_t  *memory; /* sum->longest bytes for each block */

    MACHINE_METHOD void operator()() const
    {
        const size_t       longest = c.sum->longest / 4u;
        const global_words mine    = { memory + simt_block_rank() * longest };

        for (uint32_t i = simt_block_rank(); i < c.sum->large; i += simt_grid_blocks()) {
            simt_barrier(); /* all threads have finished the document before */
            count_repeats(c, c.large[i], mine, whole_block{});
        }
    }
};

#endif /* SHPOOL_EXAMPLES_REPEATS_GRAMS_H */
