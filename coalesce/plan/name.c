/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of functions as their authors wrote them. */
#include "finding.h"

#include <stdlib.h>
#include <string.h>

#define NO_MEMORY (-1) /* a demangler's status */

static void remove_all(char *text, const char *part)
{
    const size_t bytes = strlen(part);

    for (char *at = strstr(text, part); at != NULL; at = strstr(at, part)) {
        memmove(at, at + bytes, strlen(at + bytes) + 1);
    }
}

char *coalesce_readable_name(const char *name, coalesce_demangle *demangle)
{
    int   status = 0;
    char *text   = (demangle != NULL) ? demangle(name, NULL, NULL, &status) : NULL;
    char *parameters;

    if (text == NULL) {
        return (status == NO_MEMORY) ? NULL : strdup(name);
    }
    remove_all(text, "(anonymous namespace)::");
    if (strncmp(text, "void ", 5) == 0) { /* of a template's instance */
        memmove(text, text + 5, strlen(text + 5) + 1);
    }
    parameters = strchr(text, '(');
    if (parameters != NULL) {
        *parameters = '\0';
    }
    return text;
}

int coalesce_is_called(const char *name, const char *readable, const char *wanted)
{
    return (strcmp(name, wanted) == 0) || (strcmp(readable, wanted) == 0);
}
