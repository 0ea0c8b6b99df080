/* SPDX-License-Identifier: BSD-3-Clause */
/* Computes the number and size of the pools, and the shared memory of a block that they need. */
#include "internal.h"

#include <shpool/impl/report/zones.h>
#include <shpool/impl/waiters.h>

#include <string.h>

#define SEARCHED_BYTES (16u << 20) /* details search no further for the needed size */
#define SPILL_DEFAULT  (64u << 10) /* of a block */
#define SPILL_MOST     (1u << 30)

/* Sizes that one pool may have: multiples of `unit`, and only odd multiples if `odd`. */
typedef struct pool_sizes {
    const shpool_allocator *allocator;
    uint32_t alignment;
    uint32_t flags;
    uint32_t unit;
    uint32_t odd;
} pool_sizes;

static uint32_t round_up(uint32_t value, uint32_t power_of_two)
{
    return (value + power_of_two - 1) & ~(power_of_two - 1);
}

static uint32_t log2_of(uint32_t power_of_two)
{
    uint32_t shift = 0;

    while ((power_of_two >> shift) > 1) {
        shift++;
    }
    return shift;
}

static const char *plural(uint32_t count)
{
    return (count == 1) ? "" : "s";
}

/*
 * m = ceil(2^32 / d) = (2^32 + e) / d with 0 <= e < d.  Then rank * m / 2^32 is
 * rank / d + rank * e / (d * 2^32); the second term is below 1 / d, so it cannot carry the value
 * to the next integer, because rank * e < 2^10 * 2^10 is below 2^32.  d = 1 would need m = 2^32:
 * 0 stands for it.
 */
uint32_t shpool_plan_magic(uint32_t divisor)
{
    return (divisor > 1) ? UINT32_MAX / divisor + 1 : 0;
}

static shpool_status check_config(const shpool_config *want)
{
    const uint32_t flags = SHPOOL_FLAG_STATS | SHPOOL_FLAG_CHECK | SHPOOL_FLAG_COPIES;
    const struct { const char *name; uint32_t value; int good; const char *legal; } fields[] = {
        { "block_threads", want->block_threads,
          (want->block_threads > 0) && (want->block_threads <= SHPOOL_MAX_THREADS),
          "a block has 1..1024 threads" },
        { "threads_per_pool", want->threads_per_pool, want->threads_per_pool <= SHPOOL_MAX_THREADS,
          "give 1..1024, or 0 for the allocator's own choice" },
        { "flags", want->flags, (want->flags & ~flags) == 0,
          "only SHPOOL_FLAG_STATS (1), SHPOOL_FLAG_CHECK (2) and SHPOOL_FLAG_COPIES (16384) may be "
          "set" },
        { "binding", want->binding, want->binding <= SHPOOL_BINDING_LINKED,
          "it is SHPOOL_BINDING_AUTO (0), _TABLE (1) or _LINKED (2)" },
        { "spill", want->spill, want->spill <= (SHPOOL_SPILL_ARENA | SHPOOL_SPILL_NATIVE),
          "only SHPOOL_SPILL_ARENA (1) and SHPOOL_SPILL_NATIVE (2) may be set" },
        { "spill_blocks", want->spill_blocks, want->spill_blocks <= SHPOOL_SPILL_BLOCKS,
          "no device runs more than 65536 blocks at once" },
    };

    if ((want->payload_bytes != 0) && (want->total_bytes != 0)) {
        return shpool_error(SHPOOL_ERR_INVALID, "payload_bytes %u and total_bytes %u are both "
                            "given: leave one of them 0", want->payload_bytes, want->total_bytes);
    }
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(fields); i++) {
        if (!fields[i].good) {
            return shpool_error(SHPOOL_ERR_INVALID, "%s is %u, %s", fields[i].name,
                                fields[i].value, fields[i].legal);
        }
    }
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(want->reserved); i++) {
        if (want->reserved[i] != 0) {
            return shpool_error(SHPOOL_ERR_INVALID, "reserved[%zu] of the configuration is %u, not "
                                "0: zero the whole structure before setting fields", i,
                                want->reserved[i]);
        }
    }
    return SHPOOL_OK;
}

/*
 * Slots are whole KiB, so that each begins at a multiple of the largest alignment; their granules
 * are few enough for a bit map in the block's shared memory.
 */
static shpool_status plan_spill(const shpool_config *want, shpool_pool *pool)
{
    uint64_t bytes = (want->spill_bytes != 0) ? want->spill_bytes : SPILL_DEFAULT;
    uint32_t shift = log2_of(SHPOOL_SPILL_LEAST);

    if ((want->spill & SHPOOL_SPILL_NATIVE) != 0) {
        pool->flags |= SHPOOL_FLAG_SPILL | SHPOOL_FLAG_SPILL_NATIVE;
    }
    if ((want->spill & SHPOOL_SPILL_ARENA) == 0) {
        return SHPOOL_OK;
    }
    bytes = (bytes + SHPOOL_MAX_ALIGNMENT - 1) & ~(uint64_t)(SHPOOL_MAX_ALIGNMENT - 1);
    if (bytes > SPILL_MOST) {
        return shpool_error(SHPOOL_ERR_TOO_LARGE, "spill_bytes is %u for each block, at most %u "
                            "are possible", want->spill_bytes, SPILL_MOST);
    }
    while (((bytes + (1ull << shift) - 1) >> shift) > SHPOOL_SPILL_GRANULES) {
        shift++;
    }
    pool->flags |= SHPOOL_FLAG_SPILL | SHPOOL_FLAG_SPILL_ARENA;
    pool->spill_shift = shift;
    pool->spill_bytes = (uint32_t)(((bytes + (1ull << shift) - 1) >> shift) << shift);
    pool->spill_slots = want->spill_blocks;
    return SHPOOL_OK;
}

/* Bytes of the area before the pools: counters (with check=1 twice), and two bits for each granule
 * of a slot.  The bits have the same offset with and without check=1, so the area is the larger
 * one in both cases. */
static uint32_t area_bytes(const shpool_config *want, const shpool_pool *pool)
{
    uint32_t granules = pool->spill_bytes >> pool->spill_shift;

    if (((want->flags & (SHPOOL_FLAG_STATS | SHPOOL_FLAG_CHECK)) == 0) &&
        (want->spill == SHPOOL_SPILL_FAIL)) {
        return 0;
    }
    return round_up((((want->flags & SHPOOL_FLAG_CHECK) != 0) || (granules != 0)
                         ? SHPOOL_AREA_CHECKED : SHPOOL_AREA_BYTES) + 8 * ((granules + 31) / 32),
                    want->alignment);
}

/* Bytes of a region that are not pools'. */
static uint32_t other_bytes(const shpool_pool *pool)
{
    return SHPOOL_SLACK_BYTES(pool->alignment) + pool->area_bytes;
}

/* Everything that does not depend on bytes. */
static void plan_shape(const shpool_allocator *allocator, const shpool_config *want,
                       shpool_pool *pool)
{
    uint32_t threads = want->threads_per_pool;

    switch (allocator->scope) {
    case SHPOOL_SCOPE_THREAD:
        threads = 1;
        break;
    case SHPOOL_SCOPE_BLOCK:
    case SHPOOL_SCOPE_CLUSTER:
        threads = want->block_threads;
        break;
    default:
        if (threads == 0) {
            threads = (allocator->threads_per_pool != 0) ? allocator->threads_per_pool : 32u;
        }
        if (threads > want->block_threads) {
            threads = want->block_threads;
        }
        break;
    }

    pool->abi = SHPOOL_ABI;
    pool->bytes = sizeof(*pool);
    pool->allocator = shpool_name_id(allocator->name);
    pool->flags |= want->flags | (log2_of(want->alignment) << SHPOOL_FLAG_ALIGN_SHIFT);
    if (((allocator->caps & SHPOOL_CAP_SPILL) != 0) && (want->spill == SHPOOL_SPILL_FAIL)) {
        pool->flags |= SHPOOL_FLAG_SPILL | SHPOOL_FLAG_SPILL_NATIVE;
    }
    if (allocator->scope == SHPOOL_SCOPE_CLUSTER) {
        pool->flags |= SHPOOL_FLAG_CLUSTER;
    }
    if ((threads > 1) || (allocator->scope == SHPOOL_SCOPE_CLUSTER)) {
        pool->flags |= SHPOOL_FLAG_SHARED;
    }
    if (((allocator->caps & SHPOOL_CAP_OUT_OF_BAND) == 0) ||
        ((threads > 1) && ((allocator->caps & SHPOOL_CAP_LOCK_FREE) == 0))) {
        pool->flags |= SHPOOL_FLAG_IN_BAND;
    }
    pool->area_bytes = area_bytes(want, pool);
    pool->pools = (want->block_threads + threads - 1) / threads;
    pool->threads_per_pool = threads;
    pool->block_threads = want->block_threads;
    pool->pool_magic = shpool_plan_magic(threads);
    pool->alignment = want->alignment;
    pool->scope = allocator->scope;
    memcpy(pool->name, allocator->name, strlen(allocator->name) + 1);
}

/*
 * The next pool's base needs the alignment as well, so pools in a row are a multiple of it apart.
 * At 16 they are an odd multiple of 16 bytes apart: were it a multiple of 128, the 32 lanes of a
 * warp would find the same word of their pools' metadata in one and the same bank, and each access
 * would take 32 turns.  Odd multiples of 16 spread the lanes
 * over all 8 places that a 16-byte stride can reach.
 */
static pool_sizes sizes_of(const shpool_allocator *allocator, const shpool_pool *pool)
{
    return (pool_sizes){
        .allocator = allocator,
        .alignment = pool->alignment,
        .flags = pool->flags,
        .unit = (pool->pools > 1) ? pool->alignment : SHPOOL_MIN_ALIGNMENT,
        .odd = (pool->pools > 1) && (pool->alignment == SHPOOL_MIN_ALIGNMENT),
    };
}

/* The module's layout of a pool of `bytes`. */
static shpool_layout layout_of(shpool_layout_fn layout, uint32_t bytes, uint32_t alignment,
                               uint32_t flags)
{
    return layout(bytes - shpool_wait_bytes(flags, bytes), alignment);
}

static uint32_t largest_of(const pool_sizes *sizes, uint32_t bytes)
{
    return (bytes > 0) ? shpool_zone_room(layout_of(sizes->allocator->layout, bytes,
                                                    sizes->alignment, sizes->flags).largest,
                                          sizes->flags)
                       : 0;
}

/* The largest permitted size that is at most `bytes`; 0 if there is none. */
static uint32_t size_at_most(const pool_sizes *sizes, uint32_t bytes)
{
    uint32_t count = bytes / sizes->unit;

    if (sizes->odd && (count > 0) && (count % 2 == 0)) {
        count--;
    }
    return count * sizes->unit;
}

/*
 * The smallest permitted size up to `most` (itself permitted) whose largest malloc is at least
 * `payload`; 0 if there is none.  A layout never has less for more bytes, so a binary search finds
 * it.
 */
static uint32_t smallest_size(const pool_sizes *sizes, uint32_t payload, uint32_t most)
{
    const uint32_t step = sizes->odd ? 2 * sizes->unit : sizes->unit;
    uint32_t low = 0; /* in steps above the smallest permitted size, which is one unit */
    uint32_t high;

    if ((most == 0) || (largest_of(sizes, most) < payload)) {
        return 0;
    }

    high = (most - sizes->unit) / step;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (largest_of(sizes, sizes->unit + middle * step) >= payload) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return sizes->unit + low * step;
}

static shpool_status too_large(const pool_sizes *sizes, const shpool_pool *pool, uint32_t payload,
                               uint32_t requested, uint32_t most, uint32_t limit)
{
    uint32_t needed = smallest_size(sizes, payload, size_at_most(sizes, SEARCHED_BYTES));
    unsigned long long fits = (unsigned long long)largest_of(sizes, most) * pool->pools;
    char detail[512];
    shpool_text text = shpool_text_make(detail, sizeof(detail));

    shpool_text_add(&text, "\"%s\" needs ", pool->name);
    if (needed != 0) {
        shpool_text_add(&text, "%llu bytes",
                        (unsigned long long)needed * pool->pools + other_bytes(pool));
    } else {
        shpool_text_add(&text, "far more than %u bytes", limit);
    }
    shpool_text_add(&text, " of shared memory for payload_bytes %u in %u pool%s, a block has at "
                    "most %u (%u KiB); ", requested, pool->pools, plural(pool->pools), limit,
                    limit / 1024u);
    if (fits > 0) {
        shpool_text_add(&text, "payload_bytes %llu would fit", fits);
    } else {
        shpool_text_add(&text, "no payload fits into that many pools: use fewer threads or more "
                        "threads_per_pool");
    }
    return shpool_error(SHPOOL_ERR_TOO_LARGE, "%s", detail);
}

/* Serves nothing from its pool at any size, and says that this is meant (native, null). */
static int is_empty(const shpool_allocator *allocator, uint32_t alignment)
{
    return ((allocator->caps & (SHPOOL_CAP_SPILL | SHPOOL_CAP_NONE)) != 0) &&
           (allocator->layout(SHPOOL_MAX_SHARED, alignment).largest == 0);
}

/* The smallest pool for the requested payload. */
static shpool_status size_by_payload(const pool_sizes *sizes, const shpool_config *want,
                                     uint32_t limit, shpool_pool *pool)
{
    uint32_t room = (limit > other_bytes(pool)) ? limit - other_bytes(pool) : 0;
    uint32_t most = size_at_most(sizes, room / pool->pools);
    uint32_t payload;

    if (want->payload_bytes == 0) {
        return shpool_error(SHPOOL_ERR_TOO_SMALL,
                            "payload_bytes is 0, and so is total_bytes; \"%s\" with %u pool%s "
                            "needs a payload of at least %u", pool->name, pool->pools,
                            plural(pool->pools), pool->pools);
    }
    payload = (want->payload_bytes - 1) / pool->pools + 1;
    pool->pool_bytes = smallest_size(sizes, payload, most);
    return (pool->pool_bytes != 0)
               ? SHPOOL_OK : too_large(sizes, pool, payload, want->payload_bytes, most, limit);
}

/* The most bytes of a pool that the total allows. */
static shpool_status size_by_total(const pool_sizes *sizes, const shpool_config *want,
                                   uint32_t limit, shpool_pool *pool)
{
    uint32_t total = want->total_bytes;
    uint32_t least = smallest_size(sizes, 1, size_at_most(sizes, SEARCHED_BYTES));
    unsigned long long needed;

    if (total > limit) {
        return shpool_error(SHPOOL_ERR_TOO_LARGE, "total_bytes is %u, a block has at most %u "
                            "(%u KiB)", total, limit, limit / 1024u);
    }
    if (total > other_bytes(pool)) {
        pool->pool_bytes = size_at_most(sizes, (total - other_bytes(pool)) / pool->pools);
    }
    if ((pool->pool_bytes != 0) && (largest_of(sizes, pool->pool_bytes) != 0)) {
        return SHPOOL_OK;
    }
    needed = (unsigned long long)least * pool->pools + other_bytes(pool);
    if ((least == 0) || (needed > limit)) {
        return shpool_error(SHPOOL_ERR_TOO_SMALL,
                            "total_bytes %u cannot hold an allocation in each of %u pool%s of "
                            "\"%s\", nor can the %u bytes that a block has: use fewer threads "
                            "or more threads_per_pool", total, pool->pools, plural(pool->pools),
                            pool->name, limit);
    }
    return shpool_error(SHPOOL_ERR_TOO_SMALL, "total_bytes %u cannot hold an allocation in each of "
                        "%u pool%s of \"%s\": %llu can", total, pool->pools, plural(pool->pools),
                        pool->name, needed);
}

/* Empty pools need the area only, and what aligns it. */
static shpool_status size_of_empty(const shpool_config *want, uint32_t limit,
                                   const shpool_pool *pool)
{
    uint32_t most = ((want->total_bytes != 0) && (want->total_bytes < limit)) ? want->total_bytes
                                                                              : limit;

    if (pool->shared_bytes <= most) {
        return SHPOOL_OK;
    }
    return shpool_error((most == limit) ? SHPOOL_ERR_TOO_LARGE : SHPOOL_ERR_TOO_SMALL,
                        "\"%s\" needs %u bytes of shared memory to count, and may use at most %u: "
                        "leave stats and spill out, or raise %s to %u", pool->name,
                        pool->shared_bytes, most, (most == limit) ? "shared_limit" : "total_bytes",
                        pool->shared_bytes);
}

static uint32_t limit_of(const shpool_config *want)
{
    return ((want->shared_limit != 0) && (want->shared_limit < SHPOOL_MAX_SHARED))
               ? want->shared_limit : SHPOOL_MAX_SHARED;
}

static shpool_status plan_bytes(const shpool_allocator *allocator, const shpool_config *want,
                                shpool_pool *pool)
{
    const uint32_t limit = limit_of(want);
    pool_sizes sizes = sizes_of(allocator, pool);
    shpool_layout layout;
    shpool_status status;

    pool->shared_bytes = (pool->area_bytes != 0) ? other_bytes(pool) : 0;
    if (is_empty(allocator, pool->alignment)) {
        return size_of_empty(want, limit, pool);
    }
    status = (want->total_bytes != 0) ? size_by_total(&sizes, want, limit, pool)
                                      : size_by_payload(&sizes, want, limit, pool);
    if (status != SHPOOL_OK) {
        return status;
    }

    layout = layout_of(allocator->layout, pool->pool_bytes, pool->alignment, pool->flags);
    pool->largest = shpool_zone_room(layout.largest, pool->flags);
    pool->word[0] = layout.word[0];
    pool->word[1] = layout.word[1];
    pool->shared_bytes = other_bytes(pool) + pool->pools * pool->pool_bytes;
    return SHPOOL_OK;
}

/* The configuration gets the payload that the requests need, in place of a size. */
static shpool_status ask_for(const shpool_allocator *allocator, const shpool_pool *pool,
                             const shpool_request *requests, uint32_t n, shpool_config *config)
{
    shpool_status status = shpool_requests_check(allocator, pool, requests, n);
    uint64_t room;

    if (status != SHPOOL_OK) {
        return status;
    }
    if ((config->payload_bytes != 0) || (config->total_bytes != 0)) {
        return shpool_error(SHPOOL_ERR_INVALID, "payload_bytes is %u and total_bytes %u: the "
                            "requests decide the size, leave both 0", config->payload_bytes,
                            config->total_bytes);
    }
    room = shpool_requests_room(allocator, pool, requests, n) - shpool_zone_cost(pool->flags);
    room = (room < UINT32_MAX) ? room * pool->pools : UINT32_MAX;
    config->payload_bytes = (room < UINT32_MAX) ? (uint32_t)room : UINT32_MAX;
    return SHPOOL_OK;
}

static shpool_status requests_too_large(const shpool_config *config, const shpool_pool *pool)
{
    const int fewer = (pool->scope == SHPOOL_SCOPE_GROUP) && (pool->pools > 1);

    return shpool_error(SHPOOL_ERR_TOO_LARGE, "the requests need a payload of %s%u bytes in %u "
                        "pool%s of \"%s\", too much for %u bytes of shared memory: plan less at "
                        "the same time%s", (config->payload_bytes == UINT32_MAX) ? "over " : "",
                        config->payload_bytes, pool->pools, plural(pool->pools), pool->name,
                        limit_of(config),
                        fewer ? ", or a larger threads_per_pool" : ", or another allocator");
}

/* requests: the pools are made for them; the configuration then gets the payload. */
static shpool_status plan_pool(const shpool_allocator *allocator, const shpool_request *requests,
                               uint32_t n, shpool_config *want, shpool_pool *pool)
{
    shpool_status status = plan_spill(want, pool);

    if (status == SHPOOL_OK) {
        plan_shape(allocator, want, pool);
        status = (n != 0) ? ask_for(allocator, pool, requests, n, want) : SHPOOL_OK;
    }
    if (status == SHPOOL_OK) {
        status = plan_bytes(allocator, want, pool);
        if ((status == SHPOOL_ERR_TOO_LARGE) && (n != 0) && !is_empty(allocator, pool->alignment)) {
            return requests_too_large(want, pool);
        }
    }
    return status;
}

/* Whether some request of that size is served, from a fresh pool or by spilling. */
static int serves(const shpool_allocator *allocator, const shpool_pool *pool, uint32_t bytes)
{
    return (bytes <= pool->largest) || (bytes <= pool->spill_bytes) ||
           ((pool->flags & SHPOOL_FLAG_SPILL_NATIVE) != 0) ||
           ((allocator->caps & SHPOOL_CAP_NONE) != 0);
}

/* The least threads_per_pool from `threads` on whose pools serve the stated request; 0: none.  If
 * `bytes_p` is not NULL, the payload is what this takes, and is stored there. */
static uint32_t threads_that_serve(const shpool_allocator *allocator, const shpool_config *want,
                                   uint32_t threads, uint32_t *bytes_p)
{
    shpool_config other = *want;

    for (; threads <= want->block_threads; threads++) {
        uint64_t pools = (want->block_threads + threads - 1) / threads;
        shpool_pool pool = { .abi = 0 };

        other.threads_per_pool = threads;
        if (bytes_p != NULL) {
            other.payload_bytes = (want->request_bytes * pools < UINT32_MAX)
                                      ? (uint32_t)(want->request_bytes * pools) : UINT32_MAX;
            other.total_bytes = 0;
            *bytes_p = other.payload_bytes;
        }
        if ((plan_pool(allocator, NULL, 0, &other, &pool) == SHPOOL_OK) &&
            (pool.threads_per_pool == threads) && serves(allocator, &pool, want->request_bytes)) {
            return threads;
        }
    }
    return 0;
}

/* Refuse pools that can never serve the largest request that the program states. */
static shpool_status check_request(const shpool_allocator *allocator, const shpool_config *want,
                                   const shpool_pool *pool)
{
    const uint32_t mine = pool->threads_per_pool;
    uint32_t bytes = 0;
    uint32_t shared;
    uint32_t larger;
    char detail[512];
    shpool_text text = shpool_text_make(detail, sizeof(detail));

    if (serves(allocator, pool, want->request_bytes)) {
        return SHPOOL_OK;
    }
    shpool_text_add(&text, "request_bytes is %u, but a pool of \"%s\" for %u thread%s (%u pool%s) "
                    "serves at most %u: ", want->request_bytes, pool->name, mine, plural(mine),
                    pool->pools, plural(pool->pools), pool->largest);
    shared = threads_that_serve(allocator, want, mine + 1, NULL);
    larger = threads_that_serve(allocator, want, mine, &bytes);
    if (shared != 0) {
        shpool_text_add(&text, "threads_per_pool=%u or ", shared);
    }
    if (larger == mine) {
        shpool_text_add(&text, "payload_bytes=%u or ", bytes);
    } else if ((shared | larger) == 0) {
        shpool_text_add(&text, "%u bytes of shared memory are too few for it, but ",
                        limit_of(want));
    } else if (shared == 0) {
        shpool_text_add(&text, "threads_per_pool=%u with payload_bytes=%u or ", larger, bytes);
    }
    shpool_text_add(&text, "spill=native would serve it");
    return shpool_error(SHPOOL_ERR_TOO_LARGE, "%s", detail);
}

/* The plan of a configuration or, if there are requests, of these. */
static shpool_status make_plan(const char *spec, const shpool_config *want,
                               const shpool_request *requests, uint32_t n, shpool_pool *pool_p,
                               const shpool_allocator **allocator_p)
{
    shpool_selection selection;
    shpool_config config = *want;
    shpool_pool pool = { .abi = 0 };
    shpool_status status = shpool_config_check();

    if (status == SHPOOL_OK) {
        status = check_config(&config);
    }
    if (status == SHPOOL_OK) {
        status = shpool_select(spec, &config, &selection);
    }
    if (status != SHPOOL_OK) {
        return status;
    }

    if (config.binding == SHPOOL_BINDING_AUTO) {
        status = shpool_config_binding(&config.binding);
    }
    /* the counted functions are in a table */
    pool.binding = ((config.flags & (SHPOOL_FLAG_STATS | SHPOOL_FLAG_CHECK)) != 0)
                       ? (uint32_t)SHPOOL_BINDING_TABLE : config.binding;
    if (status == SHPOOL_OK) {
        status = plan_pool(selection.allocator, requests, n, &config, &pool);
    }
    if (status == SHPOOL_OK) {
        status = check_request(selection.allocator, &config, &pool);
        pool.flags |= (selection.trace[0] != '\0') ? (uint32_t)SHPOOL_FLAG_TRACE : 0;
    }
    if (status != SHPOOL_OK) {
        return shpool_select_blame(&selection, status);
    }
    *pool_p = pool;
    if (allocator_p != NULL) {
        *allocator_p = selection.allocator;
    }
    return SHPOOL_OK;
}

static shpool_status start_plan(const shpool_config *want, shpool_pool *pool_p)
{
    if (pool_p == NULL) {
        return shpool_error(SHPOOL_ERR_INVALID, "pool_p is NULL");
    }
    memset(pool_p, 0, sizeof(*pool_p));
    if (want == NULL) {
        return shpool_error(SHPOOL_ERR_INVALID, "want is NULL, a configuration is needed");
    }
    return SHPOOL_OK;
}

shpool_status shpool_plan_for(const char *spec, const shpool_config *want, shpool_pool *pool_p,
                              const shpool_allocator **allocator_p)
{
    shpool_status status = start_plan(want, pool_p);

    if (allocator_p != NULL) {
        *allocator_p = NULL;
    }
    return (status == SHPOOL_OK) ? make_plan(spec, want, NULL, 0, pool_p, allocator_p) : status;
}

shpool_status shpool_plan_requests(const char *spec, const shpool_config *want,
                                   const shpool_request *requests, uint32_t n, shpool_pool *pool_p)
{
    shpool_status status = start_plan(want, pool_p);

    if (status != SHPOOL_OK) {
        return status;
    }
    if ((requests == NULL) || (n == 0)) {
        return shpool_error(SHPOOL_ERR_INVALID, "%u requests at %s: at least one is needed", n,
                            (requests == NULL) ? "NULL" : "an address");
    }
    return make_plan(spec, want, requests, n, pool_p, NULL);
}

shpool_status shpool_same_geometry(shpool_layout_fn layout, const shpool_pool *pool)
{
    shpool_layout mine;
    uint32_t largest;

    if ((layout == NULL) || (pool == NULL)) {
        return shpool_error(SHPOOL_ERR_INVALID, "%s is NULL", (layout == NULL) ? "layout" : "pool");
    }
    if (pool->pool_bytes == 0) {
        return SHPOOL_OK;
    }
    mine = layout_of(layout, pool->pool_bytes, pool->alignment, pool->flags);
    largest = shpool_zone_room(mine.largest, pool->flags);
    if ((largest != pool->largest) || (mine.word[0] != pool->word[0]) ||
        (mine.word[1] != pool->word[1])) {
        return shpool_error(SHPOOL_ERR_ABI,
                            "\"%s\" in this program makes a pool from %u bytes that uses %u, "
                            "libshpool %s one that uses %u: rebuild the program with the headers "
                            "and the archive of this library",
                            pool->name, pool->pool_bytes, largest, PACKAGE_VERSION,
                            pool->largest);
    }
    return SHPOOL_OK;
}

shpool_status shpool_plan(const char *spec, const shpool_config *want, shpool_pool *pool_p)
{
    return shpool_plan_for(spec, want, pool_p, NULL);
}

void shpool_announce_table(const shpool_pool *pool)
{
    shpool_message(SHPOOL_LEVEL_WARN, "%s is not inlined, kernels call it through the function "
                   "table: %s", pool->name, shpool_last_error());
}

void shpool_announce(const shpool_pool *pool, const char *where)
{
    shpool_message(SHPOOL_LEVEL_INFO, "opened %s for %s: %u threads, pools %u, pool_bytes %u, "
                   "largest %u, alignment %u, shared_bytes %u, stats %d, check %d", pool->name,
                   where, pool->block_threads, pool->pools, pool->pool_bytes, pool->largest,
                   pool->alignment, pool->shared_bytes, (pool->flags & SHPOOL_FLAG_STATS) != 0,
                   (pool->flags & SHPOOL_FLAG_CHECK) != 0);
}
