/* SPDX-License-Identifier: BSD-3-Clause */
/* Pools of other scopes in launches with clusters: a neighbour's memory is foreign to them. */
#include "cluster_trial.h"

static void block_kernel(void *arg)
{
    static void *theirs[BLOCKS];
    shpool_heap  heap = init_cluster();
    void        *ptr  = shpool_malloc(heap, 40);

    (void)arg;
    EXPECT((ptr != NULL) && simt_is_shared(ptr));
    if (simt_thread_rank() == 0) {
        theirs[simt_cluster_rank()] = ptr;
    }
    simt_cluster_barrier();
    EXPECT(shpool_free_at(heap, theirs[simt_cluster_rank() ^ 1u], 0) == SHPOOL_FREE_FOREIGN);
    EXPECT(shpool_usable_size(heap, theirs[simt_cluster_rank() ^ 1u]) == 0);
    EXPECT(shpool_realloc(heap, theirs[simt_cluster_rank() ^ 1u], 8) == NULL);
    simt_cluster_barrier();
    EXPECT(shpool_free_at(heap, ptr, 0) == SHPOOL_FREE_OK);
    shpool_fini(heap);
}

static void test_block_pools_are_what_they_were_in_clusters(void **state)
{
    (void)state;
    FOR_EACH_POOL(allocator) {
        for (int check = 0; (check < 2) && (allocator->scope != SHPOOL_SCOPE_CLUSTER); check++) {
            char spec[64];

            if ((check == 0) && ((allocator->caps & SHPOOL_CAP_REFUSES) == 0)) {
                continue;
            }
            (void)snprintf(spec, sizeof(spec), "%s%s", allocator->name, check ? ":check=1" : "");
            open_cluster_of(spec, 4, 3, 600);
            t.launch.grid[0] = 4;
            run_cluster(block_kernel);
        }
    }
}

/* What spills has no pool; but a neighbour's shared memory is not of CUDA's heap. */
static void native_kernel(void *arg)
{
    static void *theirs;
    shpool_heap  heap = init_cluster();

    (void)arg;
    if (simt_cluster_rank() == 1) {
        theirs = simt_from_shared(simt_dynamic_base() + 64u);
    }
    simt_cluster_barrier();
    if (simt_cluster_rank() == 0) {
        EXPECT(shpool_free_at(heap, theirs, 0) == SHPOOL_FREE_FOREIGN);
        EXPECT(shpool_usable_size(heap, theirs) == 0);
        EXPECT(shpool_realloc(heap, theirs, 8) == NULL);
    }
    simt_cluster_barrier();
    shpool_fini(heap);
}

static void test_the_native_heap_gets_no_shared_memory(void **state)
{
    const shpool_allocator *native;

    (void)state;
    if (shpool_allocator_find("native", &native) != SHPOOL_OK) {
        skip(); /* --enable-allocators left it out */
    }
    open_cluster_of("native", 2, 1, 400);
    t.launch.grid[0]       = 2;
    t.launch.dynamic_bytes = 256;
    run_cluster(native_kernel);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_block_pools_are_what_they_were_in_clusters),
        cmocka_unit_test(test_the_native_heap_gets_no_shared_memory),
    };

    if (argc > 1) { /* a pattern: tests/pools/planted.sh wants single tests */
        cmocka_set_test_filter(argv[1]);
    }
    unsetenv("SHPOOL_ALLOCATOR");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
