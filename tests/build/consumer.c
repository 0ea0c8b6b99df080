/* SPDX-License-Identifier: BSD-3-Clause */
/* A host-only program; installcheck.sh compiles it as a user would. */
#include <shpool/shpool.h>
#include <stdio.h>

int main(void)
{
    shpool_config want = { .block_threads = 256, .payload_bytes = 64 * 1024 };
    shpool_pool   pool;
    shpool_status status = shpool_plan(NULL, &want, &pool);

    if (status != SHPOOL_OK) {
        fprintf(stderr, "%s: %s\n", shpool_strerror(status), shpool_last_error());
        return 1;
    }
    printf("%u bytes for %u pools of %s\n", (unsigned)pool.shared_bytes, (unsigned)pool.pools,
           pool.name);
    return 0;
}
