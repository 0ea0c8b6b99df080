/* SPDX-License-Identifier: BSD-3-Clause */
/* Registration of a built-in allocator: SHPOOL_HOST_MODULE() of module.h, with the LTO-IR that the
 * build embeds (build-aux/embed.sh), where it does.  The device table of libshpool_device.a belongs
 * to the program that links it: lib/cuda/image.cu finds that by the name. */
#ifndef SHPOOL_ALLOCATORS_BUILTIN_H
#define SHPOOL_ALLOCATORS_BUILTIN_H

#include <config.h>

#include <shpool/module.h>

#if HAVE_LTO_IR
#define SHPOOL_BUILTIN_LTO(_name) &shpool_lto_##_name
#else
#define SHPOOL_BUILTIN_LTO(_name) NULL
#endif

/* Instead of SHPOOL_HOST_MODULE(). */
#define SHPOOL_BUILTIN_MODULE(_name, _summary, _scope, _caps) \
    extern const shpool_blob shpool_lto_##_name; \
    SHPOOL_HOST_MODULE(_name, _summary, _scope, _caps, SHPOOL_BUILTIN_LTO(_name))

/* Instead of SHPOOL_HOST_MODULE_GROUP(). */
#define SHPOOL_BUILTIN_MODULE_GROUP(_name, _summary, _scope, _threads, _caps) \
    extern const shpool_blob shpool_lto_##_name; \
    SHPOOL_HOST_MODULE_GROUP(_name, _summary, _scope, _threads, _caps, \
                             SHPOOL_BUILTIN_LTO(_name))

#endif /* SHPOOL_ALLOCATORS_BUILTIN_H */
