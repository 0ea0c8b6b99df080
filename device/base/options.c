/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of providers. */
#include "options.h"

#include <string.h>

shpool_status shpool_options_set(const shpool_device_setup *setup, void *self,
                                 shpool_option_fn set)
{
    for (uint32_t i = 0; i < setup->option_count; i++) {
        const shpool_device_option *option = &setup->options[i];
        shpool_status status = set(self, option->key, option->value);

        if (status == SHPOOL_ERR_NOT_FOUND) {
            return shpool_error(SHPOOL_ERR_SPEC, "it has no key \"%s\"", option->key);
        }
        if (status != SHPOOL_OK) {
            return status;
        }
    }
    return SHPOOL_OK;
}

shpool_status shpool_option_bytes(const char *name, const char *key, const char *value,
                                  uint64_t low, uint64_t high, uint64_t *value_p)
{
    uint64_t number;

    if (shpool_spec_number(value, 1, &number) && (number >= low) && (number <= high)) {
        *value_p = number;
        return SHPOOL_OK;
    }
    if (high == UINT64_MAX) {
        return shpool_error(SHPOOL_ERR_SPEC, "%s: %s=%.64s is not possible, it takes a number of "
                            "at least %llu that may end in K, M or G", name, key, value,
                            (unsigned long long)low);
    }
    return shpool_error(SHPOOL_ERR_SPEC, "%s: %s=%.64s is not possible, it takes a number from "
                        "%llu to %llu that may end in K, M or G", name, key, value,
                        (unsigned long long)low, (unsigned long long)high);
}

shpool_status shpool_option_word(const char *name, const char *key, const char *value,
                                 const char *const words[], size_t count, unsigned *position_p)
{
    char known[200];
    shpool_text text = shpool_text_make(known, sizeof(known));

    for (size_t i = 0; i < count; i++) {
        if (strcmp(words[i], value) == 0) {
            *position_p = (unsigned)i;
            return SHPOOL_OK;
        }
    }
    shpool_text_add_names(&text, words, count);
    return shpool_error(SHPOOL_ERR_SPEC, "%s: %s=%.64s is not possible, it takes one of: %s", name,
                        key, value, known);
}
