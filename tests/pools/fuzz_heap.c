/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target: malloc, free and their family on the CPU block executor, against heap_model.h.
 *
 * The input is words between blanks.  The first is an allocator's name (any other word stands for
 * some allocator), the others are one character and up to three numbers between commas; what has no
 * meaning is left out.  Slots are 0..7 of each thread.
 *
 *   T4  threads of the block     P2  threads per pool      B800  payload_bytes     L64  alignment
 *   C   opened with check=1      S   with stats=1          E7    seed of the schedule
 *   W3  accesses between two switches
 *
 *   @1        the words after it are for thread 1
 *   m0,40     malloc 40 bytes into slot 0; what was there is freed first, for a and k, too
 *   a0,40,64  the same aligned to 64              k0,10,4   calloc of 10 times 4 bytes
 *   r0,80     realloc slot 0 to 80 bytes          f0        free it
 *   u0        usable size and contents of it      n         free what is no shared memory
 *   |         all threads: barrier, check         h0        all threads: hand slot 0 to the next
 *
 * and where bad frees must be refused (check=1, or SHPOOL_CAP_REFUSES):
 *
 *   d0    free slot 0 twice          x0,5    free 1 + 5 bytes behind the start of slot 0
 *   o48   free the shared byte 48    y48,9   realloc it to 9 bytes
 */
#include "tests/fuzz.h"
#include "script.h"

const char fuzz_name[] = "heap";

#define MOST_OPS    400u

static struct {
    shpool_config want;
    char          options[32];
    uint32_t      count;
    op            op[MOST_OPS];
} words;

static void script_kernel(shpool_heap heap)
{
    actor    a    = new_actor(heap);
    uint32_t rank = simt_thread_rank();

    EXPECT(heap.view.bytes != 0);
    for (uint32_t i = 0; i < words.count; i++) {
        const op *o = &words.op[i];

        if (o->what == 'h') {
            simt_barrier();
            do_hand_over(&a.slot[o->arg[0] % SLOTS]);
        } else if (o->what == '|') {
            simt_barrier();
            if (trial_leads(heap)) {
                check_pool(&a);
            }
            simt_barrier();
        } else if (o->thread == rank) {
            do_own(&a, o);
            if (a.alone) {
                check_pool(&a);
            }
        }
    }
    put_all(heap, a.slot, SLOTS);
}

static const scene fuzzed = { .body = script_kernel };

/* ---- the script ---- */

/* Another word stands for the one whose hash is nearest: most words keep theirs when an allocator
 * is added. */
static const shpool_allocator *find_allocator(const char *name)
{
    const shpool_allocator *best = NULL;

    FOR_EACH_POOL(allocator) {
        if (strcmp(allocator->name, name) == 0) {
            return allocator;
        }
        if ((best == NULL) || ((shpool_name_id(name) ^ shpool_name_id(allocator->name)) <
                               (shpool_name_id(name) ^ shpool_name_id(best->name)))) {
            best = allocator;
        }
    }
    return best;
}

static void set_option(const char *option)
{
    if (strstr(words.options, option) == NULL) {
        strcat(words.options, (words.options[0] == '\0') ? ":" : ",");
        strcat(words.options, option);
    }
}

static void add_word(const char *word, uint32_t *thread)
{
    op o = { .what = word[0], .thread = *thread };

    for (uint32_t i = 0; (i < 3) && (word[0] != '\0'); i++) {
        for (word++; (*word >= '0') && (*word <= '9'); word++) {
            o.arg[i] = o.arg[i] * 10u + (size_t)(*word - '0');
        }
    }
    switch (o.what) {
    case 'T': words.want.block_threads = 1u + (uint32_t)((o.arg[0] - 1u) % 8u); break;
    case 'P': words.want.threads_per_pool = (uint32_t)(o.arg[0] % 9u); break;
    case 'B': words.want.payload_bytes = (uint32_t)(o.arg[0] % 65536u); break;
    case 'L': words.want.alignment = (uint32_t)o.arg[0]; break;
    case 'C': set_option("check=1"); break;
    case 'S': set_option("stats=1"); break;
    case 'E': t.launch.seed = o.arg[0]; break;
    case 'W': t.launch.switch_period = (uint32_t)(o.arg[0] % 64u); break;
    case '@': *thread = (uint32_t)(o.arg[0] % 8u); break;
    default:
        if ((o.what != '\0') && (strchr("makrfun|hdxoy", o.what) != NULL) &&
            (words.count < MOST_OPS)) {
            words.op[words.count++] = o;
        }
        break;
    }
}

static void read_script(char *text)
{
    uint32_t thread = 0;
    char    *rest;
    char    *word = strtok_r(text, " \n", &rest);

    memset(&words, 0, sizeof(words));
    wrong_frees = 0;
    memset(&t, 0, offsetof(trial, model));
    trial_reset(&t);
    words.want.block_threads = 1;
    words.want.payload_bytes = 1000;
    t.allocator = find_allocator((word != NULL) ? word : "");
    while ((word != NULL) && ((word = strtok_r(NULL, " \n", &rest)) != NULL)) {
        add_word(word, &thread);
    }
    for (uint32_t i = 0; i < words.count; i++) {
        words.op[i].thread %= words.want.block_threads;
    }
}

/* Far more switches than the words need, so that more are a livelock: each may walk over its pool,
 * and switch at each access. */
static unsigned long long most_switches(void)
{
    return 1000000u + 4ull * (words.count + 1u) * (words.want.payload_bytes + 4096u);
}

static void check_report(void)
{
    const uint32_t pools = t.pool.pools; /* trial_expect_fresh fills each once */

    FUZZ_EXPECT(shpool_simt_report(&t.pool, &t.report) == SHPOOL_OK);
    FUZZ_EXPECT((t.report.blocks == 1) && (t.report.empty == 0));
    FUZZ_EXPECT((t.report.mallocs == t.model.mallocs + pools) &&
                (t.report.frees == t.model.frees + pools));
    FUZZ_EXPECT((t.report.failures == t.model.failures) && (t.report.spills == 0));
    FUZZ_EXPECT((t.report.live == 0) && (t.report.live_bytes == 0) && (t.report.corrupt == 0));
    FUZZ_EXPECT(t.report.largest_free == t.pool.largest);
    FUZZ_EXPECT(t.report.bad_frees == wrong_frees);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char         *text = fuzz_text(data, size);
    char          spec[128];
    shpool_status status;

    read_script(text);
    free(text);
    if (t.allocator == NULL) { /* a build without one that has a pool */
        return 0;
    }
    (void)snprintf(spec, sizeof(spec), "%s%s", TRIAL_NAME(&t), words.options);
    fuzz_expect_failure();
    status = shpool_simt_open(spec, &words.want, &t.pool);
    if (status != SHPOOL_OK) {
        fuzz_check_failure(status, "");
        return 0;
    }
    t.launch.block[0]      = words.want.block_threads;
    t.launch.dynamic_bytes = t.pool.shared_bytes;
    t.launch.max_switches  = most_switches();
    now                    = &fuzzed;
    status                 = simt_run(&t.launch, scene_kernel, &t, &t.result);
    if (status != SHPOOL_OK) {
        fuzz_fail("%s: %s: %s", spec, shpool_strerror(status), t.result.text);
    }
    if (t.model.faults != 0) {
        fuzz_fail("%s, %u threads, %u bytes, alignment %u: %u faults, the first: %s", spec,
                  t.launch.block[0], words.want.payload_bytes, t.pool.alignment, t.model.faults,
                  t.model.text);
    }
    FUZZ_EXPECT(t.model.live == 0);
    if (t.pool.report != NULL) {
        check_report();
    }
    shpool_simt_close(&t.pool);
    return 0;
}
