/* SPDX-License-Identifier: BSD-3-Clause */
/* null: hands out nothing.  What remains in a measurement is the harness. */
#ifndef SHPOOL_ALLOCATORS_NULL_H
#define SHPOOL_ALLOCATORS_NULL_H

#include <shpool/module.h>

SHPOOL_EMPTY_MODULE(null)

#endif /* SHPOOL_ALLOCATORS_NULL_H */
