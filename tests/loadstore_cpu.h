/* SPDX-License-Identifier: BSD-3-Clause */
/* Trials of loadstore.cuh on the block executor. */
#ifndef SHPOOL_TESTS_LOADSTORE_CPU_H
#define SHPOOL_TESTS_LOADSTORE_CPU_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
extern "C" {
#include <cmocka.h>
}

#include <shpool/executor.h>

#include "loadstore_run.h"

namespace {

/* Exactly so many bytes, at an address that is `shift` modulo 64. */
struct placed {
    unsigned char *block = nullptr;
    unsigned char *ptr   = nullptr;

    placed(const std::vector<unsigned char> &bytes, uint32_t shift)
    {
        void *all = nullptr;

        if (posix_memalign(&all, 64, shift + bytes.size() + (bytes.empty() ? 1 : 0)) == 0) {
            block = static_cast<unsigned char *>(all);
            ptr   = block + shift;
            if (!bytes.empty()) {
                memcpy(ptr, bytes.data(), bytes.size());
            }
        }
    }
    ~placed() { free(block); }
    placed(const placed &)            = delete;
    placed &operator=(const placed &) = delete;
};

template <typename Op> void cpu_kernel(void *arg)
{
    run_trial<Op>(*static_cast<const trial *>(arg));
}

template <typename Op>
bool machine_run(const job &j, trial t, std::vector<unsigned char> *out)
{
    placed      in(j.in, j.in_shift);
    placed      in2(j.in2, j.in2_shift);
    placed      result(j.out, j.out_shift);
    simt_launch launch = {};
    simt_result end;
    uint32_t    wrong = 0;

    t.in      = in.ptr;
    t.in2     = in2.ptr;
    t.out     = result.ptr + ((Op::writes == OUT) ? GUARD : 0);
    t.indices = j.indices.data();
    t.wrong   = &wrong;
    launch.block[0]      = j.threads;
    launch.dynamic_bytes = j.dynamic_bytes;
    launch.seed          = j.seed;
    /* one thread as far as it gets, or switches all over: what a missing barrier leaves undone
     * differs */
    launch.switch_period = (j.seed % 2 == 0) ? 0 : 7;
    if (simt_run(&launch, cpu_kernel<Op>, &t, &end) != SHPOOL_OK) {
        report(end.text);
        return false;
    }
    out->assign(result.ptr, result.ptr + j.out.size());
    return wrong == 0;
}

unsigned reported;

/* The first few; the test fails in any case. */
void report(const std::string &what)
{
    if (reported++ < 6) {
        print_message("%s\n", what.c_str());
    }
}

unsigned rounds(unsigned few)
{
    return (getenv("LIBSHPOOL_TEST_LONG") != nullptr) ? 20 * few : few;
}

} // namespace

#endif /* SHPOOL_TESTS_LOADSTORE_CPU_H */
