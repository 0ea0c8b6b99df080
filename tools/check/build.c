/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-check: preprocess, translate, compile, edit the assembly, assemble, link, run. */
#define _GNU_SOURCE
#include "build.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/message.h"
#include "tools/output.h"
#include "translate.h"

/* ---- commands ---- */

void check_command_add(check_command *to, const char *word)
{
    if (to->count < CHECK_WORDS) {
        to->word[to->count++] = word;
        to->word[to->count]   = NULL;
    }
}

static void add_all(check_command *to, const char *const words[])
{
    for (int i = 0; words[i] != NULL; i++) {
        check_command_add(to, words[i]);
    }
}

static int run(const check_request *request, const check_command *what, int quiet)
{
    pid_t child;
    int   status = 0;

    for (int i = 0; (request->verbose != 0) && (i < what->count); i++) {
        tool_say("%s%s", what->word[i], (i + 1 < what->count) ? " " : "\n");
    }
    child = fork();
    if (child == 0) {
        int null = quiet ? open("/dev/null", O_WRONLY) : -1;

        if (null >= 0) {
            (void)dup2(null, 1);
        }
        (void)execvp(what->word[0], (char *const *)(uintptr_t)what->word);
        tool_say("shpool-check: %s: %s\n", what->word[0], strerror(errno));
        _exit(127);
    }
    if ((child < 0) || (waitpid(child, &status, 0) < 0)) {
        tool_say("shpool-check: %s: %s\n", what->word[0], strerror(errno));
        return 127;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* ---- files ---- */

int check_folder_make(check_folder *folder)
{
    return (tool_temporary(folder->path, sizeof(folder->path), "shpool-check", "") &&
            (mkdtemp(folder->path) != NULL)) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *where)
{
    (void)facts;
    (void)kind;
    (void)where;
    return remove(path);
}

void check_folder_remove(const check_folder *folder)
{
    (void)nftw(folder->path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static int read_text(const char *path, check_text *text)
{
    FILE  *from = fopen(path, "r");
    char   part[65536];
    size_t bytes;

    if (from == NULL) {
        return -1;
    }
    while ((bytes = fread(part, 1, sizeof(part), from)) > 0) {
        check_text_add(text, part, bytes);
    }
    check_text_add(text, "", 0);
    (void)fclose(from);
    return text->failed ? -1 : 0;
}

static int write_text(const char *path, const check_text *text)
{
    FILE *to = fopen(path, "w");
    int   failed;

    if (to == NULL) {
        return -1;
    }
    failed = text->failed || (fwrite(text->start, 1, text->bytes, to) != text->bytes);
    return ((fclose(to) != 0) || failed) ? -1 : 0;
}

/* ---- steps ---- */

static const char *const language[] = { "-std=c++17", "-O1", "-gdwarf-4", "-w",
                                        "-fno-omit-frame-pointer", "-fno-threadsafe-statics",
                                        NULL };
/* Each access calls __tsan_readN() or __tsan_writeN(), and an index outside of its array
 * __ubsan_handle_out_of_bounds(): this library's, at the link. */
static const char *const instrumented[] = {
    "-fsanitize=thread,array-bounds", "-mllvm", "-tsan-instrument-func-entry-exit=0",
    "-mllvm", "-tsan-instrument-atomics=0", "-mllvm", "-tsan-distinguish-volatile=1",
    "-mllvm", "-tsan-instrument-read-before-write=1", "-S", "-fno-verbose-asm",
    "-x", "c++-cpp-output", NULL
};

static char *path_of(const char *format, const char *folder, int n)
{
    char *path = NULL;

    return (asprintf(&path, format, folder, n) < 0) ? NULL : path;
}

static int refuse(const char *source, const char *why)
{
    tool_say("shpool-check: %s: %s\n", source, why);
    return CHECK_FAILED;
}

/* `own`: -I and the folder of libshpool's headers. */
static int has_headers(const char *source, const char *own)
{
    char *path = NULL;
    char *why = NULL;
    int there = 0;

    if (asprintf(&path, "%s/shpool/shpool.cuh", own + 2) >= 0) {
        there = access(path, R_OK) == 0;
        if (!there && (asprintf(&why, "there is no %s: --root FOLDER says where libshpool is "
                                "installed", path) >= 0)) {
            (void)refuse(source, why);
            free(why);
        }
        free(path);
    }
    return there;
}

/* An option with a path of --root, or with the one of the installed library. */
static int in_root(char **word_p, const char *option, const check_request *request,
                   const char *below, const char *installed)
{
    return (request->root != NULL) ? asprintf(word_p, "%s%s%s", option, request->root, below)
                                   : asprintf(word_p, "%s%s", option, installed);
}

static int preprocess(const check_request *request, const char *source, const char *out)
{
    check_command what  = { .count = 0 };
    char   *names = NULL;
    char   *own   = NULL;
    int     status = CHECK_FAILED;

    if ((in_root(&names, "-I", request, "/include/shpool/check", INCLUDES "/shpool/check") >= 0) &&
        (in_root(&own, "-I", request, "/include", INCLUDES) >= 0) && has_headers(source, own)) {
        check_command_add(&what, request->compiler);
        add_all(&what, language);
        check_command_add(&what, names);
        add_all(&what, request->compile.word);
        check_command_add(&what, own);
        if ((strlen(source) > 3) && (strcmp(source + strlen(source) - 3, ".cu") == 0)) {
            add_all(&what, (const char *const[]){ "-D__CUDACC__=1", "-D__NVCC__=1", "-include",
                                                  "cuda_runtime.h", NULL });
        } /* as nvcc: C++ may have types of its own with CUDA's names */
        add_all(&what, (const char *const[]){
            "-DSHPOOL_CHECKED=1", "-E", "-x", "c++", source, "-o", out, NULL });
        status = run(request, &what, 0) ? CHECK_FAILED : 0;
    }
    free(names);
    free(own);
    return status;
}

static int translate(const char *source, const char *from, const char *to)
{
    check_text before = { 0 };
    check_text after  = { 0 };
    char       error[200];
    int        status = 0;

    if (read_text(from, &before) != 0) {
        status = refuse(source, "the preprocessed text cannot be read");
    } else {
        check_translate(before.start, &after, error, sizeof(error));
        if (error[0] != '\0') {
            status = refuse(source, error);
        } else if (write_text(to, &after) != 0) {
            status = refuse(source, "the translated text cannot be written");
        }
    }
    free(before.start);
    free(after.start);
    return status;
}

static int edit(const char *source, const char *path)
{
    check_text before = { 0 };
    check_text after  = { 0 };
    int        status = 0;

    if (read_text(path, &before) != 0) {
        status = refuse(source, "the assembly cannot be read");
    } else {
        check_assembly(before.start, &after);
        status = (write_text(path, &after) != 0)
                     ? refuse(source, "the assembly cannot be written") : 0;
    }
    free(before.start);
    free(after.start);
    return status;
}

static int compile(const check_request *request, const char *from, const char *to)
{
    check_command what = { .count = 0 };

    check_command_add(&what, request->compiler);
    add_all(&what, language);
    add_all(&what, request->compile.word);
    add_all(&what, instrumented);
    add_all(&what, (const char *const[]){ from, "-o", to, NULL });
    return run(request, &what, 0) ? CHECK_FAILED : 0;
}

static int assemble(const check_request *request, const char *from, const char *to)
{
    check_command what = { .count = 0 };

    check_command_add(&what, request->compiler);
    add_all(&what, (const char *const[]){ "-c", "-Wa,--no-warn", from, "-o", to, NULL });
    return run(request, &what, 0) ? CHECK_FAILED : 0;
}

static int build_one(const check_request *request, const char *folder, int n, const char *object)
{
    const char *source = request->sources[n];
    char *plain = path_of("%s/%d.ii", folder, n);
    char *cpp   = path_of("%s/%d.cu.ii", folder, n);
    char *text  = path_of("%s/%d.s", folder, n);
    int   status = CHECK_FAILED;

    if ((plain != NULL) && (cpp != NULL) && (text != NULL)) {
        status = preprocess(request, source, plain);
        status = (status != 0) ? status : translate(source, plain, cpp);
        status = (status != 0) ? status : compile(request, cpp, text);
        status = (status != 0) ? status : edit(source, text);
        status = (status != 0) ? status : assemble(request, text, object);
    }
    free(plain);
    free(cpp);
    free(text);
    return status;
}

static int link_all(const check_request *request, char *const *objects, const char *program)
{
    check_command what   = { .count = 0 };
    char   *search = NULL;
    char   *find   = NULL;
    int     status = CHECK_FAILED;

    if ((in_root(&search, "-L", request, "/lib", LIBRARIES) >= 0) &&
        (in_root(&find, "-Wl,-rpath,", request, "/lib", LIBRARIES) >= 0)) {
        check_command_add(&what, request->compiler);
        for (int i = 0; i < request->source_count; i++) {
            check_command_add(&what, objects[i]);
        }
        add_all(&what, request->link.word);
        add_all(&what, (const char *const[]){ "-rdynamic", "-o", program, search, find,
                                              "-lshpool_check", "-lshpool", "-lm", "-lpthread",
                                              NULL });
        status = run(request, &what, 0) ? CHECK_FAILED : 0;
    }
    free(search);
    free(find);
    return status;
}

int check_build(const check_request *request, const check_folder *folder, const char *program)
{
    char **objects = calloc((size_t)request->source_count, sizeof(*objects));
    int    status  = (objects == NULL) ? CHECK_FAILED : 0;

    for (int i = 0; (i < request->source_count) && (status == 0); i++) {
        objects[i] = path_of("%s/%d.o", folder->path, i);
        status     = (objects[i] == NULL) ? CHECK_FAILED
                                          : build_one(request, folder->path, i, objects[i]);
    }
    status = (status != 0) ? status : link_all(request, objects, program);
    for (int i = 0; (objects != NULL) && (i < request->source_count); i++) {
        free(objects[i]);
    }
    free(objects);
    return status;
}

int check_run_program(const check_request *request, const char *program, int quiet)
{
    check_command what = { .count = 0 };

    check_command_add(&what, program);
    for (int i = 0; i < request->program_count; i++) {
        check_command_add(&what, request->program_words[i]);
    }
    return run(request, &what, quiet);
}
