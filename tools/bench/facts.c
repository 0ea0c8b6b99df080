/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-bench: where, when and how something was measured.  All commands' results carry it. */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/driver.h"
#include "lib/internal.h"
#include "facts.h"
#include "gpu.h"
#include "tools/message.h"

#define BENCH_RECORD bench_origin
const bench_column bench_origin_columns[] = {BENCH_ORIGIN(BENCH_COLUMN) BENCH_LAST};

static void set_version_and_date(bench_origin *origin)
{
    const time_t now = time(NULL);
    struct tm    utc;

    snprintf(origin->version, sizeof(origin->version), "%s", shpool_version());
    if (gmtime_r(&now, &utc) != NULL) {
        (void)strftime(origin->date, sizeof(origin->date), "%Y-%m-%dT%H:%M:%SZ", &utc);
    }
}

/* A word of the command line, in quotes if a shell would see more in it. */
static void add_word(shpool_text *text, const char *word)
{
    const char *at;

    if ((word[0] != '\0') && (strpbrk(word, " \t\n\"'$`\\|&;<>()*?[]#~!{}") == NULL)) {
        shpool_text_add(text, "%s", word);
        return;
    }
    shpool_text_add(text, "'");
    for (at = word; *at != '\0'; at++) {
        shpool_text_add(text, (*at == '\'') ? "'\\''" : "%c", *at);
    }
    shpool_text_add(text, "'");
}

void bench_command_write(const char *tool, int argc, char **argv, char *line, size_t bytes)
{
    shpool_text text = shpool_text_make(line, bytes);
    int         i;

    shpool_text_add(&text, "%s", tool);
    for (i = 1; i < argc; i++) {
        shpool_text_add(&text, " ");
        add_word(&text, argv[i]);
    }
}

int bench_choose_device(int device, char *text, size_t bytes)
{
    const int cuda = bench_cuda_present(text, bytes);

    if ((device == 1) && !cuda) {
        tool_say("shpool-bench: --device cuda: %s; --device cpu works anywhere\n", text);
        return -1;
    }
    if (device == 0) {
        snprintf(text, bytes, "--device cpu");
    }
    return cuda && (device != 0);
}

/* ---- the CPU block executor ---- */

/* The start of a file, as a string; "": it cannot be read.  Without stdio, which needs memory: no
 * fact is lost if there is none. */
static void read_start(const char *path, char *text, size_t bytes)
{
    const int file  = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t   count = (file >= 0) ? read(file, text, bytes - 1) : 0;

    text[(count > 0) ? count : 0] = '\0';
    if (file >= 0) {
        (void)close(file);
    }
}

/* The first value of `key : value` in the text of /proc/cpuinfo; empty: none. */
static void find_processor(const char *text, const char *key, char *value, size_t bytes)
{
    value[0] = '\0';
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        const char *colon;

        line += (line[0] == '\n');
        colon = strchr(line, ':');
        if ((strncmp(line, key, strlen(key)) == 0) && (colon != NULL)) {
            colon += 1 + strspn(colon + 1, " ");
            snprintf(value, bytes, "%.*s", (int)strcspn(colon, "\n"), colon);
            return;
        }
    }
}

void bench_origin_cpu(bench_origin *origin, const char *why)
{
    char model[96];
    char mhz[32];
    char text[4096];

    set_version_and_date(origin);
    read_start("/proc/cpuinfo", text, sizeof(text)); /* the first processor is in it */
    find_processor(text, "model name", model, sizeof(model));
    find_processor(text, "cpu MHz", mhz, sizeof(mhz));
    snprintf(origin->device, sizeof(origin->device), "CPU block executor (%.100s)%s%s", why,
             (model[0] != '\0') ? ", " : "", model);
    snprintf(origin->driver, sizeof(origin->driver), "none");
    snprintf(origin->clocks, sizeof(origin->clocks), "%s%s", (mhz[0] != '\0') ? mhz : "unknown",
             (mhz[0] != '\0') ? " MHz at the start" : "");
}

/* ---- a GPU ---- */

/* The first line of a file, without its end; "unknown": there is none. */
static void first_line(const char *path, char *text, size_t bytes)
{
    read_start(path, text, bytes);
    if (text[0] == '\0') {
        snprintf(text, bytes, "unknown");
    }
    text[strcspn(text, "\n")] = '\0';
}

shpool_status bench_origin_gpu(bench_origin *origin, int ordinal)
{
    const int runtime = bench_cuda_runtime();
    shpool_device_properties gpu;
    const shpool_driver     *cu;
    char          kernel_module[32];
    int           cuda   = 0;
    shpool_status status = shpool_device_get_properties(ordinal, &gpu);

    if (status == SHPOOL_OK) {
        status = shpool_driver_get(&cu);
    }
    if (status != SHPOOL_OK) {
        return status;
    }
    (void)cu->version(&cuda);
    set_version_and_date(origin);
    snprintf(origin->device, sizeof(origin->device),
             "%.150s (sm_%d%d, %d SMs, CUDA driver %d.%d)", gpu.name, (int)gpu.major,
             (int)gpu.minor, (int)gpu.sm_count, cuda / 1000, cuda % 1000 / 10);
    first_line("/sys/module/nvidia/version", kernel_module, sizeof(kernel_module));
    snprintf(origin->driver, sizeof(origin->driver), "%s", kernel_module);
    if (runtime != 0) {
        snprintf(origin->driver, sizeof(origin->driver), "%s, CUDA runtime %d.%d", kernel_module,
                 runtime / 1000, runtime % 1000 / 10);
    }
    snprintf(origin->clocks, sizeof(origin->clocks),
             "SM at most %d MHz, memory at most %d MHz", (int)gpu.clock_khz / 1000,
             (int)gpu.memory_clock_khz / 1000);
    return SHPOOL_OK;
}

/* ---- output ---- */

void bench_origin_print(FILE *to, const bench_origin *origin, const char *how)
{
    fprintf(to, "# shpool-bench %s on %s, %s\n# driver %s; clocks: %s; %s\n# %s\n",
            origin->version, origin->device, how, origin->driver, origin->clocks, origin->date,
            origin->command);
}
