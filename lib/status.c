/* SPDX-License-Identifier: BSD-3-Clause */
/* Version, status texts, and failures: the detail is kept, and sent as a message. */
#include "internal.h"

#include <stdarg.h>
#include <stdio.h>

const char *shpool_version(void)
{
    return PACKAGE_VERSION;
}

const char *shpool_strerror(shpool_status status)
{
    switch (status) {
    case SHPOOL_OK:              return "success";
    case SHPOOL_ERR_INVALID:     return "an argument is invalid";
    case SHPOOL_ERR_NOT_FOUND:   return "nothing has that name or number";
    case SHPOOL_ERR_NO_MEMORY:   return "host or device memory ran out";
    case SHPOOL_ERR_SPEC:        return "an allocator spec or environment variable does not parse";
    case SHPOOL_ERR_TOO_SMALL:   return "too few bytes for the pools that were requested";
    case SHPOOL_ERR_TOO_LARGE:   return "more than a block, a pool or the device can have";
    case SHPOOL_ERR_ALIGNMENT:   return "a base or size is not aligned as required";
    case SHPOOL_ERR_LAUNCH:      return "launched with more threads or less memory than planned";
    case SHPOOL_ERR_UNSUPPORTED: return "not supported by this allocator, binding or build";
    case SHPOOL_ERR_ABI:         return "header, archive and library have different versions";
    case SHPOOL_ERR_BINDING:     return "the kernel is bound to another allocator";
    case SHPOOL_ERR_CUDA:        return "a CUDA call failed";
    case SHPOOL_ERR_LINK:        return "run-time linking failed";
    case SHPOOL_ERR_CORRUPT:     return "a pool's metadata is damaged";
    case SHPOOL_ERR_DEADLOCK:    return "executor: no thread can continue";
    case SHPOOL_ERR_DIVERGENCE:  return "executor: threads of one barrier or vote disagree";
    case SHPOOL_ERR_BUDGET:      return "executor: the budget of switches is used up";
    case SHPOOL_ERR_SYSTEM:      return "a system call failed";
    case SHPOOL_ERR_LIMIT:       return "a configured limit of device memory would be exceeded";
    case SHPOOL_ERR_DOUBLE_FREE: return "the device memory is already free";
    case SHPOOL_ERR_CAPTURE:     return "not possible while the stream captures a graph";
    }
    return "unknown status";
}

shpool_status shpool_error(shpool_status status, const char *format, ...)
{
    /* not straight into the thread's: the arguments may point into it */
    char detail[SHPOOL_ERROR_BYTES];
    va_list args;

    detail[0] = '\0';
    if (format != NULL) {
        va_start(args, format);
        vsnprintf(detail, sizeof(detail), format, args);
        va_end(args);
        shpool_text_escape(detail, sizeof(detail));
    }

    shpool_set_last_error(detail);
    shpool_message(SHPOOL_LEVEL_ERROR, "%s", detail);

    /* a call by the message's receiver may have failed */
    shpool_set_last_error(detail);
    return status;
}

shpool_status shpool_error_prefix(shpool_status status, const char *origin, const char *text)
{
    char detail[SHPOOL_ERROR_BYTES];
    shpool_text whole = shpool_text_make(detail, sizeof(detail));

    shpool_text_add(&whole, "%s \"%s\": %s", origin, text, shpool_last_error());
    shpool_text_escape(detail, sizeof(detail));
    shpool_set_last_error(detail);
    return status;
}

shpool_status shpool_fits(uint32_t header, uint32_t archive)
{
    const char *remedy;

    if ((header == SHPOOL_ABI) && (archive == SHPOOL_ABI)) {
        return SHPOOL_OK;
    }

    if (header != archive) {
        remedy = "rebuild the application with the headers and the libshpool_device.a of one "
                 "version";
    } else if (header > SHPOOL_ABI) {
        remedy = "install the libshpool.so that the application was built with";
    } else {
        remedy = "rebuild the application with this library's headers and libshpool_device.a";
    }

    return shpool_error(SHPOOL_ERR_ABI,
                        "the application's headers have ABI %u, its libshpool_device.a ABI %u, "
                        "libshpool.so %s ABI %u: %s",
                        header, archive, PACKAGE_VERSION, SHPOOL_ABI, remedy);
}
