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
#include "heap_trial.h"

const char fuzz_name[] = "heap";

#define SLOTS       8u
#define MOST_OPS    400u

typedef struct op {
    char     what;
    uint32_t thread;
    size_t   arg[3];
} op;

static struct {
    shpool_config want;
    char          options[32];
    uint32_t      count;
    op            op[MOST_OPS];
} script;

static trial t;

/* ---- in the kernel ---- */

/* One thread and what it holds. */
typedef struct actor {
    trial      *p;
    shpool_heap heap;
    int         alone;   /* nobody shares its pool */
    int         refuses; /* bad frees are refused */
    uint32_t    tag;
    heap_slot   slot[SLOTS];
} actor;

#define EXPECT(_a, _fine) HEAP_EXPECT(&(_a)->p->model, _fine)

static size_t at_least_1(size_t bytes)
{
    return (bytes != 0) ? bytes : 1u;
}

/* trial.steps counts the bad frees that a report must tell of. */
static void expect_refused(actor *a, void *ptr)
{
    EXPECT(a, shpool_free_at(a->heap, ptr, 0) != SHPOOL_FREE_OK);
    simt_global_add32(&a->p->steps, 1);
}

static void drop(actor *a, heap_slot *slot)
{
    if (slot->at != NULL) {
        trial_free(a->p, a->heap, slot);
    }
}

static void do_malloc(actor *a, heap_slot *slot, size_t bytes)
{
    size_t most = shpool_largest(a->heap);
    int    got  = trial_malloc(a->p, a->heap, slot, bytes, 16, a->tag++);

    EXPECT(a, !a->alone || (got == (at_least_1(bytes) <= most)));
}

static void do_aligned(actor *a, heap_slot *slot, size_t bytes, size_t alignment)
{
    size_t most = shpool_largest(a->heap);
    int    got;

    if ((alignment == 0) || ((alignment & (alignment - 1u)) != 0) ||
        (alignment > a->p->pool.alignment)) {
        EXPECT(a, shpool_aligned_malloc(a->heap, alignment, bytes) == NULL);
        heap_model_count_malloc(&a->p->model, 0);
        return;
    }
    got = trial_malloc(a->p, a->heap, slot, bytes, (uint32_t)alignment, a->tag++);
    EXPECT(a, !a->alone || !got || (at_least_1(bytes) <= most));
}

static void do_calloc(actor *a, heap_slot *slot, size_t count, size_t each)
{
    unsigned char *ptr  = (unsigned char *)shpool_calloc(a->heap, count, each);
    size_t         bytes = count * each;

    if ((each != 0) && (bytes / each != count)) { /* never reaches the allocator */
        EXPECT(a, ptr == NULL);
        heap_model_count_malloc(&a->p->model, 0);
        return;
    }
    for (size_t i = 0; (ptr != NULL) && (i < bytes); i++) {
        EXPECT(a, ptr[i] == 0);
    }
    (void)trial_got(a->p, a->heap, slot, ptr, bytes, 16, a->tag++);
    heap_model_count_malloc(&a->p->model, slot->bytes);
}

static void do_realloc(actor *a, heap_slot *slot, size_t bytes)
{
    size_t most = shpool_largest(a->heap);
    int    got;

    if (slot->at == NULL) {
        void *ptr = shpool_realloc(a->heap, NULL, bytes);

        got = trial_got(a->p, a->heap, slot, ptr, bytes, 16, a->tag++);
        heap_model_count_malloc(&a->p->model, slot->bytes);
    } else {
        got = trial_realloc(a->p, a->heap, slot, bytes, a->tag++);
    }
    EXPECT(a, !a->alone || got || (at_least_1(bytes) > most));
}

/* No allocation starts at `addr` for as long as this thread does not make one there. */
static int is_never_a_start(const actor *a, simt_addr addr)
{
    if (addr - a->heap.view.base >= a->heap.view.bytes) {
        return 1; /* not of this pool */
    }
    for (uint32_t i = 0; i < SLOTS; i++) {
        if ((a->slot[i].at != NULL) && (simt_to_shared(a->slot[i].at) == addr)) {
            return 0;
        }
    }
    return a->alone;
}

static void do_wild(actor *a, const op *o)
{
    simt_addr addr = simt_dynamic_base() + (uint32_t)(o->arg[0] % a->p->pool.shared_bytes);

    if (!is_never_a_start(a, addr)) {
        return;
    }
    if (o->what == 'o') {
        expect_refused(a, simt_from_shared(addr));
    } else {
        EXPECT(a, shpool_realloc(a->heap, simt_from_shared(addr), o->arg[1]) == NULL);
        if (o->arg[1] <= SHPOOL_MAX_REQUEST) { /* larger ones never reach the allocator */
            simt_global_add32(&a->p->steps, 1);
        }
    }
}

static void do_double(actor *a, heap_slot *slot)
{
    void *ptr = slot->at;

    drop(a, slot);
    if (a->alone && (ptr != NULL)) { /* else another thread may have it by now */
        expect_refused(a, ptr);
    }
}

static void do_bad(actor *a, const op *o, heap_slot *slot)
{
    if (!a->refuses) {
        return;
    }
    switch (o->what) {
    case 'd':
        do_double(a, slot);
        break;
    case 'x':
        if ((slot->at != NULL) && (slot->bytes > 1)) {
            expect_refused(a, slot->at + 1 + o->arg[1] % (slot->bytes - 1u));
        }
        break;
    default:
        do_wild(a, o);
        break;
    }
}

static void do_own(actor *a, const op *o)
{
    static char on_the_host;
    heap_slot  *slot = &a->slot[o->arg[0] % SLOTS];

    switch (o->what) {
    case 'm':
        drop(a, slot);
        do_malloc(a, slot, o->arg[1]);
        break;
    case 'a':
        drop(a, slot);
        do_aligned(a, slot, o->arg[1], o->arg[2]);
        break;
    case 'k':
        drop(a, slot);
        do_calloc(a, slot, o->arg[1], o->arg[2]);
        break;
    case 'r':
        do_realloc(a, slot, o->arg[1]);
        break;
    case 'f':
        drop(a, slot);
        break;
    case 'u':
        EXPECT(a, shpool_usable_size(a->heap, slot->at) == ((slot->at != NULL) ? slot->bytes : 0));
        heap_verify(&a->p->model, slot->at, (slot->at != NULL) ? slot->bytes : 0, slot->tag);
        break;
    case 'n':
        expect_refused(a, &on_the_host);
        break;
    default:
        do_bad(a, o, slot);
        break;
    }
}

static void check_pool(actor *a)
{
    shpool_walk walk = shpool_check(a->heap);
    uint32_t    live = 0;
    uint32_t    used = 0;

    if (walk.broken != 0) {
        heap_model_fault(&a->p->model, "invariant %u broken at 0x%x", walk.broken, walk.where);
    }
    EXPECT(a, shpool_largest(a->heap) <= a->p->pool.largest);
    for (uint32_t i = 0; i < SLOTS; i++) {
        live += (a->slot[i].at != NULL);
        used += (a->slot[i].at != NULL) ? a->slot[i].bytes : 0u;
    }
    EXPECT(a, !a->alone || ((walk.live == live) && (walk.used == used)));
}

/* All threads of the block. */
static void do_together(actor *a, const op *o)
{
    uint32_t   rank   = simt_thread_rank();
    uint32_t   share  = a->p->pool.threads_per_pool;
    uint32_t   first  = rank / share * share;
    heap_slot *slot   = &a->slot[o->arg[0] % SLOTS];
    uint32_t   next   = rank + 1u;

    simt_barrier();
    if (o->what == 'h') {
        if ((next == first + share) || (next == simt_block_threads())) {
            next = first; /* of the same pool */
        }
        a->p->box[next] = *slot;
        simt_barrier();
        *slot = a->p->box[rank];
    } else if (trial_leads(a->heap)) {
        check_pool(a);
    }
    simt_barrier();
}

static void script_kernel(void *arg)
{
    actor    a     = { .p = (trial *)arg };
    uint32_t rank  = simt_thread_rank();
    uint32_t share = a.p->pool.threads_per_pool;

    a.heap    = trial_init(a.p);
    a.alone   = (share == 1u) || (simt_block_threads() - rank / share * share == 1u);
    a.refuses = ((a.p->pool.flags & SHPOOL_FLAG_CHECK) != 0) || has_cap(a.p, SHPOOL_CAP_REFUSES);
    a.tag     = rank << 16;
    EXPECT(&a, a.heap.view.bytes != 0);
    for (uint32_t i = 0; i < script.count; i++) {
        const op *o = &script.op[i];

        if ((o->what == '|') || (o->what == 'h')) {
            do_together(&a, o);
        } else if (o->thread == rank) {
            do_own(&a, o);
            if (a.alone) {
                check_pool(&a);
            }
        }
    }
    for (uint32_t i = 0; i < SLOTS; i++) {
        drop(&a, &a.slot[i]);
    }
    trial_expect_fresh(a.p, a.heap);
    shpool_fini(a.heap);
}

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
    if (strstr(script.options, option) == NULL) {
        strcat(script.options, (script.options[0] == '\0') ? ":" : ",");
        strcat(script.options, option);
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
    case 'T': script.want.block_threads = 1u + (uint32_t)((o.arg[0] - 1u) % 8u); break;
    case 'P': script.want.threads_per_pool = (uint32_t)(o.arg[0] % 9u); break;
    case 'B': script.want.payload_bytes = (uint32_t)(o.arg[0] % 65536u); break;
    case 'L': script.want.alignment = (uint32_t)o.arg[0]; break;
    case 'C': set_option("check=1"); break;
    case 'S': set_option("stats=1"); break;
    case 'E': t.launch.seed = o.arg[0]; break;
    case 'W': t.launch.switch_period = (uint32_t)(o.arg[0] % 64u); break;
    case '@': *thread = (uint32_t)(o.arg[0] % 8u); break;
    default:
        if ((o.what != '\0') && (strchr("makrfun|hdxoy", o.what) != NULL) &&
            (script.count < MOST_OPS)) {
            script.op[script.count++] = o;
        }
        break;
    }
}

static void read_script(char *text)
{
    uint32_t thread = 0;
    char    *rest;
    char    *word = strtok_r(text, " \n", &rest);

    memset(&script, 0, sizeof(script));
    memset(&t, 0, offsetof(trial, model));
    trial_reset(&t);
    script.want.block_threads = 1;
    script.want.payload_bytes = 1000;
    t.allocator = find_allocator((word != NULL) ? word : "");
    while ((word != NULL) && ((word = strtok_r(NULL, " \n", &rest)) != NULL)) {
        add_word(word, &thread);
    }
    for (uint32_t i = 0; i < script.count; i++) {
        script.op[i].thread %= script.want.block_threads;
    }
}

/* Far more switches than the words need, so that more are a livelock: each may walk over its pool,
 * and switch at each access. */
static unsigned long long most_switches(void)
{
    return 1000000u + 4ull * (script.count + 1u) * (script.want.payload_bytes + 4096u);
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
    FUZZ_EXPECT(t.report.bad_frees == t.steps);
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
    (void)snprintf(spec, sizeof(spec), "%s%s", TRIAL_NAME(&t), script.options);
    fuzz_expect_failure();
    status = shpool_simt_open(spec, &script.want, &t.pool);
    if (status != SHPOOL_OK) {
        fuzz_check_failure(status, "");
        return 0;
    }
    t.launch.block[0]      = script.want.block_threads;
    t.launch.dynamic_bytes = t.pool.shared_bytes;
    t.launch.max_switches  = most_switches();
    status                 = simt_run(&t.launch, script_kernel, &t, &t.result);
    if (status != SHPOOL_OK) {
        fuzz_fail("%s: %s: %s", spec, shpool_strerror(status), t.result.text);
    }
    if (t.model.faults != 0) {
        fuzz_fail("%s, %u threads, %u bytes, alignment %u: %u faults, the first: %s", spec,
                  t.launch.block[0], script.want.payload_bytes, t.pool.alignment, t.model.faults,
                  t.model.text);
    }
    FUZZ_EXPECT(t.model.live == 0);
    if (t.pool.report != NULL) {
        check_report();
    }
    shpool_simt_close(&t.pool);
    return 0;
}
