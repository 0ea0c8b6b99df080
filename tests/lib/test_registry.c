/* SPDX-License-Identifier: BSD-3-Clause */
/* The registered allocators, and the rules for registering more. */
#include "tests/unit.h"

#include <pthread.h>

static void expect_refused(const shpool_allocator *allocator, shpool_status expected,
                           const char *detail)
{
    size_t count = shpool_allocator_count();

    assert_int_equal(shpool_register(allocator), expected);
    assert_detail(detail);
    assert_int_equal(shpool_allocator_count(), count);
}

UNIT_TEST(test_builtins_are_sound)
{
    assert_true(shpool_allocator_count() >= 1);
    for (size_t i = 0; i < shpool_allocator_count(); i++) {
        const shpool_allocator *allocator = shpool_allocator_get(i);
        const shpool_allocator *found = NULL;

        assert_non_null(allocator);
        assert_int_equal(allocator->abi, SHPOOL_ABI);
        assert_int_equal(allocator->bytes, sizeof(*allocator));
        assert_true(shpool_name_is_valid(allocator->name));
        assert_non_null(allocator->summary);
        assert_non_null(allocator->layout);
        assert_int_equal(shpool_allocator_find(allocator->name, &found), SHPOOL_OK);
        assert_ptr_equal(found, allocator);
    }
    assert_null(shpool_allocator_get(shpool_allocator_count()));
    assert_null(shpool_allocator_get(SIZE_MAX));
}

UNIT_TEST(test_find_refuses_null)
{
    const shpool_allocator *found = (const shpool_allocator *)1;

    assert_int_equal(shpool_allocator_find(NULL, &found), SHPOOL_ERR_INVALID);
    assert_null(found);
    assert_int_equal(shpool_allocator_find("bitmap", NULL), SHPOOL_ERR_INVALID);
    assert_int_equal(shpool_allocator_find(SHPOOL_DEFAULT_ALLOCATOR, &found), SHPOOL_OK);
}

UNIT_TEST(test_unknown_name_lists_every_name)
{
    const shpool_allocator *found = (const shpool_allocator *)1;

    assert_int_equal(shpool_allocator_find("nothing_like_it", &found), SHPOOL_ERR_NOT_FOUND);
    assert_null(found);
    assert_detail("\"nothing_like_it\"");
    assert_null(strstr(shpool_last_error(), "did you mean"));
    for (size_t i = 0; i < shpool_allocator_count(); i++) {
        assert_detail(shpool_allocator_get(i)->name);
    }
}

UNIT_TEST(test_find_is_exact)
{
    static const char *const others[] = { "", "BITMAP", "bitmap ", "bitmap:check=1", "bitma" };
    const shpool_allocator *found;

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(others); i++) {
        assert_int_equal(shpool_allocator_find(others[i], &found), SHPOOL_ERR_NOT_FOUND);
    }
}

UNIT_TEST(test_register_then_find)
{
    static shpool_allocator fake;
    const shpool_allocator *found;
    size_t count = shpool_allocator_count();

    fake = fake_allocator("registered_one", SHPOOL_SCOPE_BLOCK, 0);
    assert_int_equal(shpool_register(&fake), SHPOOL_OK);
    assert_int_equal(shpool_allocator_count(), count + 1);
    assert_ptr_equal(shpool_allocator_get(count), &fake);
    assert_int_equal(shpool_allocator_find("registered_one", &found), SHPOOL_OK);
    assert_ptr_equal(found, &fake);

    expect_refused(&fake, SHPOOL_ERR_UNSUPPORTED, "taken");
    expect_refused(shpool_allocator_get(0), SHPOOL_ERR_UNSUPPORTED, "taken");
    assert_int_equal(shpool_allocator_find("registred_one", &found), SHPOOL_ERR_NOT_FOUND);
    assert_detail("did you mean \"registered_one\"?");
    /* swapped neighbours are one slip, not two */
    assert_int_equal(shpool_allocator_find("nlul", &found), SHPOOL_ERR_NOT_FOUND);
    assert_detail("did you mean \"null\"?");
}

UNIT_TEST(test_register_refuses_bad_names)
{
    static const char *const bad[] = {
        NULL, "", "Upper", "1st", "_a", "a-b", "a b", "a:b", "a|b", "a,b", "a=b", "a\xc3\xa4",
        "a23456789_123456789_123456789_12", "all", "default", "none",
    };

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(bad); i++) {
        shpool_allocator fake = fake_allocator(bad[i], SHPOOL_SCOPE_BLOCK, 0);

        expect_refused(&fake, SHPOOL_ERR_INVALID, "name");
    }
}

UNIT_TEST(test_register_takes_the_longest_name)
{
    static shpool_allocator fake;

    fake = fake_allocator("a23456789_123456789_123456789_1", SHPOOL_SCOPE_BLOCK, 0);
    assert_int_equal(strlen(fake.name), SHPOOL_NAME_BYTES - 1);
    assert_int_equal(shpool_register(&fake), SHPOOL_OK);
}

/* One field of an allocator that would be sound. */
UNIT_TEST(test_register_refuses_wrong_fields)
{
    static const shpool_table other = { .abi = SHPOOL_ABI + 1, .bytes = sizeof(other) };
    static const shpool_table *const other_at = &other;
    static const uint32_t abi = SHPOOL_ABI + 1, less = sizeof(shpool_allocator) - 8, five = 5;
    static const void *const nothing = NULL;
#define FIELD(_field, _value) offsetof(shpool_allocator, _field), &(_value), sizeof(_value)
    static const struct { size_t at; const void *value; size_t bytes; shpool_status status;
                          const char *detail; } rows[] = {
        { FIELD(layout, nothing), SHPOOL_ERR_INVALID, "layout" },
        { FIELD(summary, nothing), SHPOOL_ERR_INVALID, "summary" },
        { offsetof(shpool_allocator, scope), &nothing, 4, SHPOOL_ERR_INVALID, "scope" }, /* 0 */
        { FIELD(scope, five), SHPOOL_ERR_INVALID, "scope" },
        { FIELD(simt[1], other_at), SHPOOL_ERR_ABI, "simt[1]" },
        { FIELD(abi, abi), SHPOOL_ERR_ABI, "ABI 2" },
        { FIELD(bytes, less), SHPOOL_ERR_ABI, "bytes" },
    };
#undef FIELD

    expect_refused(NULL, SHPOOL_ERR_INVALID, "NULL");
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(rows); i++) {
        shpool_allocator fake = fake_allocator("incomplete", SHPOOL_SCOPE_BLOCK, 0);

        memcpy((char *)&fake + rows[i].at, rows[i].value, rows[i].bytes);
        expect_refused(&fake, rows[i].status, rows[i].detail);
    }
}

/* Functions for groups: both or neither, and where a warp has one pool. */
UNIT_TEST(test_register_refuses_half_a_group)
{
    const shpool_allocator *bitmap;
    shpool_allocator fake;
    shpool_table table;

    assert_int_equal(shpool_allocator_find("bitmap", &bitmap), SHPOOL_OK);
    fake = *bitmap;
    table = *bitmap->simt[0];
    fake.name = "half_a_group";
    fake.simt[0] = &table;
    table.release_group = NULL;
    expect_refused(&fake, SHPOOL_ERR_INVALID, "no release_group");
    table.release_group = bitmap->simt[0]->release_group;
    table.allocate_group = NULL;
    expect_refused(&fake, SHPOOL_ERR_INVALID, "no allocate_group");
    table.allocate_group = bitmap->simt[0]->allocate_group;
    fake.caps &= ~(uint32_t)SHPOOL_CAP_GROUP;
    expect_refused(&fake, SHPOOL_ERR_INVALID, "without it neither");
    fake.caps = bitmap->caps;
    fake.scope = SHPOOL_SCOPE_GROUP;
    expect_refused(&fake, SHPOOL_ERR_INVALID, "scope 2");
}

/* A kernel calls every function of a table; a missing one would be a jump to address 0. */
UNIT_TEST(test_register_refuses_table_without_function)
{
    static const struct { const char *name; size_t at; } functions[] = {
        { "layout", offsetof(shpool_table, layout) },
        { "init", offsetof(shpool_table, init) },
        { "allocate", offsetof(shpool_table, allocate) },
        { "release", offsetof(shpool_table, release) },
        { "resize", offsetof(shpool_table, resize) },
        { "usable", offsetof(shpool_table, usable) },
        { "largest", offsetof(shpool_table, largest) },
        { "walk", offsetof(shpool_table, walk) },
        { "owns", offsetof(shpool_table, owns) },
        { "spill", offsetof(shpool_table, spill) },
        { "unspill", offsetof(shpool_table, unspill) },
        { "fini", offsetof(shpool_table, fini) },
    };
    const shpool_table *whole = shpool_allocator_get(0)->simt[1];

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(functions); i++) {
        shpool_allocator fake = fake_allocator("half_a_table", SHPOOL_SCOPE_BLOCK, 0);
        shpool_table table = *whole;
        char expected[64];

        memset((char *)&table + functions[i].at, 0, sizeof(table.layout));
        fake.simt[1] = &table;
        snprintf(expected, sizeof(expected), "no function %s", functions[i].name);
        expect_refused(&fake, SHPOOL_ERR_INVALID, expected);
    }
}

UNIT_TEST(test_name_id_is_fnv1a)
{
    assert_int_equal(shpool_name_id(NULL), 0);
    assert_int_equal(shpool_name_id(""), 0x811c9dc5u);
    assert_int_equal(shpool_name_id("a"), 0xe40c292cu);
    assert_int_equal(shpool_name_id("foobar"), 0xbf9cf968u);
}

/* Runs last: the registry cannot be emptied again. */
#define FILLERS (SHPOOL_MAX_ALLOCATORS + 1)

static shpool_allocator fillers[FILLERS];
static char filler_names[FILLERS][SHPOOL_NAME_BYTES];

static void *fill_some(void *arg)
{
    const size_t first = *(const size_t *)arg;

    for (size_t i = first; i < FILLERS; i += 2) {
        shpool_register(&fillers[i]);
        shpool_allocator_get(i);
    }
    return NULL;
}

UNIT_TEST(test_full_registry_refuses_more)
{
    size_t first[2] = { 0, 1 };
    pthread_t thread[2];
    shpool_allocator fake = fake_allocator("one_too_many", SHPOOL_SCOPE_BLOCK, 0);

    for (size_t i = 0; i < FILLERS; i++) {
        snprintf(filler_names[i], sizeof(filler_names[i]), "filler_%zu", i);
        fillers[i] = fake_allocator(filler_names[i], SHPOOL_SCOPE_THREAD, 0);
    }
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&thread[i], NULL, fill_some, &first[i]), 0);
    }
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    }

    assert_int_equal(shpool_allocator_count(), SHPOOL_MAX_ALLOCATORS);
    expect_refused(&fake, SHPOOL_ERR_TOO_LARGE, "at most 64");
    test_builtins_are_sound(state);
    test_unknown_name_lists_every_name(state);
}
