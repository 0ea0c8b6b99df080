/* SPDX-License-Identifier: BSD-3-Clause */
/* The former place of lib/driver.h. */
#include "lib/driver.h"
