/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sizes in device code.  The layout of fat binaries and of LTO-IR was determined with CUDA 12.4 and
 * 13.0; only what a reader needs in order to stay within the bytes is looked at.
 */
#include "fat.h"

#include "lib/elf.h"

#include <string.h>

#define FAT_MAGIC  0xba55ed50u
#define FAT_PACKED 0xa000u /* flags of an entry whose contents are compressed */
#define FAT_A      0x100000u /* flags of an entry for sm_90a, for example */
#define FAT_F      0x200000u /* for sm_100f */
#define LTO_MAGIC  0x7f4e43edu
#define LTO_ARCH   1u    /* keys of LTO-IR's options: ten times the compute capability times 10 */
#define LTO_A      0x20u /* nonzero: with the letter a */

_Static_assert(sizeof(shpool_fat_entry) == 64, "an entry has padding");

/* The beginning of LTO-IR. */
typedef struct lto_header {
    uint32_t magic;
    uint16_t version[4];
    uint16_t header_bytes;
    uint16_t unknown;
    uint32_t options_end;
    uint32_t code; /* where it begins */
} lto_header;

static int begins_with(const void *data, size_t bytes, uint32_t magic)
{
    return (bytes >= sizeof(magic)) && (memcmp(data, &magic, sizeof(magic)) == 0);
}

int shpool_code_is_lto(const void *data, size_t bytes)
{
    return begins_with(data, bytes, LTO_MAGIC);
}

size_t shpool_fat_bytes(const unsigned char *data, size_t room)
{
    shpool_fat_header head;

    if (room < sizeof(head)) {
        return 0;
    }
    memcpy(&head, data, sizeof(head));
    if ((head.magic != FAT_MAGIC) || (head.version != 1) || (head.header_bytes < sizeof(head)) ||
        (head.header_bytes > room) || (head.bytes > room - head.header_bytes)) {
        return 0;
    }
    return head.header_bytes + (size_t)head.bytes;
}

int shpool_fat_next(const unsigned char *fat, size_t bytes, size_t *at_p, shpool_fat_entry *entry)
{
    shpool_fat_header head;

    if (*at_p == 0) {
        memcpy(&head, fat, sizeof(head));
        *at_p = head.header_bytes;
    }
    if (bytes - *at_p < sizeof(*entry)) {
        return 0;
    }
    memcpy(entry, fat + *at_p, sizeof(*entry));
    if ((entry->header_bytes < sizeof(*entry)) || (entry->header_bytes > bytes - *at_p) ||
        (entry->bytes > bytes - *at_p - entry->header_bytes)) {
        return 0;
    }
    *at_p += entry->header_bytes + (size_t)entry->bytes;
    return 1;
}

/* An option in the header of LTO-IR; 0: it is not there. */
static uint32_t lto_option(const unsigned char *data, size_t bytes, uint16_t key)
{
    uint16_t option[2]; /* key and value */
    lto_header head = { .options_end = 0 };

    memcpy(&head, data, (bytes < sizeof(head)) ? bytes : sizeof(head));
    for (size_t at = head.header_bytes;
         (at + sizeof(option) <= head.options_end) && (at + sizeof(option) <= bytes);
         at += sizeof(option)) {
        memcpy(option, data + at, sizeof(option));
        if (option[0] == key) {
            return option[1];
        }
    }
    return 0;
}

char shpool_code_letter(const void *data, size_t bytes, uint32_t number)
{
    shpool_fat_entry entry;
    size_t at = 0;
    char letter = '\0';

    if (shpool_code_is_lto(data, bytes)) {
        return ((lto_option(data, bytes, LTO_A) != 0) &&
                (lto_option(data, bytes, LTO_ARCH) == 10u * number)) ? 'a' : '\0';
    }
    while ((shpool_fat_bytes(data, bytes) != 0) && shpool_fat_next(data, bytes, &at, &entry)) {
        if (((entry.flags & FAT_A) != 0) && (entry.arch == number)) {
            return 'a';
        }
        if (((entry.flags & FAT_F) != 0) && (entry.arch <= number) &&
            (entry.arch / 10u == number / 10u)) {
            letter = 'f';
        }
    }
    return letter;
}

static int lto_is_whole(const unsigned char *data, size_t bytes, shpool_text *why)
{
    lto_header head;

    if (bytes >= sizeof(head)) {
        memcpy(&head, data, sizeof(head));
        if ((head.header_bytes >= sizeof(head)) && (head.header_bytes <= head.options_end) &&
            (head.options_end <= head.code) && (head.code < bytes)) {
            return 1;
        }
    }
    shpool_text_add(why, "it is cut off or damaged: its %zu bytes of LTO-IR end before the code",
                    bytes);
    return 0;
}

static int fat_is_whole(const unsigned char *data, size_t bytes, shpool_text *why);

/* A host's object has its device code in fat binaries: sections that begin with one. */
static int elf_is_whole(const unsigned char *data, size_t bytes, shpool_text *why)
{
    shpool_elf elf = { .data = data, .bytes = bytes };
    Elf64_Shdr section;

    if (!shpool_elf_is_whole(&elf, why)) {
        return 0;
    }
    for (uint64_t i = 0; i < shpool_elf_sections(&elf); i++) {
        if (shpool_elf_section(&elf, i, &section) && (section.sh_type == SHT_PROGBITS) &&
            begins_with(data + section.sh_offset, section.sh_size, FAT_MAGIC) &&
            !fat_is_whole(data + section.sh_offset, section.sh_size, why)) {
            return 0;
        }
    }
    return 1;
}

/* Whether what an entry says of its header and contents is within them. */
static int entry_is_whole(const unsigned char *header, const shpool_fat_entry *entry,
                          shpool_text *why)
{
    const unsigned char *contents = header + entry->header_bytes;
    const size_t bytes = (size_t)entry->bytes;
    uint32_t place[2] = { 0, 0 }; /* offset and size of the options */

    if ((entry->packed_bytes > bytes) || (entry->name > entry->header_bytes) ||
        (entry->name_bytes > entry->header_bytes - entry->name) ||
        ((entry->options == 0) && (entry->kind == SHPOOL_FAT_LTO)) ||
        (entry->options > entry->header_bytes - sizeof(place))) {
        return 0;
    }
    if (entry->options != 0) {
        memcpy(place, header + entry->options, sizeof(place));
    }
    if ((place[0] > entry->header_bytes) || (place[1] > entry->header_bytes - place[0])) {
        return 0;
    }
    if ((entry->flags & FAT_PACKED) != 0) {
        return 1; /* the decompressor stops at its ends */
    }
    return (entry->kind == SHPOOL_FAT_LTO) ? lto_is_whole(contents, bytes, why)
           : (entry->kind == SHPOOL_FAT_ELF) ? elf_is_whole(contents, bytes, why)
           : (entry->kind != SHPOOL_FAT_PTX) || (memchr(contents, '\0', bytes) != NULL);
}

static int fat_is_whole(const unsigned char *data, size_t bytes, shpool_text *why)
{
    const size_t own = shpool_fat_bytes(data, bytes);
    shpool_fat_entry entry;
    size_t at = 0;
    size_t next = 0;
    size_t entries = 0;

    if (own == 0) {
        shpool_text_add(why, "it is cut off or damaged: its %zu bytes are not all of the fat "
                        "binary that begins there", bytes);
        return 0;
    }
    while (shpool_fat_next(data, own, &next, &entry)) {
        const unsigned char *contents = data + next - (size_t)entry.bytes;

        entries++;
        if (!entry_is_whole(contents - entry.header_bytes, &entry, why)) {
            next = 0;
            break;
        }
        at = next;
    }
    if ((entries > 0) && (next == own)) {
        return 1;
    }
    if (why->used == 0) {
        shpool_text_add(why, "it is cut off or damaged: entry %zu of the fat binary, at byte %zu, "
                        "has sizes that are not those of its contents", entries, at);
    }
    return 0;
}

static int is_elf(const void *data, size_t bytes)
{
    return (bytes >= SELFMAG) && (memcmp(data, ELFMAG, SELFMAG) == 0);
}

static int is_archive(const void *data, size_t bytes)
{
    return (bytes >= 8) && (memcmp(data, "!<arch>\n", 8) == 0);
}

int shpool_code_is_text(const void *data, size_t bytes)
{
    return !begins_with(data, bytes, FAT_MAGIC) && !shpool_code_is_lto(data, bytes) &&
           !is_elf(data, bytes) && !is_archive(data, bytes);
}

int shpool_code_is_whole(const void *data, size_t bytes, shpool_text *why)
{
    if (shpool_code_is_text(data, bytes)) {
        return 1;
    }
    if (is_archive(data, bytes)) {
        shpool_text_add(why, "it is an archive: link its objects");
        return 0;
    }
    return is_elf(data, bytes) ? elf_is_whole(data, bytes, why)
           : shpool_code_is_lto(data, bytes) ? lto_is_whole(data, bytes, why)
           : fat_is_whole(data, bytes, why);
}
