/* SPDX-License-Identifier: BSD-3-Clause */
/* bins:nvtx=1: a tool that is told of memory knows each live allocation, and nothing else. */
#include "scene.h"

#include "device/base/nvtx.h"

#define MOST 64u

/* The tool: what it was told, and what is wrong about it. */
static struct {
    shpool_nvtx_range heap[MOST];
    shpool_nvtx_range region[MOST];
    unsigned heaps;
    unsigned regions;
    unsigned long calls;
    unsigned long waits; /* of the host for the device, when a region ended last */
} tool;

static int meets(const shpool_nvtx_range *a, const shpool_nvtx_range *b)
{
    return ((const char *)a->ptr < (const char *)b->ptr + b->bytes) &&
           ((const char *)b->ptr < (const char *)a->ptr + a->bytes);
}

static void *tool_heap(void *domain, const shpool_nvtx_heap *heap)
{
    const shpool_nvtx_range *range = heap->range;

    tool.calls++;
    assert_null(domain);
    assert_int_equal(sizeof(*heap), heap->bytes);
    assert_int_equal(sizeof(*range), heap->range_bytes);
    for (unsigned i = 0; i < tool.heaps; i++) { /* it ends when the driver frees it */
        if (meets(&tool.heap[i], range)) {
            tool.heap[i] = tool.heap[--tool.heaps];
        }
    }
    assert_true(tool.heaps < MOST);
    tool.heap[tool.heaps++] = *range;
    return (void *)(uintptr_t)range->ptr;
}

static void tool_regions(void *domain, const shpool_nvtx_regions *regions)
{
    const shpool_nvtx_range *range = regions->range;
    unsigned at = 0;

    tool.calls++;
    assert_null(domain);
    assert_int_equal(1, regions->count);
    while ((at < tool.heaps) && (tool.heap[at].ptr != regions->heap)) {
        at++;
    }
    assert_true(at < tool.heaps);
    assert_true(((const char *)range->ptr >= (const char *)tool.heap[at].ptr) &&
                ((const char *)range->ptr + range->bytes <=
                 (const char *)tool.heap[at].ptr + tool.heap[at].bytes));
    for (unsigned i = 0; i < tool.regions; i++) {
        assert_false(meets(&tool.region[i], range));
    }
    assert_true(tool.regions < MOST);
    tool.region[tool.regions++] = *range;
}

static void tool_ends(void *domain, const shpool_nvtx_ends *ends)
{
    const void *ptr = *(const void *const *)ends->ptr;
    unsigned at = 0;

    tool.calls++;
    assert_null(domain);
    assert_true(fake_calls(FAKE_CALL_memory_free) > tool.waits); /* queued kernels may use it */
    tool.waits = fake_calls(FAKE_CALL_memory_free);
    while ((at < tool.regions) && (tool.region[at].ptr != ptr)) {
        at++;
    }
    assert_true(at < tool.regions);
    tool.region[at] = tool.region[--tool.regions];
}

static int tool_init(shpool_nvtx_module *module)
{
    assert_int_equal(sizeof(*module), module->bytes);
    module->segment[0].slot[SHPOOL_NVTX_HEAP] = (intptr_t)tool_heap;
    module->segment[0].slot[SHPOOL_NVTX_REGIONS] = (intptr_t)tool_regions;
    module->segment[0].slot[SHPOOL_NVTX_ENDS] = (intptr_t)tool_ends;
    return 1;
}

/* A tool for something else: nsys does not take marks of memory. */
static int other_init(shpool_nvtx_module *module)
{
    module->segment[0].slot[SHPOOL_NVTX_HEAP] = (intptr_t)tool_heap;
    return 1;
}

static void start(const char *spec, shpool_nvtx_init_fn *init)
{
    memset(&tool, 0, sizeof(tool));
    shpool_nvtx_replace(init);
    begin(spec);
}

/* The region of exactly these bytes, and a gap to the next one. */
static void check_region(const char *ptr, size_t bytes)
{
    const shpool_nvtx_range behind = { SHPOOL_DEVICE_ALIGNMENT, ptr + bytes };
    unsigned found = 0;

    for (unsigned i = 0; i < tool.regions; i++) {
        found += (tool.region[i].ptr == ptr) && (tool.region[i].bytes == bytes);
        assert_false(meets(&tool.region[i], &behind));
    }
    assert_int_equal(1, found);
}

static const size_t sizes[] = { 1, 256, 1000, 4096, 65536, 100000, MIB - 1, MIB, 20 * MIB };
#define SIZES SHPOOL_ARRAY_COUNT(sizes)

UNIT_TEST(test_each_live_allocation_is_a_region)
{
    shpool_stream stream[2];
    char *ptr[SIZES];

    start("bins:nvtx=1", tool_init);
    stream[0] = stream_of('1');
    stream[1] = fake_stream(0, CU_STREAM_DEFAULT);
    for (unsigned round = 0; round < 6; round++) {
        for (size_t i = 0; i < SIZES; i++) {
            ptr[i] = get(allocator, sizes[i], stream[i % 2]);
            fake_work(stream[i % 2], ptr[i], sizes[i]);
        }
        assert_int_equal(SIZES, tool.regions);
        for (size_t i = 0; i < SIZES; i++) {
            check_region(ptr[i], sizes[i]);
            if (round % 2 != 0) {
                assert_ok(shpool_device_record_stream(allocator, ptr[i], stream[(i + 1) % 2]));
                fake_work(stream[i % 2], ptr[i], sizes[i]);
            }
        }
        for (size_t i = round % 3; i < SIZES + round % 3; i++) {
            put(allocator, ptr[i % SIZES], stream[i % 2]);
        }
        assert_int_equal(0, tool.regions);
        assert_int_equal(SHPOOL_ERR_DOUBLE_FREE, shpool_device_free(allocator, ptr[0], NULL));
        assert_ok(shpool_device_trim(allocator, (round % 2) * 8 * MIB));
    }
    end();
}

/* A graph uses its memory at each launch, also after it was freed in the capture. */
UNIT_TEST(test_memory_of_graphs_is_not_marked)
{
    start("bins:nvtx=1", tool_init);
    play("pool:1 capture:6 a=3M@6 use:a@6 free:a@6 captured:6 unpool:1");
    assert_int_equal(0, tool.calls);
    play("release:1");
    end();
}

static char heard[300];

static void hear(shpool_level level, const char *text, void *user)
{
    (void)user;
    if (level == SHPOOL_LEVEL_WARN) {
        snprintf(heard, sizeof(heard), "%s", text);
    }
}

UNIT_TEST(test_nothing_is_marked_unless_it_can_be)
{
    static const struct {
        const char *spec;
        shpool_nvtx_init_fn *init;
        const char *text; /* of the error, or of the warning */
        int works;
    } cases[] = {
        { "bins", tool_init, "", 1 },
        { "bins:nvtx=0", tool_init, "", 1 },
        { "bins:nvtx=1", NULL, "no tool that takes marks of memory is there", 1 },
        { "bins:nvtx=1", other_init, "no tool that takes marks of memory is there", 1 },
        { "bins:nvtx=1,memory=vmm", tool_init, "memory=auto or memory=driver", 0 },
        { "bins:share=1,nvtx=1", tool_init, "share=0", 0 },
        { "bins:nvtx=2", tool_init, "nvtx", 0 },
    };

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(cases); i++) {
        shpool_status status;

        memset(&tool, 0, sizeof(tool));
        heard[0] = '\0';
        shpool_nvtx_replace(cases[i].init);
        fake_start(1, 64 * MIB);
        shpool_set_message_handler(hear, NULL);
        status = shpool_device_allocator_open(cases[i].spec, 0, &allocator);
        shpool_set_message_handler(NULL, NULL);
        assert_int_equal(cases[i].works ? SHPOOL_OK : SHPOOL_ERR_SPEC, status);
        assert_non_null(strstr(cases[i].works ? heard : shpool_last_error(), cases[i].text));
        if (cases[i].works) {
            put(allocator, get(allocator, 1000, NULL), NULL);
            assert_int_equal(0, tool.calls);
            assert_int_equal(SHPOOL_ERR_NOT_FOUND, shpool_device_set(allocator, "nvtx", "1"));
            end();
        } else {
            (void)fake_stop();
        }
    }
}

/* The variable may name anything. */
UNIT_TEST(test_a_tool_is_found_by_the_variable)
{
    static const char *const paths[] = { "", "/nowhere/libtool.so", "libc.so.6" };

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(paths); i++) {
        setenv("NVTX_INJECTION64_PATH", paths[i], 1);
        shpool_config_reload();
        shpool_nvtx_replace(NULL);
        assert_int_equal(0, shpool_nvtx_attach());
    }
    unsetenv("NVTX_INJECTION64_PATH");
    shpool_config_reload();
}
