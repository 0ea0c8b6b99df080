/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counting the words of a text.  Each block groups the words of its part by a hash table in shared
 * memory, chained, and adds its counts to a table in global memory when it is through.  What has no
 * room in shared memory is counted in global memory right away.
 *
 * The versions differ in what an entry of the block's table is made of:
 *
 *   pool_store       the word itself behind a header, as long as it is, from the block's pool
 *   slot_store       the same in static slots, all equally long; longer words have no room
 *   reference_store  static slots of the header only: words are compared with the text
 *   no_store         no table: every word goes to global memory
 *
 * A word is letters, digits and bytes from 128 on; capitals count as small letters.
 */
#ifndef SHPOOL_EXAMPLES_WORDS_COUNT_H
#define SHPOOL_EXAMPLES_WORDS_COUNT_H

#include "../machine.h"

struct totals {
    unsigned long long words;
    unsigned long long here;    /* of them counted in shared memory */
    uint32_t           entries; /* of the blocks' tables, all together */
    uint32_t           dropped; /* words that the global table had no room for: none, or it fails */
};

struct counting {
    const uint8_t      *text;
    uint32_t            bytes;
    uint32_t            share; /* of the text, for each block */
    uint32_t            heads; /* of chains in a block's table, a power of two */
    uint32_t            slots; /* of the global table, a power of two */
    unsigned long long *key;   /* hash << 32 | place in the text + 1; 0: vacant */
    uint32_t           *count;
    totals             *sum;
};

struct word {
    uint32_t at; /* in the text */
    uint32_t length;
    uint32_t hash;
};

/* A character as it counts; 0: between words. */
SIMT_HD uint32_t fold(uint32_t c)
{
    const uint32_t small = c | 0x20u;

    return ((small >= 'a') && (small <= 'z')) ? small
           : ((c >= '0') && (c <= '9')) || (c >= 128u) ? c
                                                       : 0u;
}

SIMT_FN uint32_t letter(const counting &c, uint32_t at)
{
    return (at < c.bytes) ? fold(c.text[at]) : 0u;
}

/* FNV-1a (Fowler, Noll and Vo), the bits mixed once more. */
SIMT_FN word read_word(const counting &c, uint32_t at)
{
    word     w = { at, 0, 2166136261u };
    uint32_t l;

    while ((l = letter(c, at + w.length)) != 0) {
        w.hash = (w.hash ^ l) * 16777619u;
        w.length++;
    }
    w.hash ^= w.hash >> 15;
    return w;
}

/* Up to four letters from the i-th on, as they lie in an entry. */
SIMT_FN uint32_t four_letters(const counting &c, word w, uint32_t i)
{
    uint32_t four = 0;

    for (uint32_t k = 0; (k < 4u) && (i + k < w.length); k++) {
        four |= letter(c, w.at + i + k) << (8u * k);
    }
    return four;
}

SIMT_FN bool is_at(const counting &c, uint32_t at, word w)
{
    uint32_t i = 0;

    while ((i < w.length) && (letter(c, at + i) == letter(c, w.at + i))) {
        i++;
    }
    return (i == w.length) && (letter(c, at + i) == 0);
}

/* ---- the table in global memory: open addressing, words stay in the text ---- */

SIMT_FN void count_globally(const counting &c, word w, uint32_t n)
{
    const unsigned long long mine = static_cast<unsigned long long>(w.hash) << 32 | (w.at + 1u);
    uint32_t                 at   = (w.hash * 2654435761u) & (c.slots - 1u);

    for (uint32_t tries = 0; tries < c.slots; tries++) {
        unsigned long long seen = machine_peek64(c.key + at);

        if (seen == 0) {
            seen = machine_cas64(c.key + at, 0, mine);
        }
        if ((seen == 0) || ((static_cast<uint32_t>(seen >> 32) == w.hash) &&
                            is_at(c, static_cast<uint32_t>(seen) - 1u, w))) {
            (void)simt_global_add32(c.count + at, n);
            return;
        }
        at = (at + 1u) & (c.slots - 1u);
    }
    (void)simt_global_add32(&c.sum->dropped, 1);
}

/* ---- entries of a block's table ---- */

enum { NEXT = 0, HASH = 4, COUNT = 8, AT = 12, LENGTH = 16, LETTERS = 20 };

/* The block's words in front of the store: CHAINS_LIMIT is the least size that was refused, or how
 * many slots are taken; then the heads. */
enum { CHAINS_LIMIT = 0, CHAINS_HEADS = 16 };

SIMT_HD uint32_t chains_bytes(uint32_t heads) { return CHAINS_HEADS + 4u * heads; }
SIMT_HD uint32_t entry_bytes(uint32_t length) { return LETTERS + ((length + 3u) & ~3u); }

/* Whether an entry with the word's hash and length also has its letters. */
SIMT_FN bool has_letters(const counting &c, simt_addr entry, word w)
{
    uint32_t i = 0;

    while ((i < w.length) && (simt_load32(entry + LETTERS + i) == four_letters(c, w, i))) {
        i += 4u;
    }
    return i >= w.length;
}

SIMT_FN void write_letters(const counting &c, simt_addr entry, word w)
{
    for (uint32_t i = 0; i < w.length; i += 4u) {
        simt_store32(entry + LETTERS + i, four_letters(c, w, i));
    }
}

struct pool_store {
    shpool_heap heap;
    simt_addr   limit;

    MACHINE_METHOD simt_addr take(word w) const
    {
        const uint32_t bytes = entry_bytes(w.length);
        void          *entry = nullptr;

        /* nobody asks again for what was refused: searching a full pool takes long */
        if (bytes < simt_atomic_load(limit, SIMT_RELAXED)) {
            entry = shpool_malloc_shared(heap, bytes);
            if (entry == nullptr) {
                (void)simt_atomic_min(limit, bytes, SIMT_RELAXED);
            }
        }
        return (entry != nullptr) ? simt_to_shared(entry) : 0u;
    }
    MACHINE_METHOD void give_back(simt_addr entry) const
    {
        shpool_free(heap, simt_from_shared(entry));
    }
    MACHINE_METHOD bool same(const counting &c, simt_addr entry, word w) const
    {
        return has_letters(c, entry, w);
    }
    MACHINE_METHOD void write(const counting &c, simt_addr entry, word w) const
    {
        write_letters(c, entry, w);
    }
};

struct slot_store {
    simt_addr base;
    uint32_t  each;
    uint32_t  count;
    simt_addr limit;

    MACHINE_METHOD simt_addr take(word w) const
    {
        uint32_t slot = count;

        if ((entry_bytes(w.length) <= each) && (simt_atomic_load(limit, SIMT_RELAXED) < count)) {
            slot = simt_atomic_add(limit, 1, SIMT_RELAXED);
        }
        return (slot < count) ? base + slot * each : 0u;
    }
    MACHINE_METHOD void give_back(simt_addr) const {} /* lost: there is no list of free slots */
    MACHINE_METHOD bool same(const counting &c, simt_addr entry, word w) const
    {
        return has_letters(c, entry, w);
    }
    MACHINE_METHOD void write(const counting &c, simt_addr entry, word w) const
    {
        write_letters(c, entry, w);
    }
};

struct reference_store : slot_store {
    MACHINE_METHOD simt_addr take(word w) const
    {
        w.length = 0;
        return slot_store::take(w);
    }
    MACHINE_METHOD bool same(const counting &c, simt_addr entry, word w) const
    {
        return is_at(c, simt_load32(entry + AT), w);
    }
    MACHINE_METHOD void write(const counting &, simt_addr, word) const {}
};

/* Count a word in the block's table; false if there was no room.
 *
 * Chains only grow, in front: who has looked through one need not do so again behind what was its
 * first entry. */
template <class Store>
SIMT_FN bool count_here(const counting &c, const Store &store, simt_addr head, word w)
{
    simt_addr mine  = 0;
    simt_addr known = 0;
    /* acquire: pairs with the release below, the entries are written */
    simt_addr first = simt_atomic_load(head, SIMT_ACQUIRE);

    for (;;) {
        simt_addr now;

        for (simt_addr e = first; e != known; e = simt_load32(e + NEXT)) {
            if ((simt_load32(e + HASH) == w.hash) && (simt_load32(e + LENGTH) == w.length) &&
                store.same(c, e, w)) {
                (void)simt_atomic_add(e + COUNT, 1, SIMT_RELAXED);
                if (mine != 0) {
                    store.give_back(mine);
                }
                return true;
            }
        }
        known = first;
        if (mine == 0) {
            mine = store.take(w);
            if (mine == 0) {
                return false;
            }
            simt_store32(mine + HASH, w.hash);
            simt_atomic_store(mine + COUNT, 1, SIMT_RELAXED);
            simt_store32(mine + AT, w.at);
            simt_store32(mine + LENGTH, w.length);
            store.write(c, mine, w);
        }
        simt_store32(mine + NEXT, first);
        /* release: the entry is written; acquire: pairs with it when somebody was faster */
        now = simt_atomic_cas(head, first, mine, SIMT_ACQ_REL);
        if (now == first) {
            return true;
        }
        first = now;
    }
}

/* ---- a block's work, with chains in shared memory at `chains` ---- */

SIMT_FN void clear_chains(const counting &c, simt_addr chains, uint32_t limit)
{
    if (simt_thread_rank() == 0) {
        simt_atomic_store(chains + CHAINS_LIMIT, limit, SIMT_RELAXED);
    }
    for (uint32_t i = simt_thread_rank(); i < c.heads; i += simt_block_threads()) {
        simt_atomic_store(chains + CHAINS_HEADS + 4u * i, 0, SIMT_RELAXED);
    }
    simt_barrier();
}

/* Calls count(word) for each word that begins in this block's part of the text. */
template <class Count>
SIMT_FN uint32_t each_word(const counting &c, Count count)
{
    const uint32_t part  = simt_block_rank();
    const uint32_t begin = (c.bytes / c.share < part) ? c.bytes : part * c.share;
    const uint32_t end   = (c.bytes - begin < c.share) ? c.bytes : begin + c.share;
    uint32_t       words = 0;

    for (uint32_t at = begin + simt_thread_rank(); at < end; at += simt_block_threads()) {
        if ((letter(c, at) != 0) && ((at == 0) || (letter(c, at - 1u) == 0))) {
            count(read_word(c, at));
            words++;
        }
    }
    return words;
}

template <class Store>
SIMT_FN void count_words(const counting &c, const Store &store, simt_addr chains)
{
    uint32_t here    = 0;
    uint32_t entries = 0;
    uint32_t words   = each_word(c, [&](word w) {
        const simt_addr head = chains + CHAINS_HEADS + 4u * (w.hash & (c.heads - 1u));

        if (count_here(c, store, head, w)) {
            here++;
        } else {
            count_globally(c, w, 1);
        }
    });

    simt_barrier();
    for (uint32_t i = simt_thread_rank(); i < c.heads; i += simt_block_threads()) {
        simt_addr e = simt_atomic_load(chains + CHAINS_HEADS + 4u * i, SIMT_RELAXED);

        for (; e != 0; e = simt_load32(e + NEXT)) {
            const word w = { simt_load32(e + AT), simt_load32(e + LENGTH), simt_load32(e + HASH) };

            count_globally(c, w, simt_atomic_load(e + COUNT, SIMT_RELAXED));
            entries++;
        }
    }
    simt_global_add64(&c.sum->words, words);
    simt_global_add64(&c.sum->here, here);
    (void)simt_global_add32(&c.sum->entries, entries);
}

/* ---- the kernels ---- */

struct count_in_global {
    counting c;

    MACHINE_METHOD void operator()() const
    {
        simt_global_add64(&c.sum->words,
                          each_word(c, [&](word w) { count_globally(c, w, 1); }));
    }
};

struct count_by_pool {
    counting    c;
    shpool_pool pool;

    MACHINE_METHOD void operator()() const
    {
        const simt_addr  chains = simt_dynamic_base();
        const simt_addr  base   = chains + chains_bytes(c.heads);
        const pool_store store  = { shpool_init(&pool, simt_from_shared(base)),
                                    chains + CHAINS_LIMIT };

        clear_chains(c, chains, ~0u);
        count_words(c, store, chains);
        shpool_fini(store.heap); /* the entries go with the pool: nobody frees them one by one */
    }
};

template <class Store>
struct count_by_slots {
    counting c;
    uint32_t each;
    uint32_t count;

    MACHINE_METHOD void operator()() const
    {
        const simt_addr chains = simt_dynamic_base();
        Store           store;

        store.base  = chains + chains_bytes(c.heads);
        store.each  = each;
        store.count = count;
        store.limit = chains + CHAINS_LIMIT;
        clear_chains(c, chains, 0);
        count_words(c, store, chains);
    }
};

#endif /* SHPOOL_EXAMPLES_WORDS_COUNT_H */
