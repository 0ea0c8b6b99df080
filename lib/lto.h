/* SPDX-License-Identifier: BSD-3-Clause */
/* The LTO-IR that the build embeds for each allocator (build-aux/embed.sh). */
#ifndef SHPOOL_LTO_H
#define SHPOOL_LTO_H

#include <shpool/shpool.h>

/* SHPOOL_LTO_DECLARE(NAME); then SHPOOL_LTO(NAME) is NAME's blob, or NULL in a build without. */
#if HAVE_LTO_IR
#define SHPOOL_LTO_DECLARE(_name) extern const shpool_blob shpool_lto_##_name
#define SHPOOL_LTO(_name)         &shpool_lto_##_name
#else
#define SHPOOL_LTO_DECLARE(_name) struct shpool_no_lto_##_name
#define SHPOOL_LTO(_name)         NULL
#endif

#endif /* SHPOOL_LTO_H */
