/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Links an image's own kernels with an allocator while the program runs.
 *
 * nvcc leaves the relocatable device code of every object in the image, in the section
 * __nv_relfatbin: a sequence of fat binaries.  nvJitLink links them, unchanged, with an allocator's
 * device code into one cubin: kernels can then call a plugin's functions.  If the objects have
 * LTO-IR in addition to machine code (SHPOOL_LTO), the allocator can be inlined; image_calls.cu
 * explains how.
 */
#include "config.h"

#include "cubin.h"
#include "fat.h"
#include "link.h"
#include "lib/lock.h"

#include <stdlib.h>
#include <string.h>

/* lib/cuda/linked_calls.cu and linked_calls_spill.cu, embedded by the build. */
#if HAVE_LTO_IR
extern const shpool_blob shpool_lto_linked_calls;
extern const shpool_blob shpool_lto_linked_calls_spill;
static const shpool_blob *const linked_calls[2] = {
    &shpool_lto_linked_calls, &shpool_lto_linked_calls_spill
};
#else
static const shpool_blob *const linked_calls[2] = { NULL, NULL };
#endif

/* ---- fat binaries ---- */

/* Forms of code in a complete fat binary. */
static int fat_code(const unsigned char *data, size_t bytes)
{
    shpool_fat_entry entry;
    size_t at = 0;
    int code = 0;

    while (shpool_fat_next(data, bytes, &at, &entry)) {
        code |= (entry.kind == SHPOOL_FAT_LTO) ? SHPOOL_CODE_LTO : SHPOOL_CODE_OTHER;
    }
    return code;
}

int shpool_blob_code(const shpool_blob *blob)
{
    if (shpool_code_is_lto(blob->data, blob->bytes)) {
        return SHPOOL_CODE_LTO;
    }
    return (shpool_fat_bytes(blob->data, blob->bytes) != 0) ? fat_code(blob->data, blob->bytes)
                                                            : SHPOOL_CODE_OTHER;
}

/* Name of a fat binary of libshpool_device.a (m4/nvcc.mk): "calls" or an allocator.  0: not one of
 * those. */
static int fat_name(const unsigned char *data, size_t bytes, char name[SHPOOL_NAME_BYTES])
{
    static const char prefix[] = "shpool:";
    const size_t count = sizeof(prefix) - 1;
    shpool_fat_entry entry;
    const unsigned char *at;
    size_t end = 0;

    if (!shpool_fat_next(data, bytes, &end, &entry)) {
        return 0;
    }
    at = data + end - (size_t)entry.bytes - entry.header_bytes;
    for (size_t i = sizeof(entry); i + count < entry.header_bytes; i++) {
        if (memcmp(at + i, prefix, count) == 0) {
            const size_t room = entry.header_bytes - i - count;
            const size_t most = SHPOOL_NAME_BYTES - 1;
            const size_t length = strnlen((const char *)at + i + count,
                                          (room < most) ? room : most);

            memcpy(name, at + i + count, length);
            name[length] = '\0';
            return 1;
        }
    }
    return 0;
}

/* ---- an image's row of them ---- */

typedef struct row {
    const unsigned char *at;
    size_t bytes;
} row;

/* The next one of the sequence, after zeros that align it; its bytes, or 0 if there are no more. */
static size_t take_fat(row *rest, const unsigned char **fat_p)
{
    size_t bytes = 0;

    while ((rest->bytes >= sizeof(shpool_fat_header)) &&
           ((bytes = shpool_fat_bytes(rest->at, rest->bytes)) == 0)) {
        rest->at += 8;
        rest->bytes -= 8;
    }
    *fat_p = rest->at;
    rest->at += bytes;
    rest->bytes -= bytes;
    return bytes;
}

typedef struct row_facts {
    size_t count;
    int code; /* of any: SHPOOL_CODE_* */
    char letter; /* of the code that the device uses: a kernel keeps what its author set */
} row_facts;

static row_facts look_at(row rest, uint32_t arch)
{
    row_facts facts = { .count = 0 };
    const unsigned char *fat;
    size_t bytes;

    while ((bytes = take_fat(&rest, &fat)) != 0) {
        facts.count++;
        facts.code |= fat_code(fat, bytes);
        if (facts.letter != 'a') {
            const char letter = shpool_code_letter(fat, bytes, arch);

            facts.letter = (letter != '\0') ? letter : facts.letter;
        }
    }
    return facts;
}

/* ---- joining ---- */

/* Whether it is called: not tables of other allocators, and not image_calls.cu if linked_calls.cu
 * replaces it. */
static int is_needed(const unsigned char *fat, size_t bytes, const char *allocator, int inlined)
{
    char name[SHPOOL_NAME_BYTES];

    if (!fat_name(fat, bytes, name)) {
        return 1;
    }
    return (strcmp(name, "calls") == 0) ? !inlined : (strcmp(name, allocator) == 0);
}

/* All inputs; the caller has room for two more than the row has.  Without
 * calls nothing is inlined. */
static void list_parts(row rest, const char *name, const shpool_blob *allocator,
                       const shpool_blob *calls, shpool_link_part *part, size_t *parts_p)
{
    const unsigned char *fat;
    size_t count = 0;
    size_t bytes;

    while ((bytes = take_fat(&rest, &fat)) != 0) {
        if (is_needed(fat, bytes, name, calls != NULL)) {
            part[count++] = (shpool_link_part){ fat, bytes, "program's device code" };
        }
    }
    part[count++] = (shpool_link_part){ allocator->data, allocator->bytes, "allocator" };
    if (calls != NULL) {
        part[count++] = (shpool_link_part){ calls->data, calls->bytes, "calls" };
    }
    *parts_p = count;
}

/* Threads that open pools of one allocator at the same time link it once: later ones find it in
 * memory.  Messages wait, as with shpool_mutex_lock(): a receiver may relink, too. */
static shpool_status link_once(const shpool_link_input *input, void **cubin_p, size_t *bytes_p)
{
    shpool_link_origin origin;
    shpool_status status;

    shpool_messages_hold();
    shpool_lock(SHPOOL_LOCK_JOIN);
    status = shpool_link_parts(input, cubin_p, bytes_p, &origin);
    shpool_unlock(SHPOOL_LOCK_JOIN);
    shpool_messages_release();
    return status;
}

static shpool_status check_variables(const shpool_pool *pool, const void *cubin, size_t bytes)
{
    char text[SHPOOL_ERROR_BYTES / 2];
    shpool_text names = shpool_text_make(text, sizeof(text));
    size_t count;
    shpool_status status = shpool_cubin_variables(cubin, bytes, &count, &names);

    if ((status != SHPOOL_OK) || (count == 0) || ((pool->flags & SHPOOL_FLAG_COPIES) != 0)) {
        return status;
    }
    return shpool_error(SHPOOL_ERR_UNSUPPORTED, "kernels that are joined with \"%s\" would have "
                        "copies of %zu variable%s of this program, with their first values: %s%s; "
                        "if its host code neither sets nor reads them, allow it by "
                        "\"%s:copies=1\" or SHPOOL_FLAG_COPIES", pool->name, count,
                        (count == 1) ? "" : "s", text, (count > 6) ? ", ..." : "", pool->name);
}

static shpool_status check_image(const shpool_pool *pool, row_facts facts, int inlined)
{
    if (facts.count == 0) {
        return shpool_error(SHPOOL_ERR_UNSUPPORTED, "allocator \"%s\" has to be joined with this "
                            "image's kernels, but the image has no relocatable device code "
                            "(section __nv_relfatbin): compile and link with nvcc -rdc=true, and "
                            "do not remove that section", pool->name);
    }
    if (inlined && ((linked_calls[0] == NULL) || ((facts.code & SHPOOL_CODE_LTO) == 0))) {
        return shpool_error(SHPOOL_ERR_UNSUPPORTED, "\"%s\" cannot be inlined: %s", pool->name,
                            (linked_calls[0] == NULL) ? "this libshpool was built without nvcc"
                            : "no object of this image holds LTO-IR, compile with $(pkg-config "
                              "--variable=lto_cflags shpool)");
    }
    return SHPOOL_OK;
}

shpool_status shpool_relink(const void *row_start, size_t row_bytes, const shpool_pool *pool,
                            uint32_t arch, void **cubin_p, size_t *bytes_p)
{
    const row all = { row_start, row_bytes };
    const shpool_allocator *allocator;
    const shpool_blob *blob = NULL;
    shpool_link_input input = { .arch = arch };
    shpool_link_part *part;
    row_facts facts;
    shpool_status status;
    uint32_t code = arch; /* for which the allocator's code is chosen */
    int inlined;

    if ((cubin_p == NULL) || (bytes_p == NULL) || (pool == NULL) ||
        ((row_start == NULL) && (row_bytes != 0))) {
        return shpool_error(SHPOOL_ERR_INVALID, "shpool_relink: %s is NULL",
                            (cubin_p == NULL) ? "cubin_p" : (bytes_p == NULL) ? "bytes_p" :
                            (pool == NULL) ? "pool" : "row_start");
    }
    *cubin_p = NULL;
    *bytes_p = 0;
    facts = look_at(all, arch);
    inlined = pool->binding == SHPOOL_BINDING_LINKED;
    status = check_image(pool, facts, inlined);
    if (status == SHPOOL_OK) {
        status = shpool_allocator_find(pool->name, &allocator);
    }
    if (status == SHPOOL_OK) {
        /* nvJitLink 13.0 compiles LTO-IR for a family without the family's instructions.  This
         * device's own letter has all of them. */
        input.arch |= SHPOOL_ARCH_LETTER((inlined && (facts.letter == 'f')) ? 'a' : facts.letter);
        /* a flat pool gets the allocator's code for a letter, which has no calls */
        code = input.arch | ((inlined && ((pool->flags & SHPOOL_FLAG_FLAT) != 0))
                                 ? SHPOOL_ARCH_LETTER('a') : 0);
        status = shpool_link_choose(allocator, code, &blob);
    }
    if (status != SHPOOL_OK) {
        return status;
    }

    part = calloc(facts.count + 2, sizeof(*part));
    if (part == NULL) {
        return shpool_error(SHPOOL_ERR_NO_MEMORY, "no host memory for a list of %zu objects",
                            facts.count);
    }
    list_parts(all, allocator->name, blob,
               inlined ? shpool_blob_choose(linked_calls[(pool->flags & SHPOOL_FLAG_SPILL) != 0],
                                            code) : NULL, part, &input.parts);
    input.part = part;
    input.name = allocator->name;
    input.cuda = blob->cuda;
    input.lto = inlined || (shpool_blob_code(blob) == SHPOOL_CODE_LTO);
    input.table = !input.lto || ((facts.code & SHPOOL_CODE_LTO) == 0);
    status = link_once(&input, cubin_p, bytes_p);
    free(part);
    if (status == SHPOOL_OK) {
        status = check_variables(pool, *cubin_p, *bytes_p);
        if (status != SHPOOL_OK) {
            free(*cubin_p);
            *cubin_p = NULL;
            *bytes_p = 0;
        }
    }
    return status;
}
