/* SPDX-License-Identifier: BSD-3-Clause */
/* Which device allocators and layers there are: those of device/list, and registered ones. */
#include "stack.h"

#include <dlfcn.h>
#include <string.h>

#include "lib/elf.h"
#include "lib/lock.h"

#define MAX_PROVIDERS 32u

#pragma GCC visibility push(hidden)
#define SHPOOL_DEVICE_PROVIDER(_name) \
    extern const shpool_device_provider shpool_device_provider_##_name;
#include "device/builtin_providers.def"
#undef SHPOOL_DEVICE_PROVIDER
#pragma GCC visibility pop

static const shpool_device_provider *const builtins[] = {
#define SHPOOL_DEVICE_PROVIDER(_name) &shpool_device_provider_##_name,
#include "device/builtin_providers.def"
#undef SHPOOL_DEVICE_PROVIDER
};

#define BUILTIN_COUNT SHPOOL_ARRAY_COUNT(builtins)

/* Only ever grows (but in tests): one that was found stays. */
static struct {
    size_t count;
    const shpool_device_provider *entry[MAX_PROVIDERS];
} added;

/* The caller holds the lock. */
static const shpool_device_provider *at(size_t index)
{
    if (index < BUILTIN_COUNT) {
        return builtins[index];
    }
    return (index - BUILTIN_COUNT < added.count) ? added.entry[index - BUILTIN_COUNT] : NULL;
}

const shpool_device_provider *shpool_device_provider_get(size_t index)
{
    const shpool_device_provider *found;

    shpool_lock(SHPOOL_LOCK_PROVIDERS);
    found = at(index);
    shpool_unlock(SHPOOL_LOCK_PROVIDERS);
    return found;
}

static const shpool_device_provider *find(const char *name)
{
    const shpool_device_provider *found = NULL;

    for (size_t i = 0; (found = at(i)) != NULL; i++) {
        if (strcmp(found->name, name) == 0) {
            break;
        }
    }
    return found;
}

static shpool_status not_found(const char *name)
{
    const char *names[BUILTIN_COUNT + MAX_PROVIDERS];
    char detail[SHPOOL_ERROR_BYTES];
    shpool_text text = shpool_text_make(detail, sizeof(detail));
    const shpool_device_provider *one;
    size_t count = 0;

    while ((one = shpool_device_provider_get(count)) != NULL) {
        names[count++] = one->name;
    }
    shpool_text_add(&text, "there is no device allocator or layer \"%.64s\"", name);
    shpool_text_add_guess(&text, name, names, count);
    shpool_text_add(&text, "; there are: ");
    shpool_text_add_names(&text, names, count);
    return shpool_error(SHPOOL_ERR_NOT_FOUND, "%s", detail);
}

shpool_status shpool_device_provider_find(const char *name,
                                          const shpool_device_provider **provider_p)
{
    if ((name == NULL) || (provider_p == NULL)) {
        return shpool_error(SHPOOL_ERR_INVALID, "name or provider_p is NULL");
    }
    shpool_lock(SHPOOL_LOCK_PROVIDERS);
    *provider_p = find(name);
    shpool_unlock(SHPOOL_LOCK_PROVIDERS);
    return (*provider_p != NULL) ? SHPOOL_OK : not_found(name);
}

static shpool_status check(const shpool_device_provider *p)
{
    if (p == NULL) {
        return shpool_error(SHPOOL_ERR_INVALID, "provider is NULL");
    }
    if ((p->abi != SHPOOL_DEVICE_ABI) ||
        (p->bytes < offsetof(shpool_device_provider, record_stream))) {
        return shpool_error(SHPOOL_ERR_ABI, "the provider was built with ABI %u and %u bytes, this "
                            "library has ABI %u and %zu: rebuild it", p->abi, p->bytes,
                            SHPOOL_DEVICE_ABI, sizeof(*p));
    }
    if ((p->name == NULL) || !shpool_name_is_valid(p->name)) {
        return shpool_error(SHPOOL_ERR_INVALID, "\"%.64s\" is not a valid name, it must be "
                            "[a-z][a-z0-9_]* and shorter than %u",
                            (p->name != NULL) ? p->name : "(null)",
                            SHPOOL_NAME_BYTES);
    }
    if ((p->create == NULL) || (p->destroy == NULL) || (p->malloc == NULL) || (p->free == NULL) ||
        (p->summary == NULL)) {
        return shpool_error(SHPOOL_ERR_INVALID, "\"%s\" lacks a summary or one of create, destroy, "
                            "malloc and free", p->name);
    }
    return SHPOOL_OK;
}

/* All of them, or none.  The caller holds the lock; on failure *bad_p is the one at fault. */
static shpool_status add(const shpool_device_provider *const *providers, uint32_t count,
                         const shpool_device_provider **bad_p)
{
    size_t before = added.count;

    for (uint32_t i = 0; i < count; i++) {
        shpool_status status = SHPOOL_OK;

        *bad_p = providers[i];
        if (find(providers[i]->name) != NULL) {
            status = SHPOOL_ERR_UNSUPPORTED;
        } else if (added.count == MAX_PROVIDERS) {
            status = SHPOOL_ERR_TOO_LARGE;
        }
        if (status != SHPOOL_OK) {
            added.count = before;
            return status;
        }
        added.entry[added.count++] = providers[i];
    }
    return SHPOOL_OK;
}

static shpool_status add_all(const shpool_device_provider *const *providers, uint32_t count)
{
    const shpool_device_provider *bad = NULL;
    shpool_status status = SHPOOL_OK;

    for (uint32_t i = 0; (status == SHPOOL_OK) && (i < count); i++) {
        status = check(providers[i]);
    }
    if (status != SHPOOL_OK) {
        return status;
    }
    shpool_lock(SHPOOL_LOCK_PROVIDERS);
    status = add(providers, count, &bad);
    shpool_unlock(SHPOOL_LOCK_PROVIDERS);
    if (status == SHPOOL_ERR_UNSUPPORTED) {
        return shpool_error(status, "the name \"%s\" is taken, choose another", bad->name);
    }
    if (status == SHPOOL_ERR_TOO_LARGE) {
        return shpool_error(status, "no place for \"%s\": at most %u providers can be added",
                            bad->name, MAX_PROVIDERS);
    }
    return SHPOOL_OK;
}

shpool_status shpool_device_register(const shpool_device_provider *provider)
{
    return add_all(&provider, 1);
}

shpool_status shpool_device_load(const char *path)
{
    const shpool_device_plugin_info *info;
    const char *reason;
    char text[256];
    shpool_text why = shpool_text_make(text, sizeof(text));
    void *image;

    if (path == NULL) {
        return shpool_error(SHPOOL_ERR_INVALID, "path is NULL");
    }
    /* a path without a slash is not that of a file: dlopen() searches for it */
    if ((strchr(path, '/') != NULL) && !shpool_elf_is_loadable(path, &why)) {
        return shpool_error(SHPOOL_ERR_NOT_FOUND, "%s cannot be used: %s", path, text);
    }
    image = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    info = (image != NULL) ? dlsym(image, "shpool_device_plugin") : NULL;
    if (info == NULL) {
        reason = (image == NULL) ? dlerror() : "it exports no shpool_device_plugin";
        return shpool_error(SHPOOL_ERR_NOT_FOUND, "%s cannot be used: %s", path,
                            (reason != NULL) ? reason : "it cannot be loaded");
    }
    if ((info->abi != SHPOOL_DEVICE_ABI) || (info->count == 0) || (info->providers == NULL)) {
        return shpool_error(SHPOOL_ERR_ABI, "%s was built with ABI %u and has %u providers, this "
                            "library has ABI %u", path, info->abi, info->count,
                            SHPOOL_DEVICE_ABI);
    }
    return add_all(info->providers, info->count);
}

void shpool_device_providers_reset(void)
{
    shpool_lock(SHPOOL_LOCK_PROVIDERS);
    added.count = 0;
    shpool_unlock(SHPOOL_LOCK_PROVIDERS);
}
