/* SPDX-License-Identifier: BSD-3-Clause */
/* Information in a cubin, an ELF file for a GPU. */
#ifndef SHPOOL_CUBIN_H
#define SHPOOL_CUBIN_H

#include "lib/internal.h"

#pragma GCC visibility push(hidden)

/*
 * The program's variables in a cubin: device, managed and constant memory.  Omitted are variables
 * of which a copy is equivalent to the original: constants with a value, string literals, tables of
 * virtual functions, function objects of CUDA's C++ library; and libshpool's own.
 *
 * *count_p is their number; the first names are added to the text, as far as there is room.
 * SHPOOL_ERR_LINK: it is not a cubin.
 */
shpool_status shpool_cubin_variables(const void *cubin, size_t bytes, size_t *count_p,
                                     shpool_text *names);

#pragma GCC visibility pop

#endif /* SHPOOL_CUBIN_H */
