/* SPDX-License-Identifier: BSD-3-Clause */
/* From a spec to an allocator and its options. */
#include "options.h"

#include <string.h>

/* Destination of a spec's options. */
typedef struct target {
    shpool_config want;
    shpool_selection selection;
    char where[SHPOOL_SPEC_BYTES + 32u]; /* before details: the spec and its origin */
} target;

/* The last of the two sizes is used, and overrides the program's request. */
static shpool_status use_payload(void *to, const char *value)
{
    (void)value;
    ((target *)to)->want.total_bytes = 0;
    return SHPOOL_OK;
}

static shpool_status use_total(void *to, const char *value)
{
    (void)value;
    ((target *)to)->want.payload_bytes = 0;
    return SHPOOL_OK;
}

/* shpool_config.threads_per_pool applies to any allocator and has no effect outside scope group; a
 * spec names its allocator, so there the key is an error. */
static shpool_status check_threads(void *to, const char *value)
{
    const target *t = to;
    const shpool_allocator *allocator = t->selection.allocator;
    const uint32_t threads = t->want.threads_per_pool;
    const uint32_t fixed = (allocator->scope == SHPOOL_SCOPE_THREAD) ? 1 : t->want.block_threads;

    if ((allocator->scope != SHPOOL_SCOPE_GROUP) && (threads != 0) && (threads != fixed) &&
        (fixed != 0)) { /* 0: shpool-info does not mean a particular block */
        return shpool_error(SHPOOL_ERR_UNSUPPORTED, "%s\"%s\" has one pool for each %s, "
                            "threads_per_pool=%s is for allocators of scope group; leave it out",
                            t->where, allocator->name,
                            (allocator->scope == SHPOOL_SCOPE_THREAD) ? "thread" : "block", value);
    }
    return SHPOOL_OK;
}

#define OPTIONS(_)                                                                                 \
    _("payload_bytes", "BYTES", BYTES, target, want.payload_bytes,                                 \
      "Payload of all pools of a block.", .high = UINT64_MAX, .then = use_payload)                 \
    _("total_bytes", "BYTES", BYTES, target, want.total_bytes,                                     \
      "Shared memory that the pools fill, metadata included. Replaces payload_bytes.",             \
      .high = UINT64_MAX, .then = use_total)                                                       \
    _("request_bytes", "BYTES", BYTES, target, want.request_bytes,                                 \
      "Largest request that the kernels make. Opening a pool that can never serve it fails, and "  \
      "names a threads_per_pool and a payload_bytes that would.", .high = UINT64_MAX)              \
    _("threads_per_pool", "N", NUMBER, target, want.threads_per_pool,                              \
      "Number of threads that share a pool, up to 1024, for allocators of scope group. 0: the "    \
      "allocator chooses.", .high = SHPOOL_MAX_THREADS, .then = check_threads)                     \
    _("alignment", "BYTES", BYTES, target, want.alignment,                                         \
      "Largest alignment, a power of two from 16 to 1024.", .high = UINT64_MAX)                    \
    _("stats", "0|1", FLAG, target, want.flags,                                                    \
      "Count requests, failures and peaks; shpool_report() reads the counters.",                   \
      .low = SHPOOL_FLAG_STATS)                                                                    \
    _("check", "0|1", FLAG, target, want.flags,                                                    \
      "Put red zones around allocations, and report invalid frees, overruns and leaks.",           \
      .low = SHPOOL_FLAG_CHECK)                                                                    \
    _("spill", "fail|arena|native|arena+native", WORD, target, want.spill,                         \
      "Where requests go that do not fit. fail: they return NULL. arena: to a slot of global "     \
      "memory. native: to CUDA's in-kernel heap. arena+native: to the heap after the slot is "     \
      "full.", .low = SHPOOL_SPILL_FAIL)                                                           \
    _("spill_bytes", "BYTES", BYTES, target, want.spill_bytes,                                     \
      "Size of a slot, which one running block uses. Default: 64K.", .low = 1, .high = UINT64_MAX) \
    _("spill_blocks", "N", NUMBER, target, want.spill_blocks,                                      \
      "Number of slots. 0: as many as the device runs blocks at the same time.",                   \
      .high = SHPOOL_SPILL_BLOCKS)                                                                 \
    _("trace", "FILE", TEXT, target, selection.trace,                                              \
      "Record every malloc and free. Closing the pool writes the file, which shpool-bench replay " \
      "and shpool-bench map read.", .low = 0)                                                      \
    _("trace_bytes", "BYTES", BYTES, target, selection.trace_bytes,                                \
      "Memory for the records, from 4K to 1G. Records that do not fit are dropped and counted.",   \
      .low = SHPOOL_TRACE_LEAST, .high = SHPOOL_TRACE_MOST)                                        \
    _("trace_blocks", "N", NUMBER, target, selection.trace_blocks,                                 \
      "Number of blocks that record, up to 1024: the first ones of the grid.",                     \
      .low = 1, .high = SHPOOL_TRACE_BLOCKS)                                                       \
    _("binding", SHPOOL_BINDING_WORDS, WORD, target, want.binding,                                 \
      "The same as SHPOOL_BINDING, for this pool.", .low = SHPOOL_BINDING_TABLE)                   \
    _("copies", "0|1", FLAG, target, want.flags,                                                   \
      "Allow a run-time link to copy the program's device variables. The joined kernels then have "\
      "variables of their own, with the initial values of the source.", .low = SHPOOL_FLAG_COPIES)

static const shpool_option options[] = SHPOOL_OPTION_ROWS(OPTIONS);
const char shpool_block_keys[] = SHPOOL_OPTION_LINES(OPTIONS);

_Static_assert((SHPOOL_SPILL_ARENA == 1) && (SHPOOL_SPILL_NATIVE == 2), "the words' positions");

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

/* Reads the spec, whose origin is known. */
static shpool_status read_spec(const char *variable, target *to)
{
    const shpool_selection *from = &to->selection;
    shpool_text where = shpool_text_make(to->where, sizeof(to->where));
    shpool_spec spec;
    shpool_status status = shpool_spec_parse(from->origin, from->text, &spec);

    if (status != SHPOOL_OK) {
        return status;
    }
    shpool_text_add(&where, "%s \"%s\": ", from->origin, from->text);
    if (spec.layers != 1) {
        return shpool_error(SHPOOL_ERR_SPEC, "%s%u layers were given, but block allocators take no "
                            "layers: give one name, without '|'", to->where, spec.layers);
    }
    to->selection.has_options = spec.layer[0].pairs != 0;
    status = shpool_registry_find(variable, spec.layer[0].name, &to->selection.allocator);
    return (status == SHPOOL_OK) ? shpool_options_set(options, to, to->where, spec.layer[0].pair,
                                                      spec.layer[0].pairs)
                                 : status;
}

shpool_status shpool_select(const char *text, shpool_config *want, shpool_selection *selection_p)
{
    target to = { .want = *want, .selection = { .origin = "spec", .text = text } };
    const char *environment = shpool_config_value(SHPOOL_VARIABLE_ALLOCATOR);
    shpool_status status;

    memset(selection_p, 0, sizeof(*selection_p));
    if (text == NULL) {
        to.selection.origin = (environment != NULL) ? "SHPOOL_ALLOCATOR" : "the build's default";
        to.selection.text = (environment != NULL) ? environment : SHPOOL_DEFAULT_ALLOCATOR;
    }
    status = read_spec((text == NULL) ? to.selection.origin : NULL, &to);
    if (status != SHPOOL_OK) {
        return status;
    }
    status = check_request(&to.selection, &to.want);
    if (status != SHPOOL_OK) {
        return shpool_select_blame(&to.selection, status);
    }
    if ((text == NULL) && (environment != NULL) &&
        ((to.want.flags & ~want->flags & (SHPOOL_FLAG_STATS | SHPOOL_FLAG_CHECK)) != 0)) {
        to.want.flags |= (uint32_t)SHPOOL_FLAG_SHOW;
    }
    to.want.flags |= (to.selection.trace[0] != '\0') ? (uint32_t)SHPOOL_FLAG_STATS : 0;
    *want = to.want;
    *selection_p = to.selection;
    return SHPOOL_OK;
}

int shpool_selected(void)
{
    return shpool_config_value(SHPOOL_VARIABLE_ALLOCATOR) != NULL;
}
