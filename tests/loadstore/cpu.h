/* SPDX-License-Identifier: BSD-3-Clause */
/* Trials of loadstore.cuh on the block executor. */
#ifndef SHPOOL_TESTS_LOADSTORE_CPU_H
#define SHPOOL_TESTS_LOADSTORE_CPU_H

#include "tests/test.h"

#include <sys/mman.h>
#include <unistd.h>

#include <shpool/executor.h>

#include "run.h"

namespace {

/* Memory that ends at an inaccessible page: reading past the end ends the test. */
struct walled {
    unsigned char *wall = nullptr;

    walled()
    {
        const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
        void *all = mmap(NULL, BYTES + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                         -1, 0);

        if ((all != MAP_FAILED) &&
            (mprotect(static_cast<unsigned char *>(all) + BYTES, page, PROT_NONE) == 0)) {
            wall = static_cast<unsigned char *>(all) + BYTES;
        }
    }
    /* As near to the wall as the address allows that is `shift` modulo 16. */
    unsigned char *place(const std::vector<unsigned char> &bytes, uint32_t shift)
    {
        unsigned char *at = wall - ((shift + bytes.size() + 15u) & ~size_t{15}) + shift;

        if (!bytes.empty()) {
            memcpy(at, bytes.data(), bytes.size());
        }
        return at;
    }

    static constexpr size_t BYTES = size_t{1} << 22;
};

walled walls[3];

template <typename Op> void cpu_kernel(void *arg)
{
    run_trial<Op>(*static_cast<const trial *>(arg));
}

template <typename Op>
bool machine_run(const job &j, trial t, std::vector<unsigned char> *out)
{
    unsigned char *out_at = walls[2].place(j.out, j.out_shift);
    simt_launch    launch = {};
    simt_result    end;
    uint32_t       wrong = 0;

    t.in      = walls[0].place(j.in, j.in_shift);
    t.in2     = walls[1].place(j.in2, j.in2_shift);
    t.out     = out_at + ((Op::writes == OUT) ? GUARD : 0);
    t.indices = j.indices.data();
    t.wrong   = &wrong;
    launch.block[0]      = j.threads;
    launch.dynamic_bytes = j.dynamic_bytes;
    launch.seed          = j.seed;
    /* run one thread as far as possible, or switch everywhere: a missing barrier has different
     * effects */
    launch.switch_period = (j.seed % 2 == 0) ? 0 : 7;
    if (simt_run(&launch, cpu_kernel<Op>, &t, &end) != SHPOOL_OK) {
        report(end.text);
        return false;
    }
    out->assign(out_at, out_at + j.out.size());
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
