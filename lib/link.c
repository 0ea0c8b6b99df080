/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Run-time linking of LTO-IR through libnvJitLink, which is loaded when it is needed.
 *
 * Its functions carry the version of the header that a program was compiled with in their names
 * (__nvJitLinkCreate_13_0); the header is not used here, so every version is tried, the newest
 * first.
 */
#include "internal.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* From nvJitLink.h, as far as they are needed; the values have not changed since 12.0. */
typedef struct nvJitLink *jit_handle;
#define JIT_SUCCESS   0
#define JIT_INPUT_ANY 10 /* the linker looks at the data; since 12.3 */

typedef struct jit_library {
    void *image;
    int (*create)(jit_handle *handle, uint32_t count, const char *const *options);
    int (*destroy)(jit_handle *handle);
    int (*add_data)(jit_handle handle, int type, const void *data, size_t bytes, const char *name);
    int (*complete)(jit_handle handle);
    int (*cubin_size)(jit_handle handle, size_t *bytes);
    int (*cubin)(jit_handle handle, void *cubin);
    int (*log_size)(jit_handle handle, size_t *bytes);
    int (*log)(jit_handle handle, char *log);
} jit_library;

static const char *const library_names[] = {
    "libnvJitLink.so.13",
    "libnvJitLink.so.12",
    "libnvJitLink.so",
    "/usr/local/cuda/lib64/libnvJitLink.so.13",
    "/usr/local/cuda/lib64/libnvJitLink.so.12",
    "/usr/local/cuda/lib64/libnvJitLink.so",
};

/* version is major * 100 + minor, or 0 for the names without one. */
static int set_function(void *function_p, void *image, const char *base, unsigned version)
{
    char name[64];

    if (version == 0) {
        return shpool_symbol_set(function_p, image, base);
    }
    snprintf(name, sizeof(name), "__%s_%u_%u", base, version / 100, version % 100);
    return shpool_symbol_set(function_p, image, name);
}

static int bind_version(jit_library *jit, unsigned version)
{
    return set_function(&jit->create, jit->image, "nvJitLinkCreate", version) &&
           set_function(&jit->destroy, jit->image, "nvJitLinkDestroy", version) &&
           set_function(&jit->add_data, jit->image, "nvJitLinkAddData", version) &&
           set_function(&jit->complete, jit->image, "nvJitLinkComplete", version) &&
           set_function(&jit->cubin_size, jit->image, "nvJitLinkGetLinkedCubinSize", version) &&
           set_function(&jit->cubin, jit->image, "nvJitLinkGetLinkedCubin", version) &&
           set_function(&jit->log_size, jit->image, "nvJitLinkGetErrorLogSize", version) &&
           set_function(&jit->log, jit->image, "nvJitLinkGetErrorLog", version);
}

static int bind_library(jit_library *jit)
{
    for (unsigned major = 13; major >= 12; major--) {
        for (unsigned minor = 10; minor-- > 0;) {
            if (bind_version(jit, major * 100 + minor)) {
                return 1;
            }
        }
    }
    return bind_version(jit, 0);
}

/* On failure *jit_p is zeroed. */
static shpool_status load_library(jit_library *jit_p)
{
    char tried[SHPOOL_ERROR_BYTES / 2];
    shpool_text text = shpool_text_make(tried, sizeof(tried));

    memset(jit_p, 0, sizeof(*jit_p));
    for (size_t i = 0; i < SHPOOL_ARRAY_COUNT(library_names); i++) {
        /* RTLD_NODELETE: it stays for the next link, and nothing here has to remember it */
        jit_p->image = dlopen(library_names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        if (jit_p->image != NULL) {
            if (bind_library(jit_p)) {
                return SHPOOL_OK;
            }
            dlclose(jit_p->image);
        }
        shpool_text_add(&text, "%s%s%s", (i > 0) ? ", " : "", library_names[i],
                        (jit_p->image != NULL) ? " (lacks functions)" : "");
        memset(jit_p, 0, sizeof(*jit_p));
    }
    return shpool_error(SHPOOL_ERR_UNSUPPORTED, "no libnvJitLink was found; tried %s: install "
                        "CUDA 12.3 or newer, or put its lib64 folder on LD_LIBRARY_PATH", tried);
}

/* The linker's own words are the detail, the step that failed stands in front. */
static shpool_status link_failed(const jit_library *jit, jit_handle handle, const char *step,
                                 int result)
{
    char *log = NULL;
    size_t bytes = 0;
    shpool_status status;

    if ((jit->log_size(handle, &bytes) == JIT_SUCCESS) && (bytes > 0)) {
        log = calloc(1, bytes + 1);
        if ((log != NULL) && (jit->log(handle, log) != JIT_SUCCESS)) {
            log[0] = '\0';
        }
        for (bytes = (log != NULL) ? strlen(log) : 0; (bytes > 0) && (log[bytes - 1] == '\n');) {
            log[--bytes] = '\0';
        }
    }
    status = shpool_error(SHPOOL_ERR_LINK, "nvJitLink failed at %s with result %d: %s", step,
                          result, ((log != NULL) && (log[0] != '\0')) ? log : "its log is empty");
    free(log);
    return status;
}

static shpool_status take_cubin(const jit_library *jit, jit_handle handle, void **cubin_p,
                                size_t *bytes_p)
{
    size_t bytes = 0;
    void *cubin;
    int result = jit->cubin_size(handle, &bytes);

    if (result != JIT_SUCCESS) {
        return link_failed(jit, handle, "the cubin's size", result);
    }
    cubin = malloc((bytes > 0) ? bytes : 1);
    if (cubin == NULL) {
        return shpool_error(SHPOOL_ERR_NO_MEMORY, "no host memory for a cubin of %zu bytes",
                            bytes);
    }
    result = jit->cubin(handle, cubin);
    if (result != JIT_SUCCESS) {
        free(cubin);
        return link_failed(jit, handle, "the cubin", result);
    }

    *cubin_p = cubin;
    *bytes_p = bytes;
    return SHPOOL_OK;
}

static shpool_status link_inputs(const jit_library *jit, jit_handle handle, const void *kernel,
                                 size_t kernel_bytes, const shpool_allocator *allocator)
{
    int result = jit->add_data(handle, JIT_INPUT_ANY, kernel, kernel_bytes, "kernel");

    if (result != JIT_SUCCESS) {
        return link_failed(jit, handle, "the kernel (it must be LTO-IR, a fat binary or an object)",
                           result);
    }
    result = jit->add_data(handle, JIT_INPUT_ANY, allocator->lto_ir->data, allocator->lto_ir->bytes,
                           allocator->name);
    if (result != JIT_SUCCESS) {
        return link_failed(jit, handle, "the allocator's LTO-IR", result);
    }
    result = jit->complete(handle);
    if (result != JIT_SUCCESS) {
        return link_failed(jit, handle, "joining the two", result);
    }
    return SHPOOL_OK;
}

static shpool_status check_arguments(const void *kernel, size_t kernel_bytes, const char *name,
                                     uint32_t arch)
{
    if ((kernel == NULL) || (kernel_bytes == 0)) {
        return shpool_error(SHPOOL_ERR_INVALID, "the kernel is NULL or has no bytes, its LTO-IR is "
                            "needed");
    }
    if (name == NULL) {
        return shpool_error(SHPOOL_ERR_INVALID, "allocator is NULL, a registered name is needed");
    }
    if ((arch < 75) || (arch > 999)) {
        return shpool_error(SHPOOL_ERR_INVALID, "arch is %u, give the compute capability times 10, "
                            "from 75 on: 90 for sm_90", arch);
    }
    return SHPOOL_OK;
}

static shpool_status link_with(const jit_library *jit, const void *kernel, size_t kernel_bytes,
                               const shpool_allocator *allocator, uint32_t arch, void **cubin_p,
                               size_t *bytes_p)
{
    char arch_option[24];
    const char *const options[] = { arch_option, "-lto" };
    jit_handle handle = NULL;
    shpool_status status;
    int result;

    snprintf(arch_option, sizeof(arch_option), "-arch=sm_%u", arch);
    result = jit->create(&handle, SHPOOL_ARRAY_COUNT(options), options);
    if (result != JIT_SUCCESS) {
        /* it made no handle that could be asked for a log */
        return shpool_error(SHPOOL_ERR_LINK, "nvJitLink refused the options %s %s with result %d: "
                            "is sm_%u known to the CUDA version that is installed?", options[0],
                            options[1], result, arch);
    }

    status = link_inputs(jit, handle, kernel, kernel_bytes, allocator);
    if (status == SHPOOL_OK) {
        status = take_cubin(jit, handle, cubin_p, bytes_p);
    }
    jit->destroy(&handle);
    return status;
}

shpool_status shpool_link(const void *kernel, size_t kernel_bytes, const char *allocator,
                          uint32_t arch, void **cubin_p, size_t *bytes_p)
{
    const shpool_allocator *found;
    jit_library jit;
    shpool_status status;

    if (cubin_p != NULL) {
        *cubin_p = NULL;
    }
    if (bytes_p != NULL) {
        *bytes_p = 0;
    }
    if ((cubin_p == NULL) || (bytes_p == NULL)) {
        return shpool_error(SHPOOL_ERR_INVALID, "cubin_p or bytes_p is NULL");
    }

    status = check_arguments(kernel, kernel_bytes, allocator, arch);
    if (status == SHPOOL_OK) {
        status = shpool_registry_find(NULL, allocator, &found);
    }
    if (status != SHPOOL_OK) {
        return status;
    }
    if ((found->lto_ir == NULL) || (found->lto_ir->bytes == 0)) {
        return shpool_error(SHPOOL_ERR_UNSUPPORTED, "\"%s\" has no LTO-IR: this build was made "
                            "without nvcc, or the allocator cannot be linked at run time",
                            found->name);
    }

    status = load_library(&jit);
    if (status != SHPOOL_OK) {
        return status;
    }
    status = link_with(&jit, kernel, kernel_bytes, found, arch, cubin_p, bytes_p);
    dlclose(jit.image);
    return status;
}
