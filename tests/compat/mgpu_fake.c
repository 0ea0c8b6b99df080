/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit.h"

#include "tests/device/fake/driver.h"
#include "mgpu_fake.h"

int mgpu_fake_setup(void **state)
{
    (void)clear_environment(state);
    fake_start(2, (uint64_t)1 << 30);
    fake_set_current(0);
    return 0;
}

int mgpu_fake_teardown(void **state)
{
    if (fake_violations() != 0) {
        print_error("%s\n", fake_first_violation());
    }
    return fake_violations() != 0;
}
