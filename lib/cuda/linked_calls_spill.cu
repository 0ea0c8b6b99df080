/* SPDX-License-Identifier: BSD-3-Clause */
/* linked_calls.cu for pools that spill. */
#define SHPOOL_CAN_SPILL 1
#include "linked_calls.cu"
