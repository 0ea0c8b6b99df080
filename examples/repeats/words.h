/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the words of all documents, and sorts the documents by the memory that they need. */
#ifndef SHPOOL_EXAMPLES_REPEATS_WORDS_H
#define SHPOOL_EXAMPLES_REPEATS_WORDS_H

#include "../group.h"

#define LENGTHS 8u    /* of runs, in words */
#define AHEAD   8u    /* bytes that a lane reads at once; reading them one by one waits each time */
#define SORTED  2048u /* documents that a block sorts */
#define TILE    (SIMT_WARP * SIMT_WARP) /* words with marks in one word of each lane: grams.h */

/* Class k has documents that need up to 256 << k bytes; the last one has all longer ones. */
#define CLASSES 12u

/* Counters of the kernels, which the host reads. */
struct totals {
    uint32_t           next;               /* first document that find_words() has not taken */
    uint32_t           next_in[CLASSES];   /* of a part of collection.order: first one not taken */
    uint32_t           in_class[CLASSES];  /* documents */
    uint32_t           placed_in[CLASSES]; /* documents that are in collection.order */
    uint32_t           longest;            /* bytes that the longest document needs */
    uint32_t           unserved;           /* documents that got no memory; must be 0 */
    unsigned long long words;
};

/* An entry of the sorted list of documents. */
struct alignas(16) listed {
    uint32_t document;
    uint32_t words;
    uint32_t first; /* index of its first word's hash */
};

struct collection {
    const uint8_t  *text;
    const uint32_t *begin; /* document d is text[begin[d]] up to [begin[d + 1] - 1] */
    uint32_t        documents;
    uint32_t       *hash;    /* of words; a document's start at first_word() */
    uint32_t       *words;   /* number of words of each document */
    listed         *order;   /* all documents, the last class first */
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

/* Index of a document's first hash: a word has at least two bytes, with the separator after it. */
SIMT_FN uint32_t first_word(const collection &c, uint32_t document)
{
    return c.begin[document] / 2u + document;
}

/* A document's memory: LENGTHS counters, two sets of marks, names, and a hash table with 1.5 times
 * as many entries as keys.  Arrays begin at multiples of four words. */
SIMT_HD uint32_t round_up(uint32_t words) { return (words + 3u) & ~3u; }
SIMT_HD uint32_t mark_words(uint32_t words) { return (words + TILE - 1u) / TILE * SIMT_WARP; }
SIMT_HD uint32_t name_start(uint32_t words) { return LENGTHS + 2u * mark_words(words); }
SIMT_HD uint32_t table_entries(uint32_t keys) { return round_up(keys + keys / 2u + 1u); }
SIMT_HD uint32_t document_bytes(uint32_t words) /* in shared memory */
{
    return 4u * (name_start(words) + round_up(words) + table_entries(words));
}
SIMT_HD uint32_t global_bytes(uint32_t bytes) { return 2u * bytes; } /* at most: longer names */

SIMT_HD uint32_t class_bytes(uint32_t which) { return 256u << which; }
SIMT_HD uint32_t class_of(uint32_t words)
{
    const uint32_t bytes = document_bytes(words);
    uint32_t       which = 0;

    while ((which + 1u < CLASSES) && (bytes > class_bytes(which))) {
        which++;
    }
    return which;
}

/* A warp for each document: all lanes find where words begin, then compute their hashes. */
struct find_words {
    collection c;

    MACHINE_METHOD void operator()() const
    {
        const whole_warp warp;

        for (uint32_t d = warp.take(&c.sum->next); d < c.documents; d = warp.take(&c.sum->next)) {
            const uint32_t count = find_begins(d);
            uint32_t      *hash  = c.hash + first_word(c, d);

            simt_warp_sync(SIMT_ALL_LANES); /* all marks are written */
            for (uint32_t i = simt_lane(); i < count; i += SIMT_WARP) {
                hash[i] = hash_word(c.text, hash[i], c.begin[d + 1u]);
            }
            if (simt_lane() == 0) {
                c.words[d] = count;
            }
        }
    }

    MACHINE_METHOD uint32_t find_begins(uint32_t d) const
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
};

/* Count the documents of each class.  Blocks of at least CLASSES threads, SORTED documents each. */
struct count_classes {
    collection c;

    MACHINE_METHOD void operator()() const
    {
        const shared_words in_class = { simt_dynamic_base() };
        const uint32_t     from     = simt_block_rank() * SORTED;
        unsigned long long words    = 0;
        uint32_t           most     = 0;

        if (simt_thread_rank() < CLASSES) {
            in_class.set(simt_thread_rank(), 0);
        }
        simt_barrier();
        for (uint32_t i = simt_thread_rank(); (i < SORTED) && (i < c.documents - from);
             i += simt_block_threads()) {
            const uint32_t count = c.words[from + i];

            words += count;
            most = (count < most) ? most : count;
            (void)in_class.add(class_of(count), 1);
        }
        simt_global_add64(&c.sum->words, words);
        simt_global_max32(&c.sum->longest, document_bytes(most));
        simt_barrier();
        if (simt_thread_rank() < CLASSES) {
            (void)simt_global_add32(&c.sum->in_class[simt_thread_rank()],
                                    in_class.get(simt_thread_rank()));
        }
    }
};

/* After that: put the documents into c.order. */
struct sort_documents {
    collection c;

    MACHINE_METHOD void operator()() const
    {
        const shared_words place = { simt_dynamic_base() }; /* of the next one of each class */
        const uint32_t     from  = simt_block_rank() * SORTED;

        if (simt_thread_rank() < CLASSES) {
            place.set(simt_thread_rank(), 0);
        }
        simt_barrier();
        for (uint32_t i = simt_thread_rank(); (i < SORTED) && (i < c.documents - from);
             i += simt_block_threads()) {
            (void)place.add(class_of(c.words[from + i]), 1);
        }
        simt_barrier();
        if (simt_thread_rank() < CLASSES) {
            const uint32_t which = simt_thread_rank();
            uint32_t       start = simt_global_add32(&c.sum->placed_in[which], place.get(which));

            for (uint32_t k = which + 1u; k < CLASSES; k++) {
                start += c.sum->in_class[k];
            }
            place.set(which, start);
        }
        simt_barrier();
        for (uint32_t i = simt_thread_rank(); (i < SORTED) && (i < c.documents - from);
             i += simt_block_threads()) {
            const uint32_t d     = from + i;
            const uint32_t words = c.words[d];

            c.order[place.add(class_of(words), 1)] = { d, words, first_word(c, d) };
        }
    }
};

#endif /* SHPOOL_EXAMPLES_REPEATS_WORDS_H */
