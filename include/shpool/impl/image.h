/* SPDX-License-Identifier: BSD-3-Clause */
/* Host-side interface between the parts of an image, that is, a program or a shared library with
 * device code of its own.  Not for direct inclusion.
 *
 * Device pointers are valid in one image only, so every name here is hidden: each image of a
 * process has its own copy. */
#ifndef SHPOOL_IMPL_IMAGE_H
#define SHPOOL_IMPL_IMAGE_H

#include <shpool/abi.h>
#include <shpool/shpool.h>

#define SHPOOL_HIDDEN __attribute__((visibility("hidden")))

/* An allocator's device code in this image: an element of the section shpool_modules, which the
 * linker collects (SHPOOL_DEVICE_MODULE in module.h). */
typedef struct shpool_image_module {
    const char      *symbol; /* symbol of its tables, as shpool_allocator.tables */
    const void      *tables; /* their host shadow: CUDA knows only the start of the array */
    shpool_layout_fn layout;
    void            *reserved;
} shpool_image_module;

extern "C" {
/* ---- in libshpool_device.a: lib/cuda/image.cu ---- */

/* The ABI number that shpool_open() compares with the header's and the library's. */
SHPOOL_HIDDEN uint32_t shpool_image_abi(void);

/* Fill in the fields that bind a planned pool to this image and the current device. */
SHPOOL_HIDDEN shpool_status shpool_image_bind(shpool_pool *pool);

/* ---- lib/cuda/image_tables.cu ---- */

/* Copy one device table of the current device to the host, or return the earlier copy. */
SHPOOL_HIDDEN shpool_status shpool_image_table(const shpool_table *address, shpool_table *table_p);

/* ---- lib/cuda/image_join.cu ---- */

/* Addresses of an image's device tables and mark on the current device; library: NULL for the
 * program's own image. */
typedef struct shpool_image_place {
    const void *tables;
    const void *mark;
    void       *library;
} shpool_image_place;

/* The image that links the pool's allocator with this one's kernels.  It is created on first use,
 * and kept until the process ends or unloads this image.  `tables`: a symbol. */
SHPOOL_HIDDEN shpool_status shpool_image_join(const shpool_pool *pool, const char *tables,
                                              shpool_image_place *place_p);

/* The kernel to launch instead of one of this image's kernels. */
SHPOOL_HIDDEN shpool_status shpool_image_kernel(const shpool_pool *pool, const void *function,
                                                const void **kernel_p);
}

#endif /* SHPOOL_IMPL_IMAGE_H */
