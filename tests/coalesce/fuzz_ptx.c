/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuzz target: the PTX parser, lint and rewriter.
 *
 * The input is PTX.  It is linted and rewritten, by the cost rule and forced.  Accepted input must
 * be unchanged byte for byte where nothing is rewritten, and must be PTX again elsewhere. */
#include "tests/fuzz.h"

#include <shpool/coalesce.h>

const char fuzz_name[] = "ptx";

static void count(const shpool_coalesce_finding *finding, void *user)
{
    size_t *found = user;

    FUZZ_EXPECT((finding->level <= SHPOOL_COALESCE_WARNING) && (finding->rule != NULL));
    FUZZ_EXPECT((finding->message != NULL) && (finding->message[0] != '\0'));
    FUZZ_EXPECT(finding->sectors <= 1024);
    ++*found;
}

static void check_rewritten(const char *text, const char *better, size_t bytes, size_t rewritten)
{
    size_t warnings;
    char  *again;

    FUZZ_EXPECT(strlen(better) == bytes);
    if (rewritten == 0) {
        FUZZ_EXPECT(strcmp(better, text) == 0);
        return;
    }
    FUZZ_EXPECT(strstr(better, "%shpc_") != NULL);
    FUZZ_EXPECT(shpool_coalesce_lint(better, 0, NULL, &warnings) == SHPOOL_OK);
    fuzz_expect_failure();
    FUZZ_EXPECT(shpool_coalesce_rewrite(better, 0, NULL, &again, NULL, NULL) ==
                SHPOOL_ERR_UNSUPPORTED);
    FUZZ_EXPECT(again == NULL);
    fuzz_check_failure(SHPOOL_ERR_UNSUPPORTED, "already");
}

static void check_text(const char *text, int force)
{
    size_t                        found   = 0;
    const shpool_coalesce_options options = { .force = force, .remarks = 1, .report = count,
                                              .user = &found };
    size_t                        warnings;
    size_t                        bytes;
    size_t                        rewritten;
    char                         *better;
    shpool_status                 status;

    fuzz_expect_failure();
    status = shpool_coalesce_lint(text, 0, &options, &warnings);
    if (status != SHPOOL_OK) {
        FUZZ_EXPECT(status == SHPOOL_ERR_INVALID);
        fuzz_check_failure(status, "line ");
        FUZZ_EXPECT(warnings == 0);
    }
    FUZZ_EXPECT(warnings <= found);
    fuzz_expect_failure();
    if (shpool_coalesce_rewrite(text, 0, &options, &better, &bytes, &rewritten) == SHPOOL_OK) {
        FUZZ_EXPECT(status == SHPOOL_OK);
        check_rewritten(text, better, bytes, rewritten);
        shpool_coalesce_free(better);
    } else {
        FUZZ_EXPECT((better == NULL) && (bytes == 0) && (rewritten == 0));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);

    check_text(text, 0);
    check_text(text, 1);
    free(text);
    return 0;
}
