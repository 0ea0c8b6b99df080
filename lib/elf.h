/* SPDX-License-Identifier: BSD-3-Clause */
/* ELF files whose sizes are not to be trusted: cubins, objects, plugins. */
#ifndef SHPOOL_ELF_H
#define SHPOOL_ELF_H

#include "internal.h"

#include <elf.h>

#pragma GCC visibility push(hidden)

/* A file in memory, or an open one. */
typedef struct shpool_elf {
    const unsigned char *data; /* NULL: `file` */
    int file;
    uint64_t bytes;
    Elf64_Ehdr head;
} shpool_elf;

/* Copy `count` bytes at an offset, which need not be aligned; 0: the file is too short. */
int shpool_elf_read(const shpool_elf *elf, uint64_t at, void *to, size_t count);

/* Read the file's header; 0: it is not a 64-bit ELF file of this byte order. */
int shpool_elf_open(shpool_elf *elf);

/* The description of a section whose contents are within the file; 0: there is none. */
int shpool_elf_section(const shpool_elf *elf, uint64_t index, Elf64_Shdr *section);

/* Number of sections; 0: none. */
uint64_t shpool_elf_sections(const shpool_elf *elf);

/*
 * Open it, and check that the header's tables, all segments and all sections end within the file: a
 * loader reads, or maps, as many bytes as they say.  0: the missing part is added to `why`.
 */
int shpool_elf_is_whole(shpool_elf *elf, shpool_text *why);

/*
 * Whether dlopen() may get this path.  It waits for a FIFO's writer, and maps as much of a file as
 * the file's headers say: pages past the end of a file that was cut off end the process by SIGBUS.
 * 0: what is wrong is added to `why`.
 */
int shpool_elf_is_loadable(const char *path, shpool_text *why);

#pragma GCC visibility pop

#endif /* SHPOOL_ELF_H */
