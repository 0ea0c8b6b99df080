/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks that a third party's description of its allocator is complete. */
#include "internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Words that other parts of the grammar need. */
static const char *const reserved_names[] = { "all", "default", "none" };

static shpool_status SHPOOL_PRINTF(3, 4)
refuse(shpool_text *why, shpool_status status, const char *format, ...)
{
    char reason[512];
    va_list args;

    va_start(args, format);
    vsnprintf(reason, sizeof(reason), format, args);
    va_end(args);
    shpool_text_add(why, "%s", reason);
    return status;
}

static shpool_status check_name(const char *name, shpool_text *why)
{
    if (name == NULL) {
        return refuse(why, SHPOOL_ERR_INVALID, "the allocator's name is NULL");
    }
    if (!shpool_name_is_valid(name)) {
        return refuse(why, SHPOOL_ERR_INVALID, "\"%.100s\" cannot be an allocator's name: names "
                      "are [a-z][a-z0-9_]* with at most %u characters", name,
                      SHPOOL_NAME_BYTES - 1);
    }
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(reserved_names); i++) {
        if (strcmp(name, reserved_names[i]) == 0) {
            return refuse(why, SHPOOL_ERR_INVALID, "\"%s\" is a reserved name, as are all, "
                          "default and none; choose another", name);
        }
    }
    return SHPOOL_OK;
}

/* Kernels call every one of them; only the counted table has an end to its statistics. */
static const char *missing_function(const shpool_table *table, int counted)
{
    const struct { const char *name; int there; } functions[] = {
        { "layout", table->layout != NULL },     { "init", table->init != NULL },
        { "allocate", table->allocate != NULL }, { "release", table->release != NULL },
        { "resize", table->resize != NULL },     { "usable", table->usable != NULL },
        { "largest", table->largest != NULL },   { "walk", table->walk != NULL },
        { "owns", table->owns != NULL },         { "spill", table->spill != NULL },
        { "unspill", table->unspill != NULL },   { "fini", !counted || (table->fini != NULL) },
    };

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(functions); i++) {
        if (!functions[i].there) {
            return functions[i].name;
        }
    }
    return NULL;
}

static shpool_status check_tables(const shpool_allocator *allocator, shpool_text *why)
{
    for (unsigned i = 0; i < 2; i++) {
        const shpool_table *table = allocator->simt[i];
        const char *missing;

        if (table == NULL) {
            continue;
        }
        if ((table->abi != SHPOOL_ABI) || (table->bytes != sizeof(*table))) {
            return refuse(why, SHPOOL_ERR_ABI, "table simt[%u] of \"%s\" has ABI %u and %u "
                          "bytes, this library has ABI %u and %zu: rebuild it with the "
                          "headers of shpool %s", i, allocator->name, table->abi,
                          table->bytes, SHPOOL_ABI, sizeof(*table), PACKAGE_VERSION);
        }
        missing = missing_function(table, i == 1);
        if (missing != NULL) {
            return refuse(why, SHPOOL_ERR_INVALID, "table simt[%u] of \"%s\" has no function %s",
                          i, allocator->name, missing);
        }
    }
    return SHPOOL_OK;
}

/* A group allocates in one pool, and frees by the same rules. */
static shpool_status check_groups(const shpool_allocator *allocator, shpool_text *why)
{
    int grouped = (allocator->caps & SHPOOL_CAP_GROUP) != 0;

    for (unsigned i = 0; i < 2; i++) {
        const shpool_table *table = allocator->simt[i];

        if ((table != NULL) && (((table->allocate_group != NULL) != grouped) ||
                                ((table->release_group != NULL) != grouped))) {
            return refuse(why, SHPOOL_ERR_INVALID, "table simt[%u] of \"%s\" has %s and %s: "
                          "with SHPOOL_CAP_GROUP both are needed, without it neither", i,
                          allocator->name,
                          (table->allocate_group != NULL) ? "allocate_group"
                                                          : "no allocate_group",
                          (table->release_group != NULL) ? "release_group" : "no release_group");
        }
    }
    if (grouped && (allocator->scope != SHPOOL_SCOPE_BLOCK)) {
        return refuse(why, SHPOOL_ERR_INVALID, "\"%s\" has SHPOOL_CAP_GROUP and scope %u: only "
                      "where all lanes of a warp share one pool, scope 3 (block), may an "
                      "allocator have functions for groups", allocator->name, allocator->scope);
    }
    return SHPOOL_OK;
}

shpool_status shpool_descriptor_check(const shpool_allocator *allocator, shpool_text *why)
{
    shpool_status status;

    if (allocator == NULL) {
        return refuse(why, SHPOOL_ERR_INVALID, "allocator is NULL");
    }
    if ((allocator->abi != SHPOOL_ABI) || (allocator->bytes != sizeof(*allocator))) {
        return refuse(why, SHPOOL_ERR_ABI, "the allocator was built with ABI %u and %u bytes, "
                      "this library has ABI %u and %zu: rebuild it with the headers of "
                      "shpool %s", allocator->abi, allocator->bytes, SHPOOL_ABI,
                      sizeof(*allocator), PACKAGE_VERSION);
    }

    status = check_name(allocator->name, why);
    if (status != SHPOOL_OK) {
        return status;
    }
    if (allocator->summary == NULL) {
        return refuse(why, SHPOOL_ERR_INVALID, "\"%s\" has no summary", allocator->name);
    }
    if (allocator->layout == NULL) {
        return refuse(why, SHPOOL_ERR_INVALID, "\"%s\" has no function layout", allocator->name);
    }
    if (allocator->tables == NULL) {
        return refuse(why, SHPOOL_ERR_INVALID, "\"%s\" names no tables, as SHPOOL_HOST_MODULE() "
                      "does", allocator->name);
    }
    for (const shpool_blob *one = allocator->lto_ir; one != NULL; one = one->newer) {
        if ((one->data == NULL) && (one->bytes > 0)) {
            return refuse(why, SHPOOL_ERR_INVALID, "the LTO-IR of \"%s\" has bytes, but no data",
                          allocator->name);
        }
        if ((one->newer != NULL) && (one->newer->arch <= one->arch)) { /* nor a circle */
            return refuse(why, SHPOOL_ERR_INVALID, "the LTO-IR of \"%s\" for sm_%u is followed by "
                          "one for sm_%u: list architectures in ascending order",
                          allocator->name, one->arch,
                          one->newer->arch);
        }
    }
    if ((allocator->scope < SHPOOL_SCOPE_THREAD) || (allocator->scope > SHPOOL_SCOPE_CLUSTER)) {
        return refuse(why, SHPOOL_ERR_INVALID, "\"%s\" has scope %u, scopes are 1 (thread), "
                      "2 (group), 3 (block) and 4 (cluster)", allocator->name, allocator->scope);
    }
    status = check_tables(allocator, why);
    return (status == SHPOOL_OK) ? check_groups(allocator, why) : status;
}
