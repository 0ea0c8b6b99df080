/* SPDX-License-Identifier: BSD-3-Clause */
/* The same under ALLOCATOR_DEBUG, which looks every free up. */
#define ALLOCATOR_DEBUG
#include "test_compat.cc"
