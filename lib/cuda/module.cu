/* SPDX-License-Identifier: BSD-3-Clause */
#pragma GCC visibility push(hidden) /* unpopped: the registration symbols too, see image.cu */

/* The device code of a built-in allocator.  Compiled twice for each NAME of allocators/list, with
 * -DSHPOOL_MODULE=NAME: without a further define to its function tables, for libshpool_device.a;
 * with -DSHPOOL_LINKED_MODULE to the LTO-IR in libshpool.so for run-time linking. */
#ifndef SHPOOL_LINKED_MODULE
#define SHPOOL_TABLE_MODULE
#endif

#define MODULE_STRING_(_x)   #_x
#define MODULE_STRING(_x)    MODULE_STRING_(_x)
#define MODULE_HEADER(_name) MODULE_STRING(shpool/allocators/_name/_name.h)
#include MODULE_HEADER(SHPOOL_MODULE)

/* the name that SHPOOL_MODULE stands for, not SHPOOL_MODULE itself */
#define MODULE_OF(_name) SHPOOL_DEVICE_MODULE(_name)
MODULE_OF(SHPOOL_MODULE);
