/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The environment, read once per process.  No other file calls getenv.
 *
 * This file sends no messages, because message.c reads SHPOOL_LOG_LEVEL from it. variables.c
 * reports bad values and unknown variables.
 */
#include "internal.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define PREFIX "SHPOOL_"

/* Name, type, unit, default, documentation; the value is the process's. */
static const shpool_variable variables[SHPOOL_VARIABLE_COUNT] = {
    [SHPOOL_VARIABLE_ALLOCATOR] = {
        PREFIX "ALLOCATOR", "spec", "", SHPOOL_DEFAULT_ALLOCATOR,
        "Allocator of programs that name none: NAME, or NAME:key=value,... with keys of block "
        "allocators.", NULL },
    [SHPOOL_VARIABLE_BINDING] = {
        PREFIX "BINDING", "word", "", "table",
        "Binding of kernels that were compiled for the function table. With table they call the "
        "allocator through pointers. With linked they are joined with it when the pool is opened, "
        "and calls are inlined into kernels whose objects hold LTO-IR, as with lto_cflags of "
        "pkg-config.", NULL },
    [SHPOOL_VARIABLE_CACHE_BYTES] = {
        PREFIX "CACHE_BYTES", "number", "bytes", "64M",
        "Limit on this user's files in SHPOOL_CACHE_DIR; K, M or G may follow. It is applied when "
        "a kernel is joined. The files that have not been used for the longest time are deleted "
        "first; 0 deletes all.", NULL },
    [SHPOOL_VARIABLE_CACHE_DIR] = {
        PREFIX "CACHE_DIR", "path", "", "",
        "Folder that keeps joined kernels for other processes. Begins with /, and is made if it is "
        "missing. Empty: they are kept in memory only. A folder is not used if it is a symbolic "
        "link, belongs to a user other than this one and root, or can be written by others; a "
        "message of level warn gives the reason. Setuid programs ignore this variable.", NULL },
    [SHPOOL_VARIABLE_DEVICE_ALLOCATOR] = {
        PREFIX "DEVICE_ALLOCATOR", "spec", "", SHPOOL_DEFAULT_DEVICE_BASE,
        "Shared device allocator, for calls that name none: layers outermost first, then the "
        "base, layer:key=value,...|layer|base:key=value. shpool-info device lists them and their "
        "keys.", NULL },
    [SHPOOL_VARIABLE_LOG_LEVEL] = {
        PREFIX "LOG_LEVEL", "level", "", "none",
        "Messages up to this level go to standard error: none, error, warn or info. If it is not "
        "set, only misspelt variables and the reports that SHPOOL_ALLOCATOR requests do.", NULL },
    [SHPOOL_VARIABLE_PLUGIN_PATH] = {
        PREFIX "PLUGIN_PATH", "path", "", "",
        "Folders, and files, with allocators of others, separated by colons. Each begins with /. "
        "Every *.so in a folder is loaded, in order of names. Setuid programs ignore this "
        "variable.", NULL },
    [SHPOOL_VARIABLE_TORCH] = {
        PREFIX "TORCH", "number", "", "0",
        "1: PyTorch's memory comes from libshpool in Python programs whose sitecustomize imports "
        "shpool.auto (doc/PYTORCH.md). Only Python reads this variable.", NULL },
};

const char *const shpool_level_names[SHPOOL_LEVEL_COUNT] = { "none", "error", "warn", "info" };

/* Longer than any legal value: a truncated value is still too long for its parser. */
#define VALUE_BYTES   (SHPOOL_PATH_BYTES + 32u)
#define UNKNOWN_BYTES 64u

/* Written by read_environment() only, read by everyone after it. */
static struct {
    char value[SHPOOL_VARIABLE_COUNT][VALUE_BYTES]; /* "": unset */
    char unknown[SHPOOL_UNKNOWN_COUNT][UNKNOWN_BYTES];
    size_t unknown_count; /* also of those that found no room */
    shpool_level log_level;
    shpool_digest library_path;
    char nvtx[SHPOOL_PATH_BYTES];
} config;

static pthread_once_t config_once = PTHREAD_ONCE_INIT;

/* 1 until a caller has been told to warn about unknown variables.  Relaxed suffices: the exchange
 * alone decides which caller warns, and pthread_once published the variables. */
static atomic_int unknown_due;

extern char **environ;

static void copy_cut(char *to, size_t bytes, const char *from, size_t count)
{
    if (count >= bytes) {
        count = bytes - 1;
    }
    memcpy(to, from, count);
    to[count] = '\0';
}

static int is_known(const char *name, size_t count)
{
    for (size_t i = 0; i < SHPOOL_VARIABLE_COUNT; i++) {
        if ((strlen(variables[i].name) == count) && (memcmp(variables[i].name, name, count) == 0)) {
            return 1;
        }
    }
    return 0;
}

static void collect_unknown(void)
{
    for (char **entry = environ; (entry != NULL) && (*entry != NULL); entry++) {
        size_t count = strcspn(*entry, "=");

        if ((strncmp(*entry, PREFIX, strlen(PREFIX)) != 0) || is_known(*entry, count)) {
            continue;
        }
        if (config.unknown_count < SHPOOL_UNKNOWN_COUNT) {
            copy_cut(config.unknown[config.unknown_count], UNKNOWN_BYTES, *entry, count);
        }
        config.unknown_count++;
    }
}

/* In a program with more privileges than its caller (setuid, file capabilities), the caller must
 * not choose which files are read.  The kernel's answer remains valid after the program has set its
 * ids; without one the ids decide. */
int shpool_config_is_privileged(void)
{
    return (getauxval(AT_SECURE) != 0) || (geteuid() != getuid()) || (getegid() != getgid());
}

static int is_withheld(const shpool_variable *variable)
{
    return (strcmp(variable->type, "path") == 0) && shpool_config_is_privileged();
}

static shpool_digest digest_of(const char *value)
{
    shpool_sha256 sha = shpool_sha256_begin();

    shpool_sha256_add(&sha, (value != NULL) ? value : "", (value != NULL) ? strlen(value) : 0);
    return shpool_sha256_end(&sha);
}

static void read_nvtx(void)
{
    const char *path = getenv("NVTX_INJECTION64_PATH");

    if ((path != NULL) && !shpool_config_is_privileged()) {
        copy_cut(config.nvtx, sizeof(config.nvtx), path, strlen(path));
    }
}

static void read_environment(void)
{
    memset(&config, 0, sizeof(config));
    for (size_t i = 0; i < SHPOOL_VARIABLE_COUNT; i++) {
        const char *value = getenv(variables[i].name);

        if ((value != NULL) && !is_withheld(&variables[i])) {
            copy_cut(config.value[i], VALUE_BYTES, value, strlen(value));
        }
    }

    config.log_level = SHPOOL_LEVEL_NONE;
    for (size_t i = 0; i < SHPOOL_LEVEL_COUNT; i++) {
        if (strcmp(shpool_level_names[i], config.value[SHPOOL_VARIABLE_LOG_LEVEL]) == 0) {
            config.log_level = (shpool_level)i;
        }
    }

    config.library_path = digest_of(getenv("LD_LIBRARY_PATH"));
    read_nvtx();
    collect_unknown();
    atomic_store_explicit(&unknown_due, 1, memory_order_relaxed);
}

void shpool_config_reload(void)
{
    pthread_once(&config_once, read_environment); /* so that no later call undoes this one */
    read_environment();
}

shpool_variable shpool_config_variable(size_t index)
{
    shpool_variable variable = variables[index];

    pthread_once(&config_once, read_environment);
    variable.value = (config.value[index][0] != '\0') ? config.value[index] : NULL;
    return variable;
}

shpool_level shpool_config_log_level(shpool_level fallback)
{
    pthread_once(&config_once, read_environment);
    return (config.value[SHPOOL_VARIABLE_LOG_LEVEL][0] != '\0') ? config.log_level : fallback;
}

shpool_digest shpool_config_library_path(void)
{
    pthread_once(&config_once, read_environment);
    return config.library_path;
}

const char *shpool_config_nvtx(void)
{
    pthread_once(&config_once, read_environment);
    return (config.nvtx[0] != '\0') ? config.nvtx : NULL;
}

size_t shpool_config_unknown(const char *names[SHPOOL_UNKNOWN_COUNT])
{
    pthread_once(&config_once, read_environment);
    for (size_t i = 0; i < SHPOOL_UNKNOWN_COUNT; i++) {
        names[i] = config.unknown[i];
    }
    return config.unknown_count;
}

int shpool_config_unknown_due(void)
{
    pthread_once(&config_once, read_environment);
    return atomic_exchange_explicit(&unknown_due, 0, memory_order_relaxed);
}
