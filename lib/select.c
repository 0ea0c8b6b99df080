/* SPDX-License-Identifier: BSD-3-Clause */
/* From a spec to an allocator and its options. */
#include "internal.h"

#include <string.h>

#define SPILL_BLOCKS 65536u /* more than any device runs at the same time */

/* Destination of a spec's options. */
typedef struct target {
    shpool_selection *selection;
    shpool_config *want;
} target;

typedef shpool_status (*option_fn)(const target *to, const char *value);

static shpool_status bad_value(const target *to, const char *key, const char *value,
                               const char *legal)
{
    return shpool_error(SHPOOL_ERR_SPEC, "%s \"%s\": %s=%s is not possible, it takes %s",
                        to->selection->origin, to->selection->text, key, value, legal);
}

static shpool_status take_bytes(const target *to, const char *key, const char *value,
                                uint32_t *bytes_p)
{
    uint64_t bytes;

    if (!shpool_spec_number(value, 1, &bytes)) {
        return bad_value(to, key, value, "a number of bytes that may end in K, M or G");
    }
    /* any value beyond 32 bits is too large, which the plan reports */
    *bytes_p = (bytes < UINT32_MAX) ? (uint32_t)bytes : UINT32_MAX;
    return SHPOOL_OK;
}

/* The last of the two sizes is used, and overrides the program's request. */
static shpool_status set_payload_bytes(const target *to, const char *value)
{
    to->want->total_bytes = 0;
    return take_bytes(to, "payload_bytes", value, &to->want->payload_bytes);
}

static shpool_status set_total_bytes(const target *to, const char *value)
{
    to->want->payload_bytes = 0;
    return take_bytes(to, "total_bytes", value, &to->want->total_bytes);
}

static shpool_status set_request_bytes(const target *to, const char *value)
{
    return take_bytes(to, "request_bytes", value, &to->want->request_bytes);
}

static shpool_status set_threads_per_pool(const target *to, const char *value)
{
    const shpool_allocator *allocator = to->selection->allocator;
    uint64_t threads;
    uint32_t fixed;

    if (!shpool_spec_number(value, 0, &threads) || (threads > SHPOOL_MAX_THREADS)) {
        return bad_value(to, "threads_per_pool", value, "0 (the allocator's choice) to 1024");
    }

    /* shpool_config.threads_per_pool applies to any allocator and has no effect outside scope
     * group; a spec names its allocator, so there the key is an error */
    fixed = (allocator->scope == SHPOOL_SCOPE_THREAD) ? 1 : to->want->block_threads;
    if ((allocator->scope != SHPOOL_SCOPE_GROUP) && (threads != 0) && (threads != fixed) &&
        (fixed != 0)) { /* 0: shpool-info does not mean a particular block */
        return shpool_error(SHPOOL_ERR_UNSUPPORTED, "%s \"%s\": \"%s\" has one pool for each %s, "
                            "threads_per_pool=%s is for allocators of scope group; leave it out",
                            to->selection->origin, to->selection->text, allocator->name,
                            (allocator->scope == SHPOOL_SCOPE_THREAD) ? "thread" : "block", value);
    }
    to->want->threads_per_pool = (uint32_t)threads;
    return SHPOOL_OK;
}

static shpool_status set_alignment(const target *to, const char *value)
{
    uint64_t bytes;

    if (!shpool_spec_number(value, 1, &bytes)) {
        return bad_value(to, "alignment", value, "a power of two from 16 to 1024");
    }
    to->want->alignment = (bytes < UINT32_MAX) ? (uint32_t)bytes : UINT32_MAX;
    return SHPOOL_OK;
}

static shpool_status set_flag(const target *to, const char *key, const char *value, uint32_t flag)
{
    if (strcmp(value, "1") == 0) {
        to->want->flags |= flag;
    } else if (strcmp(value, "0") == 0) {
        to->want->flags &= ~flag;
    } else {
        return bad_value(to, key, value, "0 or 1");
    }
    return SHPOOL_OK;
}

static shpool_status set_stats(const target *to, const char *value)
{
    return set_flag(to, "stats", value, SHPOOL_FLAG_STATS);
}

static shpool_status set_check(const target *to, const char *value)
{
    return set_flag(to, "check", value, SHPOOL_FLAG_CHECK);
}

static shpool_status set_copies(const target *to, const char *value)
{
    return set_flag(to, "copies", value, SHPOOL_FLAG_COPIES);
}

static shpool_status set_binding(const target *to, const char *value)
{
    return shpool_binding_parse(value, &to->want->binding)
               ? SHPOOL_OK : bad_value(to, "binding", value, SHPOOL_BINDING_WORDS);
}

static shpool_status set_spill(const target *to, const char *value)
{
    static const char *const words[] = { "fail", "arena", "native", "arena+native" };

    for (uint32_t i = 0; i < SHPOOL_ARRAY_COUNT(words); i++) { /* the index has the bits */
        if (strcmp(value, words[i]) == 0) {
            to->want->spill = i;
            return SHPOOL_OK;
        }
    }
    return bad_value(to, "spill", value, "fail, arena, native or arena+native");
}

_Static_assert((SHPOOL_SPILL_ARENA == 1) && (SHPOOL_SPILL_NATIVE == 2), "the words' indexes");

static shpool_status set_spill_bytes(const target *to, const char *value)
{
    uint64_t bytes;

    if (!shpool_spec_number(value, 1, &bytes) || (bytes == 0)) {
        return bad_value(to, "spill_bytes", value, "a number of bytes that may end in K, M or G");
    }
    to->want->spill_bytes = (bytes < UINT32_MAX) ? (uint32_t)bytes : UINT32_MAX;
    return SHPOOL_OK;
}

static shpool_status set_spill_blocks(const target *to, const char *value)
{
    uint64_t blocks;

    if (!shpool_spec_number(value, 0, &blocks) || (blocks > SPILL_BLOCKS)) {
        return bad_value(to, "spill_blocks", value, "0 (what the device can hold) to 65536");
    }
    to->want->spill_blocks = (uint32_t)blocks;
    return SHPOOL_OK;
}

static shpool_status set_trace(const target *to, const char *value)
{
    memcpy(to->selection->trace, value, strlen(value) + 1); /* no longer than a spec's value */
    return SHPOOL_OK;
}

static shpool_status set_trace_bytes(const target *to, const char *value)
{
    uint64_t bytes;

    if (!shpool_spec_number(value, 1, &bytes) || (bytes < SHPOOL_TRACE_LEAST) ||
        (bytes > SHPOOL_TRACE_MOST)) {
        return bad_value(to, "trace_bytes", value, "4K to 1G of device memory for records");
    }
    to->selection->trace_bytes = (uint32_t)bytes;
    return SHPOOL_OK;
}

static shpool_status set_trace_blocks(const target *to, const char *value)
{
    uint64_t blocks;

    if (!shpool_spec_number(value, 0, &blocks) || (blocks == 0) ||
        (blocks > SHPOOL_TRACE_BLOCKS)) {
        return bad_value(to, "trace_blocks", value, "1 to 1024 of the grid's first blocks");
    }
    to->selection->trace_blocks = (uint32_t)blocks;
    return SHPOOL_OK;
}

static const char *const option_names[] = {
    "payload_bytes", "total_bytes", "request_bytes", "threads_per_pool", "alignment", "stats",
    "check", "spill", "spill_bytes", "spill_blocks", "trace", "trace_bytes", "trace_blocks",
    "binding", "copies"
};
static const option_fn option_fns[] = {
    set_payload_bytes, set_total_bytes, set_request_bytes, set_threads_per_pool, set_alignment,
    set_stats, set_check, set_spill, set_spill_bytes, set_spill_blocks, set_trace, set_trace_bytes,
    set_trace_blocks, set_binding, set_copies
};

_Static_assert(SHPOOL_ARRAY_COUNT(option_names) == SHPOOL_ARRAY_COUNT(option_fns),
               "each option has a name and a function");

static shpool_status set_option(const target *to, const shpool_spec_pair *pair)
{
    const size_t count = SHPOOL_ARRAY_COUNT(option_names);
    char detail[SHPOOL_ERROR_BYTES];
    shpool_text text;

    for (size_t i = 0; i < count; i++) {
        if (strcmp(option_names[i], pair->key) == 0) {
            return option_fns[i](to, pair->value);
        }
    }

    text = shpool_text_make(detail, sizeof(detail));
    shpool_text_add(&text, "%s \"%s\": unknown key \"%s\"", to->selection->origin,
                    to->selection->text, pair->key);
    shpool_text_add_guess(&text, pair->key, option_names, count);
    shpool_text_add(&text, "; known keys: ");
    shpool_text_add_names(&text, option_names, count);
    return shpool_error(SHPOOL_ERR_SPEC, "%s", detail);
}

/* Check the options that the spec may have changed against the allocator's capabilities. */
static shpool_status check_request(const shpool_selection *selection, shpool_config *want)
{
    const shpool_allocator *allocator = selection->allocator;

    if (want->alignment == 0) {
        want->alignment = SHPOOL_MIN_ALIGNMENT;
    }
    if ((want->alignment < SHPOOL_MIN_ALIGNMENT) || (want->alignment > SHPOOL_MAX_ALIGNMENT) ||
        ((want->alignment & (want->alignment - 1)) != 0)) {
        return shpool_error(SHPOOL_ERR_ALIGNMENT, "alignment is %u, it must be a power of two from "
                            "%u to %u", want->alignment, SHPOOL_MIN_ALIGNMENT,
                            SHPOOL_MAX_ALIGNMENT);
    }
    if ((want->alignment > SHPOOL_MIN_ALIGNMENT) && ((allocator->caps & SHPOOL_CAP_ALIGNED) == 0)) {
        return shpool_error(SHPOOL_ERR_UNSUPPORTED, "\"%s\" aligns to %u bytes, not to %u: use "
                            "alignment %u or an allocator with the capability aligned",
                            allocator->name, SHPOOL_MIN_ALIGNMENT, want->alignment,
                            SHPOOL_MIN_ALIGNMENT);
    }
    if (((want->spill & SHPOOL_SPILL_ARENA) != 0) && (allocator->scope == SHPOOL_SCOPE_CLUSTER)) {
        return shpool_error(SHPOOL_ERR_UNSUPPORTED, "\"%s\" has scope cluster, and a slot of "
                            "spill=arena belongs to one block: use spill=native",
                            allocator->name);
    }
    if ((want->spill != SHPOOL_SPILL_FAIL) && ((allocator->caps & SHPOOL_CAP_NONE) != 0)) {
        return shpool_error(SHPOOL_ERR_UNSUPPORTED, "\"%s\" never allocates memory, not by "
                            "spilling either: leave spill out, or use \"native\"",
                            allocator->name);
    }
    if ((selection->trace[0] != '\0') && (allocator->scope == SHPOOL_SCOPE_CLUSTER)) {
        return shpool_error(SHPOOL_ERR_UNSUPPORTED, "\"%s\" has scope cluster, and a trace "
                            "records single blocks: leave trace out, or record another allocator",
                            allocator->name);
    }
    if (((want->flags & SHPOOL_FLAG_CHECK) != 0) && ((allocator->caps & SHPOOL_CAP_CHECK) == 0)) {
        return shpool_error(SHPOOL_ERR_UNSUPPORTED, "\"%s\" has no checked mode: leave check out, "
                            "or use an allocator with the capability check", allocator->name);
    }
    return SHPOOL_OK;
}

shpool_status shpool_select_blame(const shpool_selection *selection, shpool_status status)
{
    if (!selection->has_options) {
        return status; /* the error is in the call's arguments */
    }
    return shpool_error_prefix(status, selection->origin, selection->text);
}

shpool_status shpool_select(const char *text, shpool_config *want, shpool_selection *selection_p)
{
    shpool_selection selection = { .origin = "spec", .text = text };
    target to = { .selection = &selection, .want = want };
    const char *environment = shpool_config_allocator();
    shpool_status status;
    shpool_spec spec;

    memset(selection_p, 0, sizeof(*selection_p));
    if (text == NULL) {
        selection.origin = (environment != NULL) ? "SHPOOL_ALLOCATOR" : "the build's default";
        selection.text = (environment != NULL) ? environment : SHPOOL_DEFAULT_ALLOCATOR;
    }

    status = shpool_spec_parse(selection.origin, selection.text, &spec);
    if (status != SHPOOL_OK) {
        return status;
    }
    if (spec.layers != 1) {
        return shpool_error(SHPOOL_ERR_SPEC, "%s \"%s\": %u layers were given, but block "
                            "allocators take no layers: give one name, without '|'",
                            selection.origin, selection.text, spec.layers);
    }

    status = shpool_registry_find((text == NULL) ? selection.origin : NULL, spec.layer[0].name,
                                  &selection.allocator);
    for (uint32_t i = 0; (status == SHPOOL_OK) && (i < spec.layer[0].pairs); i++) {
        status = set_option(&to, &spec.layer[0].pair[i]);
    }
    if (status == SHPOOL_OK) {
        selection.has_options = spec.layer[0].pairs != 0;
        status = check_request(&selection, want);
        want->flags |= (selection.trace[0] != '\0') ? (uint32_t)SHPOOL_FLAG_STATS : 0;
        if (status != SHPOOL_OK) {
            return shpool_select_blame(&selection, status);
        }
        *selection_p = selection;
    }
    return status;
}

int shpool_selected(void)
{
    return shpool_config_allocator() != NULL;
}
