/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles of shared memory: checked, sent over a Unix socket, received, closed.  No driver. */
#include "handle.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "device/base/share.h"

_Static_assert(sizeof(shpool_device_handle) == 64, "the handle is sent as it is in memory");

#define MOST_BYTES ((uint64_t)1 << 46) /* more than any device has */

/* Room for descriptors in a message: the kernel closes those that do not fit. */
#define MOST_DESCRIPTORS 16u

/* ---- check ---- */

static int is_zero(const void *data, size_t bytes)
{
    const unsigned char *at = data;

    while ((bytes > 0) && (*at == 0)) {
        at++;
        bytes--;
    }
    return bytes == 0;
}

/* NULL, or what is wrong. */
static const char *fault_of(const shpool_device_handle *handle)
{
    if (handle->fd < 0) {
        return "it has no descriptor";
    }
    if ((handle->bytes == 0) || (handle->bytes > MOST_BYTES)) {
        return "its size is not possible";
    }
    return ((handle->reserved32 == 0) && is_zero(handle->reserved, sizeof(handle->reserved)))
               ? NULL : "a reserved field is not 0";
}

shpool_status shpool_handle_check(const shpool_device_handle *handle)
{
    const char *fault;

    if (handle == NULL) {
        return shpool_error(SHPOOL_ERR_INVALID, "handle is NULL");
    }
    if (handle->magic != SHPOOL_DEVICE_HANDLE_MAGIC) {
        return shpool_error(SHPOOL_ERR_INVALID, "this is not a handle of shpool_device_export(): "
                            "%s", (handle->magic == 0) ? "it is empty"
                                                       : "it begins with other bytes");
    }
    if (handle->version != SHPOOL_DEVICE_HANDLE_VERSION) {
        return shpool_error(SHPOOL_ERR_ABI, "the handle has version %u, this library knows %u: let "
                            "both processes use one version of libshpool",
                            (unsigned)handle->version, SHPOOL_DEVICE_HANDLE_VERSION);
    }
    fault = fault_of(handle);
    return (fault == NULL) ? SHPOOL_OK
                           : shpool_error(SHPOOL_ERR_INVALID, "this is not a handle of "
                                          "shpool_device_export(): %s", fault);
}

void shpool_device_handle_close(shpool_device_handle *handle)
{
    if (handle == NULL) {
        return;
    }
    /* a zeroed one has the descriptor 0, and does not own it */
    if ((handle->magic == SHPOOL_DEVICE_HANDLE_MAGIC) && (handle->fd >= 0)) {
        (void)close(handle->fd);
    }
    *handle = shpool_share_nothing();
}

/* ---- send ---- */

/* Room for descriptors, aligned as the kernel requires. */
typedef union control {
    struct cmsghdr header;
    char room[CMSG_SPACE(MOST_DESCRIPTORS * sizeof(int))];
} control;

static void attach(struct msghdr *message, control *room, int fd)
{
    struct cmsghdr *header;

    memset(room, 0, sizeof(*room));
    message->msg_control = room;
    message->msg_controllen = CMSG_SPACE(sizeof(fd));
    header = CMSG_FIRSTHDR(message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(fd));
    memcpy(CMSG_DATA(header), &fd, sizeof(fd));
}

static shpool_status failed(const char *what)
{
    return shpool_error(SHPOOL_ERR_SYSTEM, "a handle could not be %s: %s", what,
                        shpool_file_error(errno));
}

shpool_status shpool_device_handle_send(int socket, const shpool_device_handle *handle)
{
    shpool_device_handle copy;
    size_t done = 0;
    shpool_status status = shpool_handle_check(handle);

    if (status != SHPOOL_OK) {
        return status;
    }
    copy = *handle;
    copy.fd = -1; /* the number means nothing in another process */
    while (done < sizeof(copy)) {
        struct iovec part = { (char *)&copy + done, sizeof(copy) - done };
        struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
        control room;
        ssize_t sent;

        if (done == 0) {
            attach(&message, &room, handle->fd); /* sent with the first byte */
        }
        sent = sendmsg(socket, &message, MSG_NOSIGNAL);
        if ((sent < 0) && (errno != EINTR)) {
            return failed("sent");
        }
        done += (sent > 0) ? (size_t)sent : 0;
    }
    return SHPOOL_OK;
}

/* ---- receive ---- */

typedef struct arrival {
    int fd;     /* the first descriptor, or -1 */
    int excess; /* excess descriptors arrived, which are closed */
    int cut;    /* the kernel closed some */
} arrival;

static void keep_first(arrival *a, const struct cmsghdr *header)
{
    size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);

    for (size_t i = 0; i < count; i++) {
        int fd;

        memcpy(&fd, CMSG_DATA(header) + i * sizeof(fd), sizeof(fd));
        if (a->fd < 0) {
            a->fd = fd;
        } else {
            (void)close(fd);
            a->excess = 1;
        }
    }
}

/* Receive one piece: the result of recvmsg(), with its descriptors collected. */
static ssize_t receive_some(int socket, void *to, size_t bytes, arrival *a)
{
    struct iovec part = { to, bytes };
    control room;
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &room,
                              .msg_controllen = sizeof(room) };
    ssize_t got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_WAITALL);

    for (struct cmsghdr *header = (got >= 0) ? CMSG_FIRSTHDR(&message) : NULL; header != NULL;
         header = CMSG_NXTHDR(&message, header)) {
        if ((header->cmsg_level == SOL_SOCKET) && (header->cmsg_type == SCM_RIGHTS)) {
            keep_first(a, header);
        }
    }
    a->cut |= (got >= 0) && ((message.msg_flags & MSG_CTRUNC) != 0);
    return got;
}

static shpool_status check_arrival(const arrival *a, const shpool_device_handle *handle)
{
    if (a->excess) {
        return shpool_error(SHPOOL_ERR_INVALID, "a handle came with more than one descriptor");
    }
    if (a->cut) { /* not for lack of room in the message */
        return shpool_error(SHPOOL_ERR_SYSTEM, "a handle's descriptor could not be received: this "
                            "process may not open more (ulimit -n)");
    }
    return shpool_handle_check(handle);
}

static shpool_status receive_all(int socket, shpool_device_handle *handle, arrival *a)
{
    size_t done = 0;

    while (done < sizeof(*handle)) {
        ssize_t got = receive_some(socket, (char *)handle + done, sizeof(*handle) - done, a);

        if ((got < 0) && (errno != EINTR)) {
            return failed("received");
        }
        if (got == 0) {
            return shpool_error(SHPOOL_ERR_SYSTEM, "a handle could not be received: the other end "
                                "was closed after %zu of %zu bytes", done, sizeof(*handle));
        }
        done += (got > 0) ? (size_t)got : 0;
    }
    return SHPOOL_OK;
}

shpool_status shpool_device_handle_receive(int socket, shpool_device_handle *handle_p)
{
    shpool_device_handle handle;
    arrival a = { .fd = -1 };
    shpool_status status;

    if (handle_p == NULL) {
        return shpool_error(SHPOOL_ERR_INVALID, "handle_p is NULL");
    }
    *handle_p = shpool_share_nothing();
    status = receive_all(socket, &handle, &a);
    if (status == SHPOOL_OK) {
        handle.fd = a.fd; /* never the other process's value */
        status = check_arrival(&a, &handle);
    }
    if (status == SHPOOL_OK) {
        *handle_p = handle;
    } else if (a.fd >= 0) {
        (void)close(a.fd);
    }
    return status;
}
