/* SPDX-License-Identifier: BSD-3-Clause */
/* A report as text; and reports that the environment requested (SHPOOL_ALLOCATOR=NAME:check=1),
 * which are written when a pool is closed, or at the end of the process. */
#include "internal.h"

#include <shpool/impl/report/empty.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lock.h"

/* ---- text ---- */

static const char *plural(unsigned long long count)
{
    return (count == 1) ? "" : "s";
}

static const char *free_reason(uint32_t reason)
{
    switch (reason) {
    case SHPOOL_FREE_FOREIGN:  return "an address of no pool of this thread";
    case SHPOOL_FREE_INTERIOR: return "inside an allocation, not its start";
    case SHPOOL_FREE_DOUBLE:   return "free before, or never allocated";
    case SHPOOL_FREE_CORRUPT:  return "the data around it was overwritten";
    case SHPOOL_FREE_GROUP:    return "members of a group disagree";
    default:                   return "refused";
    }
}

static const char *broken_reason(uint32_t broken)
{
    switch (broken) {
    case SHPOOL_BROKEN_ZONE:  return "bytes around an allocation changed";
    case SHPOOL_BROKEN_LOCK:  return "the first words of a group's pool changed";
    case SHPOOL_BROKEN_FREED: return "freed memory changed";
    case SHPOOL_BROKEN_AREA:  return "the block's statistics changed";
    default:                  return "the allocator's own data changed; its README.md has the "
                                     "number";
    }
}

static void add_place(shpool_text *text, const char *what, uint32_t block, uint32_t thread,
                      uint32_t site)
{
    shpool_text_add(text, "\n  %s: block %u, thread %u", what, block, thread);
    if (site != 0) {
        shpool_text_add(text, ", site %u", site);
    }
}

static void add_bad_frees(shpool_text *text, const shpool_report_data *report)
{
    for (uint32_t i = 0; (i < report->bad_frees) && (i < SHPOOL_BAD_FREE_SLOTS); i++) {
        const shpool_bad_free *bad = &report->bad_free[i];

        add_place(text, "invalid free", bad->block, bad->thread, bad->site);
        shpool_text_add(text, ": 0x%llx: %s", bad->address, free_reason(bad->reason));
        if (bad->malloc_site != 0) {
            shpool_text_add(text, "; allocated by thread %u at site %u", bad->malloc_thread,
                            bad->malloc_site);
        }
    }
    if (report->bad_frees > SHPOOL_BAD_FREE_SLOTS) {
        shpool_text_add(text, "\n  %u more invalid frees",
                        report->bad_frees - SHPOOL_BAD_FREE_SLOTS);
    }
}

static void add_leaks(shpool_text *text, const shpool_report_data *report)
{
    for (uint32_t i = 0; (i < report->leaks) && (i < SHPOOL_LEAK_SLOTS); i++) {
        const shpool_leak *leak = &report->leak[i];

        add_place(text, "never freed", leak->block, leak->thread, leak->site);
        shpool_text_add(text, ": %u bytes at 0x%llx", leak->usable, leak->address);
    }
    if (report->leaks > SHPOOL_LEAK_SLOTS) {
        shpool_text_add(text, "\n  %u more allocations were never freed",
                        report->leaks - SHPOOL_LEAK_SLOTS);
    }
}

/* Why blocks got an empty heap, or requests could never succeed. */
static void add_cause(shpool_text *text, const shpool_pool *pool, const shpool_report_data *report)
{
    char before[SHPOOL_ERROR_BYTES];
    shpool_report_data copy = *report;

    snprintf(before, sizeof(before), "%s", shpool_last_error());
    shpool_set_last_error("");
    shpool_report_explain(pool, &copy);
    if (shpool_last_error()[0] != '\0') {
        shpool_text_add(text, "\n  %s", shpool_last_error());
    }
    shpool_set_last_error(before);
}

static void add_report(shpool_text *text, const shpool_pool *pool,
                       const shpool_report_data *report)
{
    shpool_text_add(text, "%s: %llu malloc%s, %llu failed, %llu never freed, peak %u of %u bytes "
                    "in a block, %u invalid free%s, %u block%s", pool->name, report->mallocs,
                    plural(report->mallocs), report->failures, report->live, report->peak_bytes,
                    pool->largest * pool->pools, report->bad_frees, plural(report->bad_frees),
                    report->blocks, plural(report->blocks));
    if (report->spills != 0) {
        shpool_text_add(text, ", %llu spilled", report->spills);
    }
    if ((report->blocks == 0) && (report->empty == 0)) {
        shpool_text_add(text, "\n  no block has called shpool_fini yet, which fills the report");
    }
    add_cause(text, pool, report);
    add_bad_frees(text, report);
    if (report->corrupt != 0) {
        shpool_text_add(text, "\n  %u damaged pool%s; the first: 0x%llx: %s (%u)", report->corrupt,
                        plural(report->corrupt), report->broken_at, broken_reason(report->broken),
                        report->broken);
    }
    add_leaks(text, report);
}

shpool_status shpool_report_text(const shpool_pool *pool, const shpool_report_data *report,
                                 char *text, size_t bytes)
{
    shpool_text to;

    if ((pool == NULL) || (report == NULL) || (text == NULL) || (bytes == 0)) {
        return shpool_error(SHPOOL_ERR_INVALID, "shpool_report_text: %s",
                            (pool == NULL) ? "pool is NULL" : (report == NULL) ? "report is NULL"
                            : (text == NULL) ? "text is NULL" : "bytes is 0");
    }
    to = shpool_text_make(text, bytes);
    if ((report->abi != SHPOOL_ABI) || (report->bytes != sizeof(*report))) {
        return shpool_error(SHPOOL_ERR_ABI, "shpool_report_text: the report has ABI %u and %u "
                            "bytes, this library has ABI %u and %zu", report->abi, report->bytes,
                            SHPOOL_ABI, sizeof(*report));
    }
    add_report(&to, pool, report);
    return SHPOOL_OK;
}

/* ---- reports that the environment requested ---- */

/* A pool that is open. */
typedef struct awaited {
    struct awaited *next;
    shpool_pool pool;
    shpool_report_fn read;
    pid_t process; /* a child of fork() has no report */
} awaited;

/* An image whose pools were awaited. */
typedef struct image {
    struct image *next;
    shpool_report_fn read;
} image;

static awaited *first;
static image *images;
static int over; /* under the lock: the process ends, and the rest has been shown */

/* What the user must see is a warning. */
static shpool_level level_of(const shpool_report_data *report)
{
    return ((report->status != SHPOOL_OK) || (report->bad_frees > 0) || (report->live > 0) ||
            (report->corrupt > 0) || (report->failures > 0)) ? SHPOOL_LEVEL_WARN
                                                             : SHPOOL_LEVEL_INFO;
}

static void show(const shpool_pool *pool, shpool_report_fn read)
{
    char text[SHPOOL_REPORT_TEXT];
    shpool_report_data report = { .status = SHPOOL_ERR_CUDA };

    if (shpool_config_log_level(SHPOOL_LEVEL_INFO) == SHPOOL_LEVEL_NONE) {
        return; /* the user's own SHPOOL_LOG_LEVEL=none */
    }
    if ((read(pool, &report) != SHPOOL_OK) ||
        (shpool_report_text(pool, &report, text, sizeof(text)) != SHPOOL_OK)) {
        snprintf(text, sizeof(text), "%s: no report: %s", pool->name, shpool_last_error());
    }
    shpool_text_escape(text, sizeof(text));
    if (!shpool_message_whole(level_of(&report), text)) {
        fprintf(stderr, "shpool: %s\n", text);
    }
}

static awaited *take_first(void)
{
    awaited *one;

    shpool_lock(SHPOOL_LOCK_REPORTS);
    over = 1;
    one  = first;
    if (one != NULL) {
        first = one->next;
    }
    shpool_unlock(SHPOOL_LOCK_REPORTS);
    return one;
}

static void show_rest(void)
{
    for (awaited *one = take_first(); one != NULL; one = take_first()) {
        if (one->process == getpid()) {
            show(&one->pool, one->read);
        }
        free(one);
    }
}

/* Under the lock: notes the image; 0: it is known, or there is no memory. */
static int note_image(shpool_report_fn read)
{
    image *one = images;

    while ((one != NULL) && (one->read != read)) {
        one = one->next;
    }
    if (one != NULL) {
        return 0;
    }
    one = malloc(sizeof(*one));
    if (one != NULL) {
        *one = (image){ .next = images, .read = read };
        images = one;
    }
    return one != NULL;
}

/* The report is read when the process ends: the image must still be loaded then, and its CUDA
 * runtime must not have ended.  The runtime has registered its end by now, and what is registered
 * last runs first, so each image registers show_rest() once more. */
static void keep_image(shpool_report_fn read)
{
    Dl_info info;
    void *kept;

    (void)atexit(show_rest);
    if (dladdr((void *)(uintptr_t)read, &info) != 0) {
        kept = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
        if (kept != NULL) { /* NULL: the program itself */
            (void)dlclose(kept);
        }
    }
}

void shpool_show_later(const shpool_pool *pool, shpool_report_fn read)
{
    awaited *one;
    int is_new;

    if ((pool->flags & SHPOOL_FLAG_SHOW) == 0) {
        return;
    }
    one = malloc(sizeof(*one));
    if (one == NULL) {
        return; /* closing the pool still shows its report */
    }
    *one = (awaited){ .pool = *pool, .read = read, .process = getpid() };
    shpool_lock(SHPOOL_LOCK_REPORTS);
    is_new = note_image(read);
    one->next = first;
    first = one;
    shpool_unlock(SHPOOL_LOCK_REPORTS);
    if (is_new) {
        keep_image(read);
    }
}

void shpool_show_now(const shpool_pool *pool, shpool_report_fn read)
{
    awaited *found = NULL;
    int due;

    if ((pool->flags & SHPOOL_FLAG_SHOW) == 0) {
        return;
    }
    shpool_lock(SHPOOL_LOCK_REPORTS);
    due = !over; /* a pool that show_later() had no memory to note */
    for (awaited **at = &first; *at != NULL; at = &(*at)->next) {
        if ((*at)->pool.report == pool->report) {
            found = *at;
            *at = found->next;
            due = found->process == getpid();
            break;
        }
    }
    shpool_unlock(SHPOOL_LOCK_REPORTS);
    free(found);
    if (due) {
        show(pool, read);
    }
}
