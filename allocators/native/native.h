/* SPDX-License-Identifier: BSD-3-Clause */
/* native: an empty pool, every request goes to CUDA's in-kernel malloc (host malloc on the
 * executor), with a 16-byte header before it.  The spilling itself is impl/report/spill.h's, as for
 * any pool. */
#ifndef SHPOOL_ALLOCATORS_NATIVE_H
#define SHPOOL_ALLOCATORS_NATIVE_H

#include <shpool/module.h>

#define SHPOOL_SPILLS_native 1

SHPOOL_EMPTY_MODULE(native)

#endif /* SHPOOL_ALLOCATORS_NATIVE_H */
