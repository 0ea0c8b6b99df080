/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of the environment variables (config.c): checks them, and warns about unknown
 * variables. */
#include "options.h"

#include <string.h>

static void warn_of_unknown(void)
{
    const char *unknown[SHPOOL_UNKNOWN_COUNT];
    const char *names[SHPOOL_VARIABLE_COUNT];
    size_t count = shpool_config_unknown(unknown);

    if ((count == 0) || !shpool_config_unknown_due()) {
        return;
    }
    for (size_t i = 0; i < SHPOOL_VARIABLE_COUNT; i++) {
        names[i] = shpool_config_variable(i).name;
    }
    for (size_t i = 0; (i < count) && (i < SHPOOL_UNKNOWN_COUNT); i++) {
        /* a slip is shown even by default; another program may have names of its own */
        const char *slip = shpool_guess(unknown[i], names, SHPOOL_VARIABLE_COUNT);

        shpool_message_unless(SHPOOL_LEVEL_WARN,
                              (slip != NULL) ? SHPOOL_LEVEL_WARN : SHPOOL_LEVEL_NONE,
                              "environment variable %s is unknown and has no effect, the nearest "
                              "known one is %s", unknown[i],
                              shpool_nearest(unknown[i], names, SHPOOL_VARIABLE_COUNT));
    }
    if (count > SHPOOL_UNKNOWN_COUNT) {
        shpool_message(SHPOOL_LEVEL_WARN,
                       "%zu more unknown environment variables begin with SHPOOL_",
                       count - SHPOOL_UNKNOWN_COUNT);
    }
}

const char *shpool_config_value(size_t index)
{
    warn_of_unknown();
    return shpool_config_variable(index).value;
}

shpool_status shpool_config_cache_bytes(uint64_t *bytes_p)
{
    const char *value = shpool_config_value(SHPOOL_VARIABLE_CACHE_BYTES);

    if (value == NULL) {
        value = shpool_config_variable(SHPOOL_VARIABLE_CACHE_BYTES).default_value;
    }
    if (shpool_spec_number(value, 1, bytes_p)) {
        return SHPOOL_OK;
    }
    return shpool_error(SHPOOL_ERR_SPEC, "SHPOOL_CACHE_BYTES \"%.100s\" is not a number of bytes; "
                        "give digits, and K, M or G if needed: 64M", value);
}

shpool_status shpool_config_binding(uint32_t *binding_p)
{
    const char *value = shpool_config_value(SHPOOL_VARIABLE_BINDING);
    const int position = (value != NULL) ? shpool_option_word(SHPOOL_BINDING_WORDS, value) : 0;
    char words[40];
    shpool_text text = shpool_text_make(words, sizeof(words));

    *binding_p = SHPOOL_BINDING_TABLE + (uint32_t)((position > 0) ? position : 0);
    if (position >= 0) {
        return SHPOOL_OK;
    }
    shpool_option_add_words(&text, SHPOOL_BINDING_WORDS);
    return shpool_error(SHPOOL_ERR_SPEC, "SHPOOL_BINDING \"%.100s\" is unknown, it takes %s", value,
                        words);
}

shpool_status shpool_config_check(void)
{
    const char *value = shpool_config_value(SHPOOL_VARIABLE_LOG_LEVEL);
    char detail[SHPOOL_ERROR_BYTES];
    shpool_text text;

    if (value == NULL) {
        return SHPOOL_OK;
    }
    for (size_t i = 0; i < SHPOOL_LEVEL_COUNT; i++) {
        if (strcmp(value, shpool_level_names[i]) == 0) {
            return SHPOOL_OK;
        }
    }

    text = shpool_text_make(detail, sizeof(detail));
    shpool_text_add(&text, "SHPOOL_LOG_LEVEL \"%s\" is not a level", value);
    shpool_text_add_guess(&text, value, shpool_level_names, SHPOOL_LEVEL_COUNT);
    shpool_text_add(&text, "; known levels: ");
    shpool_text_add_names(&text, shpool_level_names, SHPOOL_LEVEL_COUNT);
    return shpool_error(SHPOOL_ERR_SPEC, "%s", detail);
}

shpool_status shpool_variable_get(size_t index, shpool_variable *variable_p)
{
    if (variable_p == NULL) {
        return shpool_error(SHPOOL_ERR_INVALID, "variable_p is NULL");
    }

    memset(variable_p, 0, sizeof(*variable_p));
    if (index >= SHPOOL_VARIABLE_COUNT) {
        return shpool_error(SHPOOL_ERR_NOT_FOUND, "variable %zu does not exist, there are 0..%d",
                            index, SHPOOL_VARIABLE_COUNT - 1);
    }

    warn_of_unknown();
    *variable_p = shpool_config_variable(index);
    return SHPOOL_OK;
}
