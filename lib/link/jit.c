/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libnvJitLink, loaded when it is needed.
 *
 * Its functions' names contain the version of the header that a program was compiled with
 * (__nvJitLinkCreate_13_0).  The header is not used here, so this file queries the library's
 * version, and then tries the names of that version and of earlier ones.
 */
#include "jit.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef struct candidate {
    unsigned major; /* 0: any */
    const char *name;
} candidate;

static const candidate candidates[] = {
    { 13, "libnvJitLink.so.13" },
    { 12, "libnvJitLink.so.12" },
    { 0,  "libnvJitLink.so" },
    { 13, "/usr/local/cuda/lib64/libnvJitLink.so.13" },
    { 12, "/usr/local/cuda/lib64/libnvJitLink.so.12" },
    { 0,  "/usr/local/cuda/lib64/libnvJitLink.so" },
};

#define CANDIDATES SHPOOL_ARRAY_COUNT(candidates)

/* suffix: "" or "_13_0". */
static int set_function(void *function_p, void *image, const char *base, const char *suffix)
{
    char name[64];

    snprintf(name, sizeof(name), "%s%s%s", (suffix[0] != '\0') ? "__" : "", base, suffix);
    return shpool_symbol_set(function_p, image, name);
}

static int bind_names(shpool_jit *jit, void *image, const char *suffix)
{
    return set_function(&jit->create, image, "nvJitLinkCreate", suffix) &&
           set_function(&jit->destroy, image, "nvJitLinkDestroy", suffix) &&
           set_function(&jit->add_data, image, "nvJitLinkAddData", suffix) &&
           set_function(&jit->complete, image, "nvJitLinkComplete", suffix) &&
           set_function(&jit->cubin_size, image, "nvJitLinkGetLinkedCubinSize", suffix) &&
           set_function(&jit->cubin, image, "nvJitLinkGetLinkedCubin", suffix) &&
           set_function(&jit->log_size, image, "nvJitLinkGetErrorLogSize", suffix) &&
           set_function(&jit->log, image, "nvJitLinkGetErrorLog", suffix);
}

/* Record its file; otherwise it cannot be checked later whether the file is still the same. */
static void note_file(shpool_jit *jit, void *image)
{
    Dl_info info;

    if (dladdr(dlsym(image, "nvJitLinkVersion"), &info) != 0) {
        jit->path = info.dli_fname;
        jit->base = info.dli_fbase;
    }
}

/* 0: functions are missing, which those of 12.3 and later have. */
static int bind_library(shpool_jit *jit, void *image)
{
    int (*get_version)(unsigned *major, unsigned *minor) = NULL;
    unsigned major = 0;
    unsigned minor = 0;
    char suffix[32];

    if (!shpool_symbol_set(&get_version, image, "nvJitLinkVersion") ||
        (get_version(&major, &minor) != SHPOOL_JIT_SUCCESS) || (minor > 99)) {
        return 0;
    }
    jit->cuda = major * 1000 + minor * 10;
    note_file(jit, image);
    for (unsigned i = minor + 1; i-- > 0;) {
        snprintf(suffix, sizeof(suffix), "_%u_%u", major, i);
        if (bind_names(jit, image, suffix)) {
            return 1;
        }
    }
    return bind_names(jit, image, "");
}

/* 1: *jit_p is ready.  Adds the candidate to the text. */
static int try_candidate(const candidate *one, shpool_text *tried, shpool_jit *jit_p)
{
    /* RTLD_NODELETE: it stays for the next link, and nothing here has to remember it */
    void *image = dlopen(one->name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    int bound = 0;

    memset(jit_p, 0, sizeof(*jit_p));
    if (image != NULL) {
        bound = bind_library(jit_p, image);
        dlclose(image);
    }
    if (!bound) {
        memset(jit_p, 0, sizeof(*jit_p));
        shpool_text_add(tried, "%s%s%s", (tried->used > 0) ? ", " : "", one->name,
                        (image != NULL) ? " (older than 12.3)" : "");
        return 0;
    }
    jit_p->name = one->name;
    return 1;
}

int shpool_jit_find(uint32_t major, shpool_jit *jit_p, shpool_text *tried)
{
    shpool_jit other = { .name = NULL }; /* the first one with a major version other than
                                            requested */

    for (int wanted = 1; wanted >= 0; wanted--) {
        for (size_t i = 0; i < CANDIDATES; i++) {
            if (((candidates[i].major == major) != wanted) ||
                !try_candidate(&candidates[i], tried, jit_p)) {
                continue;
            }
            if ((major == 0) || (jit_p->cuda / 1000 == major)) {
                return 1;
            }
            other = (other.name == NULL) ? *jit_p : other;
        }
    }
    *jit_p = other;
    return other.name != NULL; /* the caller reports the mismatch */
}

shpool_status shpool_jit_load(uint32_t major, shpool_jit *jit_p)
{
    char tried[SHPOOL_ERROR_BYTES / 2];
    shpool_text text = shpool_text_make(tried, sizeof(tried));

    if (shpool_jit_find(major, jit_p, &text)) {
        return SHPOOL_OK;
    }
    return shpool_error(SHPOOL_ERR_UNSUPPORTED, "no libnvJitLink was found; tried %s: install "
                        "CUDA 12.3 or newer, or put its lib64 folder on LD_LIBRARY_PATH; kernels "
                        "that use the function table need none", tried);
}
