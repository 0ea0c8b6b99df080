/* SPDX-License-Identifier: BSD-3-Clause */
/* A bitmap for each thread's share of a caller's global memory.  C++17; not for direct inclusion.
 *
 * Terms
 *   heap     the memory that the caller passed to shpool_global_open()
 *   share    the part of one thread of a block; threads with the same rank in other blocks use the
 *            same share
 *   granule  16 bytes of payload, numbered 0..G-1 in each share; an allocation is a run of granules
 *   unit     four words for 32 granules: bit i of `used` says that granule i is used, of `start`
 *            that an allocation begins there, of `given` that another thread has freed that
 *            allocation; the fourth word is used in unit 0 only: LOCK, top and hint
 *   hint     a unit; all granules of the units below it are used
 *   top      a unit; it and all units above it are free
 *   own      a launch of one block that has divided the heap has it to itself: each thread uses
 *            its share without a lock, and frees allocations of others by `given`
 *
 * Heap:  unit 0 of every share | unit 1 of every share | ... | G granules of each share
 *
 * A warp waits for each line that its lanes access: if all lanes stored one word to their own
 * lines, an H200 would take about 80 cycles, as long as for 20 dependent instructions.  So nothing
 * but payload is in lines of a single share: the lanes' units are adjacent.
 *
 * In other launches each share has a lock that is visible to the whole device, so any thread of any
 * block may allocate and free.  No thread holds two locks.  `given` then keeps what the launch
 * that had the heap to itself left there. */
#ifndef SHPOOL_IMPL_GLOBAL_HEAP_H
#define SHPOOL_IMPL_GLOBAL_HEAP_H

#include <shpool/impl/global_access.h>
#include <shpool/impl/heap/run_word.h>

/* ---- the heap ---- */

#define SHPOOL_GLOBAL_LOCK  0x80000000u /* in the fourth word of unit 0 */
#define SHPOOL_GLOBAL_NONE  0xffffffffu /* no granule */
#define SHPOOL_GLOBAL_CELLS 0x7fffffffu /* most units and granules of a share: 32 GiB */

/* The program's heap.  One thread writes it in open; meanwhile others read only `claim`. */
struct alignas(16) shpool_global_heap {
    unsigned char     *memory;   /* unit 0 of share 0; NULL: no heap */
    uint32_t           shares;   /* threads per block of the launch that divided it */
    uint32_t           granules; /* of a share */
    unsigned long long alone;    /* claim of that launch if it has one block, or 0 */
    unsigned long long claim;    /* of the launch that divides it (even) or has divided it */
};

/* With -rdc=true all files of the program share one. */
SHPOOL_GLOBAL_ROOT shpool_global_heap *shpool_global_root(void)
{
    static shpool_global_heap heap;

    return &heap;
}

/* A copy for a call: two loads at once, whatever it needs.  The thread is ordered after open, or
 * another kernel. */
SIMT_FN shpool_global_heap shpool_global_get(void)
{
    shpool_global_heap heap = {};
#if defined(__CUDACC__)
    unsigned long long memory;

    asm volatile("ld.global.v2.u64 {%0, %1}, [%2];"
                 : "=l"(heap.alone), "=l"(heap.claim)
                 : "l"(&shpool_global_root()->alone) : "memory");
    asm volatile("{ .reg .b64 both; ld.global.v2.b64 {%0, both}, [%3]; mov.b64 {%1, %2}, both; }"
                 : "=l"(memory), "=r"(heap.shares), "=r"(heap.granules)
                 : "l"(shpool_global_root()) : "memory");
    heap.memory = reinterpret_cast<unsigned char *>(memory);
#else
    heap.memory   = shpool_global_root()->memory;
    heap.shares   = shpool_global_root()->shares;
    heap.granules = shpool_global_root()->granules;
    heap.alone    = shpool_global_root()->alone;
#endif
    return heap;
}

/* The value of `claim` while this launch divides the heap (0) and afterwards (1). */
SIMT_FN unsigned long long shpool_global_claim(uint32_t done)
{
    return 2u * (simt_launch_number() + 1u) + done;
}

/* Whether the threads of this block have the heap to themselves: this launch has divided it, and no
 * other block can use it. */
SIMT_FN bool shpool_global_is_own(const shpool_global_heap &heap)
{
    return heap.alone == shpool_global_claim(1);
}

SIMT_FN uint32_t shpool_global_units(uint32_t granules)
{
    return (granules + 31u) >> 5;
}

/* Called by one thread of a block among several: whether the heap has been divided for this launch.
 * Waits if another block is dividing it.  If the result is 0, this block must divide it, and
 * `claim` says so. */
SIMT_FN uint32_t shpool_global_divided(shpool_global_heap *heap)
{
    unsigned long long busy = shpool_global_claim(0);
    unsigned long long done = shpool_global_claim(1);

    for (;;) {
        /* acquire: pairs with the release in shpool_global_open, of another block */
        unsigned long long seen = shpool_global_atomic_load64(&heap->claim, SIMT_ACQUIRE);

        if (seen == done) {
            return 1;
        }
        if (seen == busy) {
            shpool_global_wait();
        } else if (shpool_global_acquire64(&heap->claim, seen, busy) == seen) {
            return 0;
        }
    }
}

/* ---- a share ---- */

struct shpool_global_share {
    unsigned char *units;   /* unit 0 */
    unsigned char *payload; /* granule 0 */
    uint32_t       stride;  /* bytes from unit to unit */
    uint32_t       granules;
    uint32_t       hint;    /* the last two are those in unit 0, if the caller may use the share */
    uint32_t       top;
};

SIMT_FN unsigned char *shpool_global_unit(const shpool_global_share *share, uint32_t unit)
{
    return share->units + static_cast<size_t>(unit) * share->stride;
}

/* The share with that number, without hint and top. */
SIMT_FN shpool_global_share shpool_global_share_of(const shpool_global_heap &heap, uint32_t number)
{
    shpool_global_share share;

    share.stride   = 16u * heap.shares;
    share.units    = heap.memory + 16u * number;
    share.payload  = heap.memory +
                     static_cast<size_t>(shpool_global_units(heap.granules)) * share.stride +
                     static_cast<size_t>(heap.granules) * (16u * number);
    share.granules = heap.granules;
    share.hint     = 0;
    share.top      = 0;
    return share;
}

/* The fourth word of unit 0 has hint and top in steps of 1 << shpool_global_step() units.  Hint is
 * rounded down and top up, which only makes a search longer. */
SIMT_FN uint32_t shpool_global_step(const shpool_global_share *share)
{
    const uint32_t clear = simt_clz(shpool_global_units(share->granules));

    return (clear < 17u) ? 17u - clear : 0u;
}
SIMT_FN uint32_t shpool_global_word(const shpool_global_share *share)
{
    const uint32_t step = shpool_global_step(share);

    return ((share->top + (1u << step) - 1u) >> step << 15) | (share->hint >> step);
}
SIMT_FN void shpool_global_set_word(shpool_global_share *share, uint32_t word)
{
    const uint32_t step  = shpool_global_step(share);
    const uint32_t units = shpool_global_units(share->granules);
    const uint32_t top   = ((word >> 15) & 0xffffu) << step;

    share->hint = (word & 0x7fffu) << step;
    share->top  = (top < units) ? top : units;
}

/* The bits of a unit that stand for no granule: they are set and end every run. */
SIMT_FN uint32_t shpool_global_behind(const shpool_global_share *share, uint32_t unit)
{
    const uint32_t left = share->granules - 32u * unit;

    return (left < 32u) ? ~simt_mask(0, left) : 0u;
}

/* Called by one thread: all granules of the share are free. */
SIMT_FN void shpool_global_share_init(const shpool_global_share *share)
{
    SIMT_ROLLED
    for (uint32_t unit = 0; unit < shpool_global_units(share->granules); unit++) {
        const uint32_t ends = shpool_global_behind(share, unit);

        shpool_global_store64(shpool_global_unit(share, unit),
                              ends | (static_cast<unsigned long long>(ends) << 32));
        shpool_global_store64(shpool_global_unit(share, unit) + 8, 0);
    }
}

/* The words of a unit: x used, y start, z given. */
SIMT_FN simt_u128 shpool_global_see(const shpool_global_share *share, uint32_t unit)
{
    return shpool_global_load128(shpool_global_unit(share, unit), false);
}

/* The fourth word of unit 0: LOCK, top and hint; Locked: others may try to take the lock. */
template <bool Locked>
SIMT_FN uint32_t shpool_global_kept(const shpool_global_share *share)
{
    /* relaxed: only the thread with the lock stores here */
    return Locked ? shpool_global_atomic_load32(share->units + 12, SIMT_RELAXED)
                  : shpool_global_load128(share->units, true).w;
}

SIMT_FN void shpool_global_set(const shpool_global_share *share, uint32_t unit, uint32_t used,
                               uint32_t start)
{
    shpool_global_store64(shpool_global_unit(share, unit),
                          used | (static_cast<unsigned long long>(start) << 32));
}

/* Free the allocation at granule g, whose unit has these words; returns why it was refused, or
 * 0. */
SIMT_FN uint32_t shpool_global_give(shpool_global_share *share, uint32_t g, simt_u128 words)
{
    const uint32_t i    = g & 31u;
    uint32_t       unit = g >> 5;
    uint32_t       run  = shpool_run_extent((words.x & ~words.y) >> i) << i;

    if ((((words.x & words.y) >> i) & 1u) == 0) {
        return (((words.x >> i) & 1u) != 0) ? SHPOOL_FREE_INTERIOR : SHPOOL_FREE_DOUBLE;
    }
    share->hint = (unit < share->hint) ? unit : share->hint;
    shpool_global_set(share, unit, words.x & ~run, words.y & ~(1u << i));
    SIMT_ROLLED
    while (((run >> 31) != 0) && (++unit < shpool_global_units(share->granules))) {
        words = shpool_global_see(share, unit);
        run   = words.x & ~words.y;
        if ((run & 1u) == 0) {
            break;
        }
        run = shpool_run_extent(run);
        shpool_global_set(share, unit, words.x & ~run, words.y);
    }
    return SHPOOL_FREE_OK;
}

/* Free what other threads have freed in a unit: bits at which no allocation begins are errors
 * of theirs.  Returns the new hint. */
SHPOOL_GLOBAL_CALL uint32_t shpool_global_collect(unsigned char *units, uint32_t stride,
                                                  uint32_t granules, uint32_t hint, uint32_t unit)
{
    shpool_global_share share = {units, nullptr, stride, granules, hint, 0};
    unsigned char      *at    = shpool_global_unit(&share, unit) + 8;
    uint32_t            given = shpool_global_acquire_all(at);

    SIMT_ROLLED
    for (; given != 0; given &= given - 1u) {
        (void)shpool_global_give(&share, 32u * unit + simt_ffs(given) - 1u,
                                 shpool_global_see(&share, unit));
    }
    return share.hint;
}

/* The words of a unit after others' frees. */
SIMT_FN simt_u128 shpool_global_look(shpool_global_share *share, uint32_t unit)
{
    simt_u128 words = shpool_global_see(share, unit);

    if (words.z != 0) {
        share->hint = shpool_global_collect(share->units, share->stride, share->granules,
                                            share->hint, unit);
        words       = shpool_global_see(share, unit);
    }
    return words;
}

/* First granule of a free run of `need` granules above the hint, NONE if there is none.  Best: of
 * the shortest such run, else of the first. */
template <bool Best>
SIMT_FN uint32_t shpool_global_find(shpool_global_share *share, uint32_t need)
{
    const uint32_t top    = share->top;
    uint32_t       found  = SHPOOL_GLOBAL_NONE;
    uint32_t       least  = SHPOOL_GLOBAL_NONE; /* length of that run */
    uint32_t       lowest = top; /* the new hint */
    uint32_t       last   = share->hint; /* the new top */
    uint32_t       run    = 0; /* free granules directly before bit i of the unit */
    uint32_t       unit;

    SIMT_ROLLED
    for (unit = share->hint; unit < top; unit++) {
        const uint32_t used = shpool_global_look(share, unit).x;
        uint32_t       i    = 0;

        lowest = ((used != 0xffffffffu) && (unit < lowest)) ? unit : lowest;
        last   = (used != shpool_global_behind(share, unit)) ? unit + 1u : last;
        SIMT_ROLLED
        while (i < 32u) {
            const uint32_t rest = used >> i;
            const uint32_t n    = (rest != 0) ? simt_ffs(rest) - 1u : 32u - i;

            run += n;
            i   += n;
            if ((run >= need) && (run < least) && (!Best || (rest != 0))) {
                found = 32u * unit + i - run;
                least = run;
                if (!Best || (run == need)) {
                    share->hint = lowest;
                    return found;
                }
            }
            if (rest != 0) { /* to the next free one */
                i += (~(used >> i) != 0) ? simt_ffs(~(used >> i)) - 1u : 32u;
                run = 0;
            }
        }
    }
    share->hint = lowest;
    share->top  = last;
    /* what is free before top, and all from there on */
    unit = 32u * top - run;
    run  = (unit < share->granules) ? share->granules - unit : 0u;
    return ((run >= need) && (run < least)) ? unit : found;
}

/* Make `need` granules from `first` on an allocation. */
SIMT_FN void shpool_global_take(shpool_global_share *share, uint32_t first, uint32_t need)
{
    const uint32_t end   = first + need;
    const uint32_t top   = (end + 31u) >> 5;
    uint32_t       start = 1u << (first & 31u);

    share->top = (share->top > top) ? share->top : top;

    SIMT_ROLLED
    while (first < end) {
        const uint32_t  i     = first & 31u;
        const uint32_t  n     = (end - first < 32u - i) ? end - first : 32u - i;
        const simt_u128 words = shpool_global_see(share, first >> 5);

        shpool_global_set(share, first >> 5, words.x | simt_mask(i, n), words.y | start);
        start = 0;
        first += n;
    }
}

SIMT_FN void *shpool_global_payload(const shpool_global_share *share, uint32_t g)
{
    return share->payload + static_cast<size_t>(g) * 16u;
}

/* Store hint and top in unit 0, which has `word`; Locked as above. */
template <bool Locked>
SIMT_FN void shpool_global_keep(const shpool_global_share *share, uint32_t word)
{
    const uint32_t next = shpool_global_word(share) | (word & SHPOOL_GLOBAL_LOCK);

    if ((next != word) && Locked) {
        /* relaxed: the release of the lock orders it */
        shpool_global_atomic_store32(share->units + 12, next, SIMT_RELAXED);
    } else if (next != word) {
        shpool_global_store32(share->units + 12, next);
    }
}

/* malloc of `need` granules in a share that no other thread uses; NULL if they do not fit. */
template <bool Best, bool Locked>
SIMT_FN void *shpool_global_serve(shpool_global_share *share, uint32_t need)
{
    const uint32_t word  = shpool_global_kept<Locked>(share);
    uint32_t       first = SHPOOL_GLOBAL_NONE;

    shpool_global_set_word(share, word);
    SIMT_ROLLED
    for (uint32_t again = share->hint; first == SHPOOL_GLOBAL_NONE; again = 0) {
        first = shpool_global_find<Best>(share, need);
        if (again == 0) {
            break;
        }
        share->hint = (first != SHPOOL_GLOBAL_NONE) ? share->hint : 0u; /* others may have freed */
    }
    if (first != SHPOOL_GLOBAL_NONE) {
        shpool_global_take(share, first, need);
    }
    shpool_global_keep<Locked>(share, word);
    return (first != SHPOOL_GLOBAL_NONE) ? shpool_global_payload(share, first) : nullptr;
}
/* A call. */
template <bool Best, bool Locked>
SHPOOL_GLOBAL_CALL void *shpool_global_serve_in(uint32_t number, uint32_t need)
{
    shpool_global_share share = shpool_global_share_of(shpool_global_get(), number);

    return shpool_global_serve<Best, Locked>(&share, need);
}

/* _section while this thread has the lock in unit 0 at `units`; the loop is as
 * impl/heap/group_lock.h explains. */
template <typename Section>
SIMT_FN void shpool_global_locked(unsigned char *units, Section section)
{
    uint32_t waiting = 1;

    do {
        /* relaxed: the compare-and-swap decides */
        const uint32_t seen = shpool_global_atomic_load32(units + 12, SIMT_RELAXED);

        if ((seen & SHPOOL_GLOBAL_LOCK) != 0) {
            shpool_global_wait();
        /* acquire: pairs with the release below */
        } else if (shpool_global_acquire32(units + 12, seen, seen | SHPOOL_GLOBAL_LOCK) == seen) {
            section();
            /* release: pairs with the acquire above; what this thread changed.  relaxed: only the
             * thread with the lock stores here */
            shpool_global_atomic_store32(
                units + 12,
                shpool_global_atomic_load32(units + 12, SIMT_RELAXED) & ~SHPOOL_GLOBAL_LOCK,
                SIMT_RELEASE);
            waiting = simt_pin(0); /* the compiler must not know that this leaves the loop */
        }
    } while (waiting != 0);
}

/* ---- the calls ---- */

/* All threads of the block, converged; see glob_pool::pool_init. */
SHPOOL_GLOBAL_CALL void shpool_global_open(void *memory, size_t bytes)
{
    shpool_global_heap *heap   = shpool_global_root();
    size_t              first  = reinterpret_cast<size_t>(memory);
    size_t              spare  = (0u - first) & 15u;
    uint32_t            rank   = simt_thread_rank();
    uint32_t            shares = simt_block_threads();
    bool                alone  = simt_grid_blocks() == 1u;
    uint32_t            cells  = 0; /* 16 bytes each, of a share */

    if ((memory != nullptr) && (bytes > spare) && (first + bytes > first)) {
        size_t all = (bytes - spare) >> 4;

        cells = static_cast<uint32_t>((all < 0xffffffffu) ? all : 0xffffffffu) / shares;
        cells = (cells < SHPOOL_GLOBAL_CELLS) ? cells : SHPOOL_GLOBAL_CELLS;
    }
    simt_barrier(); /* threads may still use the shares that were here */
    if (rank == 0) {
        if (cells < 2u) { /* not even a unit and a granule */
            heap->memory = nullptr;
        } else if (alone || !shpool_global_divided(heap)) {
            heap->memory   = static_cast<unsigned char *>(memory) + spare;
            heap->shares   = shares;
            heap->granules = cells - (cells + 32u) / 33u;
            heap->alone    = alone ? shpool_global_claim(1) : 0u;
        }
    }
    simt_barrier();
    /* relaxed: as the thread above left it; the same result in the whole block */
    if ((cells >= 2u) && (alone || (shpool_global_atomic_load64(&heap->claim, SIMT_RELAXED) ==
                                    shpool_global_claim(0)))) {
        const shpool_global_share share = shpool_global_share_of(shpool_global_get(), rank);

        shpool_global_share_init(&share);
        simt_barrier(); /* every share is ready */
        if ((rank == 0) && !alone) {
            /* release: pairs with the acquire in shpool_global_divided */
            shpool_global_atomic_store64(&heap->claim, shpool_global_claim(1), SIMT_RELEASE);
        }
    }
}

/* malloc in a heap that other blocks may use. */
template <bool Best>
SHPOOL_GLOBAL_CALL void *shpool_global_malloc_far(uint32_t need)
{
    const shpool_global_heap heap   = shpool_global_get();
    const uint32_t           number = simt_thread_rank() % heap.shares;
    void                    *ptr    = nullptr;

    shpool_global_locked(shpool_global_share_of(heap, number).units,
                         [&] { ptr = shpool_global_serve_in<Best, true>(number, need); });
    return ptr;
}

/* Allocate at least size bytes from the caller's share. */
template <bool Best>
SHPOOL_GLOBAL_CALL void *shpool_global_malloc(size_t size)
{
    const uint32_t           rank = simt_thread_rank();
    const shpool_global_heap heap = shpool_global_get();
    const size_t             all  = (size >> 4) + (((size & 15u) != 0) || (size == 0));
    const uint32_t           need = static_cast<uint32_t>(all);

    if ((heap.memory == nullptr) || (all > heap.granules)) {
        return nullptr;
    }
    if (!shpool_global_is_own(heap)) {
        return shpool_global_malloc_far<Best>(need);
    }
    shpool_global_share share = shpool_global_share_of(heap, rank);

    if (Best) {
        return shpool_global_serve<Best, false>(&share, need);
    }
    simt_u128 words = shpool_global_load128(share.units, true);

    shpool_global_set_word(&share, words.w);
    if ((need <= 32u) && (share.hint < share.top)) { /* inside a unit */
        words = (share.hint != 0) ? shpool_global_see(&share, share.hint) : words;

        const uint32_t fit = shpool_run_starts(~words.x, need, 32u);
        const uint32_t bit = fit & (0u - fit);

        if ((fit != 0) && (words.z == 0)) {
            shpool_global_set(&share, share.hint, words.x | simt_mask(0, need) * bit,
                              words.y | bit);
            return shpool_global_payload(&share, 32u * share.hint + simt_ffs(bit) - 1u);
        }
    }
    return shpool_global_serve_in<Best, false>(rank, need);
}

/* Free granule g's allocation in a share that no other thread uses. */
template <bool Locked>
SIMT_FN uint32_t shpool_global_return(shpool_global_share *share, uint32_t g)
{
    const uint32_t word = shpool_global_kept<Locked>(share);

    shpool_global_set_word(share, word);
    const uint32_t why = shpool_global_give(share, g, shpool_global_look(share, g >> 5));
    shpool_global_keep<Locked>(share, word);
    return why;
}

/* Free an allocation of any share; returns 0, or why it was refused. */
SHPOOL_GLOBAL_CALL uint32_t shpool_global_free_far(void *ptr)
{
    const shpool_global_heap heap = shpool_global_get();
    shpool_global_share share = shpool_global_share_of(heap, 0);
    const size_t        each  = static_cast<size_t>(share.granules) * 16u;
    const size_t        from  = static_cast<size_t>(static_cast<unsigned char *>(ptr) -
                                                    share.payload);
    const size_t        index = from / each;
    uint32_t            why   = SHPOOL_FREE_INTERIOR;
    uint32_t            g;

    if (index >= heap.shares) { /* addresses below the heap wrap to far above it */
        return SHPOOL_FREE_FOREIGN;
    }
    if ((from & 15u) != 0) {
        return why;
    }
    g     = static_cast<uint32_t>((from - index * each) >> 4);
    share = shpool_global_share_of(heap, static_cast<uint32_t>(index));
    if (shpool_global_is_own(heap)) {
        uint32_t old = shpool_global_release_or(shpool_global_unit(&share, g >> 5) + 8,
                                                1u << (g & 31u));

        return (((old >> (g & 31u)) & 1u) != 0) ? SHPOOL_FREE_DOUBLE : SHPOOL_FREE_OK;
    }
    shpool_global_locked(share.units, [&] { why = shpool_global_return<true>(&share, g); });
    return why;
}

SHPOOL_GLOBAL_CALL uint32_t shpool_global_free(void *ptr)
{
    const uint32_t           rank = simt_thread_rank();
    const shpool_global_heap heap = shpool_global_get();

    if ((ptr == nullptr) || (heap.memory == nullptr)) {
        return (ptr == nullptr) ? SHPOOL_FREE_OK : SHPOOL_FREE_FOREIGN;
    }
    shpool_global_share share = shpool_global_share_of(heap, rank);
    const size_t        from  = static_cast<size_t>(static_cast<unsigned char *>(ptr) -
                                                    share.payload);
    const uint32_t      g     = static_cast<uint32_t>(from >> 4);

    if (!shpool_global_is_own(heap) || ((from >> 4) >= share.granules) || ((from & 15u) != 0)) {
        return shpool_global_free_far(ptr);
    }
    return shpool_global_return<false>(&share, g);
}

#endif /* SHPOOL_IMPL_GLOBAL_HEAP_H */
