/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts of sectors and bank passes by place: the rules of `shpool-coalesce lint` on addresses.
 *
 * The threads of a warp run one after another, so the lanes of a request are found afterwards: the
 * n-th time that each lane of a warp executes an instruction of the block belongs to request n.
 * Lanes that skip rounds of a loop join the wrong request.  The first 64 requests of each
 * instruction of each warp of a block are counted. */
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define REQUESTS 64u
#define SECTOR   32u
#define BANKS    32u
#define SHOWN    10u /* places of each rule */

typedef struct request {
    uint64_t at[SIMT_WARP];
    uint32_t lanes;
} request;

/* An instruction of a warp of the block that runs. */
typedef struct warp_site {
    const void *pc;
    uint32_t    warp;
    uint32_t    place; /* in counts.place */
    uint32_t    done[SIMT_WARP];
    request    *of;
} warp_site;

typedef struct place {
    const void *pc;
    uint64_t    requests, got, least; /* sectors, or passes */
    uint32_t    bytes;
    uint8_t     shared, writes;
} place;

#define SITES 4096u /* a power of two: of warps and instructions of a block */

static struct {
    warp_site site[SITES];
    uint32_t  used;
    uint32_t  block;
    place    *place;
    uint32_t  places;
    struct {
        const unsigned char *ptr;
        uint32_t             rank;
        uint32_t             place;
        unsigned             writes;
    } last; /* access of 8 bytes */
} counts;

/* ---- one request ---- */

static int compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a;
    const uint64_t y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* The different units that accesses of `bytes` bytes touch; at: sorted. */
static uint64_t units_of(const uint64_t *at, uint32_t count, uint32_t bytes, uint32_t unit)
{
    uint64_t next  = 0; /* units below are counted */
    uint64_t found = 0;

    for (uint32_t i = 0; i < count; i++) {
        const uint64_t last  = (at[i] + bytes - 1u) / unit;
        uint64_t       first = at[i] / unit;

        first  = (first < next) ? next : first;
        found += (last >= first) ? last - first + 1u : 0u;
        next   = (last >= first) ? last + 1u : next;
    }
    return found;
}

/* The passes of some lanes: the most different words in one bank; at: sorted. */
static uint64_t passes_of(const uint64_t *at, uint32_t count, uint32_t bytes)
{
    uint32_t words[BANKS] = { 0 };
    uint64_t next         = 0;
    uint32_t most         = 0;

    for (uint32_t i = 0; i < count; i++) {
        for (uint64_t word = at[i] / 4u; word <= (at[i] + bytes - 1u) / 4u; word++) {
            if (word >= next) {
                next  = word + 1u;
                most  = (++words[word % BANKS] > most) ? words[word % BANKS] : most;
            }
        }
    }
    return most;
}

static void add(place *to, const request *one)
{
    /* accesses of 8 and 16 bytes to shared memory are served by halves and quarters of the warp */
    const uint32_t group = (to->shared && (to->bytes > 4u)) ? 4u * SIMT_WARP / to->bytes
                                                            : SIMT_WARP;

    to->requests++;
    for (uint32_t first = 0; first < SIMT_WARP; first += group) {
        uint64_t at[SIMT_WARP];
        uint32_t count = 0;

        for (uint32_t i = first; i < first + group; i++) {
            at[count]  = one->at[i];
            count     += one->lanes >> i & 1u;
        }
        qsort(at, count, sizeof(at[0]), compare);
        if (to->shared) {
            to->got   += passes_of(at, count, to->bytes);
            to->least += count != 0;
        } else {
            to->got   += units_of(at, count, to->bytes, SECTOR);
            to->least += (units_of(at, count, to->bytes, 1) + SECTOR - 1u) / SECTOR;
        }
    }
}

static void end_block(void)
{
    for (uint32_t i = 0; (counts.used != 0) && (i < SITES); i++) {
        warp_site *site = &counts.site[i];

        for (uint32_t n = 0; (site->pc != NULL) && (n < REQUESTS); n++) {
            if (site->of[n].lanes != 0) {
                add(&counts.place[site->place], &site->of[n]);
            }
        }
        free(site->of);
        *site = (warp_site){ .pc = NULL };
    }
    counts.used = 0;
}

/* ---- the notes ---- */

static int worse(const void *a, const void *b)
{
    const uint64_t x = ((const place *)a)->got - ((const place *)a)->least;
    const uint64_t y = ((const place *)b)->got - ((const place *)b)->least;

    return (x < y) - (x > y);
}

static void report_all(void)
{
    uint32_t shown[2] = { 0 };

    end_block();
    if (counts.places > 1) {
        qsort(counts.place, counts.places, sizeof(place), worse);
    }
    for (uint32_t i = 0; i < counts.places; i++) {
        const place   *one = &counts.place[i];
        const double   got = (double)one->got / (double)one->requests;
        const double   ideal = (double)one->least / (double)one->requests;
        check_finding *finding;

        if ((4u * one->got <= 5u * one->least) || (shown[one->shared]++ >= SHOWN)) {
            continue;
        }
        finding = check_begin(CHECK_NOTE, one->shared ? "bank-conflict" : "uncoalesced",
                              one->shared ? "%.1f passes over the banks of shared memory in a "
                                            "request of a warp, %.1f without conflicts (%llu "
                                            "requests)"
                                          : "%.1f sectors of 32 bytes in a request of a warp, %.1f "
                                            "would hold its bytes (%llu requests)",
                              got, ideal, (unsigned long long)one->requests);
        finding->level = CHECK_NOTE; /* --strict is for errors */
        check_at(finding, one->pc, "%s of %u bytes", one->writes ? "write" : "read", one->bytes);
        check_end(finding);
    }
}

/* ---- accesses ---- */

static uint32_t place_of(const check_record *record, size_t bytes, unsigned how, const void *pc)
{
    uint32_t i = 0;

    while ((i < counts.places) && ((counts.place[i].pc != pc) ||
                                   (counts.place[i].shared != record->shared))) {
        i++;
    }
    if (i == counts.places) {
        if (i == 0) {
            (void)atexit(report_all); /* runs before the sum is printed */
        }
        counts.place = check_memory(realloc(counts.place, (i + 1u) * sizeof(*counts.place)));
        counts.place[counts.places++] = (place){
            .pc = pc, .bytes = (uint32_t)bytes, .shared = record->shared,
            .writes = (how & SHPOOL_CHECK_WRITE) != 0,
        };
    }
    return i;
}

/* clang copies a float4 in two halves, a GPU at once: the second one belongs to the first. */
static int is_second_half(const void *ptr, size_t bytes, unsigned how)
{
    if ((bytes != 8u) || (((size_t)ptr & 15u) != 8u) || (counts.last.ptr + 8 != ptr) ||
        (counts.last.rank != simt_self->rank) ||
        (counts.last.writes != (how & SHPOOL_CHECK_WRITE))) {
        return 0;
    }
    counts.place[counts.last.place].bytes = 16;
    counts.last.ptr                       = NULL;
    return 1;
}

void check_count(const check_record *record, const void *ptr, size_t bytes, unsigned how,
                 const void *pc)
{
    const uint32_t warp = simt_self->rank / SIMT_WARP;
    const uint32_t lane = simt_self->rank % SIMT_WARP;
    uint32_t       i    = (uint32_t)(((size_t)pc * 32u + warp) * 0x9e3779b97f4a7c15ull >> 40);
    warp_site     *site;

    if (((how & SHPOOL_CHECK_ATOMIC) != 0) || (bytes > 16u) || ((bytes & (bytes - 1u)) != 0) ||
        is_second_half(ptr, bytes, how)) {
        return;
    }
    if (counts.block != check_now.block) {
        end_block();
        counts.block = check_now.block;
    }
    for (i %= SITES; counts.site[i].pc != NULL; i = (i + 1u) % SITES) {
        if ((counts.site[i].pc == pc) && (counts.site[i].warp == warp)) {
            break;
        }
    }
    site = &counts.site[i];
    if (site->pc == NULL) {
        if (2u * counts.used >= SITES) {
            return;
        }
        counts.used++;
        *site = (warp_site){ .pc = pc, .warp = warp, .place = place_of(record, bytes, how, pc),
                             .of = check_memory(calloc(REQUESTS, sizeof(request))) };
    }
    if (site->done[lane] < REQUESTS) {
        request *one = &site->of[site->done[lane]++];

        one->at[lane] = (uint64_t)(size_t)ptr;
        one->lanes   |= 1u << lane;
    }
    counts.last.ptr    = (bytes == 8u) ? ptr : NULL;
    counts.last.rank   = simt_self->rank;
    counts.last.place  = site->place;
    counts.last.writes = how & SHPOOL_CHECK_WRITE;
}
