/* SPDX-License-Identifier: BSD-3-Clause */
/* Run-time linking and the driver: invalid arguments, and results on a machine without CUDA. */
#include "tests/unit.h"

static const char garbage[64] = "this is no LTO-IR";
static const shpool_blob blob = { (const unsigned char *)garbage, sizeof(garbage), 0, 0, NULL };
static const shpool_blob empty_blob = { NULL, 0, 0, 0, NULL };
static shpool_allocator with_ir;
static shpool_allocator without_ir;

static int register_fakes(void **state)
{
    with_ir = fake_allocator("l_with", SHPOOL_SCOPE_BLOCK, 0);
    with_ir.lto_ir = &blob;
    without_ir = fake_allocator("l_without", SHPOOL_SCOPE_BLOCK, 0);
    return -((shpool_register(&with_ir) != SHPOOL_OK) ||
             (shpool_register(&without_ir) != SHPOOL_OK));
}

static void link_fails(const void *kernel, size_t bytes, const char *allocator, uint32_t arch,
                       shpool_status expected)
{
    void *cubin = (void *)1;
    size_t cubin_bytes = 1;

    assert_int_equal(shpool_link(kernel, bytes, allocator, arch, &cubin, &cubin_bytes), expected);
    assert_null(cubin);
    assert_int_equal(cubin_bytes, 0);
}

UNIT_TEST(test_bad_arguments)
{
    void *cubin = (void *)1;
    size_t bytes = 1;

    link_fails(NULL, 1, "l_with", 90, SHPOOL_ERR_INVALID);
    link_fails(garbage, 0, "l_with", 90, SHPOOL_ERR_INVALID);
    link_fails(garbage, 1, NULL, 90, SHPOOL_ERR_INVALID);
    link_fails(garbage, 1, "l_with", 0, SHPOOL_ERR_INVALID);
    link_fails(garbage, 1, "l_with", 70, SHPOOL_ERR_INVALID);
    link_fails(garbage, 1, "l_with", 90 | SHPOOL_ARCH_LETTER('b'), SHPOOL_ERR_INVALID);
    assert_detail("from 75 on");
    link_fails(garbage, 1, "l_wit", 90, SHPOOL_ERR_NOT_FOUND);
    assert_detail("did you mean");
    assert_int_equal(shpool_link(garbage, 1, "l_with", 90, NULL, &bytes), SHPOOL_ERR_INVALID);
    assert_int_equal(bytes, 0);
    assert_int_equal(shpool_link(garbage, 1, "l_with", 90, &cubin, NULL), SHPOOL_ERR_INVALID);
    assert_null(cubin);
}

UNIT_TEST(test_allocator_without_lto_ir)
{
    link_fails(garbage, sizeof(garbage), "l_without", 90, SHPOOL_ERR_UNSUPPORTED);
    assert_detail("no LTO-IR");
    without_ir.lto_ir = &empty_blob;
    link_fails(garbage, sizeof(garbage), "l_without", 90, SHPOOL_ERR_UNSUPPORTED);
}

/* A search for the newest must end, and find data. */
UNIT_TEST(test_newer_lto_ir_is_for_newer_gpus)
{
    shpool_blob for_90 = { (const unsigned char *)garbage, sizeof(garbage), 13000, 90, NULL };
    shpool_blob for_75 = { (const unsigned char *)garbage, sizeof(garbage), 13000, 75, &for_90 };
    shpool_allocator one = fake_allocator("l_newer", SHPOOL_SCOPE_BLOCK, 0);

    one.lto_ir = &for_75;
    for_90.newer = &for_75; /* a circle */
    assert_int_equal(shpool_register(&one), SHPOOL_ERR_INVALID);
    assert_detail("list architectures in ascending order");
    for_90.newer = NULL;
    for_90.data = NULL;
    assert_int_equal(shpool_register(&one), SHPOOL_ERR_INVALID);
    assert_detail("no data");
}

/* Another linker gets the same LTO-IR as shpool_link(). */
UNIT_TEST(test_lto_ir_is_that_for_the_architecture)
{
    static const shpool_blob for_90a = { (const unsigned char *)garbage, sizeof(garbage), 13000,
                                         90 | SHPOOL_ARCH_LETTER('a'), NULL };
    static const shpool_blob for_90 = { (const unsigned char *)garbage, sizeof(garbage), 13000, 90,
                                        &for_90a };
    static const shpool_blob for_75 = { (const unsigned char *)garbage, sizeof(garbage), 13000, 75,
                                        &for_90 };
    static shpool_allocator one;
    const shpool_blob *found = NULL;
    const shpool_blob *spill = NULL;
    const shpool_blob *arena = NULL;

    one = fake_allocator("l_two", SHPOOL_SCOPE_BLOCK, 0);
    one.lto_ir = &for_75;
    assert_int_equal(shpool_register(&one), SHPOOL_OK);
    assert_int_equal(shpool_link_code("l_two", 89, &found, &spill), SHPOOL_OK);
    assert_ptr_equal(found, &for_75);
    assert_int_equal(shpool_link_code("l_two:spill=arena", 90, &found, &arena), SHPOOL_OK);
    assert_ptr_equal(found, &for_90);
    assert_true((spill == NULL) ? (arena == NULL) : (spill != arena));
    /* LTO-IR for a letter is for kernels with any letter, from its architecture on */
    assert_int_equal(shpool_link_code("l_two", 100, &found, &spill), SHPOOL_OK);
    assert_ptr_equal(found, &for_90);
    assert_int_equal(shpool_link_code("l_two", 100 | SHPOOL_ARCH_LETTER('f'), &found, &spill),
                     SHPOOL_OK);
    assert_ptr_equal(found, &for_90a);

    assert_int_equal(shpool_link_code("l_without", 90, &found, &spill), SHPOOL_ERR_UNSUPPORTED);
    assert_null(found);
    assert_null(spill);
    assert_int_equal(shpool_link_code("l_tw", 90, &found, &spill), SHPOOL_ERR_NOT_FOUND);
    assert_int_equal(shpool_link_code(NULL, 90, &found, &spill), SHPOOL_ERR_INVALID);
    assert_int_equal(shpool_link_code("l_two", 90, NULL, &spill), SHPOOL_ERR_INVALID);
    assert_int_equal(shpool_link_code("l_two", 90, &found, NULL), SHPOOL_ERR_INVALID);
    assert_detail("spill_p");
    assert_null(found);
}

/* With libnvJitLink its refusal is reported, without it the names that were tried. */
UNIT_TEST(test_garbage_is_refused)
{
    void *cubin;
    size_t bytes;
    shpool_status status = shpool_link(garbage, sizeof(garbage), "l_with", 90, &cubin, &bytes);

    assert_null(cubin);
    assert_int_equal(bytes, 0);
    if (status == SHPOOL_ERR_UNSUPPORTED) {
        assert_detail("libnvJitLink.so.13, libnvJitLink.so.12");
    } else {
        assert_int_equal(status, SHPOOL_ERR_LINK);
        assert_detail("nvJitLink failed at the kernel");
    }
}

UNIT_TEST(test_devices)
{
    shpool_driver_device devices[2];
    uint32_t version = 1;
    size_t count = 1;
    shpool_status status = shpool_driver_devices(devices, 2, &count, &version);

    if (status != SHPOOL_OK) {
        assert_int_equal(count, 0);
        assert_int_equal(version, 0);
        assert_true(strlen(shpool_last_error()) > 0);
        return;
    }
    assert_true(count >= 1);
    assert_true(devices[0].arch >= 30);
    assert_true(devices[0].multiprocessors >= 1);
    assert_true(devices[0].shared_block_optin >= devices[0].shared_block);
}

UNIT_TEST(test_devices_refuses_null)
{
    uint32_t version;
    size_t count;

    assert_int_equal(shpool_driver_devices(NULL, 1, &count, &version), SHPOOL_ERR_INVALID);
    assert_int_equal(shpool_driver_devices(NULL, 0, NULL, &version), SHPOOL_ERR_INVALID);
    assert_int_equal(shpool_driver_devices(NULL, 0, &count, NULL), SHPOOL_ERR_INVALID);
}

UNIT_GROUP(register_fakes, NULL)
