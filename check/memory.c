/* SPDX-License-Identifier: BSD-3-Clause */
/* Which allocation or array an address belongs to.
 *
 * Global memory is one range of addresses, cut into allocations that are never used again: an
 * access after the free is found however late it comes.  Each has a gap before it and one after it.
 * Shared arrays and device variables are in two sections of the program, with gaps that
 * shpool-check has put around them; their names and sizes are read from the program's own symbol
 * table.  A record never moves: threads may keep its address while others allocate. */
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

#define PAGE        4096u
#define UNIT        CHECK_UNIT
#define FINE        CHECK_FINE
#define RANGE_MOST  (1ull << 38)
#define RANGE_LEAST (1ull << 26)
#define DYNAMIC_BYTES (256u * 1024u)
#define STATIC_MOST   (48u * 1024u) /* shared arrays of one function: ptxas refuses more */
#define SYMBOLS_MOST  65536u
#define HUGE_BYTES    (4u << 20)

/* The linker names the ends of sections.  Dynamic memory is the last one of shared memory, because
 * this library is linked after the program. */
extern unsigned char __start_shpool_shared[] __attribute__((weak));
extern unsigned char __start_shpool_device[] __attribute__((weak));
extern unsigned char __stop_shpool_device[] __attribute__((weak));
extern unsigned char __executable_start[];
extern unsigned char _end[];
unsigned char shpool_check_dynamic[DYNAMIC_BYTES]
    __attribute__((section("shpool_shared"), aligned(1024), used));

extern char *__cxa_demangle(const char *name, char *out, size_t *length, int *status);

typedef check_range range;
check_ranges check_map;

static struct {
    range         global;
    range         shared;
    range         device;
    size_t        used; /* of global */
    size_t        live;
    check_record *record;
    uint32_t      count;
    uint32_t      dynamic; /* record of dynamic shared memory */
} memory;

/* ---- records ---- */

static void *map(size_t bytes)
{
    void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (start == MAP_FAILED) {
        return NULL;
    }
    if (bytes >= HUGE_BYTES) {
        (void)madvise(start, bytes, MADV_HUGEPAGE); /* most of the time were page faults */
    }
    return start;
}

/* `gap`: bytes before and after it that are its own, too. */
static uint32_t record_new(range *in, void *base, size_t bytes, size_t gap)
{
    size_t first = (size_t)((unsigned char *)base - gap - in->start) / in->unit;
    size_t end   = (size_t)((unsigned char *)base + bytes + gap - in->start + in->unit - 1u)
                   / in->unit;

    memory.record[memory.count++] = (check_record){ .base = base, .bytes = bytes };
    for (size_t i = first; i < end; i++) {
        in->owner[i] = memory.count;
    }
    return memory.count - 1u;
}

static void range_open(range *in, unsigned char *start, size_t bytes, size_t unit)
{
    in->start = start;
    in->bytes = bytes;
    in->unit  = unit;
    in->owner = map((bytes / unit + 1u) * sizeof(*in->owner));
}

/* ---- the program's symbols ---- */

/* What shared arrays of the same function have together, when this one is added. */
static void add_to_function(const check_record *record)
{
    const char *end   = strrchr(record->name, ':');
    size_t      bytes = record->bytes;

    for (const check_record *i = memory.record; (end != NULL) && (i < record); i++) {
        if (i->shared && (strcmp(i->name, record->name) == 0)) {
            return; /* of another file's function with that name */
        }
        if (i->shared && (strncmp(i->name, record->name, (size_t)(end - record->name)) == 0)) {
            bytes += i->bytes;
        }
    }
    if ((end != NULL) && (bytes > STATIC_MOST) && (bytes - record->bytes <= STATIC_MOST)) {
        check_end(check_begin(CHECK_ERROR, "launch", "%.*s has %zu bytes of static shared memory: "
                              "nvcc takes at most 48 KiB; more must be dynamic",
                              (int)(end - record->name - 1), record->name, bytes));
    }
}

static void add_symbol(range *in, const char *name, unsigned char *at, size_t bytes, int is_shared)
{
    check_record *record;
    char         *plain;

    if ((bytes == 0) || (at < in->start) || (at >= in->start + in->bytes) ||
        (at == shpool_check_dynamic)) {
        return;
    }
    record = &memory.record[record_new(in, at, bytes, 0)];
    /* "f", the name of a C variable, would be demangled to "float" */
    plain          = (strncmp(name, "_Z", 2) == 0) ? __cxa_demangle(name, NULL, NULL, NULL) : NULL;
    record->name   = (plain != NULL) ? plain : strdup(name);
    record->shared = (uint8_t)is_shared;
    if (is_shared) {
        add_to_function(record);
    }
}

static void read_symbols(const unsigned char *elf)
{
    const Elf64_Ehdr *head    = (const Elf64_Ehdr *)(const void *)elf;
    const Elf64_Shdr *section = (const Elf64_Shdr *)(const void *)(elf + head->e_shoff);
    size_t            bias    = 0;

    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t s = 0; s < head->e_shnum; s++) {
            const Elf64_Sym *symbol = (const Elf64_Sym *)(const void *)(elf + section[s].sh_offset);
            const char      *names;

            if (section[s].sh_type != SHT_SYMTAB) {
                continue;
            }
            names = (const char *)elf + section[section[s].sh_link].sh_offset;
            for (size_t i = 0; i < section[s].sh_size / sizeof(*symbol); i++) {
                const char    *name = names + symbol[i].st_name;
                unsigned char *at   = (unsigned char *)(symbol[i].st_value + bias);

                if (ELF64_ST_TYPE(symbol[i].st_info) != STT_OBJECT) {
                    continue;
                }
                if (pass == 0) { /* a position-independent program is not where its symbols say */
                    bias = (strcmp(name, "shpool_check_dynamic") == 0)
                               ? (size_t)(shpool_check_dynamic - at) : bias;
                } else {
                    add_symbol(&memory.shared, name, at, symbol[i].st_size, 1);
                    add_symbol(&memory.device, name, at, symbol[i].st_size, 0);
                }
            }
        }
    }
}

/* Each half of a gap belongs to the array next to it. */
static void fill_gaps(range *in)
{
    size_t units = in->bytes / in->unit;

    for (size_t i = 0, end = 0; i < units; i = end + (end == i)) {
        uint32_t before = (i > 0) ? in->owner[i - 1u] : 0u;

        for (end = i; (end < units) && (in->owner[end] == 0); end++) {
        }
        for (size_t j = i; j < end; j++) {
            in->owner[j] = (((j - i >= (end - i) / 2u) || (before == 0)) && (end < units))
                               ? in->owner[end] : before;
        }
    }
}

static void open_statics(void)
{
    int         file = open("/proc/self/exe", O_RDONLY);
    struct stat facts;
    void       *elf;

    range_open(&memory.shared, __start_shpool_shared,
               (size_t)(shpool_check_dynamic + DYNAMIC_BYTES - __start_shpool_shared), FINE);
    if (__start_shpool_device != NULL) {
        range_open(&memory.device, __start_shpool_device,
                   (size_t)(__stop_shpool_device - __start_shpool_device), FINE);
    }
    memory.dynamic = record_new(&memory.shared, shpool_check_dynamic, DYNAMIC_BYTES, 0);
    memory.record[memory.dynamic].name   = "dynamic shared memory";
    memory.record[memory.dynamic].shared = 1;
    memory.record[memory.dynamic].bytes  = 0;
    if ((file >= 0) && (fstat(file, &facts) == 0)) {
        elf = mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        if (elf != MAP_FAILED) {
            read_symbols(elf);
            munmap(elf, (size_t)facts.st_size);
        }
    }
    if (file >= 0) {
        close(file);
    }
    fill_gaps(&memory.shared);
    fill_gaps(&memory.device);
}

static void unmap(void *start, size_t bytes)
{
    if (start != NULL) {
        munmap(start, bytes);
    }
}

static int open_global(size_t bytes)
{
    size_t         table = (bytes / (2u * UNIT) + SYMBOLS_MOST) * sizeof(*memory.record);
    unsigned char *start = map(bytes);

    memory.record = map(table);
    range_open(&memory.global, start, bytes, UNIT);
    if ((start != NULL) && (memory.record != NULL) && (memory.global.owner != NULL)) {
        return 1;
    }
    unmap(start, bytes);
    unmap(memory.record, table);
    unmap(memory.global.owner, (bytes / UNIT + 1u) * sizeof(uint32_t));
    return 0;
}

static void open_memory(void)
{
    size_t bytes = RANGE_MOST;

    if (memory.shared.owner != NULL) {
        return;
    }
    while (!open_global(bytes)) { /* less, where the process has a limit */
        bytes /= 2u;
        (void)check_memory((bytes >= RANGE_LEAST) ? &memory : NULL);
    }
    open_statics();
    check_map.record = memory.record;
    check_map.global = memory.global;
    check_map.shared = memory.shared;
    check_map.device = memory.device;
}

static uint32_t owner_in(const range *in, const void *ptr)
{
    size_t at = (size_t)ptr - (size_t)in->start;

    return (at < in->bytes) ? in->owner[at / in->unit] : 0u;
}

check_record *check_find(const void *ptr)
{
    uint32_t owner = owner_in(&memory.global, ptr);

    owner = (owner != 0) ? owner : owner_in(&memory.shared, ptr);
    owner = (owner != 0) ? owner : owner_in(&memory.device, ptr);
    return (owner != 0) ? &memory.record[owner - 1u] : NULL;
}

check_cell *check_cells(check_record *record)
{
    if (record->cells == NULL) {
        /* dynamic memory has another size in each launch */
        size_t words = ((record->base == shpool_check_dynamic) ? DYNAMIC_BYTES : record->bytes) / 4u
                       + 2u;

        record->cells = check_memory(map(words * sizeof(check_cell)));
        record->known |= check_is_tracked(record) ? 0u : 0xfu;
    }
    return record->cells;
}

int check_is_tracked(const check_record *record)
{
    return record->shared || ((record->name == NULL) && ((record->kind == SHPOOL_CHECK_DEVICE) ||
                                                         (record->kind == SHPOOL_CHECK_HEAP)));
}

int check_is_static(const void *ptr)
{
    return ((const unsigned char *)ptr >= __executable_start) &&
           ((const unsigned char *)ptr < _end);
}

void check_each(void (*each)(check_record *record, void *arg), void *arg)
{
    for (uint32_t i = 0; i < memory.count; i++) {
        if (memory.record[i].freed == NULL) {
            each(&memory.record[i], arg);
        }
    }
}

unsigned char *check_window(size_t *static_bytes_p)
{
    open_memory();
    *static_bytes_p = (size_t)(shpool_check_dynamic - __start_shpool_shared);
    return __start_shpool_shared;
}

void check_set_dynamic(size_t bytes)
{
    memory.record[memory.dynamic].bytes = bytes;
}

void check_describe(const check_record *record, const void *ptr, char *text, size_t room)
{
    const unsigned char *at   = ptr;
    const char          *what = (record->name != NULL) ? record->name : "allocation";
    const char          *end  = (record->freed != NULL) ? ", which was freed" : "";

    if (at < record->base) {
        snprintf(text, room, "%zu bytes before %s of %zu bytes%s", (size_t)(record->base - at),
                 what, record->bytes, end);
    } else if (at >= record->base + record->bytes) {
        snprintf(text, room, "%zu bytes after %s of %zu bytes%s",
                 (size_t)(at - record->base - record->bytes), what, record->bytes, end);
    } else {
        snprintf(text, room, "byte %zu of %s of %zu bytes%s", (size_t)(at - record->base), what,
                 record->bytes, end);
    }
}

/* ---- allocation ---- */

void *shpool_check_malloc(size_t bytes, shpool_check_kind kind, const void *pc)
{
    size_t        span = (bytes + 3u * UNIT - 1u) / UNIT * UNIT;
    void         *base = NULL;
    check_record *record;

    check_lock();
    open_memory();
    if ((bytes <= memory.global.bytes) && (memory.used + span <= memory.global.bytes)) {
        base          = memory.global.start + memory.used + UNIT;
        record        = &memory.record[record_new(&memory.global, base, bytes, UNIT)];
        memory.used  += span;
        memory.live  += bytes;
        record->pc    = pc;
        record->kind  = (uint8_t)kind;
    }
    check_unlock();
    return base;
}

static void drop_cells(check_record *record)
{
    if (record->cells != NULL) {
        munmap(record->cells, (record->bytes / 4u + 2u) * sizeof(check_cell));
        record->cells = NULL;
    }
}

static void end_record(check_record *record, const void *pc)
{
    size_t first = ((size_t)record->base + PAGE - 1u) / PAGE * PAGE;
    size_t end   = ((size_t)record->base + record->bytes) / PAGE * PAGE;

    memory.live  -= record->bytes;
    record->freed = pc;
    drop_cells(record);
    if (end > first) {
        (void)madvise((void *)first, end - first, MADV_DONTNEED);
    }
}

static void report_free(const check_record *record, const void *ptr, const void *pc)
{
    static const char *const makers[] = { "cudaMalloc()", "cudaMallocManaged()",
                                          "malloc() or new in a kernel", "cudaMallocHost()" };
    const int      again = (record != NULL) && (record->freed != NULL);
    check_finding *finding;
    char           where[400] = "which CUDA did not allocate";

    if (record != NULL) {
        check_describe(record, ptr, where, sizeof(where));
    }
    finding = check_begin(CHECK_ERROR, again ? "double-free" : "invalid-free", "free of %p, %s%s%s",
                          ptr, where, (record != NULL) && (record->pc != NULL) ? ", made by " : "",
                          (record != NULL) && (record->pc != NULL) ? makers[record->kind] : "");
    check_at(finding, pc, "free");
    if (again) {
        check_at(finding, record->freed, "freed before");
    } else if ((record != NULL) && (record->pc != NULL)) {
        check_at(finding, record->pc, "allocated");
    }
    check_end(finding);
}

int shpool_check_free(void *ptr, unsigned kinds, const void *pc)
{
    check_record *record = check_find(ptr);
    int           valid;

    if (ptr == NULL) {
        return 0;
    }
    check_lock();
    valid = (record != NULL) && (record->base == ptr) && (record->freed == NULL) &&
            (record->name == NULL) && ((kinds >> record->kind & 1u) != 0);
    if (valid) {
        end_record(record, pc);
    } else {
        report_free(record, ptr, pc);
    }
    check_unlock();
    return !valid;
}

check_mark check_mark_now(void)
{
    return (check_mark){ memory.count, memory.used, memory.live };
}

void check_mark_back(const check_mark *mark)
{
    while (memory.count > mark->count) {
        drop_cells(&memory.record[--memory.count]);
    }
    memset(&memory.global.owner[mark->used / UNIT], 0,
           (memory.used - mark->used) / UNIT * sizeof(uint32_t));
    memory.used = mark->used;
    memory.live = mark->live;
}

size_t shpool_check_range(const void *ptr, void **start_p)
{
    const check_record *record = check_find(ptr);

    *start_p = (record != NULL) ? record->base : NULL;
    return ((record != NULL) && (record->freed == NULL)) ? record->bytes : 0u;
}

size_t shpool_check_live_bytes(void) { return memory.live; }
