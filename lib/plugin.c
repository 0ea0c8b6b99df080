/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plugins of SHPOOL_PLUGIN_PATH: which files they are, and whether they can be used.
 *
 * Nothing here holds a lock: dlopen() runs constructors, which may come back to the registry, and
 * waits for other threads that are in it.
 */
#include "plugin.h"

#include "elf.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void shpool_plugin_refuse(shpool_plugin_list *list, const char *path, const char *format, ...)
{
    shpool_text text;
    va_list args;
    char reason[SHPOOL_REFUSED_BYTES];

    if (list->refused++ >= SHPOOL_MAX_REFUSED) {
        return;
    }
    va_start(args, format);
    vsnprintf(reason, sizeof(reason), format, args);
    va_end(args);
    text = shpool_text_make(list->reason[list->refused - 1], SHPOOL_REFUSED_BYTES);
    shpool_text_add(&text, "%.300s: %s", path, reason);
}

void shpool_plugin_release(shpool_plugin_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->plugin[i].path);
    }
}

/* ---- one file ---- */

/* Whether a plugin's own description is sound; what is wrong with it is added to `why`. */
static int is_sound(const shpool_plugin_info *info, shpool_register_fn library, shpool_text *why)
{
    if ((info->abi != SHPOOL_ABI) || (info->bytes != sizeof(*info))) {
        shpool_text_add(why, "it was built with ABI %u and %u bytes, this library has ABI %u and "
                        "%zu: rebuild it with the headers of shpool %s", info->abi, info->bytes,
                        SHPOOL_ABI, sizeof(*info), PACKAGE_VERSION);
        return 0;
    }
    /* two copies would each have an executor and a registry of their own */
    if (info->library != library) {
        shpool_text_add(why, "it is bound to another copy of libshpool than this program: link the "
                        "program with the shared library, or with -rdynamic");
        return 0;
    }
    if ((info->count == 0) || (info->allocators == NULL)) {
        shpool_text_add(why, "it lists no allocator");
        return 0;
    }
    for (uint32_t i = 0; i < info->count; i++) {
        if (shpool_descriptor_check(info->allocators[i], why) != SHPOOL_OK) {
            return 0;
        }
    }
    return 1;
}

/* dlerror() usually begins with the path, which the message already has. */
static const char *load_error(const char *path)
{
    const char *text = dlerror();
    size_t bytes = strlen(path);

    if (text == NULL) {
        return "it cannot be loaded";
    }
    return ((strncmp(text, path, bytes) == 0) && (strncmp(text + bytes, ": ", 2) == 0))
               ? text + bytes + 2 : text;
}

/* The program has the library inside and shows nothing of it, or loaded it for itself alone. */
static int lacks_library(const char *text)
{
    return (strstr(text, "undefined symbol: shpool_") != NULL) ||
           (strstr(text, "undefined symbol: simt_") != NULL);
}

static int is_listed(const shpool_plugin_list *list, const shpool_plugin_info *info)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->plugin[i].info == info) {
            return 1;
        }
    }
    return 0;
}

static void add_plugin(shpool_plugin_list *list, const char *path, const shpool_plugin_info *info)
{
    char reason[SHPOOL_REFUSED_BYTES];
    shpool_text why = shpool_text_make(reason, sizeof(reason));
    char *copy;

    if (is_listed(list, info)) {
        return; /* the same file by another name */
    }
    if (!is_sound(info, list->library, &why)) {
        shpool_plugin_refuse(list, path, "%s", reason);
        return;
    }
    if (list->count == SHPOOL_MAX_PLUGINS) {
        shpool_plugin_refuse(list, path, "no room for more than %u plugins", SHPOOL_MAX_PLUGINS);
        return;
    }
    copy = strdup(path);
    if (copy == NULL) {
        list->incomplete = 1;
        return;
    }
    list->plugin[list->count++] = (shpool_plugin_file){ .info = info, .path = copy };
}

/* Whose it is, the user decides by naming it; what is in it, its owner alone. */
static int is_closed(shpool_plugin_list *list, const char *path, const struct stat *info)
{
    const char *fault = shpool_file_open_to_others(info);

    if (fault != NULL) {
        shpool_plugin_refuse(list, path, "%s", fault);
    }
    return fault == NULL;
}

static void load_file(shpool_plugin_list *list, const char *path, const struct stat *info)
{
    const shpool_plugin_info *found;
    char reason[SHPOOL_REFUSED_BYTES];
    shpool_text why = shpool_text_make(reason, sizeof(reason));
    const char *text;
    void *image;

    if (!is_closed(list, path, info)) {
        return;
    }
    if (!shpool_elf_is_loadable(path, &why)) {
        shpool_plugin_refuse(list, path, "%s", reason);
        return;
    }
    /* RTLD_NODELETE: its constructors may have left pointers to it */
    image = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (image == NULL) {
        text = load_error(path);
        shpool_plugin_refuse(list, path, "%.300s%s", text,
                             lacks_library(text) ? "; link the program with the shared library or "
                             "with -rdynamic, or the plugin with -lshpool" : "");
        return;
    }
    found = dlsym(image, "shpool_plugin");
    if (found == NULL) {
        shpool_plugin_refuse(list, path, "it has no symbol shpool_plugin, which SHPOOL_PLUGIN() of "
                             "<shpool/module.h> defines");
    } else {
        add_plugin(list, path, found);
    }
    dlclose(image);
}

/* ---- folders ---- */

static int is_plugin_name(const struct dirent *one)
{
    size_t bytes = strlen(one->d_name);

    return (bytes > 3) && (one->d_name[0] != '.') && (strcmp(one->d_name + bytes - 3, ".so") == 0);
}

/* Not alphasort(), which orders by the locale. */
static int by_name(const struct dirent **left, const struct dirent **right)
{
    return strcmp((*left)->d_name, (*right)->d_name);
}

static void load_folder(shpool_plugin_list *list, const char *folder, const struct stat *info)
{
    struct dirent **names = NULL;
    char path[2 * SHPOOL_PATH_BYTES];
    struct stat file;
    int count;

    if (!is_closed(list, folder, info)) {
        return;
    }
    count = scandir(folder, &names, is_plugin_name, by_name);
    if ((count < 0) && (errno == ENOMEM)) {
        list->incomplete = 1;
    } else if (count < 0) {
        shpool_plugin_refuse(list, folder, "%s", strerror(errno));
    }
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, names[i]->d_name);
        if (stat(path, &file) != 0) {
            shpool_plugin_refuse(list, path, "%s", strerror(errno));
        } else {
            load_file(list, path, &file);
        }
        free(names[i]);
    }
    free(names);
}

static void load_entry(shpool_plugin_list *list, const char *entry)
{
    struct stat info;

    if (entry[0] != '/') {
        shpool_plugin_refuse(list, entry, "what SHPOOL_PLUGIN_PATH names begins with /");
    } else if (stat(entry, &info) != 0) {
        shpool_plugin_refuse(list, entry, "%s", strerror(errno));
    } else if (S_ISDIR(info.st_mode)) {
        load_folder(list, entry, &info);
    } else {
        load_file(list, entry, &info);
    }
}

void shpool_plugin_find(shpool_plugin_list *list, shpool_register_fn library)
{
    const char *path = shpool_config_value(SHPOOL_VARIABLE_PLUGIN_PATH);
    char entries[SHPOOL_PATH_BYTES];
    char *rest = entries;

    memset(list, 0, sizeof(*list));
    list->library = library;
    if (path == NULL) {
        return;
    }
    if (strlen(path) >= sizeof(entries)) {
        shpool_plugin_refuse(list, path, "SHPOOL_PLUGIN_PATH is longer than %u bytes",
                             SHPOOL_PATH_BYTES - 1);
        return;
    }
    memcpy(entries, path, strlen(path) + 1);
    while (rest != NULL) {
        char *entry = rest;

        rest = strchr(entry, ':');
        if (rest != NULL) {
            *rest++ = '\0';
        }
        if (entry[0] != '\0') {
            load_entry(list, entry);
        }
    }
}
