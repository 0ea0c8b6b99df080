/* SPDX-License-Identifier: BSD-3-Clause */
/* Linked kernels are kept in memory and in a folder: hits and misses. */
#include "cache_trial.h"

/* From FIPS 180-4's examples; the message is `text`, repeated `times` times. */
static void expect_digest_by(int by_x86, const char *text, unsigned times, const char *expected)
{
    shpool_sha256 sha = shpool_sha256_begin();
    shpool_digest digest;
    char digits[2 * sizeof(digest) + 1];

    sha.by_x86 = by_x86;
    for (unsigned i = 0; i < times; i++) {
        shpool_sha256_add(&sha, text, strlen(text));
    }
    digest = shpool_sha256_end(&sha);
    for (size_t i = 0; i < sizeof(digest); i++) {
        snprintf(digits + 2 * i, 3, "%02x", digest.byte[i]);
    }
    assert_string_equal(digits, expected);
}

static void expect_digest(const char *text, unsigned times, const char *expected)
{
    expect_digest_by(0, text, times, expected);
    expect_digest_by(shpool_sha256_has_x86(), text, times, expected);
}

CACHE_TEST(test_digest_is_sha256)
{
    expect_digest("abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    expect_digest("", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    expect_digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
                  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    expect_digest("aaaaaaaaaa", 100000,
                  "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* Padding and length may need a block of their own: digests of n times 'a', chained. */
CACHE_TEST(test_digest_of_every_length)
{
    shpool_sha256 all = shpool_sha256_begin();
    char text[200];
    shpool_digest digest;

    memset(text, 'a', sizeof(text));
    for (size_t bytes = 0; bytes < sizeof(text); bytes++) {
        shpool_sha256 sha = shpool_sha256_begin();

        shpool_sha256_add(&sha, text, bytes / 3);
        shpool_sha256_add(&sha, text, bytes - bytes / 3);
        digest = shpool_sha256_end(&sha);
        shpool_sha256_add(&all, &digest, sizeof(digest));
    }
    digest = shpool_sha256_end(&all);
    assert_memory_equal(&digest,
                        "\x75\x2c\x00\x7f\x38\x61\x1c\xfb\xf5\xfa\x42\xcb\x1c\xea\x3d\x8e"
                        "\x08\x64\x91\xc8\x44\xd0\xcc\x4d\xef\xd6\x32\xcb\x81\x42\x35\x06",
                        sizeof(digest));
}

/* The processor's instructions, where it has them, and C: of pieces of any length. */
CACHE_TEST(test_digests_of_instructions_and_of_c)
{
    unsigned char text[1000];
    uint32_t seed = 1;

    for (size_t i = 0; i < sizeof(text); i++) {
        seed = seed * 1664525u + 1013904223u;
        text[i] = (unsigned char)(seed >> 24);
    }
    for (size_t piece = 1; piece < sizeof(text); piece += 37) {
        shpool_sha256 sha = shpool_sha256_begin();
        shpool_sha256 by_c = shpool_sha256_begin();
        shpool_digest digest;
        shpool_digest expected;

        by_c.by_x86 = 0;
        shpool_sha256_add(&by_c, text, sizeof(text));
        for (size_t at = 0; at < sizeof(text); at += piece) {
            shpool_sha256_add(&sha, text + at,
                              (piece < sizeof(text) - at) ? piece : sizeof(text) - at);
        }
        digest = shpool_sha256_end(&sha);
        expected = shpool_sha256_end(&by_c);
        assert_memory_equal(&digest, &expected, sizeof(digest));
    }
}

CACHE_TEST(test_second_link_comes_from_memory)
{
    links("kernel=l kernel=m");
    assert_int_equal(fake.loads, 1);
    links("cuda=0 kernel=m");
}

CACHE_TEST(test_whatever_differs_is_linked_anew)
{
    use_folder();
    links("kernel=l kernel/100=l kernel+=l kerne=l kernek=l kernel=m kernel/100=m kernel+=m");
}

CACHE_TEST(test_failures_are_not_kept)
{
    void *cubin;
    size_t bytes;

    use_folder();
    fake.broken = "complete";
    assert_int_equal(shpool_link("kernel", 6, "c_one", 90, &cubin, &bytes), SHPOOL_ERR_LINK);
    fake.broken = NULL;
    links("kernel=l");
}

CACHE_TEST(test_memory_keeps_the_latest)
{
    char text[32];

    for (unsigned i = 0; i < SHPOOL_MEMORY_ENTRIES; i++) {
        snprintf(text, sizeof(text), "kernel%u=l", i);
        links(text);
    }
    links("kernel0=m one_more=l kernel0=m kernel2=m kernel1=l"); /* instead of kernel1 */
}

CACHE_TEST(test_memory_is_bounded_in_bytes)
{
    static const size_t bytes = SHPOOL_MEMORY_BYTES / 2;
    shpool_digest key[3] = { { { 1 } }, { { 2 } }, { { 3 } } };
    char *data = calloc(1, 2 * bytes + 1);
    void *found = NULL;
    size_t count;

    assert_non_null(data);
    for (unsigned i = 0; i < 3; i++) {
        shpool_memory_put(&key[i], data, bytes);
    }
    assert_int_equal(shpool_memory_get(&key[0], &found, &count), 0);
    assert_int_equal(shpool_memory_get(&key[2], &found, &count), 1);
    assert_int_equal(count, bytes);
    free(found);
    shpool_memory_put(&key[0], data, 2 * bytes + 1); /* more than all of it */
    assert_int_equal(shpool_memory_get(&key[0], &found, &count), 0);
    assert_int_equal(shpool_memory_get(&key[1], &found, &count), 1);
    free(found);
    free(data);
}

/* On a machine without nvJitLink. */
CACHE_TEST(test_another_process_finds_it_in_the_folder)
{
    use_folder();
    links("kernel=l files=1 clear cuda=0 kernel=d kernel=m");
    assert_int_equal(fake.loads, 1);
}

/* A newer nvJitLink may make better code, or the older one was wrong.  One that is too old for the
 * LTO-IR is as if it were not there. */
CACHE_TEST(test_another_linker_links_anew)
{
    use_folder();
    links("kernel=l clear cuda=12090 kernel=l files=1 clear kernel=d clear cuda=11080 kernel=d");
}

CACHE_TEST(test_without_a_folder_nothing_is_written)
{
    links("kernel=l clear kernel=l files=0");
}

CACHE_TEST(test_folder_is_made_for_the_user_alone)
{
    char path[2 * PATH_BYTES];
    char name[256];
    struct stat info;
    uint64_t bytes;

    assert_int_equal(rmdir(folder), 0);
    use_folder();
    links("kernel=l");
    assert_int_equal(stat(folder, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700 & info.st_mode);
    assert_int_equal(count_files(&bytes, name), 1);
    in_folder(path, name);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600 & info.st_mode);
}

/* Level and words of the latest warning. */
static char warning[2048];

static void listen(shpool_level level, const char *text, void *user)
{
    (void)user;
    if (level == SHPOOL_LEVEL_WARN) {
        snprintf(warning, sizeof(warning), "%s", text);
    }
}

static void expect_warning(const char *words)
{
    warning[0] = '\0';
    shpool_set_message_handler(listen, NULL);
    shpool_memory_clear();
    links("kernel=l");
    shpool_set_message_handler(NULL, NULL);
    if ((strstr(warning, words) == NULL) || (strstr(warning, "SHPOOL_CACHE_DIR") == NULL)) {
        fail_msg("\"%s\" is not in \"%s\"", words, warning);
    }
}

CACHE_TEST(test_folder_that_cannot_be_used_is_a_warning)
{
    static const struct { const char *path; mode_t mode; const char *words; } rows[] = {
        { "here/and/there", 0, "must begin with /" }, { "/proc/no/such/folder", 0, "No such file" },
        { "/dev/null", 0, "Not a directory" },        { folder, 0720, "chmod go-w" },
        { folder, 0702, "chmod go-w" },               { folder, 0500, "Permission denied" },
    };

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(rows); i++) {
        if ((rows[i].mode == 0500) && (geteuid() == 0)) {
            links("files=0"); /* root writes anywhere */
            return;
        }
        assert_int_equal(setenv("SHPOOL_CACHE_DIR", rows[i].path, 1), 0);
        shpool_config_reload();
        assert_int_equal((rows[i].mode != 0) ? chmod(folder, rows[i].mode) : 0, 0);
        expect_warning(rows[i].words);
    }
}

CACHE_TEST(test_bad_bound_is_an_error)
{
    void *cubin;
    size_t bytes;

    assert_int_equal(setenv("SHPOOL_CACHE_BYTES", "much", 1), 0);
    shpool_config_reload();
    assert_int_equal(shpool_link("kernel", 6, "c_one", 90, &cubin, &bytes), SHPOOL_ERR_SPEC);
    assert_detail("SHPOOL_CACHE_BYTES \"much\"");
    assert_null(cubin);
}

UNIT_GROUP(set_up_group, NULL)
