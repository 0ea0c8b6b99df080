/* SPDX-License-Identifier: BSD-3-Clause */
/* An image's rows of fat binaries: which are joined, with which inputs, and which are refused.  The
 * linker is a fake; tests/build/relink.sh has the real one. */
#include "fake_jit.h"

#include <signal.h>
#include <sys/wait.h>

#include "lib/link/cache.h"
#include "made_cubin.h"
#include "made_fat.h"
#include "tests/faults.h"

#define KIND_CODE 64u /* contents of which nothing is known */
#define KIND_LTO  SHPOOL_FAT_LTO

static const char plain_ir[] = "plugin";
static const unsigned char lto_ir[] = { MADE_LTO_HEADER, 'I', 'R' };
static const unsigned char flat_ir[] = { MADE_LTO_HEADER, 'f', 'l', 'a', 't' };
static const shpool_blob plain_blob = { (const unsigned char *)plain_ir, 6, 12080, 75, NULL };
static const shpool_blob lto_blob = { lto_ir, sizeof(lto_ir), 12080, 75, NULL };
static const shpool_blob flat_blob = { flat_ir, sizeof(flat_ir), 12080,
                                       90 | SHPOOL_ARCH_LETTER('a'), NULL };
static const shpool_blob both_blob = { lto_ir, sizeof(lto_ir), 12080, 75, &flat_blob };
static shpool_allocator plain;
static shpool_allocator with_lto;
static shpool_allocator with_flat;
static shpool_allocator bare;
static made_cubin cubin;

/* A section is made of fat binaries with one entry each. */
typedef made_fat made_row;

static made_row row_of(uint16_t kind)
{
    static const char zeros[16];
    made_row row = { .bytes = 0 };

    made_put_fat(&row, kind, NULL, "kernel_1");
    made_put(&row, zeros, sizeof(zeros));
    made_put_fat(&row, KIND_CODE, "shpool:calls\0\0\0\0", "thecalls");
    made_put_fat(&row, KIND_CODE, "shpool:r_lto\0\0\0\0", "tables_1");
    made_put_fat(&row, KIND_CODE, "shpool:r_other\0\0", "tables_2");
    made_put_fat(&row, KIND_CODE, NULL, "kernel_2");
    return row;
}

static int set_up_group(void **state)
{
    return fake_register(&plain, "r_plain", &plain_blob) |
           fake_register(&with_lto, "r_lto", &lto_blob) |
           fake_register(&with_flat, "r_flat", &both_blob) | fake_register(&bare, "r_bare", NULL);
}

static int set_up(void **state)
{
    fake_jit_reset(12080);
    cubin = make_cubin(NULL, 0);
    fake.cubin = cubin.data;
    fake.cubin_bytes = cubin.bytes;
    shpool_memory_clear();
    return clear_environment(state);
}

static shpool_pool pool_of(const char *spec)
{
    const shpool_config want = { .block_threads = 32, .payload_bytes = 4096 };
    shpool_pool pool;

    if (shpool_plan(spec, &want, &pool) != SHPOOL_OK) {
        fail_msg("%s", shpool_last_error());
    }
    return pool;
}

static shpool_status relink_pool(const made_row *row, const shpool_pool *pool, uint32_t arch)
{
    void *made = (void *)1;
    size_t bytes = 1;
    shpool_status status = shpool_relink(row->data, row->bytes, pool, arch, &made, &bytes);

    if (status == SHPOOL_OK) {
        assert_int_equal(bytes, cubin.bytes);
        assert_memory_equal(made, cubin.data, bytes);
        free(made);
    } else {
        assert_null(made);
        assert_int_equal(bytes, 0);
    }
    return status;
}

static shpool_status relink(const made_row *row, const char *spec)
{
    const shpool_pool pool = pool_of(spec);

    return relink_pool(row, &pool, 90);
}

static void refuses(const made_row *row, const char *spec, shpool_status status, const char *detail)
{
    assert_int_equal(relink(row, spec), status);
    assert_detail(detail);
}

/* ---- memory that runs out ---- */

static void relink_with_little(void)
{
    static made_row row;
    static shpool_pool pool;
    void *made = (void *)1;
    size_t bytes = 1;
    shpool_status status;

    if (pool.abi == 0) {
        row = row_of(KIND_CODE);
        pool = pool_of("r_lto");
    }
    for (unsigned i = 0; i < 2; i++) { /* the second one comes from memory, or is joined again */
        status = shpool_relink(row.data, row.bytes, &pool, 90, &made, &bytes);
        if (fault_fine(status)) {
            assert_int_equal(bytes, cubin.bytes);
            assert_memory_equal(made, cubin.data, bytes);
            free(made);
        } else {
            assert_true((status == SHPOOL_ERR_NO_MEMORY) || (status == SHPOOL_ERR_LINK));
            assert_null(made);
            assert_int_equal(bytes, 0);
        }
    }
}

UNIT_TEST_WITH(test_memory_that_runs_out, set_up, NULL)
{
    static const fault_scene scene = { "relink", "", 6, 0, shpool_memory_clear, relink_with_little,
                                       shpool_memory_clear };

    relink_with_little(); /* the row and the pool are made */
    fault_sweep(&scene);
}

/* How often the linker got the words. */
static unsigned given(const char *words)
{
    unsigned count = 0;

    for (size_t i = 0; i + strlen(words) <= sizeof(fake.given); i++) {
        count += memcmp(fake.given + i, words, strlen(words)) == 0;
    }
    return count;
}

UNIT_TEST_WITH(test_table, set_up, NULL)
{
    const made_row row = row_of(KIND_CODE);

    assert_int_equal(relink(&row, "r_plain"), SHPOOL_OK);
    /* the magic begins with P, and no -lto */
    assert_memory_equal(fake.given, "-arch=sm_90 -maxrregcount=32 P", 30);
    memset(fake.given, 'x', sizeof(fake.given));
    shpool_memory_clear();
    assert_int_equal(relink(&row, "r_lto"), SHPOOL_OK);
    assert_memory_equal(fake.given, "-arch=sm_90 -lto -maxrregcount=32 P", 35);
    assert_int_equal(relink(&row, "r_lto"), SHPOOL_OK);
    assert_int_equal(fake.links, 2); /* the third came from memory */
}

/* The flags of the first entry of the first fat binary, for an architecture. */
static void put_flags(made_row *row, uint32_t arch, uint64_t flags)
{
    shpool_fat_entry entry;
    unsigned char *at = row->data + sizeof(shpool_fat_header);

    memcpy(&entry, at, sizeof(entry));
    entry.arch = arch;
    entry.flags = flags;
    memcpy(at, &entry, sizeof(entry));
}

/* Kernels are joined for the letter of their own code, if the device uses that code. */
UNIT_TEST_WITH(test_letters, set_up, NULL)
{
    static const struct { uint32_t arch; uint64_t flags; const char *given; } known[] = {
        { 90, 0x100000, "-arch=sm_90a -" },  { 100, 0x100000, "-arch=sm_90 -" },
        { 100, 0x200000, "-arch=sm_90 -" },  { 90, 0, "-arch=sm_90 -" },
        { 90, 0x200000, "-arch=sm_90f -" },
    };
    made_row row = row_of(KIND_CODE);

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(known); i++) {
        put_flags(&row, known[i].arch, known[i].flags);
        shpool_memory_clear();
        assert_int_equal(relink(&row, "r_plain"), SHPOOL_OK);
        assert_memory_equal(fake.given, known[i].given, strlen(known[i].given));
    }
#if HAVE_LTO_IR
    row = row_of(KIND_LTO); /* compiled here, for this device alone */
    put_flags(&row, 90, 0x200000);
    assert_int_equal(relink(&row, "r_lto:binding=linked"), SHPOOL_OK);
    assert_memory_equal(fake.given, "-arch=sm_90a -lto -", 18);
#endif
}

/* Code without calls is for kernels with a letter, and for inlined ones of a file with
 * SHPOOL_CALLS=0, from the architecture on that it was compiled for; the kernel keeps its own. */
UNIT_TEST_WITH(test_flat, set_up, NULL)
{
    static const struct {
        uint32_t arch, flags;
        uint64_t letter;
        const char *spec, *options;
        unsigned flat;
    } known[] = {
        { 90, 0, 0x100000, "r_flat", "-arch=sm_90a ", 1 },
        { 90, 0, 0, "r_flat", "-arch=sm_90 ", 0 },
        { 90, SHPOOL_FLAG_FLAT, 0, "r_flat:binding=table", "-arch=sm_90 ", 0 },
#if HAVE_LTO_IR
        { 90, 0, 0, "r_flat:binding=linked", "-arch=sm_90 ", 0 },
        { 90, SHPOOL_FLAG_FLAT, 0, "r_flat:binding=linked", "-arch=sm_90 ", 1 },
        { 120, SHPOOL_FLAG_FLAT, 0, "r_flat:binding=linked", "-arch=sm_120 ", 1 },
        { 89, SHPOOL_FLAG_FLAT, 0, "r_flat:binding=linked", "-arch=sm_89 ", 0 },
#endif
    };
    made_row row = row_of(KIND_LTO);

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(known); i++) {
        shpool_pool pool = pool_of(known[i].spec);

        pool.flags |= known[i].flags;
        put_flags(&row, 90, known[i].letter);
        shpool_memory_clear();
        assert_int_equal(relink_pool(&row, &pool, known[i].arch), SHPOOL_OK);
        assert_memory_equal(fake.given, known[i].options, strlen(known[i].options));
        assert_int_equal(given("flat"), known[i].flat);
    }
}

/* Registers are limited where no kernel is compiled; LTO-IR is taken only if there is nothing
 * else. */
UNIT_TEST_WITH(test_options, set_up, NULL)
{
    const made_row kernels = row_of(KIND_LTO);
    static shpool_allocator both;
    static shpool_blob blob = { NULL, 0, 12080, 75, NULL };
    made_row fat = { .bytes = 0 };

    assert_int_equal(relink(&kernels, "r_lto"), SHPOOL_OK);
    assert_memory_equal(fake.given, "-arch=sm_90 -lto P", 18);
    made_put_fat(&fat, KIND_LTO, NULL, "lto code");
    made_put_more(&fat, KIND_CODE, "ptx code", 8);
    blob.data = fat.data;
    blob.bytes = fat.bytes;
    assert_int_equal(fake_register(&both, "r_both", &blob), 0);
    assert_int_equal(relink(&kernels, "r_both"), SHPOOL_OK);
    assert_memory_equal(fake.given, "-arch=sm_90 -maxrregcount=32 P", 30);
#if HAVE_LTO_IR
    assert_int_equal(relink(&kernels, "r_both:binding=linked"), SHPOOL_OK);
    assert_memory_equal(fake.given, "-arch=sm_90 -lto P", 18);
#endif
}

/* fake.given must not be cut at the first NUL: the rows have many. */
UNIT_TEST_WITH(test_parts, set_up, NULL)
{
    const made_row row = row_of(KIND_LTO);

    assert_int_equal(relink(&row, "r_plain:binding=table"), SHPOOL_OK);
    assert_int_equal(given("kernel_1"), 1);
    assert_int_equal(given("kernel_2"), 1);
    assert_int_equal(given("thecalls"), 1);
    assert_int_equal(given("tables_"), 0);
    assert_int_equal(given("plugin"), 1);
}

UNIT_TEST_WITH(test_inlined, set_up, NULL)
{
    const made_row row = row_of(KIND_LTO);
    const made_row without = row_of(KIND_CODE);

    refuses(&without, "r_lto:binding=linked", SHPOOL_ERR_UNSUPPORTED, "cannot be inlined");
#if HAVE_LTO_IR
    assert_detail("lto_cflags");
    assert_int_equal(relink(&row, "r_lto:binding=linked"), SHPOOL_OK);
    assert_int_equal(given("kernel_1"), 1);
    assert_int_equal(given("kernel_2"), 1);
    assert_int_equal(given("thecalls"), 0);
    assert_int_equal(given("tables_1"), 1);
    assert_int_equal(given("tables_2"), 0);
#else
    refuses(&row, "r_lto:binding=linked", SHPOOL_ERR_UNSUPPORTED, "built without nvcc");
#endif
    /* counted functions are not inlined */
    assert_int_equal(pool_of("r_lto:binding=linked,stats=1").binding, SHPOOL_BINDING_TABLE);
}

UNIT_TEST_WITH(test_binding_is_chosen, set_up, NULL)
{
    assert_int_equal(pool_of("r_lto").binding, SHPOOL_BINDING_TABLE);
    setenv("SHPOOL_BINDING", "linked", 1);
    shpool_config_reload();
    assert_int_equal(pool_of("r_lto").binding, SHPOOL_BINDING_LINKED);
    assert_int_equal(pool_of("r_lto:binding=table").binding, SHPOOL_BINDING_TABLE);
    setenv("SHPOOL_BINDING", "inline", 1);
    shpool_config_reload();
    {
        const shpool_config want = { .block_threads = 32, .payload_bytes = 4096 };
        shpool_pool pool;

        assert_int_equal(shpool_plan("r_lto", &want, &pool), SHPOOL_ERR_SPEC);
        assert_detail("SHPOOL_BINDING \"inline\"");
        assert_detail("table or linked");
        assert_int_equal(shpool_plan("r_lto:binding=both", &want, &pool), SHPOOL_ERR_SPEC);
        assert_detail("binding=both");
    }
}

UNIT_TEST_WITH(test_refused, set_up, NULL)
{
    made_row row = row_of(KIND_CODE);
    const made_row empty = { .bytes = 0 };
    const shpool_pool pool = pool_of("r_lto");
    void *made;
    size_t bytes;

    refuses(&empty, "r_lto", SHPOOL_ERR_UNSUPPORTED, "-rdc=true");
    memset(row.data, 0, 4); /* no magic: the first is skipped */
    assert_int_equal(relink(&row, "r_lto"), SHPOOL_OK);
    row = row_of(KIND_CODE);
    refuses(&row, "r_bare", SHPOOL_ERR_UNSUPPORTED, "r_bare");
    fake.cuda = 0;
    refuses(&row, "r_plain", SHPOOL_ERR_UNSUPPORTED, "no libnvJitLink");
    fake.cuda = 12080;
    fake.broken = "complete";
    refuses(&row, "r_plain", SHPOOL_ERR_LINK, "the fake linker's words");
    assert_int_equal(shpool_relink(row.data, row.bytes, NULL, 90, &made, &bytes),
                     SHPOOL_ERR_INVALID);
    assert_int_equal(shpool_relink(NULL, 8, &pool, 90, &made, &bytes), SHPOOL_ERR_INVALID);
    assert_int_equal(shpool_relink(row.data, row.bytes, &pool, 90, NULL, &bytes),
                     SHPOOL_ERR_INVALID);
    assert_int_equal(shpool_relink(row.data, row.bytes, &pool, 90, &made, NULL),
                     SHPOOL_ERR_INVALID);
}

UNIT_TEST_WITH(test_variables, set_up, NULL)
{
    static const made_variable some[] = { { "counter", MADE_GLOBAL, 0 }, { "seed", MADE_INIT, 0 } };
    const made_row row = row_of(KIND_CODE);

    cubin = make_cubin(some, 2);
    fake.cubin_bytes = cubin.bytes;
    refuses(&row, "r_lto", SHPOOL_ERR_UNSUPPORTED, "copies of 2 variables");
    assert_detail("counter, seed");
    assert_detail("r_lto:copies=1");
    assert_int_equal(relink(&row, "r_lto:copies=1"), SHPOOL_OK);
    shpool_memory_clear();
    fake.cubin = "no ELF file, whatever made it, and longer than the head of one, 64 bytes";
    fake.cubin_bytes = 70;
    refuses(&row, "r_lto", SHPOOL_ERR_LINK, "are not a cubin");
}

enum { THREADS = 6 };

static void *relink_one(void *pool)
{
    const made_row row = row_of(KIND_CODE);
    void *made = NULL;
    size_t bytes = 0;

    if (shpool_relink(row.data, row.bytes, pool, 90, &made, &bytes) == SHPOOL_OK) {
        free(made);
        return pool;
    }
    return NULL;
}

/* A message of one thread must not find another one's lock: its receiver relinks, too. */
static void relink_in_receiver(shpool_level level, const char *text, void *pool)
{
    pthread_t thread;
    void *done;

    (void)level;
    (void)text;
    fake.broken = NULL;
    assert_int_equal(pthread_create(&thread, NULL, relink_one, pool), 0);
    assert_int_equal(pthread_join(thread, &done), 0);
    assert_ptr_equal(done, pool);
}

UNIT_TEST_WITH(test_threads_join_once, set_up, NULL)
{
    shpool_pool pool = pool_of("r_plain");
    pthread_t thread[THREADS];

    alarm(300); /* a lock that is never released would stop the test */
    fake.pause_us = 20000;
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&thread[i], NULL, relink_one, &pool), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *done;

        assert_int_equal(pthread_join(thread[i], &done), 0);
        assert_ptr_equal(done, &pool);
    }
    assert_int_equal(fake.links, 1);

    shpool_memory_clear();
    fake.broken = "complete";
    shpool_set_message_handler(relink_in_receiver, &pool);
    assert_null(relink_one(&pool));
    shpool_set_message_handler(NULL, NULL);
    assert_int_equal(fake.links, 2);
    alarm(0);
}

/* A child is forked while another thread links: its own link does not wait for that thread, which
 * the child does not have. */
UNIT_TEST_WITH(test_a_child_relinks, set_up, NULL)
{
    shpool_pool pool = pool_of("r_plain");
    pthread_t thread;
    unsigned loads = 0;
    int status = 1;
    void *done;
    pid_t child;

    fake.pause_us = 300000;
    assert_int_equal(pthread_create(&thread, NULL, relink_one, &pool), 0);
    while (loads == 0) { /* the thread is at the linker, with the lock */
        usleep(1000);
        pthread_mutex_lock(&fake.lock);
        loads = fake.loads;
        pthread_mutex_unlock(&fake.lock);
    }
    child = fork();
    if (child == 0) { /* a signal tells success: at an exit ThreadSanitizer reports the parent's
                         thread, which nobody has joined here, as a leak */
        alarm(300);
        if (relink_one(&pool) == &pool) {
            raise(SIGUSR1);
        }
        _exit(1);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(pthread_join(thread, &done), 0);
    assert_ptr_equal(done, &pool);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGUSR1); /* SIGALRM: it has waited */
}

/* Whatever the section holds: nothing outside it is read. */
UNIT_TEST_WITH(test_damaged_rows, set_up, NULL)
{
    const made_row whole = row_of(KIND_LTO);
    const shpool_pool pool = pool_of("r_plain");

    for (size_t i = 0; i < whole.bytes; i++) {
        for (unsigned value = 0; value < 256; value += 85) {
            unsigned char *row = malloc(whole.bytes);
            void *made = NULL;
            size_t bytes = 0;

            assert_non_null(row);
            memcpy(row, whole.data, whole.bytes);
            row[i] = (unsigned char)value;
            (void)shpool_relink(row, whole.bytes - (i % 8), &pool, 90, &made, &bytes);
            free(made);
            free(row);
        }
    }
}

UNIT_GROUP(set_up_group, NULL)
