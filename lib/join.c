/* SPDX-License-Identifier: BSD-3-Clause */
/* The nvJitLink part of run-time linking: links a kernel and an allocator's LTO-IR into a cubin. */
#include "jit.h"
#include "link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The detail is the failed step, then the linker's own log. */
static shpool_status link_failed(const shpool_jit *jit, shpool_jit_handle handle, const char *step,
                                 int result)
{
    char *log = NULL;
    size_t bytes = 0;
    shpool_status status;

    if ((jit->log_size(handle, &bytes) == SHPOOL_JIT_SUCCESS) && (bytes > 0)) {
        log = calloc(1, bytes + 1);
        if ((log != NULL) && (jit->log(handle, log) != SHPOOL_JIT_SUCCESS)) {
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

static shpool_status take_cubin(const shpool_jit *jit, shpool_jit_handle handle, void **cubin_p,
                                size_t *bytes_p)
{
    size_t bytes = 0;
    void *cubin;
    int result = jit->cubin_size(handle, &bytes);

    if (result != SHPOOL_JIT_SUCCESS) {
        return link_failed(jit, handle, "the cubin's size", result);
    }
    cubin = malloc((bytes > 0) ? bytes : 1);
    if (cubin == NULL) {
        return shpool_error(SHPOOL_ERR_NO_MEMORY, "no host memory for a cubin of %zu bytes",
                            bytes);
    }
    result = jit->cubin(handle, cubin);
    if (result != SHPOOL_JIT_SUCCESS) {
        free(cubin);
        return link_failed(jit, handle, "the cubin", result);
    }

    *cubin_p = cubin;
    *bytes_p = bytes;
    return SHPOOL_OK;
}

static shpool_status link_inputs(const shpool_jit *jit, shpool_jit_handle handle,
                                 const shpool_link_input *input)
{
    char step[128];
    int result;

    for (size_t i = 0; i < input->parts; i++) {
        const shpool_link_part *part = &input->part[i];

        result = jit->add_data(handle, SHPOOL_JIT_INPUT_ANY, part->data, part->bytes, part->name);
        if (result != SHPOOL_JIT_SUCCESS) {
            snprintf(step, sizeof(step), "the %s (it must be LTO-IR, a fat binary or an object, "
                     "with code for sm_%u)", part->name, input->arch);
            return link_failed(jit, handle, step, result);
        }
    }
    result = jit->complete(handle);
    if (result != SHPOOL_JIT_SUCCESS) {
        return link_failed(jit, handle, "joining them", result);
    }
    return SHPOOL_OK;
}

/*
 * Code for a different linker fails late, with a message that does not name the cause: nvJitLink
 * accepts code from CUDA of its own major version that is not newer than itself.
 */
static int takes(const shpool_jit *jit, uint32_t made)
{
    return (made == 0) || ((made / 1000 == jit->cuda / 1000) && (made <= jit->cuda));
}

shpool_linker shpool_join_linker(const shpool_link_input *input)
{
    const uint32_t made = input->cuda;
    char unread[1];
    shpool_text tried = shpool_text_make(unread, sizeof(unread));
    shpool_jit jit;

    return (shpool_jit_find(made / 1000, &jit, &tried) && takes(&jit, made))
               ? shpool_linker_of(&jit) : (shpool_linker){ .version = 0 };
}

static shpool_status check_stamp(const shpool_jit *jit, const shpool_link_input *input)
{
    const uint32_t made = input->cuda;

    if (takes(jit, made)) {
        return SHPOOL_OK;
    }
    return shpool_error(SHPOOL_ERR_UNSUPPORTED, "the device code of \"%s\" was made by CUDA "
                        "%u.%u, %s is of CUDA %u.%u and takes that of CUDA %u up to its own "
                        "version: put nvJitLink %u.%u or a later one of CUDA %u on "
                        "LD_LIBRARY_PATH, or build the allocator with that CUDA", input->name,
                        made / 1000, made % 1000 / 10,
                        jit->name, jit->cuda / 1000, jit->cuda % 1000 / 10, jit->cuda / 1000,
                        made / 1000, made % 1000 / 10, made / 1000);
}

shpool_status shpool_join(const shpool_link_input *input, void **cubin_p, size_t *bytes_p)
{
    char arch_option[24];
    const char *options[3] = { arch_option };
    uint32_t count = 1;
    shpool_jit_handle handle = NULL;
    shpool_jit jit;
    shpool_status status;
    int result;

    status = shpool_jit_load(input->cuda / 1000, &jit);
    if (status == SHPOOL_OK) {
        status = check_stamp(&jit, input);
    }
    if (status != SHPOOL_OK) {
        return status;
    }

    snprintf(arch_option, sizeof(arch_option), "-arch=sm_%u%s", input->arch, input->variant);
    if (input->lto) { /* without any LTO-IR it would fail */
        options[count++] = "-lto";
    }
    if (input->table) { /* kernels inherit the registers of the functions they call: as in
                           m4/nvcc.mk */
        options[count++] = "-maxrregcount=32";
    }
    result = jit.create(&handle, count, options);
    if (result != SHPOOL_JIT_SUCCESS) {
        /* there is no handle from which to get a log */
        return shpool_error(SHPOOL_ERR_LINK, "nvJitLink refused the options %s%s with result %d: "
                            "is sm_%u known to CUDA %u.%u?", options[0],
                            input->lto ? " -lto" : "", result, input->arch, jit.cuda / 1000,
                            jit.cuda % 1000 / 10);
    }

    status = link_inputs(&jit, handle, input);
    if (status == SHPOOL_OK) {
        status = take_cubin(&jit, handle, cubin_p, bytes_p);
    }
    jit.destroy(&handle);
    return status;
}
