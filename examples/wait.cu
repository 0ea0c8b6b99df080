/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A pipeline inside a block: producer lanes create messages of 16 to 160 bytes, consumer lanes add
 * them up; the memory between them is bounded.
 *
 *   nvcc -rdc=true wait.cu -o wait $(pkg-config --cflags --libs shpool)
 *
 * By ring: each pair has its own slot, as long as the longest message.  By pool: all pairs share
 * one pool, and a message allocates only its own length.  If the pool is full, a producer waits
 * until a consumer frees a message (shpool_malloc_wait).
 */
#include "machine.h"

#define BLOCKS   132u
#define THREADS  256u
#define PAIRS    (THREADS / 2u)
#define MESSAGES 500u
#define MOST     160u
#define ATTEMPTS 10000000u
#define GAVE_UP  1u /* in place of a message: the consumer must not wait for ever */

static __host__ __device__ unsigned hash_of(unsigned pair, unsigned n)
{
    return (pair * MESSAGES + n) * 2654435761u;
}
static __host__ __device__ unsigned words_of(unsigned hash)
{
    return ((hash >> 28 == 3u) ? MOST : 16u + (hash >> 16 & 63u)) / 4u;
}

/* Through its box, a producer passes an address to its consumer; 0: empty.  Wait until it is empty,
 * or until it is not; returns the address. */
static __device__ simt_addr look(simt_addr box, bool full, simt_order order)
{
    simt_addr message;

    while (((message = simt_atomic_load(box, order)) != 0) != full) { simt_pause(20); }
    return message;
}

template <bool Pool>
static __global__ void pass_messages(shpool_pool pool, unsigned *result)
{
    extern __shared__ __align__(16) unsigned char smem[];
    __shared__ unsigned boxes[PAIRS];
    shpool_heap     heap  = Pool ? shpool_init(&pool, smem) : shpool_heap{};
    const bool      gives = (threadIdx.x & 32u) == 0;
    const unsigned  pair  = (threadIdx.x >> 6) * 32u + (threadIdx.x & 31u);
    const simt_addr box   = simt_to_shared(&boxes[pair]);
    unsigned        sum   = 0;

    boxes[pair] = 0;
    __syncthreads();
    for (unsigned n = 0; n < MESSAGES; n++) {
        const unsigned hash    = hash_of(pair, n);
        simt_addr      message = simt_to_shared(smem + pair * MOST); /* by ring */

        if (gives) {
            if (Pool) {
                void *p = shpool_malloc_wait(heap, words_of(hash) * 4u, ATTEMPTS);

                message = (p != nullptr) ? simt_to_shared(p) : GAVE_UP;
            } else {
                (void)look(box, false, SIMT_ACQUIRE); /* pairs with the consumer's release */
            }
            for (unsigned i = 0; (message != GAVE_UP) && (i < words_of(hash)); i++) {
                simt_store32(message + 4u * i, hash + i);
            }
            if (Pool) { (void)look(box, false, SIMT_RELAXED); }
            simt_atomic_store(box, message, SIMT_RELEASE); /* pairs with the acquire below */
        } else {
            message = look(box, true, SIMT_ACQUIRE); /* pairs with the release above */
            if (Pool) { simt_atomic_store(box, 0, SIMT_RELAXED); } /* empty at once */
            for (unsigned i = 0; (message != GAVE_UP) && (i < words_of(hash)); i++) {
                sum += simt_load32(message + 4u * i);
            }
            if (!Pool) {
                simt_atomic_store(box, 0, SIMT_RELEASE); /* pairs with the producer's acquire */
            } else if (message != GAVE_UP) {
                shpool_free(heap, simt_from_shared(message));
            }
        }
    }
    if (!gives) { result[blockIdx.x * PAIRS + pair] = sum; }
    if (Pool) { shpool_fini(heap); }
}

int main()
{
    std::vector<unsigned> sum(BLOCKS * PAIRS);
    shpool_config         want = {};
    shpool_pool           pool = {};

    if (machine_name("wait") == nullptr) { return 77; }
    for (unsigned i = 0; i < BLOCKS * PAIRS; i++) { /* the same in all blocks */
        for (unsigned n = 0; n < MESSAGES; n++) {
            const unsigned hash = hash_of(i % PAIRS, n), words = words_of(hash);

            sum[i] += words * hash + words * (words - 1u) / 2u;
        }
    }
    machine_array<unsigned> result(BLOCKS * PAIRS);
    int failed = machine_run("by ring", PAIRS * MOST, result, sum, [&] {
        pass_messages<false><<<BLOCKS, THREADS, PAIRS * MOST>>>(pool, result);
    });

    want.block_threads = THREADS;
    want.payload_bytes = 12 * 1024;
    machine_need(shpool_open("bitmap", &want, &pool), "open");
    failed |= machine_run("by pool", pool.shared_bytes, result, sum, [&] {
        pass_messages<true><<<BLOCKS, THREADS, pool.shared_bytes>>>(pool, result);
    });
    machine_need(shpool_close(&pool), "close");
    return failed;
}
