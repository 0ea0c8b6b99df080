/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports that the environment requested: who gets them, and at the end of the process. */
#include <dlfcn.h>
#include <sys/wait.h>

#include "lib/driver.h"
#include "plugin_trial.h"

/* An image whose pools have a report, with a leak; its function is gone when it is unloaded. */
static const char image[] =
    "#include <string.h>\n"
    "#include <shpool/shpool.h>\n"
    "SHPOOL_API shpool_status read_it(const shpool_pool *pool, shpool_report_data *report_p);\n"
    "shpool_status read_it(const shpool_pool *pool, shpool_report_data *report_p)\n"
    "{\n"
    "    (void)pool;\n"
    "    memset(report_p, 0, sizeof(*report_p));\n"
    "    report_p->abi = SHPOOL_ABI;\n"
    "    report_p->bytes = sizeof(*report_p);\n"
    "    report_p->blocks = 1;\n"
    "    report_p->mallocs = 3;\n"
    "    report_p->live = LIVE;\n"
    "    return SHPOOL_OK;\n"
    "}\n";

static const shpool_pool pool = { .flags = SHPOOL_FLAG_SHOW, .name = "made" };

/* The image, and its function. */
static void *load_image(const char *name, int live, shpool_report_fn *read_p)
{
    char text[4096];
    char path[2 * TRIAL_PATH_BYTES];
    void *loaded;

    snprintf(text, sizeof(text), "#define LIVE %d\n%s", live, image);
    trial_compile_text(name, text);
    trial_path(path, name);
    loaded = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(loaded);
    assert_true(shpool_symbol_set(read_p, loaded, "read_it"));
    return loaded;
}

static void end_at_once(const char *name)
{
    shpool_report_fn read;
    void *loaded = load_image(name, 1, &read);

    shpool_set_message_handler(NULL, NULL);
    shpool_show_later(&pool, read);
    dlclose(loaded);
    exit(0);
}

UNIT_TEST_WITH(test_an_image_that_was_unloaded_has_its_report_at_the_end, trial_set_up,
               trial_tear_down)
{
    const capture c = capture_stderr();
    char text[CAPTURED];
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        end_at_once("gone.so");
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    end_capture(&c, text);
    assert_true(WIFEXITED(status) && (WEXITSTATUS(status) == 0));
    assert_int_equal(strncmp(text, "shpool: made: 3 mallocs, ", 25), 0);
}

static struct {
    shpool_level level;
    char text[512];
} heard;

static void hear(shpool_level level, const char *text, void *user)
{
    (void)user;
    heard.level = level;
    snprintf(heard.text, sizeof(heard.text), "%s", text);
}

UNIT_TEST_WITH(test_the_programs_handler_gets_a_report, trial_set_up, trial_tear_down)
{
    static const struct { const char *name; int live; shpool_level level; } rows[] = {
        { "good.so", 0, SHPOOL_LEVEL_INFO }, { "leaks.so", 1, SHPOOL_LEVEL_WARN },
    };

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(rows); i++) {
        char text[CAPTURED];
        shpool_report_fn read;
        void *loaded = load_image(rows[i].name, rows[i].live, &read);
        capture c;

        memset(&heard, 0, sizeof(heard));
        shpool_set_message_handler(hear, NULL);
        c = capture_stderr();
        shpool_show_now(&pool, read);
        end_capture(&c, text);
        assert_string_equal(text, "");
        assert_int_equal(heard.level, rows[i].level);
        assert_int_equal(strncmp(heard.text, "made: 3 mallocs, ", 17), 0);
        dlclose(loaded);
    }
}

UNIT_GROUP(NULL, NULL)
