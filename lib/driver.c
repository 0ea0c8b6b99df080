/* SPDX-License-Identifier: BSD-3-Clause */
/* The CUDA driver: libcuda.so.1 is loaded and initialised by the first caller that needs it. */
#include "driver.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

#include "mutex.h"

/* cuGetProcAddress(): functions take a stream of 0 for the legacy one */
#define LEGACY_STREAM 1ull

typedef cu_result (*get_proc_fn)(const char *name, void **function, int version,
                                 unsigned long long flags, int *found);

/* Process-wide, because a process has one driver. */
static struct {
    pthread_mutex_t lock;
    shpool_driver loaded;
    const shpool_driver *fake; /* a test's, or NULL */
} driver = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Release: `loaded` or `fake` is set and initialised.  Acquire: it is used. */
static atomic_int ready;

/* Threads that load the driver, or have loaded it.  A child may neither use it, nor finish the work
 * of a thread of its parent, nor wait for the lock.  fork() does not acquire that lock, because
 * cuInit() may fork. */
static atomic_int users;

/* Written by the child of a fork alone, before it has a second thread. */
atomic_int shpool_driver_lost;

/* ---- fork ---- */

static void in_child(void)
{
    if (atomic_load_explicit(&users, memory_order_relaxed) > 0) {
        atomic_store_explicit(&shpool_driver_lost, 1, memory_order_relaxed);
    }
}

static void watch_forks(void)
{
    (void)pthread_atfork(NULL, NULL, in_child);
}

/* ---- failures ---- */

shpool_status shpool_driver_failed(const shpool_driver *cu, const char *call, cu_result result)
{
    const char *text = NULL;
    shpool_status status = SHPOOL_ERR_CUDA;

    if ((cu->error_string(result, &text) != CU_SUCCESS) || (text == NULL)) {
        text = "unknown error";
    }
    if (result == CU_ERROR_OUT_OF_MEMORY) {
        status = SHPOOL_ERR_NO_MEMORY;
    } else if (result == CU_ERROR_NO_DEVICE) {
        status = SHPOOL_ERR_UNSUPPORTED;
    } else if (result == CU_ERROR_INVALID_DEVICE) {
        status = SHPOOL_ERR_NOT_FOUND;
    } else if ((result >= CU_ERROR_STREAM_CAPTURE_UNSUPPORTED) &&
               (result <= CU_ERROR_CAPTURED_EVENT)) {
        status = SHPOOL_ERR_CAPTURE;
    }
    return shpool_error(status, "%s of the CUDA driver failed with result %d: %s", call, result,
                        text);
}

/* ---- load ---- */

int shpool_symbol_set(void *function_p, void *image, const char *name)
{
    void *symbol = dlsym(image, name);

    memcpy(function_p, &symbol, sizeof(symbol));
    return symbol != NULL;
}

/* Fills one member; the driver's own lookup first, it knows versions that dlsym() does not. */
static int bind_one(void *member, void *image, get_proc_fn get, const char *name,
                    const char *symbol, int version)
{
    void *function = NULL;
    int found = 0;

    if ((get != NULL) && (get(name, &function, version, LEGACY_STREAM, &found) == CU_SUCCESS) &&
        (function != NULL)) {
        memcpy(member, &function, sizeof(function));
        return 1;
    }
    return shpool_symbol_set(member, image, symbol);
}

static shpool_status lacks(const char *symbol)
{
    return shpool_error(SHPOOL_ERR_UNSUPPORTED, "libcuda.so.1 lacks %s, which every driver since "
                        "CUDA 11 has: update the driver", symbol);
}

static shpool_status bind_all(shpool_driver *cu, void *image)
{
    get_proc_fn get = NULL;

    (void)shpool_symbol_set(&get, image, "cuGetProcAddress_v2");
#define BIND(_member, _name, _symbol, _version, _optional, _arguments)                             \
    if (!bind_one(&cu->_member, image, get, #_name, #_symbol, _version) && !(_optional)) {         \
        return lacks(#_symbol);                                                                    \
    }
    SHPOOL_DRIVER_CALLS(BIND)
#undef BIND
    return SHPOOL_OK;
}

static shpool_status load(shpool_driver *cu)
{
    /* never closed: the driver does not survive being unloaded */
    void *image = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    const char *reason;

    if (image == NULL) {
        reason = dlerror();
        return shpool_error(SHPOOL_ERR_UNSUPPORTED, SHPOOL_NO_DRIVER,
                            (reason != NULL) ? reason : "libcuda.so.1 does not load");
    }
    return bind_all(cu, image);
}

/* The caller holds the lock. */
static shpool_status prepare(void)
{
    const shpool_driver *cu = driver.fake;
    cu_result result;
    shpool_status status = SHPOOL_OK;

    if (cu == NULL) {
        status = load(&driver.loaded);
        cu = &driver.loaded;
    }
    if (status != SHPOOL_OK) {
        return status;
    }
    result = cu->init(0);
    if (result == CU_ERROR_NO_DEVICE) {
        return shpool_error(SHPOOL_ERR_UNSUPPORTED, SHPOOL_NO_DRIVER,
                            "cuInit found no device (100)");
    }
    if (result != CU_SUCCESS) {
        return shpool_driver_failed(cu, "cuInit", result);
    }
    atomic_store_explicit(&ready, 1, memory_order_release);
    return SHPOOL_OK;
}

/* The first of several concurrent threads prepares it; the others wait. */
static shpool_status prepare_once(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    shpool_status status = SHPOOL_OK;

    pthread_once(&once, watch_forks);
    atomic_fetch_add_explicit(&users, 1, memory_order_relaxed);
    shpool_mutex_lock(&driver.lock);
    if (!atomic_load_explicit(&ready, memory_order_relaxed)) {
        status = prepare();
    }
    shpool_mutex_unlock(&driver.lock);
    if (status != SHPOOL_OK) {
        atomic_fetch_sub_explicit(&users, 1, memory_order_relaxed);
    }
    return status;
}

shpool_status shpool_driver_get(const shpool_driver **cu_p)
{
    shpool_status status = SHPOOL_OK;

    *cu_p = NULL;
    if (shpool_driver_forked()) {
        return shpool_error(SHPOOL_ERR_CUDA, "this process was forked from one that used CUDA, and "
                            "cannot use it: fork before the first call, or exec");
    }
    if (!atomic_load_explicit(&ready, memory_order_acquire)) {
        status = prepare_once();
    }
    if (status == SHPOOL_OK) {
        *cu_p = (driver.fake != NULL) ? driver.fake : &driver.loaded;
    }
    return status;
}

void shpool_driver_replace(const shpool_driver *cu)
{
    atomic_store(&ready, 0);
    atomic_store(&users, 0);
    atomic_store(&shpool_driver_lost, 0);
    driver.fake = cu;
}
