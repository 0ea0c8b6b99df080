/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of providers: key=value of a spec, with errors that say what is valid. */
#ifndef SHPOOL_DEVICE_OPTIONS_H
#define SHPOOL_DEVICE_OPTIONS_H

#include "lib/internal.h"

#include <shpool/device/provider.h>

#pragma GCC visibility push(hidden)

/* Set one; SHPOOL_ERR_NOT_FOUND without a detail: there is no such key. */
typedef shpool_status (*shpool_option_fn)(void *self, const char *key, const char *value);

/* Set all of a setup's options. */
shpool_status shpool_options_set(const shpool_device_setup *setup, void *self,
                                 shpool_option_fn set);

/* A number, optionally followed by K, M or G, within bounds; *value_p is unchanged on failure. */
shpool_status shpool_option_bytes(const char *name, const char *key, const char *value,
                                  uint64_t low, uint64_t high, uint64_t *value_p);

/* One of several words: its position. */
shpool_status shpool_option_word(const char *name, const char *key, const char *value,
                                 const char *const words[], size_t count, unsigned *position_p);

#pragma GCC visibility pop

#endif /* SHPOOL_DEVICE_OPTIONS_H */
