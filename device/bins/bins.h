/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The base `bins`: declarations shared by its files.
 *
 *   slab    memory from the driver, 2 MiB or more; it is cut into blocks without gaps
 *   range   a slab of reserved addresses, with memory only where blocks need it (range.c)
 *   shared  a slab of one block, which can be exported to other processes (share.c)
 *   granule physical memory that is mapped into ranges, 2 MiB as a rule (granules.c)
 *   place   the addresses of one granule in a range.  A granule may be mapped at several places,
 *           and is used at one of them, its home (places.c)
 *   hole    a block of addresses in a range, without memory.  It consists of whole places, and the
 *           blocks beside it are not holes
 *   block   a piece of a slab: live, cached in a lane, pending, or free in its heap
 *   lane    belongs to one stream: lists of the blocks that were freed on it, one for each size
 *           class.  They are not merged with their neighbours, so that malloc and free are a pop
 *           and a push.  A stream that several threads use at once has several lanes (shards)
 *   heap    the free blocks of all slabs of a kind, merged with their neighbours, in bins by class
 *   class   sizes that differ by less than 1/16
 *
 * Requests below 1 MiB are served from small slabs of 2 MiB, larger ones from a heap of their own,
 * so that small blocks do not keep large slabs from becoming whole again.
 *
 * Locks, in this order: bins.lock, lanes.lock, a timeline's lock (which guards its lane).  A thread
 * that holds one of those waits for a second one only under lanes.lock (timeline.c, and observe.c,
 * which locks all); bins_free() does not wait for the second one.
 * A block that is live or in a lane is changed under the lock of its lane, `last`: that of its
 * malloc while it is live, of its free when it is cached.  A block that is free, and all links
 * between neighbours, are changed under bins.lock.
 *
 * Order of streams: a block that is not live carries the timeline that it was freed on and the
 * number of that free.  It may be reused by the same stream immediately, by any stream when that
 * number is done, and by others after a wait on the device.
 *
 * Sources: lanes and two-level segregated fit after TLSF (Masmano et al., 2004), caches in front of
 * merged heaps after dlmalloc's and tcmalloc's, slabs by size after PyTorch's caching allocator.
 */
#ifndef SHPOOL_DEVICE_BINS_H
#define SHPOOL_DEVICE_BINS_H

#include "device/base/page_map.h"
#include "device/base/timeline.h"
#include "sizes.h"

#define BINS_WORDS         ((BINS_CLASSES + 63u) / 64u)
#define BINS_MEMOS         256u
#define BINS_UNLIMITED     UINT64_MAX
#define BINS_MAX_DEVICES   64u

#pragma GCC visibility push(hidden)

/* The heaps that serve all requests. */
enum { BINS_SMALL, BINS_LARGE, BINS_WINDOWS, BINS_HEAPS };

/* bins_block.state; LIVE to CACHED and back is the way of most, and needs the lane's lock only */
enum {
    BINS_FREE = 0,       /* in its heap */
    BINS_LIVE = 1,
    BINS_CACHED = 2,     /* in a lane */
    BINS_LIVE_USED = 3,  /* live, and other streams were named to record_stream */
    BINS_LIVE_GRAPH = 4, /* live, of a pool for a graph */
    BINS_PENDING = 5,    /* freed, other streams have not finished */
    BINS_MOVING = 6,     /* on the way from the lane of its malloc to that of its free */
    BINS_HOLE = 7        /* of a range: addresses without memory */
};

typedef struct bins_slab bins_slab;
typedef struct bins_use bins_use;
typedef struct bins_place bins_place;
typedef struct bins_granule bins_granule;

typedef struct bins_block {
    struct bins_block *next; /* in a list of a lane, a bin, the pending ones, or unused records */
    struct bins_block *prev;
    char *address;
    size_t bytes;
    /* Timeline of the malloc while live, afterwards of the free; NULL: any stream may reuse it.
     * Atomic, because two frees of one pointer may race for it; the loser detects it in `state`. */
    _Atomic(shpool_timeline *) last;
    uint64_t seq;            /* of that free */
    bins_slab *slab;
    atomic_uint state;
    uint32_t class;
    /* another cache line: not needed to serve a hit */
    struct bins_block *above; /* neighbour in the slab, at the end of this one */
    struct bins_block *below;
    bins_use *uses;           /* BINS_LIVE_USED, BINS_LIVE_GRAPH and BINS_PENDING */
} bins_block;

/* A stream that uses a block which it did not allocate. */
struct bins_use {
    bins_use *next;
    shpool_timeline *timeline;
    uint64_t incarnation;
    uint64_t seq;             /* when the block is pending */
    shpool_stream stream;
};

typedef struct bins_list {
    bins_block *head; /* freed last */
    bins_block *tail;
} bins_list;

/* Lists by class, and which of them hold something. */
typedef struct bins_lists {
    uint64_t nonempty[BINS_WORDS];
    bins_list list[BINS_CLASSES];
} bins_lists;

typedef struct bins_lane bins_lane;
struct bins_lane {
    shpool_timeline timeline; /* first: the library makes lanes when it makes timelines */
    uint64_t mallocs;
    uint64_t malloc_bytes;
    uint64_t frees;
    uint64_t free_bytes;
    uint64_t unchecked_bytes; /* freed since idle bytes were compared with the capacity */
    uint64_t given;           /* blocks that other streams took without bins.lock */
    uint64_t looked;          /* number of the free before bins_flush_old() last found too little */
    uint64_t steady;          /* free from which on large blocks are taken from here (bins.c) */
    /* The lane whose finished block served the latest request that this one's stream could not, of
     * this class, and nothing was freed on this lane since; or NULL.  A hint: it may be left from
     * an earlier stream of the lane.  Relaxed: lanes exist as long as the allocator does. */
    _Atomic(bins_lane *) giver;
    atomic_uint giver_class;
    bins_lists cache;
};

/* Where a window was, by its size and the live bytes then: a program's next step needs it again. */
typedef struct bins_memo {
    uint64_t live;
    size_t bytes;
    char *start;
} bins_memo;

typedef struct bins_graph bins_graph;

typedef struct bins_heap {
    int large;
    int windows;        /* its blocks are windows (window.c) */
    bins_graph *graph;  /* that its memory is kept for, or NULL */
    bins_slab *slabs;
    bins_lists bins;
    bins_lists holes;   /* of its ranges */
} bins_heap;

struct bins_slab {
    _Atomic(bins_block *) *map; /* by granule: the block that was live there last */
    uintptr_t base;             /* a multiple of 2 MiB */
    unsigned shift;             /* of a granule */
    bins_heap *heap;
    size_t bytes;
    cu_ptr driver_ptr;          /* as returned by the driver */
    size_t driver_bytes;        /* of a range: of granules whose home it is */
    bins_place *place;          /* of a range; else NULL */
    size_t places;              /* those above have never had a granule */
    size_t maps;                /* places that have one now */
    cu_granule own;             /* of a shared slab whose memory is mapped; 0: none */
    unsigned char own_range;    /* a shared slab: reserved addresses, for it alone */
    unsigned char mapped;       /* `own` is mapped at driver_ptr */
    unsigned char exported;     /* `own` was exported: it is returned to the driver when freed */
    unsigned char busy;         /* the device may use it: waited for before it is unmapped */
    uint64_t idle_key;          /* when it became whole, less for large ones: MGPU's weighted LRU */
    bins_block *first;
    bins_slab *next;
    bins_slab *prev;
};

/* A pool for captured graphs. */
struct bins_graph {
    bins_graph *next;
    uint64_t id_high;
    uint64_t id_low;
    unsigned holds;       /* capture_begin() without its release */
    int open;
    uint64_t thread;      /* that opened it */
    uint64_t capture;     /* that used it last, by the driver's number; 0: none */
    bins_heap heap[2];
    shpool_timeline *streams; /* that captured since it was opened; only compared */
    shpool_timeline nobody;   /* of memory that no stream may reuse before the pool opens again */
};

/* Physical memory in pieces of one size. */
typedef struct bins_granules {
    size_t bytes;        /* size of each; 0: memory comes from cuMemAlloc */
    size_t least;        /* that size at first */
    size_t next;         /* number of them at which it is doubled; SIZE_MAX: never */
    int rdma;            /* other PCIe devices may reach them */
    size_t count;        /* from the driver, spare ones included */
    size_t spares;
    size_t room;         /* for spares: at least `count` */
    bins_granule **spare;
    bins_granule *all;
    bins_granule *unused;
    uint64_t searches;
    uint64_t counts;
    cu_result loss;      /* why the driver did not unmap a range at the end */
    unsigned accesses;
    cu_access access[BINS_MAX_DEVICES]; /* the own device first, then peers */
} bins_granules;

/* How long the host waited for memory that is idle but in use. */
typedef struct bins_waits {
    uint64_t longest_us; /* for one request; 0: never */
    uint64_t since_ns;   /* the first one */
    uint64_t waited_ns;
} bins_waits;

typedef enum bins_memory { BINS_MEMORY_AUTO, BINS_MEMORY_DRIVER, BINS_MEMORY_VMM } bins_memory;

typedef enum bins_reuse { BINS_REUSE_SAME, BINS_REUSE_DONE, BINS_REUSE_WAIT } bins_reuse;

typedef struct bins_self {
    shpool_timelines lanes;
    size_t whole;                 /* share=1: blocks are multiples of this; else 0 */
    _Atomic uint64_t capacity;    /* most idle bytes */
    _Atomic uint64_t hard;        /* most bytes from the driver */
    pthread_mutex_t lock;         /* guards the following members */
    uint64_t device_bytes;        /* memory of the device */
    uint64_t soft;                /* most bytes from the driver before streams wait for others */
    bins_reuse reuse;
    bins_memory memory;           /* as requested */
    int share;                    /* as requested */
    int nvtx;                     /* 1: allocations are marked for tools */
    uint64_t slab_bytes;          /* largest slab that several large requests share */
    uint64_t granule_bytes;       /* as requested; 0: the driver's pages */
    uint64_t granule_count;       /* number from which their size is doubled; 0: it is not */
    bins_heap heap[BINS_HEAPS];
    bins_granules granules;
    uint64_t mallocs;             /* requests that were served under the lock, but graphs' */
    uint64_t malloc_bytes;
    bins_memo memo[BINS_MEMOS];   /* places by hash */
    uint64_t live;                /* live bytes at the latest request that met no free block */
    uint64_t live_most;           /* most of them since the last trim */
    uint32_t guests[BINS_GUEST_CLASSES]; /* by class: live or in a lane, or pending */
    bins_waits waits;
    bins_graph *graphs;
    bins_list pending;            /* oldest at the tail */
    bins_block *unused;           /* records */
    void *records;                /* the chunks they were cut from, chained */
    bins_slab *unused_slabs;
    bins_slab *refused_slabs;     /* of no heap: the driver did not take their memory back */
    uint64_t idle_clock;
    cu_result refusal;            /* the driver's latest */
    shpool_device_stats count;    /* counters of operations under the lock */
    shpool_page_map map;
} bins_self;

/* ---- lists ---- */

static inline void bins_push(bins_lists *lists, bins_block *block)
{
    bins_list *list = &lists->list[block->class];

    block->prev = NULL;
    block->next = list->head;
    if (list->head != NULL) {
        list->head->prev = block;
    } else {
        list->tail = block;
        lists->nonempty[block->class / 64] |= 1ull << (block->class % 64);
    }
    list->head = block;
}

static inline void bins_remove(bins_lists *lists, bins_block *block)
{
    bins_list *list = &lists->list[block->class];

    if (block->prev != NULL) {
        block->prev->next = block->next;
    } else {
        list->head = block->next;
    }
    if (block->next != NULL) {
        block->next->prev = block->prev;
    } else {
        list->tail = block->prev;
    }
    if (list->head == NULL) {
        lists->nonempty[block->class / 64] &= ~(1ull << (block->class % 64));
    }
}

/* The first class from `class` on that holds something; BINS_CLASSES: none. */
unsigned bins_next_class(const bins_lists *lists, unsigned class);

/* ---- blocks ---- */

/* The block that begins at an address; NULL: none does, or it has not been live.  The map also has
 * records of blocks that were merged: those have another address by now, or none. */
static inline bins_block *bins_find(bins_self *bins, const void *ptr)
{
    uintptr_t address = (uintptr_t)ptr;
    bins_slab *slab = shpool_page_get(&bins->map, address);
    bins_block *block;

    if (slab == NULL) {
        return NULL;
    }
    block = atomic_load_explicit(&slab->map[(address - slab->base) >> slab->shift],
                                 memory_order_acquire);
    return ((block != NULL) && (block->address == ptr)) ? block : NULL;
}

static inline unsigned bins_state(const bins_block *block)
{
    return atomic_load_explicit(&((bins_block *)(uintptr_t)block)->state, memory_order_relaxed);
}

static inline void bins_set_state(bins_block *block, unsigned state)
{
    /* release: pairs with the acquires of threads that free it */
    atomic_store_explicit(&block->state, state, memory_order_release);
}

/* 1: a block of the large heap that serves a small request. */
static inline int bins_is_guest(const bins_block *block)
{
    return block->slab->heap->large && (block->bytes < BINS_LARGE_BYTES);
}

static inline void bins_set_last(bins_block *block, shpool_timeline *timeline)
{
    /* release: pairs with the acquire of a free that takes this timeline's lock */
    atomic_store_explicit(&block->last, timeline, memory_order_release);
}

/* 1: each block of the heap is its own slab. */
static inline int bins_is_shared(const bins_self *bins, const bins_heap *heap)
{
    return (bins->whole > 0) && (heap->graph == NULL);
}

/* 1: one free block fills a slab, which can go back as a whole; ranges never do. */
static inline int bins_is_whole(const bins_slab *slab)
{
    return (slab->place == NULL) && (slab->first->above == NULL) &&
           (bins_state(slab->first) == BINS_FREE);
}

/* 1: work submitted to the timeline's stream may use the block immediately. */
static inline int bins_usable(const bins_block *block, const shpool_timeline *timeline)
{
    return (block->last == NULL) || shpool_timeline_same(block->last, timeline) ||
           shpool_timeline_is_done(block->last, block->seq);
}

/* The next slab of the heaps that serve all; NULL: begins with the first, ends after the last. */
static inline bins_slab *bins_next_slab(bins_self *bins, const bins_slab *slab)
{
    size_t i = (slab != NULL) ? (size_t)(slab->heap - bins->heap) : 0;
    bins_slab *next = (slab != NULL) ? slab->next : bins->heap[0].slabs;

    while ((next == NULL) && (++i < BINS_HEAPS)) {
        next = bins->heap[i].slabs;
    }
    return next;
}

/* ---- all streams (bins/lanes.c) ---- */

static inline bins_lane *bins_first_lane(bins_self *bins)
{
    return (bins_lane *)atomic_load_explicit(&bins->lanes.all, memory_order_acquire);
}

static inline bins_lane *bins_next_lane(bins_lane *lane)
{
    return (bins_lane *)lane->timeline.next;
}

/* Ask the driver how far a stream is. */
void bins_poll(bins_self *bins, bins_lane *lane);

/* Under the lock: idle bytes of the heaps that serve all. */
uint64_t bins_idle_bytes(bins_self *bins);

/* ---- slabs, blocks and heaps (bins/block.c), under bins.lock ---- */

/* Create a slab's structure and all its host memory, the `map` for `bytes`, and the record of its
 * first block; the second function releases them, after the driver freed the memory or refused. */
shpool_status bins_slab_prepare(bins_self *bins, int large, size_t bytes, bins_slab **slab_p,
                                bins_block **block_p);
void bins_slab_drop(bins_self *bins, bins_slab *slab, bins_block *block, cu_result result);

/* Make the slab one block in a state, which is in no list, and its pages known. */
shpool_status bins_slab_begin(bins_self *bins, bins_heap *heap, bins_slab *slab, bins_block *block,
                              unsigned state);

void bins_slab_unlink(bins_slab *slab);

/* A block that is in no list becomes live, and is found by its address. */
void bins_hand_out(bins_block *block, shpool_timeline *timeline, unsigned state);

/* Records of blocks; NULL: no host memory. */
bins_block *bins_record_get(bins_self *bins);
void bins_record_put(bins_self *bins, bins_block *block);

/* Forget the streams that use a block. */
void bins_use_forget(bins_block *block);

/* Cut a block that is in no list: the part above the first `bytes` becomes `rest`, a record. */
void bins_split(bins_block *block, size_t bytes, bins_block *rest);

/* The upper of two neighbours becomes part of the lower, with the later order of both; neither is
 * in a list. */
void bins_join(bins_self *bins, bins_block *lower, bins_block *upper);

/* 1: the stream that freed it has finished with it. */
int bins_is_done(bins_block *block);

/* Cut the first `need` bytes off a free block; the rest becomes a free block.  A shared one stays
 * whole.  The block leaves its bin.  NULL: no host memory for the rest. */
bins_block *bins_cut(bins_self *bins, bins_block *block, size_t need);

/* Put a block that was in no list into its heap, merged with its neighbours if they are free in a
 * compatible order. */
void bins_heap_put(bins_self *bins, bins_block *block);

/* Merge blocks that have become compatible. */
void bins_heap_merge(bins_self *bins, bins_heap *heap);

/* Kinds of blocks that bins_heap_take() may return. */
typedef enum bins_which {
    BINS_USABLE, /* at once */
    BINS_WAITABLE /* after a wait on the device */
} bins_which;

/*
 * A free block of at least `need` bytes, cut to it, out of its bin; NULL: none.  At most `depth`
 * blocks of each bin are looked at.
 */
bins_block *bins_heap_take(bins_self *bins, bins_heap *heap, size_t need,
                           const shpool_timeline *timeline, bins_which which, unsigned depth);

/* ---- memory from the driver ---- */

static inline void bins_count_taken(bins_self *bins, size_t bytes)
{
    bins->count.driver_mallocs++;
    bins->count.driver_bytes += bytes;
    if (bins->count.driver_bytes > bins->count.driver_bytes_peak) {
        bins->count.driver_bytes_peak = bins->count.driver_bytes;
    }
}

static inline void bins_count_given(bins_self *bins, size_t bytes)
{
    bins->count.driver_frees++;
    bins->count.driver_bytes -= bytes;
}

/* ---- waits of the host (bins/wait.c), under bins.lock ---- */

/* Wait until more frees of a stream are done; 0: they are not, or that takes too long. */
int bins_wait(bins_self *bins, bins_lane *lane);

/* ---- memory that can be exported (bins/share.c, export.c), under bins.lock ---- */

/* Allocate memory for a shared slab; returns the driver's refusal, after which bins_share_give()
 * undoes the rest. */
cu_result bins_share_take(bins_self *bins, bins_slab *slab, size_t bytes);

/* Back to the driver, after a wait for the device if the slab is busy; after a refusal the rest can
 * be tried again. */
cu_result bins_share_give(bins_self *bins, bins_slab *slab);

/* 1: exported memory was freed, and its streams may not have finished with it. */
int bins_share_is_busy(const bins_self *bins);

/* Takes the lock. */
shpool_status bins_export(void *self, const void *ptr, shpool_device_handle *handle_p);

/* ---- slabs of the driver (bins/slab.c), under bins.lock ---- */

/* A slab for `need` bytes, as one free block in the heap; the driver's refusal is in
 * bins->refusal.  exact: no larger than it must be. */
shpool_status bins_slab_create(bins_self *bins, bins_heap *heap, size_t need, int exact);

/* Give a slab back to the driver that is one block, which is free or in no list; 0: it refused,
 * nothing has changed. */
int bins_slab_release(bins_self *bins, bins_slab *slab);

/* Return whole slabs, starting with large ones and those idle for longest, until `wanted` bytes are
 * returned or none is left; returns the bytes. */
uint64_t bins_release(bins_self *bins, uint64_t wanted);

/* Return all slabs, whatever their contents; ends the heap. */
void bins_heap_fini(bins_self *bins, bins_heap *heap);

/* Return the rest at the end of the allocator, and report what the driver refuses. */
void bins_slabs_fini(bins_self *bins);

/* ---- slow path (bins/slow.c), acquires the lock itself ---- */
shpool_status bins_malloc_slow(bins_self *bins, size_t bytes, size_t need, bins_lane *lane,
                               shpool_stream stream, void **ptr_p);
shpool_status bins_free_slow(bins_self *bins, bins_block *block, void *ptr, shpool_stream stream);

/* Out of memory; the detail lists the reserved memory.  Called without a lock: the message's
 * receiver may call the allocator. */
shpool_status bins_out_of_memory(bins_self *bins, size_t bytes);

/* ---- what is idle (bins/trim.c) ---- */

/* Under the lock: move a lane's cached blocks to their heaps: all, or those that are done.  If
 * `least` is not 0, it moves only blocks of the large heap that have at least `least` bytes.  In
 * the heap, blocks of several lanes of a stream can be merged.  Returns the number of blocks. */
size_t bins_flush(bins_self *bins, bins_lane *lane, size_t least, int done_only);

/* Under the lock: move those of a lane's blocks of the small heap that were freed long ago to that
 * heap, if they are many bytes; 0: they are not. */
int bins_flush_old(bins_self *bins, bins_lane *lane);

/* Under the lock: move all lanes' cached blocks to the heaps, returns how many; then merge all
 * possible blocks; then return whole slabs, `need` bytes if there are enough, returns how many. */
size_t bins_flush_all(bins_self *bins);
void bins_merge_all(bins_self *bins);
uint64_t bins_make_room(bins_self *bins, size_t need);

/* These take it themselves. */
shpool_status bins_trim(void *self, size_t keep_bytes);
void bins_keep_capacity(bins_self *bins);
void bins_keep_hard(bins_self *bins);

/* ---- other streams (bins/use.c) ---- */
shpool_status bins_record_stream(void *self, void *ptr, shpool_stream user);

/* Under the lock: the same for a live block. */
shpool_status bins_use_add(bins_self *bins, bins_block *block, shpool_stream user);

/* Under the lock: note how far the streams that use a block are, now that it is freed; it is
 * pending. */
void bins_use_mark(bins_self *bins, bins_block *block);

/* Under the lock: pending blocks whose streams have finished go to their heaps, exported ones to
 * the driver; and one of them. */
void bins_use_drain(bins_self *bins, int all);
void bins_use_settle(bins_self *bins, bins_block *block);

/* Change the state of a live block, under the lock of the lane that it was allocated from.  Of two
 * frees the first succeeds.  0: the block is no longer live.  Without `wait` also 0: another thread
 * has the lock. */
int bins_claim(bins_block *block, unsigned state, int wait);

/* Under the lock: claim a live block to be freed under the lock; 0: it is no longer live. */
int bins_use_claim(bins_block *block);

/* Let a stream wait for the free of a number; 0: no event covers it, and none can be recorded. */
int bins_order(bins_self *bins, shpool_timeline *t, uint64_t seq, shpool_stream stream);

/* Under the lock: a pending block of at least need bytes, for a stream that is made to wait. */
bins_block *bins_use_wait(bins_self *bins, size_t need, shpool_timeline *timeline,
                          shpool_stream stream);

/* ---- graphs (bins/graph.c) ---- */

/* 1: the stream captures, and *status_p is malloc's answer; 0: it does not. */
int bins_graph_malloc(bins_self *bins, size_t need, shpool_stream stream, void **ptr_p,
                      shpool_status *status_p);
/* Under the lock: free a block of a pool. */
shpool_status bins_graph_free(bins_self *bins, bins_block *block, shpool_stream stream);
shpool_status bins_capture_begin(void *self, uint64_t id_high, uint64_t id_low);
shpool_status bins_capture_end(void *self, uint64_t id_high, uint64_t id_low);
shpool_status bins_capture_release(void *self, uint64_t id_high, uint64_t id_low);
void bins_graphs_fini(bins_self *bins);

/* ---- their pools (bins/pool.c), under bins.lock ---- */

/* The link to the pool of a number; it holds NULL if there is none. */
bins_graph **bins_graph_place(bins_self *bins, uint64_t id_high, uint64_t id_low);

/* What stands for a stream in the tags of a pool's blocks; its numbers are never done. */
shpool_timeline *bins_graph_stream(bins_graph *graph, shpool_stream stream);

/* The same for a user of a block; NULL: it does not capture, or the block belongs to no pool. */
shpool_timeline *bins_graph_user(bins_self *bins, const bins_block *block, shpool_stream user);

/* Forget the users of a block that captured when they were recorded, or (now: 1) do so at present.
 * 1: one of them was not the stream that t stands for. */
int bins_graph_forget_users(bins_self *bins, bins_block *block, const shpool_timeline *t, int now);

/* Any stream may reuse all that is free. */
void bins_graph_forget_order(bins_self *bins, bins_graph *graph);
void bins_graph_forget_streams(bins_graph *graph);

/* Put a block back that all users have finished with; and return the memory of a pool that is not
 * needed any more. */
void bins_graph_put(bins_self *bins, bins_block *block);
void bins_graph_drop(bins_self *bins, bins_graph *graph);

/* Takes the lock.  The stream will be destroyed: do not query it any more. */
void bins_graph_retire(bins_self *bins, shpool_stream stream);

/* ---- observation (bins/observe.c) ---- */
shpool_status bins_stats(void *self, shpool_device_stats *stats);
shpool_status bins_reset_peak(void *self);
shpool_status bins_check(void *self);
shpool_status bins_walk(void *self, shpool_device_walk_fn function, void *user);
shpool_status bins_base(void *self, const void *ptr, void **base_p, size_t *bytes_p);

#pragma GCC visibility pop

#endif /* SHPOOL_DEVICE_BINS_H */
