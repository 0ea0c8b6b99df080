/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool_open() and shpool_launch() of an ordinary program: which image a pool belongs to, and
 * which kernel runs.  The program is nvcc's; the CUDA runtime and shpool_relink() are fakes, so
 * that it needs no GPU.  tests/gpu/launch.cu runs the kernels. */
#include "fake_runtime.h"

#include <cstring>

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

/* ---- shpool_relink() of this test ---- */

static struct {
    unsigned    calls;
    uint32_t    binding; /* of the latest pool */
    size_t      bytes;   /* of the row that it got */
    bool        fails;
    const char *cubin;   /* names of what is in it */
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

/* A table with malloc for groups and no free is nobody's. */
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
    const unsigned    calls = relinked.calls;
    shpool_pool       pool;

    relinked.cubin = cubin.c_str();
    (void)gpu_check(open_of("bitmap:binding=linked", 16384, &pool) == SHPOOL_OK, "%s",
                    shpool_last_error());
    (void)gpu_check((pool.library != NULL) && (pool.binding == SHPOOL_BINDING_LINKED) &&
                        (relinked.binding == SHPOOL_BINDING_LINKED), "joined to be inlined");
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

int main(void)
{
    check_own_image();
    check_read_once();
    check_foreign();
    check_half();
    check_joined();
    check_inlined();
    check_large();
    return gpu_summary();
}
