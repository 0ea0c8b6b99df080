/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target: the reader of results, shpool-bench --json.
 *
 * The input is the file.  Results that were read can be written, and the file that this makes can
 * be read and is written again unchanged. */
#include "tests/fuzz.h"

#include "tools/bench/gpu.h"
#include "tools/bench/json.h"

const char fuzz_name[] = "results";

/* Stubs for functions of another file of the tool. */
int bench_cuda_runtime(void)
{
    return 0;
}

static int read_text(const char *text, size_t bytes, bench_results *results)
{
    char path[FUZZ_PATH_BYTES];
    fuzz_silence before = fuzz_silence_begin();
    int fd = fuzz_file((const uint8_t *)text, bytes, path);
    int failed = bench_json_read(path, results);

    (void)close(fd);
    fuzz_silence_end(before);
    return failed;
}

static char *write_text(const bench_results *results, size_t *bytes_p)
{
    char *text = NULL;
    FILE *to = open_memstream(&text, bytes_p);

    FUZZ_EXPECT((to != NULL) && (bench_json_write(results, to) == 0));
    FUZZ_EXPECT(fclose(to) == 0);
    return text;
}

static void check_again(const bench_results *results)
{
    bench_results again;
    size_t bytes = 0;
    size_t again_bytes = 0;
    char *text = write_text(results, &bytes);
    char *again_text;

    FUZZ_EXPECT(read_text(text, bytes, &again) == 0);
    FUZZ_EXPECT(again.count == results->count);
    again_text = write_text(&again, &again_bytes);
    FUZZ_EXPECT((bytes == again_bytes) && (memcmp(text, again_text, bytes) == 0));
    bench_results_clear(&again);
    free(again_text);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bench_results results;

    if (read_text((const char *)data, size, &results) != 0) {
        FUZZ_EXPECT((results.rows == NULL) && (results.count == 0));
        return 0;
    }
    check_again(&results);
    bench_results_clear(&results);
    return 0;
}
