/* SPDX-License-Identifier: BSD-3-Clause */
/* Pictures of pools over time, and why a request failed. */
#include "tests/growth.h"
#include "trace_text.h"

#include "tools/bench/trace/heap_map.h"

static size_t count_of(const char *text, const char *word)
{
    const size_t bytes = strlen(word);
    size_t count = 0;

    for (; *text != '\0'; text++) {
        count += strncmp(text, word, bytes) == 0;
    }
    return count;
}

/* Every tag is closed, in order, and no text has characters that XML requires to be escaped. */
static void expect_well_formed(const char *text)
{
    char open[32][16];
    size_t depth = 0;

    assert_memory_equal(text, "<?xml ", 6);
    for (const char *at = strstr(text, "?>") + 2; *at != '\0'; at++) {
        const char *end;
        char name[16] = "";

        if (*at == '&') {
            assert_true((strncmp(at, "&amp;", 5) == 0) || (strncmp(at, "&lt;", 4) == 0) ||
                        (strncmp(at, "&gt;", 4) == 0) || (strncmp(at, "&quot;", 6) == 0));
        }
        if (*at != '<') {
            continue;
        }
        end = strchr(at, '>');
        assert_non_null(end);
        (void)sscanf(at + 1 + (at[1] == '/'), "%15[a-z]", name);
        assert_true(name[0] != '\0');
        assert_int_equal(count_of(name, "<"), 0);
        if (at[1] == '/') {
            assert_true(depth > 0);
            assert_string_equal(open[--depth], name);
        } else if (end[-1] != '/') {
            assert_true(depth < SHPOOL_ARRAY_COUNT(open));
            strcpy(open[depth++], name);
        }
        at = end;
    }
    assert_int_equal(depth, 0);
}

static char *draw(const trace_file *trace, const heap_map_options *options)
{
    char *text = NULL;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);

    assert_non_null(to);
    assert_int_equal(heap_map_write(to, trace, &trace->lives[0], options), 0);
    assert_int_equal(fclose(to), 0);
    return text;
}

static void test_map(void **state)
{
    trace_trial *t = *state;
    const heap_map_options all = { 0, TRACE_NONE, HEAP_MAP_THREAD };
    const heap_map_options part = { 5, 7, HEAP_MAP_SIZE };
    heap_map_fault fault;
    trace_file trace;
    char *text;

    read_text(t->path, handed_text, &trace);
    strcpy(trace.allocator, "<a&\"b>");
    text = draw(&trace, &all);
    expect_well_formed(text);
    assert_int_equal(count_of(text, "class=\"a\""), 4); /* one of the 3 was resized */
    assert_int_equal(count_of(text, "class=\"f\""), 1);
    assert_non_null(strstr(text, "&lt;a&amp;&quot;b&gt;"));
    /* 0..208 and 256..368 are taken of 1,024 */
    assert_non_null(strstr(text, "thread 0 requested 800 bytes; pool 0 has 704 free, the largest "
                                 "hole 656 at 0x170, between thread 1's 100 bytes at 0x100 and "
                                 "the end of the pool"));
    assert_int_equal(heap_map_explain(&trace, &trace.lives[0], 2, &fault), 0);
    assert_int_equal(fault.free_bytes, 1024 - 208 - 112);
    assert_int_equal(fault.hole, 656);
    assert_int_equal(fault.below, 1);
    assert_int_equal(fault.above, TRACE_NONE);
    /* bytes times operations: 208 * 3 + 112 + 64 * 2, and 112 * 5 */
    assert_int_equal(count_of(text, "class=\"k\""), 2);
    assert_non_null(strstr(text, ">thread 0: 61%<"));
    assert_non_null(strstr(text, ">thread 1: 39%<"));
    assert_true(strstr(text, ">thread 0: 61%") < strstr(text, ">thread 1: 39%"));
    free(text);
    text = draw(&trace, &part);
    expect_well_formed(text);
    assert_int_equal(count_of(text, "class=\"a\""), 2);
    assert_int_equal(count_of(text, "class=\"f\""), 0);
    assert_int_equal(count_of(text, "class=\"k\""), 1);
    assert_non_null(strstr(text, ">64 to 127 bytes: 100%<"));
    free(text);
    trace_file_free(&trace);
}

/* The upper and the lower edge of what is drawn as allocations (class a; merged: m), in pixels. */
static void edges_of(const char *text, const char *start, double *top, double *bottom)
{
    *top = 1e9;
    *bottom = 0.0;
    for (text = strstr(text, start); text != NULL; text = strstr(text + 1, start)) {
        double y = 0.0;
        double height = 0.0;

        assert_int_equal(sscanf(text + strlen(start), " x=\"%*f\" y=\"%lf\" width=\"%*f\" "
                                "height=\"%lf\"", &y, &height), 2);
        *top = (y < *top) ? y : *top;
        *bottom = (y + height > *bottom) ? y + height : *bottom;
    }
}

/* The picture shows the used part of the pools, whatever their size, over its whole height. */
static void test_crop(void **state)
{
    static const struct {
        const char *text;
        const char *used;
        size_t pools; /* lines of their edges, and of what was used */
    } rows[] = {
        { HEAD("2", "2", "1", "65536") "block 0 launch 1 records 3 dropped 0\n"
          "m 0 0x400 256 256 16 0\nm 1 0x600 100 112 16 0\nf 1 0x600 0 0\nend 1\n",
          "used: 0x400 to 0x670<", 2 },
        { HEAD("2", "1", "2", "4096") "block 0 launch 1 records 2 dropped 0\n"
          "m 0 0xf00 16 16 16 0\nm 1 0x1100 100 112 16 0\nend 1\n",
          "used: 0xf00 to 0x1170<", 3 },
        { HEAD("1", "1", "1", "4096") "block 0 launch 1 records 2 dropped 0\n"
          "m 0 0x100 16 16 16 0\nr 0 0x100 500 512\nend 1\n", "used: 0x100 to 0x300<", 2 },
        /* what allocators do not give out is no part of the pools */
        { HEAD("1", "1", "1", "1024") "block 0 launch 1 records 2 dropped 0\n"
          "m 0 0x100 16 16 16 0\nm 0 0x3f0 64 64 16 0\nend 1\n", "used: 0x100 to 0x400<", 2 },
        { HEAD("1", "1", "1", "1024") "block 0 launch 1 records 1 dropped 0\n"
          "m 0 - 2000 0 16 0\nend 1\n", "nothing was used<", 2 },
    };
    trace_trial *t = *state;
    const heap_map_options all = { 0, TRACE_NONE, HEAP_MAP_THREAD };
    double top;
    double bottom;
    trace_file trace;
    char *text;

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(rows); i++) {
        read_text(t->path, rows[i].text, &trace);
        text = draw(&trace, &all);
        expect_well_formed(text);
        if (strstr(text, rows[i].used) == NULL) {
            fail_msg("row %zu: no \"%s\"", i, rows[i].used);
        }
        assert_int_equal(count_of(text, "class=\"p\""), rows[i].pools);
        edges_of(text, "class=\"a\"", &top, &bottom);
        if (i < 3) { /* TOP and BELOW of the picture */
            assert_in_range(100.0 * top, 7199, 7201);
            assert_in_range(100.0 * bottom, 55199, 55201);
        }
        free(text);
        trace_file_free(&trace);
    }
}

/* 800 pixels are as wide as a page: nothing in words is longer than it shows. */
static void test_width(void **state)
{
    trace_trial *t = *state;
    const heap_map_options all = { 0, TRACE_NONE, HEAP_MAP_THREAD };
    trace_file trace;
    char *text;

    read_text(t->path, groups_text, &trace);
    text = draw(&trace, &all);
    assert_non_null(strstr(text, " width=\"800\" "));
    assert_true(count_of(text, "class=\"w\"") >= 4); /* two sentences, of two lines each */
    for (const char *at = text; (at = strstr(at, "class=\"w\"")) != NULL;) {
        at = strchr(at, '>') + 1;
        assert_in_range(strcspn(at, "<"), 1, 124);
    }
    free(text);
    trace_file_free(&trace);
}

/* Neighbours differ for readers with any colour vision: the colours of Okabe and Ito, in turn. */
static void test_colours(void **state)
{
    uint32_t light = 0;

    (void)state;
    for (uint32_t i = 0; i < 35; i++) {
        for (uint32_t k = 0; k < i; k++) {
            assert_int_not_equal(heap_map_rgb(HEAP_MAP_THREAD, i),
                                 heap_map_rgb(HEAP_MAP_THREAD, k));
        }
    }
    assert_int_equal(heap_map_rgb(HEAP_MAP_THREAD, 0), 0x0072b2);
    assert_int_equal(heap_map_rgb(HEAP_MAP_THREAD, 3), 0xd55e00);
    for (uint32_t i = 3; i <= 14; i++) { /* the larger, the lighter: green counts most */
        const uint32_t rgb = heap_map_rgb(HEAP_MAP_SIZE, i);
        const uint32_t y = 2 * (rgb >> 16 & 255u) + 7 * (rgb >> 8 & 255u) + (rgb & 255u);

        assert_true(y > light);
        light = y;
    }
    assert_int_equal(heap_map_rgb(HEAP_MAP_SIZE, 31), heap_map_rgb(HEAP_MAP_SIZE, 14));
    assert_int_equal(heap_map_rgb(HEAP_MAP_SIZE, 0), heap_map_rgb(HEAP_MAP_SIZE, 3));
}

/* The legend omits the one of nine threads that held least; its colours match the rectangles. */
static void test_legend(void **state)
{
    trace_trial *t = *state;
    const heap_map_options threads = { 0, TRACE_NONE, HEAP_MAP_THREAD };
    const heap_map_options sizes = { 0, TRACE_NONE, HEAP_MAP_SIZE };
    FILE *file = fopen(t->path, "w");
    char why[512];
    char key[64];
    trace_file trace;
    char *text;

    assert_non_null(file);
    fputs(HEAD("9", "9", "1", "20000") "block 0 launch 1 records 9 dropped 0\n", file);
    for (uint32_t i = 0; i < 9; i++) { /* the longer, the larger; thread 8 has least */
        fprintf(file, "m %u 0x%x %u %u 16 0\n", i, 0x800 * i, 2048 >> i, 2048 >> i);
    }
    fputs("end 1\n", file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(trace_file_read(t->path, &trace, why, sizeof(why)), 0);
    text = draw(&trace, &threads);
    expect_well_formed(text);
    assert_int_equal(count_of(text, "class=\"k\""), 8);
    assert_non_null(strstr(text, "590.00\">thread 0: "));
    assert_non_null(strstr(text, "590.00\">thread 3: "));
    assert_non_null(strstr(text, "606.00\">thread 4: ")); /* the second line */
    assert_non_null(strstr(text, "606.00\">thread 7: "));
    assert_null(strstr(text, "0\">thread 8: "));
    snprintf(key, sizeof(key), "fill=\"#%06x\"", heap_map_rgb(HEAP_MAP_THREAD, 7));
    assert_int_equal(count_of(text, key), 2); /* its rectangle, and the legend */
    free(text);
    text = draw(&trace, &sizes);
    expect_well_formed(text);
    assert_int_equal(count_of(text, "class=\"k\""), 8);
    assert_non_null(strstr(text, ">2 to 4 KiB: "));
    assert_non_null(strstr(text, ">512 to 1023 bytes: "));
    free(text);
    trace_file_free(&trace);
}

/* The allocator's data at the start of a pool is not a hole, as far as all pools show it. */
static void test_head(void **state)
{
    static const char *const texts[] = {
        HEAD("2", "1", "2", "1024") "block 0 launch 1 records 3 dropped 0\n"
        "m 0 0x80 16 16 16 0\nm 1 0x460 16 16 16 0\nm 0 - 950 0 16 0\nend 1\n",
        /* no allocation that low: at most the overhead of a fresh pool */
        HEAD("2", "1", "2", "1024") "block 0 launch 1 records 2 dropped 0\n"
        "m 0 0x100 16 16 16 0\nm 0 - 950 0 16 0\nend 1\n",
        /* spilled: not in the pools */
        HEAD("2", "1", "2", "1024") "block 0 launch 1 records 3 dropped 0\n"
        "m 0 0x100 16 16 16 0\nm 0 g0x10 16 16 16 0\nm 0 - 950 0 16 0\nend 1\n",
    };
    static const uint32_t ats[] = { 2, 1, 2 };
    static const uint32_t frees[] = { 1024 - 96 - 16, 900 - 16, 900 - 16 };
    trace_trial *t = *state;
    const heap_map_options all = { 0, TRACE_NONE, HEAP_MAP_THREAD };
    heap_map_fault fault;
    trace_file trace;
    char *text;

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(texts); i++) {
        read_text(t->path, texts[i], &trace);
        assert_int_equal(heap_map_explain(&trace, &trace.lives[0], ats[i], &fault), 0);
        assert_int_equal(fault.free_bytes, frees[i]);
        trace_file_free(&trace);
    }
    read_text(t->path, HEAD("1", "1", "1", "1024") "block 0 launch 1 records 4 dropped 0\n"
              "m 0 0x60 16 16 16 0\nf 0 0x60 0 0\nm 0 0x200 500 512 16 0\nm 0 - 600 0 16 0\n"
              "end 1\n", &trace);
    text = draw(&trace, &all);
    assert_non_null(strstr(text, "the largest hole 416 at 0x60, between the pool's metadata and "
                                 "thread 0's 500 bytes at 0x200<"));
    free(text);
    trace_file_free(&trace);
    read_text(t->path, HEAD("1", "1", "1", "1024") "block 0 launch 1 records 2 dropped 0\n"
              "m 0 0x60 928 928 16 0\nm 0 - 600 0 16 0\nend 1\n", &trace);
    text = draw(&trace, &all); /* full: no hole, and nothing around it */
    assert_non_null(strstr(text, "requested 600 bytes; pool 0 has 0 free<"));
    free(text);
    trace_file_free(&trace);
}

#define TAKEN(_records, _later)                                                                    \
    HEAD("3", "3", "1", "1024") "block 0 launch 1 records " _records " dropped 0\n"                \
    "m 0 0x60 16 16 16 0\nm 1 0x200 256 256 16 0\nm 0 - 300 0 16 0\n" _later "end 1\n"

/* The hole of 400 bytes at 0x70 was large enough: did a malloc that is recorded later take it? */
static void test_taken(void **state)
{
    static const struct {
        const char *text;
        uint32_t takers;
        uint32_t taken;
        uint32_t left;
    } rows[] = {
        { TAKEN("4", "m 2 0x100 200 208 16 0\n"), 1, 3, 256 },
        { TAKEN("5", "f 0 0x60 0 0\nm 2 0x100 200 208 16 0\n"), 1, 4, 256 },
        { TAKEN("5", "m 2 0x100 16 16 16 0\nm 1 0x190 100 112 16 0\n"), 2, 3, 256 },
        { TAKEN("4", "m 2 0x1e0 16 16 16 0\n"), 1, 3, 368 },
        /* it was not under way: its thread did something else in between */
        { TAKEN("5", "m 2 - 800 0 16 0\nm 2 0x100 200 208 16 0\n"), 0, TRACE_NONE, 400 },
        { TAKEN("4", "m 0 0x100 200 208 16 0\n"), 0, TRACE_NONE, 400 },
        /* another one had it first */
        { TAKEN("7", "m 1 - 900 0 16 0\nm 1 0x100 200 208 16 0\nf 1 0x100 0 0\n"
                "m 2 0x100 200 208 16 0\n"), 0, TRACE_NONE, 400 },
        /* a part of it was freed later */
        { TAKEN("5", "f 0 0x60 0 0\nm 2 0x60 200 208 16 0\n"), 0, TRACE_NONE, 400 },
        /* elsewhere */
        { TAKEN("4", "m 2 0x300 16 16 16 0\n"), 0, TRACE_NONE, 400 },
    };
    trace_trial *t = *state;
    const heap_map_options all = { 0, TRACE_NONE, HEAP_MAP_THREAD };
    heap_map_fault fault;
    trace_file trace;
    char *text;

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(rows); i++) {
        read_text(t->path, rows[i].text, &trace);
        assert_int_equal(heap_map_explain(&trace, &trace.lives[0], 2, &fault), 0);
        assert_int_equal(fault.hole, 400);
        assert_int_equal(fault.hole_at, 0x70);
        assert_int_equal(fault.takers, rows[i].takers);
        assert_int_equal(fault.taken, rows[i].taken);
        assert_int_equal(fault.left, rows[i].left);
        text = draw(&trace, &all);
        expect_well_formed(text);
        assert_int_equal(strstr(text, "operation 2: ") != NULL, 1);
        assert_int_equal(strstr(text, "already taken in it: thread 2's ") != NULL,
                         rows[i].takers != 0);
        assert_int_equal(strstr(text, ") and 1 more") != NULL, rows[i].takers == 2);
        assert_int_equal(strstr(text, " *</text>") != NULL, rows[i].left >= 300);
        free(text);
        trace_file_free(&trace);
    }
    /* too small anyway */
    read_text(t->path, HEAD("2", "2", "1", "1024") "block 0 launch 1 records 3 dropped 0\n"
              "m 0 0x0 512 512 16 0\nm 0 - 600 0 16 0\nm 1 0x200 16 16 16 0\nend 1\n", &trace);
    assert_int_equal(heap_map_explain(&trace, &trace.lives[0], 1, &fault), 0);
    assert_int_equal(fault.takers, 0);
    assert_int_equal(fault.left, 512);
    trace_file_free(&trace);
}

/* A group has a name, a colour and a part of the legend. */
static void test_groups(void **state)
{
    static const char *const said[] = {
        "<title>thread 5: 64 bytes", "<title>warp 0: 256 bytes",
        "<title>lanes 8-15 of warp 0: 128 bytes", "<title>warp 2: 64 bytes",
        "<title>warp 1: 512 bytes", "<title>the block: 1024 bytes",
        "operation 5: the block requested 4000 bytes; pool 0 has ",
        "between 64 bytes of warp 2 at 0x1c0 and the end",
        ">the block: ", ">warp 1: ", ">warp 0: ", ">lanes 8-15 of warp 0: ", ">warp 2: ",
        ">thread 5: ",
    };
    trace_trial *t = *state;
    const heap_map_options all = { 0, TRACE_NONE, HEAP_MAP_THREAD };
    const heap_map_options sizes = { 0, TRACE_NONE, HEAP_MAP_SIZE };
    trace_file trace;
    char key[64];
    char *text;

    read_text(t->path, groups_text, &trace);
    text = draw(&trace, &all);
    expect_well_formed(text);
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(said); i++) {
        if (strstr(text, said[i]) == NULL) {
            fail_msg("\"%s\" is missing", said[i]);
        }
    }
    assert_int_equal(count_of(text, "class=\"k\""), 6);
    snprintf(key, sizeof(key), "fill=\"#%06x\"", heap_map_rgb(HEAP_MAP_THREAD, 31 * 72));
    assert_int_equal(count_of(text, key), 2); /* warp 0 */
    snprintf(key, sizeof(key), "fill=\"#%06x\"", heap_map_rgb(HEAP_MAP_THREAD, 32 * 72));
    assert_int_equal(count_of(text, key), 2); /* the block, whose first thread is the same */
    free(text);
    text = draw(&trace, &sizes);
    expect_well_formed(text);
    assert_non_null(strstr(text, ">1 to 2 KiB: "));
    free(text);
    trace_file_free(&trace);
}

static void test_names(void **state)
{
    static const struct {
        uint32_t thread;
        uint32_t members;
        uint32_t threads;
        const char *name;
    } rows[] = {
        { 0, 1, 1, "thread 0" },           { 1023, 1, 1024, "thread 1023" },
        { 32, 32, 64, "warp 1" },          { 32, 8, 40, "warp 1" },
        { 32, 7, 40, "lanes 0-6 of warp 1" }, { 8, 8, 64, "lanes 8-15 of warp 0" },
        { 30, 2, 64, "lanes 30-31 of warp 0" }, { 0, 20, 20, "warp 0" },
        { 5, 32, 64, "warp 0" },           { 62, 8, 64, "lanes 24-31 of warp 1" },
        { 39, 4, 40, "lanes 4-7 of warp 1" }, { 0, 33, 33, "the block" },
        { 3, 1024, 1024, "the block" },    { 32, 31, 1024, "lanes 0-30 of warp 1" },
    };
    char name[TRACE_WHO_BYTES];

    (void)state;
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(rows); i++) {
        const trace_threads who = trace_threads_of(rows[i].thread, rows[i].members,
                                                   rows[i].threads);

        assert_string_equal(trace_who(rows[i].thread, rows[i].members, rows[i].threads, name),
                            rows[i].name);
        assert_true(who.first + who.count <= rows[i].threads);
        assert_int_equal(who.count, rows[i].members);
    }
}

#define GROUPS_TAKEN(_later)                                                                       \
    HEAD_OF("2", "64", "64", "1", "1024") "block 0 launch 1 records 5 dropped 0\n"                 \
    "m 0 0x60 16 16 16 0\nm 1 0x200 256 256 16 0\nm 8+7 - 300 0 16 0\n" _later "end 1\n"

/* A group's malloc may have been under way if it is the first thing that all of its members did. */
static void test_taken_by_groups(void **state)
{
    static const struct {
        const char *text;
        uint32_t taken;
    } rows[] = {
        { GROUPS_TAKEN("m 32+31 0x100 200 208 16 0\nm 2 - 900 0 16 0\n"), 3 },
        { GROUPS_TAKEN("m 16+7 0x100 200 208 16 0\nm 2 - 900 0 16 0\n"), 3 },
        { GROUPS_TAKEN("m 40 - 900 0 16 0\nm 32+31 0x100 200 208 16 0\n"), TRACE_NONE },
        { GROUPS_TAKEN("m 32+31 - 900 0 16 0\nm 40 0x100 200 208 16 0\n"), TRACE_NONE },
        /* who failed was not anywhere else */
        { GROUPS_TAKEN("m 12 0x100 200 208 16 0\nm 2 - 900 0 16 0\n"), TRACE_NONE },
        { GROUPS_TAKEN("m 0+31 0x100 200 208 16 0\nm 2 - 900 0 16 0\n"), TRACE_NONE },
        { GROUPS_TAKEN("m 0+63 0x100 200 208 16 0\nm 2 - 900 0 16 0\n"), TRACE_NONE },
    };
    trace_trial *t = *state;
    const heap_map_options all = { 0, TRACE_NONE, HEAP_MAP_THREAD };
    heap_map_fault fault;
    trace_file trace;
    char *text;

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(rows); i++) {
        read_text(t->path, rows[i].text, &trace);
        assert_int_equal(heap_map_explain(&trace, &trace.lives[0], 2, &fault), 0);
        assert_int_equal(fault.hole, 400);
        if (fault.taken != rows[i].taken) {
            fail_msg("row %zu: taken by operation %u, not %u", i, fault.taken, rows[i].taken);
        }
        text = draw(&trace, &all);
        assert_non_null(strstr(text, "operation 2: lanes 8-15 of warp 0 requested 300 bytes"));
        assert_int_equal(strstr(text, "in it: 200 bytes of warp 1 at 0x100 (op") != NULL, i == 0);
        free(text);
        trace_file_free(&trace);
    }
}

/* Allocations that are freed at once, beside one that stays. */
static void draw_many(void *of, unsigned pairs)
{
    trace_trial *t = of;
    const heap_map_options all = { 0, TRACE_NONE, HEAP_MAP_THREAD };
    char merged[80];
    FILE *file = fopen(t->path, "w");
    char why[512];
    double top;
    double bottom;
    trace_file trace;
    char *text;

    assert_non_null(file);
    fprintf(file, HEAD("2", "2", "1", "1024") "block 0 launch 1 records %u dropped 0\n"
            "m 1 0x200 16 16 16 0\n", 2 * pairs + 1);
    for (unsigned i = 0; i < pairs; i++) {
        fputs("m 0 0x100 16 16 16 0\nf 0 0x100 0 0\n", file);
    }
    fputs("end 1\n", file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(trace_file_read(t->path, &trace, why, sizeof(why)), 0);
    text = draw(&trace, &all);
    expect_well_formed(text);
    assert_int_equal(count_of(text, "class=\"a\""), 1);
    assert_int_equal(count_of(text, "class=\"m\""), 704);
    edges_of(text, "class=\"m\"", &top, &bottom); /* the lowest 16 of 272 bytes that were used */
    assert_in_range(100.0 * top, 55200 - 2900, 55200 - 2600);
    assert_in_range(100.0 * bottom, 55199, 55201);
    (void)snprintf(merged, sizeof(merged), "%u allocations that lived for less", pairs);
    assert_non_null(strstr(text, merged));
    free(text);
    trace_file_free(&trace);
}

/* 200,000 operations: short lives are merged, long ones are drawn. */
static void test_map_of_many(void **state)
{
    assert_linear(draw_many, *state, 100000);
}

/* Lives that are long enough to be drawn, except a few at the end. */
static void draw_many_that_stay(void *of, unsigned lives)
{
    const unsigned most = lives / 100;
    trace_trial *t = of;
    const heap_map_options all = { 0, TRACE_NONE, HEAP_MAP_THREAD };
    FILE *file = fopen(t->path, "w");
    char why[512];
    trace_file trace;
    char *text;

    assert_non_null(file);
    fprintf(file, HEAD("2", "2", "1", "16000") "block 0 launch 1 records %u dropped 0\n",
            2 * lives - most);
    for (unsigned i = 0; i < lives; i++) {
        if (i >= most) {
            fprintf(file, "f 0 0x%x 0 0\n", i % most * 16);
        }
        fprintf(file, "m 0 0x%x 16 16 16 0\n", i % most * 16);
    }
    fputs("end 1\n", file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(trace_file_read(t->path, &trace, why, sizeof(why)), 0);
    text = draw(&trace, &all);
    assert_in_range(count_of(text, "class=\"a\""), lives - most, lives);
    free(text);
    trace_file_free(&trace);
}

static void test_map_of_many_that_stay(void **state)
{
    assert_linear(draw_many_that_stay, *state, 100000);
}

#define TRIAL(_test) cmocka_unit_test_setup_teardown(_test, make_path, remove_path)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TRIAL(test_map),
        TRIAL(test_crop),
        TRIAL(test_width),
        cmocka_unit_test(test_colours),
        TRIAL(test_legend),
        TRIAL(test_head),
        TRIAL(test_taken),
        TRIAL(test_groups),
        TRIAL(test_names),
        TRIAL(test_taken_by_groups),
        TRIAL(test_map_of_many),
        TRIAL(test_map_of_many_that_stay),
    };

    if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
