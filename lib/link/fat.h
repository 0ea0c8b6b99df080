/* SPDX-License-Identifier: BSD-3-Clause */
/* Device code in the forms that nvJitLink reads: its sizes are checked before, because nvJitLink
 * believes them. */
#ifndef SHPOOL_FAT_H
#define SHPOOL_FAT_H

#include "lib/internal.h"

#pragma GCC visibility push(hidden)

/* A fat binary, which entries follow. */
typedef struct shpool_fat_header {
    uint32_t magic;
    uint16_t version;
    uint16_t header_bytes;
    uint64_t bytes; /* after the header */
} shpool_fat_header;

/* The beginning of an entry.  Options and names follow, and then its contents. */
typedef struct shpool_fat_entry {
    uint16_t kind; /* SHPOOL_FAT_* */
    uint16_t version;
    uint32_t header_bytes;
    uint64_t bytes;
    uint32_t packed_bytes; /* of compressed contents; the rest is padding */
    uint32_t options; /* where, in the header, the place and size of the options are; 0: none */
    uint16_t minor;
    uint16_t major;
    uint32_t arch;
    uint32_t name; /* where in the header */
    uint32_t name_bytes;
    uint64_t flags;
    uint64_t hash;
    uint64_t unpacked_bytes;
} shpool_fat_entry;

enum { SHPOOL_FAT_PTX = 1, SHPOOL_FAT_ELF = 2, SHPOOL_FAT_LTO = 8 };

/* Whether LTO-IR without a fat binary begins there. */
int shpool_code_is_lto(const void *data, size_t bytes);

/* Bytes of the fat binary at `data`; 0: none, or the header's size is more than `room`. */
size_t shpool_fat_bytes(const unsigned char *data, size_t room);

/* Take the next entry of a complete fat binary.  *at_p: 0 for the first one; afterwards past the
 * entry's contents.  Those begin at *at_p - entry->bytes.  0: there are no more complete ones. */
int shpool_fat_next(const unsigned char *fat, size_t bytes, size_t *at_p, shpool_fat_entry *entry);

/* Letter of the architecture that LTO-IR or a fat binary has code for, if a GPU of compute
 * capability `number` / 10 can use it: 'a' or 'f'.  '\0': none, or it is not known: of LTO-IR
 * without a fat binary, only 'a' is. */
char shpool_code_letter(const void *data, size_t bytes, uint32_t number);

/* 1: none of the forms with sizes in them, so it may be PTX.  nvJitLink searches it up to a NUL,
 * wherever that is. */
int shpool_code_is_text(const void *data, size_t bytes);

/* 1: text, or LTO-IR, a fat binary or an object all of whose sizes are within its bytes.  0: what
 * is wrong is added to `why`. */
int shpool_code_is_whole(const void *data, size_t bytes, shpool_text *why);

#pragma GCC visibility pop

#endif /* SHPOOL_FAT_H */
