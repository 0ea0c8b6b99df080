/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-info: shared by its commands: the facts, and the messages of failures. */
#include "info.h"
#include "tools/message.h"

#include <shpool/device/provider.h>

#include <stdio.h>
#include <string.h>

/* ---- facts ---- */

static const struct { const char *word; const char *text; } caps[] = {
    { "free",        "freed memory can be allocated again, in any order" },
    { "aligned",     "alignments beyond 16 bytes" },
    { "resize",      "realloc can succeed in place" },
    { "refuses",     "bad frees are refused in every mode, not only with check=1" },
    { "lock_free",   "no lock: a thread's request that fits never waits for another's" },
    { "out_of_band", "no metadata between the allocations" },
    { "spill",       "allocations may be in global memory" },
    { "check",       "check=1 is offered: the structure can be walked" },
    { "none",        "never allocates anything (for measuring)" },
    { "mark",        "a stack: marks, and release of all newer allocations" },
    { "group",       "a whole warp works together on its request" },
};

const char *info_cap_word(unsigned index)
{
    return (index < SHPOOL_ARRAY_COUNT(caps)) ? caps[index].word : NULL;
}

const char *info_cap_text(unsigned index)
{
    return (index < SHPOOL_ARRAY_COUNT(caps)) ? caps[index].text : NULL;
}

const char *info_scope(uint32_t scope)
{
    static const char *const names[] = { "unknown", "thread", "group", "block", "cluster" };

    return names[(scope < SHPOOL_ARRAY_COUNT(names)) ? scope : 0];
}

info_selected info_select(void)
{
    info_selected selected = { .status = shpool_config_check() };
    shpool_config want = { .block_threads = 0 };

    if (selected.status == SHPOOL_OK) {
        selected.status = shpool_select(NULL, &want, &selected.selection);
    }
    return selected;
}

void info_plan_examples(const shpool_allocator *allocator, info_example examples[INFO_EXAMPLES])
{
    static const struct { uint32_t threads; uint32_t payload; } shapes[INFO_EXAMPLES] = {
        { 128, 16 * 1024 }, { 256, 32 * 1024 }, { 256, 64 * 1024 }, { 1024, 160 * 1024 },
    };

    for (size_t i = 0; i < INFO_EXAMPLES; i++) {
        examples[i].want = (shpool_config){ .block_threads = shapes[i].threads,
                                            .payload_bytes = shapes[i].payload };
        examples[i].status = shpool_plan(allocator->name, &examples[i].want, &examples[i].pool);
    }
}

shpool_status info_plan(const info_geometry *geometry, const shpool_allocator *allocator,
                        shpool_pool *pool_p)
{
    return (geometry->requests != 0)
               ? shpool_plan_requests(allocator->name, &geometry->want, geometry->request,
                                      geometry->requests, pool_p)
               : shpool_plan(allocator->name, &geometry->want, pool_p);
}

/* Of the keys' values only an opened device knows. */
static shpool_status check_device_spec(const char *text)
{
    const shpool_device_provider *found;
    shpool_spec spec;
    shpool_status status = shpool_spec_parse("SHPOOL_DEVICE_ALLOCATOR", text, &spec);

    for (uint32_t i = 0; (status == SHPOOL_OK) && (i < spec.layers); i++) {
        status = shpool_device_provider_find(spec.layer[i].name, &found);
    }
    return status;
}

static shpool_status check_cache_dir(const char *folder)
{
    return (folder[0] == '/') ? SHPOOL_OK
                              : shpool_error(SHPOOL_ERR_SPEC, "SHPOOL_CACHE_DIR \"%s\" does not "
                                             "begin with /", folder);
}

const char *info_invalid(size_t index)
{
    const char *value = shpool_config_variable(index).value;
    shpool_status status = SHPOOL_OK;
    uint64_t bytes;
    uint32_t binding;

    if (value == NULL) {
        return NULL;
    }
    switch (index) {
    case SHPOOL_VARIABLE_ALLOCATOR:        status = info_select().status; break;
    case SHPOOL_VARIABLE_BINDING:          status = shpool_config_binding(&binding); break;
    case SHPOOL_VARIABLE_CACHE_BYTES:      status = shpool_config_cache_bytes(&bytes); break;
    case SHPOOL_VARIABLE_CACHE_DIR:        status = check_cache_dir(value); break;
    case SHPOOL_VARIABLE_DEVICE_ALLOCATOR: status = check_device_spec(value); break;
    case SHPOOL_VARIABLE_LOG_LEVEL:        status = shpool_config_check(); break;
    default:                               break; /* of a path, what is not there is no error */
    }
    return (status == SHPOOL_OK) ? NULL : shpool_last_error();
}

/* ---- options and failures ---- */

int info_failed(void)
{
    tool_say("shpool-info: %s\n", shpool_last_error());
    return EXIT_FAILED;
}

/* Find an architecture by name; "native" is that of this machine's first device. */
static shpool_status find_arch(const char *name, shpool_arch *arch)
{
    shpool_driver_device device;
    uint32_t version;
    size_t count;
    shpool_status status;
    char found[16];

    if (strcmp(name, "native") != 0) {
        return shpool_arch_find(name, arch);
    }
    status = shpool_driver_devices(&device, 1, &count, &version);
    if (status == SHPOOL_OK) {
        snprintf(found, sizeof(found), "sm_%u", device.arch);
        status = shpool_arch_find(found, arch);
    }
    return status;
}

int info_read_arch(const tool_given *given, shpool_arch *arch)
{
    if (find_arch(given->value, arch) != SHPOOL_OK) {
        return info_failed();
    }
    return 0;
}
