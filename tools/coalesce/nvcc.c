/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `shpool-coalesce nvcc ...`: nvcc looks for its compiler proper, cicc, in $CICC_PATH, which its
 * profile sets; without the profile (-noprof, with its other settings passed as options) it uses
 * the environment's.  That folder has a link named cicc to this program, which runs the genuine
 * cicc and rewrites the PTX that its -o names.  If anything fails, the PTX stays as it was.
 */
#include "tool.h"
#include "tools/output.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* For the link named cicc; no name begins with SHPOOL_, which the library would warn of. */
#define GENUINE "LIBSHPOOL_COALESCE_CICC"
#define OPTIONS "LIBSHPOOL_COALESCE_OPTIONS" /* the words of our own options, one a line */

/* In the link's folder: the number of records rewritten by each cicc, one a line. */
#define TALLY "rewritten"

#define OPTIONS_BYTES 8192
#define MOST_WORDS    256

/* ---- in place of cicc ---- */

/* The options that shpool-coalesce nvcc was given; 0: there is no memory for them. */
static int read_options(char *lines, tool_options *options)
{
    char *words[MOST_WORDS] = { lines };
    int   count = 1;
    char *rest  = lines;

    for (char *word = strtok_r(lines, "\n", &rest); (word != NULL) && (count < MOST_WORDS);
         word = strtok_r(NULL, "\n", &rest)) {
        words[count++] = word;
    }
    *options = tool_default_options();
    return tool_take_words(count, words, options) < 0;
}

/* Report the rewrites, or that there were none. */
static void tell(const char *path, const tool_options *options, coalesce_report *report,
                 size_t rewritten)
{
    if (report->out_of_memory) {
        (void)tool_failed("%s: no memory to rewrite it: left as it is", path);
    } else if (options->request.remarks) {
        const coalesce_text_options plain = { 0 };

        coalesce_report_sort(report);
        if (!options->headers) {
            coalesce_report_drop_headers(report, COALESCE_REMARK, "--headers");
        }
        (void)coalesce_report_text(report, &plain, stderr);
    }
    if (options->verbose) {
        tool_rewritten(path, rewritten);
    }
}

/* For the line that nvcc's caller gets.  Lost, it is missing there, and nothing else. */
static void note_rewritten(size_t rewritten)
{
    const char *folder = getenv("CICC_PATH");
    char        path[PATH_MAX];
    FILE       *tally;

    if (folder == NULL) {
        return;
    }
    (void)snprintf(path, sizeof(path), "%s/" TALLY, folder);
    tally = fopen(path, "a");
    if (tally != NULL) {
        (void)fprintf(tally, "%zu\n", rewritten);
        (void)fclose(tally);
    }
}

static void rewrite_in_place(const char *path, const char *words)
{
    static tool_options options;
    char           *lines   = strdup(words);
    ptx_request    *request = &options.request;
    coalesce_report report;
    size_t          bytes;
    char           *text = tool_read(path, &bytes);
    ptx_module      module;
    ptx_out         out       = { .text = NULL };
    size_t          rewritten = 0;

    if ((text == NULL) || (lines == NULL) || !read_options(lines, &options)) {
        (void)tool_failed("%s: cannot be read, or memory ran out: left as it is", path);
        free(text);
        free(lines);
        return;
    }
    request->waste = 0;
    request->file  = path; /* places, without -lineinfo */
    coalesce_report_init(&report);
    if (ptx_parse(text, (uint32_t)bytes, &module) != PTX_FINE) {
        (void)tool_failed("%s:%u:%u: %s: left as it is", path, module.error_line,
                          module.error_column, module.error);
    } else if (ptx_unusable_because(&module) != NULL) {
        (void)tool_failed("%s: %s", path, ptx_unusable_because(&module));
    } else if ((ptx_process(&module, request, &report, &out, &rewritten) == PTX_FINE) &&
               (rewritten > 0)) {
        (void)tool_write(path, out.text, out.bytes);
    }
    tell(path, &options, &report, rewritten);
    note_rewritten(rewritten);
    coalesce_report_fini(&report);
    free(out.text);
    ptx_module_fini(&module);
    free(text);
    free(lines);
}

int tool_cicc(int count, char **words)
{
    const char *genuine = getenv(GENUINE);
    const char *options = getenv(OPTIONS);
    const char *ptx     = NULL;
    sigset_t    signals;
    int         status;

    if (genuine == NULL) {
        return tool_failed("called as cicc, but not by shpool-coalesce nvcc");
    }
    for (int i = 1; i + 1 < count; i++) {
        ptx = (strcmp(words[i], "-o") == 0) ? words[i + 1] : ptx;
    }
    words[0] = (char *)(uintptr_t)genuine;
    (void)pthread_sigmask(SIG_SETMASK, NULL, &signals);
    status = tool_run(words, &signals);
    if ((status == 0) && (ptx != NULL) && (access(ptx, R_OK) == 0)) {
        rewrite_in_place(ptx, (options != NULL) ? options : "");
    }
    return status;
}

/* ---- nvcc ---- */

/* nvcc is in the toolkit's bin; a script that calls it from elsewhere is in none. */
static int is_toolkit_of(const char *nvcc, char toolkit[PATH_MAX])
{
    char cicc[PATH_MAX + 32];

    if ((access(nvcc, X_OK) != 0) || (realpath(nvcc, toolkit) == NULL)) {
        return 0;
    }
    for (int i = 0; i < 2; i++) {
        char *slash = strrchr(toolkit, '/');

        if (slash != NULL) {
            *slash = '\0';
        }
    }
    (void)snprintf(cicc, sizeof(cicc), "%s/nvvm/bin/cicc", toolkit);
    return access(cicc, X_OK) == 0;
}

/* The folder of the toolkit whose nvcc is called: by its path, or the one on PATH. */
static int find_toolkit(const char *nvcc, char toolkit[PATH_MAX])
{
    const char *path = getenv("PATH");
    char        file[PATH_MAX];

    if (strchr(nvcc, '/') != NULL) {
        return is_toolkit_of(nvcc, toolkit);
    }
    while ((path != NULL) && (*path != '\0')) {
        const size_t bytes = strcspn(path, ":");

        if ((bytes > 0) && (bytes + 6 < sizeof(file))) {
            (void)snprintf(file, sizeof(file), "%.*s/nvcc", (int)bytes, path);
            if (is_toolkit_of(file, toolkit)) {
                return 1;
            }
        }
        path += bytes + (path[bytes] == ':');
    }
    return 0;
}

static int set(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int set(const char *name, const char *format, ...)
{
    char    value[3 * PATH_MAX];
    va_list args;
    int     bytes;

    va_start(args, format);
    bytes = vsnprintf(value, sizeof(value), format, args);
    va_end(args);
    return (bytes >= 0) && ((size_t)bytes < sizeof(value)) && (setenv(name, value, 1) == 0);
}

/* The settings of nvcc.profile, with our cicc's folder. */
static int set_environment(const char *toolkit, const char *folder)
{
    const char *path  = getenv("PATH");
    const char *flags = getenv("NVCC_PREPEND_FLAGS");

    return set(GENUINE, "%s/nvvm/bin/cicc", toolkit) &&
           set("CICC_PATH", "%s", folder) &&
           set("NVVMIR_LIBRARY_DIR", "%s/nvvm/libdevice", toolkit) &&
           set("PATH", "%s/bin:%s/nvvm/bin:%s", toolkit, toolkit, (path != NULL) ? path : "") &&
           set("NVCC_PREPEND_FLAGS",
               "-noprof -I%s/include -isystem=%s/include/cccl -L%s/lib64/stubs -L%s/lib64 %s",
               toolkit, toolkit, toolkit, toolkit, (flags != NULL) ? flags : "");
}

static int run_nvcc(const char *toolkit, int count, char **words, const sigset_t *signals)
{
    char   program[PATH_MAX + 16];
    char **all = calloc((size_t)count + 2, sizeof(*all));
    int    status;

    if (all == NULL) {
        return tool_failed("no memory for nvcc's options");
    }
    (void)snprintf(program, sizeof(program), "%s/bin/nvcc", toolkit);
    all[0] = program;
    for (int i = 0; i < count; i++) {
        all[i + 1] = words[i];
    }
    status = tool_run(all, signals);
    free(all);
    return status;
}

/* Our own words, for read_options(); 0: they are too long. */
static int pass_options(int count, char **words)
{
    char   lines[OPTIONS_BYTES] = "";
    size_t used = 0;

    for (int i = 0; i < count; i++) {
        const int bytes = snprintf(lines + used, sizeof(lines) - used, "%s\n", words[i]);

        if ((bytes < 0) || ((size_t)bytes >= sizeof(lines) - used)) {
            return 0;
        }
        used += (size_t)bytes;
    }
    return setenv(OPTIONS, lines, 1) == 0;
}

/* One line about what the build's ciccs did; none if there was none, as in a link. */
static void sum_up(const char *path, int status)
{
    FILE              *tally = fopen(path, "r");
    unsigned long long records = 0;
    unsigned long long files   = 0;
    unsigned long long one;

    (void)unlink(path); /* the file stays open */
    if (tally == NULL) {
        return;
    }
    while (fscanf(tally, "%llu", &one) == 1) {
        files++;
        records += one;
    }
    (void)fclose(tally);
    if ((status == 0) && (files > 0)) {
        (void)fprintf(stderr, "shpool-coalesce: %llu record%s rewritten in %llu compilation%s; "
                      "shpool-coalesce nvcc -r -- OPTIONS says which, and why others are not\n",
                      records, (records == 1) ? "" : "s", files, (files == 1) ? "" : "s");
    }
}

/* With a folder of our own, and the signals blocked that would end this program, which has to
 * remove it. */
static int run_with_link(const tool_options *options, const char *toolkit, int count, char **words,
                         const sigset_t *signals)
{
    char    self[PATH_MAX] = "";
    char    link[PATH_MAX + 8];
    char    tally[PATH_MAX + 16];
    char    folder[PATH_MAX];
    ssize_t bytes = readlink("/proc/self/exe", self, sizeof(self) - 1);
    int     status;

    if (!tool_temporary(folder, sizeof(folder), "shpool-coalesce", "") || (bytes <= 0) ||
        (mkdtemp(folder) == NULL)) {
        return tool_failed("%s: a temporary folder cannot be made: %s", folder,
                           strerror(errno));
    }
    (void)snprintf(link, sizeof(link), "%s/cicc", folder);
    (void)snprintf(tally, sizeof(tally), "%s/" TALLY, folder);
    if ((symlink(self, link) != 0) || !set_environment(toolkit, folder) ||
        !pass_options(options->own_count, options->own)) {
        status = tool_failed("the environment for nvcc cannot be made");
    } else {
        status = run_nvcc(toolkit, count, words, signals);
    }
    sum_up(tally, status);
    (void)unlink(link);
    (void)rmdir(folder);
    return status;
}

int tool_nvcc(const tool_options *options, int count, char **words)
{
    char     toolkit[PATH_MAX];
    sigset_t signals;
    int      status;

    if (!find_toolkit(options->nvcc, toolkit)) {
        return tool_failed("%s of a toolkit (bin/nvcc beside nvvm/bin/cicc) was not found; put its "
                           "bin on PATH, or give its path", options->nvcc);
    }
    tool_signals_block(&signals);
    status = run_with_link(options, toolkit, count, words, &signals);
    tool_signals_restore(&signals);
    return status;
}
