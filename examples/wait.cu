/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A pipeline inside a block: producer lanes create messages of 16 to 160 bytes, consumer lanes add
 * them up; the memory between them is bounded.
 *
 *   nvcc -rdc=true wait.cu -o wait $(pkg-config --cflags --libs shpool)
 *
 * by_ring: each pair has its own slots, each as long as the longest message.
 * by_pool: all pairs share one pool, and a message allocates only its own length.  If the pool is
 * full, a producer waits until a consumer frees a message (shpool_malloc_wait).
 */
#include "machine.h"

#define BLOCKS   132u
#define THREADS  256u
#define PAIRS    (THREADS / 2u)
#define MESSAGES 500u
#define MOST     160u
#define ATTEMPTS 10000000u

static __host__ __device__ unsigned hash_of(unsigned pair, unsigned n)
{
    return (pair * MESSAGES + n) * 2654435761u;
}
static __host__ __device__ unsigned words_of(unsigned hash)
{
    return ((hash >> 28 == 3u) ? MOST : 16u + (hash >> 16 & 63u)) / 4u;
}

static __device__ void compose(simt_addr at, unsigned hash)
{
    for (unsigned i = 0; i < words_of(hash); i++) {
        simt_store32(at + 4u * i, hash + i);
    }
}
static __device__ unsigned add_up(simt_addr at, unsigned hash)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < words_of(hash); i++) {
        sum += simt_load32(at + 4u * i);
    }
    return sum;
}

/* Through its box, a producer passes an address to its consumer; 0: empty.  Wait until it is empty,
 * or until it is not; returns the address. */
static __device__ simt_addr look(simt_addr box, bool full, simt_order order)
{
    simt_addr message;

    while (((message = simt_atomic_load(box, order)) != 0) != full) {
        simt_pause(20);
    }
    return message;
}

static __device__ void leave(simt_addr box, simt_addr message)
{
    (void)look(box, false, SIMT_RELAXED);
    simt_atomic_store(box, message, SIMT_RELEASE); /* pairs with the acquire of the consumer */
}

/* ---- before: one slot a pair, and the box is full until the message is consumed ---- */

static __global__ void by_ring(unsigned *result)
{
    extern __shared__ __align__(16) unsigned char smem[];
    __shared__ unsigned boxes[PAIRS];
    const bool      gives = (threadIdx.x & 32u) == 0;
    const unsigned  pair  = (threadIdx.x >> 6) * 32u + (threadIdx.x & 31u);
    const simt_addr box   = simt_to_shared(&boxes[pair]);
    const simt_addr slot  = simt_to_shared(smem + pair * MOST);
    unsigned        sum   = 0;

    boxes[pair] = 0;
    __syncthreads();
    for (unsigned n = 0; n < MESSAGES; n++) {
        const unsigned hash = hash_of(pair, n);

        if (gives) {
            (void)look(box, false, SIMT_ACQUIRE); /* pairs with the release below */
            compose(slot, hash);
            simt_atomic_store(box, slot, SIMT_RELEASE); /* pairs with the acquire below */
        } else {
            (void)look(box, true, SIMT_ACQUIRE); /* pairs with the release above */
            sum += add_up(slot, hash);
            simt_atomic_store(box, 0, SIMT_RELEASE); /* pairs with the acquire above */
        }
    }
    if (!gives) {
        result[blockIdx.x * PAIRS + pair] = sum;
    }
}

/* ---- after: the box is empty as soon as the consumer has the address ---- */

static __global__ void by_pool(shpool_pool pool, unsigned *result)
{
    extern __shared__ __align__(16) unsigned char smem[];
    __shared__ unsigned boxes[PAIRS];
    shpool_heap     heap  = shpool_init(&pool, smem);
    const bool      gives = (threadIdx.x & 32u) == 0;
    const unsigned  pair  = (threadIdx.x >> 6) * 32u + (threadIdx.x & 31u);
    const simt_addr box   = simt_to_shared(&boxes[pair]);
    unsigned        sum   = 0;

    boxes[pair] = 0;
    __syncthreads();
    for (unsigned n = 0; n < MESSAGES; n++) {
        const unsigned hash = hash_of(pair, n);

        if (gives) {
            void *message = shpool_malloc_wait(heap, words_of(hash) * 4u, ATTEMPTS);

            if (message == nullptr) {
                leave(box, 1u); /* gave up: the consumer must not wait for ever */
                continue;
            }
            compose(simt_to_shared(message), hash);
            leave(box, simt_to_shared(message));
        } else {
            const simt_addr message = look(box, true, SIMT_ACQUIRE); /* pairs with leave */

            simt_atomic_store(box, 0, SIMT_RELAXED);
            if (message != 1u) {
                sum += add_up(message, hash);
                shpool_free(heap, simt_from_shared(message));
            }
        }
    }
    if (!gives) {
        result[blockIdx.x * PAIRS + pair] = sum;
    }
    shpool_fini(heap);
}

int main()
{
    std::vector<unsigned> sum(BLOCKS * PAIRS);
    shpool_config         want = {};
    shpool_pool           pool = {};

    if (machine_name("wait") == nullptr) {
        return 77;
    }
    for (unsigned i = 0; i < BLOCKS * PAIRS; i++) { /* the same in all blocks */
        for (unsigned n = 0; n < MESSAGES; n++) {
            for (unsigned w = 0; w < words_of(hash_of(i % PAIRS, n)); w++) {
                sum[i] += hash_of(i % PAIRS, n) + w;
            }
        }
    }
    machine_array<unsigned> result(BLOCKS * PAIRS);
    int failed = machine_run("by ring", PAIRS * MOST, result, sum,
                             [&] { by_ring<<<BLOCKS, THREADS, PAIRS * MOST>>>(result); });

    want.block_threads = THREADS;
    want.payload_bytes = 12 * 1024;
    machine_need(shpool_open("bitmap", &want, &pool), "open");
    failed |= machine_run("by pool", pool.shared_bytes, result, sum,
                          [&] { by_pool<<<BLOCKS, THREADS, pool.shared_bytes>>>(pool, result); });
    machine_need(shpool_close(&pool), "close");
    return failed;
}
