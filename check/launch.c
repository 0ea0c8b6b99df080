/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a kernel on the executor, and reports what stops it. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define STACK_BYTES    (512u * 1024u)
#define SWITCH_PERIOD  8u            /* atomics and volatile accesses between switches */
#define SWITCHES_OF_IDLE 10u         /* for loops that are not only of atomics */
#define SHARED_MOST    (227u * 1024u)
#define SHARED_USUAL   (48u * 1024u) /* more must be allowed */
#define ALLOWED_MOST   256u
#define EXPLORE_BYTES  (64u << 20)   /* of memory that is restored for each schedule */

/* cudaError_t */
#define INVALID_VALUE         1
#define INVALID_CONFIGURATION 9
#define ILLEGAL_ADDRESS       700
#define LAUNCH_TIMEOUT        702
#define LAUNCH_FAILURE        719

check_running check_now;

/* dim3 variables of shpool_check_device.h */
extern uint32_t blockDim[3];
extern uint32_t gridDim[3];
uint32_t        blockDim[3];
uint32_t        gridDim[3];

static struct {
    void (*run)(void *arg);
    void      *arg;
    simt_result result;
    uint32_t   blocks;    /* begun in all launches */
    uint32_t   count;     /* of launches */
    uint32_t   running;   /* rank of the block that runs + 1 */
    uint32_t   exited;    /* threads of it that have returned */
    uint32_t   waiting;   /* threads of it at a barrier */
    const char *file;     /* of that barrier */
    int         line;
    struct {
        uint64_t sent; /* in its last shuffle; NONE: in none */
        int      gone;
    } thread[SHPOOL_MAX_THREADS];
} launch;

#define NONE UINT64_MAX

/* ---- threads ---- */

static void begin_block(void)
{
    launch.running    = simt_self->block + 1u;
    launch.exited     = 0;
    launch.waiting    = 0;
    check_now.block   = check_now.first + simt_self->block;
    check_now.spins   = 0;
    check_now.idle    = 0;
    for (uint32_t i = 0; i < simt_self->threads; i++) {
        launch.thread[i].sent = NONE;
        launch.thread[i].gone = 0;
    }
    check_spin_begin();
    check_order_begin(simt_self->threads, simt_self->blocks);
    check_async_begin();
}

static void note_leaver(const char *file, int line)
{
    check_finding *finding = check_begin(CHECK_NOTE, "left-early", "threads have returned that "
                                         "other threads do not meet at a barrier: __syncthreads() "
                                         "is for all threads of the block; GPUs from sm_70 on "
                                         "do not wait for them");

    check_at_line(finding, file, line, "barrier");
    check_end(finding);
}

/* Nobody waits any more if all threads have come or gone. */
static void end_barrier(void)
{
    if (launch.waiting + launch.exited == simt_self->threads) {
        launch.waiting = 0;
    }
}

static void thread_main(void *arg)
{
    (void)arg;
    if (launch.running != simt_self->block + 1u) {
        begin_block();
    }
    launch.run(launch.arg);
    launch.thread[simt_self->rank].gone = 1;
    launch.exited++;
    if (launch.waiting != 0) {
        note_leaver(launch.file, launch.line);
        end_barrier();
    }
}

void shpool_check_barrier(const char *file, int line)
{
    if (launch.exited != 0) {
        note_leaver(file, line);
    }
    check_now.spins = 0;
    check_now.idle  = 0;
    launch.waiting++;
    launch.file = file;
    launch.line = line;
    end_barrier();
    simt_engine_barrier(file, line);
}

uint32_t shpool_check_collective(unsigned op, uint32_t mask, uint32_t value, uint32_t arg,
                                 const char *file, int line)
{
    check_now.spins = 0;
    return simt_engine_collective((simt_collective)op, mask, value, arg, file, line);
}

/* Why a shuffle gets no value from a lane, or NULL.  The warp's first thread is `first`.  The
 * executor answers with the caller's bits inverted if the lane has not taken part; that it did, and
 * sent this value, is known from what it sent last. */
static const char *missing(uint32_t mask, uint32_t lane, uint32_t first, uint32_t value,
                           uint32_t answer)
{
    if ((mask >> lane & 1u) == 0) {
        return "its mask does not name";
    }
    if (first + lane >= simt_self->threads) {
        return "the block does not have";
    }
    return (launch.thread[first + lane].gone && (answer == ~value) &&
            (launch.thread[first + lane].sent != answer)) ? "has returned from the kernel" : NULL;
}

/* Lanes of the warp that can be in a shuffle. */
static uint32_t lanes_of(uint32_t mask, uint32_t first)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < SIMT_WARP; i++) {
        count += (mask >> i & 1u) && (first + i < simt_self->threads) &&
                 !(launch.thread[first + i].gone && (launch.thread[first + i].sent == NONE));
    }
    return count;
}

uint32_t shpool_check_shuffle(uint32_t mask, uint32_t value, uint32_t source, uint32_t shift,
                              const char *file, int line)
{
    const uint32_t first = simt_self->rank / SIMT_WARP * SIMT_WARP;
    const char    *why;
    uint32_t       answer;

    launch.thread[simt_self->rank].sent = value;
    answer = shpool_check_collective(SIMT_OP_SHFL, mask, value, source, file, line);
    why    = missing(mask, source % SIMT_WARP, first, value, answer);
    if (why != NULL) {
        /* the last lanes of a reduction do so, and nobody uses what they get */
        check_finding *finding = check_begin(
            (shift < lanes_of(mask, first)) ? CHECK_NOTE : CHECK_ERROR, "mask",
            "a shuffle with mask 0x%x reads lane %u, which %s: thread %u of block %u gets an "
            "undefined value", mask, source % SIMT_WARP, why, simt_self->rank, simt_self->block);

        check_at_line(finding, file, line, "shuffle");
        check_end(finding);
    }
    return answer;
}

void shpool_check_pause(const char *file, int line)
{
    check_now.spins = 0;
    simt_engine_pause(0, file, line);
}

void shpool_check_misuse(const char *rule, const char *text, const char *file, int line)
{
    check_finding *finding = check_begin(CHECK_ERROR, rule, "%s", text);

    check_at_line(finding, file, line, "here");
    check_end(finding);
}

void shpool_check_trap(const char *what, const char *file, int line)
{
    check_finding *finding = check_begin(CHECK_ERROR, "assert", "%s failed in thread %u of block "
                                         "%u", what, simt_self->rank, simt_self->block);

    check_at_line(finding, file, line, "here");
    check_end(finding);
    simt_engine_fault("assertion", 0, 4); /* does not return */
}

/* ---- what stops a kernel ---- */

/* The executor's names of collectives, and CUDA's. */
static const char *const names[][2] = {
    { "simt_warp_sync", "__syncwarp" },      { "simt_ballot", "__ballot_sync" },
    { "simt_any", "__any_sync" },            { "simt_all", "__all_sync" },
    { "simt_shfl", "__shfl_sync" },          { "simt_match_any", "__match_any_sync" },
    { "simt_converged", "__activemask" },    { "barrier at", "__syncthreads() at" },
};

static void in_cuda_names(const char *text, char *out, size_t room)
{
    size_t used = 0;

    while ((*text != '\0') && (used + 1u < room)) {
        size_t i = 0;

        while ((i < sizeof(names) / sizeof(names[0])) &&
               (strncmp(text, names[i][0], strlen(names[i][0])) != 0)) {
            i++;
        }
        if (i < sizeof(names) / sizeof(names[0])) {
            used += (size_t)snprintf(out + used, room - used, "%s", names[i][1]);
            used  = (used < room) ? used : room - 1u;
            text += strlen(names[i][0]);
        } else if ((text[0] == ':') && isdigit((unsigned char)text[1])) {
            char *end;

            used += (size_t)snprintf(out + used, room - used, ":%lu",
                                     strtoul(text + 1, &end, 10) & SHPOOL_CHECK_LINE);
            used  = (used < room) ? used : room - 1u;
            text  = end;
        } else {
            out[used++] = *text++;
        }
    }
    out[used] = '\0';
}

static int report_stop(shpool_status status, const char *text)
{
    static const struct {
        shpool_status status;
        const char   *rule;
        int           error;
    } kinds[] = {
        { SHPOOL_ERR_DIVERGENCE, "divergence", LAUNCH_FAILURE },
        { SHPOOL_ERR_DEADLOCK, "deadlock", LAUNCH_TIMEOUT },
        { SHPOOL_ERR_BUDGET, "livelock", LAUNCH_TIMEOUT },
        { SHPOOL_OK, "fault", ILLEGAL_ADDRESS },
    };
    char   plain[2048];
    size_t i = 0;

    while ((kinds[i].status != SHPOOL_OK) && (kinds[i].status != status)) {
        i++;
    }
    in_cuda_names(text, plain, sizeof(plain));
    if ((kinds[i].status != SHPOOL_OK) || (strstr(text, " at 0x0 outside ") == NULL)) {
        check_end(check_begin(CHECK_ERROR, kinds[i].rule, "%s", plain));
    } /* else reported when it was found */
    return kinds[i].error;
}

/* ---- memory that each schedule of an exploration finds as it was ---- */

typedef struct saved {
    check_record *record;
    unsigned char *bytes;
    check_cell    *cells;
} saved;

static struct {
    saved     *of;
    uint32_t   count;
    size_t     bytes;
    check_mark mark;
} snapshot;

static void measure(check_record *record, void *arg)
{
    (void)arg;
    if (!record->shared) {
        snapshot.bytes += record->bytes;
        snapshot.count++;
    }
}

static void save(check_record *record, void *arg)
{
    uint32_t *n    = arg;
    size_t    size = (record->bytes / 4u + 2u) * sizeof(check_cell);
    saved     one  = { record, NULL, NULL };

    if (record->shared) {
        return;
    }
    one.bytes = check_memory(malloc(record->bytes + 1u));
    one.cells = check_memory(malloc(size));
    memcpy(one.bytes, record->base, record->bytes);
    memcpy(one.cells, check_cells(record), size);
    snapshot.of[(*n)++] = one;
}

static void restore(void *arg)
{
    (void)arg;
    check_shadow_end_launch();
    check_now.first = ++launch.blocks; /* what is known of shared memory is of another block */
    check_mark_back(&snapshot.mark);
    for (uint32_t i = 0; i < snapshot.count; i++) {
        const saved *one = &snapshot.of[i];

        one->record->freed = NULL;
        memcpy(one->record->base, one->bytes, one->record->bytes);
        memcpy(check_cells(one->record), one->cells,
               (one->record->bytes / 4u + 2u) * sizeof(check_cell));
    }
    launch.running = 0;
}

static shpool_status explore(const simt_launch *shape, simt_result *result)
{
    const simt_bounds bounds = { .preemptions = check_asked()->explore - 1u,
                                 .max_schedules = 100000 };
    const simt_hooks  hooks  = { .before = restore };
    uint32_t          n      = 0;
    shpool_status     status;

    snapshot.of = check_memory(calloc(snapshot.count + 1u, sizeof(*snapshot.of)));
    check_each(save, &n);
    snapshot.mark = check_mark_now();
    status = simt_explore(shape, &bounds, &hooks, thread_main, NULL, result);
    for (uint32_t i = 0; i < snapshot.count; i++) {
        free(snapshot.of[i].bytes);
        free(snapshot.of[i].cells);
    }
    free(snapshot.of);
    fprintf(stderr, "shpool-check: %s: %llu schedules%s\n", check_now.call->kernel,
            result->schedules, result->complete ? ", all within the bound" : "; there are more");
    return status;
}

static int is_explored(const simt_launch *shape)
{
    snapshot.count = 0;
    snapshot.bytes = 0;
    if (check_asked()->explore == 0) {
        return 0;
    }
    check_each(measure, NULL);
    return (shape->grid[0] * shape->grid[1] * shape->grid[2] == 1) &&
           (snapshot.bytes <= EXPLORE_BYTES);
}

/* ---- the launch ---- */

/* Dynamic shared memory that cudaFuncSetAttribute() has allowed. */
static struct {
    struct {
        const void *function;
        size_t      bytes;
    } of[ALLOWED_MOST];
    uint32_t count;
} allowed;

int shpool_check_allow(const void *function, size_t bytes)
{
    uint32_t i = 0;

    if (bytes > SHARED_MOST) {
        return INVALID_VALUE;
    }
    check_lock();
    while ((i < allowed.count) && (allowed.of[i].function != function)) {
        i++;
    }
    if (i < ALLOWED_MOST) {
        allowed.of[i].function = function;
        allowed.of[i].bytes    = bytes;
        allowed.count         += i == allowed.count;
    }
    check_unlock();
    return 0;
}

/* Of a kernel that is not known by its address, what any may have. */
static int is_allowed(const shpool_check_call *call)
{
    int fits = (call->dynamic_bytes <= SHARED_USUAL) || (allowed.count == ALLOWED_MOST);

    for (uint32_t i = 0; !fits && (i < allowed.count); i++) {
        fits = ((call->function == NULL) || (call->function == allowed.of[i].function)) &&
               (call->dynamic_bytes <= allowed.of[i].bytes);
    }
    return fits && (call->dynamic_bytes <= SHARED_MOST);
}

/* The cudaError_t of a launch that a GPU refuses, or 0; *why_p: the reason. */
static int refusal(const shpool_check_call *call, const char **why_p)
{
    static const uint32_t most[3] = { 1024, 1024, 64 };
    uint64_t              threads = 1;
    int                   fits    = 1;

    for (uint32_t i = 0; i < 3; i++) {
        threads *= call->block[i];
        fits = fits && (call->block[i] >= 1) && (call->block[i] <= most[i]) &&
               (call->grid[i] >= 1) && (call->grid[i] <= ((i == 0) ? 0x7fffffffu : 65535u));
    }
    if (!fits || (threads > 1024)) {
        *why_p = "cudaErrorInvalidConfiguration: a block has 1 to 1,024 threads (1024 x 1024 x 64) "
                 "and a grid 1 to 2^31-1 x 65,535 x 65,535 blocks";
        return INVALID_CONFIGURATION;
    }
    if (!is_allowed(call)) {
        *why_p = (call->dynamic_bytes > SHARED_MOST)
                     ? "cudaErrorInvalidValue: a block has at most 227 KiB of shared memory"
                     : "cudaErrorInvalidValue: more than 48 KiB of dynamic shared memory need "
                       "cudaFuncSetAttribute() with cudaFuncAttributeMaxDynamicSharedMemorySize";
        return INVALID_VALUE;
    }
    return 0;
}

/* The program may read the error: then it knows. */
static void report_refusal(const shpool_check_call *call, const char *why)
{
    check_finding *finding = check_begin(
        CHECK_ERROR, "launch", "%s<<<(%u,%u,%u), (%u,%u,%u), %zu>>> fails with %s. The program "
        "does not read the error", call->kernel, call->grid[0], call->grid[1], call->grid[2],
        call->block[0], call->block[1], call->block[2], call->dynamic_bytes, why);

    check_at_line(finding, call->file, call->line, "launch");
    check_postpone(finding);
}

void shpool_check_read_error(void) { check_forgive(); }

static int run_call(const shpool_check_call *call, void (*run)(void *arg), void *arg)
{
    size_t         static_bytes = 0;
    unsigned char *window       = check_window(&static_bytes);
    simt_launch    shape        = {
        .dynamic_bytes = (uint32_t)call->dynamic_bytes,
        .static_bytes  = (uint32_t)static_bytes,
        .seed          = check_asked()->seed,
        .switch_period = SWITCH_PERIOD,
        .max_switches  = SWITCHES_OF_IDLE * 1000ull * check_asked()->budget,
        .arena         = window,
        .stack_bytes   = STACK_BYTES,
        .leavers       = 1,
    };
    shpool_status  status;

    memcpy(shape.grid, call->grid, sizeof(shape.grid));
    memcpy(shape.block, call->block, sizeof(shape.block));
    memcpy(gridDim, call->grid, sizeof(shape.grid));
    memcpy(blockDim, call->block, sizeof(shape.block));
    check_set_dynamic(call->dynamic_bytes);
    check_now      = (check_running){ .call = call, .first = launch.blocks + 1u,
                                       .slow = ((check_asked()->counts | check_asked()->explore)
                                                != 0) ? CHECK_SLOW_RUN : 0u };
    launch.run     = run;
    launch.arg     = arg;
    launch.running = 0;
    launch.count++;
    launch.blocks += shape.grid[0] * shape.grid[1] * shape.grid[2];
    status = is_explored(&shape) ? explore(&shape, &launch.result)
                                 : simt_run(&shape, thread_main, NULL, &launch.result);
    check_shadow_end_launch();
    status = (status != SHPOOL_OK) ? report_stop(status, launch.result.text) : SHPOOL_OK;
    check_order_end_launch();
    check_now.call = NULL;
    return (int)status;
}

uint32_t check_launches(void)
{
    return launch.count;
}

int shpool_check_launch(const shpool_check_call *call, void (*run)(void *arg), void *arg)
{
    const char *why = NULL;
    int         error;

    if (simt_self != NULL) {
        shpool_check_misuse("unsupported", "a kernel launches a kernel (dynamic parallelism)",
                            call->file, call->line);
        return INVALID_CONFIGURATION;
    }
    check_lock();
    error = refusal(call, &why);
    if (error != 0) {
        report_refusal(call, why);
    } else {
        error = run_call(call, run, arg);
    }
    check_unlock();
    return error;
}
