/* SPDX-License-Identifier: BSD-3-Clause */
/* What shpool-check changes in a program: the little of CUDA that C++ has no names for. */
#ifndef SHPOOL_CHECK_TRANSLATE_H
#define SHPOOL_CHECK_TRANSLATE_H

#include <stddef.h>

/** A text that grows; `failed`: there was no memory. */
typedef struct check_text {
    char  *start;
    size_t bytes;
    size_t room;
    int    failed;
} check_text;

void check_text_add(check_text *text, const char *from, size_t bytes);
void check_text_say(check_text *text, const char *words);

/**
 * Translate preprocessed CUDA C++ into C++: launches, __shared__, variables of the device.
 * Line numbers stay as they are.
 * @param [out] error  what cannot be translated, or ""
 */
void check_translate(const char *source, check_text *out, char *error, size_t room);

/**
 * Edit assembly: a gap after each shared array and device variable, and the runtime's functions
 * instead of some of the C library's.
 */
void check_assembly(const char *source, check_text *out);

#endif /* SHPOOL_CHECK_TRANSLATE_H */
