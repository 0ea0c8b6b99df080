/* SPDX-License-Identifier: BSD-3-Clause */
/* cuda_memory's header of this name. */
#pragma once
#include <shpool/compat/typeDefs.cuh>
