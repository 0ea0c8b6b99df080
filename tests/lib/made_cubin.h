/* SPDX-License-Identifier: BSD-3-Clause */
/* A cubin for tests: an ELF file with variables, and nothing that a GPU could run. */
#ifndef SHPOOL_TESTS_MADE_CUBIN_H
#define SHPOOL_TESTS_MADE_CUBIN_H

#include <elf.h>
#include <string.h>

#define MADE_TYPE  13  /* CUDA's own type of a variable */
#define MADE_BYTES 2048u

enum { MADE_NAMES = 1, MADE_STRINGS, MADE_SYMBOLS, MADE_GLOBAL, MADE_INIT, MADE_CONSTANT,
       MADE_SECTIONS };

/* One of its variables: 4 bytes at `at` of a section. */
typedef struct made_variable {
    const char *name;
    uint16_t section;
    uint16_t at;
} made_variable;

typedef struct made_cubin {
    unsigned char data[MADE_BYTES];
    size_t bytes;
} made_cubin;

/* Appends, aligned to 8; where it begins. */
static inline uint64_t made_add(made_cubin *cubin, const void *data, size_t bytes)
{
    const uint64_t at = (cubin->bytes + 7) & ~(size_t)7;

    assert_true(at + bytes <= MADE_BYTES);
    memcpy(cubin->data + at, data, bytes);
    cubin->bytes = at + bytes;
    return at;
}

/* The constant section holds 0, 0, 5, 0 (32 bits each). */
static inline made_cubin make_cubin(const made_variable *variable, size_t count)
{
    static const char names[] = "\0.shstrtab\0.strtab\0.symtab\0.nv.global\0.nv.global.init\0"
                                ".nv.constant3";
    static const uint32_t name_at[MADE_SECTIONS] = { 0, 1, 11, 19, 27, 38, 54 };
    static const uint32_t constants[4] = { 0, 0, 5, 0 };
    made_cubin cubin = { .bytes = sizeof(Elf64_Ehdr) };
    Elf64_Shdr section[MADE_SECTIONS] = { { .sh_type = SHT_NULL } };
    Elf64_Sym symbol[16] = { { .st_name = 0 } };
    char strings[512] = "";
    size_t used = 1;
    Elf64_Ehdr head = {
        .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
        .e_shentsize = sizeof(section[0]), .e_shnum = MADE_SECTIONS, .e_shstrndx = MADE_NAMES,
    };

    assert_true(count < 16);
    for (size_t i = 0; i < count; i++) {
        symbol[i + 1] = (Elf64_Sym){
            .st_name = (uint32_t)used, .st_info = ELF64_ST_INFO(STB_GLOBAL, MADE_TYPE),
            .st_shndx = variable[i].section, .st_value = variable[i].at, .st_size = 4,
        };
        assert_true(used + strlen(variable[i].name) + 1 <= sizeof(strings));
        memcpy(strings + used, variable[i].name, strlen(variable[i].name) + 1);
        used += strlen(variable[i].name) + 1;
    }
    for (uint32_t i = 1; i < MADE_SECTIONS; i++) {
        section[i].sh_name = name_at[i];
        section[i].sh_type = SHT_PROGBITS;
    }
    section[MADE_NAMES].sh_type = SHT_STRTAB;
    section[MADE_NAMES].sh_offset = made_add(&cubin, names, sizeof(names));
    section[MADE_NAMES].sh_size = sizeof(names);
    section[MADE_STRINGS].sh_type = SHT_STRTAB;
    section[MADE_STRINGS].sh_offset = made_add(&cubin, strings, used);
    section[MADE_STRINGS].sh_size = used;
    section[MADE_SYMBOLS].sh_type = SHT_SYMTAB;
    section[MADE_SYMBOLS].sh_link = MADE_STRINGS;
    section[MADE_SYMBOLS].sh_offset = made_add(&cubin, symbol, (count + 1) * sizeof(symbol[0]));
    section[MADE_SYMBOLS].sh_size = (count + 1) * sizeof(symbol[0]);
    section[MADE_GLOBAL].sh_type = SHT_NOBITS;
    section[MADE_GLOBAL].sh_size = 64;
    section[MADE_INIT].sh_offset = made_add(&cubin, constants, sizeof(constants));
    section[MADE_INIT].sh_size = sizeof(constants);
    section[MADE_CONSTANT].sh_offset = made_add(&cubin, constants, sizeof(constants));
    section[MADE_CONSTANT].sh_size = sizeof(constants);
    head.e_shoff = made_add(&cubin, section, sizeof(section));
    memcpy(cubin.data, &head, sizeof(head));
    return cubin;
}

#endif /* SHPOOL_TESTS_MADE_CUBIN_H */
