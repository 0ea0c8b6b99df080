/* SPDX-License-Identifier: BSD-3-Clause */
/* Asynchronous copies, and the barriers of cuda::barrier.
 *
 * A copy is performed as late as CUDA allows: when its thread waits for its batch, or when the
 * phase of its barrier ends.  Its destination counts as written from the call on, for races, and
 * as unwritten until then, for reads. */
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define HERE __builtin_return_address(0)

typedef struct copy {
    void       *to;
    const void *from; /* NULL: zeros */
    size_t      bytes;
    const void *pc;
    const void *bar;  /* NULL: of a thread's batch */
    uint32_t    rank;
    uint32_t    batch;
} copy;

static struct {
    copy    *of;
    uint32_t count;
    uint32_t room;
    uint32_t batch[SHPOOL_MAX_THREADS]; /* of each thread, the one that is open */
} async;

void check_async_begin(void)
{
    async.count = 0;
    memset(async.batch, 0, sizeof(async.batch));
}

void shpool_check_async(const shpool_check_bar *bar, void *to, const void *from, size_t bytes)
{
    if (bytes == 0) {
        return;
    }
    if (async.count == async.room) {
        async.room = (async.room == 0) ? 256u : 2u * async.room;
        async.of   = check_memory(realloc(async.of, async.room * sizeof(*async.of)));
    }
    if (from != NULL) {
        shpool_check_access(from, bytes, 0, HERE);
    }
    shpool_check_access(to, bytes, SHPOOL_CHECK_WRITE, HERE);
    check_unwrite(to, bytes);
    async.of[async.count++] = (copy){ to, from, bytes, HERE, bar, simt_self->rank,
                                      async.batch[simt_self->rank] };
}

static void land(const copy *one)
{
    check_now.spins = 0; /* no switch: the caller's state is between two others */
    if (one->from != NULL) {
        shpool_check_access(one->from, one->bytes, 0, one->pc);
    }
    shpool_check_access(one->to, one->bytes, SHPOOL_CHECK_WRITE, one->pc);
    if (one->from != NULL) {
        memmove(one->to, one->from, one->bytes);
    } else {
        memset(one->to, 0, one->bytes);
    }
}

/* Those of a barrier, or of the running thread's batches before `batch`. */
static void land_all(const shpool_check_bar *bar, uint32_t batch)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < async.count; i++) {
        const copy one = async.of[i];

        if ((one.bar == bar) &&
            ((bar != NULL) || ((one.rank == simt_self->rank) && (one.batch < batch)))) {
            land(&one);
        } else {
            async.of[kept++] = one;
        }
    }
    async.count = kept;
}

uint32_t shpool_check_async_commit(void)
{
    return ++async.batch[simt_self->rank];
}

void shpool_check_async_wait(uint32_t newest)
{
    const uint32_t batch = async.batch[simt_self->rank];

    land_all(NULL, (newest < batch) ? batch - newest : 0u);
}

/* ---- barriers: two words, for the phases by turns, carry the order ---- */

static void *word_of(shpool_check_bar *bar, uint32_t phase) { return &bar->word[phase & 1u]; }

void shpool_check_bar_init(shpool_check_bar *bar, uint32_t count)
{
    shpool_check_access(bar->word, sizeof(bar->word), SHPOOL_CHECK_WRITE | SHPOOL_CHECK_PACKED,
                        HERE);
    bar->expected = bar->pending = count;
    bar->phase    = 0;
}

uint32_t shpool_check_bar_arrive(shpool_check_bar *bar, uint32_t count, uint32_t drops)
{
    const unsigned how = SHPOOL_CHECK_WRITE | SHPOOL_CHECK_ATOMIC;
    uint32_t       phase;

    shpool_check_access(word_of(bar, bar->phase), 8, how | SHPOOL_CHECK_ACQUIRE, HERE);
    phase = bar->phase;
    bar->pending  -= count;
    bar->expected -= drops;
    if (bar->pending == 0) {
        land_all(bar, 0);
    }
    check_sync(word_of(bar, phase), how | SHPOOL_CHECK_RELEASE);
    if (bar->pending == 0) {
        bar->pending = bar->expected;
        bar->phase++;
    }
    return phase;
}

uint32_t shpool_check_bar_test(shpool_check_bar *bar, uint32_t phase)
{
    shpool_check_access(word_of(bar, phase), 8, SHPOOL_CHECK_ATOMIC | SHPOOL_CHECK_ACQUIRE, HERE);
    if (bar->phase == phase) {
        return 0;
    }
    check_sync(word_of(bar, phase), SHPOOL_CHECK_ACQUIRE);
    return 1;
}

void shpool_check_bar_wait(shpool_check_bar *bar, uint32_t phase, const char *file, int line)
{
    const size_t at = (size_t)((unsigned char *)&bar->phase - simt_self->arena);

    shpool_check_access(word_of(bar, phase), 8, SHPOOL_CHECK_ATOMIC | SHPOOL_CHECK_ACQUIRE, HERE);
    while ((int32_t)(bar->phase - phase) <= 0) {
        check_now.spins = 0;
        if ((at >= simt_self->arena_begin) && (at < simt_self->arena_end)) {
            simt_engine_wait((simt_addr)at, bar->phase, file, line);
        } else {
            simt_engine_pause(0, file, line);
        }
    }
    check_sync(word_of(bar, phase), SHPOOL_CHECK_ACQUIRE);
}
