/* SPDX-License-Identifier: BSD-3-Clause */
/* Affine kernels made at random, plain against rewritten: records of any width, fields in any
 * order and size, also bytes and half-words, holes, several ways to compute the address, bounds
 * that divide warps. */
#include "tests/unit.h"

#include "ptx_trial.h"

typedef struct source {
    ptx_out  out;
    uint64_t state;
    uint32_t words;   /* of a record */
    uint32_t wide[32]; /* words of the field that begins at this one: 1, 2, 4; 0: none does */
    uint32_t narrow[32]; /* bytes at which narrow fields begin, as bits, instead of one word */
    uint32_t most_narrow; /* 1: there are none; n: one word in n has none */
} source;

static uint32_t any(source *s, uint32_t below)
{
    s->state = s->state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(s->state >> 33) % below;
}

/* Cut the record into fields, some of which are left out. */
static void choose_fields(source *s, uint32_t most_wide, uint32_t holes)
{
    static const uint32_t begins[] = { 0x5, 0xf, 0x7, 0xd };

    memset(s->wide, 0, sizeof(s->wide));
    memset(s->narrow, 0, sizeof(s->narrow));
    for (uint32_t k = 0; k < s->words;) {
        uint32_t wide = 1u << any(s, 3);

        wide = ((wide > most_wide) || (k % wide != 0) || (k + wide > s->words)) ? 1 : wide;
        s->wide[k] = ((holes != 0) && (any(s, holes) == 0)) ? 0 : wide;
        if ((wide == 1) && (any(s, s->most_narrow) != 0)) {
            s->narrow[k] = begins[any(s, 4)];
        }
        k += wide;
    }
}

static void put_address(source *s, const char *to, const char *base)
{
    const uint32_t bytes = 4 * s->words;

    switch (any(s, 3)) {
    case 0:
        ptx_put(&s->out, "\tmul.lo.s32 %%r9, %%r4, %u;\n\tmul.wide.s32 %%rd9, %%r9, 4;\n"
                         "\tadd.s64 %s, %s, %%rd9;\n", s->words, to, base);
        break;
    case 1:
        ptx_put(&s->out, "\tmad.lo.s64 %s, %%rd4, %u, %s;\n", to, bytes, base);
        break;
    default:
        ptx_put(&s->out, "\tmul.wide.u32 %%rd9, %%r4, %u;\n\tadd.s64 %s, %%rd9, %s;\n", bytes, to,
                base);
    }
}

/* The narrow fields of word k: stored from any registers, loaded into n0, n1, ... */
static void put_narrow(source *s, uint32_t k, int store, const char *nc)
{
    for (uint32_t at = 0; at < 4; at++) {
        const uint32_t bits = ((at == 3) || (s->narrow[k] >> (at + 1) & 1) != 0) ? 8 : 16;

        if ((s->narrow[k] >> at & 1) == 0) {
            continue;
        }
        if (store) {
            ptx_put(&s->out, "\tst.global.b%u [%%rd7+%u], %%v%u;\n", bits, 4 * k + at,
                    any(s, s->words));
        } else {
            ptx_put(&s->out, "\tld.global%s.%c%u %%n%u, [%%rd6+%u];\n", nc,
                    "us"[any(s, 2)], bits, 4 * k + at, 4 * k + at);
        }
    }
}

/* What was loaded into narrow fields goes into the words' variables. */
static void put_sums(source *s)
{
    for (uint32_t k = 0; k < 4 * s->words; k++) {
        if ((s->wide[k / 4] == 1) && ((s->narrow[k / 4] >> k % 4 & 1) != 0)) {
            ptx_put(&s->out, "\tmad.lo.s32 %%v%u, %%n%u, %u, %%r4;\n", k / 4, k, 3 + k);
        }
    }
}

/* Fields in a random order: `store` from the registers v0, v1, ..., else into them. */
static void put_fields(source *s, int store, const char *nc)
{
    uint32_t order[32];

    for (uint32_t k = 0; k < 32; k++) {
        const uint32_t at = any(s, k + 1);

        order[k]  = order[at];
        order[at] = k;
    }
    for (uint32_t i = 0; i < 32; i++) {
        const uint32_t k    = order[i];
        const uint32_t wide = (k < s->words) ? s->wide[k] : 0;
        char           list[64];

        if (wide == 0) {
            continue;
        }
        if (s->narrow[k] != 0) {
            put_narrow(s, k, store, nc);
            continue;
        }
        (void)snprintf(list, sizeof(list), (wide == 1) ? "%%v%u" : (wide == 2)
                       ? "{%%v%u, %%v%u}" : "{%%v%u, %%v%u, %%v%u, %%v%u}", k, k + 1, k + 2, k + 3);
        if (store) {
            ptx_put(&s->out, "\tst.global%s.b32 [%%rd7+%u], %s;\n",
                    (wide == 1) ? "" : (wide == 2) ? ".v2" : ".v4", 4 * k, list);
        } else {
            ptx_put(&s->out, "\tld.global%s%s.b32 %s, [%%rd6+%u];\n", nc,
                    (wide == 1) ? "" : (wide == 2) ? ".v2" : ".v4", list, 4 * k);
        }
    }
}

/* A kernel k(d, s, n), as text. */
static char *make_kernel(uint64_t seed, uint32_t *words_p)
{
    static const char *const parameters =
        ".param .u64 k_param_0, .param .u64 k_param_1, .param .u64 k_param_2";
    source         s        = { .state = seed * 7919 + 1 };
    const uint32_t most     = 1u << any(&s, 3);
    const uint32_t holes    = (any(&s, 3) == 0) ? 6 : 0;

    s.most_narrow = (any(&s, 3) == 0) ? 3 : 1;
    *words_p = s.words = 1 + any(&s, 32);
    ptx_put(&s.out, ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(%s)\n{\n"
                    "\t.reg .pred %%p<4>;\n\t.reg .b32 %%r<12>, %%v<36>, %%n<128>;\n"
                    "\t.reg .b64 %%rd<12>;\n"
                    "\tld.param.u64 %%rd2, [k_param_0];\n\tld.param.u64 %%rd1, [k_param_1];\n"
                    "\tld.param.u64 %%rd3, [k_param_2];\n\tmov.u32 %%r1, %%ctaid.x;\n"
                    "\tmov.u32 %%r2, %%ntid.x;\n\tmov.u32 %%r3, %%tid.x;\n"
                    "\tmad.lo.s32 %%r4, %%r1, %%r2, %%r3;\n\tcvt.u64.u32 %%rd4, %%r4;\n"
                    "\tsetp.ge.u64 %%p1, %%rd4, %%rd3;\n\t@%%p1 bra DONE;\n", parameters);
    if (any(&s, 6) == 0) { /* a part of each warp, or of every other one */
        ptx_put(&s.out, "\tand.b32 %%r5, %%r4, %u;\n\tsetp.eq.u32 %%p2, %%r5, 3;\n"
                        "\t@%%p2 bra DONE;\n", (any(&s, 2) == 0) ? 7u : 63u);
    }
    put_address(&s, "%rd6", "%rd1");
    put_address(&s, "%rd7", "%rd2");
    for (uint32_t k = 0; k < s.words; k++) {
        ptx_put(&s.out, "\tadd.s32 %%v%u, %%r4, %u;\n", k, 17 * k);
    }
    /* the loads replace these values: two definitions, unless all loaded variables are new */
    if (any(&s, 2) == 0) {
        s.out.bytes = (size_t)(strstr(s.out.text, "\tadd.s32 %v0,") - s.out.text);
        choose_fields(&s, most, 0);
    } else {
        choose_fields(&s, most, holes);
    }
    put_fields(&s, 0, (any(&s, 2) == 0) ? ".nc" : "");
    put_sums(&s);
    for (uint32_t k = 0; k < s.words; k++) {
        ptx_put(&s.out, "\txor.b32 %%v%u, %%v%u, %%v%u;\n", k, k, any(&s, s.words));
    }
    choose_fields(&s, most, holes);
    put_fields(&s, 1, "");
    ptx_put(&s.out, "DONE:\n\tret;\n}\n");
    return s.out.text;
}

UNIT_TEST(test_random_kernels)
{
    const uint64_t kernels = (getenv("LIBSHPOOL_TEST_LONG") != NULL) ? 20000 : 1200;
    uint64_t       changed = 0;
    uint64_t       fewer   = 0;

    for (uint64_t seed = 1; seed <= kernels; seed += UNIT_STEP) {
        const ptx_request request = { .plan = { .force = 1 } };
        trial_kernel      kernel  = { .name = "k" };
        uint32_t          words;
        trial_text        plain = trial_parse(make_kernel(seed, &words));
        size_t            groups;
        trial_text        rewritten = trial_rewrite(&plain, &request, &groups);

        kernel.read = kernel.written = 4 * words;
        changed += (groups > 0);
        for (uint32_t i = 0; i < 5; i++) {
            trial_setup   setup = trial_setup_of(&kernel, (uint32_t)seed + i);
            trial_outcome outcome;

            setup.offset_d = setup.offset_d / 4 % 2 * 16; /* vectors must stay aligned */
            setup.offset_s = setup.offset_s / 4 % 2 * 16;
            outcome = trial_compare(&plain, &rewritten, &kernel, &setup);
            if (!outcome.same && outcome.plain_ran) {
                fail_msg("kernel %llu: %s\n%s", (unsigned long long)seed, outcome.what, plain.text);
            }
            fewer += (outcome.requests < outcome.plain_requests);
        }
        trial_free(&plain);
        trial_free(&rewritten);
    }
    print_message("%llu kernels, %llu rewritten, %llu runs with fewer requests\n",
                  (unsigned long long)kernels, (unsigned long long)changed,
                  (unsigned long long)fewer);
    assert_true(changed > kernels / 3 / UNIT_STEP);
    assert_true(fewer > kernels / 10 / UNIT_STEP);
}
