/* SPDX-License-Identifier: BSD-3-Clause */
/* Plugins that a test compiles with $CC [cc], in a folder of its own. */
#ifndef SHPOOL_TESTS_PLUGIN_TRIAL_H
#define SHPOOL_TESTS_PLUGIN_TRIAL_H

#include "tests/unit.h"

#include <sys/stat.h>
#include <unistd.h>

#define TRIAL_PATH_BYTES 512u

static char trial_folder[TRIAL_PATH_BYTES];
static size_t trial_builtins;

static struct {
    unsigned warnings;
    char text[4096]; /* of the latest */
} trial_heard;

static inline void trial_path(char path[2 * TRIAL_PATH_BYTES], const char *name)
{
    snprintf(path, 2 * TRIAL_PATH_BYTES, "%s/%s", trial_folder, name);
}

static inline void trial_write(const char *name, const char *text)
{
    char path[2 * TRIAL_PATH_BYTES];
    FILE *file;

    trial_path(path, name);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static inline void trial_run_compiler(const char *source, const char *name)
{
    const char *compiler = getenv("CC");
    const char *top = getenv("top_srcdir");
    char command[8 * TRIAL_PATH_BYTES];

    snprintf(command, sizeof(command), "%s -w -shared -fPIC -fvisibility=hidden -I'%s/include' "
             "-o '%s/%s' '%s'", (compiler != NULL) ? compiler : "cc", (top != NULL) ? top : ".",
             trial_folder, name, source);
    assert_int_equal(system(command), 0);
}

static inline void trial_compile_text(const char *name, const char *text)
{
    char source[2 * TRIAL_PATH_BYTES];

    trial_write("source.c", text);
    trial_path(source, "source.c");
    trial_run_compiler(source, name);
    assert_int_equal(unlink(source), 0);
}

/* The example that users have. */
static inline void trial_compile_own(const char *name)
{
    const char *top = getenv("top_srcdir");
    char source[2 * TRIAL_PATH_BYTES];

    snprintf(source, sizeof(source), "%s/examples/plugin/own.c", (top != NULL) ? top : ".");
    trial_run_compiler(source, name);
}

/*
 * A plugin with an allocator that never serves a request.  The text starts with `first`, which may
 * define its defect: ABI, BYTES, COUNT, LIBRARY, SCOPE; or SECOND, another allocator's name.
 */
static inline void trial_compile(const char *name, const char *allocator, const char *first)
{
    char text[16384];

    snprintf(text, sizeof(text),
             "#include <shpool/module.h>\n"
             "%s"
             "#ifndef SCOPE\n#define SCOPE SHPOOL_SCOPE_BLOCK\n#endif\n"
             "SHPOOL_EMPTY_MODULE(%s)\n"
             "SHPOOL_HOST_MODULE(%s, \"a trial\", SCOPE, 0, NULL);\n"
             "#if defined(SECOND)\n"
             "SHPOOL_EMPTY_MODULE(trial_a)\n"
             "SHPOOL_HOST_MODULE(trial_a, \"a second\", SCOPE, 0, NULL);\n"
             "SHPOOL_PLUGIN_OF(&shpool_allocator_%s, &shpool_allocator_trial_a);\n"
             "#elif defined(ABI) || defined(BYTES) || defined(COUNT) || defined(LIBRARY)\n"
             "#ifndef ABI\n#define ABI SHPOOL_ABI\n#endif\n"
             "#ifndef BYTES\n#define BYTES sizeof(shpool_plugin_info)\n#endif\n"
             "#ifndef COUNT\n#define COUNT 1\n#endif\n"
             "#ifndef LIBRARY\n#define LIBRARY shpool_register\n#endif\n"
             "static const shpool_allocator *const list[] = { &shpool_allocator_%s };\n"
             "SHPOOL_API const shpool_plugin_info shpool_plugin;\n"
             "const shpool_plugin_info shpool_plugin = { ABI, BYTES, COUNT, 0, list, LIBRARY };\n"
             "#else\n"
             "SHPOOL_PLUGIN(%s);\n"
             "#endif\n", first, allocator, allocator, allocator, allocator, allocator);
    trial_compile_text(name, text);
}

/* From here on the process has this SHPOOL_PLUGIN_PATH, and has not looked there yet. */
static inline void trial_use(const char *path)
{
    assert_int_equal(setenv("SHPOOL_PLUGIN_PATH", path, 1), 0);
    shpool_config_reload();
    shpool_registry_reset();
    memset(&trial_heard, 0, sizeof(trial_heard));
}

static inline void trial_listen(shpool_level level, const char *text, void *user)
{
    (void)user;
    if (level == SHPOOL_LEVEL_WARN) {
        trial_heard.warnings++;
        snprintf(trial_heard.text, sizeof(trial_heard.text), "%s", text);
    }
}

static inline int trial_set_up(void **state)
{
    (void)clear_environment(state);
    (void)umask(022); /* a plugin that its group can write to is refused */
    shpool_registry_reset();
    trial_builtins = shpool_allocator_count();
    shpool_set_message_handler(trial_listen, NULL);
    snprintf(trial_folder, sizeof(trial_folder), "%s/shpool-plugins-XXXXXX",
             (getenv("TMPDIR") != NULL) ? getenv("TMPDIR") : "/tmp");
    return -(mkdtemp(trial_folder) == NULL);
}

static inline int trial_tear_down(void **state)
{
    char command[2 * TRIAL_PATH_BYTES];

    shpool_set_message_handler(NULL, NULL);
    snprintf(command, sizeof(command), "rm -rf '%s'", trial_folder);
    return system(command);
}

#endif /* SHPOOL_TESTS_PLUGIN_TRIAL_H */
