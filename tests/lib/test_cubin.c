/* SPDX-License-Identifier: BSD-3-Clause */
/* Which variables a cubin has, also of one that is cut or damaged. */
#include "tests/unit.h"

#include "lib/link/cubin.h"
#include "made_cubin.h"

static size_t count_of(const void *data, size_t bytes, char *names, size_t room)
{
    shpool_text text = shpool_text_make(names, room);
    size_t count = 99;

    if (shpool_cubin_variables(data, bytes, &count, &text) != SHPOOL_OK) {
        assert_int_equal(count, 0);
        return 99;
    }
    return count;
}

static void finds(const char *name, uint16_t section, uint16_t at, size_t expected)
{
    const made_variable one = { name, section, at };
    const made_cubin cubin = make_cubin(&one, 1);
    char names[256];

    if (count_of(cubin.data, cubin.bytes, names, sizeof(names)) != expected) {
        fail_msg("%s in section %u at %u", name, section, at);
    }
    assert_string_equal(names, (expected != 0) ? name : "");
}

UNIT_TEST(test_what_counts)
{
    finds("counter", MADE_GLOBAL, 0, 1);
    finds("seeded", MADE_INIT, 0, 1);
    finds("weights", MADE_CONSTANT, 4, 1); /* no value: the host gives it one */
    finds("table", MADE_CONSTANT, 8, 0);
    finds("beyond", MADE_CONSTANT, 999, 1);
    finds("code", MADE_STRINGS, 0, 0);
    finds("nowhere", 77, 0, 0);
    finds("$str$1", MADE_INIT, 0, 0);
    finds("__unnamed_1", MADE_INIT, 0, 0);
    finds("_ZTV6square", MADE_INIT, 0, 0);
    finds("shpool_own_tables", MADE_INIT, 0, 0);
}

/* Names as nvcc 13 makes them of a program that includes CUDA's C++ libraries. */
UNIT_TEST(test_names_of_cuda_are_known)
{
    finds("_ZN40_INTERNAL_1217f8a2_4_v_cu_e2756fa1_171544cuda3std3__45__cpo5beginE", MADE_GLOBAL, 0,
          0);
    finds("__nv_static_31__1217f8a2_4_v_cu_e2756fa1_17154__ZN40_INTERNAL_1217f8a2_4_v_cu_e2756fa1_"
          "171546thrust23THRUST_300001_SM_900_NS12placeholders2_1E", MADE_GLOBAL, 0, 0);
    finds("_ZZN4cuda3__414discard_memoryEPVvmE10_LINE_SIZE", MADE_INIT, 0, 0);
    finds("_ZN14at_cuda_detail3cub17CUB_300001_SM_9005emptyE", MADE_GLOBAL, 0, 0);
    finds("_ZN18cooperative_groups4__v15emptyE", MADE_GLOBAL, 0, 0);
    finds("__nv_static_24__aaab9fc7_4_w_cu__Z1kPii__ZTVN35_GLOBAL__N__aaab9fc7_4_w_cu__Z1kPii1SE",
          MADE_INIT, 0, 0);
    /* libcudadevrt.a */
    finds("__nv_static_52__f4510a67_22_cuda_device_runtime_cu_3ecce0c0_2317245_set_kernel32",
          MADE_INIT, 0, 0);
    finds("cudartErrorCnpMapEntryCount", MADE_INIT, 0, 0);
    finds("__CNPRT_VERSION_NUMBER__", MADE_INIT, 0, 0);
}

/* The program's own variables, whose names contain those of CUDA's. */
UNIT_TEST(test_names_like_those_are_not)
{
    finds("_ZN2ns13cube_countersE", MADE_GLOBAL, 0, 1);
    finds("_ZN2ns11state_valueIN3cub17CUB_300001_SM_90010WarpReduceIiLi32EEEEE", MADE_GLOBAL, 0, 1);
    finds("_ZN6thrust5levelE", MADE_GLOBAL, 0, 1);
    finds("_ZN2at4cuda4seedE", MADE_GLOBAL, 0, 1);
    finds("cuda4cuda3std", MADE_GLOBAL, 0, 1);
    finds("shpool_mine", MADE_GLOBAL, 0, 1);
    finds("_ZN99short3stdE", MADE_GLOBAL, 0, 1);
    finds("_ZN99999999999999999999994cuda3stdE", MADE_GLOBAL, 0, 1);
    finds("__nv_static_99_id_short", MADE_GLOBAL, 0, 1);
    finds("my_22_cuda_device_runtime_cu_", MADE_GLOBAL, 0, 1);
    finds("cudartErrorTables", MADE_GLOBAL, 0, 1);
}

/* Static variables are named as in the source. */
UNIT_TEST(test_static_variables)
{
    static const made_variable one = { "__nv_static_24__aaab9fc7_4_w_cu__Z1kPii_counter",
                                       MADE_GLOBAL, 0 };
    const made_cubin cubin = make_cubin(&one, 1);
    char names[256];

    assert_int_equal(count_of(cubin.data, cubin.bytes, names, sizeof(names)), 1);
    assert_string_equal(names, "counter");
}

/* A section without bytes in the file has no values that could be read. */
UNIT_TEST(test_constants_without_bytes)
{
    static const made_variable one = { "table", MADE_CONSTANT, 8 };
    made_cubin cubin = make_cubin(&one, 1);
    Elf64_Ehdr head;
    Elf64_Shdr section;
    char names[64];

    memcpy(&head, cubin.data, sizeof(head));
    memcpy(&section, cubin.data + head.e_shoff + MADE_CONSTANT * sizeof(section), sizeof(section));
    section.sh_type = SHT_NOBITS;
    section.sh_offset = UINT64_MAX / 2;
    memcpy(cubin.data + head.e_shoff + MADE_CONSTANT * sizeof(section), &section, sizeof(section));
    assert_int_equal(count_of(cubin.data, cubin.bytes, names, sizeof(names)), 1);
    head.e_shnum = 0; /* more than ELF's head can say: not taken for none */
    memcpy(cubin.data, &head, sizeof(head));
    assert_int_equal(count_of(cubin.data, cubin.bytes, names, sizeof(names)), 99);
    assert_detail("more than 65,279 sections");
}

UNIT_TEST(test_names_are_few)
{
    made_variable many[15];
    made_cubin cubin;
    char names[256];
    size_t i;

    for (i = 0; i < 15; i++) {
        many[i] = (made_variable){ (i % 2 != 0) ? "odd" : "even", MADE_GLOBAL, 0 };
    }
    cubin = make_cubin(many, 15);
    assert_int_equal(count_of(cubin.data, cubin.bytes, names, sizeof(names)), 15);
    assert_string_equal(names, "even, odd, even, odd, even, odd");
    assert_int_equal(count_of(cubin.data, cubin.bytes, names, 8), 15); /* cut */
}

/* Each in memory of its own, so that a sanitizer sees a byte too far. */
UNIT_TEST(test_cut_and_damaged)
{
    static const made_variable some[] = {
        { "a", MADE_GLOBAL, 0 }, { "b", MADE_INIT, 4 }, { "c", MADE_CONSTANT, 8 }
    };
    const made_cubin whole = make_cubin(some, 3);
    char names[256];

    for (size_t bytes = 0; bytes < whole.bytes; bytes++) {
        unsigned char *cut = malloc(bytes + 1);

        assert_non_null(cut);
        memcpy(cut, whole.data, bytes);
        cut = realloc(cut, (bytes != 0) ? bytes : 1);
        assert_non_null(cut);
        (void)count_of(cut, bytes, names, sizeof(names));
        free(cut);
    }
    for (size_t i = 0; i < whole.bytes; i++) {
        for (unsigned value = 0; value < 256; value += 51) {
            unsigned char *bad = malloc(whole.bytes);

            assert_non_null(bad);
            memcpy(bad, whole.data, whole.bytes);
            bad[i] = (unsigned char)value;
            (void)count_of(bad, whole.bytes, names, sizeof(names));
            free(bad);
        }
    }
    assert_int_equal(count_of("text, and no cubin at all; it has more than the 64 bytes of a head",
                              66, names, sizeof(names)), 99);
    assert_detail("are not a cubin");
}
