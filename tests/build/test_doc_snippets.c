/* SPDX-License-Identifier: BSD-3-Clause */
/* The examples of documents and manual pages that need no nvcc: tests/build/snippets.sh finds their
 * lines here.  Those that work without a GPU are run. */
#include "tests/unit.h"

#include <shpool/coalesce.h>
#include <shpool/device.h>
#include <shpool/executor.h>
#include <shpool/heap.h>

/* ---- doc/BUFFERS.md ---- */

static void buffers(void)
{
    shpool_context *context;
    shpool_buffer *b;
    float min = 0, max = 10;

    shpool_context_create(NULL, &context);                      // device 0, default stream
    shpool_buffer_create(context, SHPOOL_TYPE_F32, 50, &b);
    shpool_buffer_fill_random(b, &min, &max, NULL);
    shpool_buffer_print(stdout, b, SIZE_MAX, "%6.2f", 10);      // waits for the stream
    shpool_buffer_unref(b);                                     // freed in stream order
    shpool_context_unref(context);
}

UNIT_TEST(test_buffers_without_a_device_are_refused)
{
    int devices;

    if (shpool_device_count(&devices) == SHPOOL_OK) {
        skip();
    }
    buffers(); /* every call has NULL to refuse, and nothing is printed */
    assert_string_not_equal(shpool_last_error(), "");
}

/* ---- doc/PYTHON.md ---- */

typedef struct argument { shpool_pool pool; unsigned *out; } argument;

extern void rows(void *arg);
void rows(void *arg)
{
    argument *a = (argument *)arg;
    shpool_heap heap = shpool_init(&a->pool, simt_from_shared(simt_dynamic_base()));
    unsigned *row = (unsigned *)shpool_malloc(heap, (1 + simt_thread_rank()) * sizeof *row);
    a->out[simt_thread_rank()] = (row != 0);
    shpool_free(heap, row);
    shpool_fini(heap);
}

UNIT_TEST(test_rows_of_python)
{
    const shpool_config want = { .block_threads = 32, .payload_bytes = 4096 };
    unsigned out[32] = { 0 };
    argument a = { .out = out };
    simt_launch launch = { .block = { 32 } };
    simt_result result;

    assert_int_equal(shpool_simt_open(NULL, &want, &a.pool), SHPOOL_OK);
    launch.dynamic_bytes = a.pool.shared_bytes;
    assert_int_equal(simt_run(&launch, rows, &a, &result), SHPOOL_OK);
    for (unsigned i = 0; i < 32; i++) {
        assert_int_equal(out[i], 1);
    }
    shpool_simt_close(&a.pool);
}

/* ---- doc/DEVICE-MEMORY.md ---- */

static void exporter(int socket, int device, size_t bytes, shpool_stream stream)
{
    shpool_device_allocator *shared;
    shpool_device_handle handle;
    void *ptr;

    shpool_device_allocator_open("bins:share=1", device, &shared);
    shpool_device_malloc(shared, bytes, stream, &ptr);
    shpool_device_export(shared, ptr, &handle);
    shpool_device_handle_send(socket, &handle);
    shpool_device_handle_close(&handle);
    assert_int_equal(-1, handle.fd);
}

static void *importer(int socket)
{
    shpool_device_handle handle;
    shpool_device_import *import;
    void *ptr;

    shpool_device_handle_receive(socket, &handle);
    shpool_device_import_open(&handle, -1, &import);
    shpool_device_handle_close(&handle);
    ptr = shpool_device_import_ptr(import);
    shpool_device_import_close(import);
    return ptr;
}

UNIT_TEST(test_sharing_without_a_device_is_refused)
{
    int devices;

    if (shpool_device_count(&devices) == SHPOOL_OK) {
        skip();
    }
    exporter(-1, 0, 1000, NULL);
    assert_null(importer(-1));
}

/* ---- doc/COALESCE.md, shpool_coalesce_lint(3), shpool/coalesce.h ---- */

static const char *loaded;

static int cuModuleLoadData(int *module, const char *ptx)
{
    loaded = strstr(ptx, ".version");
    return *module = 0;
}

UNIT_TEST(test_what_cannot_be_rewritten_is_loaded_as_it_is)
{
    static const char ptx[] = ".version 6.0\n.target sm_60\n.address_size 64\n";
    int               module;

    {
        char *better;
        shpool_status status = shpool_coalesce_rewrite(ptx, 0, NULL, &better, NULL, NULL);
        cuModuleLoadData(&module, (status == SHPOOL_OK) ? better : ptx);
        shpool_coalesce_free(better);
    }
    assert_ptr_equal(loaded, ptx);
}

/* ---- doc/SPILL.md, shpool_mark(3) ---- */

typedef struct scratch {
    shpool_pool pool;
    size_t      n;
    uint32_t    left; /* bytes that the pool has when the function is done */
} scratch;

static void work(shpool_heap heap, float *tile)
{
    if (tile != NULL) {
        tile[0] = 1.0f;
        (void)shpool_malloc(heap, 16);
    }
}

static void scratch_kernel(void *arg)
{
    scratch    *s    = (scratch *)arg;
    size_t      n    = s->n;
    shpool_heap heap = shpool_init(&s->pool, simt_from_shared(simt_dynamic_base()));

    {
        uint32_t mark = shpool_mark(heap);
        float   *tile = (float *)shpool_malloc(heap, n * sizeof *tile);
        work(heap, tile);
        shpool_release(heap, mark);     /* tile, and all else since the mark */
    }
    s->left = (uint32_t)shpool_largest(heap);
    shpool_fini(heap);
}

UNIT_TEST(test_scratch_memory_comes_back)
{
    shpool_config want   = { .block_threads = 1, .payload_bytes = 4096 };
    scratch       s      = { .n = 100 };
    simt_launch   launch = { .block = { 1, 1, 1 } };

    if (shpool_simt_open("arena", &want, &s.pool) == SHPOOL_ERR_NOT_FOUND) {
        skip();
    }
    launch.dynamic_bytes = s.pool.shared_bytes;
    assert_int_equal(simt_run(&launch, scratch_kernel, &s, NULL), SHPOOL_OK);
    assert_int_equal(s.left, s.pool.largest);
    shpool_simt_close(&s.pool);
}

/* ---- doc/PLANNING.md ---- */

UNIT_TEST(test_a_plan_of_requests_is_planned_again)
{
    const char   *spec = "bitmap"; /* the default: the page's numbers fit in it, too */
    shpool_status status;

    {
        shpool_config  want   = { .block_threads = 128 };
        shpool_request rows[] = { { .count = 2, .bytes = 1024 }, { .count = 64, .bytes = 100 } };
        shpool_pool    plan;

        status = shpool_plan_requests(spec, &want, rows, 2, &plan);
        want.payload_bytes = plan.largest * plan.pools;     /* for shpool_open() */
        if (status == SHPOOL_ERR_NOT_FOUND) {
            skip();
        }
        assert_int_equal(status, SHPOOL_OK);
        assert_int_equal(shpool_plan(spec, &want, &plan), SHPOOL_OK);
        assert_in_range(plan.largest, 2 * 1024 + 64 * 100, 227 * 1024);
    }
}
