/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sending handles: sent handles arrive, forged ones are refused, and every descriptor is closed
 * exactly once.
 */
#include "config.h" /* _GNU_SOURCE, for memfd_create() */
#include "share_trial.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>

static int ends[2];
static unsigned descriptors; /* when a test began */

static void start_on(int type)
{
    descriptors = count_descriptors();
    assert_int_equal(0, socketpair(AF_UNIX, type, 0, ends));
}

static void start(void)
{
    start_on(SOCK_STREAM);
}

static void hang_up(int end)
{
    if (ends[end] >= 0) {
        assert_int_equal(0, close(ends[end]));
        ends[end] = -1;
    }
}

static void finish(void)
{
    hang_up(0);
    hang_up(1);
    assert_int_equal(descriptors, count_descriptors());
}

static int some_file(void)
{
    int file = memfd_create("test", MFD_CLOEXEC);

    assert_true(file >= 0);
    return file;
}

static shpool_device_handle some_handle(void)
{
    return (shpool_device_handle){
        .magic = SHPOOL_DEVICE_HANDLE_MAGIC, .version = SHPOOL_DEVICE_HANDLE_VERSION,
        .fd = some_file(), .bytes = 2 * MIB, .uuid = { 1, 2, 3 },
    };
}

/* Data from a malicious process: any bytes, any descriptors. */
static void send_raw(const void *data, size_t bytes, const int *file, size_t files)
{
    struct iovec part = { (void *)(uintptr_t)data, bytes };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(64 * sizeof(int))];
    } control;

    if (files > 0) {
        memset(&control, 0, sizeof(control));
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(files * sizeof(int));
        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_RIGHTS;
        control.header.cmsg_len = CMSG_LEN(files * sizeof(int));
        memcpy(CMSG_DATA(&control.header), file, files * sizeof(int));
    }
    assert_int_equal(bytes, sendmsg(ends[0], &message, MSG_NOSIGNAL));
}

static void expect(shpool_status status, const char *detail)
{
    shpool_device_handle got;

    memset(&got, 1, sizeof(got));
    assert_int_equal(status, shpool_device_handle_receive(ends[1], &got));
    assert_detail(detail);
    assert_int_equal(0, got.magic);
    assert_int_equal(-1, got.fd);
}

/* ---- valid handles ---- */

UNIT_TEST(test_a_handle_arrives)
{
    static const int types[] = { SOCK_STREAM, SOCK_SEQPACKET };

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(types); i++) {
        shpool_device_handle sent;
        shpool_device_handle got;
        int file;

        start_on(types[i]);
        sent = some_handle();
        assert_ok(shpool_device_handle_send(ends[0], &sent));
        assert_ok(shpool_device_handle_receive(ends[1], &got));
        assert_int_not_equal(sent.fd, got.fd);
        assert_int_equal(4, pwrite(got.fd, "same", 4, 0));
        assert_int_equal(FD_CLOEXEC, fcntl(got.fd, F_GETFD));
        assert_int_equal(4, lseek(sent.fd, 0, SEEK_END));
        file = got.fd;
        got.fd = sent.fd;
        assert_memory_equal(&sent, &got, sizeof(sent));
        got.fd = file;
        shpool_device_handle_close(&got);
        shpool_device_handle_close(&sent);
        finish();
    }
}

UNIT_TEST(test_handles_keep_their_order)
{
    start();
    for (uint64_t i = 1; i < 20; i++) {
        shpool_device_handle handle = some_handle();

        handle.bytes = i;
        assert_int_equal(1, pwrite(handle.fd, "x", 1, (off_t)i - 1));
        assert_ok(shpool_device_handle_send(ends[0], &handle));
        shpool_device_handle_close(&handle);
    }
    for (uint64_t i = 1; i < 20; i++) {
        shpool_device_handle handle;

        assert_ok(shpool_device_handle_receive(ends[1], &handle));
        assert_int_equal(i, handle.bytes);
        assert_int_equal(i, lseek(handle.fd, 0, SEEK_END)); /* with its own descriptor */
        shpool_device_handle_close(&handle);
    }
    finish();
}

/* A zeroed handle's descriptor would be 0, the standard input. */
UNIT_TEST(test_an_empty_handle_closes_nothing)
{
    shpool_device_handle handle;
    unsigned before = count_descriptors();

    memset(&handle, 0, sizeof(handle));
    shpool_device_handle_close(&handle);
    assert_int_equal(-1, handle.fd);
    shpool_device_handle_close(&handle);
    shpool_device_handle_close(NULL);
    assert_int_equal(before, count_descriptors());
}

/* ---- sockets that fail ---- */

UNIT_TEST(test_a_closed_socket_is_an_error)
{
    shpool_device_handle handle = some_handle();

    start();
    hang_up(1);
    assert_int_equal(SHPOOL_ERR_SYSTEM, shpool_device_handle_send(ends[0], &handle));
    assert_detail("could not be sent"); /* and no SIGPIPE */
    assert_int_equal(SHPOOL_ERR_SYSTEM, shpool_device_handle_send(-1, &handle));
    finish();
    start();
    hang_up(0);
    expect(SHPOOL_ERR_SYSTEM, "closed after 0 of 64 bytes");
    assert_int_equal(SHPOOL_ERR_INVALID, shpool_device_handle_receive(ends[1], NULL));
    finish();
    start();
    send_raw(&handle, 40, &handle.fd, 1);
    hang_up(0);
    expect(SHPOOL_ERR_SYSTEM, "closed after 40 of 64 bytes");
    finish();
    close(handle.fd);
}

/* The kernel drops a descriptor that the process may not have. */
UNIT_TEST(test_too_many_open_descriptors_are_an_error)
{
    shpool_device_handle handle = some_handle();
    struct rlimit before;
    struct rlimit none;

    start();
    assert_ok(shpool_device_handle_send(ends[0], &handle));
    assert_int_equal(0, getrlimit(RLIMIT_NOFILE, &before));
    none = before;
    none.rlim_cur = 0;
    assert_int_equal(0, setrlimit(RLIMIT_NOFILE, &none));
    expect(SHPOOL_ERR_SYSTEM, "may not open more");
    assert_int_equal(0, setrlimit(RLIMIT_NOFILE, &before));
    finish();
    close(handle.fd);
}

static void *trickle(void *arg)
{
    const shpool_device_handle *handle = arg;

    for (size_t i = 0; i < sizeof(*handle); i++) {
        send_raw((const char *)handle + i, 1, &handle->fd, i == 30);
        usleep((i % 20 == 0) ? 1000 : 0);
    }
    return arg;
}

UNIT_TEST(test_a_handle_comes_in_pieces)
{
    shpool_device_handle sent = some_handle();
    shpool_device_handle got;
    pthread_t thread;

    start();
    assert_int_equal(0, pthread_create(&thread, NULL, trickle, &sent));
    assert_ok(shpool_device_handle_receive(ends[1], &got));
    assert_int_equal(0, pthread_join(thread, NULL));
    assert_int_equal(2 * MIB, got.bytes);
    shpool_device_handle_close(&got);
    finish();
    shpool_device_handle_close(&sent);
}

static void ignore_signal(int number)
{
    (void)number;
}

static void *interrupt(void *arg)
{
    const shpool_device_handle *handle = arg;

    for (int i = 0; i < 20; i++) {
        usleep(1000);
        kill(getpid(), SIGUSR1);
    }
    assert_ok(shpool_device_handle_send(ends[0], handle));
    return arg;
}

UNIT_TEST(test_a_signal_does_not_end_the_wait)
{
    struct sigaction action = { .sa_handler = ignore_signal }; /* no SA_RESTART */
    struct sigaction before;
    shpool_device_handle sent = some_handle();
    shpool_device_handle got;
    pthread_t thread;

    start();
    assert_int_equal(0, sigaction(SIGUSR1, &action, &before));
    assert_int_equal(0, pthread_create(&thread, NULL, interrupt, &sent));
    assert_ok(shpool_device_handle_receive(ends[1], &got));
    assert_int_equal(0, pthread_join(thread, NULL));
    assert_int_equal(0, sigaction(SIGUSR1, &before, NULL));
    shpool_device_handle_close(&got);
    finish();
    shpool_device_handle_close(&sent);
}

/* ---- forged handles ---- */

UNIT_TEST(test_wrong_descriptors_are_refused)
{
    shpool_device_handle handle = some_handle();
    int file[20];

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(file); i++) {
        file[i] = handle.fd;
    }
    start();
    send_raw(&handle, sizeof(handle), NULL, 0);
    expect(SHPOOL_ERR_INVALID, "it has no descriptor"); /* whatever number it came with */
    send_raw(&handle, sizeof(handle), file, 2);
    expect(SHPOOL_ERR_INVALID, "more than one descriptor");
    send_raw(&handle, sizeof(handle), file, 20); /* more than there is room for */
    expect(SHPOOL_ERR_INVALID, "more than one descriptor");
    send_raw(&handle, 50, file, 1);
    send_raw((char *)&handle + 50, sizeof(handle) - 50, file, 1);
    expect(SHPOOL_ERR_INVALID, "more than one descriptor");
    finish();
    close(handle.fd);
}

/* Every field in turn; the same is refused when it is sent or imported. */
UNIT_TEST(test_wrong_fields_are_refused)
{
    static const struct { size_t at; size_t bytes; uint64_t value; shpool_status status;
                          const char *detail; } wrong[] = {
#define FIELD(_field) offsetof(shpool_device_handle, _field), \
                      sizeof(((shpool_device_handle *)0)->_field)
        { FIELD(magic), 0, SHPOOL_ERR_INVALID, "it is empty" },
        { FIELD(magic), 1, SHPOOL_ERR_INVALID, "it begins with other bytes" },
        { FIELD(version), 0, SHPOOL_ERR_ABI, "version 0" },
        { FIELD(version), 2, SHPOOL_ERR_ABI, "version 2, this library knows 1" },
        { FIELD(reserved32), 1, SHPOOL_ERR_INVALID, "a reserved field is not 0" },
        { FIELD(bytes), 0, SHPOOL_ERR_INVALID, "its size is not possible" },
        { FIELD(bytes), UINT64_MAX, SHPOOL_ERR_INVALID, "its size is not possible" },
        { FIELD(reserved[2]), 1, SHPOOL_ERR_INVALID, "a reserved field is not 0" },
#undef FIELD
    };

    start();
    fake_start(1, 64 * MIB);
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(wrong); i++) {
        shpool_device_handle handle = some_handle();
        int file = handle.fd;
        shpool_device_import *import;

        memcpy((char *)&handle + wrong[i].at, &wrong[i].value, wrong[i].bytes);
        send_raw(&handle, sizeof(handle), &file, 1);
        expect(wrong[i].status, wrong[i].detail);
        assert_int_equal(wrong[i].status, shpool_device_handle_send(ends[0], &handle));
        assert_detail(wrong[i].detail);
        assert_int_equal(wrong[i].status, shpool_device_import_open(&handle, -1, &import));
        assert_detail(wrong[i].detail);
        assert_null(import);
        close(file);
    }
    assert_int_equal(SHPOOL_ERR_INVALID, shpool_device_handle_send(ends[0], NULL));
    assert_int_equal(0, fake_stop().imports);
    finish();
}

UNIT_TEST(test_noise_is_refused)
{
    static const uint32_t front[] = { SHPOOL_DEVICE_HANDLE_MAGIC, SHPOOL_DEVICE_HANDLE_VERSION };
    unsigned char noise[sizeof(shpool_device_handle)];
    uint64_t random = 1;

    start();
    for (int round = 0; round < 2000; round++) {
        shpool_device_handle got;
        int file = some_file();
        int files[] = { file, file };

        for (size_t i = 0; i < sizeof(noise); i++) {
            random = random * 6364136223846793005ull + 1442695040888963407ull;
            noise[i] = (unsigned char)(random >> 60 > 3 ? 0 : random >> 33);
        }
        if (round % 2 == 0) { /* so that some get past the first two checks */
            memcpy(noise, front, sizeof(front));
        }
        send_raw(noise, sizeof(noise), files, (size_t)round % 3);
        if (shpool_device_handle_receive(ends[1], &got) == SHPOOL_OK) {
            assert_true((got.fd >= 0) && (got.bytes > 0));
            shpool_device_handle_close(&got);
        }
        close(file);
    }
    finish();
}

/* ---- errors that the driver finds ---- */

static void begin_import(void)
{
    descriptors = count_descriptors();
    ends[0] = ends[1] = -1;
    begin(SHARED);
}

static void end_import(void)
{
    assert_int_equal(0, fake_holds().imports);
    end();
    finish();
}

static void refuse_import(const shpool_device_handle *handle, shpool_status status,
                          const char *detail)
{
    shpool_device_import *import = (shpool_device_import *)(uintptr_t)1;

    assert_int_equal(status, shpool_device_import_open(handle, -1, &import));
    assert_detail(detail);
    assert_null(import);
    assert_int_equal(0, fake_holds().imports);
}

UNIT_TEST(test_sizes_that_are_made_up_are_refused)
{
    static const struct { uint64_t bytes; shpool_status status; const char *detail; } cases[] = {
        { 4 * MIB + 4096, SHPOOL_ERR_INVALID, "4198400 bytes are not whole granules of 2097152" },
        { 6 * MIB, SHPOOL_ERR_CUDA, "cuMemMap" },
        { (uint64_t)1 << 36, SHPOOL_ERR_CUDA, "cuMemMap" }, /* ThreadSanitizer has room for it */
    };
    shpool_device_handle handle;
    void *ptr;

    begin_import();
    ptr = get(allocator, 4 * MIB, NULL);
    handle = export_of(ptr);
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(cases); i++) {
        handle.bytes = cases[i].bytes;
        refuse_import(&handle, cases[i].status, cases[i].detail);
    }
    shpool_device_handle_close(&handle);
    put(allocator, ptr, NULL);
    end_import();
}

/* The message describes the descriptor. */
UNIT_TEST(test_descriptors_of_other_things_are_refused)
{
    shpool_device_handle handle;
    void *ptr;
    int file;
    int ends_of_pipe[2];

    begin_import();
    ptr = get(allocator, 100, NULL);
    handle = export_of(ptr);
    file = handle.fd;
    handle.fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    refuse_import(&handle, SHPOOL_ERR_CUDA, "cuMemImportFromShareableHandle(");
    assert_detail("which is /dev/null)");
    close(handle.fd);
    refuse_import(&handle, SHPOOL_ERR_INVALID, "is not open");
    assert_int_equal(0, pipe(ends_of_pipe));
    handle.fd = ends_of_pipe[1];
    refuse_import(&handle, SHPOOL_ERR_CUDA, "which is pipe:[");
    close(ends_of_pipe[0]);
    close(ends_of_pipe[1]);
    close(file);
    assert_int_equal(SHPOOL_ERR_INVALID, shpool_device_import_open(NULL, -1, NULL));
    put(allocator, ptr, NULL);
    end_import();
}

UNIT_TEST(test_a_driver_that_cannot_import_says_so)
{
    shpool_device_handle handle;
    void *ptr;

    begin_import();
    ptr = get(allocator, 100, NULL);
    handle = export_of(ptr);
    fake_without_sharing();
    refuse_import(&handle, SHPOOL_ERR_UNSUPPORTED, "CUDA 11.4");
    shpool_device_handle_close(&handle);
    put(allocator, ptr, NULL);
    end_import();
}
