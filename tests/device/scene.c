/* SPDX-License-Identifier: BSD-3-Clause */
/* The words of scene.h. */
#include "scene.h"

#include <ctype.h>
#include <dirent.h>
#include <stdarg.h>

#include "tests/device/fake/driver.h"

#define LETTERS 26u
#define BLOCKS  2048u /* of a letter */
#define TEXT    4096u

shpool_device_allocator *allocator;
const char *memory_kind;

static struct {
    const char *name; /* of the scene */
    const char *word;
    const char *rest; /* of the words */
    struct place { char *ptr; size_t bytes; } block[LETTERS][BLOCKS];
    shpool_stream stream[10];
    unsigned graph;
    unsigned descriptors; /* when it began; 0: not looked at */
} now;

/* The scene, the word, and what follows. */
#define fail_here(_format, ...)                                                                    \
    fail_msg("%s: \"%s\", before \"%.200s\": " _format, now.name, now.word, now.rest, __VA_ARGS__)

/* ---- beginning and end ---- */

int driver_memory(void **state)
{
    memory_kind = "driver";
    return clear_environment(state);
}

int virtual_memory(void **state)
{
    memory_kind = "vmm";
    return clear_environment(state);
}

static size_t scene_device = 1024 * MIB;

int large_device(void **state)
{
    scene_device = 64 * 1024 * MIB;
    return clear_environment(state);
}

/* The base bins gets the kind of memory that is tried. */
void open_kind(const char *spec, int device, shpool_device_allocator **allocator_p)
{
    const char *base = strrchr(spec, '|');
    char text[100];

    base = (base != NULL) ? base + 1 : spec;
    if ((memory_kind != NULL) && (strncmp(base, "bins", 4) == 0)) {
        snprintf(text, sizeof(text), "%s%cmemory=%s", spec, (strchr(base, ':') != NULL) ? ',' : ':',
                 memory_kind);
        spec = text;
    }
    open_allocator(spec, device, allocator_p);
}

unsigned count_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    unsigned count = 0;

    while (readdir(folder) != NULL) {
        count++;
    }
    closedir(folder);
    return count;
}

void open_scene(const char *spec)
{
    memset(&now, 0, sizeof(now));
    now.name = spec;
    now.descriptors = count_descriptors();
    open_kind(spec, 0, &allocator);
}

void begin_on(size_t bytes, const char *spec)
{
    fake_start(2, bytes);
    fake_set_current(0);
    open_scene(spec);
}

void begin(const char *spec)
{
    begin_on(scene_device, spec);
    scene_device = 1024 * MIB;
}

void end(void)
{
    fake_held held;

    assert_ok(shpool_device_check(allocator));
    shpool_device_allocator_unref(allocator);
    allocator = NULL;
    held = fake_stop();
    if ((held.bytes != 0) || (held.events + held.ranges + held.imports != 0) ||
        (fake_first_violation()[0] != '\0') ||
        ((now.descriptors != 0) && (now.descriptors != count_descriptors()))) {
        fail_msg("%s: at the end %llu bytes, %u events, %u ranges, %u imports, %d descriptors are "
                 "held; %s", now.name, (unsigned long long)held.bytes, held.events, held.ranges,
                 held.imports, (int)count_descriptors() - (int)now.descriptors,
                 fake_first_violation());
    }
}

/* ---- arguments ---- */

static _Noreturn void misread(void)
{
    fail_here("%s", "no word of scene.h");
    abort();
}

static uint64_t number(const char **at_p)
{
    static const char units[] = "KMG";
    char *at;
    uint64_t value;

    if (strncmp(*at_p, "all", 3) == 0) {
        *at_p += 3;
        return SIZE_MAX;
    }
    value = strtoull(*at_p, &at, 10);
    if ((at == *at_p) || !isdigit((unsigned char)**at_p)) {
        misread();
    }
    if ((*at != '\0') && (strchr(units, *at) != NULL)) {
        value <<= 10 * (strchr(units, *at++) - units + 1);
    }
    *at_p = at;
    if ((*at == '-') || (*at == '+')) {
        *at_p = at + 1;
        value += ((*at == '-') ? (uint64_t)-1 : 1u) * number(at_p);
    }
    return value;
}

shpool_stream stream_of(char digit)
{
    shpool_stream *s;

    if ((digit < '0') || (digit > '9')) {
        misread();
    }
    s = &now.stream[digit - '0'];
    if (digit == '9') {
        return SHPOOL_STREAM_PER_THREAD;
    }
    if ((digit != '0') && (*s == NULL)) {
        *s = fake_stream(0, (digit == '8') ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING);
        if (digit <= '5') {
            assert_ok(shpool_device_stream_stable(allocator, *s));
        }
    }
    return *s;
}

/* The blocks that a name stands for. */
typedef struct range {
    struct place *first;
    unsigned from, to, step;
} range;

static range range_at(const char **at_p)
{
    char *at = (char *)(uintptr_t)*at_p + 1;
    range r = { .step = 1 };

    if (!islower((unsigned char)**at_p)) {
        misread();
    }
    r.first = now.block[**at_p - 'a'];
    r.from = isdigit((unsigned char)*at) ? (unsigned)strtoul(at, &at, 10) : 0; /* no sign */
    r.to = (*at == '-') ? (unsigned)strtoul(at + 1, &at, 10) : r.from;
    r.step = (*at == '/') ? (unsigned)strtoul(at + 1, &at, 10) : 1;
    if ((r.to >= BLOCKS) || (r.step == 0)) {
        misread();
    }
    *at_p = at;
    return r;
}

void *block(const char *name)
{
    const range r = range_at(&name);

    return r.first[r.from].ptr;
}

/* ---- calls for blocks ---- */

static shpool_status take(struct place *p, shpool_stream stream)
{
    shpool_status status = shpool_device_malloc(allocator, p->bytes, stream, (void **)&p->ptr);

    assert_int_equal(status == SHPOOL_OK, p->ptr != NULL);
    return status;
}

static shpool_status use(struct place *p, shpool_stream stream)
{
    fake_work(stream, p->ptr, p->bytes);
    return SHPOOL_OK;
}

static shpool_status release(struct place *p, shpool_stream stream)
{
    return shpool_device_free(allocator, p->ptr, stream);
}

static shpool_status name_stream(struct place *p, shpool_stream stream)
{
    return shpool_device_record_stream(allocator, p->ptr, stream);
}

static shpool_status export_it(struct place *p, shpool_stream stream)
{
    shpool_device_handle handle;
    shpool_status status = shpool_device_export(allocator, p->ptr, &handle);

    (void)stream;
    assert_int_equal(status == SHPOOL_OK, (handle.magic != 0) && (handle.fd >= 0));
    shpool_device_handle_close(&handle);
    return status;
}

typedef shpool_status block_call(struct place *p, shpool_stream stream);

static const struct { const char *name; block_call *call; } block_calls[] = {
    { "use", use }, { "free", release }, { "name", name_stream }, { "export", export_it },
};

static shpool_status each(const char *name, const range *r, block_call *call)
{
    shpool_status status = SHPOOL_OK;
    size_t more = (*name == '+') ? (name++, number(&name)) : 0;
    shpool_stream stream = (*name == '@') ? stream_of(name[1]) : NULL;

    for (unsigned i = r->from; (i <= r->to) && (status == SHPOOL_OK); i += r->step) {
        struct place moved = { r->first[i].ptr + more, r->first[i].bytes };

        status = call((more > 0) ? &moved : &r->first[i], stream);
    }
    return status;
}

/* ---- other calls ---- */

static shpool_status set(const char *pair)
{
    char key[32];

    snprintf(key, sizeof(key), "%.*s", (int)strcspn(pair, "="), pair);
    return shpool_device_set(allocator, key, pair + strlen(key) + 1);
}

static shpool_status pair(const char *argument)
{
    struct place p = { .bytes = number(&argument) };
    shpool_stream stream = stream_of(argument[1]);
    shpool_status status = take(&p, stream);

    return (status == SHPOOL_OK) ? release(&p, stream) : status;
}

static shpool_status finish(const char *stream)
{
    (void)((*stream != '\0') ? fake_finish(stream_of(*stream)) : fake_finish_all());
    return SHPOOL_OK;
}

static shpool_status join(const char *both)
{
    fake_capture_join(stream_of(both[0]), stream_of(both[2]));
    return SHPOOL_OK;
}

static shpool_status destroy(const char *stream)
{
    fake_stream_destroy(stream_of(*stream));
    now.stream[*stream - '0'] = NULL;
    return SHPOOL_OK;
}

#define CALL(_name, _expression)                                                                   \
    static shpool_status call_##_name(const char *at) { (void)at; return _expression; }
#define VOID_CALL(_name, _expression) CALL(_name, (_expression, SHPOOL_OK))

CALL(trim, shpool_device_trim(allocator, number(&at)))
CALL(check, shpool_device_check(allocator))
CALL(reset_peak, shpool_device_reset_peak(allocator))
CALL(retire, shpool_device_stream_retire(allocator, stream_of(*at)))
CALL(stable, shpool_device_stream_stable(allocator, stream_of(*at)))
CALL(pool, shpool_device_capture_begin(allocator, number(&at), 1))
CALL(unpool, shpool_device_capture_end(allocator, number(&at), 1))
CALL(release, shpool_device_capture_release(allocator, number(&at), 1))
VOID_CALL(forget, fake_forget_calls())
VOID_CALL(capture, fake_capture_begin(stream_of(*at)))
VOID_CALL(captured, now.graph = fake_capture_end(stream_of(*at)))
VOID_CALL(launch, fake_launch(now.graph, stream_of(*at)))
VOID_CALL(limit, fake_limit(0, number(&at)))
VOID_CALL(lag, fake_lag((unsigned)number(&at)))
VOID_CALL(fail, fake_fail(number(&at), CU_ERROR_INVALID_VALUE))

static const struct { const char *name; shpool_status (*call)(const char *argument); } calls[] = {
    { "set", set }, { "pair", pair }, { "done", finish }, { "join", join }, { "destroy", destroy },
#define ROW(_name) { #_name, call_##_name },
    ROW(trim) ROW(check) ROW(reset_peak) ROW(retire) ROW(stable) ROW(pool) ROW(unpool)
    ROW(release) ROW(forget) ROW(capture) ROW(captured) ROW(launch) ROW(limit) ROW(lag) ROW(fail)
#undef ROW
};

/* ---- figures ---- */

static int find_figure(const char *name, uint64_t *value_p)
{
#define STAT(_name) { #_name, offsetof(shpool_device_stats, _name) },
    static const struct { const char *name; size_t at; } members[] = {
        STAT(live_bytes) STAT(live_bytes_peak) STAT(live_count_peak) STAT(requested_bytes)
        STAT(idle_bytes) STAT(pending_bytes) STAT(driver_bytes) STAT(driver_bytes_peak)
        STAT(largest_idle) STAT(mallocs) STAT(hits_done) STAT(hits_wait) STAT(misses) STAT(retries)
    };
#undef STAT
#define NUMBER(_member, _name, _symbol, _version, _optional, _arguments) #_member,
    static const char *const functions[] = { SHPOOL_DRIVER_CALLS(NUMBER) };
#undef NUMBER
    const fake_held held = fake_holds();
    const struct { const char *name; uint64_t value; } others[] = {
        { "calls", fake_all_calls() }, { "ranges", held.ranges }, { "imports", held.imports },
        { "held", held.bytes },
    };
    const shpool_device_stats stats = stats_of(allocator);

    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(members); i++) {
        if (strcmp(name, members[i].name) == 0) {
            memcpy(value_p, (const char *)&stats + members[i].at, sizeof(*value_p));
            return 1;
        }
    }
    for (unsigned i = 0; i < SHPOOL_ARRAY_COUNT(functions); i++) {
        if (strcmp(name, functions[i]) == 0) {
            *value_p = fake_calls(i);
            return 1;
        }
    }
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(others); i++) {
        if (strcmp(name, others[i].name) == 0) {
            *value_p = others[i].value;
            return 1;
        }
    }
    return 0;
}

/* `compared`: =, <= or >=, and a number. */
static void compare(uint64_t value, const char *compared)
{
    const char relation = *compared;
    uint64_t wanted;

    compared += strspn(compared, "<>=");
    wanted = number(&compared);
    if ((relation == '=') ? (value != wanted)
        : (relation == '<') ? (value > wanted) : (value < wanted)) {
        fail_here("it is %llu", (unsigned long long)value);
    }
}

/* ---- words ---- */

/* `a=20M@1`, `a==b`, `a!=b`. */
static shpool_status do_block(const char *word)
{
    const range r = range_at(&word);
    const int equal = strncmp(word, "==", 2) == 0;
    size_t bytes;

    if (equal || (strncmp(word, "!=", 2) == 0)) {
        if ((r.first[r.from].ptr == block(word + 2)) != equal) {
            fail_here("%s", "it is not so");
        }
        return SHPOOL_OK;
    }
    word++;
    bytes = number(&word);
    for (unsigned i = r.from; i <= r.to; i += r.step) {
        r.first[i].bytes = bytes;
    }
    return each(word, &r, take);
}

static shpool_status do_word(const char *word)
{
    const size_t length = strcspn(word, ":<>=");
    const char *argument = word + length + (word[length] == ':');
    uint64_t value;
    char name[32];

    if (islower((unsigned char)word[0]) && (strchr("=!", word[1 + strspn(word + 1, "0123456789-/")])
                                            != NULL)) {
        return do_block(word);
    }
    snprintf(name, sizeof(name), "%.*s", (int)length, word);
    if (strcmp(name, "access") == 0) {
        compare(fake_access(block(argument)), strchr(argument, '='));
        return SHPOOL_OK;
    }
    if ((strchr("<>=", word[length]) != NULL) && (word[length] != '\0')) {
        if (!find_figure(name, &value)) {
            misread();
        }
        compare(value, argument);
        return SHPOOL_OK;
    }
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(block_calls); i++) {
        if (strcmp(name, block_calls[i].name) == 0) {
            const range r = range_at(&argument);

            return each(argument, &r, block_calls[i].call);
        }
    }
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(calls); i++) {
        if (strcmp(name, calls[i].name) == 0) {
            return calls[i].call(argument);
        }
    }
    misread();
}

/* A word, what it ends in if it fails, and the detail, or NULL. */
static void do_one(char *word, const char *detail)
{
    static const struct { const char *name; shpool_status status; } statuses[] = {
#define ROW(_name) { #_name, SHPOOL_ERR_##_name },
        ROW(INVALID) ROW(DOUBLE_FREE) ROW(NO_MEMORY) ROW(TOO_LARGE) ROW(UNSUPPORTED) ROW(NOT_FOUND)
        ROW(SPEC) ROW(CAPTURE) ROW(LIMIT) ROW(CORRUPT)
#undef ROW
    };
    char whole[256];
    char *mark = word + strcspn(word, "!");
    shpool_status expected = SHPOOL_OK, status;

    if (word[1] == '?') {
        if ((word[0] == 'v') != is_virtual()) {
            return;
        }
        word += 2;
    }
    snprintf(whole, sizeof(whole), "%s", word);
    now.word = whole;
    for (size_t i = 0; (*mark == '!') && (i < SHPOOL_ARRAY_COUNT(statuses)); i++) {
        if (strcmp(mark + 1, statuses[i].name) == 0) {
            expected = statuses[i].status;
            *mark = '\0';
        }
    }
    status = do_word(word);
    if (status != expected) {
        fail_here("%s: %s", shpool_strerror(status),
                  (status != SHPOOL_OK) ? shpool_last_error() : "");
    }
    if (detail != NULL) {
        assert_detail(detail);
    }
    if ((fake_thread_state.depth != 1) || (fake_thread_state.mode != CU_CAPTURE_MODE_GLOBAL)) {
        fail_here("%s", "contexts or the capture mode are not as before the call");
    }
}

/* Up to the end, or to the brace that closes a repetition; where that is. */
static const char *play_words(const char *at)
{
    for (at += strspn(at, " "); (*at != '\0') && (*at != '}'); at += strspn(at, " ")) {
        const size_t length = strcspn(at, " ");
        char word[256], detail[256];
        int has_detail;

        if (strncmp(at + strspn(at, "0123456789"), "*{", 2) == 0) {
            const unsigned long times = strtoul(at, NULL, 10);
            const char *inside = at + length, *after = inside;

            for (unsigned long i = 0; i < times; i++) {
                after = play_words(inside);
            }
            at = after + 1;
            continue;
        }
        snprintf(word, sizeof(word), "%.*s", (int)length, at);
        at += length + strspn(at + length, " ");
        has_detail = (*at == '\'');
        if (has_detail) {
            snprintf(detail, sizeof(detail), "%.*s", (int)strcspn(at + 1, "'"), at + 1);
            at += 2 + strlen(detail);
        }
        now.rest = at;
        do_one(word, has_detail ? detail : NULL);
    }
    return at;
}

void play(const char *format, ...)
{
    char words[TEXT];
    va_list list;

    va_start(list, format);
    vsnprintf(words, sizeof(words), format, list);
    va_end(list);
    (void)play_words(words);
}

void play_scene(void **state)
{
    const scene *s = *state;

    begin(s->spec);
    now.name = s->name;
    (void)play_words(s->words);
    end();
}
