/* SPDX-License-Identifier: BSD-3-Clause */
/* Fat binaries and LTO-IR for tests: right sizes, and nothing that a linker could use. */
#ifndef SHPOOL_TESTS_MADE_FAT_H
#define SHPOOL_TESTS_MADE_FAT_H

#include "tests/unit.h"

#include "lib/link/fat.h"

#define MADE_FAT_BYTES 2048u

/* The beginning of LTO-IR: 24 bytes, the place of the options' end, 40, and that of the code. */
#define MADE_LTO_HEADER                                                                           \
    0xed, 'C', 'N', 0x7f, 1, 65, 2, 98, 3, 2, 7, 0, 24, 0, 1, 0, 40, 0, 0, 0, 44, 0, 0, 0, 1, 0,   \
        0xee, 2, 2, 0, 2, 0, 99, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4

typedef struct made_fat {
    unsigned char data[MADE_FAT_BYTES];
    size_t bytes;
} made_fat;

static inline void made_put(made_fat *fat, const void *data, size_t bytes)
{
    assert_true(fat->bytes + bytes <= MADE_FAT_BYTES);
    if (bytes != 0) { /* data may be NULL */
        memcpy(fat->data + fat->bytes, data, bytes);
    }
    fat->bytes += bytes;
}

/* An entry.  `bytes`: a multiple of 8; `name`: 16 bytes, or NULL.  LTO-IR gets its header, and
 * options. */
static inline void made_put_entry(made_fat *fat, uint16_t kind, const char *name, const void *data,
                                  size_t bytes)
{
    static const unsigned char lto[48] = { MADE_LTO_HEADER };
    static const uint32_t options[4] = { 72, 8, 0x2020, 0 };
    const int is_lto = kind == SHPOOL_FAT_LTO;
    const shpool_fat_entry entry = {
        .kind = kind, .version = 0x101, .bytes = bytes + (is_lto ? sizeof(lto) : 0),
        .header_bytes = 64 + (is_lto ? sizeof(options) : 0) + ((name != NULL) ? 16 : 0),
        .options = is_lto ? 64 : 0,
    };

    made_put(fat, &entry, sizeof(entry));
    made_put(fat, options, is_lto ? sizeof(options) : 0);
    made_put(fat, name, (name != NULL) ? 16 : 0);
    made_put(fat, lto, is_lto ? sizeof(lto) : 0);
    made_put(fat, data, bytes);
}

/* A fat binary with one entry. */
static inline void made_put_fat(made_fat *fat, uint16_t kind, const char *name, const char *text)
{
    const size_t at = fat->bytes;
    shpool_fat_header head = { 0xba55ed50u, 1, sizeof(head), 0 };

    made_put(fat, &head, sizeof(head));
    made_put_entry(fat, kind, name, text, strlen(text));
    head.bytes = fat->bytes - at - sizeof(head);
    memcpy(fat->data + at, &head, sizeof(head));
}

/* Another entry in the only fat binary. */
static inline void made_put_more(made_fat *fat, uint16_t kind, const void *data, size_t bytes)
{
    uint64_t all;

    made_put_entry(fat, kind, NULL, data, bytes);
    all = fat->bytes - sizeof(shpool_fat_header);
    memcpy(fat->data + 8, &all, sizeof(all));
}

#endif /* SHPOOL_TESTS_MADE_FAT_H */
