/* SPDX-License-Identifier: BSD-3-Clause */
/* The JSON half of shpool-info; field names are those of the C interface. */
#include "tools/json.h"
#include "info.h"

#include <stdio.h>
#include <string.h>

#include <shpool/device/provider.h>

/* A member of the same name. */
#define INTEGER(_json, _of, _member) tool_json_integer(_json, #_member, (long long)(_of)->_member)
#define TEXT(_json, _of, _member)    tool_json_text(_json, #_member, (_of)->_member)

/* The number, and the letter of sm_90a. */
static void put_arch(tool_json *json, uint32_t arch)
{
    const char letter[2] = { (char)(arch >> 16), '\0' };

    tool_json_integer(json, "arch", arch & SHPOOL_ARCH_NUMBER);
    if (letter[0] != '\0') {
        tool_json_text(json, "letter", letter);
    }
}

static void put_allocator(tool_json *json, const shpool_allocator *allocator)
{
    TEXT(json, allocator, name);
    TEXT(json, allocator, summary);
    tool_json_text(json, "scope", info_scope(allocator->scope));
    tool_json_open(json, "caps", '[');
    for (unsigned i = 0; info_cap_word(i) != NULL; i++) {
        if ((allocator->caps & (1u << i)) != 0) {
            tool_json_text(json, NULL, info_cap_word(i));
        }
    }
    tool_json_close(json);
    tool_json_boolean(json, "executor", allocator->simt[0] != NULL);
    tool_json_boolean(json, "linkable", allocator->lto_ir != NULL);
    tool_json_open(json, "lto_ir", '[');
    for (const shpool_blob *one = allocator->lto_ir; one != NULL; one = one->newer) {
        tool_json_open(json, NULL, '{');
        INTEGER(json, one, bytes);
        INTEGER(json, one, cuda);
        put_arch(json, one->arch);
        tool_json_close(json);
    }
    tool_json_close(json);
    tool_json_text(json, "plugin", shpool_registry_file(allocator));
}

int json_list(const info_selected *selected)
{
    tool_json json = tool_json_begin(stdout);
    const shpool_selection *selection = &selected->selection;

    tool_json_text(&json, "version", shpool_version());
    tool_json_open(&json, "allocators", '[');
    for (size_t i = 0; i < shpool_allocator_count(); i++) {
        tool_json_open(&json, NULL, '{');
        put_allocator(&json, shpool_allocator_get(i));
        tool_json_close(&json);
    }
    tool_json_close(&json);
    if (selected->status != SHPOOL_OK) {
        tool_json_text(&json, "selected", NULL);
        tool_json_text(&json, "error", shpool_last_error());
        tool_json_end(&json, 0);
        return info_failed();
    }
    tool_json_open(&json, "selected", '{');
    tool_json_text(&json, "name", selection->allocator->name);
    TEXT(&json, selection, origin);
    tool_json_text(&json, "spec", selection->text);
    tool_json_end(&json, 0);
    return EXIT_OK;
}

static void put_example(tool_json *json, const info_example *example)
{
    const shpool_pool *pool = &example->pool;

    tool_json_open(json, NULL, '{');
    INTEGER(json, &example->want, block_threads);
    INTEGER(json, &example->want, payload_bytes);
    if (example->status != SHPOOL_OK) {
        tool_json_text(json, "error", shpool_strerror(example->status));
    } else {
        INTEGER(json, pool, pools);
        INTEGER(json, pool, threads_per_pool);
        INTEGER(json, pool, pool_bytes);
        INTEGER(json, pool, shared_bytes);
        INTEGER(json, pool, largest);
    }
    tool_json_close(json);
}

int json_show(const shpool_allocator *allocator)
{
    tool_json json = tool_json_begin(stdout);
    info_example examples[INFO_EXAMPLES];

    put_allocator(&json, allocator);
    info_plan_examples(allocator, examples);
    tool_json_open(&json, "examples", '[');
    for (size_t i = 0; i < INFO_EXAMPLES; i++) {
        put_example(&json, &examples[i]);
    }
    tool_json_end(&json, 0);
    return EXIT_OK;
}

int json_devices(const shpool_driver_device *devices, size_t count, uint32_t version)
{
    tool_json json = tool_json_begin(stdout);

    tool_json_integer(&json, "driver_version", version);
    tool_json_open(&json, "devices", '[');
    for (size_t i = 0; i < count; i++) {
        tool_json_open(&json, NULL, '{');
        TEXT(&json, &devices[i], name);
        INTEGER(&json, &devices[i], arch);
        INTEGER(&json, &devices[i], multiprocessors);
        INTEGER(&json, &devices[i], shared_block);
        INTEGER(&json, &devices[i], shared_block_optin);
        INTEGER(&json, &devices[i], shared_sm);
        INTEGER(&json, &devices[i], shared_reserved);
        INTEGER(&json, &devices[i], memory);
        tool_json_close(&json);
    }
    tool_json_end(&json, 0);
    return EXIT_OK;
}

/* The first `bytes` of a text. */
static void put_part(tool_json *json, const char *name, const char *text, size_t bytes)
{
    char part[2048];

    snprintf(part, sizeof(part), "%.*s", (int)bytes, text);
    tool_json_text(json, name, part);
}

/* Lines of keys: `key=VALUE  what it means`. */
static void put_keys(tool_json *json, const char *keys)
{
    tool_json_open(json, "keys", '[');
    while ((keys != NULL) && (*keys != '\0')) {
        const size_t name  = strcspn(keys, "= \n");
        const size_t value = strcspn(keys + name, " \n");
        const char  *text  = keys + name + value + strspn(keys + name + value, " ");
        const size_t bytes = strcspn(text, "\n");

        tool_json_open(json, NULL, '{');
        put_part(json, "key", keys, name);
        put_part(json, "value", keys + name + 1, (value > 0) ? value - 1 : 0);
        put_part(json, "meaning", text, bytes);
        tool_json_close(json);
        keys = text + bytes + (text[bytes] == '\n');
    }
    tool_json_close(json);
}

int json_config(void)
{
    tool_json json = tool_json_begin(stdout);
    shpool_variable variable;
    int failed = 0;

    tool_json_open(&json, "variables", '[');
    for (size_t i = 0; shpool_variable_get(i, &variable) == SHPOOL_OK; i++) {
        const char *invalid = info_invalid(i);

        failed |= (invalid != NULL);
        tool_json_open(&json, NULL, '{');
        TEXT(&json, &variable, name);
        TEXT(&json, &variable, type);
        TEXT(&json, &variable, unit);
        tool_json_text(&json, "default", variable.default_value);
        TEXT(&json, &variable, text);
        TEXT(&json, &variable, value);
        tool_json_text(&json, "invalid", invalid);
        put_keys(&json, (i == SHPOOL_VARIABLE_ALLOCATOR) ? shpool_block_keys : NULL);
        tool_json_close(&json);
    }
    tool_json_end(&json, 0);
    return failed ? EXIT_FAILED : EXIT_OK;
}

int json_device(void)
{
    tool_json json = tool_json_begin(stdout);
    const shpool_device_provider *one;

    tool_json_open(&json, "device_allocators", '[');
    for (size_t i = 0; (one = shpool_device_provider_get(i)) != NULL; i++) {
        tool_json_open(&json, NULL, '{');
        TEXT(&json, one, name);
        TEXT(&json, one, summary);
        tool_json_boolean(&json, "layer", (one->flags & SHPOOL_DEVICE_LAYER) != 0);
        put_keys(&json, one->keys);
        tool_json_close(&json);
    }
    tool_json_end(&json, 0);
    return EXIT_OK;
}

int json_archs(void)
{
    tool_json json = tool_json_begin(stdout);
    shpool_arch arch;

    tool_json_open(&json, "archs", '[');
    for (size_t i = 0; shpool_arch_get(i, &arch) == SHPOOL_OK; i++) {
        tool_json_open(&json, NULL, '{');
        INTEGER(&json, &arch, arch);
        INTEGER(&json, &arch, shared_block);
        INTEGER(&json, &arch, shared_sm);
        INTEGER(&json, &arch, shared_reserved);
        INTEGER(&json, &arch, threads_sm);
        INTEGER(&json, &arch, blocks_sm);
        tool_json_close(&json);
    }
    tool_json_end(&json, 0);
    return EXIT_OK;
}

static void put_overhead(tool_json *json, const info_geometry *geometry,
                         const shpool_allocator *allocator, info_tally *tally)
{
    shpool_pool pool;
    const shpool_status status = info_plan(geometry, allocator, &pool);

    info_tally_count(tally, status, &pool);
    tool_json_open(json, NULL, '{');
    TEXT(json, allocator, name);
    tool_json_text(json, "scope", info_scope(allocator->scope));
    if (status != SHPOOL_OK) {
        tool_json_text(json, "error", shpool_last_error());
    } else {
        INTEGER(json, &pool, pools);
        INTEGER(json, &pool, pool_bytes);
        INTEGER(json, &pool, largest);
        INTEGER(json, &pool, shared_bytes);
        if (geometry->arch.arch != 0) {
            tool_json_integer(json, "blocks_per_sm",
                              shpool_blocks_per_sm(&pool, &geometry->arch, 0));
        }
    }
    tool_json_close(json);
}

int json_overhead(const info_geometry *geometry, const shpool_allocator *only)
{
    tool_json json = tool_json_begin(stdout);
    info_tally tally = { 0, 0 };

    INTEGER(&json, &geometry->want, block_threads);
    put_arch(&json, geometry->arch.arch);
    tool_json_open(&json, "allocators", '[');
    for (size_t i = 0; i < shpool_allocator_count(); i++) {
        const shpool_allocator *allocator = shpool_allocator_get(i);

        if ((only == NULL) || (allocator == only)) {
            put_overhead(&json, geometry, allocator, &tally);
        }
    }
    tool_json_end(&json, 0);
    return info_tally_failed(&tally);
}

int json_link(const info_link *result, uint32_t arch)
{
    static const char *const ways[INFO_LINK_WAYS] = { "linker", "memory", "disk" };
    tool_json json = tool_json_begin(stdout);

    TEXT(&json, result, allocator);
    put_arch(&json, arch);
    INTEGER(&json, result, bytes);
    tool_json_open(&json, "ms", '{');
    for (unsigned i = 0; i < INFO_LINK_WAYS; i++) {
        if (result->ms[i] > 0) {
            tool_json_real(&json, ways[i], result->ms[i], 17);
        } else {
            tool_json_text(&json, ways[i], NULL);
        }
    }
    tool_json_end(&json, 0);
    return EXIT_OK;
}
