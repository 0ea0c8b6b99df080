/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs kernels that coalesce/host.sh compiled for this machine, plain and rewritten, and compares
 * all of memory byte by byte.
 *
 *   coalesce_emulate PLAIN.so REWRITTEN.so [KERNEL...]
 *
 * The block executor runs them: lanes meet at shuffles and barriers of the warp, and if they do
 * not, it reports an error.  The seed decides which lanes activemask sees, so a warp is sometimes
 * whole and sometimes split.  A missing bar.warp.sync is not detected, because lanes run one at a
 * time.
 *
 * Prints a line for each kernel and a sum.  Exit: 0; 1: a difference; 2: usage. */
#include <shpool/executor.h>

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUITE(_name, _in, _out, _flags) /* for the flags */
#include "suite.h"
#undef SUITE

typedef void (*kernel)(void *to, const void *from, size_t n, int m); /* or int n */

static const struct entry {
    const char *name;
    unsigned in, out, flags;
} suite[] = {
#define SUITE(_name, _in, _out, _flags) { #_name, _in, _out, _flags },
#include "suite.h"
#undef SUITE
};

/* One launch. */
typedef struct run {
    kernel function;
    void *to;
    const void *from;
    int n, m;
    uint32_t block[3];
    uint32_t grid;
} run;

static run now;
static unsigned long guards, together; /* threads at activemask; of them in whole warps */

/* ---- functions that the kernels call ---- */

static uint32_t collective(simt_collective op, uint32_t mask, uint32_t value, uint32_t arg,
                           void *place)
{
    return simt_engine_collective(op, mask, value, arg, "kernel",
                                  (int)((uintptr_t)place & 0x7fffffff));
}

#define EMU_FN __attribute__((visibility("default"), noinline))
#define HERE   __builtin_return_address(0)

EMU_FN int emu_tid_x(void);
EMU_FN int emu_tid_y(void);
EMU_FN int emu_ctaid_x(void);
EMU_FN int emu_ctaid_y(void);
EMU_FN int emu_ntid_x(void);
EMU_FN int emu_ntid_y(void);
EMU_FN int emu_nctaid_x(void);
EMU_FN int emu_laneid(void);
EMU_FN void emu_barrier(void);
EMU_FN void emu_warp_sync(uint32_t mask);
EMU_FN uint32_t emu_activemask(void);
EMU_FN uint32_t emu_shfl(uint32_t mask, uint32_t value, uint32_t lane, uint32_t clamp);
EMU_FN uint32_t emu_shfl_xor(uint32_t mask, uint32_t value, uint32_t lane, uint32_t clamp);
EMU_FN uint32_t emu_vote(uint32_t mask, uint32_t value);
EMU_FN uint32_t emu_global(const void *p);

int emu_tid_x(void)
{
    return (int)simt_thread_x();
}
int emu_tid_y(void)
{
    return (int)simt_thread_y();
}
int emu_ctaid_x(void)
{
    return (int)simt_block_x();
}
int emu_ctaid_y(void)
{
    return 0;
}
int emu_ntid_x(void)
{
    return (int)now.block[0];
}
int emu_ntid_y(void)
{
    return (int)now.block[1];
}
int emu_nctaid_x(void)
{
    return (int)now.grid;
}
int emu_laneid(void)
{
    return (int)simt_lane();
}
void emu_barrier(void)
{
    simt_engine_barrier("kernel", (int)((uintptr_t)HERE & 0x7fffffff));
}
void emu_warp_sync(uint32_t mask)
{
    (void)collective(SIMT_OP_SYNC, mask, 0, 0, HERE);
}
uint32_t emu_activemask(void)
{
    uint32_t mask = collective(SIMT_OP_CONVERGED, 0, 0, 0, HERE);

    guards++;
    together += mask == UINT32_MAX;
    return mask;
}
uint32_t emu_shfl(uint32_t mask, uint32_t value, uint32_t lane, uint32_t clamp)
{
    (void)clamp;
    return collective(SIMT_OP_SHFL, mask, value, lane & 31, HERE);
}
uint32_t emu_shfl_xor(uint32_t mask, uint32_t value, uint32_t lane, uint32_t clamp)
{
    (void)clamp;
    return collective(SIMT_OP_SHFL_XOR, mask, value, lane, HERE);
}
uint32_t emu_vote(uint32_t mask, uint32_t value)
{
    return collective(SIMT_OP_ALL, mask, value, 0, HERE);
}
uint32_t emu_global(const void *p)
{
    (void)p;
    return 1;
}

static void thread(void *arg)
{
    (void)arg;
    now.function(now.to, now.from, (size_t)now.n, now.m);
}

/* ---- memory: a guard before, the source, the destination, and a guard after ---- */

enum { MARGIN = 4096, MOST = 1 << 20 };

static unsigned char memory[3][MOST + 4 * MARGIN] __attribute__((aligned(64)));

static void fill(unsigned char *start, size_t bytes, int is_float)
{
    for (size_t i = 0; i + 4 <= bytes; i += 4) {
        uint32_t word = (uint32_t)(i * 2654435761u) >> 7;
        float small = (float)(word % 1000);

        memcpy(start + i, is_float ? (const void *)&small : (const void *)&word, 4);
    }
}

/* Source at `offset`, destination `distance` bytes after it. */
static int launch(kernel function, unsigned char *start, size_t offset, size_t distance,
                  const run *shape, uint64_t seed)
{
    simt_launch request = { .grid = { shape->grid, 1, 1 },
                            .block = { shape->block[0], shape->block[1], 1 },
                            .seed = seed };
    simt_result result;

    now = *shape;
    now.function = function;
    now.from = start + MARGIN + offset;
    now.to = start + MARGIN + offset + distance;
    if (simt_run(&request, thread, NULL, &result) != SHPOOL_OK) {
        printf("  executor: %s\n", result.text);
        return 0;
    }
    return 1;
}

/* ---- comparisons ---- */

typedef enum placement {
    APART,
    IN_PLACE,
    SHIFTED /* a field further on: of one thread, or lanes would race */
} placement;

typedef struct tally {
    unsigned long compared, different;
} tally;

static void compare(const struct entry *e, kernel plain, kernel rewritten, const run *shape,
                    size_t offset, placement where, tally *sum)
{
    size_t rows = (e->flags & SUITE_ALL) ? (size_t)shape->grid * shape->block[0] * shape->block[1]
                                         : (size_t)shape->n;
    size_t more = (e->flags & SUITE_ALL) ? 16384 : (e->flags & SUITE_SPAN) ? 1 << 18 : 0;
    size_t in = rows * e->in * (e->flags & SUITE_COLUMNS ? (size_t)shape->m : 1) + more;
    size_t distance = (where == IN_PLACE)  ? 0
                      : (where == SHIFTED) ? ((e->flags & SUITE_BYTES) ? 1 : 4)
                                           : (in + 63) / 64 * 64 + 256;
    size_t bytes = 2 * MARGIN + offset + distance + in + rows * e->out + more;
    uint64_t seed = (uint64_t)shape->n * 131 + shape->block[0] * 7 + offset + (unsigned)shape->m;
    int fine;

    if (bytes > sizeof(memory[0])) {
        printf("  %s: too large\n", e->name);
        sum->different++;
        return;
    }
    fill(memory[0], bytes, (e->flags & SUITE_FLOAT) != 0);
    memcpy(memory[1], memory[0], bytes);
    fine = launch(plain, memory[0], offset, distance, shape, seed) &&
           launch(rewritten, memory[1], offset, distance, shape, seed);
    sum->compared++;
    if (!fine || memcmp(memory[0], memory[1], bytes) != 0) {
        sum->different++;
        if (sum->different <= 3) {
            printf("  %s differs: n %d m %d block %ux%u grid %u offset %zu%s\n", e->name, shape->n,
                   shape->m, shape->block[0], shape->block[1], shape->grid, offset,
                   (where == IN_PLACE)  ? " in place"
                   : (where == SHIFTED) ? " shifted"
                                        : "");
        }
    }
}

static void compare_shapes(const struct entry *e, kernel plain, kernel rewritten, int n, int m,
                           tally *sum)
{
    static const unsigned blocks[] = { 32, 64, 100, 33, 96 };
    static const unsigned offsets[] = { 0, 16, 4, 8 };
    unsigned scale = (e->flags & SUITE_DOUBLE) ? 2 : 1;

    for (unsigned b = 0; b < 5; b++) {
        for (unsigned o = 0; o < 4; o++) {
            run shape = { .n = n, .m = m, .block = { blocks[b], 1, 1 } };
            size_t offset = (e->flags & SUITE_BYTES) ? o : scale * offsets[o];

            if (e->flags & SUITE_2D) {
                shape.block[1] = 2;
            }
            shape.grid =
                ((unsigned)n + blocks[b] * shape.block[1] - 1) / (blocks[b] * shape.block[1]);
            compare(e, plain, rewritten, &shape, offset, APART, sum);
            if (e->flags & SUITE_ALIAS) {
                compare(e, plain, rewritten, &shape, offset, IN_PLACE, sum);
            }
            if ((e->flags & SUITE_ALIAS) && !(e->flags & SUITE_ALL) && n == 1) {
                compare(e, plain, rewritten, &shape, offset, SHIFTED, sum);
            }
            if (shape.grid > 1 && b == 0) { /* more rounds of a loop over the grid */
                run half = shape;

                half.grid = (strncmp(e->name, "grid_stride", 11) == 0) ? 1 : shape.grid;
                compare(e, plain, rewritten, &half, offset, APART, sum);
            }
        }
    }
}

static tally compare_kernel(const struct entry *e, kernel plain, kernel rewritten)
{
    static const int counts[] = { 1, 32, 33, 100, 200 };
    static const int columns[] = { 1, 31, 32, 64, 65, 100 };
    tally sum = { 0, 0 };

    for (unsigned i = 0; i < 5; i++) {
        if (e->flags & SUITE_COLUMNS) {
            for (unsigned c = 0; c < 6; c++) {
                compare_shapes(e, plain, rewritten, counts[i], columns[c], &sum);
            }
        } else {
            compare_shapes(e, plain, rewritten, counts[i], (int)(i * 477218589), &sum);
        }
    }
    return sum;
}

/* The suite's kernel of that name, or one with any accesses within 256 bytes a thread. */
static struct entry entry_of(const char *name)
{
    for (size_t i = 0; i < sizeof(suite) / sizeof(suite[0]); i++) {
        if (strcmp(suite[i].name, name) == 0) {
            return suite[i];
        }
    }
    return (struct entry){ name, 256, 256,
                           SUITE_ALL | (strstr(name, "plane") ? SUITE_2D : 0) |
                               (strncmp(name, "inplace_", 8) == 0 ? SUITE_ALIAS : 0) };
}

static int check(const char *name, void *plain, void *rewritten, tally *all)
{
    struct entry e = entry_of(name);
    kernel p = (kernel)(uintptr_t)dlsym(plain, name);
    kernel r = (kernel)(uintptr_t)dlsym(rewritten, name);
    unsigned long before = guards, whole = together;
    tally sum;

    if (p == NULL || r == NULL) {
        printf("FAIL %s: not in both libraries\n", name);
        return 0;
    }
    sum = compare_kernel(&e, p, r);
    all->compared += sum.compared;
    all->different += sum.different;
    printf("%s %s: %lu comparisons, %lu differ; %lu of %lu guards in whole warps\n",
           sum.different ? "FAIL" : "ok  ", name, sum.compared, sum.different, together - whole,
           guards - before);
    return sum.different == 0;
}

int main(int argc, char **argv)
{
    void *plain = (argc > 2) ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    void *rewritten = (argc > 2) ? dlopen(argv[2], RTLD_NOW | RTLD_LOCAL) : NULL;
    tally all = { 0, 0 };
    int fine = 1;

    if (plain == NULL || rewritten == NULL) {
        fprintf(stderr, "usage: coalesce_emulate PLAIN.so REWRITTEN.so [KERNEL...]\n%s\n",
                (argc > 2) ? dlerror() : "");
        return 2;
    }
    for (int i = 3; i < argc; i++) {
        fine &= check(argv[i], plain, rewritten, &all);
    }
    for (size_t i = 0; argc == 3 && i < sizeof(suite) / sizeof(suite[0]); i++) {
        fine &= check(suite[i].name, plain, rewritten, &all);
    }
    printf("%lu comparisons, %lu differ; %lu of %lu guards in whole warps\n", all.compared,
           all.different, together, guards);
    return fine ? 0 : 1;
}
