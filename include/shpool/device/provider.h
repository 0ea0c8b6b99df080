/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/device/provider.h
 * Interface for third parties that add a device allocator or a layer to the registry.
 *
 * A provider is one const table of functions.  A base may get memory from any source; a layer gets
 * it from the next one in the spec, through the functions of device/allocator.h.  Versioning
 * follows the tables of SQLite's VFS and of Intel's UMF: `bytes` is the size of the table that its
 * author knew, and missing functions at its end count as NULL.
 */
#ifndef SHPOOL_DEVICE_PROVIDER_H
#define SHPOOL_DEVICE_PROVIDER_H

#include <shpool/device/share.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Version of shpool_device_provider; raised when a field changes its meaning. */
#define SHPOOL_DEVICE_ABI 1u

/** shpool_device_provider.flags */
enum {
    SHPOOL_DEVICE_LAYER       = 1u << 0, /**< uses the next one in the spec; without: a base */
    SHPOOL_DEVICE_THREAD_SAFE = 1u << 1, /**< without: the library locks around each call */
    SHPOOL_DEVICE_ORDERED     = 1u << 2, /**< stream-ordered; shown by `shpool-info` */
    SHPOOL_DEVICE_CAPTURE     = 1u << 3  /**< base: has pools for graphs */
};

/** One key=value of a spec. */
typedef struct shpool_device_option {
    const char *key;
    const char *value;
} shpool_device_option;

/** Arguments of create(). */
typedef struct shpool_device_setup {
    uint32_t bytes;                        /**< sizeof(shpool_device_setup) */
    int32_t  device;                       /**< ordinal, checked */
    uint32_t option_count;
    const shpool_device_option *options;   /**< options of this layer; keys are distinct */
    shpool_device_allocator *upstream;     /**< layer: the next one, valid until destroy() */
    shpool_device_allocator *allocator;    /**< the stack it will be part of; do not call it yet */
    const struct shpool_device_provider *provider; /**< the table that was registered */
    void *reserved[3];
} shpool_device_setup;

/**
 * A base or a layer.  Return values and outputs are those of the functions of the same name in
 * device/allocator.h; arguments have been checked, so that `bytes` is never 0 and `ptr` never NULL.
 * On failure, set a detail with shpool_error().
 */
typedef struct shpool_device_provider {
    uint32_t abi;         /**< SHPOOL_DEVICE_ABI */
    uint32_t bytes;       /**< sizeof(shpool_device_provider) */
    uint32_t flags;       /**< SHPOOL_DEVICE_* */
    uint32_t reserved32;  /**< 0 */
    const char *name;     /**< [a-z][a-z0-9_]*, under SHPOOL_NAME_BYTES */
    const char *summary;  /**< one line */
    const char *keys;     /**< its keys and their meaning, one line each; or NULL */

    /* required */
    shpool_status (*create)(const shpool_device_setup *setup, void **self_p);
    void          (*destroy)(void *self); /**< returns all memory; must not fail */
    shpool_status (*malloc)(void *self, size_t bytes, shpool_stream stream, void **ptr_p);
    shpool_status (*free)(void *self, void *ptr, shpool_stream stream);

    /* NULL in a layer: the next one is called; NULL in a base: the result in the comment */
    shpool_status (*record_stream)(void *self, void *ptr, shpool_stream user); /* unsupported */
    shpool_status (*base)(void *self, const void *ptr, void **base_p, size_t *bytes_p); /* same */
    shpool_status (*trim)(void *self, size_t keep_bytes);                       /* success */
    shpool_status (*set)(void *self, const char *key, const char *value);      /* not found */
    shpool_status (*stats)(void *self, shpool_device_stats *stats);            /* zeros */
    shpool_status (*reset_peak)(void *self);                                   /* success */
    shpool_status (*check)(void *self);                                        /* success */
    shpool_status (*walk)(void *self, shpool_device_walk_fn function, void *user); /* unsupported */
    shpool_status (*stream_retire)(void *self, shpool_stream stream);          /* success */
    shpool_status (*stream_stable)(void *self, shpool_stream stream);          /* success */
    shpool_status (*capture_begin)(void *self, uint64_t id_high, uint64_t id_low); /* unsupported */
    shpool_status (*capture_end)(void *self, uint64_t id_high, uint64_t id_low);
    shpool_status (*capture_release)(void *self, uint64_t id_high, uint64_t id_low);
    /* unsupported; *handle_p is empty, and must stay so on failure */
    shpool_status (*export_handle)(void *self, const void *ptr, shpool_device_handle *handle_p);
    void *reserved[5];    /**< NULL */
} shpool_device_provider;

/**
 * Register a provider for the rest of the process.
 * @param [in] provider  must stay valid and unchanged
 * @return SHPOOL_OK
 *   - SHPOOL_ERR_INVALID      a bad name, a missing function
 *   - SHPOOL_ERR_ABI          another SHPOOL_DEVICE_ABI
 *   - SHPOOL_ERR_UNSUPPORTED  the name is taken
 *   - SHPOOL_ERR_TOO_LARGE    the registry is full (32)
 */
SHPOOL_API shpool_status shpool_device_register(const shpool_device_provider *provider);

/** The object that a shared object exports as shpool_device_plugin. */
typedef struct shpool_device_plugin_info {
    uint32_t abi;         /**< SHPOOL_DEVICE_ABI */
    uint32_t count;       /**< number of providers, at least 1 */
    const shpool_device_provider *const *providers;
} shpool_device_plugin_info;

/**
 * Load a shared object and register its providers: all of them, or none.  It is never unloaded.
 * @param [in] path  as for dlopen()
 * @return as shpool_device_register(); SHPOOL_ERR_NOT_FOUND: it does not load, or exports no
 *         shpool_device_plugin
 */
SHPOOL_API shpool_status shpool_device_load(const char *path);

/** Provider `index`: built-in ones first, then in order of registration; NULL past the last one. */
SHPOOL_API const shpool_device_provider *shpool_device_provider_get(size_t index);

/** @return SHPOOL_OK; SHPOOL_ERR_INVALID: a NULL argument; SHPOOL_ERR_NOT_FOUND: the detail lists
 *  the known names */
SHPOOL_API shpool_status shpool_device_provider_find(const char *name,
                                                     const shpool_device_provider **provider_p);

#ifdef __cplusplus
}
#endif
#endif /* SHPOOL_DEVICE_PROVIDER_H */
