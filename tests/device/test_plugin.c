/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared objects with device allocators, compiled here and now: shpool_device_load(). */
#include "tests/faults.h"
#include "tests/lib/plugin_trial.h"

#include "scene.h"

/* A base that asks the driver's allocator of this library for each request, and a layer that adds
 * bytes; `first` stands in front, and may define ABI, COUNT, NAME or EXPORT. */
static void compile(const char *name, const char *first)
{
    char text[8192];

    snprintf(text, sizeof(text),
             "#include <stdlib.h>\n"
             "#include <shpool/device.h>\n"
             "%s"
             "#ifndef ABI\n#define ABI SHPOOL_DEVICE_ABI\n#endif\n"
             "#ifndef COUNT\n#define COUNT 2\n#endif\n"
             "#ifndef NAME\n#define NAME \"plain\"\n#endif\n"
             "#ifndef EXPORT\n#define EXPORT shpool_device_plugin\n#endif\n"
             "static shpool_status plain_create(const shpool_device_setup *setup, void **self_p)\n"
             "{\n"
             "    return shpool_device_allocator_open(\"simple\", setup->device,\n"
             "                                        (shpool_device_allocator **)self_p);\n"
             "}\n"
             "static void plain_destroy(void *self) { shpool_device_allocator_unref(self); }\n"
             "static shpool_status take(void *self, size_t bytes, shpool_stream s, void **ptr_p)\n"
             "{ return shpool_device_malloc(self, bytes, s, ptr_p); }\n"
             "static shpool_status give(void *self, void *ptr, shpool_stream s)\n"
             "{ return shpool_device_free(self, ptr, s); }\n"
             "static shpool_status add_create(const shpool_device_setup *setup, void **self_p)\n"
             "{ *self_p = setup->upstream; return SHPOOL_OK; }\n"
             "static void add_destroy(void *self) { (void)self; }\n"
             "static shpool_status add(void *self, size_t bytes, shpool_stream s, void **ptr_p)\n"
             "{ return shpool_device_malloc(self, bytes + 4096, s, ptr_p); }\n"
             "static const shpool_device_provider plain = {\n"
             "    .abi = SHPOOL_DEVICE_ABI, .bytes = sizeof(plain), .name = NAME,\n"
             "    .summary = \"a base of a plugin\", .create = plain_create,\n"
             "    .destroy = plain_destroy, .malloc = take, .free = give };\n"
             "static const shpool_device_provider more = {\n"
             "    .abi = SHPOOL_DEVICE_ABI, .bytes = sizeof(more), .name = \"more\",\n"
             "    .flags = SHPOOL_DEVICE_LAYER | SHPOOL_DEVICE_THREAD_SAFE,\n"
             "    .summary = \"a layer of a plugin\", .create = add_create,\n"
             "    .destroy = add_destroy, .malloc = add, .free = give };\n"
             "static const shpool_device_provider *const list[] = { &more, &plain };\n"
             "SHPOOL_API const shpool_device_plugin_info EXPORT;\n"
             "const shpool_device_plugin_info EXPORT = { ABI, COUNT, list };\n", first);
    trial_compile_text(name, text);
}

static shpool_status load(const char *name)
{
    char path[2 * TRIAL_PATH_BYTES];

    trial_path(path, name);
    return shpool_device_load(path);
}

static size_t provider_count(void)
{
    size_t count = 0;

    while (shpool_device_provider_get(count) != NULL) {
        count++;
    }
    return count;
}

static int set_up(void **state);
static int tear_down(void **state);

UNIT_TEST_WITH(test_a_plugin_s_base_and_layer_serve, set_up, tear_down)
{
    const size_t before = provider_count();
    void *ptr;

    compile("good.so", "");
    assert_ok(load("good.so"));
    assert_int_equal(before + 2, provider_count());
    begin("more|plain");
    ptr = get(allocator, 1000, NULL);
    assert_int_equal(5096, fake_holds().bytes);
    fake_work(NULL, ptr, 1000);
    put(allocator, ptr, NULL);
    assert_int_equal(0, fake_holds().bytes);
    assert_int_equal(SHPOOL_ERR_DOUBLE_FREE, shpool_device_free(allocator, ptr, NULL));
    (void)get(allocator, 1000, NULL); /* goes back with the allocator */
    end();
}

UNIT_TEST_WITH(test_a_plugin_s_layer_stands_on_what_is_built_in, set_up, tear_down)
{
    compile("good.so", "");
    assert_ok(load("good.so"));
    begin("stats|more|bins");
    (void)get(allocator, 1000, NULL);
    assert_int_equal(1000, stats_of(allocator).requested_bytes);
    assert_int_equal(5120, live_bytes(allocator));
    end();
}

static void refused(const char *first, shpool_status expected, const char *detail)
{
    static unsigned number;
    const size_t before = provider_count();
    char name[20];

    snprintf(name, sizeof(name), "bad%u.so", ++number); /* one that was loaded stays loaded */
    compile(name, first);
    assert_int_equal(expected, load(name));
    assert_detail(detail);
    assert_int_equal(before, provider_count()); /* all of a plugin's, or none */
}

UNIT_TEST_WITH(test_plugins_that_do_not_fit_are_refused_as_a_whole, set_up, tear_down)
{
    refused("#define ABI (SHPOOL_DEVICE_ABI + 1)\n", SHPOOL_ERR_ABI, "was built with ABI");
    refused("#define COUNT 0\n", SHPOOL_ERR_ABI, "0 providers");
    refused("#define EXPORT another_name\n", SHPOOL_ERR_NOT_FOUND, "shpool_device_plugin");
    refused("#define NAME \"bins\"\n", SHPOOL_ERR_UNSUPPORTED, "\"bins\" is taken");
    refused("#define NAME \"more\"\n", SHPOOL_ERR_UNSUPPORTED, "\"more\" is taken");
    refused("#define NAME \"No Name\"\n", SHPOOL_ERR_INVALID, "No Name");
}

UNIT_TEST_WITH(test_file_that_is_cut_off_is_refused, set_up, tear_down)
{
    char path[2 * TRIAL_PATH_BYTES];
    struct stat whole;

    compile("cut.so", "");
    trial_path(path, "cut.so");
    assert_int_equal(stat(path, &whole), 0);
    assert_int_equal(truncate(path, whole.st_size / 2), 0);
    assert_int_equal(SHPOOL_ERR_NOT_FOUND, load("cut.so"));
    assert_detail("cut off");
}

/* The FIFO has no writer: dlopen() would wait, and alarm() would end the test. */
UNIT_TEST_WITH(test_fifo_is_refused, set_up, tear_down)
{
    char path[2 * TRIAL_PATH_BYTES];

    trial_path(path, "fifo.so");
    assert_int_equal(mkfifo(path, 0700), 0);
    alarm(300);
    assert_int_equal(SHPOOL_ERR_NOT_FOUND, load("fifo.so"));
    assert_detail("not a regular file");
    assert_int_equal(SHPOOL_ERR_NOT_FOUND, shpool_device_load(trial_folder));
    assert_detail("not a regular file");
    alarm(0);
}

/* ---- memory that runs out ---- */

static void forget_all(void)
{
    (void)fake_stop();
    fake_start(2, 1024 * MIB);
}

static void load_with_little(void)
{
    const size_t before = provider_count();
    const shpool_device_provider *found;

    if (fault_fine(load("good.so"))) {
        assert_int_equal(before + 2, provider_count());
    } else { /* all of it or nothing, and the next time it works */
        assert_int_equal(before, provider_count());
        fault.armed = 0;
        assert_ok(load("good.so"));
    }
    assert_int_equal(SHPOOL_ERR_NOT_FOUND, shpool_device_provider_find("nobody", &found));
    assert_null(found);
    assert_int_equal(SHPOOL_ERR_INVALID, shpool_device_register(NULL));
}

UNIT_TEST_WITH(test_memory_that_runs_out, set_up, tear_down)
{
    static const fault_scene loads = { "load", "", 0, 0, forget_all, load_with_little, forget_all };

    compile("good.so", "");
    fault_sweep(&loads);
}

static int set_up(void **state)
{
    int result = trial_set_up(state);

    fake_start(2, 1024 * MIB); /* forgets its registrations when it stops */
    return result;
}

static int tear_down(void **state)
{
    (void)fake_stop();
    return trial_tear_down(state);
}
