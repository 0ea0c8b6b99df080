/* SPDX-License-Identifier: BSD-3-Clause */
/* Which allocators exist: those that configure listed, then those that were registered. */
#include "internal.h"

#include <pthread.h>
#include <string.h>

#pragma GCC visibility push(hidden)
#define SHPOOL_ALLOCATOR(_name) extern const shpool_allocator shpool_allocator_##_name;
#include "builtin_allocators.def"
#undef SHPOOL_ALLOCATOR
#pragma GCC visibility pop

static const shpool_allocator *const builtins[] = {
#define SHPOOL_ALLOCATOR(_name) &shpool_allocator_##_name,
#include "builtin_allocators.def"
#undef SHPOOL_ALLOCATOR
};

#define BUILTIN_COUNT SHPOOL_ARRAY_COUNT(builtins)

_Static_assert(BUILTIN_COUNT <= SHPOOL_MAX_ALLOCATORS, "more built-in allocators than places");

/* Only ever grows (but in tests): an allocator that was found stays where it is. */
static struct {
    pthread_mutex_t lock;
    size_t count;
    const shpool_allocator *entry[SHPOOL_MAX_ALLOCATORS];
} added = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Words that other parts of the grammar need. */
static const char *const reserved_names[] = { "all", "default", "none" };

/* All allocators at one instant. */
static size_t snapshot(const shpool_allocator *list[SHPOOL_MAX_ALLOCATORS])
{
    size_t count = BUILTIN_COUNT;

    memcpy(list, builtins, sizeof(builtins));
    pthread_mutex_lock(&added.lock);
    for (size_t i = 0; i < added.count; i++) {
        list[count++] = added.entry[i];
    }
    pthread_mutex_unlock(&added.lock);
    return count;
}

size_t shpool_allocator_count(void)
{
    size_t count;

    pthread_mutex_lock(&added.lock);
    count = BUILTIN_COUNT + added.count;
    pthread_mutex_unlock(&added.lock);
    return count;
}

const shpool_allocator *shpool_allocator_get(size_t index)
{
    const shpool_allocator *list[SHPOOL_MAX_ALLOCATORS];
    size_t count = snapshot(list);

    return (index < count) ? list[index] : NULL;
}

static shpool_status not_found(const char *origin, const char *alias, const char *name,
                               const shpool_allocator *const list[], size_t count)
{
    const char *names[SHPOOL_MAX_ALLOCATORS];
    char detail[SHPOOL_ERROR_BYTES];
    shpool_text text = shpool_text_make(detail, sizeof(detail));

    for (size_t i = 0; i < count; i++) {
        names[i] = list[i]->name;
    }

    if (origin != NULL) {
        shpool_text_add(&text, "%s: ", origin);
    }
    shpool_text_add(&text, "no allocator is called \"%.100s\"", name);
    if (alias != name) {
        shpool_text_add(&text, " (for which %s stands)", alias);
    }
    shpool_text_add_guess(&text, name, names, count);
    shpool_text_add(&text, "; known allocators: ");
    shpool_text_add_names(&text, names, count);
    return shpool_error(SHPOOL_ERR_NOT_FOUND, "%s", detail);
}

shpool_status shpool_registry_find(const char *origin, const char *name,
                                   const shpool_allocator **allocator_p)
{
    const shpool_allocator *list[SHPOOL_MAX_ALLOCATORS];
    const char *alias = name;
    size_t count = snapshot(list);

    name = shpool_alias_resolve(alias);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(list[i]->name, name) == 0) {
            *allocator_p = list[i];
            return SHPOOL_OK;
        }
    }
    *allocator_p = NULL;
    return not_found(origin, alias, name, list, count);
}

shpool_status shpool_allocator_find(const char *name, const shpool_allocator **allocator_p)
{
    if (allocator_p == NULL) {
        return shpool_error(SHPOOL_ERR_INVALID, "allocator_p is NULL");
    }

    *allocator_p = NULL;
    if (name == NULL) {
        return shpool_error(SHPOOL_ERR_INVALID, "name is NULL, an allocator's name is needed");
    }
    return shpool_registry_find(NULL, name, allocator_p);
}

static shpool_status check_name(const char *name)
{
    if (name == NULL) {
        return shpool_error(SHPOOL_ERR_INVALID, "the allocator's name is NULL");
    }
    if (!shpool_name_is_valid(name)) {
        return shpool_error(SHPOOL_ERR_INVALID, "\"%.100s\" cannot be an allocator's name: names "
                            "are [a-z][a-z0-9_]* with at most %u characters", name,
                            SHPOOL_NAME_BYTES - 1);
    }
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(reserved_names); i++) {
        if (strcmp(name, reserved_names[i]) == 0) {
            return shpool_error(SHPOOL_ERR_INVALID, "\"%s\" is a reserved name, as are all, "
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

static shpool_status check_tables(const shpool_allocator *allocator)
{
    for (unsigned i = 0; i < 2; i++) {
        const shpool_table *table = allocator->simt[i];
        const char *missing;

        if (table == NULL) {
            continue;
        }
        if ((table->abi != SHPOOL_ABI) || (table->bytes != sizeof(*table))) {
            return shpool_error(SHPOOL_ERR_ABI, "table simt[%u] of \"%s\" has ABI %u and %u "
                                "bytes, this library has ABI %u and %zu: rebuild it with the "
                                "headers of shpool %s", i, allocator->name, table->abi,
                                table->bytes, SHPOOL_ABI, sizeof(*table), PACKAGE_VERSION);
        }
        missing = missing_function(table, i == 1);
        if (missing != NULL) {
            return shpool_error(SHPOOL_ERR_INVALID, "table simt[%u] of \"%s\" has no function %s",
                                i, allocator->name, missing);
        }
    }
    return SHPOOL_OK;
}

static shpool_status check_allocator(const shpool_allocator *allocator)
{
    shpool_status status;

    if (allocator == NULL) {
        return shpool_error(SHPOOL_ERR_INVALID, "allocator is NULL");
    }
    if ((allocator->abi != SHPOOL_ABI) || (allocator->bytes != sizeof(*allocator))) {
        return shpool_error(SHPOOL_ERR_ABI, "the allocator was built with ABI %u and %u bytes, "
                            "this library has ABI %u and %zu: rebuild it with the headers of "
                            "shpool %s", allocator->abi, allocator->bytes, SHPOOL_ABI,
                            sizeof(*allocator), PACKAGE_VERSION);
    }

    status = check_name(allocator->name);
    if (status != SHPOOL_OK) {
        return status;
    }
    if (allocator->summary == NULL) {
        return shpool_error(SHPOOL_ERR_INVALID, "\"%s\" has no summary", allocator->name);
    }
    if (allocator->layout == NULL) {
        return shpool_error(SHPOOL_ERR_INVALID, "\"%s\" has no function layout", allocator->name);
    }
    if ((allocator->scope < SHPOOL_SCOPE_THREAD) || (allocator->scope > SHPOOL_SCOPE_BLOCK)) {
        return shpool_error(SHPOOL_ERR_INVALID, "\"%s\" has scope %u, scopes are 1 (thread), "
                            "2 (group) and 3 (block)", allocator->name, allocator->scope);
    }
    return check_tables(allocator);
}

/*
 * Put an allocator behind the others unless its name is there; the caller holds the lock.
 * A kernel knows its allocator by shpool_name_id() alone, so that may not collide either.
 */
static shpool_status add_locked(const shpool_allocator *allocator, const char **other_p)
{
    size_t count = BUILTIN_COUNT + added.count;

    for (size_t i = 0; i < count; i++) {
        const char *name = (i < BUILTIN_COUNT) ? builtins[i]->name
                                               : added.entry[i - BUILTIN_COUNT]->name;

        if (shpool_name_id(name) == shpool_name_id(allocator->name)) {
            *other_p = name;
            return SHPOOL_ERR_UNSUPPORTED;
        }
    }
    if (count == SHPOOL_MAX_ALLOCATORS) {
        return SHPOOL_ERR_TOO_LARGE;
    }
    added.entry[added.count++] = allocator;
    return SHPOOL_OK;
}

shpool_status shpool_register(const shpool_allocator *allocator)
{
    shpool_status status = check_allocator(allocator);
    const char *other = NULL;

    if (status != SHPOOL_OK) {
        return status;
    }

    pthread_mutex_lock(&added.lock);
    status = add_locked(allocator, &other);
    pthread_mutex_unlock(&added.lock);

    if (status == SHPOOL_ERR_UNSUPPORTED) {
        return shpool_error(status, "the name \"%s\" is taken by the allocator \"%s\", choose "
                            "another", allocator->name, other);
    }
    if (status == SHPOOL_ERR_TOO_LARGE) {
        return shpool_error(status, "no place for \"%s\": a process has at most %u allocators, "
                            "%zu of them built in", allocator->name, SHPOOL_MAX_ALLOCATORS,
                            BUILTIN_COUNT);
    }
    return SHPOOL_OK;
}

void shpool_registry_reset(void)
{
    pthread_mutex_lock(&added.lock);
    added.count = 0;
    pthread_mutex_unlock(&added.lock);
}

uint32_t shpool_name_id(const char *name)
{
    uint32_t hash = 2166136261u; /* FNV-1a: Fowler, Noll and Vo */

    if (name == NULL) {
        return 0;
    }
    for (; *name != '\0'; name++) {
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    }
    return hash;
}
