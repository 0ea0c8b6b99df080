/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each call of the driver and each allocation of host memory fails in turn, and each pair of them
 * that are not far apart: a call then succeeds or reports it and returns zeroed outputs, no
 * operation is half done, nothing is held that is not reported as lost, and everything else
 * continues.
 */
#include "share_trial.h"

#include <shpool/device/hooks.h>

#include "tests/faults.h"

#define COUNT      1000u
#define SLOTS      10u
#define STREAMS    4u
#define TRIES      3u /* two failures, and no more */

/* ---- what the library reports as lost, and what it holds ---- */

static struct lost {
    unsigned allocations, imports, events, pools, ranges, parts;
    uint64_t bytes;
} lost;

static void receive(shpool_level level, const char *text, void *user)
{
    static const struct { const char *what; unsigned *count_p; } kinds[] = {
        { "allocation", &lost.allocations },  { "allocations", &lost.allocations },
        { "events", &lost.events },           { "imported allocations", &lost.imports },
        { "parts of a context", &lost.parts },
        { "host pages", &lost.parts },        { "pool", &lost.pools },
        { "ranges of addresses", &lost.ranges },
    };
    unsigned long long bytes;
    unsigned count;
    char what[32];

    if (sscanf(text, "lost until the process ends, on device 0: %u %31[a-z ], %llu bytes", &count,
               what, &bytes) != 3) {
        return;
    }
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(kinds); i++) {
        if (strcmp(what, kinds[i].what) == 0) {
            *kinds[i].count_p += count;
            /* addresses are not memory; an import's is another process's */
            lost.bytes += (strncmp(what, "allocation", 10) == 0) ? bytes : 0;
            return;
        }
    }
    fail_msg("%s", text);
}

static void start(void)
{
    memset(&lost, 0, sizeof(lost));
    fake_start(1, 48 * MIB);
    fake_set_current(0);
    fake.misalign = 1;
}

/* An import that could not be undone keeps addresses, too.  A copy between contexts does not say
 * that the driver refused to destroy its event. */
static void stop(void)
{
    const fake_held held = fake_stop();
    const unsigned parts = held.events + held.streams + held.host_allocations;
    const unsigned said = lost.events + lost.parts;
    const unsigned unsaid = (fault.spec[0] == '\0') ? fault.struck : 0;

    if ((held.bytes != lost.bytes) || (held.allocations != lost.allocations) ||
        (parts < said) || (parts > said + unsaid) ||
        (held.pools != lost.pools) || (held.imports > lost.imports) ||
        (held.ranges < lost.ranges) || (held.ranges > lost.ranges + lost.imports) ||
        (fake_first_violation()[0] != '\0')) {
        fail_msg("%s, requests %u and +%u: %llu bytes, %u allocations, %u events, %u pools, %u "
                 "ranges, %u imports are held, %llu, %u, %u, %u, %u, %u were said; %s",
                 fault.spec, fault.at, fault.then,
                 (unsigned long long)held.bytes, held.allocations, held.events, held.pools,
                 held.ranges, held.imports, (unsigned long long)lost.bytes, lost.allocations,
                 lost.events, lost.pools, lost.ranges, lost.imports, fake_first_violation());
    }
}

/* A call that a program repeats until it succeeds. */
#define UNTIL_FINE(_call)                                                                          \
    for (unsigned tries = 0; !fault_fine(_call); tries++) {                                        \
        assert_true(tries < TRIES);                                                                \
    }

/* ---- a workload ---- */

typedef struct program {
    shpool_device_allocator *allocator;
    uint64_t random;
    int graphs; /* it keeps memory for them */
    shpool_stream stream[STREAMS];
    struct { void *ptr; size_t bytes; shpool_stream stream; int named; } slot[SLOTS];
} program;

static uint32_t draw(program *p, uint32_t below)
{
    p->random = p->random * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)((p->random >> 33) % below);
}

/* The calls of a program before it uses memory on another stream; none of them fails. */
static void order(shpool_stream from, shpool_stream to)
{
    const int armed = fault.armed;
    const shpool_driver *cu;
    shpool_event event;

    fault.armed = 0;
    assert_ok(shpool_driver_get(&cu));
    assert_int_equal(CU_SUCCESS, cu->event_create(&event, 0));
    assert_int_equal(CU_SUCCESS, cu->event_record(event, from));
    assert_int_equal(CU_SUCCESS, cu->stream_wait(to, event, 0));
    assert_int_equal(CU_SUCCESS, cu->event_destroy(event));
    fault.armed = armed;
}

static void do_malloc(program *p, unsigned i)
{
    static const size_t sizes[] = { 100, 3000, 70000, MIB, 2 * MIB };
    shpool_stream stream = p->stream[draw(p, STREAMS)];
    size_t bytes = sizes[draw(p, SHPOOL_ARRAY_COUNT(sizes))];
    void *ptr = &ptr;

    /* a layer may refuse it, too */
    if (shpool_device_malloc(p->allocator, bytes, stream, &ptr) != SHPOOL_OK) {
        assert_null(ptr);
        return;
    }
    p->slot[i].ptr = ptr;
    p->slot[i].bytes = bytes;
    p->slot[i].stream = stream;
    p->slot[i].named = 0;
    fake_work(stream, ptr, bytes);
}

/* Memory whose free is refused still belongs to the program, which retries later. */
static void do_free(program *p, unsigned i)
{
    if (fault_fine(shpool_device_free(p->allocator, p->slot[i].ptr, p->slot[i].stream))) {
        p->slot[i].ptr = NULL;
    }
}

static void do_record(program *p, unsigned i)
{
    shpool_stream user = p->stream[draw(p, STREAMS)];

    if ((p->slot[i].ptr != NULL) && (p->slot[i].stream != user) && !p->slot[i].named) {
        order(p->slot[i].stream, user);
        if (shpool_device_record_stream(p->allocator, p->slot[i].ptr, user) == SHPOOL_OK) {
            fake_work(user, p->slot[i].ptr, p->slot[i].bytes);
            p->slot[i].named = 1; /* work of two users would need an order of its own */
        }
    }
}

/* A graph that uses memory of its own, and is launched on another stream. */
static void do_capture(program *p)
{
    shpool_stream stream = p->stream[2];
    void *ptr = NULL;
    unsigned graph;

    if (!p->graphs || (shpool_device_capture_begin(p->allocator, 1, 2) != SHPOOL_OK)) {
        return;
    }
    fake_capture_begin(stream);
    if (shpool_device_malloc(p->allocator, 5000, stream, &ptr) == SHPOOL_OK) {
        fake_work(stream, ptr, 5000);
        UNTIL_FINE(shpool_device_free(p->allocator, ptr, stream))
    }
    graph = fake_capture_end(stream);
    UNTIL_FINE(shpool_device_capture_end(p->allocator, 1, 2))
    order(stream, p->stream[3]);
    fake_launch(graph, p->stream[3]);
    order(p->stream[3], stream);
    UNTIL_FINE(shpool_device_capture_release(p->allocator, 1, 2))
}

static void do_rare(program *p)
{
    shpool_device_stats stats;

    switch (draw(p, 6)) {
    case 0:
        (void)shpool_device_trim(p->allocator, draw(p, 2) * 4 * MIB);
        break;
    case 1:
        fake_finish_all();
        (void)shpool_device_stream_retire(p->allocator, p->stream[3]);
        break;
    case 2:
        (void)shpool_device_stream_stable(p->allocator, p->stream[2]);
        break;
    case 3:
        do_capture(p);
        break;
    default:
        assert_ok(shpool_device_get_stats(p->allocator, &stats));
        fake_finish(p->stream[draw(p, STREAMS)]);
        break;
    }
}

static void do_one(program *p)
{
    unsigned i = draw(p, SLOTS);
    uint32_t kind = draw(p, 12);

    if (kind == 0) {
        do_rare(p);
    } else if (kind == 1) {
        do_record(p, i);
    } else if (p->slot[i].ptr == NULL) {
        do_malloc(p, i);
    } else {
        do_free(p, i);
    }
}

/* Everything that worked before the failures works after them. */
static void go_on(program *p)
{
    fault.armed = 0;
    fake_finish_all();
    for (unsigned i = 0; i < STREAMS; i++) {
        put(p->allocator, get(p->allocator, 3 * MIB, p->stream[i]), p->stream[i]);
        put(p->allocator, get(p->allocator, 300, p->stream[i]), p->stream[i]);
    }
    assert_ok(shpool_device_check(p->allocator));
    assert_int_equal(0, live_bytes(p->allocator));
    fault.armed = 1; /* the end has its share of the failures */
}

/* All requests of one program fail alone.  For pairs each run has its own seed, so that they
 * coincide in many places. */
static void work(void)
{
    /* poison writes whole blocks */
    const unsigned operations = (strstr(fault.spec, "guard|") != NULL) ? 15u : 60u;
    program p = { .random = (fault.then != 0) ? fault.at * 5 + fault.then : 1,
                  .graphs = strstr(fault.spec, "bins") != NULL };

    p.stream[0] = SHPOOL_STREAM_LEGACY;
    p.stream[1] = SHPOOL_STREAM_PER_THREAD;
    p.stream[2] = fake_stream(0, CU_STREAM_NON_BLOCKING);
    p.stream[3] = fake_stream(0, CU_STREAM_DEFAULT);
    if (!fault_fine(shpool_device_allocator_open(fault.spec, 0, &p.allocator))) {
        assert_null(p.allocator);
        assert_true(shpool_last_error()[0] != '\0');
        return;
    }
    for (unsigned i = 0; i < operations; i++) {
        do_one(&p);
    }
    for (unsigned i = 0; i < SLOTS; i++) {
        if (p.slot[i].ptr != NULL) {
            UNTIL_FINE(shpool_device_free(p.allocator, p.slot[i].ptr, p.slot[i].stream))
        }
    }
    assert_ok(shpool_device_check(p.allocator));
    assert_int_equal(0, live_bytes(p.allocator));
    go_on(&p);
    shpool_device_allocator_unref(p.allocator);
}

/* In a pool, blocks that no stream may have are marked with the pool's own record.  A stream whose
 * record finds no memory does not stand for it. */
static void capture_without_record(void)
{
    void *next;

    fault.armed = 0;
    open_scene(fault.spec);
    play("pool:1 capture:6 join:7@6 a=5000@6 free:a@1 done"); /* 1 is outside */
    fault.armed = 1;
    if (!fault_fine(shpool_device_malloc(allocator, 5000, stream_of('7'), &next))) {
        fault.armed = 0;
        next = get(allocator, 5000, stream_of('7'));
    }
    fault.armed = 0;
    assert_ptr_not_equal(block("a"), next);
    play("captured:6 unpool:1");
    shpool_device_allocator_unref(allocator);
}

/* ---- granules that move, and that processes share ---- */

static void import_and_close(const shpool_device_handle *handle)
{
    shpool_device_import *import;

    if (!fault_fine(shpool_device_import_open(handle, -1, &import))) {
        assert_null(import);
        return;
    }
    fake_work(NULL, shpool_device_import_ptr(import), 1000);
    UNTIL_FINE(shpool_device_import_close(import))
}

static void export_one(const void *ptr)
{
    shpool_device_handle handle;

    if (fault_fine(shpool_device_export(allocator, ptr, &handle))) {
        import_and_close(&handle);
        shpool_device_handle_close(&handle);
    }
}

/* Small and large memory, each with holes, so that granules are created, moved, unmapped for
 * others, and returned.  Large blocks are windows; if processes share memory, every second one is
 * exported.  The program does without blocks that are refused, and afterwards all of the device can
 * be had. */
static void move(void)
{
    static const size_t bytes[] = { 11 * MIB, 15 * MIB, 70000, 18 * MIB };
    const shpool_stream stream = fake_stream(0, CU_STREAM_NON_BLOCKING);
    const int shared = strcmp(fault.spec, SHARED) == 0;
    void *ptr[12] = { NULL };

    fake_limit(0, 64 * MIB);
    fake_lag((strstr(fault.spec, "wait=0") != NULL) ? 0 : 2); /* else the host waits */
    if (!fault_fine(shpool_device_allocator_open(fault.spec, 0, &allocator))) {
        return;
    }
    (void)fault_fine(shpool_device_stream_stable(allocator, stream));
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < SHPOOL_ARRAY_COUNT(ptr); i++) {
            if (i == 8) { /* the large ones come into the holes */
                for (unsigned k = 0; k < 8; k += 2) {
                    UNTIL_FINE(shpool_device_free(allocator, ptr[k], stream))
                }
                fake_finish_all();
            }
            (void)shpool_device_malloc(allocator, (i < 8) ? (3 + i) * MIB : bytes[i - 8], stream,
                                       &ptr[i]);
            if (ptr[i] != NULL) {
                fake_work(stream, ptr[i], (i < 8) ? 3 * MIB : 70000);
                if (shared && (i % 2 == 0)) {
                    export_one(ptr[i]);
                }
                if (shared && (i == 4)) {
                    (void)fault_fine(shpool_device_record_stream(allocator, ptr[i],
                                                                 SHPOOL_STREAM_LEGACY));
                }
            }
            assert_ok(shpool_device_check(allocator));
        }
        (void)((round == 1) ? shpool_device_trim(allocator, 4 * MIB) : SHPOOL_OK);
        for (unsigned i = 1; i < SHPOOL_ARRAY_COUNT(ptr); i += (i < 7) ? 2 : 1) {
            UNTIL_FINE(shpool_device_free(allocator, ptr[i], stream))
        }
    }
    fault.armed = 0;
    assert_ok(shpool_device_trim(allocator, 0));
    assert_int_equal(0, live_bytes(allocator));
    if (lost.imports == 0) { /* memory that the driver refuses to unmap is kept, and goes later */
        assert_int_equal(0, stats_of(allocator).driver_bytes);
        assert_int_equal(lost.allocations, fake_holds().allocations);
        assert_true((lost.allocations == 0) || (fault.then != 0));
    }
    put(allocator, get(allocator, (lost.allocations + lost.imports == 0) ? 64 * MIB : MIB, NULL),
        NULL);
    fault.armed = 1; /* the end has its share of the failures */
    shpool_device_allocator_unref(allocator);
}

/* ---- questions, and the device's shared allocator ---- */

static int see_block(const shpool_device_block *seen, void *user)
{
    (void)seen;
    ++*(unsigned *)user;
    return 0;
}

static int out_of_memory(shpool_device_allocator *of, size_t bytes, unsigned attempt,
                         void *user)
{
    (void)of;
    (void)bytes;
    (void)attempt;
    (void)user;
    return 0;
}

static void use_shared(void)
{
    const shpool_stream stream = fake_stream(0, CU_STREAM_NON_BLOCKING);
    shpool_device_stats stats;
    unsigned blocks = 0;
    char text[2048];
    size_t bytes;
    void *base;
    void *ptr;

    (void)fault_fine(shpool_device_on_oom(allocator, out_of_memory, NULL));
    (void)fault_fine(shpool_device_set(allocator, "soft", "64M"));
    if (!fault_fine(shpool_device_malloc(allocator, 5000, stream, &ptr))) {
        assert_null(ptr);
    } else {
        if (!fault_fine(shpool_device_base(allocator, (char *)ptr + 100, &base, &bytes))) {
            assert_null(base);
            assert_int_equal(bytes, 0);
        }
        if (fault_fine(shpool_device_walk(allocator, see_block, &blocks))) {
            assert_true(blocks > 0);
        }
        if (!fault_fine(shpool_device_report(allocator, text, sizeof(text), &bytes))) {
            assert_true(bytes < sizeof(text));
        }
        UNTIL_FINE(shpool_device_free(allocator, ptr, stream))
    }
    (void)fault_fine(shpool_device_reset_peak(allocator));
    (void)fault_fine(shpool_device_get_stats(allocator, &stats));
    (void)fault_fine(shpool_device_on_oom(allocator, NULL, NULL));
    (void)fault_fine(shpool_device_stream_retire(allocator, stream));
    assert_ok(shpool_device_check(allocator));
}

static void ask(void)
{
    shpool_device_properties properties;
    shpool_driver_device device;
    uint64_t free_bytes = 1, total_bytes = 1;
    size_t devices = 7;
    uint32_t version = 7;
    int count = 7;

    if (!fault_fine(shpool_device_count(&count))) {
        assert_int_equal(count, 0);
    }
    if (!fault_fine(shpool_driver_devices(&device, 1, &devices, &version))) {
        assert_int_equal(devices + version, 0);
        assert_detail("of the CUDA driver failed with result ");
    }
    if (!fault_fine(shpool_device_get_properties(0, &properties))) {
        assert_true(is_zeroed(&properties, sizeof(properties)));
    }
    if (!fault_fine(shpool_device_memory(0, &free_bytes, &total_bytes))) {
        assert_int_equal(free_bytes | total_bytes, 0);
    }
    if (fault_fine(shpool_device_allocator_default(0, &allocator))) {
        use_shared();
    } else {
        assert_null(allocator);
    }
}

/* ---- contexts and buffers ---- */

static unsigned released;

static void release(void *ptr, void *user)
{
    (void)ptr;
    (void)user;
    released++;
}

static int format(char *text, size_t bytes, size_t index, const void *element, void *user)
{
    (void)index;
    (void)user;
    return snprintf(text, bytes, "%d", *(const int32_t *)element);
}

static void generate(size_t index, void *element, void *user)
{
    (void)user;
    *(int32_t *)element = (int32_t)index;
}

/* What is read is what was written, or the call says that it is not. */
static void read_back(const shpool_buffer *buffer, int32_t first)
{
    static int32_t back[COUNT];

    if (fault_fine(shpool_buffer_to_host(buffer, 0, COUNT, back))) {
        for (uint32_t i = 0; i < COUNT; i++) {
            assert_int_equal(back[i], first + (int32_t)i);
        }
    }
}

static void use_view(shpool_context *context, shpool_buffer *buffer)
{
    shpool_buffer *view;

    released = 0;
    if (fault_fine(shpool_buffer_wrap(context, shpool_buffer_ptr(buffer), SHPOOL_TYPE_I32, COUNT,
                                      release, NULL, &view))) {
        shpool_buffer_unref(view);
        assert_int_equal(released, 1);
    } else { /* the memory stays the caller's */
        assert_null(view);
        assert_int_equal(released, 0);
    }
}

/* `second`: on another stream. */
static void use_buffer(shpool_context *context, shpool_context *second, shpool_buffer *buffer,
                       FILE *file)
{
    static int32_t host[COUNT], back[COUNT];
    const int32_t low = 3, high = 1000, step = 1, zero = 0;
    shpool_buffer *other;
    shpool_random random;

    shpool_random_init(&random, 1);
    if (fault_fine(shpool_buffer_fill_ascending(buffer, &low, &step))) {
        read_back(buffer, low);
    }
    if (fault_fine(shpool_buffer_create(second, SHPOOL_TYPE_I32, COUNT, &other))) {
        if (fault_fine(shpool_buffer_fill_ascending(other, &low, &step)) &&
            fault_fine(shpool_buffer_copy(buffer, 0, other, 0, COUNT))) {
            read_back(buffer, low);
        }
        (void)fault_fine(shpool_buffer_record_stream(other, SHPOOL_STREAM_LEGACY));
    } else {
        assert_null(other);
    }
    shpool_buffer_unref(other);
    (void)fault_fine(shpool_buffer_fill(buffer, &zero));
    (void)fault_fine(shpool_buffer_fill_random(buffer, &low, &high, &random));
    (void)fault_fine(shpool_buffer_fill_sorted(buffer, &low, &high, &random));
    (void)fault_fine(shpool_buffer_print(file, buffer, 20, "%d", 10));
    (void)fault_fine(shpool_buffer_print_with(file, buffer, 20, format, NULL, 10));
    if (fault_fine(shpool_buffer_generate(buffer, generate, NULL))) {
        read_back(buffer, 0);
    }
    use_view(context, buffer);
    for (uint32_t i = 0; i < COUNT; i++) {
        host[i] = 7 + (int32_t)i;
        back[i] = -1;
    }
    if (fault_fine(shpool_buffer_from_host(buffer, 0, COUNT, host))) {
        read_back(buffer, 7);
    }
    if (fault_fine(shpool_buffer_from_host_async(buffer, 0, COUNT, host)) &&
        fault_fine(shpool_buffer_to_host_async(buffer, 0, COUNT, back)) &&
        fault_fine(shpool_context_sync(context))) {
        assert_memory_equal(host, back, sizeof(host));
        read_back(buffer, 7);
    }
}

static void use_context(shpool_context *context, shpool_context *second, FILE *file)
{
    static const int32_t zeros[COUNT];
    shpool_buffer *buffer;
    shpool_stream aux;
    char text[512];
    double value = 1;

    (void)fault_fine(shpool_context_describe(context, text, sizeof(text), NULL));
    (void)fault_fine(shpool_context_activate(context));
    (void)fault_fine(shpool_context_aux_stream(context, &aux));
    if (fault_fine(shpool_device_allocator_open("buckets", 0, &allocator))) {
        (void)fault_fine(shpool_context_set_allocator(context, allocator));
        shpool_device_allocator_unref(allocator);
    }
    if (fault_fine(shpool_buffer_create_from(context, SHPOOL_TYPE_I32, COUNT, zeros, &buffer))) {
        use_buffer(context, second, buffer, file);
    } else {
        assert_null(buffer);
    }
    shpool_buffer_unref(buffer);
    if (fault_fine(shpool_timer_start(context))) {
        (void)fault_fine(shpool_timer_split(context, &value));
        if (!fault_fine(shpool_timer_throughput(context, 1000, 1, &value))) {
            assert_true(value <= 0);
        }
    }
}

static void use_contexts(void)
{
    char program_name[] = "program", device[] = "0";
    char *const argv[] = { program_name, device, NULL };
    FILE *file = fopen("/dev/null", "w");
    shpool_context *context, *second;

    assert_non_null(file);
    (void)fault_fine(shpool_context_create(NULL, &second));
    if (fault_fine(shpool_context_create_args(2, argv, SHPOOL_CONTEXT_NEW_STREAM, &context))) {
        use_context(context, (second != NULL) ? second : context, file);
    } else {
        assert_null(context);
    }
    shpool_context_unref(context);
    shpool_context_unref(second);
    if (!fault_fine(shpool_context_standard(0, &context))) {
        assert_null(context);
    }
    (void)fclose(file);
}

/* ---- what PyTorch and CuPy call: failures are NULL ---- */

static void *got(void *ptr)
{
    (void)fault_fine((ptr != NULL) ? SHPOOL_OK : SHPOOL_ERR_NO_MEMORY);
    return ptr;
}

static void serve(void)
{
    const shpool_torch_pool_id id = { 1, 2 };
    const shpool_stream stream = fake_stream(0, CU_STREAM_NON_BLOCKING);
    void *ptr;
    size_t bytes;

    shpool_torch_init(1);
    for (unsigned i = 0; i < 2; i++) {
        ptr = got(shpool_torch_malloc(5u << 20, 0, stream));
        if (ptr != NULL) {
            (void)got(shpool_torch_base_alloc((char *)ptr + 10, &bytes));
            shpool_torch_record_stream(ptr, SHPOOL_STREAM_LEGACY);
            shpool_torch_free(ptr, 5u << 20, 0, stream);
        }
        shpool_torch_memory_fraction(0.5, 0);
        shpool_torch_begin_pool(0, id, NULL);
        shpool_torch_end_pool(0, id);
        shpool_torch_release_pool(0, id);
        ptr = got(shpool_cupy_malloc(NULL, 3000, 0));
        shpool_cupy_free(NULL, ptr, 0);
        shpool_torch_reset();
    }
    shpool_torch_memory_fraction(1, 0);
}

/* ---- the sweep ---- */

#define SCENE(_act, _spec, _least, _pairs)                                                         \
    { #_act, _spec, _least, _pairs, start, _act, stop }

static const fault_scene scenes[] = {
    SCENE(work, "bins:memory=driver", 50, 7),
    SCENE(work, "bins:memory=driver,soft=16M,capacity=8M", 50, 7),
    SCENE(work, "bins:memory=vmm,wait=0", 50, 7),
    SCENE(work, "bins:memory=vmm,soft=16M,capacity=8M,wait=0", 50, 7),
    SCENE(work, "buckets", 50, 7),
    SCENE(work, "buckets:mode=total,capacity=4M,max_object=1M", 50, 7),
    SCENE(work, "simple", 50, 7),
    SCENE(work, "async", 50, 7),
    SCENE(work, "stats|limit:bytes=1G|lock|fault:nth=9|bins", 50, 7),
    SCENE(work, "guard|simple", 50, 7),
    SCENE(work, "guard:poison=0|stats|buckets", 50, 7),
    SCENE(work, "limit:bytes=40M|async", 50, 7),
    SCENE(capture_without_record, "bins", 1, 1),
    SCENE(move, SHARED, 100, 7),
    SCENE(move, "bins:memory=vmm,wait=0", 100, 7),
    SCENE(move, "bins:memory=vmm,granules=4", 100, 7),
    SCENE(ask, "", 10, 5),
    SCENE(use_contexts, "", 40, 5),
    SCENE(serve, "", 10, 5),
};

static int set_up(void **state);

UNIT_TEST_WITH(test_every_request_fails_in_turn, set_up, NULL)
{
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(scenes); i++) {
        fault_sweep(&scenes[i]);
    }
}

/* ---- requests that are chosen ---- */

/* The end of the process: the driver takes everything back by itself. */
UNIT_TEST_WITH(test_the_end_of_the_driver_loses_nothing, set_up, NULL)
{
    static const char *const words[][2] = {
        { SHARED, "a=100@0 export:a free:a@0 pair:5M@0" }, { "bins:memory=vmm", "pair:20M@0" },
    };

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(words); i++) {
        begin(words[i][0]);
        play("%s", words[i][1]);
        fake_fail_from(1, CU_ERROR_DEINITIALIZED);
        shpool_device_allocator_unref(allocator);
        assert_int_equal(0, lost.allocations + lost.ranges);
        (void)fake_stop();
    }
}

static int set_up(void **state)
{
    (void)clear_environment(state);
    shpool_set_message_handler(receive, NULL);
    return 0;
}
