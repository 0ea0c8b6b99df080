/* SPDX-License-Identifier: BSD-3-Clause */
/* The same program on the CPU block executor. */
#include "decode.cu"
