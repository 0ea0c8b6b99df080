/* SPDX-License-Identifier: BSD-3-Clause */
/* The JSON half of shpool-info; field names are those of the C interface. */
#include "tools/json.h"
#include "info.h"
#include "tools/message.h"

#if HAVE_JANSSON

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include <shpool/device/provider.h>

/* Print and release; NULL: memory ran out on the way. */
static int print_json(json_t *root)
{
    int lost = (root == NULL) || tool_json_lost();
    int failed = lost || (json_dumpf(root, stdout, JSON_INDENT(2)) != 0);

    json_decref(root);
    if (failed) {
        tool_say("shpool-info: the JSON text could not be %s\n",
                 (lost || tool_json_lost()) ? "made: out of memory" : "written");
        return 1;
    }
    putchar('\n');
    return 0;
}

static json_t *caps_json(uint32_t caps)
{
    json_t *words = json_array();

    for (unsigned i = 0; info_cap_word(i) != NULL; i++) {
        if ((caps & (1u << i)) != 0) {
            json_array_append_new(words, json_string(info_cap_word(i)));
        }
    }
    return words;
}

/* A variable's value or a path may be any bytes; JSON has only UTF-8, the rest becomes null. */
static json_t *value_json(const char *value)
{
    json_t *text = (value != NULL) ? json_string(value) : NULL;

    return (text != NULL) ? text : json_null();
}

static json_t *lto_ir_json(const shpool_blob *first)
{
    json_t *list = json_array();

    for (const shpool_blob *one = first; one != NULL; one = one->newer) {
        json_array_append_new(list, json_pack("{s:I, s:I, s:I}", "bytes", (json_int_t)one->bytes,
                                              "cuda", (json_int_t)one->cuda, "arch",
                                              (json_int_t)one->arch));
    }
    return list;
}

static json_t *allocator_json(const shpool_allocator *allocator)
{
    return json_pack("{s:s, s:s, s:s, s:o, s:b, s:b, s:o, s:o}", "name", allocator->name, "summary",
                     allocator->summary, "scope", info_scope(allocator->scope), "caps",
                     caps_json(allocator->caps), "executor", allocator->simt[0] != NULL,
                     "linkable", allocator->lto_ir != NULL, "lto_ir",
                     lto_ir_json(allocator->lto_ir), "plugin",
                     value_json(shpool_registry_file(allocator)));
}

int json_list(const info_selected *selected)
{
    json_t *allocators = json_array();
    json_t *root = json_pack("{s:s, s:o}", "version", shpool_version(), "allocators", allocators);
    json_t *choice;
    int exit_status;

    for (size_t i = 0; i < shpool_allocator_count(); i++) {
        json_array_append_new(allocators, allocator_json(shpool_allocator_get(i)));
    }

    if (selected->status == SHPOOL_OK) {
        choice = json_pack("{s:s, s:s, s:s}", "name", selected->selection.allocator->name, "origin",
                           selected->selection.origin, "spec", selected->selection.text);
        json_object_set_new(root, "selected", choice);
    } else {
        json_object_set_new(root, "selected", json_null());
        json_object_set_new(root, "error", json_string(shpool_last_error()));
    }

    exit_status = print_json(root);
    if (selected->status != SHPOOL_OK) {
        tool_say("shpool-info: %s\n", shpool_last_error());
        return 1;
    }
    return exit_status;
}

static json_t *example_json(const info_example *example)
{
    const shpool_pool *pool = &example->pool;
    json_t *root = json_pack("{s:I, s:I}", "block_threads",
                             (json_int_t)example->want.block_threads, "payload_bytes",
                             (json_int_t)example->want.payload_bytes);

    if (example->status != SHPOOL_OK) {
        json_object_set_new(root, "error", json_string(shpool_strerror(example->status)));
        return root;
    }
    json_object_set_new(root, "pools", json_integer(pool->pools));
    json_object_set_new(root, "threads_per_pool", json_integer(pool->threads_per_pool));
    json_object_set_new(root, "pool_bytes", json_integer(pool->pool_bytes));
    json_object_set_new(root, "shared_bytes", json_integer(pool->shared_bytes));
    json_object_set_new(root, "largest", json_integer(pool->largest));
    return root;
}

int json_show(const shpool_allocator *allocator)
{
    json_t *root = allocator_json(allocator);
    json_t *list = json_array();
    info_example examples[INFO_EXAMPLES];

    info_plan_examples(allocator, examples);
    for (size_t i = 0; i < INFO_EXAMPLES; i++) {
        json_array_append_new(list, example_json(&examples[i]));
    }
    json_object_set_new(root, "examples", list);
    return print_json(root);
}

int json_devices(const shpool_driver_device *devices, size_t count, uint32_t version)
{
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++) {
        const shpool_driver_device *device = &devices[i];

        json_array_append_new(list, json_pack(
            "{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "name", device->name,
            "arch", (json_int_t)device->arch,
            "multiprocessors", (json_int_t)device->multiprocessors,
            "shared_block", (json_int_t)device->shared_block,
            "shared_block_optin", (json_int_t)device->shared_block_optin,
            "shared_sm", (json_int_t)device->shared_sm,
            "shared_reserved", (json_int_t)device->shared_reserved,
            "memory", (json_int_t)device->memory));
    }
    return print_json(json_pack("{s:I, s:o}", "driver_version", (json_int_t)version, "devices",
                                list));
}

/* One line of keys: `key=VALUE  what it means`. */
static json_t *key_json(const char *keys, const char **rest_p)
{
    const size_t name = strcspn(keys, "= \n");
    const size_t value = strcspn(keys + name, " \n");
    const char *text = keys + name + value + strspn(keys + name + value, " ");
    const size_t bytes = strcspn(text, "\n");

    *rest_p = text + bytes + (text[bytes] == '\n');
    return json_pack("{s:s%, s:s%, s:s%}", "key", keys, name, "value", keys + name + 1,
                     (value > 0) ? value - 1 : 0, "meaning", text, bytes);
}

static json_t *keys_json(const char *keys)
{
    json_t *list = json_array();

    while ((keys != NULL) && (*keys != '\0')) {
        json_array_append_new(list, key_json(keys, &keys));
    }
    return list;
}

int json_config(void)
{
    json_t *list = json_array();
    shpool_variable variable;
    int failed = 0;
    int status;

    for (size_t i = 0; shpool_variable_get(i, &variable) == SHPOOL_OK; i++) {
        const char *invalid = info_invalid(i);

        failed |= (invalid != NULL);
        json_array_append_new(list, json_pack(
            "{s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o}", "name", variable.name,
            "type", variable.type, "unit", variable.unit, "default", variable.default_value,
            "text", variable.text, "value", value_json(variable.value),
            "invalid", value_json(invalid), "keys",
            keys_json((i == SHPOOL_VARIABLE_ALLOCATOR) ? shpool_block_keys : NULL)));
    }
    status = print_json(json_pack("{s:o}", "variables", list));
    return (status == EXIT_OK) && failed ? EXIT_FAILED : status;
}

int json_device(void)
{
    json_t *list = json_array();
    const shpool_device_provider *one;

    for (size_t i = 0; (one = shpool_device_provider_get(i)) != NULL; i++) {
        json_array_append_new(list, json_pack(
            "{s:s, s:s, s:b, s:o}", "name", one->name, "summary", one->summary, "layer",
            (one->flags & SHPOOL_DEVICE_LAYER) != 0, "keys", keys_json(one->keys)));
    }
    return print_json(json_pack("{s:o}", "device_allocators", list));
}

int json_archs(void)
{
    json_t *list = json_array();
    shpool_arch arch;

    for (size_t i = 0; shpool_arch_get(i, &arch) == SHPOOL_OK; i++) {
        json_array_append_new(list, json_pack(
            "{s:I, s:I, s:I, s:I, s:I, s:I}", "arch", (json_int_t)arch.arch, "shared_block",
            (json_int_t)arch.shared_block, "shared_sm", (json_int_t)arch.shared_sm,
            "shared_reserved", (json_int_t)arch.shared_reserved, "threads_sm",
            (json_int_t)arch.threads_sm, "blocks_sm", (json_int_t)arch.blocks_sm));
    }
    return print_json(json_pack("{s:o}", "archs", list));
}

static json_t *overhead_row_json(const info_geometry *geometry, const shpool_allocator *allocator,
                                 info_tally *tally)
{
    shpool_pool pool;
    json_t *row = json_pack("{s:s, s:s}", "name", allocator->name, "scope",
                            info_scope(allocator->scope));

    shpool_status status = info_plan(geometry, allocator, &pool);

    info_tally_count(tally, status, &pool);
    if (status != SHPOOL_OK) {
        json_object_set_new(row, "error", json_string(shpool_last_error()));
        return row;
    }
    json_object_set_new(row, "pools", json_integer(pool.pools));
    json_object_set_new(row, "pool_bytes", json_integer(pool.pool_bytes));
    json_object_set_new(row, "largest", json_integer(pool.largest));
    json_object_set_new(row, "shared_bytes", json_integer(pool.shared_bytes));
    if (geometry->arch.arch != 0) {
        json_object_set_new(row, "blocks_per_sm", json_integer(
            shpool_blocks_per_sm(&pool, &geometry->arch, 0)));
    }
    return row;
}

int json_overhead(const info_geometry *geometry, const shpool_allocator *only)
{
    json_t *list = json_array();
    info_tally tally = { 0, 0 };
    int exit_status;

    for (size_t i = 0; i < shpool_allocator_count(); i++) {
        const shpool_allocator *allocator = shpool_allocator_get(i);

        if ((only == NULL) || (allocator == only)) {
            json_array_append_new(list, overhead_row_json(geometry, allocator, &tally));
        }
    }
    exit_status = print_json(json_pack("{s:I, s:I, s:o}", "block_threads",
                                       (json_int_t)geometry->want.block_threads, "arch",
                                       (json_int_t)geometry->arch.arch, "allocators", list));
    return info_tally_failed(&tally) ? 1 : exit_status;
}

int json_link(const info_link *result, uint32_t arch)
{
    static const char *const ways[INFO_LINK_WAYS] = { "linker", "memory", "disk" };
    json_t *ms = json_object();

    for (unsigned i = 0; i < INFO_LINK_WAYS; i++) {
        json_object_set_new(ms, ways[i],
                            (result->ms[i] > 0) ? json_real(result->ms[i]) : json_null());
    }
    return print_json(json_pack("{s:s, s:I, s:I, s:o}", "allocator", result->allocator, "arch",
                                (json_int_t)arch, "bytes", (json_int_t)result->bytes, "ms", ms));
}

#else /* !HAVE_JANSSON */

int json_list(const info_selected *selected)
{
    (void)selected;
    return -1;
}

int json_show(const shpool_allocator *allocator)
{
    (void)allocator;
    return -1;
}

int json_devices(const shpool_driver_device *devices, size_t count, uint32_t version)
{
    (void)devices;
    (void)count;
    (void)version;
    return -1;
}

int json_config(void)
{
    return -1;
}

int json_device(void)
{
    return -1;
}

int json_archs(void)
{
    return -1;
}

int json_overhead(const info_geometry *geometry, const shpool_allocator *only)
{
    (void)geometry;
    (void)only;
    return -1;
}

int json_link(const info_link *result, uint32_t arch)
{
    (void)result;
    (void)arch;
    return -1;
}

#endif /* HAVE_JANSSON */
