/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target: the grammar of specs, and planning and opening with a spec.
 *
 * The input is a spec.  It is parsed; planned and opened for several configurations; and planned
 * again as the value of SHPOOL_ALLOCATOR.  The grammar is a regular expression here, so that the
 * parser is not compared with itself. */
#include "tests/fuzz.h"

#include <errno.h>
#include <regex.h>

#include <shpool/impl/waiters.h>

const char fuzz_name[] = "spec";

/* ---- the grammar ---- */

#define NAME  "[a-z][a-z0-9_]*"
#define VALUE "[]!-+./0-9;<>?@A-Z[\\^_`a-z{}~-]+" /* graphic, but : | , = */
#define PAIR  NAME "=" VALUE
#define LAYER "(" NAME "|[A-Z][A-Z0-9_]*)(:" PAIR "(," PAIR ")*)?"
#define SPEC  "^" LAYER "([|]" LAYER ")*$"

static int is_grammatical(const char *text)
{
    static regex_t grammar;
    static int     compiled;

    if (!compiled) {
        FUZZ_EXPECT(regcomp(&grammar, SPEC, REG_EXTENDED | REG_NOSUB) == 0);
        compiled = 1;
    }
    return regexec(&grammar, text, 0, NULL, 0) == 0;
}

/* An accepted spec has nothing but the text's contents. */
static void check_round_trip(const shpool_spec *spec, const char *text)
{
    char        again[2 * SHPOOL_SPEC_BYTES];
    shpool_text out = shpool_text_make(again, sizeof(again));

    FUZZ_EXPECT((spec->layers >= 1) && (spec->layers <= SHPOOL_SPEC_LAYERS));
    for (uint32_t i = 0; i < spec->layers; i++) {
        const shpool_spec_layer *layer = &spec->layer[i];

        FUZZ_EXPECT(strlen(layer->name) < SHPOOL_NAME_BYTES);
        FUZZ_EXPECT(layer->pairs <= SHPOOL_SPEC_PAIRS);
        shpool_text_add(&out, "%s%s", (i > 0) ? "|" : "", layer->name);
        for (uint32_t j = 0; j < layer->pairs; j++) {
            const shpool_spec_pair *pair = &layer->pair[j];

            FUZZ_EXPECT(shpool_name_is_valid(pair->key));
            FUZZ_EXPECT(strlen(pair->value) < SHPOOL_SPEC_VALUE_BYTES);
            for (uint32_t k = 0; k < j; k++) {
                FUZZ_EXPECT(strcmp(layer->pair[k].key, pair->key) != 0);
            }
            shpool_text_add(&out, "%c%s=%s", (j > 0) ? ',' : ':', pair->key, pair->value);
        }
    }
    FUZZ_EXPECT(strcmp(again, text) == 0);
}

static unsigned shift_of(char unit)
{
    return ((unit == 'K') || (unit == 'k')) ? 10 : ((unit == 'M') || (unit == 'm')) ? 20
           : ((unit == 'G') || (unit == 'g')) ? 30 : 0;
}

/* A number that is accepted is the one that is written. */
static void check_number(const char *text)
{
    unsigned long long expected;
    uint64_t           value = 1;
    char              *end;

    if (!shpool_spec_number(text, 1, &value)) {
        FUZZ_EXPECT(value == 0);
        FUZZ_EXPECT(!shpool_spec_number(text, 0, &value));
        return;
    }
    errno    = 0;
    expected = strtoull(text, &end, 10);
    FUZZ_EXPECT((errno == 0) && (text[0] >= '0') && (text[0] <= '9'));
    FUZZ_EXPECT((end[0] == '\0') || ((shift_of(end[0]) != 0) && (end[1] == '\0')));
    FUZZ_EXPECT((value >> shift_of(end[0])) == expected);
    FUZZ_EXPECT((value & ((1ull << shift_of(end[0])) - 1u)) == 0);
    FUZZ_EXPECT(shpool_spec_number(text, 0, &value) == (end[0] == '\0'));
}

static int check_parser(const char *text, shpool_spec *spec)
{
    shpool_status status;

    memset(spec, 0xff, sizeof(*spec));
    fuzz_expect_failure();
    status = shpool_spec_parse("the fuzzer", text, spec);
    if (status == SHPOOL_OK) {
        FUZZ_EXPECT(is_grammatical(text));
        check_round_trip(spec, text);
        for (uint32_t i = 0; i < spec->layers; i++) {
            for (uint32_t j = 0; j < spec->layer[i].pairs; j++) {
                check_number(spec->layer[i].pair[j].value);
            }
        }
        return 1;
    }
    FUZZ_EXPECT(status == SHPOOL_ERR_SPEC);
    fuzz_check_failure(status, "the fuzzer \"");
    for (size_t i = 0; i < sizeof(*spec); i++) {
        FUZZ_EXPECT(((const unsigned char *)spec)[i] == 0);
    }
    if ((strlen(text) < SHPOOL_SPEC_BYTES) && is_grammatical(text)) { /* then it is a limit */
        FUZZ_EXPECT((strstr(shpool_last_error(), "at most") != NULL) ||
                    (strstr(shpool_last_error(), "more than") != NULL) ||
                    (strstr(shpool_last_error(), "twice") != NULL));
    }
    return 0;
}

/* ---- planning ---- */

static const shpool_config wants[] = {
    { .block_threads = 256, .payload_bytes = 32768 },
    { .block_threads = 33 }, /* only the spec can say how much */
    { .block_threads = 1, .payload_bytes = 1 },
    { .block_threads = 1024, .total_bytes = SHPOOL_MAX_SHARED },
    { .block_threads = 64, .payload_bytes = 4096, .alignment = 256, .threads_per_pool = 5,
      .flags = SHPOOL_FLAG_STATS, .shared_limit = 49152 },
};

/* 1: the pool or allocator writes a file when it is closed. */
static int is_traced(const shpool_spec *spec)
{
    for (uint32_t i = 0; i < spec->layer[0].pairs; i++) {
        if (strcmp(spec->layer[0].pair[i].key, "trace") == 0) {
            return 1;
        }
    }
    return 0;
}

/* The configuration with the spec's options over it, from the documentation of shpool_plan(). */
static shpool_config with_options(const shpool_config *want, const shpool_spec *spec)
{
    shpool_config config = *want;

    for (uint32_t i = 0; i < spec->layer[0].pairs; i++) {
        const char *key = spec->layer[0].pair[i].key;
        uint64_t    wide;
        uint32_t    value;

        (void)shpool_spec_number(spec->layer[0].pair[i].value, 1, &wide);
        value = (wide < UINT32_MAX) ? (uint32_t)wide : UINT32_MAX;
        if (strcmp(key, "payload_bytes") == 0) {
            config.payload_bytes = value;
            config.total_bytes   = 0;
        } else if (strcmp(key, "total_bytes") == 0) {
            config.total_bytes   = value;
            config.payload_bytes = 0;
        } else if (strcmp(key, "threads_per_pool") == 0) {
            config.threads_per_pool = value;
        } else if (strcmp(key, "alignment") == 0) {
            config.alignment = value;
        } else if ((strcmp(key, "stats") == 0) || (strcmp(key, "check") == 0)) {
            uint32_t flag = (key[0] == 's') ? SHPOOL_FLAG_STATS : SHPOOL_FLAG_CHECK;

            config.flags = (value != 0) ? config.flags | flag : config.flags & ~flag;
        }
    }
    config.flags |= is_traced(spec) ? (uint32_t)SHPOOL_FLAG_STATS : 0u;
    return config;
}

static void check_plan(const shpool_pool *pool, const shpool_config *want, const shpool_spec *spec)
{
    const shpool_config     config = with_options(want, spec);
    const uint32_t          limit  = config.shared_limit ? config.shared_limit : SHPOOL_MAX_SHARED;
    const shpool_allocator *allocator;
    uint32_t                bytes; /* the module's, of a pool */

    FUZZ_EXPECT(spec->layers == 1);
    FUZZ_EXPECT(shpool_allocator_find(spec->layer[0].name, &allocator) == SHPOOL_OK);
    FUZZ_EXPECT((pool->abi == SHPOOL_ABI) && (pool->bytes == sizeof(*pool)));
    FUZZ_EXPECT(strcmp(pool->name, allocator->name) == 0);
    FUZZ_EXPECT(pool->allocator == shpool_name_id(allocator->name));

    FUZZ_EXPECT((pool->alignment >= SHPOOL_MIN_ALIGNMENT) &&
                (pool->alignment <= SHPOOL_MAX_ALIGNMENT) &&
                ((pool->alignment & (pool->alignment - 1u)) == 0));
    FUZZ_EXPECT((config.alignment == 0) || (pool->alignment == config.alignment));
    FUZZ_EXPECT((pool->flags & (SHPOOL_FLAG_STATS | SHPOOL_FLAG_CHECK)) == config.flags);

    FUZZ_EXPECT(pool->block_threads == config.block_threads);
    FUZZ_EXPECT((pool->pools >= 1) && (pool->threads_per_pool >= 1));
    FUZZ_EXPECT((pool->pools - 1u) * pool->threads_per_pool < pool->block_threads);
    FUZZ_EXPECT(pool->pools * pool->threads_per_pool >= pool->block_threads);

    FUZZ_EXPECT((pool->shared_bytes == 0) ||
                (pool->shared_bytes == SHPOOL_SLACK_BYTES(pool->alignment) + pool->area_bytes +
                                           pool->pools * pool->pool_bytes));
    FUZZ_EXPECT((pool->area_bytes % pool->alignment == 0) && (pool->pool_bytes % 16u == 0));
    FUZZ_EXPECT((pool->pools == 1) || (pool->pool_bytes % pool->alignment == 0));
    if (pool->pool_bytes == 0) { /* native, null */
        FUZZ_EXPECT((allocator->caps & (SHPOOL_CAP_SPILL | SHPOOL_CAP_NONE)) != 0);
        return;
    }
    FUZZ_EXPECT(pool->shared_bytes <= limit);
    FUZZ_EXPECT(shpool_same_geometry(allocator->layout, pool) == SHPOOL_OK);
    bytes = pool->pool_bytes - shpool_wait_bytes(pool->flags, pool->pool_bytes);
    FUZZ_EXPECT(allocator->layout(bytes, pool->alignment).largest ==
                pool->largest + (((pool->flags & SHPOOL_FLAG_CHECK) != 0) ? pool->alignment + 4u
                                                                          : 0u)); /* zones */
    FUZZ_EXPECT((unsigned long long)pool->largest * pool->pools >= config.payload_bytes);
    FUZZ_EXPECT((config.total_bytes == 0) || (pool->shared_bytes <= config.total_bytes));
}

#define MOST_SLOTS (16u << 20) /* bytes of host memory that a spec may make an opened pool have */

static void check_opened(const char *text, const shpool_config *want, const shpool_pool *plan)
{
    shpool_pool pool;

    if ((unsigned long long)plan->spill_slots * plan->spill_bytes > MOST_SLOTS) {
        return;
    }
    FUZZ_EXPECT(shpool_simt_open(text, want, &pool) == SHPOOL_OK);
    FUZZ_EXPECT((pool.table != NULL) && (pool.table->abi == SHPOOL_ABI));
    FUZZ_EXPECT((pool.report != NULL) == (pool.area_bytes != 0));
    FUZZ_EXPECT((pool.shared_bytes == plan->shared_bytes) && (pool.largest == plan->largest));
    shpool_simt_close(&pool);
    FUZZ_EXPECT(pool.abi == 0);
}

static void check_failed(const shpool_pool *pool, shpool_status status)
{
    static const shpool_pool zero;

    /* every value of `wants` is legal, so the spec is wrong */
    FUZZ_EXPECT((status == SHPOOL_ERR_SPEC) || (status == SHPOOL_ERR_NOT_FOUND) ||
                (status == SHPOOL_ERR_ALIGNMENT) || (status == SHPOOL_ERR_TOO_SMALL) ||
                (status == SHPOOL_ERR_TOO_LARGE) || (status == SHPOOL_ERR_UNSUPPORTED));
    fuzz_check_failure(status, "");
    FUZZ_EXPECT(memcmp(pool, &zero, sizeof(zero)) == 0);
}

static shpool_status check_want(const char *text, const shpool_config *want,
                                const shpool_spec *spec, shpool_pool *pool)
{
    shpool_pool   opened;
    shpool_status status;

    memset(pool, 0xff, sizeof(*pool));
    fuzz_expect_failure();
    status = shpool_plan(text, want, pool);
    if (status == SHPOOL_OK) {
        check_plan(pool, want, spec);
        if (!is_traced(spec)) {
            check_opened(text, want, pool);
        }
        return status;
    }
    check_failed(pool, status);
    memset(&opened, 0xff, sizeof(opened));
    fuzz_expect_failure();
    FUZZ_EXPECT(shpool_simt_open(text, want, &opened) == status);
    check_failed(&opened, status);
    return status;
}

/* The same text in the environment means the same, apart from the report at the end, and its
 * failure names the variable. */
static void check_environment(const char *text, const shpool_config *want, shpool_status expected,
                              const shpool_pool *plan)
{
    /* putenv() keeps it, setenv() would keep a copy of each text */
    static char   variable[4 * SHPOOL_SPEC_BYTES] = "SHPOOL_ALLOCATOR=";
    static size_t name_bytes;
    shpool_pool   pool;

    if (name_bytes == 0) {
        name_bytes = strlen(variable);
        FUZZ_EXPECT(putenv(variable) == 0);
    }
    (void)snprintf(variable + name_bytes, sizeof(variable) - name_bytes, "%s", text);
    shpool_config_reload();
    FUZZ_EXPECT(shpool_selected());
    fuzz_expect_failure();
    FUZZ_EXPECT(shpool_plan(NULL, want, &pool) == expected);
    pool.flags &= ~(uint32_t)SHPOOL_FLAG_SHOW; /* its report is written, nothing else differs */
    FUZZ_EXPECT(memcmp(&pool, plan, sizeof(pool)) == 0);
    if ((expected == SHPOOL_ERR_SPEC) || (expected == SHPOOL_ERR_NOT_FOUND)) {
        fuzz_check_failure(expected, "SHPOOL_ALLOCATOR");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char       *text = fuzz_text(data, size);
    shpool_spec spec;
    int         parsed = check_parser(text, &spec);

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(wants); i++) {
        shpool_pool   pool;
        shpool_status status = check_want(text, &wants[i], &spec, &pool);

        FUZZ_EXPECT(parsed || (status == SHPOOL_ERR_SPEC));
        if (text[0] != '\0') { /* an empty variable is an unset one */
            check_environment(text, &wants[i], status, &pool);
        }
    }
    free(text);
    return 0;
}
