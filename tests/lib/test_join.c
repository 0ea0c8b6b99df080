/* SPDX-License-Identifier: BSD-3-Clause */
/* Run-time linking with the test's own linker: which LTO-IR is used, which linkers accept it, and
 * how each failure of the linker is reported. */
#include "fake_jit.h"

#include <sys/mman.h>

#include "lib/link/cache.h"
#include "made_cubin.h"
#include "made_fat.h"

static const char kernel[] = "kernel";

#define BLOB(_text, _cuda, _arch, _newer) \
    { (const unsigned char *)(_text), sizeof(_text) - 1, _cuda, _arch, _newer }

static const shpool_blob for_90 = BLOB("ir90", 12080, 90, NULL);
static const shpool_blob for_80 = BLOB("ir80", 12080, 80, &for_90);
static const shpool_blob for_75 = BLOB("ir75", 12080, 75, &for_80);
static const shpool_blob unstamped = BLOB("ir", 0, 0, NULL);
static shpool_allocator several;
static shpool_allocator none_old;
static shpool_allocator anyones;

static int set_up_group(void **state)
{
    return fake_register(&several, "j_several", &for_75) |
           fake_register(&none_old, "j_none_old", &for_80) |
           fake_register(&anyones, "j_anyones", &unstamped);
}

static int set_up(void **state)
{
    fake_jit_reset(12080);
    shpool_memory_clear();
    return clear_environment(state);
}

static void link_gives(const char *allocator, uint32_t arch, const char *expected)
{
    void *cubin = NULL;
    size_t bytes = 0;

    if (shpool_link(kernel, strlen(kernel), allocator, arch, &cubin, &bytes) != SHPOOL_OK) {
        fail_msg("%s", shpool_last_error());
    }
    assert_int_equal(bytes, strlen(expected));
    assert_memory_equal(cubin, expected, bytes);
    free(cubin);
}

static void link_fails(const char *allocator, uint32_t arch, shpool_status expected,
                       const char *detail)
{
    void *cubin = (void *)1;
    size_t bytes = 1;

    assert_int_equal(shpool_link(kernel, strlen(kernel), allocator, arch, &cubin, &bytes),
                     expected);
    assert_null(cubin);
    assert_int_equal(bytes, 0);
    assert_detail(detail);
}

UNIT_TEST_WITH(test_newest_lto_ir_up_to_the_architecture_is_taken, set_up, NULL)
{
    link_gives("j_several", 75, "-arch=sm_75 -lto kernel;ir75;");
    link_gives("j_several", 79, "-arch=sm_79 -lto kernel;ir75;");
    link_gives("j_several", 80, "-arch=sm_80 -lto kernel;ir80;");
    link_gives("j_several", 89, "-arch=sm_89 -lto kernel;ir80;");
    link_gives("j_several", 120, "-arch=sm_120 -lto kernel;ir90;");
    link_gives("j_anyones", 75, "-arch=sm_75 -lto kernel;ir;");
}

UNIT_TEST_WITH(test_lto_ir_for_newer_architectures_only_is_refused, set_up, NULL)
{
    link_fails("j_none_old", 75, SHPOOL_ERR_UNSUPPORTED, "for sm_80 and newer");
    assert_detail("sm_75");
    assert_int_equal(fake.loads, 0);
}

UNIT_TEST_WITH(test_linker_of_the_same_major_and_not_older_is_taken, set_up, NULL)
{
    link_gives("j_several", 75, "-arch=sm_75 -lto kernel;ir75;");
    assert_int_equal(fake.major, 12);
    fake.cuda = 12090;
    link_gives("j_several", 76, "-arch=sm_76 -lto kernel;ir75;");
    fake.cuda = 12070;
    link_fails("j_several", 77, SHPOOL_ERR_UNSUPPORTED, "made by CUDA 12.8");
    assert_detail("libfake.so is of CUDA 12.7");
    assert_detail("nvJitLink 12.8 or a later one of CUDA 12");
    fake.cuda = 13000;
    link_fails("j_several", 78, SHPOOL_ERR_UNSUPPORTED, "libfake.so is of CUDA 13.0");
    assert_int_equal(fake.links, 2);
}

UNIT_TEST_WITH(test_lto_ir_without_a_stamp_goes_to_any_linker, set_up, NULL)
{
    fake.cuda = 12030;
    link_gives("j_anyones", 80, "-arch=sm_80 -lto kernel;ir;");
    assert_int_equal(fake.major, 0);
    fake.cuda = 13000;
    link_gives("j_anyones", 86, "-arch=sm_86 -lto kernel;ir;");
}

UNIT_TEST_WITH(test_no_linker_is_an_error_with_its_reason, set_up, NULL)
{
    fake.cuda = 0;
    link_fails("j_several", 100, SHPOOL_ERR_UNSUPPORTED, "no libnvJitLink, says the fake");
}

UNIT_TEST_WITH(test_each_step_that_fails_is_named, set_up, NULL)
{
    static const struct { const char *step; const char *detail; } steps[] = {
        { "create", "refused the options -arch=sm_101 -lto" },
        { "add", "failed at the kernel" },
        { "complete", "failed at joining them" },
        { "size", "failed at the cubin's size" },
        { "cubin", "failed at the cubin with result 8" },
    };

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(steps); i++) {
        fake.broken = steps[i].step;
        link_fails("j_several", 101, SHPOOL_ERR_LINK, steps[i].detail);
        if (i > 0) {
            assert_detail(": the fake linker's words");
        }
    }
    fake.broken = "complete"; /* as of setmaxnreg */
    link_fails("j_several", 100 | SHPOOL_ARCH_LETTER('f'), SHPOOL_ERR_LINK,
               "(if it ignores the f, as 13.0 does, sm_100a may work) with result 6: the fake");
}

/* Compiled without SHPOOL_LINKED; joining it may work, but then the allocator is not in it. */
UNIT_TEST_WITH(test_a_kernel_that_calls_the_table_is_refused, set_up, NULL)
{
    static const struct { const char *cubin; const char *broken; const char *words; } cases[] = {
        { "\177ELF\0shpool_image_mark\0", NULL, "" },
        { NULL, "complete", "error : Undefined reference to 'shpool_image_mark' in 'kernel'" },
        { NULL, "complete", "ptxas fatal : Unresolved extern function 'shpool_named_flags'" },
    };

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(cases); i++) {
        fake_jit_reset(12080);
        fake.cubin = cases[i].cubin;
        fake.cubin_bytes = 24;
        fake.broken = cases[i].broken;
        fake.words = cases[i].words;
        link_fails("j_several", 90, SHPOOL_ERR_LINK, "compile it with -DSHPOOL_LINKED");
    }
}

/* ---- inputs that are cut off or damaged ---- */

enum { GUARDED_BYTES = 8192, GUARD = 4096 };

/* The bytes, before a page that cannot be read. */
static const void *guarded(const void *data, size_t bytes)
{
    static unsigned char *room;

    if (room == NULL) {
        room = mmap(NULL, GUARDED_BYTES + GUARD, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_true(room != MAP_FAILED);
        assert_int_equal(mprotect(room + GUARDED_BYTES, GUARD, PROT_NONE), 0);
    }
    assert_true(bytes <= GUARDED_BYTES);
    memcpy(room + GUARDED_BYTES - bytes, data, bytes);
    return room + GUARDED_BYTES - bytes;
}

/* Whether the linker gets these bytes. */
static int is_linked(const void *data, size_t bytes)
{
    void *cubin = NULL;
    size_t cubin_bytes = 0;
    const unsigned links = fake.links;
    const shpool_status status = shpool_link(guarded(data, bytes), bytes, "j_anyones", 90, &cubin,
                                             &cubin_bytes);

    free(cubin);
    if (status == SHPOOL_OK) {
        assert_int_equal(fake.links, links + 1);
        return 1;
    }
    assert_int_equal(status, SHPOOL_ERR_LINK);
    assert_detail("the kernel of ");
    assert_int_equal(fake.links, links);
    return 0;
}

/* A fat binary with an entry of each kind. */
static made_fat make_fat(const made_cubin *elf)
{
    made_fat fat = { .bytes = 0 };

    made_put_fat(&fat, SHPOOL_FAT_LTO, "shpool:name\0\0\0\0", "lto code");
    made_put_more(&fat, SHPOOL_FAT_ELF, elf->data, elf->bytes);
    made_put_more(&fat, SHPOOL_FAT_PTX, ".target", 8);
    return fat;
}

static made_cubin even_cubin(void)
{
    made_cubin elf = make_cubin(NULL, 0);

    elf.bytes = (elf.bytes + 7) & ~(size_t)7;
    return elf;
}

UNIT_TEST_WITH(test_inputs_that_are_cut_off_are_refused, set_up, NULL)
{
    static const unsigned char lto[] = { MADE_LTO_HEADER, 'I', 'R' };
    const made_cubin elf = even_cubin();
    const made_fat fat = make_fat(&elf);
    const struct { const void *data; size_t bytes; size_t needed; } forms[] = {
        { fat.data, fat.bytes, fat.bytes },
        { lto, sizeof(lto), sizeof(lto) - 1 }, /* its code says itself where it ends */
        { elf.data, elf.bytes, elf.bytes },
    };

    for (size_t form = 0; form < SHPOOL_ARRAY_COUNT(forms); form++) {
        assert_true(is_linked(forms[form].data, forms[form].bytes));
        for (size_t bytes = 4; bytes < forms[form].needed; bytes++) {
            if (is_linked(forms[form].data, bytes)) {
                fail_msg("form %zu is linked with %zu of %zu bytes", form, bytes,
                         forms[form].bytes);
            }
        }
    }
    assert_false(is_linked("!<arch>\nan archive", 18));
    assert_detail("archive");
    assert_true(is_linked("hello, no size here", 19)); /* to nvJitLink, with a NUL */
}

/* Each field that says where something is or how long it is, with values that are too large. */
UNIT_TEST_WITH(test_inputs_with_wrong_sizes_are_refused, set_up, NULL)
{
    static const uint64_t larger[] = { 4096, 0x7fff, 0xffff, 0x10000, 0x7fffffff, 0x80000000,
                                       0xfffffff8, 0xffffffff, 0x100000000, 0x7fffffffffffffff,
                                       0xfffffffffffffff0, UINT64_MAX };
    const made_cubin elf = even_cubin();
    const made_fat whole = make_fat(&elf);
    const size_t lto = 16; /* the entries */
    const size_t cubin = lto + 96 + 48 + 8;
    const Elf64_Ehdr *const head = (const Elf64_Ehdr *)(const void *)elf.data;
    const size_t sections = cubin + 64 + (size_t)head->e_shoff;
    const struct { size_t at; size_t bytes; } fields[] = {
        { 4, 2 }, { 6, 2 }, { 8, 8 },                                 /* the fat binary */
        { lto + 4, 4 }, { lto + 8, 8 }, { lto + 16, 4 }, { lto + 20, 4 },
        { lto + 32, 4 }, { lto + 36, 4 }, { lto + 64, 4 }, { lto + 68, 4 },
        { lto + 96 + 12, 2 }, { lto + 96 + 16, 4 }, { lto + 96 + 20, 4 },
        { cubin + 4, 4 }, { cubin + 8, 8 },
        { cubin + 64 + 40, 8 }, { cubin + 64 + 58, 2 }, { cubin + 64 + 60, 2 }, /* the ELF file */
        { sections + 64 + 24, 8 }, { sections + 64 + 32, 8 },         /* its first section */
    };

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(fields); i++) {
        for (size_t k = 0; k < SHPOOL_ARRAY_COUNT(larger); k++) {
            made_fat damaged = whole;

            if ((fields[i].bytes < 8) && (larger[k] >> (8 * fields[i].bytes) != 0)) {
                continue;
            }
            memcpy(damaged.data + fields[i].at, &larger[k], fields[i].bytes);
            if (is_linked(damaged.data, damaged.bytes)) {
                fail_msg("byte %zu: %llx is accepted", fields[i].at,
                         (unsigned long long)larger[k]);
            }
        }
    }
}

UNIT_GROUP(set_up_group, NULL)
