/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a fuzz target over its corpus, for compilers without libFuzzer and for every `make check`.
 *
 *   fuzz_NAME [FILE...]   without files: those in $top_srcdir/tests/corpus/NAME
 *
 * Nothing random happens here.  Exit: 0; 1: no file, or one that cannot be read; an input that the
 * target objects to ends the process by SIGABRT, after the line that names it. */
#include "fuzz.h"

#include <dirent.h>

static int run_file(const char *path)
{
    FILE   *file = fopen(path, "rb");
    uint8_t data[1 << 16];
    size_t  size;

    if (file == NULL) {
        perror(path);
        return 1;
    }
    size = fread(data, 1, sizeof(data), file);
    (void)fclose(file);
    printf("%s: %zu bytes\n", path, size);
    (void)fflush(stdout); /* before an abort */
    (void)LLVMFuzzerTestOneInput(data, size);
    return 0;
}

static int not_hidden(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int run_corpus(void)
{
    const char     *top = getenv("top_srcdir");
    struct dirent **entry;
    char            path[4096];
    int             failed = 0;
    int             count;

    (void)snprintf(path, sizeof(path), "%s/tests/corpus/%s", (top != NULL) ? top : ".", fuzz_name);
    count = scandir(path, &entry, not_hidden, alphasort);
    if (count <= 0) {
        fprintf(stderr, "no corpus in %s: give files, or set top_srcdir to the source folder\n",
                path);
        return 1;
    }
    for (int i = 0; i < count; i++) {
        (void)snprintf(path, sizeof(path), "%s/tests/corpus/%s/%s", (top != NULL) ? top : ".",
                       fuzz_name, entry[i]->d_name);
        failed |= run_file(path);
        free(entry[i]);
    }
    free(entry);
    return failed;
}

int main(int argc, char **argv)
{
    int failed = 0;

    if (argc < 2) {
        return run_corpus();
    }
    for (int i = 1; i < argc; i++) {
        failed |= run_file(argv[i]);
    }
    return failed;
}
