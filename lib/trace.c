/* SPDX-License-Identifier: BSD-3-Clause */
/* The file of trace=FILE: opened with the pool, written when it is closed (doc/TRACE.md). */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <shpool/impl/report/trace.h>
#include <shpool/trace.h>

#define DEFAULT_BYTES  (16u << 20)
#define DEFAULT_BLOCKS 4u

_Static_assert(sizeof(shpool_trace_head) == sizeof(((shpool_trace_begin *)0)->word),
               "the buffer begins with a head");

/* The object at shpool_pool.trace. */
typedef struct trace {
    FILE *file;
    pid_t owner; /* a child of fork() also has the descriptor and the lock */
    shpool_trace_head head;
    uint32_t registers; /* of the kernels, at most; 0: not known */
    char path[SHPOOL_SPEC_VALUE_BYTES];
} trace;

/* The time of a life's latest record. */
typedef struct stopwatch {
    uint32_t clock; /* 0: none had one */
    long long cycles;
} stopwatch;

/* Of a record. */
typedef struct place {
    uint32_t launch;
    uint32_t index;
} place;

/* The records of one block, in the order of the launches. */
typedef struct part {
    const shpool_trace_record *records;
    place *order;
    uint32_t used;
    uint32_t dropped;
} part;

static shpool_status cannot_write(const char *path, const char *why)
{
    return shpool_error(SHPOOL_ERR_SYSTEM, "trace=%s: %s", path, why);
}

/* Whether the program's own output goes there, for example by "> FILE". */
static int is_output(const struct stat *about)
{
    struct stat other;

    for (int at = STDOUT_FILENO; at <= STDERR_FILENO; at++) {
        if ((fstat(at, &other) == 0) && (other.st_dev == about->st_dev) &&
            (other.st_ino == about->st_ino)) {
            return 1;
        }
    }
    return 0;
}

/* Open an empty file that no other process writes; NULL, with errno, on failure. */
static FILE *open_file(const char *path)
{
    int at = shpool_file_open_output(path);
    struct stat about;
    FILE *file = NULL;
    int bad;
    int error;

    if (at < 0) {
        return NULL;
    }
    bad = fstat(at, &about) != 0;
    if (!bad && S_ISREG(about.st_mode) && is_output(&about)) {
        errno = EBUSY;
        bad = 1;
    } else if (!bad && S_ISREG(about.st_mode)) { /* not a terminal, a pipe */
        /* only EWOULDBLOCK means another writer: some file systems have no locks */
        bad = (flock(at, LOCK_EX | LOCK_NB) != 0) && (errno == EWOULDBLOCK);
        bad = bad || (ftruncate(at, 0) != 0);
    }
    if (!bad) {
        file = fdopen(at, "w");
    }
    if (file == NULL) {
        error = errno;
        (void)close(at);
        errno = error;
    }
    return file;
}

static shpool_status make_head(const shpool_selection *selection, shpool_trace_head *head)
{
    uint32_t bytes = (selection->trace_bytes != 0) ? selection->trace_bytes : DEFAULT_BYTES;
    uint32_t blocks = (selection->trace_blocks != 0) ? selection->trace_blocks : DEFAULT_BLOCKS;

    head->blocks = blocks;
    head->records = bytes / (uint32_t)sizeof(shpool_trace_record) / blocks;
    if (head->records == 0) {
        return shpool_error(SHPOOL_ERR_SPEC, "%s \"%s\": trace_bytes %u is too small for a record "
                            "of each of %u blocks: give at least %zu, or fewer trace_blocks",
                            selection->origin, selection->text, bytes, blocks,
                            blocks * sizeof(shpool_trace_record));
    }
    return SHPOOL_OK;
}

shpool_status shpool_trace_open(const char *spec, shpool_pool *pool, shpool_trace_begin *begin_p)
{
    shpool_config config = { .block_threads = pool->block_threads };
    shpool_trace_head head = { .blocks = 0 };
    shpool_selection selection;
    shpool_status status;
    trace *made;

    memset(begin_p, 0, sizeof(*begin_p));
    if ((pool->flags & SHPOOL_FLAG_TRACE) == 0) {
        return SHPOOL_OK;
    }
    status = shpool_select(spec, &config, &selection);
    if (status == SHPOOL_OK) {
        status = make_head(&selection, &head);
    }
    if (status != SHPOOL_OK) {
        return status;
    }
    if ((spec == NULL) && shpool_config_is_privileged()) {
        return shpool_error(SHPOOL_ERR_UNSUPPORTED, "SHPOOL_ALLOCATOR \"%s\": this program has "
                            "more privileges than its caller, who must not choose a file that it "
                            "writes: leave trace out",
                            selection.text);
    }

    made = calloc(1, sizeof(*made));
    if (made == NULL) {
        return shpool_error(SHPOOL_ERR_NO_MEMORY, "no host memory for a trace");
    }
    made->file = open_file(selection.trace);
    if (made->file == NULL) {
        status = cannot_write(selection.trace, (errno == EWOULDBLOCK)
                                  ? "another open pool writes this file: close that one first, or "
                                    "name another file"
                                  : shpool_file_error(errno));
        free(made);
        return status;
    }
    made->owner = getpid();
    made->head = head;
    memcpy(made->path, selection.trace, sizeof(made->path));
    memcpy(begin_p->word, &head, sizeof(head));
    pool->trace = made;
    begin_p->bytes = shpool_trace_bytes(pool);
    return SHPOOL_OK;
}

size_t shpool_trace_bytes(const shpool_pool *pool)
{
    const trace *made = pool->trace;

    return (made != NULL) ? shpool_trace_offset(made->head.blocks) +
                            (size_t)made->head.blocks * made->head.records *
                                sizeof(shpool_trace_record)
                          : 0;
}

void shpool_trace_registers(const shpool_pool *pool, uint32_t registers)
{
    trace *made = pool->trace;

    if ((made != NULL) && (registers > made->registers)) {
        made->registers = registers;
    }
}

/* ---- writing; fprintf's failures are found at the end, by ferror ---- */

static void write_head(FILE *to, const shpool_pool *pool, uint32_t registers)
{
    fprintf(to, "shpool-trace 3\n"
            "# by libshpool " PACKAGE_VERSION "; doc/TRACE.md tells what the lines mean\n"
            "allocator %s\nblock_threads %u\nthreads_per_pool %u\npools %u\npool_bytes %u\n"
            "largest %u\nalignment %u\ncheck %u\nspill %u\nregisters %u\n", pool->name,
            pool->block_threads,
            pool->threads_per_pool, pool->pools, pool->pool_bytes, pool->largest, pool->alignment,
            (pool->flags & SHPOOL_FLAG_CHECK) != 0, (pool->flags & SHPOOL_FLAG_SPILL) != 0,
            registers);
}

/* Write an allocation's place: bytes after the first pool's start, or an address with a g; "-" if
 * there is none, also for a bad free's address outside all pools. */
static void write_place(FILE *to, const shpool_pool *pool, const shpool_trace_record *record)
{
    const unsigned long long most = (unsigned long long)pool->pools * pool->pool_bytes;
    const unsigned long long behind = (uint32_t)record->address - pool->area_bytes;

    if ((record->what & SHPOOL_TRACE_GLOBAL) != 0) {
        fprintf(to, (record->address != 0) ? " g0x%llx" : " -", record->address);
    } else {
        fprintf(to, (behind < most) ? " 0x%llx" : " -", behind);
    }
}

/* The end of a record's line: the cycles after the first one's time, if the machine has a clock. */
static void write_time(FILE *to, const shpool_trace_record *record, stopwatch *w)
{
    const uint32_t clock = (uint32_t)(record->address >> 32);

    if (((record->what & SHPOOL_TRACE_GLOBAL) == 0) && (clock != 0)) {
        w->cycles += (w->clock != 0) ? (int32_t)(clock - w->clock) : 0; /* 32 bits wrap */
        w->cycles = (w->cycles > 0) ? w->cycles : 0;
        w->clock = clock;
        fprintf(to, " @%lld", w->cycles);
    }
    fputc('\n', to);
}

/* A thread's rank, or the first one's and how many more make the request with it: "8+7". */
static void write_thread(FILE *to, const shpool_trace_record *record)
{
    const uint32_t others = record->thread >> SHPOOL_TRACE_MEMBERS_SHIFT;

    fprintf(to, (others != 0) ? " %u+%u" : " %u", record->thread & SHPOOL_TRACE_RANK, others);
}

static void write_record(FILE *to, const shpool_pool *pool, const shpool_trace_record *record,
                         stopwatch *w)
{
    static const char letters[] = { 0, 'm', 'w', 'f', 'r', 'k', 'l', 0 };
    const uint32_t what = record->what & 0xffu;

    if ((what >= sizeof(letters)) || (letters[what] == 0)) {
        return;
    }
    fputc(letters[what], to);
    write_thread(to, record);
    switch (what) {
    case SHPOOL_TRACE_MALLOC:
    case SHPOOL_TRACE_WAIT:
        write_place(to, pool, record);
        fprintf(to, " %u %u %u %u", record->bytes, record->usable,
                1u << (record->what >> SHPOOL_TRACE_ALIGN_SHIFT & 31u), record->site);
        break;
    case SHPOOL_TRACE_FREE:
        write_place(to, pool, record);
        fprintf(to, " %u %u", record->what >> SHPOOL_TRACE_REASON_SHIFT & 0xffu, record->site);
        break;
    case SHPOOL_TRACE_RESIZE:
        write_place(to, pool, record);
        fprintf(to, " %u %u", record->bytes, record->usable);
        break;
    default: /* a mark */
        fprintf(to, " %u", (uint32_t)record->address);
        break;
    }
    write_time(to, record, w);
}

static int is_fini(const shpool_trace_record *record)
{
    return (record->what & 0xffu) == SHPOOL_TRACE_FINI;
}

/* One life of a block's pools: the records of one launch up to the block's fini.  The next one's
 * index is the result. */
static uint32_t write_life(FILE *to, const shpool_pool *pool, const part *p, uint32_t block,
                           uint32_t from, uint32_t *lives)
{
    const uint32_t launch = p->order[from].launch;
    uint32_t end = from;
    uint32_t count = 0;
    uint32_t dropped = 0; /* records that did not fit followed the last one that did */
    const shpool_trace_record *fini = NULL;
    stopwatch w = { 0, 0 };

    while ((end < p->used) && (p->order[end].launch == launch)) {
        const shpool_trace_record *record = &p->records[p->order[end++].index];

        if (is_fini(record)) {
            fini = record;
            break;
        }
        dropped = (p->order[end - 1].index == p->used - 1) ? p->dropped : dropped;
        count += (record->what & 0xffu) != SHPOOL_TRACE_NOTHING;
    }
    if ((count != 0) || (dropped != 0)) {
        fprintf(to, "block %u launch %u records %u dropped %u", block, launch, count, dropped);
        if (fini != NULL) {
            fprintf(to, " grid %u own %u", fini->usable, fini->bytes - pool->shared_bytes);
        }
        fputc('\n', to);
        for (uint32_t i = from; i < end; i++) {
            write_record(to, pool, &p->records[p->order[i].index], &w);
        }
        (*lives)++;
    }
    return end;
}

/* By launch, whose numbers wrap, then in recorded order: launches may overlap. */
static int by_launch(const void *a, const void *b)
{
    const place *x = a;
    const place *y = b;
    const int32_t later = (int32_t)(x->launch - y->launch);

    return (later != 0) ? ((later > 0) ? 1 : -1) : (x->index > y->index) - (x->index < y->index);
}

static void write_part(FILE *to, const shpool_pool *pool, part *p, uint32_t block, uint32_t *lives)
{
    uint32_t at = 0;

    for (uint32_t i = 0; i < p->used; i++) {
        p->order[i] = (place){ p->records[i].launch, i };
    }
    qsort(p->order, p->used, sizeof(*p->order), by_launch);
    while (at < p->used) {
        at = write_life(to, pool, p, block, at, lives);
    }
    if ((p->used != 0) && (p->dropped != 0) && is_fini(&p->records[p->used - 1])) {
        /* all records are from unknown later launches */
        fprintf(to, "block %u launch %u records 0 dropped %u\n", block,
                p->order[p->used - 1].launch + 1u, p->dropped);
        (*lives)++;
    }
}

static shpool_status write_all(const trace *made, const shpool_pool *pool, const char *buffer)
{
    const shpool_trace_head *head = &made->head;
    part p = { .order = malloc(head->records * sizeof(*p.order)) };
    unsigned long long dropped = 0;
    uint32_t lives = 0;

    if (p.order == NULL) {
        return shpool_error(SHPOOL_ERR_NO_MEMORY, "no host memory to sort %u records",
                            head->records);
    }
    write_head(made->file, pool, made->registers);
    for (uint32_t block = 0; block < head->blocks; block++) {
        uint32_t cursor;

        memcpy(&cursor, buffer + sizeof(*head) + block * sizeof(cursor), sizeof(cursor));
        p.records = (const shpool_trace_record *)(const void *)
                        (buffer + shpool_trace_offset(head->blocks)) +
                    (size_t)block * head->records;
        p.used = (cursor < head->records) ? cursor : head->records;
        p.dropped = cursor - p.used;
        dropped += p.dropped;
        write_part(made->file, pool, &p, block, &lives);
    }
    fprintf(made->file, "end %u\n", lives);
    free(p.order);
    if (dropped != 0) {
        shpool_message(SHPOOL_LEVEL_WARN, "trace=%s: %llu records did not fit and were dropped: "
                       "give more trace_bytes, or fewer than %u trace_blocks", made->path,
                       dropped, head->blocks);
    }
    return SHPOOL_OK;
}

shpool_status shpool_trace_close(shpool_pool *pool, const void *buffer)
{
    trace *made = pool->trace;
    shpool_status status = SHPOOL_OK;
    int error = 0;

    if (made == NULL) {
        return SHPOOL_OK;
    }
    errno = 0;
    if ((buffer != NULL) && (made->owner == getpid())) {
        status = write_all(made, pool, buffer);
        if ((fflush(made->file) != 0) || ferror(made->file)) {
            error = (errno != 0) ? errno : EIO;
            (void)!ftruncate(fileno(made->file), 0); /* a trace that was cut must not be read */
        }
        (void)flock(fileno(made->file), LOCK_UN);
    }
    if ((fclose(made->file) != 0) && (error == 0)) {
        error = errno;
    }
    if ((error != 0) && (status == SHPOOL_OK)) {
        status = cannot_write(made->path, strerror(error));
    }
    free(made);
    pool->trace = NULL;
    return status;
}
