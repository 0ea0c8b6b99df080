/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that runs out in the clang plugin: for every n, its nth allocation in the lint of a file
 * fails.  The report says so, or has the findings that it has with enough memory.
 *
 *     llvm_memory LLVM-LIBRARY PLUGIN FILE.ll...
 *
 * The program's malloc() and its like are called by the plugin and by LLVM, which ends the process
 * when memory runs out; only the plugin's calls fail. */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coalesce/llvm/lint.h"

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);

static uintptr_t     start, end; /* of the plugin's code and data */
static unsigned long calls, fails_at;

static int fails(const void *caller)
{
    const uintptr_t from = (uintptr_t)caller;

    return (from >= start) && (from < end) && (++calls == fails_at);
}

void *malloc(size_t bytes)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(old, bytes);
}

char *strdup(const char *text)
{
    char *copy = fails(__builtin_return_address(0)) ? NULL : __libc_malloc(strlen(text) + 1);

    return (copy != NULL) ? strcpy(copy, text) : NULL;
}

static int find_plugin(struct dl_phdr_info *info, size_t bytes, void *function)
{
    uintptr_t last = info->dlpi_addr;

    (void)bytes;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if ((info->dlpi_phdr[i].p_type == PT_LOAD) &&
            (info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz > last)) {
            last = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
        }
    }
    if (((uintptr_t)function < info->dlpi_addr) || ((uintptr_t)function >= last)) {
        return 0;
    }
    start = info->dlpi_addr;
    end   = last;
    return 1;
}

/* The findings as text, in text[]; 0: the report says that memory ran out. */
static int lint(coalesce_llvm_lint_function *function, const char *path, char *text, size_t room)
{
    const coalesce_llvm_lint_request want = { .remarks = 1, .waste = 1 };
    coalesce_report report = { .finding = NULL };
    char            error[512];
    size_t          used = 0;

    text[0] = '\0';
    calls   = 0;
    if (!function(path, &want, &report, error, sizeof(error))) {
        fprintf(stderr, "%s: %s\n", path, error);
        exit(1);
    }
    for (size_t i = 0; (i < report.count) && !report.out_of_memory && (used < room); i++) {
        const coalesce_finding *f = &report.finding[i];

        used += (size_t)snprintf(text + used, room - used, "%d %d %s:%u %s: %s\n", (int)f->level,
                                 (int)f->rule, (f->place.file != NULL) ? f->place.file : "",
                                 f->place.line, (f->function != NULL) ? f->function : "",
                                 f->message);
    }
    return !report.out_of_memory; /* the report is the plugin's, and leaks */
}

/* 0: each failure of an allocation was told. */
static int sweep(coalesce_llvm_lint_function *function, const char *path)
{
    static char   right[1 << 18], got[1 << 18];
    unsigned long all, told = 0;

    fails_at = 0;
    if (!lint(function, path, right, sizeof(right)) || (right[0] == '\0')) {
        fprintf(stderr, "%s: no findings\n", path);
        return 1;
    }
    all = calls;
    for (unsigned long n = 1; n <= all; n++) {
        fails_at = n;
        if (!lint(function, path, got, sizeof(got))) {
            told++;
        } else if (strcmp(got, right) != 0) {
            fprintf(stderr, "%s: allocation %lu of %lu fails, and findings differ:\n%s", path, n,
                    all, got);
            return 1;
        }
    }
    printf("%s: %lu allocations, %lu failures told\n", path, all, told);
    return told == 0;
}

int main(int count, char **words)
{
    coalesce_llvm_lint_function *function = NULL;
    void *plugin = NULL;
    int   failed = 0;

    if ((count >= 4) && (dlopen(words[1], RTLD_NOW | RTLD_GLOBAL) != NULL)) {
        plugin = dlopen(words[2], RTLD_NOW);
    }
    if (plugin != NULL) {
        function = (coalesce_llvm_lint_function *)(uintptr_t)dlsym(plugin, COALESCE_LLVM_LINT);
    }
    if (function == NULL) {
        fprintf(stderr, "llvm_memory: %s\n", dlerror());
        return 1;
    }
    (void)dl_iterate_phdr(find_plugin, (void *)(uintptr_t)function);
    for (int i = 3; i < count; i++) {
        failed |= sweep(function, words[i]);
    }
    return failed;
}
