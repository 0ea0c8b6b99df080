/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams that were named to record_stream, for bases whose free waits for them on the device. */
#include "timeline.h"

#include <stdlib.h>

shpool_status shpool_timeline_use_make(shpool_stream user, shpool_timeline_use **use_p)
{
    shpool_timeline_use *use = malloc(sizeof(*use));

    if (use == NULL) {
        return shpool_error(SHPOOL_ERR_NO_MEMORY, "no host memory to note a stream");
    }
    use->next = NULL;
    use->stream = (user == NULL) ? SHPOOL_STREAM_LEGACY : user;
    use->thread = (user == SHPOOL_STREAM_PER_THREAD) ? shpool_thread_number() : 0;
    *use_p = use;
    return SHPOOL_OK;
}

static shpool_status join(shpool_timelines *table, const shpool_timeline_use *use,
                          shpool_stream stream)
{
    if ((use->thread != 0) && (use->thread != shpool_thread_number())) {
        return shpool_timelines_sync(table); /* the handle means another stream here */
    }
    return shpool_timeline_join(table, use->stream, stream);
}

shpool_status shpool_timeline_uses_join(shpool_timelines *table, shpool_timeline_use **uses_p,
                                        shpool_stream stream)
{
    while (*uses_p != NULL) {
        shpool_timeline_use *use = *uses_p;
        shpool_status status = join(table, use, stream);

        if (status != SHPOOL_OK) {
            return status;
        }
        *uses_p = use->next;
        free(use);
    }
    return SHPOOL_OK;
}

void shpool_timeline_uses_free(shpool_timeline_use *use)
{
    while (use != NULL) {
        shpool_timeline_use *next = use->next;

        free(use);
        use = next;
    }
}
