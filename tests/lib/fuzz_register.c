/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target: shpool_register() with anything that a third party may pass.
 *
 * Each line is one allocator: its name, a blank, and words that change an otherwise sound
 * descriptor (examples/plugin/own.h).  A word is a letter and a number; words without a meaning are
 * ignored.  Lines after the 80th are not read: the registry has 64 places.
 *
 *   A2    abi                 B8    bytes               S4    scope
 *   C16   caps                G5    threads_per_pool    N     name NULL
 *   s     summary NULL        *     allocator NULL
 *   y     layout NULL         y1    layout that never gives anything      y2   another one's layout
 *   0     no table simt[0]    1     no table simt[1]
 *   a2    abi of simt[0]      b8    its bytes           f3    without its function 3 of 12
 *   p2    abi of simt[1]      q8    its bytes           g3    without its function 3
 *
 * Each is refused with a reason, and nothing changed; or it is there: found, listed, planned, and
 * run if its functions belong together. */
#include "tests/fuzz.h"
#include "tests/unit.h"

#include <shpool/executor.h>
#include <shpool/heap.h>

#include "examples/plugin/own.h"

SHPOOL_HOST_MODULE(own, "a test's own: bump, and afresh when empty", SHPOOL_SCOPE_BLOCK,
                   SHPOOL_CAP_FREE | SHPOOL_CAP_LOCK_FREE, NULL);

const char fuzz_name[] = "register";

#define MOST_LINES 80u
#define FUNCTIONS  12u
#define THREADS    2u

/* One line of the input; the registry keeps pointers into it until the input is done. */
typedef struct candidate {
    shpool_allocator allocator;
    shpool_table     table[2];
    int              absent; /* the allocator itself is NULL */
} candidate;

static candidate candidates[MOST_LINES];

static void remove_function(shpool_table *table, size_t index)
{
    static const size_t functions[FUNCTIONS] = {
        offsetof(shpool_table, layout),  offsetof(shpool_table, init),
        offsetof(shpool_table, allocate), offsetof(shpool_table, release),
        offsetof(shpool_table, resize),  offsetof(shpool_table, usable),
        offsetof(shpool_table, largest), offsetof(shpool_table, walk),
        offsetof(shpool_table, owns),    offsetof(shpool_table, fini),
        offsetof(shpool_table, spill),   offsetof(shpool_table, unspill),
    };

    memset((char *)table + functions[index % FUNCTIONS], 0, sizeof(table->layout));
}

static void set_layout(shpool_allocator *allocator, uint32_t which)
{
    allocator->layout = (which % 3u == 0) ? NULL : (which % 3u == 1) ? empty_layout : fake_layout;
}

static void change(candidate *c, const char *word)
{
    uint32_t number = (uint32_t)strtoul(word + 1, NULL, 10);

    switch (word[0]) {
    case 'A': c->allocator.abi = number; break;
    case 'B': c->allocator.bytes = number; break;
    case 'S': c->allocator.scope = number; break;
    case 'C': c->allocator.caps = number; break;
    case 'G': c->allocator.threads_per_pool = number; break;
    case 'N': c->allocator.name = NULL; break;
    case 's': c->allocator.summary = NULL; break;
    case '*': c->absent = 1; break;
    case 'y': set_layout(&c->allocator, number); break;
    case '0': c->allocator.simt[0] = NULL; break;
    case '1': c->allocator.simt[1] = NULL; break;
    case 'a': c->table[0].abi = number; break;
    case 'b': c->table[0].bytes = number; break;
    case 'f': remove_function(&c->table[0], number); break;
    case 'p': c->table[1].abi = number; break;
    case 'q': c->table[1].bytes = number; break;
    case 'g': remove_function(&c->table[1], number); break;
    default: break;
    }
}

static void read_line(candidate *c, char *line)
{
    char *rest;
    char *word = strchr(line, ' ');

    memset(c, 0, sizeof(*c));
    c->allocator         = shpool_allocator_own;
    c->allocator.name    = line;
    c->table[0]          = *shpool_allocator_own.simt[0];
    c->table[1]          = *shpool_allocator_own.simt[1];
    c->allocator.simt[0] = &c->table[0];
    c->allocator.simt[1] = &c->table[1];
    if (word != NULL) {
        *word++ = '\0';
        for (word = strtok_r(word, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
            change(c, word);
        }
    }
}

/* ---- rules of the header ---- */

static int table_is_sound(const shpool_table *table, int counted)
{
    return (table == NULL) ||
           ((table->abi == SHPOOL_ABI) && (table->bytes == sizeof(*table)) && table->layout &&
            table->init && table->allocate && table->release && table->resize && table->usable &&
            table->largest && table->walk && table->owns && table->spill && table->unspill &&
            (!counted || table->fini));
}

/* Functions for groups: both or neither, and only where a warp has one pool. */
static int groups_are_sound(const shpool_allocator *a)
{
    int grouped = (a->caps & SHPOOL_CAP_GROUP) != 0;

    for (size_t i = 0; i < 2; i++) {
        const shpool_table *table = a->simt[i];

        if ((table != NULL) && (((table->allocate_group != NULL) != grouped) ||
                                ((table->release_group != NULL) != grouped))) {
            return 0;
        }
    }
    return !grouped || (a->scope == SHPOOL_SCOPE_BLOCK);
}

static int is_sound(const shpool_allocator *a)
{
    return (a->abi == SHPOOL_ABI) && (a->bytes == sizeof(*a)) && (a->name != NULL) &&
           (a->name[0] >= 'a') && (a->name[0] <= 'z') &&
           (strspn(a->name, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(a->name)) &&
           (strlen(a->name) < SHPOOL_NAME_BYTES) && (strcmp(a->name, "all") != 0) &&
           (strcmp(a->name, "default") != 0) && (strcmp(a->name, "none") != 0) &&
           (a->summary != NULL) && (a->layout != NULL) && (a->scope >= SHPOOL_SCOPE_THREAD) &&
           (a->scope <= SHPOOL_SCOPE_CLUSTER) && table_is_sound(a->simt[0], 0) &&
           table_is_sound(a->simt[1], 1) && groups_are_sound(a);
}

static int is_taken(const char *name)
{
    for (size_t i = 0; i < shpool_allocator_count(); i++) {
        if (shpool_name_id(shpool_allocator_get(i)->name) == shpool_name_id(name)) {
            return 1;
        }
    }
    return 0;
}

/* ---- the registry and its contents ---- */

static void check_registry(void)
{
    size_t                  count = shpool_allocator_count();
    const shpool_allocator *found;

    FUZZ_EXPECT(count <= SHPOOL_MAX_ALLOCATORS);
    for (size_t i = 0; i < count; i++) {
        const shpool_allocator *allocator = shpool_allocator_get(i);

        FUZZ_EXPECT((allocator != NULL) && is_sound(allocator));
        FUZZ_EXPECT(shpool_allocator_find(allocator->name, &found) == SHPOOL_OK);
        FUZZ_EXPECT(found == allocator);
    }
    FUZZ_EXPECT(shpool_allocator_get(count) == NULL);
    FUZZ_EXPECT(shpool_allocator_find("NOBODY", &found) == SHPOOL_ERR_NOT_FOUND);
    FUZZ_EXPECT(found == NULL);
    fuzz_check_failure(SHPOOL_ERR_NOT_FOUND, shpool_allocator_get(count - 1)->name);
}

static void use_kernel(void *arg)
{
    const shpool_pool *pool = (const shpool_pool *)arg;
    shpool_heap        heap = shpool_init(pool, simt_from_shared(simt_dynamic_base()));
    unsigned char     *ptr  = (unsigned char *)shpool_malloc(heap, 20);

    if (ptr != NULL) {
        memset(ptr, 1, 20);
    }
    shpool_free(heap, ptr);
    shpool_fini(heap);
}

static void use(const shpool_allocator *allocator, const char *options)
{
    const shpool_config want = { .block_threads = THREADS, .payload_bytes = 2000 };
    char                spec[SHPOOL_NAME_BYTES + 16];
    simt_launch         launch = { .block = { THREADS }, .max_switches = 100000 };
    simt_result         result;
    shpool_pool         pool;
    shpool_status       status;

    (void)snprintf(spec, sizeof(spec), "%s%s", allocator->name, options);
    fuzz_expect_failure();
    status = shpool_simt_open(spec, &want, &pool);
    if (status != SHPOOL_OK) {
        fuzz_check_failure(status, "");
        return;
    }
    FUZZ_EXPECT(strcmp(pool.name, allocator->name) == 0);
    FUZZ_EXPECT(pool.pools * pool.threads_per_pool >= THREADS);
    FUZZ_EXPECT(pool.shared_bytes <= SHPOOL_MAX_SHARED);
    FUZZ_EXPECT(pool.table == allocator->simt[options[0] != '\0']);
    if (allocator->layout == shpool_allocator_own.layout) { /* else its functions do not fit it */
        launch.dynamic_bytes = pool.shared_bytes;
        status               = simt_run(&launch, use_kernel, &pool, &result);
        if (status != SHPOOL_OK) {
            fuzz_fail("%s: %s: %s", spec, shpool_strerror(status), result.text);
        }
    }
    shpool_simt_close(&pool);
}

/* Whether the status is right for an unsound descriptor. */
static int is_refusal(const shpool_allocator *allocator, shpool_status status)
{
    if (allocator == NULL) {
        return status == SHPOOL_ERR_INVALID;
    }
    if ((allocator->abi != SHPOOL_ABI) || (allocator->bytes != sizeof(*allocator))) {
        return status == SHPOOL_ERR_ABI;
    }
    return (status == SHPOOL_ERR_INVALID) || (status == SHPOOL_ERR_ABI); /* of a table */
}

static void try_one(const candidate *c)
{
    const shpool_allocator *allocator = c->absent ? NULL : &c->allocator;
    const size_t            count     = shpool_allocator_count();
    const int               sound     = !c->absent && is_sound(allocator);
    const int               taken     = sound && is_taken(allocator->name);
    const shpool_allocator *found;
    shpool_status           status;

    fuzz_expect_failure();
    status = shpool_register(allocator);
    if (sound && !taken && (count < SHPOOL_MAX_ALLOCATORS)) {
        FUZZ_EXPECT(status == SHPOOL_OK);
        FUZZ_EXPECT(shpool_allocator_count() == count + 1);
        FUZZ_EXPECT(shpool_allocator_get(count) == allocator);
        FUZZ_EXPECT(shpool_allocator_find(allocator->name, &found) == SHPOOL_OK);
        FUZZ_EXPECT(found == allocator);
        use(allocator, "");
        use(allocator, ":stats=1");
        use(allocator, ":check=1");
        return;
    }
    FUZZ_EXPECT(sound ? status == (taken ? SHPOOL_ERR_UNSUPPORTED : SHPOOL_ERR_TOO_LARGE)
                      : is_refusal(allocator, status));
    fuzz_check_failure(status, sound ? allocator->name : "");
    FUZZ_EXPECT(shpool_allocator_count() == count);
    FUZZ_EXPECT(shpool_allocator_get(count) == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const size_t builtins = shpool_allocator_count();
    char        *text     = fuzz_text(data, size);
    char        *next     = text;
    uint32_t     count    = 0;

    while ((next != NULL) && (count < MOST_LINES)) {
        char *line = next;

        next = strchr(line, '\n');
        if (next != NULL) {
            *next++ = '\0';
        }
        read_line(&candidates[count], line);
        try_one(&candidates[count]);
        count++;
    }
    check_registry();
    shpool_registry_reset();
    FUZZ_EXPECT(shpool_allocator_count() == builtins); /* so that inputs do not depend on others */
    free(text);
    return 0;
}
