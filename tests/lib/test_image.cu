/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool_open() and shpool_launch() of an ordinary program: which image a pool belongs to, and
 * which kernel runs.  The program is nvcc's; the CUDA runtime and shpool_relink() are fakes, so
 * that it needs no GPU.  tests/gpu/launch.cu runs the kernels. */
#include "fake_runtime.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <future>
#include <thread>
#include <vector>

#define SHPOOL_CALLS 0
#include <shpool/shpool.cuh>

#include "tests/gpu/check.h"

static __global__ void first(shpool_pool pool, unsigned *out)
{
    extern __shared__ __align__(16) unsigned char smem[];
    shpool_heap heap = shpool_init(&pool, smem);

    if (out != NULL) {
        out[0] = shpool_malloc(heap, 16) != NULL;
    }
    shpool_fini(heap);
}
template <typename Word> __global__ void of_type(shpool_pool pool, Word *out)
{
    out[0] = static_cast<Word>(pool.pools);
}

/* Parameters of all kinds that a kernel may have. */
struct alignas(16) wide {
    double value[3];
    char   tail;
};
struct bits {
    unsigned low : 3;
    unsigned high : 5;
};
struct limits {
    static const int most = 5; /* no definition: it has no address */
};
struct shy { /* its operator & does not return its address */
    int value;
    int operator&() const { return 0; }
};
enum class colour : unsigned char { red = 7 };
static __global__ void many(const shpool_pool, const float *a, const float *b, const float *c,
                            double d, bool e, const wide f, colour g, unsigned h, int i,
                            long long j, shy k)
{
    (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, (void)g, (void)h, (void)i, (void)j;
    (void)k;
}
static __global__ void none(shpool_pool) {}
struct book {
    wide page[200];
};
static __global__ void of_book(shpool_pool, book) {}

/* ---- shpool_relink() of this test ---- */

static struct {
    std::atomic<unsigned> calls;
    uint32_t    binding; /* of the latest pool */
    size_t      bytes;   /* of the row that it got */
    bool        fails;
    unsigned    pause_ms; /* that it takes */
    const char *cubin;   /* names of its kernels and variables */
} relinked;

extern "C" shpool_status shpool_relink(const void *row_start, size_t row_bytes,
                                       const shpool_pool *pool, uint32_t arch, void **cubin_p,
                                       size_t *bytes_p)
{
    relinked.calls++;
    relinked.binding = pool->binding;
    relinked.bytes   = (row_start != NULL) ? row_bytes : 0;
    *cubin_p = NULL;
    *bytes_p = 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(relinked.pause_ms));
    if (relinked.fails || (arch != 90)) {
        return shpool_error(SHPOOL_ERR_UNSUPPORTED, "the fake does not join");
    }
    *bytes_p = std::strlen(relinked.cubin) + 1;
    *cubin_p = strdup(relinked.cubin);
    return SHPOOL_OK;
}

/* ---- allocators ---- */

static shpool_layout layout(uint32_t bytes, uint32_t)
{
    shpool_layout made = {bytes, bytes, {0, 0}};

    return made;
}

/* Another image's: its tables are not here. */
static shpool_allocator foreign(const char *name, const char *tables)
{
    shpool_allocator one = {};

    one.abi     = SHPOOL_ABI;
    one.bytes   = sizeof(one);
    one.name    = name;
    one.summary = "of another image";
    one.scope   = SHPOOL_SCOPE_BLOCK;
    one.layout  = layout;
    one.tables  = tables;
    return one;
}

static shpool_status open_of(const char *spec, uint32_t bytes, shpool_pool *pool)
{
    shpool_config want = {};

    want.block_threads = 32;
    want.payload_bytes = bytes;
    return shpool_open(spec, &want, pool);
}

static std::string messages;

static void keep(shpool_level, const char *text, void *) { messages += text; }

static void check_own_image(void)
{
    const unsigned names = fake_runtime.names;
    unsigned      *out   = NULL;
    const void    *own   = NULL;
    shpool_pool    pool;

    if (!gpu_check(open_of("bitmap", 16384, &pool) == SHPOOL_OK, "%s", shpool_last_error())) {
        return;
    }
    (void)gpu_check(pool.library == NULL, "bitmap is this image's");
    (void)gpu_check((pool.image != NULL) && (pool.table != NULL), "mark and table");
    (void)gpu_check(pool.binding == SHPOOL_BINDING_TABLE, "by table");
    (void)gpu_check(shpool_launch(first, 1, 32, NULL, &pool, out) == SHPOOL_OK, "launch");
    (void)gpu_check(fake_runtime.launch.kernel == (const void *)first, "the kernel itself");
    (void)gpu_check(fake_runtime.launch.shared == pool.shared_bytes, "the pool's bytes");
    (void)gpu_check(fake_runtime.names == names, "nothing was looked up");
    (void)gpu_check((shpool_kernel_of((const void *)first, &pool, &own) == SHPOOL_OK) &&
                        (own == (const void *)first), "shpool_kernel_of");
    (void)gpu_check(shpool_kernel_of(NULL, &pool, &own) == SHPOOL_ERR_INVALID, "no kernel");
    (void)gpu_check((shpool_launch(first, 1, dim3(32, 30), NULL, &pool, out) == SHPOOL_ERR_CUDA) &&
                        (std::strstr(shpool_last_error(), "uses 72 registers") != NULL) &&
                        (std::strstr(shpool_last_error(), "__launch_bounds__(960)") != NULL),
                    "too many registers: %s", shpool_last_error());
    (void)gpu_check(relinked.calls == 0, "nothing was joined");
    (void)gpu_check(shpool_close(&pool) == SHPOOL_OK, "close");
}

/* A table is copied once in a context: cudaDeviceReset() moves the code that it names. */
static void check_read_once(void)
{
    shpool_pool pool;
    unsigned    copies;

    fake_runtime.context = 71;
    (void)gpu_check(open_of("freelist", 16384, &pool) == SHPOOL_OK, "%s", shpool_last_error());
    copies = fake_runtime.copies;
    (void)gpu_check(open_of("freelist", 8192, &pool) == SHPOOL_OK, "again");
    (void)gpu_check((fake_runtime.copies == copies) && (pool.table != NULL) &&
                        (pool.allocate != NULL), "no copy, the same functions");
    (void)gpu_check(open_of("freelist:stats=1", 8192, &pool) == SHPOOL_OK, "with counters");
    (void)gpu_check(fake_runtime.copies == copies + 1, "has a table of its own");
    fake_runtime.context = 72;
    (void)gpu_check(open_of("freelist", 8192, &pool) == SHPOOL_OK, "in another context");
    (void)gpu_check(fake_runtime.copies == copies + 2, "is copied again");
    fake_runtime.context = 0;
    (void)gpu_check((open_of("freelist", 8192, &pool) == SHPOOL_OK) &&
                        (fake_runtime.copies == copies + 3), "each time, where nobody says");
}

/* A function table of another image is never taken, whatever its symbol is called. */
static void check_foreign(void)
{
    static const shpool_allocator other = foreign("of_another", "shpool_of_another_tables");
    shpool_pool pool;

    (void)gpu_check(shpool_register(&other) == SHPOOL_OK, "%s", shpool_last_error());
    relinked.fails = true;
    (void)gpu_check(open_of("of_another", 16384, &pool) == SHPOOL_ERR_UNSUPPORTED, "refused");
    (void)gpu_check(std::strstr(shpool_last_error(), "does not join") != NULL, "%s",
                    shpool_last_error());
    (void)gpu_check((pool.table == NULL) && (pool.image == NULL), "nothing of it is left");
    relinked.fails = false;
    relinked.cubin = "a cubin with shpool_image_mark and nothing else";
    (void)gpu_check(open_of("of_another", 16384, &pool) == SHPOOL_ERR_CUDA, "no tables in it");
    (void)gpu_check(std::strstr(shpool_last_error(), "function table of the joined image") != NULL,
                    "%s", shpool_last_error());
}

/* A table with malloc but no free for groups is rejected. */
static void check_half(void)
{
    static const shpool_allocator plugin = foreign("half", "shpool_half_tables");
    shpool_pool pool;

    relinked.cubin = "shpool_image_mark shpool_half_tables";
    (void)gpu_check(shpool_register(&plugin) == SHPOOL_OK, "%s", shpool_last_error());
    (void)gpu_check(open_of("half", 16384, &pool) == SHPOOL_ERR_INVALID, "refused");
    (void)gpu_check(std::strstr(shpool_last_error(), "lacks free_group") != NULL, "%s",
                    shpool_last_error());
}

static void check_joined(void)
{
    static const shpool_allocator plugin = foreign("joined", "shpool_joined_tables");
    const std::string cubin = "shpool_image_mark shpool_joined_tables "
                              "_Z7of_typeIfEv11shpool_poolPT_";
    const unsigned    loads = fake_runtime.loads;
    const unsigned    calls = relinked.calls;
    float            *out   = NULL;
    unsigned         *other = NULL;
    int               blocks = 0;
    shpool_pool       own;
    shpool_pool       pool;
    shpool_pool       again;

    relinked.cubin = cubin.c_str();
    (void)gpu_check(shpool_register(&plugin) == SHPOOL_OK, "%s", shpool_last_error());
    (void)gpu_check(open_of("bitmap", 16384, &own) == SHPOOL_OK, "%s", shpool_last_error());
    if (!gpu_check(open_of("joined", 16384, &pool) == SHPOOL_OK, "%s", shpool_last_error())) {
        return;
    }
    (void)gpu_check((relinked.bytes > 1000) && (relinked.binding == SHPOOL_BINDING_TABLE),
                    "this program's device code, %zu bytes", relinked.bytes);
    (void)gpu_check(pool.library != NULL, "it has an image of its own");
    (void)gpu_check((pool.image != NULL) && (pool.image != own.image), "and that one's mark");
    (void)gpu_check(open_of("joined", 4096, &again) == SHPOOL_OK, "again");
    (void)gpu_check((relinked.calls == calls + 1) && (fake_runtime.loads == loads + 1),
                    "joined once");
    (void)gpu_check((again.image == pool.image) && (again.library == pool.library), "the same");

    (void)gpu_check(shpool_launch(of_type<float>, 1, 32, NULL, &pool, out) == SHPOOL_OK, "%s",
                    shpool_last_error());
    (void)gpu_check(fake_kernel_name(fake_runtime.launch.kernel) ==
                        "_Z7of_typeIfEv11shpool_poolPT_", "the joined image's kernel");
    (void)gpu_check(shpool_launch(first, 1, 32, NULL, &pool, other) == SHPOOL_ERR_CUDA,
                    "a kernel that the joined image has not");
    (void)gpu_check(std::strstr(shpool_last_error(), "first") != NULL, "%s", shpool_last_error());
    (void)gpu_check((shpool_occupancy((const void *)of_type<float>, &pool, 32, 0, &blocks) ==
                     SHPOOL_OK) && (blocks > 1), "occupancy: %s", shpool_last_error());

    fake_runtime.device = 1;
    (void)gpu_check(open_of("joined", 4096, &again) == SHPOOL_OK, "another device");
    (void)gpu_check(again.library != pool.library, "has one of its own");
    fake_runtime.device = 0;
}

static void check_inlined(void)
{
    const std::string cubin = "shpool_image_mark shpool_bitmap_tables";
    unsigned          calls = relinked.calls;
    shpool_pool       pool;

    relinked.cubin = cubin.c_str();
    (void)gpu_check(open_of("bitmap:binding=linked", 16384, &pool) == SHPOOL_OK, "%s",
                    shpool_last_error());
    (void)gpu_check((pool.library != NULL) && (pool.binding == SHPOOL_BINDING_LINKED) &&
                        (relinked.binding == SHPOOL_BINDING_LINKED), "joined to be inlined");
    (void)gpu_check((pool.flags & SHPOOL_FLAG_FLAT) != 0, "without calls, as this file says");
    pool.flags &= ~(uint32_t)SHPOOL_FLAG_FLAT;
    calls++;
    (void)gpu_check((shpool_image_bind(&pool) == SHPOOL_OK) && (relinked.calls == calls + 1),
                    "with calls it is another image");
    (void)gpu_check(open_of("bitmap:binding=linked,stats=1", 16384, &pool) == SHPOOL_OK, "%s",
                    shpool_last_error());
    (void)gpu_check((pool.library == NULL) && (relinked.calls == calls + 1), "but not with stats");
    (void)gpu_check(shpool_close(&pool) == SHPOOL_OK, "close");

    relinked.fails = true;
    shpool_set_message_handler(keep, NULL);
    (void)gpu_check(open_of("freelist:binding=linked", 16384, &pool) == SHPOOL_OK, "%s",
                    shpool_last_error());
    shpool_set_message_handler(NULL, NULL);
    (void)gpu_check((pool.library == NULL) && (pool.table != NULL) &&
                        (pool.binding == SHPOOL_BINDING_TABLE), "by table where it cannot be");
    (void)gpu_check(messages.find("freelist is not inlined") != std::string::npos, "and says so");
    (void)gpu_check(messages.find("does not join") != std::string::npos, "and why");
    relinked.fails = false;
}

/* Above 48 KiB a kernel has to be allowed to have so much, once. */
static void check_large(void)
{
    unsigned       *out = NULL;
    shpool_pool     pool;
    shpool_pool     small;
    unsigned        allowed;

    if (!gpu_check(open_of("bitmap", 100 * 1024, &pool) == SHPOOL_OK, "%s", shpool_last_error()) ||
        !gpu_check(open_of("bitmap", 60 * 1024, &small) == SHPOOL_OK, "%s", shpool_last_error())) {
        return;
    }
    fake_runtime.launch = {};
    (void)gpu_check(shpool_launch(first, 1, 32, NULL, &small, out) == SHPOOL_OK, "%s",
                    shpool_last_error());
    (void)gpu_check((fake_runtime.launch.refused == 1) && (fake_runtime.launch.count == 1),
                    "allowed after it was refused");
    allowed = fake_runtime.allowed;
    (void)gpu_check(shpool_launch(first, 1, 32, NULL, &pool, out) == SHPOOL_OK, "a larger one");
    (void)gpu_check(shpool_launch(first, 1, 32, NULL, &small, out) == SHPOOL_OK, "the first again");
    (void)gpu_check((fake_runtime.allowed == allowed) && (fake_runtime.launch.refused == 1),
                    "nothing to do any more");

    fake_runtime.capturing = 1;
    fake_runtime.launch    = {};
    (void)gpu_check(shpool_launch(of_type<int>, 1, 32, NULL, &pool, static_cast<int *>(NULL)) ==
                        SHPOOL_OK, "%s", shpool_last_error());
    (void)gpu_check((fake_runtime.launch.refused == 0) && (fake_runtime.launch.count == 1),
                    "a stream that captures sees no failing launch");
    fake_runtime.capturing = 0;
}

static const void *argument_at[2];

static void look_at_many(void **arguments)
{
    const float *const *pointers[] = {static_cast<const float **>(arguments[1]),
                                      static_cast<const float **>(arguments[2]),
                                      static_cast<const float **>(arguments[3])};
    const wide *f = static_cast<const wide *>(arguments[6]);

    (void)gpu_check(*static_cast<const uint32_t *>(arguments[0]) == SHPOOL_ABI, "the pool");
    (void)gpu_check((*pointers[0] == NULL) && (*pointers[1] == NULL) &&
                        (*pointers[2] == argument_at[0]), "NULL, 0, an array");
    (void)gpu_check(*static_cast<const double *>(arguments[4]) == 3.0, "an int for a double");
    (void)gpu_check(*static_cast<const bool *>(arguments[5]), "a pointer for a bool");
    (void)gpu_check((reinterpret_cast<size_t>(f) % 16 == 0) && (f->value[2] == 2.5) &&
                        (f->tail == 't'), "a structure");
    (void)gpu_check(*static_cast<const colour *>(arguments[7]) == colour::red, "an enumerator");
    (void)gpu_check(*static_cast<const unsigned *>(arguments[8]) == 21u, "a bit-field");
    (void)gpu_check(*static_cast<const int *>(arguments[9]) == 5, "a constant without address");
    (void)gpu_check(*static_cast<const long long *>(arguments[10]) == -1, "a char");
    (void)gpu_check(static_cast<const shy *>(arguments[11])->value == 9, "an operator &");
}

static void look_at_book(void **arguments)
{
    const book *one = static_cast<const book *>(arguments[1]);

    (void)gpu_check((one->page[199].tail == 'z') && (one->page[0].value[0] == 1.0), "19 KB");
}

/* shpool_launch() accepts the same arguments as kernel<<<>>>. */
static void check_parameters(void)
{
    static const float data[4] = {};
    static book        text    = {};
    const bits         b       = {1, 21};
    shy                k       = {9};
    void              *arguments[1];
    shpool_pool        pool;

    if (!gpu_check(open_of("bitmap", 16384, &pool) == SHPOOL_OK, "%s", shpool_last_error())) {
        return;
    }
    argument_at[0]           = data;
    fake_runtime.launch      = {};
    fake_runtime.launch.look = look_at_many;
    (void)gpu_check(shpool_launch(many, 1, 32, 0, &pool, NULL, 0, data, 3, argument_at[0],
                                  {{0.5, 1.5, 2.5}, 't'}, colour::red, b.high, limits::most,
                                  static_cast<char>(-1), k) == SHPOOL_OK, "%s",
                    shpool_last_error());
    fake_runtime.launch.look = look_at_book;
    text.page[0].value[0]    = 1.0;
    text.page[199].tail      = 'z';
    (void)gpu_check(shpool_launch(of_book, dim3(2, 2), dim3(8, 4), nullptr, &pool, text) ==
                        SHPOOL_OK, "%s", shpool_last_error());
    fake_runtime.launch.look = NULL;
    (void)gpu_check(shpool_launch(none, 1, 32, NULL, &pool) == SHPOOL_OK, "the pool alone");
    (void)gpu_check(fake_runtime.launch.count == 3, "all three ran");
    (void)gpu_check(shpool_launch(none, 1, 32, NULL, NULL) == SHPOOL_ERR_INVALID, "no pool");
    (void)gpu_check(shpool_launch_kernel(NULL, (const void *)none, arguments, &pool) ==
                        SHPOOL_ERR_INVALID, "no configuration");
    {
        const cudaLaunchConfig_t config = {};

        (void)gpu_check(shpool_launch_kernel(&config, (const void *)none, NULL, &pool) ==
                            SHPOOL_ERR_INVALID, "no arguments");
    }
    (void)gpu_check(shpool_occupancy((const void *)none, &pool, 32, 0, NULL) == SHPOOL_ERR_INVALID,
                    "no result");
    (void)gpu_check(shpool_close(&pool) == SHPOOL_OK, "close");
}

/* A linked image's unknown handle is rejected: the image that owns it may be unloaded. */
static void check_foreign_library(void)
{
    shpool_pool pool;
    const void *kernel = &pool;

    (void)gpu_check(open_of("joined", 16384, &pool) == SHPOOL_OK, "%s", shpool_last_error());
    pool.library = &pool; /* as of another image */
    (void)gpu_check(shpool_launch(of_type<float>, 1, 32, NULL, &pool, NULL) == SHPOOL_ERR_BINDING,
                    "refused");
    (void)gpu_check((std::strstr(shpool_last_error(), "\"joined\" was opened by another") != NULL),
                    "%s", shpool_last_error());
    (void)gpu_check((shpool_kernel_of((const void *)first, &pool, &kernel) == SHPOOL_ERR_BINDING) &&
                        (kernel == NULL), "shpool_kernel_of");
}

/* Copies of variables need permission for each pool, even after another pool had it. */
static void check_copies(void)
{
    static const shpool_allocator plugin = foreign("copied", "shpool_copied_tables");
    shpool_pool    pool;
    const unsigned calls = relinked.calls;

    relinked.cubin = "shpool_image_mark shpool_copied_tables";
    (void)gpu_check(shpool_register(&plugin) == SHPOOL_OK, "%s", shpool_last_error());
    (void)gpu_check(open_of("copied:copies=1", 16384, &pool) == SHPOOL_OK, "%s",
                    shpool_last_error());
    relinked.fails = true; /* as for variables */
    (void)gpu_check(open_of("copied", 16384, &pool) == SHPOOL_ERR_UNSUPPORTED, "refused");
    (void)gpu_check(open_of("copied:copies=1", 16384, &pool) == SHPOOL_OK, "%s",
                    shpool_last_error());
    (void)gpu_check(relinked.calls == calls + 2, "joined once");
    relinked.fails = false;
}

/* Threads that open pools of one allocator at the same time get one image. */
static void check_threads(void)
{
    static const shpool_allocator plugin = foreign("crowd", "shpool_crowd_tables");
    const unsigned                kept   = fake_runtime.loads - fake_runtime.unloads;
    std::vector<std::thread>      threads;
    shpool_pool                   pool[8];

    relinked.cubin    = "shpool_image_mark shpool_crowd_tables";
    relinked.pause_ms = 20;
    (void)gpu_check(shpool_register(&plugin) == SHPOOL_OK, "%s", shpool_last_error());
    for (shpool_pool &one : pool) {
        threads.emplace_back([&one] { (void)open_of("crowd", 16384, &one); });
    }
    for (std::thread &one : threads) {
        one.join();
    }
    for (const shpool_pool &one : pool) {
        (void)gpu_check((one.library != NULL) && (one.library == pool[0].library) &&
                            (one.image == pool[0].image), "one image for all");
    }
    (void)gpu_check(fake_runtime.loads - fake_runtime.unloads == kept + 1, "and no other is kept");
    relinked.pause_ms = 0;
}

static std::promise<shpool_status> opened;

/* Waits for a thread that opens a pool, as a receiver that needs a lock of that thread does. */
static void open_meanwhile(shpool_level level, const char *, void *)
{
    std::future<shpool_status> status;

    if (level != SHPOOL_LEVEL_ERROR) {
        return; /* of the pool that is opened below */
    }
    status         = opened.get_future();
    relinked.fails = false;
    std::thread([] {
        shpool_pool pool;

        opened.set_value(open_of("crowd", 16384, &pool));
    }).detach();
    (void)gpu_check((status.wait_for(std::chrono::seconds(300)) == std::future_status::ready) &&
                        (status.get() == SHPOOL_OK), "no lock is held while a receiver is called");
}

static void check_receiver(void)
{
    static const shpool_allocator plugin = foreign("failing", "shpool_failing_tables");
    shpool_pool pool;

    relinked.fails = true;
    (void)gpu_check(shpool_register(&plugin) == SHPOOL_OK, "%s", shpool_last_error());
    shpool_set_message_handler(open_meanwhile, NULL);
    (void)gpu_check(open_of("failing", 16384, &pool) == SHPOOL_ERR_UNSUPPORTED, "refused");
    shpool_set_message_handler(NULL, NULL);
    relinked.fails = false;
}

int main(void)
{
    check_own_image();
    check_read_once();
    check_foreign();
    check_half();
    check_joined();
    check_inlined();
    check_large();
    check_parameters();
    check_foreign_library();
    check_copies();
    check_threads();
    check_receiver();
    return gpu_summary();
}
