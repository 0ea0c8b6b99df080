/* SPDX-License-Identifier: BSD-3-Clause */
/* Which allocators exist: those that configure listed, those of plugins, the program's own. */
#include "plugin.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <shpool/module.h>

#include "lock.h"

#pragma GCC visibility push(hidden)
#define SHPOOL_ALLOCATOR(_name) extern const shpool_allocator shpool_allocator_##_name;
#include "lib/builtin_allocators.def"
#undef SHPOOL_ALLOCATOR
#pragma GCC visibility pop

static const shpool_allocator *const builtins[] = {
#define SHPOOL_ALLOCATOR(_name) &shpool_allocator_##_name,
#include "lib/builtin_allocators.def"
#undef SHPOOL_ALLOCATOR
};

#define BUILTIN_COUNT SHPOOL_ARRAY_COUNT(builtins)

_Static_assert(BUILTIN_COUNT <= SHPOOL_MAX_ALLOCATORS, "more built-in allocators than places");

/* Only ever grows (but in tests): an allocator that was found stays where it is. */
static struct {
    size_t count;
    const shpool_allocator *entry[SHPOOL_MAX_ALLOCATORS];
    char *file[SHPOOL_MAX_ALLOCATORS]; /* of the plugin; NULL: the program registered it */
    char refused[SHPOOL_ERROR_BYTES / 2]; /* plugins that are not used, with the reasons */
} added;

/* Release: the plugins are in `added`.  Acquire: they are looked for there. */
static atomic_int plugins_loaded;

/* Set while this thread loads plugins: queries by their constructors are answered without them. */
static _Thread_local int loading;

static const char *name_at(size_t index)
{
    return (index < BUILTIN_COUNT) ? builtins[index]->name
                                   : added.entry[index - BUILTIN_COUNT]->name;
}

/*
 * The registered allocator whose name collides with this one's, or NULL; the caller holds the lock.
 * A kernel identifies its allocator only by shpool_name_id(), so that must not collide either.
 */
static const char *taken_by(const shpool_allocator *allocator)
{
    for (size_t i = 0; i < BUILTIN_COUNT + added.count; i++) {
        if (shpool_name_id(name_at(i)) == shpool_name_id(allocator->name)) {
            return name_at(i);
        }
    }
    return NULL;
}

/* Append an allocator unless its name is taken; the caller holds the lock.  file: the plugin's,
 * from malloc(), or NULL.  What is wrong is added to `why`. */
static shpool_status add_one(const shpool_allocator *allocator, char *file, shpool_text *why)
{
    const char *other = taken_by(allocator);

    if (other != NULL) {
        shpool_text_add(why, "the name \"%s\" is taken by the allocator \"%s\", choose another",
                        allocator->name, other);
        return SHPOOL_ERR_UNSUPPORTED;
    }
    if (BUILTIN_COUNT + added.count == SHPOOL_MAX_ALLOCATORS) {
        shpool_text_add(why, "no place for \"%s\": a process has at most %u allocators, %zu of "
                        "them built in", allocator->name, SHPOOL_MAX_ALLOCATORS, BUILTIN_COUNT);
        return SHPOOL_ERR_TOO_LARGE;
    }
    added.file[added.count] = file;
    added.entry[added.count++] = allocator;
    return SHPOOL_OK;
}

/* All of a plugin's allocators or none; the caller holds the lock. */
static void add_plugin(shpool_plugin_list *list, shpool_plugin_file *plugin)
{
    const size_t before = added.count;
    char reason[SHPOOL_REFUSED_BYTES];
    shpool_text why = shpool_text_make(reason, sizeof(reason));

    for (uint32_t i = 0; i < plugin->info->count; i++) {
        if (add_one(plugin->info->allocators[i], plugin->path, &why) != SHPOOL_OK) {
            added.count = before;
            shpool_plugin_refuse(list, plugin->path, "%s", reason);
            return;
        }
    }
    plugin->path = NULL; /* the registry's now */
}

/* The caller holds the lock. */
static void add_plugins(shpool_plugin_list *list)
{
    shpool_text text = shpool_text_make(added.refused, sizeof(added.refused));

    for (size_t i = 0; i < list->count; i++) {
        add_plugin(list, &list->plugin[i]);
    }
    for (size_t i = 0; (i < list->refused) && (i < SHPOOL_MAX_REFUSED); i++) {
        shpool_text_add(&text, "%s%s", (i > 0) ? "; " : "", list->reason[i]);
    }
}

static void warn_of_refused(const shpool_plugin_list *list)
{
    for (size_t i = 0; (i < list->refused) && (i < SHPOOL_MAX_REFUSED); i++) {
        shpool_message(SHPOOL_LEVEL_WARN, "a plugin is not used: %s", list->reason[i]);
    }
    if (list->refused > SHPOOL_MAX_REFUSED) {
        shpool_message(SHPOOL_LEVEL_WARN, "%zu more plugins are not used",
                       list->refused - SHPOOL_MAX_REFUSED);
    }
}

/*
 * Before the registry answers for the first time.  No thread waits for another one that is in
 * dlopen(), which may itself wait for a thread that is here: each loads all plugins (the second
 * time nothing happens), and the first to be ready registers them.
 */
static void load_plugins_slow(void)
{
    shpool_plugin_list *list = malloc(sizeof(*list));
    int first = 0;

    if (list == NULL) {
        return; /* the next call tries again */
    }
    loading = 1;
    shpool_plugin_find(list, shpool_register);
    loading = 0;

    shpool_lock(SHPOOL_LOCK_REGISTRY);
    if (!list->incomplete && !atomic_load_explicit(&plugins_loaded, memory_order_relaxed)) {
        add_plugins(list);
        first = 1;
        atomic_store_explicit(&plugins_loaded, 1, memory_order_release);
    }
    shpool_unlock(SHPOOL_LOCK_REGISTRY);

    if (first) {
        warn_of_refused(list);
    } else if (list->incomplete) {
        shpool_message(SHPOOL_LEVEL_WARN, "no host memory to look for plugins: the next call "
                       "tries again");
    }
    shpool_plugin_release(list);
    free(list);
}

static void load_plugins(void)
{
    if (!atomic_load_explicit(&plugins_loaded, memory_order_acquire) && !loading) {
        load_plugins_slow();
    }
}

/* All allocators at one instant. */
static size_t snapshot(const shpool_allocator *list[SHPOOL_MAX_ALLOCATORS])
{
    size_t count = BUILTIN_COUNT;

    load_plugins();
    memcpy(list, builtins, sizeof(builtins));
    shpool_lock(SHPOOL_LOCK_REGISTRY);
    for (size_t i = 0; i < added.count; i++) {
        list[count++] = added.entry[i];
    }
    shpool_unlock(SHPOOL_LOCK_REGISTRY);
    return count;
}

size_t shpool_allocator_count(void)
{
    size_t count;

    load_plugins();
    shpool_lock(SHPOOL_LOCK_REGISTRY);
    count = BUILTIN_COUNT + added.count;
    shpool_unlock(SHPOOL_LOCK_REGISTRY);
    return count;
}

const shpool_allocator *shpool_allocator_get(size_t index)
{
    const shpool_allocator *list[SHPOOL_MAX_ALLOCATORS];
    size_t count = snapshot(list);

    return (index < count) ? list[index] : NULL;
}

/* Plugins are not found where SHPOOL_PLUGIN_PATH is misspelt. */
static void add_unknown_variables(shpool_text *text)
{
    const char *unknown[SHPOOL_UNKNOWN_COUNT];
    const size_t count = shpool_config_unknown(unknown);

    for (size_t i = 0; (i < count) && (i < SHPOOL_UNKNOWN_COUNT); i++) {
        shpool_text_add(text, "%s%s", (i == 0) ? "; environment variables that are unknown: "
                        : ", ", unknown[i]);
    }
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
    shpool_lock(SHPOOL_LOCK_REGISTRY);
    if (added.refused[0] != '\0') {
        shpool_text_add(&text, "; plugins that are not used: %s", added.refused);
    }
    shpool_unlock(SHPOOL_LOCK_REGISTRY);
    add_unknown_variables(&text);
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

shpool_status shpool_register(const shpool_allocator *allocator)
{
    char reason[SHPOOL_REFUSED_BYTES];
    shpool_text why = shpool_text_make(reason, sizeof(reason));
    shpool_status status = shpool_descriptor_check(allocator, &why);

    if (status == SHPOOL_OK) {
        load_plugins();
        shpool_lock(SHPOOL_LOCK_REGISTRY);
        status = add_one(allocator, NULL, &why);
        shpool_unlock(SHPOOL_LOCK_REGISTRY);
    }
    return (status == SHPOOL_OK) ? status : shpool_error(status, "%s", reason);
}

const char *shpool_registry_file(const shpool_allocator *allocator)
{
    const char *file = NULL;

    shpool_lock(SHPOOL_LOCK_REGISTRY);
    for (size_t i = 0; i < added.count; i++) {
        if (added.entry[i] == allocator) {
            file = added.file[i];
        }
    }
    shpool_unlock(SHPOOL_LOCK_REGISTRY);
    return file;
}

void shpool_registry_reset(void)
{
    shpool_lock(SHPOOL_LOCK_REGISTRY);
    for (size_t i = 0; i < added.count; i++) {
        if ((i + 1 == added.count) || (added.file[i] != added.file[i + 1])) {
            free(added.file[i]); /* a plugin's allocators share one */
        }
    }
    added.count = 0;
    added.refused[0] = '\0';
    atomic_store_explicit(&plugins_loaded, 0, memory_order_release);
    shpool_unlock(SHPOOL_LOCK_REGISTRY);
}

uint32_t shpool_name_id(const char *name)
{
    return (name != NULL) ? shpool_module_id(name) : 0;
}
