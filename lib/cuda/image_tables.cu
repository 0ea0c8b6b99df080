/* SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h> /* first: its functions must not be hidden */
#pragma GCC visibility push(hidden) /* unpopped: the registration symbols too, see image.cu */

/* Device tables, copied to the host.  A table holds addresses of code, which are the same for as
 * long as the context lives; so each is copied once, and every further shpool_open() makes no
 * stream, no copy and does not wait for the device. */
#include <cudaTypedefs.h>
#include <cuda_runtime.h>
#include <stdlib.h>

#include <shpool/impl/cuda_status.h>
#include <shpool/impl/image.h>

namespace {

/* A table that was read.  The list only grows: by one for each address and device. */
struct known {
    known              *next;
    const shpool_table *address;
    int                 device;
    unsigned long long  context; /* its id: no other context of the process ever gets it */
    shpool_table        table;
};

struct known_list {
    pthread_mutex_t lock;
    known          *first;
};

known_list tables = {PTHREAD_MUTEX_INITIALIZER, NULL};

/* As unload_all() of lib/cuda/image_join.cu. */
__attribute__((destructor)) void forget_all(void)
{
    known *one;

    if (pthread_mutex_trylock(&tables.lock) != 0) {
        return;
    }
    one          = tables.first;
    tables.first = NULL;
    (void)pthread_mutex_unlock(&tables.lock);
    while (one != NULL) {
        known *next = one->next;

        free(one);
        one = next;
    }
}

/* Id of the current context; 0: unknown, and nothing is cached.  A device's number would not
 * suffice, because cudaDeviceReset() creates a new context for the device, with its code
 * elsewhere. */
unsigned long long context_id(void)
{
    unsigned long long id = 0;
#if CUDART_VERSION >= 12050
    void                            *function = NULL;
    cudaDriverEntryPointQueryResult  result   = cudaDriverEntryPointSymbolNotFound;

    if ((cudaGetDriverEntryPointByVersion("cuCtxGetId", &function, 12000, cudaEnableDefault,
                                          &result) != cudaSuccess) ||
        (result != cudaDriverEntryPointSuccess) ||
        (reinterpret_cast<PFN_cuCtxGetId_v12000>(function)(NULL, &id) != CUDA_SUCCESS)) {
        (void)cudaGetLastError();
        return 0;
    }
#endif
    return id;
}

/* On a new stream: the legacy stream would wait for, and disturb, the application's work. */
shpool_status copy_table(const shpool_table *address, shpool_table *table_p)
{
    cudaStream_t stream = NULL;
    cudaError_t  error  = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);

    if (error != cudaSuccess) {
        return shpool_cuda_status(error, "cudaStreamCreate (function table)");
    }
    error = cudaMemcpyAsync(table_p, address, sizeof(*table_p), cudaMemcpyDeviceToHost, stream);
    if (error == cudaSuccess) {
        error = cudaStreamSynchronize(stream);
    }
    (void)cudaStreamDestroy(stream);
    return shpool_cuda_status(error, "copy of the function table");
}

/* The caller holds the lock. */
known *find(const shpool_table *address, int device)
{
    for (known *one = tables.first; one != NULL; one = one->next) {
        if ((one->address == address) && (one->device == device)) {
            return one;
        }
    }
    return NULL;
}

bool get(const known *want, shpool_table *table_p)
{
    bool   hit = false;
    known *one;

    (void)pthread_mutex_lock(&tables.lock);
    one = find(want->address, want->device);
    if ((one != NULL) && (one->context == want->context)) {
        *table_p = one->table;
        hit      = true;
    }
    (void)pthread_mutex_unlock(&tables.lock);
    return hit;
}

/* Without host memory the table is read again next time. */
void keep(const known *read)
{
    known *one;

    (void)pthread_mutex_lock(&tables.lock);
    one = find(read->address, read->device);
    if (one == NULL) {
        one = static_cast<known *>(malloc(sizeof(*one)));
        if (one != NULL) {
            *one         = *read;
            one->next    = tables.first;
            tables.first = one;
        }
    } else {
        one->context = read->context;
        one->table   = read->table;
    }
    (void)pthread_mutex_unlock(&tables.lock);
}

} /* namespace */

extern "C" shpool_status shpool_image_table(const shpool_table *address, shpool_table *table_p)
{
    known         want   = {};
    shpool_status status = shpool_cuda_status(cudaGetDevice(&want.device), "cudaGetDevice");

    want.address = address;
    want.context = context_id();
    if ((status != SHPOOL_OK) || ((want.context != 0) && get(&want, table_p))) {
        return status;
    }
    status = copy_table(address, &want.table);
    if (status == SHPOOL_OK) {
        *table_p = want.table;
        if (want.context != 0) {
            keep(&want);
        }
    }
    return status;
}
