/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>

#include "tools/json.h"

#if HAVE_JANSSON

#include <jansson.h>

static int lost; /* jansson's hooks have no argument for it */

static void *allocate(size_t bytes)
{
    void *ptr = malloc(bytes);

    lost |= (ptr == NULL);
    return ptr;
}

void tool_json_watch(void)
{
    lost = 0;
    json_set_alloc_funcs(allocate, free);
}

int tool_json_lost(void)
{
    return lost;
}

#else

void tool_json_watch(void)
{
}

int tool_json_lost(void)
{
    return 0;
}

#endif
