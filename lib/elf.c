/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads ELF files within their bounds (System V ABI, chapters 4 and 5, and <elf.h>). */
#include "elf.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int is_within(const shpool_elf *elf, uint64_t at, uint64_t bytes)
{
    return (at <= elf->bytes) && (bytes <= elf->bytes - at);
}

int shpool_elf_read(const shpool_elf *elf, uint64_t at, void *to, size_t count)
{
    if (!is_within(elf, at, count)) {
        return 0;
    }
    if (elf->data == NULL) {
        return pread(elf->file, to, count, (off_t)at) == (ssize_t)count;
    }
    memcpy(to, elf->data + at, count);
    return 1;
}

int shpool_elf_open(shpool_elf *elf)
{
    static const uint16_t order = 1;

    return shpool_elf_read(elf, 0, &elf->head, sizeof(elf->head)) &&
           (memcmp(elf->head.e_ident, ELFMAG, SELFMAG) == 0) &&
           (elf->head.e_ident[EI_CLASS] == ELFCLASS64) &&
           (elf->head.e_ident[EI_DATA] ==
            ((*(const unsigned char *)&order == 1) ? ELFDATA2LSB : ELFDATA2MSB));
}

static int read_row(const shpool_elf *elf, uint64_t index, Elf64_Shdr *section)
{
    return (index <= elf->bytes / sizeof(*section)) && (elf->head.e_shoff <= elf->bytes) &&
           shpool_elf_read(elf, elf->head.e_shoff + index * sizeof(*section), section,
                           sizeof(*section));
}

/* More than 65,279 do not fit in the header: then the first section, if it is there, has the
 * number. */
uint64_t shpool_elf_sections(const shpool_elf *elf)
{
    Elf64_Shdr first;

    if ((elf->head.e_shoff == 0) || (elf->head.e_shnum != 0)) {
        return (elf->head.e_shoff != 0) ? elf->head.e_shnum : 0;
    }
    return read_row(elf, 0, &first) ? first.sh_size : 1;
}

static int section_is_within(const shpool_elf *elf, const Elf64_Shdr *section)
{
    return (section->sh_type == SHT_NOBITS) || (section->sh_type == SHT_NULL) ||
           is_within(elf, section->sh_offset, section->sh_size);
}

int shpool_elf_section(const shpool_elf *elf, uint64_t index, Elf64_Shdr *section)
{
    return (index < shpool_elf_sections(elf)) && read_row(elf, index, section) &&
           section_is_within(elf, section);
}

/* Adds that a part is missing; returns 0. */
static int lacks(const shpool_elf *elf, const char *part, uint64_t number, uint64_t at,
                 uint64_t bytes, shpool_text *why)
{
    shpool_text_add(why, "it is cut off or damaged: %s %llu, %llu bytes at byte %llu, does not end "
                    "within its %llu bytes", part, (unsigned long long)number,
                    (unsigned long long)bytes, (unsigned long long)at,
                    (unsigned long long)elf->bytes);
    return 0;
}

static int segments_are_within(const shpool_elf *elf, shpool_text *why)
{
    Elf64_Phdr segment;

    for (uint64_t i = 0; i < elf->head.e_phnum; i++) {
        const uint64_t at = elf->head.e_phoff + i * sizeof(segment);

        if ((elf->head.e_phentsize != sizeof(segment)) || (at < elf->head.e_phoff) ||
            !shpool_elf_read(elf, at, &segment, sizeof(segment))) {
            return lacks(elf, "the header of segment", i, at, elf->head.e_phentsize, why);
        }
        if (!is_within(elf, segment.p_offset, segment.p_filesz)) {
            return lacks(elf, "segment", i, segment.p_offset, segment.p_filesz, why);
        }
    }
    return 1;
}

static int sections_are_within(const shpool_elf *elf, shpool_text *why)
{
    const uint64_t count = shpool_elf_sections(elf);
    Elf64_Shdr section;

    for (uint64_t i = 0; i < count; i++) {
        if ((elf->head.e_shentsize != sizeof(section)) || !read_row(elf, i, &section)) {
            return lacks(elf, "the header of section", i, elf->head.e_shoff,
                         elf->head.e_shentsize, why);
        }
        if (!section_is_within(elf, &section)) {
            return lacks(elf, "section", i, section.sh_offset, section.sh_size, why);
        }
    }
    return 1;
}

int shpool_elf_is_whole(shpool_elf *elf, shpool_text *why)
{
    if (!shpool_elf_open(elf)) {
        shpool_text_add(why, "it is not a 64-bit ELF file of this machine's byte order, or shorter "
                        "than the header of one");
        return 0;
    }
    return segments_are_within(elf, why) && sections_are_within(elf, why);
}

int shpool_elf_is_loadable(const char *path, shpool_text *why)
{
    shpool_elf elf = { .data = NULL };
    struct stat info;
    int whole = 0;

    if ((stat(path, &info) == 0) && !S_ISREG(info.st_mode)) {
        shpool_text_add(why, "it is not a regular file");
        return 0;
    }
    elf.file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if ((elf.file < 0) || (fstat(elf.file, &info) != 0)) {
        shpool_text_add(why, "%s", strerror(errno));
    } else {
        elf.bytes = (uint64_t)info.st_size;
        whole = shpool_elf_is_whole(&elf, why);
    }
    if (elf.file >= 0) {
        close(elf.file);
    }
    return whole;
}
