/* SPDX-License-Identifier: BSD-3-Clause */
/* See ptx_trial.h. */
#include "ptx_trial.h"

#include <stdlib.h>
#include <string.h>

#include "tools/bench/coalesce/suite.h"
#include "defects.h"

#define DEFECT(_name, _read, _written, _extra, _flags)                                             \
    { #_name, _read, _written, _extra, _flags },
/* Copies and records of `restrict` pointers; the latter must not overlap. */
#define SUITE(_name, _read, _written, _shape, _target)                                             \
    { #_name, _read, _written, 0, ((_shape) == SUITE_FULL) ? SUITE_BLOCK : 0u },
#define SUITE_BLOCK 32u /* flag: blocks of 256 threads, all full */
const trial_kernel trial_kernels[] = { COALESCE_DEFECTS(DEFECT) COALESCE_BY_HAND(DEFECT)
                                       COALESCE_BOTH(DEFECT) COALESCE_SUITE(SUITE) };
const size_t trial_kernel_count = sizeof(trial_kernels) / sizeof(trial_kernels[0]);

/* ---- texts ---- */

static void give_up(const char *what, const char *why)
{
    (void)fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

trial_text trial_parse(char *text)
{
    trial_text made = { .text = text };

    if (ptx_parse(text, (uint32_t)strlen(text), &made.module) != PTX_FINE) {
        give_up("PTX", made.module.error);
    }
    for (uint32_t i = 0; i < made.module.function_count; i++) {
        if (!ptx_flow(&made.module, &made.module.function[i])) {
            give_up("PTX", "memory ran out");
        }
    }
    return made;
}

trial_text trial_read(const char *file)
{
    FILE  *in   = fopen(file, "rb");
    char  *text = malloc(1 << 22);
    size_t bytes;

    if ((in == NULL) || (text == NULL)) {
        give_up(file, "cannot be read; set top_srcdir to the source folder");
    }
    bytes = fread(text, 1, (1 << 22) - 1, in);
    (void)fclose(in);
    text[bytes] = '\0';
    return trial_parse(text);
}

trial_text trial_rewrite(const trial_text *plain, const ptx_request *request, size_t *rewritten_p)
{
    ptx_module module;
    ptx_out    out = { 0 };

    /* a module of its own: ptx_flow() must run once for each */
    if ((ptx_parse(plain->text, (uint32_t)strlen(plain->text), &module) != PTX_FINE) ||
        (ptx_process(&module, request, NULL, &out, rewritten_p) != PTX_FINE)) {
        give_up("rewriting", "failed");
    }
    ptx_module_fini(&module);
    return trial_parse(out.text);
}

void trial_free(trial_text *text)
{
    ptx_module_fini(&text->module);
    free(text->text);
}

/* ---- runs ---- */

static const ptx_function *find(const trial_text *text, const char *name)
{
    for (uint32_t i = 0; i < text->module.function_count; i++) {
        const ptx_function *function = &text->module.function[i];

        if (ptx_text_is(&text->module, function->name_begin, function->name_end, name)) {
            return function;
        }
    }
    return NULL;
}

int trial_has(const trial_text *text, const char *name)
{
    return find(text, name) != NULL;
}

#define S_ADDRESS 0x10000000ull
#define D_ADDRESS 0x20000000ull

typedef struct arrays {
    machine_region region[2];
    uint32_t       regions;
    uint64_t       d;
    uint64_t       s;
} arrays;

/* Exactly the bytes that the kernel may touch, and a pattern in them. */
static arrays make_arrays(const trial_kernel *kernel, const trial_setup *setup)
{
    const uint64_t read    = (uint64_t)kernel->read * setup->n + kernel->extra;
    const uint64_t written = (uint64_t)kernel->written * setup->n + kernel->extra;
    arrays         a       = { .regions = 2 };
    uint64_t       state   = 88172645463325252ull;

    a.s = S_ADDRESS + setup->offset_s;
    a.d = D_ADDRESS + setup->offset_d;
    a.region[0] = (machine_region){ .address = a.s, .bytes = read };
    a.region[1] = (machine_region){ .address = a.d, .bytes = written };
    if (setup->overlap != TRIAL_APART) {
        const uint64_t shift = (uint64_t)((setup->overlap < 0) ? -setup->overlap : setup->overlap);

        a.d       = a.s + (uint64_t)setup->overlap;
        a.regions = 1;
        a.region[0] = (machine_region){ .address = (setup->overlap < 0) ? a.d : a.s,
                                        .bytes = ((read > written) ? read : written) + shift };
    }
    for (uint32_t i = 0; i < a.regions; i++) {
        a.region[i].memory = malloc(a.region[i].bytes + 1);
        for (uint64_t b = 0; (a.region[i].memory != NULL) && (b < a.region[i].bytes); b++) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            a.region[i].memory[b] = (unsigned char)(state >> 24);
        }
    }
    return a;
}

static machine_result run(const trial_text *text, const trial_kernel *kernel,
                          const trial_setup *setup, const arrays *a)
{
    machine_launch launch = {
        .module = &text->module, .function = find(text, kernel->name),
        .block = { setup->threads, 1, 1 }, .parameter = { a->d, a->s, setup->n },
        .region = { a->region[0], a->region[1] }, .regions = a->regions, .seed = setup->seed,
    };

    if ((kernel->flags & DEFECT_2D) != 0) {
        launch.block[0] = 16;
        launch.block[1] = setup->threads / 16;
    }
    launch.blocks = (setup->n + setup->threads - 1) / setup->threads;
    return machine_run(&launch);
}

static void compare_memory(const arrays *a, const arrays *b, trial_outcome *outcome)
{
    for (uint32_t i = 0; i < a->regions; i++) {
        for (uint64_t k = 0; outcome->same && (k < a->region[i].bytes); k++) {
            if (a->region[i].memory[k] != b->region[i].memory[k]) {
                outcome->same = 0;
                (void)snprintf(outcome->what, sizeof(outcome->what),
                               "byte %llu of array %u is %02x, not %02x", (unsigned long long)k, i,
                               b->region[i].memory[k], a->region[i].memory[k]);
            }
        }
    }
}

trial_outcome trial_compare(const trial_text *plain, const trial_text *rewritten,
                            const trial_kernel *kernel, const trial_setup *setup)
{
    arrays         a       = make_arrays(kernel, setup);
    arrays         b       = make_arrays(kernel, setup);
    machine_result first   = run(plain, kernel, setup, &a);
    machine_result second  = run(rewritten, kernel, setup, &b);
    trial_outcome  outcome = { .same = first.fine && second.fine, .plain_ran = first.fine,
                               .plain_requests = first.requests,
                               .plain_sectors = first.sectors, .requests = second.requests,
                               .sectors = second.sectors };

    if (!outcome.same) {
        (void)snprintf(outcome.what, sizeof(outcome.what), "plain: %.100s; rewritten: %.100s",
                       first.fine ? "fine" : first.error, second.fine ? "fine" : second.error);
    } else {
        compare_memory(&a, &b, &outcome);
    }
    if (!outcome.same) {
        const size_t used = strlen(outcome.what);

        (void)snprintf(outcome.what + used, sizeof(outcome.what) - used,
                       " (%s, %u threads, n %u, offsets %u %u, overlap %lld, seed %llu)",
                       kernel->name, setup->threads, setup->n, setup->offset_d, setup->offset_s,
                       (setup->overlap == TRIAL_APART) ? -1 : (long long)setup->overlap,
                       (unsigned long long)setup->seed);
    }
    for (uint32_t i = 0; i < a.regions; i++) {
        free(a.region[i].memory);
        free(b.region[i].memory);
    }
    return outcome;
}

/* ---- setups ---- */

/* Required alignment of the kernel's accesses. */
static uint32_t alignment_of(const trial_kernel *kernel)
{
    if ((kernel->read == 3) || (strncmp(kernel->name, "mixed", 5) == 0)) {
        return (kernel->read == 3) ? 1 : 4;
    }
    if (strcmp(kernel->name, "vectors") == 0) {
        return 16;
    }
    return (strncmp(kernel->name, "doubles", 7) == 0) ? 8 : 4;
}

trial_setup trial_setup_of(const trial_kernel *kernel, uint32_t number)
{
    static const uint32_t threads[] = { 256, 96, 100, 32, 33, 64 };
    static const uint32_t sizes[]   = { 128, 300, 1, 31, 32, 33, 64, 97, 320 };
    static const int64_t  overlaps[] = { 0, 4, -4, 36, -12, 96, 1152, -1152, 128 };
    const uint32_t        unit      = alignment_of(kernel);
    const uint32_t        mixed     = number * 2654435761u;
    trial_setup           setup     = { .overlap = TRIAL_APART };

    setup.threads = threads[number % 6];
    setup.n       = sizes[number % 9];
    setup.offset_d = (number % 3 == 0) ? 0 : (mixed >> 8) % 8 * unit;
    setup.offset_s = (number % 3 != 1) ? setup.offset_d : (mixed >> 16) % 8 * unit;
    setup.seed     = (number % 4 == 3) ? mixed | 1 : 0;
    if (((kernel->flags & DEFECT_SAME) != 0) && (number % 5 == 4)) {
        setup.overlap = 0;
    }
    /* lanes that overlap race with each other: only where they run in step is there one result */
    if (((strncmp(kernel->name, "copy", 4) == 0) && (strchr(kernel->name, '_') == NULL)) ||
        (strcmp(kernel->name, "guarded") == 0) || (strcmp(kernel->name, "interleaved") == 0)) {
        if (number % 5 >= 3) {
            setup.overlap = overlaps[(mixed >> 20) % 9];
            setup.seed    = (setup.overlap == 0) ? setup.seed : 0;
        }
    }
    if (((kernel->flags & DEFECT_OVERLAP) != 0) && (number % 5 >= 2)) {
        setup.overlap = overlaps[(mixed >> 20) % 9];
        setup.seed    = 0;
        setup.threads = (number % 2 == 0) ? 32 : 256;
        setup.n       = setup.threads;
    }
    if ((kernel->flags & DEFECT_LOCKSTEP) != 0) {
        setup.seed = 0;
        setup.threads = 32; /* warps race, too */
        setup.n = 32;
    }
    if ((kernel->flags & DEFECT_FULL) != 0) {
        setup.threads = 64;
        setup.n       = 64 * (1 + number % 4);
    }
    if ((kernel->flags & SUITE_BLOCK) != 0) {
        setup.threads = 256;
        setup.n       = 256;
    }
    if ((kernel->flags & DEFECT_2D) != 0) {
        setup.threads = 128;
    }
    return setup;
}
