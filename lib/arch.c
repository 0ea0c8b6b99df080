/* SPDX-License-Identifier: BSD-3-Clause */
/* Limits of the GPU architectures for a block and a multiprocessor. */
#include "internal.h"

#include <stdio.h>
#include <string.h>

#define KIB 1024u

/* CUDA programming guide, "Technical Specifications per Compute Capability"; ascending.  From sm_80
 * on the system uses 1 KiB of each block's shared memory, which counts against the
 * multiprocessor's.  A new architecture is one line here. */
static const shpool_arch archs[] = {
    /* arch  of a block  of an SM    taken  threads  blocks */
    {   75,  64u * KIB,  64u * KIB,      0,   1024,  16 },
    {   80, 163u * KIB, 164u * KIB, 1u * KIB,   2048,  32 },
    {   86,  99u * KIB, 100u * KIB, 1u * KIB,   1536,  16 },
    {   87, 163u * KIB, 164u * KIB, 1u * KIB,   1536,  16 },
    {   89,  99u * KIB, 100u * KIB, 1u * KIB,   1536,  24 },
    {   90, 227u * KIB, 228u * KIB, 1u * KIB,   2048,  32 },
    {  100, 227u * KIB, 228u * KIB, 1u * KIB,   2048,  32 },
    {  103, 227u * KIB, 228u * KIB, 1u * KIB,   2048,  32 },
    {  110, 227u * KIB, 228u * KIB, 1u * KIB,   1536,  24 },
    {  120,  99u * KIB, 100u * KIB, 1u * KIB,   1536,  24 },
    {  121,  99u * KIB, 100u * KIB, 1u * KIB,   1536,  24 },
};

#define ARCH_COUNT SHPOOL_ARRAY_COUNT(archs)

shpool_status shpool_arch_get(size_t index, shpool_arch *arch_p)
{
    if (arch_p == NULL) {
        return shpool_error(SHPOOL_ERR_INVALID, "arch_p is NULL");
    }
    memset(arch_p, 0, sizeof(*arch_p));
    if (index >= ARCH_COUNT) {
        return shpool_error(SHPOOL_ERR_NOT_FOUND,
                            "architecture %zu does not exist, there are 0..%zu", index,
                            ARCH_COUNT - 1);
    }
    *arch_p = archs[index];
    return SHPOOL_OK;
}

/* Letters that ptxas knows: a, code for this architecture alone; f, for its family. */
static const char *letters_of(uint32_t arch)
{
    return (arch >= 100) ? "af" : (arch >= 90) ? "a" : "";
}

/* "sm_86", "86" and "8.6" are 86, and "sm_90a" is 90 with its letter; 0 if it is none of these. */
static uint32_t parse_arch(const char *name)
{
    char digits[8] = "";
    size_t count = 0;
    uint64_t value;
    size_t length = strlen(name);
    char letter = (length > 0) ? name[length - 1] : '\0';

    letter = ((letter >= 'a') && (letter <= 'z')) ? letter : '\0';
    length -= (letter != '\0');
    if ((strncmp(name, "sm_", 3) == 0) && (memchr(name, '.', length) == NULL)) {
        name += 3;
        length = (length > 3) ? length - 3 : 0;
    }
    for (size_t i = 0; (i < length) && (count + 1 < sizeof(digits)); i++) {
        if ((name[i] != '.') || (count == 0) || (i + 2 != length)) {
            digits[count++] = name[i];
        }
    }
    if ((count + 1 == sizeof(digits)) || !shpool_spec_number(digits, 0, &value) ||
        (value > SHPOOL_ARCH_NUMBER) ||
        ((letter != '\0') && (strchr(letters_of((uint32_t)value), letter) == NULL))) {
        return 0;
    }
    return (uint32_t)value | SHPOOL_ARCH_LETTER(letter);
}

const char *shpool_arch_name(uint32_t arch, char name[SHPOOL_ARCH_BYTES])
{
    const char letter[2] = { (char)(arch >> 16), '\0' };

    snprintf(name, SHPOOL_ARCH_BYTES, "sm_%u%s", arch & SHPOOL_ARCH_NUMBER, letter);
    return name;
}

shpool_status shpool_arch_find(const char *name, shpool_arch *arch_p)
{
    char detail[SHPOOL_ERROR_BYTES];
    shpool_text text;
    uint32_t wanted;

    if ((name == NULL) || (arch_p == NULL)) {
        return shpool_error(SHPOOL_ERR_INVALID, "%s is NULL", (name == NULL) ? "name" : "arch_p");
    }
    memset(arch_p, 0, sizeof(*arch_p));
    wanted = parse_arch(name);
    for (size_t i = 0; i < ARCH_COUNT; i++) {
        if (archs[i].arch == (wanted & SHPOOL_ARCH_NUMBER)) {
            *arch_p = archs[i];
            arch_p->arch = wanted;
            return SHPOOL_OK;
        }
    }

    text = shpool_text_make(detail, sizeof(detail));
    shpool_text_add(&text, "architecture \"%.32s\" is unknown; known ones:", name);
    for (size_t i = 0; i < ARCH_COUNT; i++) {
        shpool_text_add(&text, "%s sm_%u", (i > 0) ? "," : "", archs[i].arch);
    }
    shpool_text_add(&text, "; letters: a from sm_90 on, f from sm_100 on");
    return shpool_error(SHPOOL_ERR_NOT_FOUND, "%s", detail);
}

uint32_t shpool_blocks_per_sm(const shpool_pool *pool, const shpool_arch *arch,
                              uint32_t other_shared)
{
    /* Shared memory is handed out in units of 128 bytes (256 before sm_80), threads in warps. */
    const unsigned long long unit = (arch != NULL) && (arch->arch < 80) ? 256u : 128u;
    unsigned long long shared;
    uint32_t threads;
    uint32_t blocks;

    if ((pool == NULL) || (arch == NULL) || (pool->block_threads == 0)) {
        return 0;
    }
    shared = (unsigned long long)pool->shared_bytes + other_shared;
    if (shared > arch->shared_block) {
        return 0;
    }
    shared  = (shared + arch->shared_reserved + unit - 1) / unit * unit;
    threads = (pool->block_threads + 31u) / 32u * 32u;
    blocks  = arch->threads_sm / threads;
    if ((shared > 0) && (blocks > arch->shared_sm / shared)) {
        blocks = (uint32_t)(arch->shared_sm / shared);
    }
    return (blocks < arch->blocks_sm) ? blocks : arch->blocks_sm;
}
