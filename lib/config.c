/* SPDX-License-Identifier: BSD-3-Clause */
/* The environment, read once per process.  No other file calls getenv. */
#include "internal.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define PREFIX "SHPOOL_"

/* Every variable, in alphabetical order; the last column is its documentation. */
/*        name       type     unit  default                   documentation                       */
#define VARIABLES(_)                                                                               \
    _(ALLOCATOR, "spec",  "",   SHPOOL_DEFAULT_ALLOCATOR,                                          \
      "allocator that serves where a program names none: name or name:key=value,... with the "     \
      "keys payload_bytes or total_bytes (bytes; K, M, G), threads_per_pool (0..1024), alignment " \
      "(16..1024), stats and check (0 or 1), spill, spill_bytes, spill_blocks, trace (a file), "   \
      "trace_bytes (bytes; K, M, G), trace_blocks (1..1024)")                                      \
    _(CACHE_BYTES, "number", "bytes", "64M",                                                       \
      "most bytes (K, M, G) of this user's files in SHPOOL_CACHE_DIR, looked at when a kernel is " \
      "joined; what was not used for longest is deleted first, 0: all")                            \
    _(CACHE_DIR, "path",  "",   "",                                                                \
      "folder in which kernels that shpool_link() joined are kept for other processes; begins "    \
      "with /, made if missing; empty: they are kept in memory only; without effect in setuid "    \
      "programs")                                                                                  \
    _(DEVICE_ALLOCATOR, "spec", "", "bins",                                                        \
      "device allocator that is shared by all that names none: layers outermost first, then the "  \
      "base, layer:key=value,...|layer|base:key=value; shpool-info device lists them")             \
    _(LOG_LEVEL, "level", "",   "none",                                                            \
      "messages up to this level go to stderr: none, error, warn, info")                           \
    _(PLUGIN_PATH, "path", "",  "",                                                                \
      "folders, and files, with allocators of others, separated by colons; each begins with /; "   \
      "every *.so in a folder is loaded, in order of names; without effect in setuid programs")

enum {
#define AS_ENUM(_name, _type, _unit, _default, _text) VARIABLE_##_name,
    VARIABLES(AS_ENUM)
#undef AS_ENUM
    VARIABLE_COUNT
};

static const shpool_variable variables[VARIABLE_COUNT] = {
#define AS_ENTRY(_name, _type, _unit, _default, _text)                                             \
    { PREFIX #_name, _type, _unit, _default, _text, NULL },
    VARIABLES(AS_ENTRY)
#undef AS_ENTRY
};

/* By value of shpool_level. */
static const char *const levels[] = { "none", "error", "warn", "info" };

/* Longer than any legal value: what is cut here is still too long for whoever parses it. */
#define VALUE_BYTES   (SHPOOL_PATH_BYTES + 32u)
#define UNKNOWN_COUNT 8u
#define UNKNOWN_BYTES 64u

/* Written by read_environment() only, read by everyone after it. */
static struct {
    char value[VARIABLE_COUNT][VALUE_BYTES]; /* "": unset */
    char unknown[UNKNOWN_COUNT][UNKNOWN_BYTES];
    size_t unknown_count; /* also of those that found no room */
    shpool_level log_level;
} config;

static pthread_once_t config_once = PTHREAD_ONCE_INIT;

/* 1 until the warnings about unknown variables were given.  Relaxed is enough: the exchange alone
 * decides who gives them, and pthread_once published what they say. */
static atomic_int warnings_due;

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
    for (size_t i = 0; i < VARIABLE_COUNT; i++) {
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
        if (config.unknown_count < UNKNOWN_COUNT) {
            copy_cut(config.unknown[config.unknown_count], UNKNOWN_BYTES, *entry, count);
        }
        config.unknown_count++;
    }
}

/* In a program that has more rights than whoever starts it (setuid, file capabilities), the latter
 * must not say from where files are read.  The kernel's word holds also after the program has set
 * its ids, theirs where it says nothing. */
int shpool_config_is_privileged(void)
{
    return (getauxval(AT_SECURE) != 0) || (geteuid() != getuid()) || (getegid() != getgid());
}

static int is_withheld(const shpool_variable *variable)
{
    return (strcmp(variable->type, "path") == 0) && shpool_config_is_privileged();
}

static void read_environment(void)
{
    memset(&config, 0, sizeof(config));
    for (size_t i = 0; i < VARIABLE_COUNT; i++) {
        const char *value = getenv(variables[i].name);

        if ((value != NULL) && !is_withheld(&variables[i])) {
            copy_cut(config.value[i], VALUE_BYTES, value, strlen(value));
        }
    }

    config.log_level = SHPOOL_LEVEL_NONE;
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(levels); i++) {
        if (strcmp(levels[i], config.value[VARIABLE_LOG_LEVEL]) == 0) {
            config.log_level = (shpool_level)i;
        }
    }

    collect_unknown();
    atomic_store_explicit(&warnings_due, 1, memory_order_relaxed);
}

void shpool_config_reload(void)
{
    pthread_once(&config_once, read_environment); /* so that no later call undoes this one */
    read_environment();
}

shpool_level shpool_config_log_level(shpool_level fallback)
{
    pthread_once(&config_once, read_environment);
    return (config.value[VARIABLE_LOG_LEVEL][0] != '\0') ? config.log_level : fallback;
}

/* Not from read_environment(): a message asks for the level, and would wait for itself. */
static void warn_of_unknown(void)
{
    const char *names[VARIABLE_COUNT];

    if (atomic_exchange_explicit(&warnings_due, 0, memory_order_relaxed) == 0) {
        return;
    }

    for (size_t i = 0; i < VARIABLE_COUNT; i++) {
        names[i] = variables[i].name;
    }
    for (size_t i = 0; (i < config.unknown_count) && (i < UNKNOWN_COUNT); i++) {
        shpool_message(SHPOOL_LEVEL_WARN,
                       "environment variable %s is unknown and has no effect, the nearest known "
                       "one is %s",
                       config.unknown[i],
                       shpool_nearest(config.unknown[i], names, VARIABLE_COUNT, NULL));
    }
    if (config.unknown_count > UNKNOWN_COUNT) {
        shpool_message(SHPOOL_LEVEL_WARN,
                       "%zu more unknown environment variables begin with " PREFIX,
                       config.unknown_count - UNKNOWN_COUNT);
    }
}

static const char *value_of(size_t index)
{
    pthread_once(&config_once, read_environment);
    warn_of_unknown();
    return (config.value[index][0] != '\0') ? config.value[index] : NULL;
}

const char *shpool_config_allocator(void)
{
    return value_of(VARIABLE_ALLOCATOR);
}

const char *shpool_config_device_allocator(void)
{
    return value_of(VARIABLE_DEVICE_ALLOCATOR);
}

const char *shpool_config_plugin_path(void)
{
    return value_of(VARIABLE_PLUGIN_PATH);
}

const char *shpool_config_cache_dir(void)
{
    return value_of(VARIABLE_CACHE_DIR);
}

shpool_status shpool_config_cache_bytes(uint64_t *bytes_p)
{
    const char *value = value_of(VARIABLE_CACHE_BYTES);

    if (shpool_spec_number((value != NULL) ? value : variables[VARIABLE_CACHE_BYTES].default_value,
                           1, bytes_p)) {
        return SHPOOL_OK;
    }
    return shpool_error(SHPOOL_ERR_SPEC, "SHPOOL_CACHE_BYTES \"%.100s\" is no number of bytes; "
                        "give digits, and K, M or G for 1,024 each", value);
}

shpool_status shpool_config_check(void)
{
    const char *value = value_of(VARIABLE_LOG_LEVEL);
    char detail[SHPOOL_ERROR_BYTES];
    shpool_text text;

    if ((value == NULL) || (strcmp(value, levels[config.log_level]) == 0)) {
        return SHPOOL_OK;
    }

    text = shpool_text_make(detail, sizeof(detail));
    shpool_text_add(&text, "SHPOOL_LOG_LEVEL \"%s\" is no level", value);
    shpool_text_add_guess(&text, value, levels, SHPOOL_ARRAY_COUNT(levels));
    shpool_text_add(&text, "; known levels: ");
    shpool_text_add_names(&text, levels, SHPOOL_ARRAY_COUNT(levels));
    return shpool_error(SHPOOL_ERR_SPEC, "%s", detail);
}

shpool_status shpool_variable_get(size_t index, shpool_variable *variable_p)
{
    if (variable_p == NULL) {
        return shpool_error(SHPOOL_ERR_INVALID, "variable_p is NULL");
    }

    memset(variable_p, 0, sizeof(*variable_p));
    if (index >= VARIABLE_COUNT) {
        return shpool_error(SHPOOL_ERR_NOT_FOUND, "variable %zu was asked for, there are 0..%d",
                            index, VARIABLE_COUNT - 1);
    }

    *variable_p = variables[index];
    variable_p->value = value_of(index);
    return SHPOOL_OK;
}
