/* SPDX-License-Identifier: BSD-3-Clause */
/* What a cubin, an ELF file for a GPU, says of itself. */
#ifndef SHPOOL_CUBIN_H
#define SHPOOL_CUBIN_H

#include "internal.h"

#pragma GCC visibility push(hidden)

/*
 * The program's variables in a cubin: device, managed and constant memory.  Left out are those
 * whose copy is as good as the original: constants with a value, string literals, tables of virtual
 * functions, function objects of CUDA's C++ library; and libshpool's own.
 *
 * *count_p is how many there are; the first names are added to the text, as far as it has room.
 * SHPOOL_ERR_LINK: it is no cubin.
 */
shpool_status shpool_cubin_variables(const void *cubin, size_t bytes, size_t *count_p,
                                     shpool_text *names);

#pragma GCC visibility pop

#endif /* SHPOOL_CUBIN_H */
