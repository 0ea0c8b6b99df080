/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures how repetitive each document of a collection is: for runs of n words, with n from 1 to
 * LENGTHS, it counts those that have occurred in the document before.  The proportion of repeated
 * runs is used to filter boilerplate and generated text out of a corpus (Rae et al., Scaling
 * Language Models, 2021).
 *
 * Equal runs are grouped by a hash table, which is built again for each n.  A run of n words can
 * only be repeated if its first and its last n - 1 words are, so after n = 1 most positions drop
 * out.  Equal runs of n words get the same name, and a run of n + 1 words is compared by the two
 * names of the runs that it consists of, in the same time for each n.
 *
 * Two words are considered equal if their 32-bit hashes are.  So the counts are those of runs of
 * hashes, also on the host; a collision counts as a repetition. */
#ifndef SHPOOL_EXAMPLES_REPEATS_GRAMS_H
#define SHPOOL_EXAMPLES_REPEATS_GRAMS_H

#include "../group.h"

#define LENGTHS 8u  /* of runs, in words */
#define VACANT  ~0u /* an empty entry, in place of a run's position */
#define BATCH   4u  /* hashes that a lane reads at once */
#define TILE    (SIMT_WARP * SIMT_WARP) /* words with marks in one word of each lane */

/* Class k has documents that need up to 256 << k bytes. */
#define CLASSES 10u

/* An entry of the list of documents. */
struct alignas(16) listed {
    uint32_t document;
    uint32_t words;
    uint32_t first; /* index of its first word's hash */
};

struct collection {
    const uint32_t *hash;    /* of words */
    const listed   *order;   /* all documents, the last class first */
    uint32_t       *repeats; /* LENGTHS for each document */
    uint32_t       *next;    /* for CLASSES parts of the list: documents that are taken */
};

/* A document's memory: LENGTHS counters, two sets of marks, names, and a hash table with 1.5 times
 * as many entries as keys.  Arrays begin at multiples of four words. */
SIMT_HD uint32_t round_up(uint32_t words) { return (words + 3u) & ~3u; }
SIMT_HD uint32_t mark_words(uint32_t words) { return (words + TILE - 1u) / TILE * SIMT_WARP; }
SIMT_HD uint32_t name_start(uint32_t words) { return LENGTHS + 2u * mark_words(words); }
SIMT_HD uint32_t table_entries(uint32_t keys) { return round_up(keys + keys / 2u + 1u); }
SIMT_HD uint32_t document_bytes(uint32_t words)
{
    return 4u * (name_start(words) + round_up(words) + table_entries(words));
}
SIMT_HD uint32_t class_bytes(uint32_t which) { return 256u << which; }

/* Marks of positions: lane L's word of a tile has a bit for each position L + 32 k of the tile. */
SIMT_FN void set_mark(shared_words marks, uint32_t i)
{
    marks.set_bits(i / TILE * SIMT_WARP + i % SIMT_WARP, 1u << (i / SIMT_WARP % SIMT_WARP));
}

/* The marks of a tile, one word a lane, of positions whose next one is marked, too. */
SIMT_FN uint32_t marked_pairs(shared_words marks, uint32_t word, uint32_t words)
{
    const uint32_t own  = marks.get(word);
    uint32_t       next = simt_shfl(SIMT_ALL_LANES, own, simt_lane() + 1u);

    if (simt_lane() == SIMT_WARP - 1u) { /* the first lane's, of 32 positions later */
        next = next >> 1 | ((word + 1u < words) ? marks.get(word + 1u) << 31 : 0u);
    }
    return own & next;
}

/* A hash of two names. */
SIMT_FN uint32_t join(uint32_t first, uint32_t second)
{
    const uint32_t sum = (first << 7 | first >> 25) * 2654435761u + second;

    return sum ^ sum >> 15;
}

/* A generator with a period of 2^32 (Numerical Recipes') gives the probe sequence: linear probing
 * would form longer and longer clusters, and 32 lanes wait for the unluckiest one. */
SIMT_FN uint32_t next_probe(uint32_t probe) { return probe * 1664525u + 1013904223u; }

/* A document in a group's memory. */
struct document_job {
    const uint32_t *hash; /* of the words, in global memory */
    uint32_t        words;
    uint32_t        mask; /* an entry's bits that are a position; the others are the run's hash's */
    shared_words    memory;

    MACHINE_METHOD shared_words marks(uint32_t n) const
    {
        return memory.from(LENGTHS + (n & 1u) * mark_words(words));
    }
    MACHINE_METHOD shared_words names() const { return memory.from(name_start(words)); }
    MACHINE_METHOD shared_words table() const
    {
        return memory.from(name_start(words) + round_up(words));
    }
    MACHINE_METHOD uint32_t entry(uint32_t own, uint32_t i) const { return (own & ~mask) | i; }

    /* The name of a run of n words: the position of one of those with that name.  A word has the
     * names of n and of n - 1, which are read while the former are set, in 16 bits each. */
    MACHINE_METHOD uint32_t name(uint32_t n, uint32_t i) const
    {
        return names().glance(i) >> (n & 1u) * 16u & 0xffffu;
    }

    /* `seen` is the entry of an equal word, or run. */
    MACHINE_METHOD bool is_word(uint32_t seen, uint32_t own) const
    {
        return ((seen ^ own) <= mask) && (hash[seen & mask] == own);
    }
    MACHINE_METHOD bool is_run(uint32_t seen, uint32_t own, uint32_t n, uint32_t first,
                               uint32_t second) const
    {
        return ((seen ^ own) <= mask) && (name(n - 1u, seen & mask) == first) &&
               (name(n - 1u, (seen & mask) + 1u) == second);
    }

    /* Name the i-th run of n words.  If an equal one was seen before, mark both, and return 1. */
    MACHINE_METHOD uint32_t note(uint32_t n, uint32_t i, uint32_t seen) const
    {
        const uint32_t name = (seen != VACANT) ? seen & mask : i;
        const uint32_t old  = names().glance(i);

        names().post(i, (n % 2u != 0) ? (old & 0xffffu) | name << 16 : (old & 0xffff0000u) | name);
        if (seen == VACANT) { return 0; }
        set_mark(marks(n), i);
        set_mark(marks(n), name);
        return 1;
    }

    /* Insert the i-th word; 1 if an equal one was inserted before.
     *
     * The search is a loop of loads that may be stale: the compare-and-swap after it decides.
     * Around an atomic, ptxas lets lanes run on that have left the loop, so the callers join the
     * lanes again after each word or run. */
    MACHINE_METHOD uint32_t insert_word(uint32_t entries, uint32_t i, uint32_t own) const
    {
        uint32_t probe = own * 2654435761u;
        uint32_t at    = simt_mulhi(probe, entries);
        uint32_t seen  = table().glance(at);

        while ((seen != VACANT) && !is_word(seen, own)) {
            probe = next_probe(probe);
            at    = simt_mulhi(probe, entries);
            seen  = table().glance(at);
        }
        if (seen == VACANT) {
            seen = table().cas(at, VACANT, entry(own, i));
            while ((seen != VACANT) && !is_word(seen, own)) { /* another lane was faster */
                probe = next_probe(probe);
                seen  = table().cas(simt_mulhi(probe, entries), VACANT, entry(own, i));
            }
        }
        return note(1, i, seen);
    }

    /* The same for the i-th run of n > 1 words.  Most entries are vacant. */
    MACHINE_METHOD uint32_t insert_run(uint32_t entries, uint32_t n, uint32_t i) const
    {
        const uint32_t first  = name(n - 1u, i);
        const uint32_t second = name(n - 1u, i + 1u);
        const uint32_t own    = join(first, second);
        uint32_t       probe  = own * 2654435761u;
        uint32_t       seen   = table().cas(simt_mulhi(probe, entries), VACANT, entry(own, i));

        while ((seen != VACANT) && !is_run(seen, own, n, first, second)) {
            probe = next_probe(probe);
            seen  = table().cas(simt_mulhi(probe, entries), VACANT, entry(own, i));
        }
        return note(n, i, seen);
    }

    template <class Group>
    MACHINE_METHOD uint32_t insert_words(uint32_t entries, Group group) const
    {
        const uint32_t step    = group.warps() * SIMT_WARP;
        uint32_t       repeats = 0;
        uint32_t       own[BATCH];

        for (uint32_t base = group.warp() * SIMT_WARP; base < words; base += BATCH * step) {
            const uint32_t i = base + simt_lane();

            SIMT_UNROLLED
            for (uint32_t k = 0; k < BATCH; k++) {
                own[k] = (i + k * step < words) ? hash[i + k * step] : 0u;
            }
            SIMT_UNROLLED
            for (uint32_t k = 0; k < BATCH; k++) {
                if (i + k * step < words) { repeats += insert_word(entries, i + k * step, own[k]); }
                simt_warp_sync(SIMT_ALL_LANES);
            }
        }
        return repeats;
    }

    /* Runs whose first and last n - 1 words are repeated.  The warp processes `bits` of marks. */
    MACHINE_METHOD uint32_t insert_runs(uint32_t entries, uint32_t n, uint32_t bits) const
    {
        const uint32_t all     = mark_words(words);
        uint32_t       repeats = 0;

        for (uint32_t at = 0; at < all; at += SIMT_WARP) {
            uint32_t left = marked_pairs(marks(n - 1u), at + simt_lane(), all) & bits;

            while (simt_any(SIMT_ALL_LANES, left != 0)) {
                if (left != 0) {
                    repeats += insert_run(entries, n,
                                          SIMT_WARP * (at + simt_ffs(left) - 1u) + simt_lane());
                    left &= left - 1u;
                }
            }
        }
        return repeats;
    }
};

template <class Group>
SIMT_FN void clear(shared_words memory, uint32_t words, uint32_t value, Group group)
{
    for (uint32_t i = 4u * group.rank(); i < words; i += 4u * group.size()) {
        memory.set4(i, value);
    }
}

/* The memory is in use until the group's next sync(). */
template <class Group>
SIMT_FN void count_repeats(const collection &c, const listed &d, shared_words memory, Group group)
{
    const document_job job  = { c.hash + d.first, d.words,
                                simt_mask(0, 32u - simt_clz(d.words)), memory };
    uint32_t           bits = 0; /* of each word of marks: those that this warp processes */
    uint32_t           keys = d.words;

    for (uint32_t k = group.warp(); k < SIMT_WARP; k += group.warps()) { bits |= 1u << k; }
    clear(memory, name_start(d.words), 0, group); /* counters and marks */
    for (uint32_t n = 1; (n <= LENGTHS) && (keys != 0); n++) {
        const uint32_t entries = table_entries(keys);
        uint32_t       repeats;

        clear(job.table(), entries, VACANT, group);
        if (n > 2u) { clear(job.marks(n), mark_words(d.words), 0, group); }
        group.sync();
        repeats = machine_sum((n == 1u) ? job.insert_words(entries, group)
                                        : job.insert_runs(entries, n, bits));
        if ((simt_lane() == 0) && (repeats != 0)) { (void)memory.add(n - 1u, repeats); }
        group.sync();
        keys = 2u * memory.get(n - 1u); /* runs that are marked, at most */
        keys = (keys < d.words) ? keys : d.words;
    }
    if ((group.rank() < LENGTHS) && (d.words != 0)) {
        c.repeats[(size_t)d.document * LENGTHS + group.rank()] = memory.get(group.rank());
    }
}

#endif /* SHPOOL_EXAMPLES_REPEATS_GRAMS_H */
