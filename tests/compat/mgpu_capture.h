/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests of MGPU's names share: output to stdout, and exceptions. */
#ifndef SHPOOL_TESTS_MGPU_CAPTURE_H
#define SHPOOL_TESTS_MGPU_CAPTURE_H

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>

#include <moderngpu.cuh>

#include "tests/test.h"

namespace {

/* Everything that reaches file descriptor 1 while this lives, in a file of its own. */
class capture {
public:
    capture() : file_(std::tmpfile()), kept_(-1)
    {
        std::fflush(stdout);
        kept_ = dup(STDOUT_FILENO);
        if ((file_ == nullptr) || (kept_ < 0) || (dup2(fileno(file_), STDOUT_FILENO) < 0)) {
            std::perror("capture");
            std::abort();
        }
    }
    ~capture() { end(); }
    std::string text()
    {
        std::string all;
        int         c;

        end();
        std::rewind(file_);
        while ((c = std::fgetc(file_)) != EOF) {
            all += static_cast<char>(c);
        }
        std::fclose(file_);
        file_ = nullptr;
        return all;
    }

private:
    void end()
    {
        if (kept_ >= 0) {
            std::fflush(stdout);
            dup2(kept_, STDOUT_FILENO);
            close(kept_);
            kept_ = -1;
        }
    }

    FILE *file_;
    int   kept_;
};

/* A call throws, with these words in the text, and this status. */
template <class Call> void throws(shpool_status status, const char *words, Call call)
{
    try {
        call();
    } catch (const mgpu::CudaException &e) {
        assert_int_equal(e.status, status);
        assert_non_null(std::strstr(e.what(), words));
        return;
    }
    fail_msg("no exception with \"%s\"", words);
}

} // namespace

#endif /* SHPOOL_TESTS_MGPU_CAPTURE_H */
