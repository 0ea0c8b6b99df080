/* SPDX-License-Identifier: BSD-3-Clause */
/* The executor's headers as C++17: a kernel of the common subset, run and checked. */
#include <shpool/executor.h>

namespace {

struct sums {
    uint32_t total;
    uint32_t wrong;
};

void kernel(void *arg)
{
    sums     *out  = static_cast<sums *>(arg);
    simt_addr cell = simt_dynamic_base();
    uint32_t  mask = simt_ballot(SIMT_ALL_LANES, 1);

    if (simt_thread_rank() == 0) {
        simt_atomic_store(cell, 0, SIMT_RELAXED);
        simt_store64(cell + 8, 0);
    }
    simt_barrier();
    simt_atomic_add(cell, simt_thread_rank(), SIMT_RELAXED);
    simt_atomic_min(cell + 4, simt_thread_rank(), SIMT_ACQ_REL);
    simt_atomic_cas64(cell + 8, 0, 1, SIMT_RELEASE);
    simt_barrier();
    if ((mask != SIMT_ALL_LANES) || (simt_load64(cell + 8) != 1) ||
        (simt_shfl(mask, simt_lane(), 5) != 5)) {
        simt_global_add32(&out->wrong, 1);
    }
    if (simt_thread_rank() == 0) {
        out->total = simt_load32(cell);
    }
}

} // namespace

int main()
{
    simt_launch launch = {};
    sums        out    = {};

    launch.block[0]      = 64;
    launch.dynamic_bytes = 64;
    launch.switch_period = 2;
    if (simt_run(&launch, kernel, &out, nullptr) != SHPOOL_OK) {
        return 1;
    }
    return ((out.total == 64 * 63 / 2) && (out.wrong == 0)) ? 0 : 1;
}
