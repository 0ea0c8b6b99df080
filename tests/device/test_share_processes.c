/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that two processes share, each with a fake driver of its own over the same memory.  The
 * parent exports.  A child's checks are its exit status.
 */
#include "share_trial.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define BYTES   (6 * MIB)
#define SECONDS 300u /* until a process is taken for one that waits */

static int socket_of[2]; /* the parent's and the child's end */

/* ---- the child ---- */

#define EXPECT(_condition)                                                                         \
    do {                                                                                           \
        if (!(_condition)) {                                                                       \
            fprintf(stderr, "child: %s:%d: %s: %s\n", __FILE__, __LINE__, #_condition,             \
                    shpool_last_error());                                                          \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

static void say(int socket)
{
    char word = 'x';

    (void)!write(socket, &word, 1);
}

/* 0: the other end is closed. */
static int hear(int socket)
{
    char word;

    return read(socket, &word, 1) == 1;
}

static shpool_device_import *receive_and_open(void)
{
    shpool_device_handle handle;
    shpool_device_import *import;

    EXPECT(shpool_device_handle_receive(socket_of[1], &handle) == SHPOOL_OK);
    EXPECT(shpool_device_import_open(&handle, -1, &import) == SHPOOL_OK);
    shpool_device_handle_close(&handle);
    EXPECT(shpool_device_import_bytes(import) == BYTES);
    return import;
}

static void expect_all(const char *at, char value)
{
    for (size_t i = 0; i < BYTES; i += 512) {
        EXPECT(at[i] == value);
    }
    EXPECT(at[BYTES - 1] == value);
}

/* Reads, writes, and closes. */
static void read_and_write(void)
{
    shpool_device_import *import = receive_and_open();
    char *ptr = shpool_device_import_ptr(import);

    expect_all(ptr, 'p');
    memset(ptr, 'c', BYTES);
    say(socket_of[1]);
    EXPECT(hear(socket_of[1]));
    expect_all(ptr, 'q'); /* bytes that the parent wrote later */
    EXPECT(shpool_device_import_close(import) == SHPOOL_OK);
    say(socket_of[1]);
}

/* Reads when the parent has freed the memory, and again when the parent is gone. */
static void read_after_the_free(void)
{
    shpool_device_import *import = receive_and_open();
    char *ptr = shpool_device_import_ptr(import);

    say(socket_of[1]);
    EXPECT(hear(socket_of[1]));
    expect_all(ptr, 'p');
    EXPECT(!hear(socket_of[1]));
    expect_all(ptr, 'p');
    EXPECT(shpool_device_import_close(import) == SHPOOL_OK);
}

static void die_with_it_open(void)
{
    shpool_device_import *import = receive_and_open();

    expect_all(shpool_device_import_ptr(import), 'p');
    say(socket_of[1]);
    raise(SIGKILL);
}

/* Sees only the device that the parent calls 1. */
static void find_the_device(void)
{
    shpool_device_import *import;

    fake_start(1, 64 * MIB);
    fake.hidden = 1;
    import = receive_and_open();
    EXPECT(shpool_device_import_device(import) == 0);
    expect_all(shpool_device_import_ptr(import), 'p');
    EXPECT(shpool_device_import_close(import) == SHPOOL_OK);
    say(socket_of[1]);
}

/* Hands the handle on without a driver. */
static void forward(void)
{
    shpool_device_handle handle;

    EXPECT(shpool_device_handle_receive(socket_of[1], &handle) == SHPOOL_OK);
    EXPECT(shpool_device_handle_send(socket_of[1], &handle) == SHPOOL_OK);
    shpool_device_handle_close(&handle);
}

static pid_t spawn(void (*body)(void))
{
    pid_t child;

    assert_int_equal(0, socketpair(AF_UNIX, SOCK_STREAM, 0, socket_of));
    child = fork(); /* before either has used a driver */
    assert_true(child >= 0);
    if (child == 0) {
        unsigned descriptors;

        alarm(SECONDS);
        close(socket_of[0]);
        descriptors = count_descriptors();
        fake_start(2, 1024 * MIB);
        body();
        EXPECT(fake_stop().imports == 0);
        EXPECT(fake_violations() == 0);
        EXPECT(descriptors == count_descriptors());
        _exit(0);
    }
    close(socket_of[1]);
    return child;
}

static void expect_success(pid_t child)
{
    int status = 1;

    assert_int_equal(child, waitpid(child, &status, 0));
    assert_int_equal(0, status);
}

/* ---- the parent ---- */

static char *export_to_child(int device)
{
    shpool_device_handle handle;
    char *ptr;

    alarm(SECONDS);
    fake_start(2, 1024 * MIB);
    fake_set_current(0);
    open_allocator(SHARED, device, &allocator);
    ptr = get(allocator, BYTES, NULL);
    memset(ptr, 'p', BYTES);
    handle = export_of(ptr);
    assert_ok(shpool_device_handle_send(socket_of[0], &handle));
    shpool_device_handle_close(&handle);
    return ptr;
}

static void stop(void)
{
    end();
    alarm(0);
}

UNIT_TEST(test_two_processes_read_and_write)
{
    pid_t child = spawn(read_and_write);
    char *ptr = export_to_child(0);

    assert_true(hear(socket_of[0]));
    for (size_t i = 0; i < BYTES; i += 512) {
        assert_int_equal('c', ptr[i]);
    }
    memset(ptr, 'q', BYTES);
    say(socket_of[0]);
    assert_true(hear(socket_of[0]));
    put(allocator, ptr, NULL);
    close(socket_of[0]);
    expect_success(child);
    stop();
}

UNIT_TEST(test_the_exporter_frees_first_and_goes)
{
    pid_t child = spawn(read_after_the_free);
    char *ptr = export_to_child(0);
    void *next;

    assert_true(hear(socket_of[0]));
    put(allocator, ptr, NULL);
    next = get(allocator, BYTES, NULL);
    memset(next, 'z', BYTES);
    say(socket_of[0]);
    put(allocator, next, NULL);
    stop(); /* all of the parent's driver is gone */
    close(socket_of[0]);
    expect_success(child);
}

UNIT_TEST(test_the_importer_dies)
{
    pid_t child = spawn(die_with_it_open);
    char *ptr = export_to_child(0);
    int status;

    assert_true(hear(socket_of[0]));
    assert_int_equal(child, waitpid(child, &status, 0));
    assert_true(WIFSIGNALED(status));
    fake_work(NULL, ptr, BYTES);
    put(allocator, ptr, NULL);
    close(socket_of[0]);
    stop();
}

UNIT_TEST(test_the_importer_sees_other_devices)
{
    pid_t child = spawn(find_the_device);
    char *ptr = export_to_child(1);

    assert_true(hear(socket_of[0]));
    put(allocator, ptr, NULL);
    close(socket_of[0]);
    expect_success(child);
    stop();
}

/* A third process between the two, which has no driver. */
UNIT_TEST(test_a_handle_is_forwarded)
{
    pid_t child = spawn(forward);
    char *ptr = export_to_child(0);
    shpool_device_handle handle;
    shpool_device_import *import;

    assert_ok(shpool_device_handle_receive(socket_of[0], &handle));
    import = import_of(&handle);
    shpool_device_handle_close(&handle);
    ptr[1] = 'f';
    assert_int_equal('f', ((char *)shpool_device_import_ptr(import))[1]);
    assert_ok(shpool_device_import_close(import));
    put(allocator, ptr, NULL);
    close(socket_of[0]);
    expect_success(child);
    stop();
}

/* A child of a process that used the driver cannot use it, but may close and forward handles. */
UNIT_TEST(test_a_forked_child_has_no_driver)
{
    shpool_device_handle handle;
    shpool_device_import *import;
    pid_t child;
    void *ptr;

    begin(SHARED);
    ptr = get(allocator, 100, NULL);
    handle = export_of(ptr);
    import = import_of(&handle);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        shpool_device_handle other;
        shpool_device_import *none;
        int pair[2];

        alarm(SECONDS);
        EXPECT(shpool_device_export(allocator, ptr, &other) == SHPOOL_ERR_CUDA);
        EXPECT((other.magic == 0) && (other.fd == -1));
        EXPECT(shpool_device_import_open(&handle, -1, &none) == SHPOOL_ERR_CUDA);
        EXPECT(shpool_device_import_close(import) == SHPOOL_OK);
        EXPECT(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
        EXPECT(shpool_device_handle_send(pair[0], &handle) == SHPOOL_OK);
        EXPECT(shpool_device_handle_receive(pair[1], &other) == SHPOOL_OK);
        shpool_device_handle_close(&other);
        shpool_device_handle_close(&handle);
        _exit(0);
    }
    expect_success(child);
    assert_int_equal(1, fake_holds().imports); /* the child's close did nothing to it */
    assert_ok(shpool_device_import_close(import));
    shpool_device_handle_close(&handle);
    put(allocator, ptr, NULL);
    end();
}
