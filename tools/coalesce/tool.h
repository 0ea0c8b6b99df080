/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files of shpool-coalesce. */
#ifndef SHPOOL_TOOLS_COALESCE_TOOL_H
#define SHPOOL_TOOLS_COALESCE_TOOL_H

#include <signal.h>
#include <stdio.h>

#include "lib/internal.h"

#include "coalesce/ptx/ptx.h"

/* Exit statuses. */
enum {
    TOOL_OK       = 0,
    TOOL_FOUND    = 1, /* findings at or above --fail-on */
    TOOL_USAGE    = 2,
    TOOL_NO_INPUT = 3  /* an input that cannot be read, compiled or understood */
};

#define TOOL_MOST_SKIPS   64
#define TOOL_MOST_SOURCES 64

enum { FORMAT_TEXT, FORMAT_JSON, FORMAT_SARIF };

typedef struct tool_options {
    ptx_request         request;
    int                 format;
    coalesce_level      least;    /* findings below are not printed */
    int                 fail_on;  /* a coalesce_level; -1: never */
    int                 colour;   /* 0, 1, or -1: on a terminal */
    int                 headers;  /* also print what lies in headers that are not the user's */
    int                 verbose;
    const char         *output;   /* -o; NULL: none given */
    char *const        *files;
    size_t              file_count;
    char              **own;      /* the words before "--", as they were given */
    int                 own_count;
    char *const        *compiler; /* the words after "--": for nvcc */
    size_t              compiler_count;
    const char         *nvcc; /* as the user called it: with its path, or from PATH */
    const char         *skip[TOOL_MOST_SKIPS];
    const char         *source[TOOL_MOST_SOURCES]; /* --sources: folders */
    size_t              sources;
} tool_options;

/* "shpool-coalesce: ..." to stderr, escaped for terminals; TOOL_NO_INPUT. */
int tool_failed(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* --verbose: how many records of a file were rewritten. */
void tool_rewritten(const char *path, size_t records);

/* The contents of a regular file, followed by a NUL; NULL: tool_failed() was called.  free() it. */
char *tool_read(const char *path, size_t *bytes_p);

/* Replace the file by the text, in one step; 0: tool_failed() was called, and it is as it was. */
int tool_write(const char *path, const char *text, size_t bytes);

/* The folders that excerpts may come from, as real paths: --sources and the inputs' own. */
typedef struct tool_folders {
    char **path;
    size_t count;
} tool_folders;

/* 1: tool_folders_fini() follows; 0: memory ran out.  Folders that do not exist are left out. */
int tool_folders_of(const tool_options *options, tool_folders *folders);
void tool_folders_fini(tool_folders *folders);

/* Run a program with the signals of `before` blocked, as tool_signals_block() found them, and wait
 * for it.  Returns its exit status, 127 if it cannot be started.  A signal that would end this
 * program ends the child instead, and is pending afterwards. */
int tool_run(char *const arguments[], const sigset_t *before);

/* The C++ runtime's demangler, or NULL: names are then shown mangled.  0: memory ran out. */
int tool_demangler(coalesce_demangle **demangle_p);

/* Of a command line without options. */
tool_options tool_default_options(void);

/* Words from words[1] on: options, then files; after "--" come nvcc's words.  -1: continue; else an
 * exit status. */
int tool_take_words(int count, char **words, tool_options *options);

/* The subcommands. */
int tool_lint(const tool_options *options);
int tool_rewrite(const tool_options *options);
int tool_costs(void);

/* `shpool-coalesce nvcc ...`: words after "nvcc"; and the program that nvcc then runs instead of
 * cicc. */
int tool_nvcc(const tool_options *options, int count, char **words);
int tool_cicc(int count, char **words);

/* The report in another form; ferror(out) shows a failure. */
void tool_findings_json(const coalesce_report *report, FILE *out);
void tool_findings_sarif(const coalesce_report *report, FILE *out);

/*
 * Lint an .ll or .bc file; TOOL_OK: findings were added.  Without LLVM in the build a message says
 * how to get it (coalesce/no_llvm.c).
 */
int tool_lint_llvm(const char *path, const ptx_request *request, coalesce_report *report);

#endif /* SHPOOL_TOOLS_COALESCE_TOOL_H */
