/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes a CUDA file of random kernels over records: fields in any order, read, written and copied,
 * with bounds, conditions, loops, barriers, aliases and indices of several types.
 *
 *   coalesce_fuzz SEED COUNT > kernels.cu
 *
 * A thread accesses only its own record (at most 256 bytes), so a kernel's result does not depend
 * on the order of threads, and the results of the plain and the rewritten kernel can be compared.
 * Kernels whose names begin with inplace_ may be run with one array for both pointers. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_FIELDS = 64 };

static uint64_t state;

static unsigned below(unsigned limit)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)((state >> 16) % limit);
}

static int chance(unsigned percent)
{
    return below(100) < percent;
}

typedef struct shape {
    const char *type;
    unsigned fields; /* of a record */
    unsigned chosen; /* of them are accessed */
    unsigned field[MOST_FIELDS];
    const char *index_type;
    unsigned index_form;
} shape;

static void shuffle(shape *s)
{
    for (unsigned i = s->chosen; i > 1; i--) {
        unsigned k = below(i), swap = s->field[i - 1];

        s->field[i - 1] = s->field[k];
        s->field[k] = swap;
    }
}

/* All fields mostly, some now and then; ascending mostly. */
static void choose_fields(shape *s)
{
    unsigned keep = chance(75) ? 100 : 60 + below(40);

    s->chosen = 0;
    for (unsigned f = 0; f < s->fields; f++) {
        if (keep == 100 || chance(keep)) {
            s->field[s->chosen++] = f;
        }
    }
    if (chance(30)) {
        shuffle(s);
    }
}

static shape random_shape(void)
{
    static const struct {
        const char *name;
        unsigned bytes;
    } types[] = { { "unsigned", 4 },      { "unsigned", 4 },           { "unsigned", 4 },
                  { "unsigned char", 1 }, { "unsigned long long", 8 }, { "unsigned short", 2 } };
    static const char *const indices[] = { "int", "unsigned", "size_t", "long long" };
    unsigned t = below(6), most = 256 / types[t].bytes;
    shape s = { .type = types[t].name, .index_type = indices[below(4)], .index_form = below(5) };

    if (types[t].bytes == 1) {
        s.fields = chance(70) ? 3 : 1 + below(8);
    } else {
        s.fields = 1 + below(most < 34 ? most : 34);
    }
    return s;
}

static void print_base(const shape *s)
{
    switch (s->index_form) {
    case 0:
        printf("        %s at = i * %u;\n", s->index_type, s->fields);
        break;
    case 1:
        printf("        %s at = %u * i + (m & 1023) - (m & 1023);\n", s->index_type, s->fields);
        break;
    case 2:
        printf("        %s at = (i + 1) * %u - %u;\n", s->index_type, s->fields, s->fields);
        break;
    case 3:
        printf("        %s at = 0; at += i; at *= %u;\n", s->index_type, s->fields);
        break;
    default:
        printf("        %s at = ((i >> 5) * 32 + (i & 31)) * %u;\n", s->index_type, s->fields);
    }
}

static void print_part(shape *s, unsigned part)
{
    unsigned what = below(4);

    choose_fields(s);
    for (unsigned k = 0; k < s->chosen; k++) {
        unsigned f = s->field[k], other = s->field[below(s->chosen)];

        if (what == 0) {
            printf("            to[at + %u] = from[at + %u];\n", f, f);
        } else if (what == 1) {
            printf("            v[%u] += from[at + %u] * %u;\n", f, f, part + 1);
        } else if (what == 2) {
            printf("            v[%u] ^= to[at + %u];\n", f, other);
        } else {
            printf("            to[at + %u] = v[%u] + %u;\n", f, other, k);
        }
    }
    if (what == 1 || what == 2) { /* and all out again, or nothing of it would be left */
        for (unsigned k = 0; k < s->chosen; k++) {
            printf("            to[at + %u] = v[%u];\n", s->field[k], s->field[s->chosen - 1 - k]);
        }
    }
}

static void print_kernel(unsigned number)
{
    static const char *const conditions[] = { "i % 3 != 1", "(i & 1) == 0", "i > 40",
                                              "threadIdx.x < 64" };
    shape s = random_shape();
    int aliased = chance(40);
    const char *restricted = aliased ? "" : "__restrict__ ";
    unsigned parts = 1 + below(3);

    printf("KERNEL %s_%u(%s *%sto, const %s *%sfrom, int n, int m) {\n"
           "    %s i = blockIdx.x * blockDim.x + threadIdx.x;\n"
           "    %s v[%u];\n    for (int k = 0; k < %u; k++) v[k] = k * (unsigned)m;\n",
           aliased ? "inplace" : "apart", number, s.type, restricted, s.type, restricted,
           chance(50) ? "int" : s.index_type, s.type, s.fields, s.fields);
    for (unsigned part = 0; part < parts; part++) {
        if (chance(50)) {
            printf("    if (i < n) {\n");
        } else {
            printf("    {\n");
        }
        print_base(&s);
        if (chance(20)) {
            printf("        if (%s) {\n", conditions[below(4)]);
        } else if (chance(20)) {
            printf("        for (int round = 0; round < 1 + (n & 1); round++) {\n");
        } else {
            printf("        {\n");
        }
        print_part(&s, part);
        printf("        }\n    }\n");
        if (chance(20)) {
            printf("    __syncthreads();\n");
        }
    }
    printf("}\n");
}

int main(int argc, char **argv)
{
    unsigned count = (argc > 2) ? (unsigned)atoi(argv[2]) : 0;

    if (count == 0) {
        fprintf(stderr, "usage: coalesce_fuzz SEED COUNT\n");
        return 2;
    }
    state = strtoull(argv[1], NULL, 10) * 0x9e3779b97f4a7c15u + 1;
    printf("#define KERNEL extern \"C\" __global__ void\n");
    for (unsigned i = 0; i < count; i++) {
        print_kernel(i);
    }
    return 0;
}
