/* SPDX-License-Identifier: BSD-3-Clause */
/* Which allocation or array an address belongs to.
 *
 * Global memory is one range of addresses, cut into allocations that are never used again: an
 * access after the free is found however late it comes.  Each has a gap behind it.  Shared arrays
 * and device variables are in two sections of the program, with gaps that shpool-check has put
 * between them; their names and sizes are read from the program's own symbol table. */
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

#define UNIT        256u        /* of global memory, and the least gap: CUDA's alignment */
#define FINE        16u         /* of shared memory and device variables */
#define RANGE_MOST  (1ull << 38)
#define RANGE_LEAST (1ull << 26)
#define DYNAMIC_BYTES (256u * 1024u)

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

/* Addresses, and for each unit the record that it belongs to + 1. */
typedef struct range {
    unsigned char *start;
    size_t         bytes;
    size_t         unit;
    uint32_t      *owner;
} range;

static struct {
    range         global;
    range         shared;
    range         device;
    size_t        used; /* of global */
    size_t        live;
    check_record *record;
    uint32_t      count;
    uint32_t      room;
    uint32_t      dynamic; /* record of dynamic shared memory */
    uint32_t      first;   /* record of the first allocation */
} memory;

/* ---- records ---- */

static uint32_t record_new(range *in, void *base, size_t bytes, size_t span)
{
    size_t first = (size_t)((unsigned char *)base - in->start) / in->unit;

    if (memory.count == memory.room) {
        memory.room   = (memory.room == 0) ? 1024u : 2u * memory.room;
        memory.record = check_memory(realloc(memory.record,
                                             memory.room * sizeof(*memory.record)));
    }
    memory.record[memory.count] = (check_record){ .base = base, .bytes = bytes };
    memory.count++;
    for (size_t i = 0; i < (span + in->unit - 1u) / in->unit; i++) {
        in->owner[first + i] = memory.count;
    }
    return memory.count - 1u;
}

static void *map(size_t bytes)
{
    void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return (start == MAP_FAILED) ? NULL : start;
}

static void range_open(range *in, unsigned char *start, size_t bytes, size_t unit)
{
    in->start = start;
    in->bytes = bytes;
    in->unit  = unit;
    in->owner = map((bytes / unit + 1u) * sizeof(*in->owner));
}

/* ---- the program's symbols ---- */

static void add_symbol(range *in, const char *name, unsigned char *at, size_t bytes, int is_shared)
{
    check_record *record;
    char         *plain;

    if ((bytes == 0) || (at < in->start) || (at >= in->start + in->bytes) ||
        (at == shpool_check_dynamic)) {
        return;
    }
    record         = &memory.record[record_new(in, at, bytes, bytes + FINE)];
    plain          = __cxa_demangle(name, NULL, NULL, NULL);
    record->name   = (plain != NULL) ? plain : strdup(name);
    record->shared = (uint8_t)is_shared;
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
    memory.dynamic = record_new(&memory.shared, shpool_check_dynamic, 0, DYNAMIC_BYTES);
    memory.record[memory.dynamic].name   = "dynamic shared memory";
    memory.record[memory.dynamic].shared = 1;
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
}

static void open_memory(void)
{
    if (memory.shared.owner != NULL) {
        return;
    }
    for (size_t bytes = RANGE_MOST; (memory.global.start == NULL) && (bytes >= RANGE_LEAST);
         bytes /= 2u) { /* less, where the process has a limit */
        unsigned char *start = map(bytes);

        if (start != NULL) {
            range_open(&memory.global, start, bytes, UNIT);
            if (memory.global.owner == NULL) {
                munmap(start, bytes);
                memory.global.start = NULL;
            }
        }
    }
    open_statics();
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
    }
    return record->cells;
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

size_t shpool_check_static_bytes(void)
{
    return 0; /* the linker knows only the sum of all kernels' */
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
    size_t        span = (bytes + 2u * UNIT - 1u) / UNIT * UNIT;
    void         *base;
    check_record *record;
    uint32_t      n;

    open_memory();
    if ((bytes > memory.global.bytes) || (memory.used + span > memory.global.bytes)) {
        return NULL;
    }
    memory.used   = (memory.used == 0) ? UNIT : memory.used; /* a gap before the first one, too */
    base          = memory.global.start + memory.used;
    memory.used  += span;
    memory.live  += bytes;
    n             = record_new(&memory.global, base, bytes, span);
    memory.first  = (base == memory.global.start + UNIT) ? n : memory.first;
    record        = &memory.record[n];
    memory.global.owner[0] = 1u + memory.first;
    record->pc    = pc;
    record->kind  = (uint8_t)kind;
    return base;
}

int shpool_check_free(void *ptr, const void *pc)
{
    check_record  *record = check_find(ptr);
    check_finding *finding;
    char           where[400];

    if (ptr == NULL) {
        return 0;
    }
    if ((record != NULL) && (record->base == ptr) && (record->freed == NULL) &&
        (record->name == NULL)) {
        memory.live  -= record->bytes;
        record->freed = pc;
        if (record->cells != NULL) {
            munmap(record->cells, (record->bytes / 4u + 2u) * sizeof(check_cell));
            record->cells = NULL;
        }
        (void)madvise(ptr, (record->bytes + UNIT - 1u) / UNIT * UNIT / 4096u * 4096u,
                      MADV_DONTNEED);
        return 0;
    }
    if (record == NULL) {
        snprintf(where, sizeof(where), "which CUDA did not allocate");
    } else {
        check_describe(record, ptr, where, sizeof(where));
    }
    finding = check_begin(CHECK_ERROR, (record != NULL) && (record->freed != NULL)
                                           ? "double-free" : "invalid-free",
                          "free of %p, %s", ptr, where);
    check_at(finding, pc, "free");
    if ((record != NULL) && (record->freed != NULL)) {
        check_at(finding, record->freed, "freed before");
    }
    check_end(finding);
    return 1;
}

size_t shpool_check_range(const void *ptr, void **start_p)
{
    const check_record *record = check_find(ptr);

    *start_p = (record != NULL) ? record->base : NULL;
    return ((record != NULL) && (record->freed == NULL)) ? record->bytes : 0u;
}

size_t shpool_check_live_bytes(void) { return memory.live; }
