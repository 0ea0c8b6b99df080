/* SPDX-License-Identifier: BSD-3-Clause */
/* The folder of linked kernels: whatever others do to it, within its bound. */
#include "cache_trial.h"

#include <signal.h>
#include <sys/resource.h>

/* Change one byte for certain: a key or a digest may hold any byte already. */
static void change_file(const char *path, off_t at)
{
    int file = open(path, O_RDWR);
    char byte;

    assert_true(file >= 0);
    if (at < 0) {
        at += lseek(file, 0, SEEK_END);
    }
    assert_int_equal(pread(file, &byte, 1, at), 1);
    byte ^= 0x55;
    assert_int_equal(pwrite(file, &byte, 1, at), 1);
    close(file);
}

/* One link, then the file is changed: the next one must notice, and put a whole one there. */
static void damaged_file_is_replaced(void (*damage)(const char *path))
{
    char path[2 * PATH_BYTES];
    char name[256];
    uint64_t whole;
    uint64_t bytes;

    use_folder();
    links("kernel=l");
    assert_int_equal(count_files(&whole, name), 1);
    in_folder(path, name);
    damage(path);
    links("clear kernel=l files=1");
    (void)count_files(&bytes, name);
    assert_int_equal(bytes, whole);
    links("clear kernel=d");
}

static void change_last_byte(const char *path) { change_file(path, -1); }
static void change_first_byte_of_cubin(const char *path) { change_file(path, ENTRY_HEADER); }
static void change_magic(const char *path) { change_file(path, 0); }
static void change_format(const char *path) { change_file(path, 8); }
static void change_linker(const char *path) { change_file(path, 12); }
static void change_key(const char *path) { change_file(path, 304); }
static void change_length(const char *path) { change_file(path, 336); }
static void change_digest(const char *path) { change_file(path, 344); }
static void let_group_write(const char *path) { assert_int_equal(chmod(path, 0620), 0); }
static void let_all_write(const char *path) { assert_int_equal(chmod(path, 0602), 0); }
static void cut_cubin(const char *path) { assert_int_equal(truncate(path, ENTRY_HEADER + 3), 0); }
static void cut_header(const char *path) { assert_int_equal(truncate(path, 20), 0); }
static void empty(const char *path) { assert_int_equal(truncate(path, 0), 0); }

static void lengthen(const char *path)
{
    struct stat info;

    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(truncate(path, info.st_size + 1), 0);
}

static void tear(const char *path) /* the length is right, the second half was never written */
{
    struct stat info;

    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(truncate(path, ENTRY_HEADER + 10), 0);
    assert_int_equal(truncate(path, info.st_size), 0);
}

/* The link points to the whole entry, which is outside the folder and so is not counted. */
static void make_link(const char *path)
{
    char target[2 * PATH_BYTES];

    snprintf(target, sizeof(target), "%s.else", folder);
    assert_int_equal(rename(path, target), 0);
    assert_int_equal(symlink(target, path), 0);
}

static void make_fifo(const char *path)
{
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
}

CACHE_TEST(test_damaged_files_are_ignored_and_replaced)
{
    static void (*const damages[])(const char *path) = {
        change_last_byte, change_first_byte_of_cubin, change_magic, change_format, change_linker,
        change_key, change_length, change_digest, cut_cubin, cut_header, empty, lengthen, tear,
        make_link, make_fifo, let_group_write, let_all_write,
    };

    alarm(300); /* the FIFO has no writer: a call that waits for it is ended */
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(damages); i++) {
        damaged_file_is_replaced(damages[i]);
        shpool_memory_clear();
        assert_int_equal(tear_down(state), 0);
        assert_int_equal(mkdir(folder, 0700), 0);
    }
    alarm(0);
}

/* An entry that a program renamed is whole, but another kernel's. */
CACHE_TEST(test_a_renamed_entry_is_another_ones)
{
    char first[2 * PATH_BYTES];
    char second[2 * PATH_BYTES];
    char name[256];
    uint64_t bytes;

    use_folder();
    links("kernel1=l files=1");
    (void)count_files(&bytes, name);
    in_folder(first, name);
    snprintf(second, sizeof(second), "%s.else", folder);
    assert_int_equal(rename(first, second), 0);
    links("kernel2=l files=1");
    (void)count_files(&bytes, name);
    in_folder(first, name);
    assert_int_equal(rename(second, first), 0);
    links("clear kernel2=l clear kernel2=d kernel1=l");
}

/* With a slash at its end the path would lead through the link. */
CACHE_TEST(test_a_linked_folder_is_not_used)
{
    static const char *const ends[] = { "", "/", "//" };
    char path[2 * PATH_BYTES];
    char target[2 * PATH_BYTES];

    in_folder(target, "target");
    assert_int_equal(mkdir(target, 0700), 0);
    in_folder(path, "link");
    assert_int_equal(symlink(target, path), 0);
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(ends); i++) {
        in_folder(path, "link");
        strcat(path, ends[i]);
        assert_int_equal(setenv("SHPOOL_CACHE_DIR", path, 1), 0);
        shpool_config_reload();
        links("clear kernel=l clear kernel=l");
    }
    strcpy(folder, target);
    links("files=0");
    *strrchr(folder, '/') = '\0';
}

/* Only root can give a folder or a file away. */
CACHE_TEST(test_a_folder_of_others_is_not_used)
{
    if (geteuid() != 0) {
        skip();
    }
    use_folder();
    links("kernel=l");
    assert_int_equal(chown(folder, 4711, 4711), 0);
    links("clear kernel=l another=l files=1");
}

CACHE_TEST(test_files_of_others_are_not_read)
{
    char path[2 * PATH_BYTES];
    char name[256];
    uint64_t bytes;

    if (geteuid() != 0) {
        skip();
    }
    use_folder();
    links("kernel=l files=1");
    (void)count_files(&bytes, name);
    in_folder(path, name);
    assert_int_equal(chown(path, 4711, 4711), 0);
    links("clear kernel=l");
}

#define NUMBER_BYTES (ENTRY_HEADER + strlen("-arch=sm_90 -lto k00;ir;")) /* of a file */

/* Set the bound to `files` files of link_numbers(). */
static void set_bound(unsigned files)
{
    char text[32];

    snprintf(text, sizeof(text), "%zu", files * NUMBER_BYTES);
    assert_int_equal(setenv("SHPOOL_CACHE_BYTES", text, 1), 0);
    use_folder();
}

/* Kernels by their numbers, each followed by the origin, as links() has it. */
static void link_numbers(const char *numbers)
{
    for (; *numbers != '\0'; numbers += 2) {
        char words[] = "clear k0N=l";

        words[8] = numbers[0];
        words[10] = numbers[1];
        links(words);
        (void)usleep(20 * 1000); /* longer than a tick of a file system's clock */
    }
}

CACHE_TEST(test_least_recently_used_is_deleted_first)
{
    set_bound(3);
    link_numbers("1l2l3l");
    links("files=3");
    link_numbers("1d4l"); /* instead of 2 */
    links("files=3");
    link_numbers("1d3d4d2l");
}

CACHE_TEST(test_what_is_larger_than_the_bound_is_not_kept)
{
    set_bound(0);
    link_numbers("1l");
    links("files=0");
}

CACHE_TEST(test_a_lower_bound_holds_from_the_next_link_on)
{
    set_bound(3);
    link_numbers("1l2l");
    links("files=2");
    set_bound(0);
    link_numbers("3l");
    links("files=0");
}

/* A limit on files cuts an entry, as a full disk does: the link succeeds, and nothing is left. */
CACHE_TEST(test_what_is_cut_is_not_kept)
{
    struct rlimit before;
    struct rlimit little;

    use_folder();
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    (void)signal(SIGXFSZ, SIG_IGN);
    for (rlim_t most = 0; most <= ENTRY_HEADER + 5; most += (most < ENTRY_HEADER) ? 188 : 5) {
        little = (struct rlimit){ most, before.rlim_max };
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
        links("kernel=l");
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        links("files=0 clear");
    }
    links("kernel=l files=1");
}

CACHE_TEST(test_orphans_of_dead_writers_are_deleted)
{
    static const struct { const char *name; long age; int stays; } files[] = {
        { ".shpool-tmp-now", 0, 1 },           { ".shpool-tmp-1-2-3-0", 1000000, 0 },
        { ".shpool-tmp-early", 300, 1 },       { "a_users_file", 1000000, 1 },
        { ".shpool-tmp-late", -300, 1 },       { ".shpool-tmp-future", -1000000, 0 },
        { "a_users_file_too", -1000000, 1 },   { ".shpool-tmp-far", -1000000000, 0 },
    };
    char path[2 * PATH_BYTES];

    use_folder();
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(files); i++) {
        const struct timespec when = { time(NULL) - files[i].age, 0 };

        in_folder(path, files[i].name);
        close(open(path, O_CREAT | O_WRONLY, 0600));
        assert_int_equal(utimensat(AT_FDCWD, path, (struct timespec[2]){ when, when }, 0), 0);
    }
    links("kernel=l");
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(files); i++) {
        in_folder(path, files[i].name);
        if ((access(path, F_OK) == 0) != files[i].stays) {
            fail_msg("%s %s", files[i].name, files[i].stays ? "is deleted" : "stays");
        }
    }
}

/* ---- many at once ---- */

#define CROWD_PROCESSES 4u
#define CROWD_THREADS   3u
#define CROWD_ROUNDS    200u
#define CROWD_KERNELS   12u
#define CROWD_BOUND     5u

/* Outside CMocka: a child's and a thread's failed assertion would go nowhere.  1: all was right. */
static int crowd_round(unsigned number, unsigned round)
{
    char text[16];
    char right[64];
    void *cubin = NULL;
    size_t bytes = 0;
    int same;

    snprintf(text, sizeof(text), "k%02u", (number * 7 + round * 5) % CROWD_KERNELS);
    snprintf(right, sizeof(right), "-arch=sm_90 -lto %s;ir;", text);
    if ((round % 3) == 0) {
        shpool_memory_clear();
    }
    if (shpool_link(text, strlen(text), "c_one", 90, &cubin, &bytes) != SHPOOL_OK) {
        return 0;
    }
    same = (bytes == strlen(right)) && (memcmp(cubin, right, bytes) == 0);
    free(cubin);
    return same;
}

static void *crowd_thread(void *arg)
{
    const unsigned number = *(const unsigned *)arg;

    for (unsigned round = 0; round < CROWD_ROUNDS; round++) {
        if (!crowd_round(number, round)) {
            return arg;
        }
    }
    return NULL;
}

static int crowd_process(unsigned process)
{
    pthread_t threads[CROWD_THREADS];
    unsigned numbers[CROWD_THREADS];
    int wrong = 0;

    for (unsigned i = 0; i < CROWD_THREADS; i++) {
        numbers[i] = process * CROWD_THREADS + i;
        wrong |= pthread_create(&threads[i], NULL, crowd_thread, &numbers[i]) != 0;
    }
    for (unsigned i = 0; (i < CROWD_THREADS) && !wrong; i++) {
        void *failed = NULL;

        wrong |= (pthread_join(threads[i], &failed) != 0) || (failed != NULL);
    }
    return wrong;
}

CACHE_TEST(test_a_crowd_of_processes_and_threads)
{
    pid_t children[CROWD_PROCESSES];
    char name[256];
    uint64_t bytes;
    unsigned files;

    set_bound(CROWD_BOUND);
    for (unsigned i = 0; i < CROWD_PROCESSES; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            _exit(crowd_process(i));
        }
    }
    for (unsigned i = 0; i < CROWD_PROCESSES; i++) {
        int status = 1;

        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    files = count_files(&bytes, name);
    assert_in_range(files, 1, CROWD_BOUND); /* no temporary files besides the entries either */
    assert_true(bytes % files == 0);
    assert_true(bytes / files == NUMBER_BYTES);
}

UNIT_GROUP(set_up_group, NULL)
