/* SPDX-License-Identifier: BSD-3-Clause */
/* null: never allocates anything.  Measured with it, only the harness remains. */
#ifndef SHPOOL_ALLOCATORS_NULL_H
#define SHPOOL_ALLOCATORS_NULL_H

#include <shpool/module.h>

SHPOOL_EMPTY_MODULE(null)

#endif /* SHPOOL_ALLOCATORS_NULL_H */
