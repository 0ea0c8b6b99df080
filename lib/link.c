/* SPDX-License-Identifier: BSD-3-Clause */
/* Run-time linking: which LTO-IR serves, and the shortest way to a cubin. */
#include "config.h"

#include "cache.h"
#include "link.h"

/* The part of a linked kernel beside the allocator's: of pools that do not spill, and of those that
 * do (lib/linked_plain.cu, lib/linked_spill.cu).  Embedded by the build as the allocators' is. */
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
    if ((arch < 75) || (arch > 999)) {
        return shpool_error(SHPOOL_ERR_INVALID, "arch is %u, give the compute capability times 10, "
                            "from 75 on: 90 for sm_90", arch);
    }
    return SHPOOL_OK;
}

/*
 * Of an allocator's LTO-IR, that for the newest architecture which is not newer than `arch`; NULL
 * if there is none.  What says nothing of its architecture is taken for the oldest.
 */
static const shpool_blob *choose_lto_ir(const shpool_allocator *allocator, uint32_t arch)
{
    const shpool_blob *best = NULL;

    for (const shpool_blob *one = allocator->lto_ir; one != NULL; one = one->newer) {
        if ((one->bytes > 0) && (one->arch <= arch) &&
            ((best == NULL) || (one->arch > best->arch))) {
            best = one;
        }
    }
    return best;
}

static shpool_status no_lto_ir(const shpool_allocator *allocator, uint32_t arch)
{
    const shpool_blob *lto_ir = allocator->lto_ir;

    if ((lto_ir == NULL) || (lto_ir->bytes == 0)) {
        return shpool_error(SHPOOL_ERR_UNSUPPORTED, "\"%s\" has no LTO-IR: this build was made "
                            "without nvcc, or the allocator cannot be linked at run time",
                            allocator->name);
    }
    return shpool_error(SHPOOL_ERR_UNSUPPORTED, "the LTO-IR of \"%s\" is for sm_%u and newer, it "
                        "cannot be linked for sm_%u: compile it with -arch=sm_%u", allocator->name,
                        lto_ir->arch, arch, arch);
}

/* Of all that the kernel is joined with. */
static shpool_hash hash_modules(const shpool_link_input *input)
{
    shpool_hash hash = shpool_hash_bytes(input->lto_ir->data, input->lto_ir->bytes);

    if (input->spill != NULL) {
        shpool_hash spill = shpool_hash_bytes(input->spill->data, input->spill->bytes);

        hash.word[0] ^= spill.word[0];
        hash.word[1] ^= spill.word[1];
    }
    return hash;
}

static shpool_cache_key make_key(const shpool_link_input *input)
{
    shpool_cache_key key = {
        .kernel = shpool_hash_bytes(input->kernel, input->kernel_bytes),
        .lto_ir = hash_modules(input),
        .kernel_bytes = input->kernel_bytes,
        .lto_ir_bytes = input->lto_ir->bytes,
        .arch = input->arch,
        .cuda = input->lto_ir->cuda,
        .maker = PACKAGE_VERSION " " SHPOOL_JOIN_OPTIONS,
    };

    return key;
}

/* From memory, else from the folder, else from the linker. */
static shpool_status find_or_join(const shpool_link_input *input, void **cubin_p, size_t *bytes_p,
                                  shpool_link_origin *origin_p)
{
    const char *folder = shpool_config_cache_dir();
    const shpool_cache_key key = make_key(input);
    uint64_t limit = 0;
    shpool_status status = shpool_config_cache_bytes(&limit);

    if (status != SHPOOL_OK) {
        return status;
    }
    *origin_p = SHPOOL_FROM_MEMORY;
    if (shpool_memory_get(&key, cubin_p, bytes_p)) {
        return SHPOOL_OK;
    }

    *origin_p = SHPOOL_FROM_DISK;
    if ((folder == NULL) || !shpool_disk_get(folder, &key, cubin_p, bytes_p)) {
        *origin_p = SHPOOL_FROM_LINKER;
        status = shpool_join(input, cubin_p, bytes_p);
        if (status != SHPOOL_OK) {
            return status;
        }
        if (folder != NULL) {
            shpool_disk_put(folder, limit, &key, *cubin_p, *bytes_p);
        }
    }
    shpool_memory_put(&key, *cubin_p, *bytes_p);
    return SHPOOL_OK;
}

shpool_status shpool_link_from(const void *kernel, size_t kernel_bytes, const char *allocator,
                               uint32_t arch, void **cubin_p, size_t *bytes_p,
                               shpool_link_origin *origin_p)
{
    shpool_link_input input = { .kernel = kernel, .kernel_bytes = kernel_bytes, .arch = arch };
    shpool_config config = { .block_threads = 0 };
    shpool_selection selection = { .allocator = NULL };
    shpool_status status;
    int spills;

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
        status = shpool_select(allocator, &config, &selection);
    }
    if (status != SHPOOL_OK) {
        return status;
    }
    input.lto_ir = choose_lto_ir(selection.allocator, arch);
    if (input.lto_ir == NULL) {
        return no_lto_ir(selection.allocator, arch);
    }
    spills = (config.spill != SHPOOL_SPILL_FAIL) ||
             ((selection.allocator->caps & SHPOOL_CAP_SPILL) != 0);
    input.spill = linked_parts[spills];
    input.name = selection.allocator->name;
    return find_or_join(&input, cubin_p, bytes_p, origin_p);
}

shpool_status shpool_link(const void *kernel, size_t kernel_bytes, const char *allocator,
                          uint32_t arch, void **cubin_p, size_t *bytes_p)
{
    shpool_link_origin origin;

    return shpool_link_from(kernel, kernel_bytes, allocator, arch, cubin_p, bytes_p, &origin);
}
