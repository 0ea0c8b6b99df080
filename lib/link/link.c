/* SPDX-License-Identifier: BSD-3-Clause */
/* Run-time linking: which LTO-IR serves, and the shortest way to a cubin. */
#include "config.h"

#include "cache.h"
#include "fat.h"
#include "link.h"

#include <stdlib.h>
#include <string.h>

/* The part of a linked kernel beside the allocator's: of pools that do not spill, and of those that
 * do (lib/cuda/linked_*.cu).  Embedded by the build as the allocators' is. */
#if HAVE_LTO_IR
extern const shpool_blob shpool_lto_linked_plain;
extern const shpool_blob shpool_lto_linked_spill;
static const shpool_blob *const linked_parts[2] = {
    &shpool_lto_linked_plain,
    &shpool_lto_linked_spill,
};
#else
static const shpool_blob *const linked_parts[2] = { NULL, NULL };
#endif

static shpool_status check_arguments(const void *kernel, size_t kernel_bytes, const char *name,
                                     uint32_t arch)
{
    if ((kernel == NULL) || (kernel_bytes == 0)) {
        return shpool_error(SHPOOL_ERR_INVALID, "the kernel is NULL or has no bytes, its LTO-IR is "
                            "needed");
    }
    if (name == NULL) {
        return shpool_error(SHPOOL_ERR_INVALID, "allocator is NULL, a registered name is needed");
    }
    if (((arch & SHPOOL_ARCH_NUMBER) < 75) || ((arch & SHPOOL_ARCH_NUMBER) > 999) ||
        ((arch > SHPOOL_ARCH_NUMBER) && (arch >> 16 != 'a') && (arch >> 16 != 'f'))) {
        return shpool_error(SHPOOL_ERR_INVALID, "arch is %u, give the compute capability times 10, "
                            "from 75 on: 90 for sm_90, and 90 | SHPOOL_ARCH_LETTER('a') for sm_90a",
                            arch);
    }
    return SHPOOL_OK;
}

static int suits(uint32_t code, uint32_t arch)
{
    return ((code & SHPOOL_ARCH_NUMBER) <= (arch & SHPOOL_ARCH_NUMBER)) &&
           ((code <= SHPOOL_ARCH_NUMBER) || (arch > SHPOOL_ARCH_NUMBER));
}

/* Code of unknown architecture counts as the oldest. */
const shpool_blob *shpool_blob_choose(const shpool_blob *first, uint32_t arch)
{
    const shpool_blob *best = NULL;

    for (const shpool_blob *one = first; one != NULL; one = one->newer) {
        if ((one->bytes > 0) && suits(one->arch, arch) &&
            ((best == NULL) || (one->arch > best->arch))) {
            best = one;
        }
    }
    return best;
}

static shpool_status no_lto_ir(const shpool_allocator *allocator, uint32_t arch)
{
    const shpool_blob *lto_ir = allocator->lto_ir;
    char oldest[SHPOOL_ARCH_BYTES];
    char wanted[SHPOOL_ARCH_BYTES];

    (void)shpool_arch_name(arch, wanted);
    if ((lto_ir == NULL) || (lto_ir->bytes == 0)) {
        return shpool_error(SHPOOL_ERR_UNSUPPORTED, "\"%s\" has no LTO-IR: this build was made "
                            "without nvcc, or the allocator cannot be linked at run time",
                            allocator->name);
    }
    return shpool_error(SHPOOL_ERR_UNSUPPORTED, "the LTO-IR of \"%s\" is for %s and newer, it "
                        "cannot be linked for %s: compile it with -arch=%s", allocator->name,
                        shpool_arch_name(lto_ir->arch, oldest), wanted, wanted);
}

shpool_status shpool_link_choose(const shpool_allocator *allocator, uint32_t arch,
                                 const shpool_blob **blob_p)
{
    *blob_p = shpool_blob_choose(allocator->lto_ir, arch);
    return (*blob_p != NULL) ? SHPOOL_OK : no_lto_ir(allocator, arch);
}

static void add_part(shpool_sha256 *sha, const void *data, size_t bytes)
{
    const uint64_t count = bytes; /* so that no byte can move from one part to the next */

    shpool_sha256_add(sha, &count, sizeof(count));
    shpool_sha256_add(sha, data, bytes);
}

static shpool_digest make_key(const shpool_link_input *input)
{
    static const char maker[] = PACKAGE_VERSION;
    shpool_sha256 sha = shpool_sha256_begin();

    add_part(&sha, maker, sizeof(maker));
    add_part(&sha, &input->arch, sizeof(input->arch));
    add_part(&sha, &input->cuda, sizeof(input->cuda));
    add_part(&sha, &input->lto, sizeof(input->lto));
    add_part(&sha, &input->table, sizeof(input->table));
    for (size_t i = 0; i < input->parts; i++) {
        add_part(&sha, input->part[i].data, input->part[i].bytes);
    }
    return shpool_sha256_end(&sha);
}

/* A cubin in the folder, and where it is. */
typedef struct kept {
    const char *folder; /* NULL: kernels are kept in memory only */
    uint64_t limit;     /* of the folder, in bytes */
    shpool_digest key;
    shpool_disk_entry entry;
} kept;

/*
 * 1: the cubin was made by this machine's nvJitLink, or the machine has none.  An unchanged file
 * proves that immediately.  If only its version is the same, as after an update of other libraries,
 * the entry is rewritten for the next process.
 */
static int serves(kept *one, const shpool_link_input *input)
{
    shpool_linker here;

    if (shpool_linker_is_unchanged(&one->entry.linker)) {
        return 1;
    }
    here = shpool_join_linker(input);
    if ((here.version != 0) && (here.version != one->entry.linker.version)) {
        return 0;
    }
    if (here.path[0] != '\0') {
        one->entry.linker = here;
        (void)shpool_disk_put(one->folder, one->limit, &one->key, &one->entry);
    }
    return 1;
}

static int get_kept(kept *one, const shpool_link_input *input)
{
    if ((one->folder == NULL) || !shpool_disk_get(one->folder, &one->key, &one->entry)) {
        return 0;
    }
    if (serves(one, input)) {
        return 1;
    }
    free(one->entry.cubin);
    return 0;
}

static shpool_status join_and_keep(kept *one, const shpool_link_input *input)
{
    const char *fault = NULL;
    shpool_status status = shpool_join(input, &one->entry.cubin, &one->entry.bytes);

    if ((status == SHPOOL_OK) && (one->folder != NULL)) {
        one->entry.linker = shpool_join_linker(input);
        fault = shpool_disk_put(one->folder, one->limit, &one->key, &one->entry);
    }
    if (fault != NULL) {
        shpool_message(SHPOOL_LEVEL_WARN, "SHPOOL_CACHE_DIR \"%.1000s\" cannot be used, so linked "
                       "kernels are kept in memory only: %s",
                       one->folder, fault);
    }
    return status;
}

shpool_status shpool_link_parts(const shpool_link_input *input, void **cubin_p, size_t *bytes_p,
                                shpool_link_origin *origin_p)
{
    kept one = { .folder = shpool_config_value(SHPOOL_VARIABLE_CACHE_DIR), .key = make_key(input) };
    shpool_status status = shpool_config_cache_bytes(&one.limit);

    if (status != SHPOOL_OK) {
        return status;
    }
    *origin_p = SHPOOL_FROM_MEMORY;
    if (shpool_memory_get(&one.key, cubin_p, bytes_p)) {
        return SHPOOL_OK;
    }

    *origin_p = SHPOOL_FROM_DISK;
    if (!get_kept(&one, input)) {
        *origin_p = SHPOOL_FROM_LINKER;
        status = join_and_keep(&one, input);
        if (status != SHPOOL_OK) {
            return status;
        }
    }
    *cubin_p = one.entry.cubin;
    *bytes_p = one.entry.bytes;
    shpool_memory_put(&one.key, *cubin_p, *bytes_p);
    return SHPOOL_OK;
}

shpool_status shpool_link_code(const char *allocator, uint32_t arch,
                               const shpool_blob **allocator_p, const shpool_blob **spill_p)
{
    shpool_config config = { .block_threads = 0 };
    shpool_selection selection = { .allocator = NULL };
    shpool_status status;
    int spills;

    if (allocator_p != NULL) {
        *allocator_p = NULL;
    }
    if (spill_p != NULL) {
        *spill_p = NULL;
    }
    if ((allocator == NULL) || (allocator_p == NULL) || (spill_p == NULL)) {
        return shpool_error(SHPOOL_ERR_INVALID, "shpool_link_code: %s is NULL",
                            (allocator == NULL) ? "allocator"
                            : (allocator_p == NULL) ? "allocator_p" : "spill_p");
    }

    status = shpool_select(allocator, &config, &selection);
    if (status == SHPOOL_OK) {
        status = shpool_link_choose(selection.allocator, arch, allocator_p);
    }
    if (status == SHPOOL_OK) {
        spills = (config.spill != SHPOOL_SPILL_FAIL) ||
                 ((selection.allocator->caps & SHPOOL_CAP_SPILL) != 0);
        *spill_p = shpool_blob_choose(linked_parts[spills], arch);
    }
    return status;
}

/* A kernel without SHPOOL_LINKED calls through the function table.  nvJitLink joins some of these,
 * and the allocator is then not in the cubin; of others its log has these names. */
static int calls_table(const void *text, size_t bytes)
{
    static const char mark[] = "shpool_image_mark";
    static const char flags[] = "shpool_named_flags";

    return (memmem(text, bytes, mark, sizeof(mark) - 1) != NULL) ||
           (memmem(text, bytes, flags, sizeof(flags) - 1) != NULL);
}

shpool_status shpool_link_from(const void *kernel, size_t kernel_bytes, const char *allocator,
                               uint32_t arch, void **cubin_p, size_t *bytes_p,
                               shpool_link_origin *origin_p)
{
    shpool_link_part part[3] = { { kernel, kernel_bytes, "kernel" } };
    shpool_link_input input = { .part = part, .parts = 2, .arch = arch,
                                .name = allocator, .lto = 1 };
    const shpool_blob *lto_ir;
    const shpool_blob *spill;
    shpool_status status;

    if (cubin_p != NULL) {
        *cubin_p = NULL;
    }
    if (bytes_p != NULL) {
        *bytes_p = 0;
    }
    if ((cubin_p == NULL) || (bytes_p == NULL)) {
        return shpool_error(SHPOOL_ERR_INVALID, "cubin_p or bytes_p is NULL");
    }

    status = check_arguments(kernel, kernel_bytes, allocator, arch);
    if (status == SHPOOL_OK) {
        if (arch <= SHPOOL_ARCH_NUMBER) {
            input.arch |= SHPOOL_ARCH_LETTER(shpool_code_letter(kernel, kernel_bytes, arch));
        }
        status = shpool_link_code(allocator, input.arch, &lto_ir, &spill);
    }
    if (status != SHPOOL_OK) {
        return status;
    }
    input.cuda = lto_ir->cuda;
    part[1] = (shpool_link_part){ lto_ir->data, lto_ir->bytes, "allocator" };
    if (spill != NULL) {
        part[input.parts++] = (shpool_link_part){ spill->data, spill->bytes, "spill" };
    }
    status = shpool_link_parts(&input, cubin_p, bytes_p, origin_p);
    if (((status == SHPOOL_OK) && calls_table(*cubin_p, *bytes_p)) ||
        ((status == SHPOOL_ERR_LINK) &&
         calls_table(shpool_last_error(), strlen(shpool_last_error())))) {
        free(*cubin_p);
        *cubin_p = NULL;
        *bytes_p = 0;
        status = shpool_error(SHPOOL_ERR_LINK, "the kernel calls allocators through the function "
                              "table: compile it with -DSHPOOL_LINKED");
    }
    return status;
}

shpool_status shpool_link(const void *kernel, size_t kernel_bytes, const char *allocator,
                          uint32_t arch, void **cubin_p, size_t *bytes_p)
{
    shpool_link_origin origin;

    return shpool_link_from(kernel, kernel_bytes, allocator, arch, cubin_p, bytes_p, &origin);
}
