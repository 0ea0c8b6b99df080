/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the symbols of a cubin, an ELF file; the sections of CUDA's variables were determined with
 * nvcc 12 and 13.
 *
 * A variable is a symbol of type object, or of CUDA's own type 13, in one of three sections:
 * .nv.global (no initial value, or 0), .nv.global.init, .nv.constant3 (__constant__).  The file
 * does not tell whether a variable in the second one is const.
 */
#include "cubin.h"
#include "lib/elf.h"

#include <string.h>

#define TYPE_CUDA_OBJECT 13
#define NAMES_SHOWN      6u

/* A string of a string table; NULL: it does not end there. */
static const char *string_of(const shpool_elf *file, const Elf64_Shdr *table, uint32_t at)
{
    const char *start;

    if ((table->sh_type != SHT_STRTAB) || (at >= table->sh_size)) {
        return NULL;
    }
    start = (const char *)file->data + table->sh_offset + at;
    return (memchr(start, '\0', table->sh_size - at) != NULL) ? start : NULL;
}

static int starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Parse the digits at *at_p and advance it past them; 0: there are none, or too many. */
static size_t take_length(const char **at_p)
{
    size_t length = 0;

    while ((**at_p >= '0') && (**at_p <= '9')) {
        length = (length < 10000) ? 10 * length + (size_t)(*(*at_p)++ - '0') : 0;
        if (length == 0) {
            break;
        }
    }
    return length;
}

/* The name in the source.  nvcc puts a prefix before static variables: "__nv_static_", the length
 * of the file's id, "_", the id, "_". */
static const char *source_name(const char *name)
{
    static const char prefix[] = "__nv_static_";
    const char *at;
    size_t length;

    if (!starts_with(name, prefix)) {
        return name;
    }
    at = name + sizeof(prefix) - 1;
    length = take_length(&at);
    return ((length != 0) && (strnlen(at, length + 2) == length + 2) && (at[length + 1] == '_'))
               ? at + length + 2 : name;
}

/* One part of a C++ name with ::, which is preceded by its length ("3cub"). */
typedef struct part {
    const char *text;
    size_t bytes; /* 0: there is none */
} part;

static part take_part(const char **at_p)
{
    const size_t bytes = take_length(at_p);
    part one = { *at_p, strnlen(*at_p, bytes) };

    one.bytes = (one.bytes == bytes) ? bytes : 0;
    *at_p += one.bytes;
    return one;
}

static int part_starts(part one, const char *prefix)
{
    return (one.bytes >= strlen(prefix)) && starts_with(one.text, prefix);
}

static int part_is(part one, const char *text)
{
    return (one.bytes == strlen(text)) && starts_with(one.text, text);
}

/* Whether a name is in a namespace of CUDA's C++ libraries, whose objects have no state.  They are
 * recognised by their versions' names: a program may have a namespace `thrust`, or a variable
 * `cube_counters`. */
static int is_of_cuda(const char *name)
{
    const char *at = name;
    part outer;
    part inner;

    if (!starts_with(name, "_ZN") && !starts_with(name, "_ZZN")) {
        return 0;
    }
    at += strspn(name, "_ZN");
    for (outer = take_part(&at); outer.bytes != 0; outer = inner) {
        inner = take_part(&at);
        if ((part_is(outer, "cuda") && (part_is(inner, "std") || part_starts(inner, "__"))) ||
            (part_is(outer, "cub") && part_starts(inner, "CUB_")) ||
            (part_is(outer, "thrust") && part_starts(inner, "THRUST_")) ||
            (part_is(outer, "cooperative_groups") && part_starts(inner, "__"))) {
            return 1;
        }
    }
    return 0;
}

/* Whether it is one of CUDA's runtime for kernels that launch kernels (libcudadevrt.a), which nvcc
 * adds to each program that uses CUB.  Its tables never change. */
static int is_of_runtime(const char *symbol, const char *name)
{
    static const char *const names[] = { "cudartErrorTable", "cudartErrorTableEntryCount",
                                         "cudartErrorCnpMap", "cudartErrorCnpMapEntryCount",
                                         "__CNPRT_VERSION_NUMBER__" };

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(names); i++) {
        if (strcmp(name, names[i]) == 0) {
            return 1;
        }
    }
    return (symbol != name) && (strstr(symbol, "_22_cuda_device_runtime_cu_") != NULL);
}

/* Whether a variable comes from a compiler, CUDA's headers or this library. */
static int is_known(const char *name)
{
    static const char *const prefixes[] = { "$", "__unnamed_", "_ZTV", "_ZTI", "_ZTS", "_ZTT" };
    const size_t bytes = strlen(name);

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(prefixes); i++) {
        if (starts_with(name, prefixes[i])) {
            return 1;
        }
    }
    return (strcmp(name, "shpool_image_mark") == 0) ||
           (starts_with(name, "shpool_") && (bytes > 7) &&
            (strcmp(name + bytes - 7, "_tables") == 0)) || is_of_cuda(name);
}

static int is_zero(const unsigned char *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (data[i] != 0) {
            return 0;
        }
    }
    return 1;
}

/* 1: a variable whose copy the program would not see; *name_p is its name. */
static int is_variable(const shpool_elf *file, const Elf64_Shdr *symbols, const Elf64_Sym *symbol,
                       const char **name_p)
{
    const unsigned type = ELF64_ST_TYPE(symbol->st_info);
    Elf64_Shdr strings;
    Elf64_Shdr names;
    Elf64_Shdr home;
    const char *section;
    const char *name;

    if (((type != STT_OBJECT) && (type != TYPE_CUDA_OBJECT)) || (symbol->st_size == 0) ||
        !shpool_elf_section(file, symbol->st_shndx, &home) ||
        !shpool_elf_section(file, symbols->sh_link, &strings) ||
        !shpool_elf_section(file, file->head.e_shstrndx, &names)) {
        return 0;
    }
    section = string_of(file, &names, home.sh_name);
    name = string_of(file, &strings, symbol->st_name);
    if ((section == NULL) || (name == NULL)) {
        return 0;
    }
    *name_p = source_name(name);
    if (is_known(*name_p) || is_of_runtime(name, *name_p)) {
        return 0;
    }
    if (strcmp(section, ".nv.constant3") == 0) {
        return (home.sh_type == SHT_NOBITS) || (symbol->st_value > home.sh_size) ||
               (symbol->st_size > home.sh_size - symbol->st_value) ||
               is_zero(file->data + home.sh_offset + symbol->st_value, symbol->st_size);
    }
    return (strcmp(section, ".nv.global") == 0) || (strcmp(section, ".nv.global.init") == 0);
}

static void list_variables(const shpool_elf *file, const Elf64_Shdr *symbols, size_t *count_p,
                           shpool_text *names)
{
    Elf64_Sym symbol;
    const char *name;

    for (uint64_t at = 0; at + sizeof(symbol) <= symbols->sh_size; at += sizeof(symbol)) {
        if (shpool_elf_read(file, symbols->sh_offset + at, &symbol, sizeof(symbol)) &&
            is_variable(file, symbols, &symbol, &name)) {
            if (*count_p < NAMES_SHOWN) {
                shpool_text_add(names, "%s%.120s", (*count_p > 0) ? ", " : "", name);
            }
            *count_p += 1;
        }
    }
}

shpool_status shpool_cubin_variables(const void *cubin, size_t bytes, size_t *count_p,
                                     shpool_text *names)
{
    shpool_elf file = { .data = cubin, .bytes = bytes };
    Elf64_Shdr section;

    *count_p = 0;
    if (!shpool_elf_open(&file) || (file.head.e_shentsize != sizeof(section)) ||
        (file.head.e_shnum == 0)) {
        return shpool_error(SHPOOL_ERR_LINK, "the %zu bytes from nvJitLink or the cache are not a "
                            "cubin, or have more than 65,279 sections", bytes);
    }
    for (uint32_t i = 0; i < file.head.e_shnum; i++) {
        if (shpool_elf_section(&file, i, &section) && (section.sh_type == SHT_SYMTAB)) {
            list_variables(&file, &section, count_p, names);
        }
    }
    return SHPOOL_OK;
}
