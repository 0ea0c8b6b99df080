/* SPDX-License-Identifier: BSD-3-Clause */
/* Findings: each is printed once, with its places in the source.
 *
 * Places of code addresses are found by addr2line, which comes with the linker. */
#define _GNU_SOURCE
#include <elf.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "check.h"

#define MOST_DEFAULT   20u
#define BUDGET_DEFAULT 10000u
#define STATUS         1 /* of a program with errors */

extern unsigned char __executable_start[];

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static struct {
    check_finding now;
    check_finding later; /* rule NULL: none */
    char          says[CHECK_PLACES][160];
    uint64_t     *seen; /* digests of those that were printed */
    uint32_t      count;
    uint32_t      room;
    uint32_t      errors;
    uint32_t      notes;
    int           ended;
} report;

void *check_memory(void *ptr)
{
    if (ptr == NULL) {
        fputs("shpool-check: memory is exhausted: use smaller data\n", stderr);
        _exit(99);
    }
    return ptr;
}

void check_lock(void) { (void)pthread_mutex_lock(&lock); }
void check_unlock(void) { (void)pthread_mutex_unlock(&lock); }

/* ---- options ---- */

static unsigned long long number_of(const char *text, const char *key, unsigned long long otherwise)
{
    const char *at = (text != NULL) ? strstr(text, key) : NULL;

    return (at != NULL) ? strtoull(at + strlen(key), NULL, 10) : otherwise;
}

/* The one place that reads the environment: shpool-check writes the variable.  Its name does not
 * begin with SHPOOL_, because the library warns of such variables. */
const check_options *check_asked(void)
{
    static check_options options;
    static int           is_read;

    if (!is_read) {
        const char *text = getenv("LIBSHPOOL_CHECK");
        const char *file = (text != NULL) ? strstr(text, "output=") : NULL;

        is_read = 1;
        options = (check_options){
            .seed    = number_of(text, "seed=", 1),
            .explore = (uint32_t)number_of(text, "explore=", 0),
            .most    = (uint32_t)number_of(text, "most=", MOST_DEFAULT),
            .strict  = (uint32_t)number_of(text, "strict=", 0),
            .counts  = (uint32_t)number_of(text, "counts=", 0),
            .budget  = (uint32_t)number_of(text, "budget=", BUDGET_DEFAULT),
            .output  = (file != NULL) ? file + 7 : NULL, /* the last key */
        };
    }
    return &options;
}

/* ---- places ---- */

/* The first frame of the program's own, as "FILE:LINE in FUNCTION". */
static void find_place(const void *pc, char *out, size_t room)
{
    const Elf64_Ehdr *head = (const Elf64_Ehdr *)(const void *)__executable_start;
    size_t            at   = (size_t)pc - 1u;
    char              command[200];
    char              function[512];
    char              place[512];
    char             *cut;
    const char       *line;
    FILE             *pipe;

    at -= (head->e_type == ET_DYN) ? (size_t)__executable_start : 0u;
    snprintf(out, room, "%p", pc);
    snprintf(command, sizeof(command), "addr2line -f -C -i -e /proc/%d/exe 0x%zx 2>/dev/null",
             (int)getpid(), at);
    pipe = popen(command, "r");
    if (pipe == NULL) {
        return;
    }
    for (int found = 0; (fgets(function, sizeof(function), pipe) != NULL) &&
                        (fgets(place, sizeof(place), pipe) != NULL);) {
        function[strcspn(function, "\n")] = '\0';
        place[strcspn(place, "\n")]       = '\0';
        cut = strstr(place, " (discriminator");
        if (cut != NULL) {
            *cut = '\0';
        }
        line = strrchr(place, ':');
        if (!found && (strstr(place, "/shpool/check/") == NULL) && (line != NULL) &&
            (atoi(line + 1) > 0)) {
            snprintf(out, room, "%s in %.200s", place, function);
            found = 1;
        }
    }
    pclose(pipe);
}

static void print_place(FILE *to, const check_place *place, const char *format)
{
    char where[800];

    if (place->file != NULL) {
        snprintf(where, sizeof(where), "%s:%d", place->file, place->line);
    } else {
        find_place(place->pc, where, sizeof(where));
    }
    fprintf(to, format, place->says, where);
}

/* ---- findings ---- */

static void end_process(void)
{
    int status;

    if (!report.ended) {
        report.ended = 1;
        status       = check_summary();
        fflush(NULL);
        if (status != 0) {
            _exit(status);
        }
    }
}

/* The signal ends the process, as without this. */
static void on_crash(int number, siginfo_t *info, void *context)
{
#if defined(__x86_64__)
    const char *pc = (const char *)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
#else
    const char *pc = (const char *)((const ucontext_t *)context)->uc_mcontext.pc;
#endif
    check_finding *finding;

    (void)info;
    (void)signal(number, SIG_DFL);
    if ((simt_self != NULL) && (check_now.call != NULL)) {
        finding = check_begin(CHECK_ERROR, "crash",
                              "a kernel ended the program by signal %d: a bad pointer, a recursion "
                              "without an end, or a division by 0", number);
        check_at(finding, pc + 1, "in thread %u of block %u", simt_self->rank,
                 simt_self->block);
        check_end(finding);
        (void)fflush(NULL);
    }
    (void)raise(number);
}

/* A kernel's stack may be what is used up. */
static void catch_crashes(void)
{
    static unsigned char stack[256 * 1024];
    const stack_t        alternate = { .ss_sp = stack, .ss_size = sizeof(stack) };
    const int            numbers[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL };
    struct sigaction     action    = { .sa_flags = SA_SIGINFO | SA_ONSTACK };

    action.sa_sigaction = on_crash;
    (void)sigaltstack(&alternate, NULL);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        (void)sigaction(numbers[i], &action, NULL);
    }
}

__attribute__((constructor)) static void begin_process(void)
{
    size_t bytes;

    catch_crashes();

    (void)check_asked();
    (void)check_window(&bytes);
    (void)atexit(end_process);
}

check_finding *check_begin(check_level level, const char *rule, const char *format, ...)
{
    va_list arguments;

    check_lock();
    report.now = (check_finding){
        .level = (check_asked()->strict != 0) ? CHECK_ERROR : level,
        .rule  = rule,
    };
    va_start(arguments, format);
    (void)vsnprintf(report.now.text, sizeof(report.now.text), format, arguments);
    va_end(arguments);
    return &report.now;
}

void check_at(check_finding *finding, const void *pc, const char *format, ...)
{
    va_list arguments;

    if (finding->places < CHECK_PLACES) {
        check_place *place = &finding->place[finding->places];

        va_start(arguments, format);
        (void)vsnprintf(report.says[finding->places], sizeof(report.says[0]), format, arguments);
        va_end(arguments);
        *place = (check_place){ .says = report.says[finding->places++], .pc = pc };
    }
}

void check_at_line(check_finding *finding, const char *file, int line, const char *says)
{
    finding->place[finding->places++] = (check_place){
        .says = says, .file = file, .line = (int)((unsigned)line & SHPOOL_CHECK_LINE),
    };
}

static uint64_t mix(uint64_t digest, const void *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        digest = (digest ^ ((const unsigned char *)data)[i]) * 0x100000001b3ull;
    }
    return digest;
}

/* The rule and the places, in either order; without places the text. */
static uint64_t digest_of(const check_finding *finding)
{
    const uint64_t rule   = mix(0xcbf29ce484222325ull, finding->rule, strlen(finding->rule));
    uint64_t       digest = rule;

    if (finding->places == 0) {
        digest = mix(digest, finding->text, strlen(finding->text));
    }
    for (uint32_t i = 0; i < finding->places; i++) {
        uint64_t place = mix(rule, &finding->place[i].pc, sizeof(void *));

        place   = mix(place, &finding->place[i].file, sizeof(void *));
        digest += mix(place, &finding->place[i].line, sizeof(int));
    }
    return digest;
}

static int is_new(const check_finding *finding)
{
    const uint64_t digest = digest_of(finding);

    for (uint32_t i = 0; i < report.count; i++) {
        if (report.seen[i] == digest) {
            return 0;
        }
    }
    if (report.count == report.room) {
        report.room = (report.room == 0) ? 64u : 2u * report.room;
        report.seen = check_memory(realloc(report.seen, report.room * sizeof(*report.seen)));
    }
    report.seen[report.count++] = digest;
    return 1;
}

/* For the tool: LEVEL, RULE, TEXT, then SAYS and PLACE of each, divided by tabs. */
static void write_line(const check_finding *finding)
{
    const char *path = check_asked()->output;
    FILE       *to   = (path != NULL) ? fopen(path, "a") : NULL;

    if (to != NULL) {
        fprintf(to, "%s\t%s\t%s", (finding->level == CHECK_ERROR) ? "error" : "note",
                finding->rule, finding->text);
        for (uint32_t i = 0; i < finding->places; i++) {
            print_place(to, &finding->place[i], "\t%s\t%s");
        }
        fprintf(to, "\n");
        fclose(to);
    }
}

static void print_finding(const check_finding *finding)
{
    const shpool_check_call *call = check_now.call;

    fflush(stdout);
    fprintf(stderr, "shpool-check: %s%s: %s\n", finding->rule,
            (finding->level == CHECK_NOTE) ? " (note)" : "", finding->text);
    for (uint32_t i = 0; i < finding->places; i++) {
        print_place(stderr, &finding->place[i], "    %s: %s\n");
    }
    if (call != NULL) {
        fprintf(stderr, "    in %s<<<(%u,%u,%u), (%u,%u,%u)>>> at %s:%d, seed %llu\n",
                call->kernel, call->grid[0], call->grid[1], call->grid[2], call->block[0],
                call->block[1], call->block[2], call->file, call->line, check_asked()->seed);
    }
    write_line(finding);
}

void check_end(check_finding *finding)
{
    if (is_new(finding)) {
        report.errors += finding->level == CHECK_ERROR;
        report.notes  += finding->level == CHECK_NOTE;
        if (report.errors + report.notes <= check_asked()->most) {
            print_finding(finding);
        }
    }
    check_unlock();
}

void check_postpone(check_finding *finding)
{
    report.later = *finding;
    check_unlock();
}

void check_forgive(void)
{
    report.later.rule = NULL;
}

static void report_leak(check_record *record, void *arg)
{
    check_finding *finding;

    (void)arg;
    if (record->name == NULL) {
        finding = check_begin(CHECK_NOTE, "leak", "%zu bytes of %s memory are not freed",
                              record->bytes,
                              (record->kind == SHPOOL_CHECK_HEAP) ? "the kernel's heap"
                                                                  : "device");
        check_at(finding, record->pc, "allocated");
        check_end(finding);
    }
}

static const char *plural(uint32_t n) { return (n == 1) ? "" : "s"; }

int check_summary(void)
{
    if (report.later.rule != NULL) {
        check_lock();
        check_end(&report.later);
    }
    check_each(report_leak, NULL);
    if (report.errors + report.notes > check_asked()->most) {
        const uint32_t more = report.errors + report.notes - check_asked()->most;

        fprintf(stderr, "shpool-check: %u more finding%s not shown\n", more,
                (more == 1) ? " is" : "s are");
    }
    if (report.errors + report.notes > 0) {
        fprintf(stderr, "shpool-check: %u error%s, %u note%s\n", report.errors,
                plural(report.errors), report.notes, plural(report.notes));
    } else {
        fprintf(stderr, "shpool-check: %u launch%s, nothing found\n", check_launches(),
                (check_launches() == 1) ? "" : "es");
    }
    return (report.errors != 0) ? STATUS : 0;
}
