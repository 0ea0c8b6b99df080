/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-check: what the command line asked for, and the steps of a build. */
#ifndef SHPOOL_CHECK_BUILD_H
#define SHPOOL_CHECK_BUILD_H

#include <stdint.h>
#include <stdio.h>

#define CHECK_FAILED 2 /* exit status: it could not be built */

#define CHECK_WORDS 512

typedef struct check_command {
    const char *word[CHECK_WORDS + 1]; /* NULL ends it */
    int         count;
} check_command;

void check_command_add(check_command *to, const char *word);

typedef struct check_request {
    check_command compile; /* the user's options */
    check_command link;
    char       **sources;
    char       **program_words;
    int          source_count;
    int          program_count;
    const char  *output;
    const char  *sarif;
    const char  *junit;
    const char  *compiler;
    const char  *root;
    uint32_t     seed;
    uint32_t     seeds;
    uint32_t     explore; /* UINT32_MAX: no */
    uint32_t     budget;
    int          strict;
    int          counts;
    int          verbose;
} check_request;

/** Print the options' lines of the usage. */
void check_rows_print(FILE *to);

/** Sort nvcc's options by who needs them; -1: one is wrong, and stderr says why. */
int check_options(check_request *request, char **words, int count);

/** A folder for temporary files. */
typedef struct check_folder {
    char path[256];
} check_folder;

int check_folder_make(check_folder *folder);
void check_folder_remove(const check_folder *folder);

/** Build the program; 0, or CHECK_FAILED and stderr says why. */
int check_build(const check_request *request, const check_folder *folder, const char *program);

/** Run it; its exit status, or 128 and its signal.  quiet: without its standard output. */
int check_run_program(const check_request *request, const char *program, int quiet);

#endif /* SHPOOL_CHECK_BUILD_H */
