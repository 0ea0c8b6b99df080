/* SPDX-License-Identifier: BSD-3-Clause */
/* The nvJitLink part of run-time linking: links a kernel and an allocator's LTO-IR into a cubin. */
#include "fat.h"
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

/* Inputs that are cut off are refused: nvJitLink would read past their end.  *text_bytes_p: of
 * those that are text, each with a NUL. */
static shpool_status check_parts(const shpool_link_input *input, size_t *text_bytes_p)
{
    char reason[SHPOOL_ERROR_BYTES / 8];
    shpool_text why = shpool_text_make(reason, sizeof(reason));

    *text_bytes_p = 0;
    for (size_t i = 0; i < input->parts; i++) {
        const shpool_link_part *part = &input->part[i];

        if (!shpool_code_is_whole(part->data, part->bytes, &why)) {
            return shpool_error(SHPOOL_ERR_LINK, "the %s of %zu bytes cannot be linked: %s",
                                part->name, part->bytes, reason);
        }
        if (shpool_code_is_text(part->data, part->bytes)) {
            *text_bytes_p += part->bytes + 1;
        }
    }
    return SHPOOL_OK;
}

/* Add an input; text is copied to *text_p, for a NUL after it. */
static int add_part(const shpool_jit *jit, shpool_jit_handle handle, const shpool_link_part *part,
                    char **text_p)
{
    const void *data = part->data;

    if (shpool_code_is_text(data, part->bytes)) {
        memcpy(*text_p, data, part->bytes);
        data = *text_p;
        *text_p += part->bytes;
        *(*text_p)++ = '\0';
    }
    return jit->add_data(handle, SHPOOL_JIT_INPUT_ANY, data, part->bytes, part->name);
}

/* `text` has room for all inputs that are text, and stays until the handle is destroyed. */
static shpool_status link_inputs(const shpool_jit *jit, shpool_jit_handle handle,
                                 const shpool_link_input *input, char *text)
{
    char step[128];
    char arch[SHPOOL_ARCH_BYTES];
    int result;

    for (size_t i = 0; i < input->parts; i++) {
        result = add_part(jit, handle, &input->part[i], &text);
        if (result != SHPOOL_JIT_SUCCESS) {
            snprintf(step, sizeof(step), "the %s (it must be LTO-IR, a fat binary or an object, "
                     "with code for %s)", input->part[i].name,
                     shpool_arch_name(input->arch, arch));
            return link_failed(jit, handle, step, result);
        }
    }
    result = jit->complete(handle);
    if (result != SHPOOL_JIT_SUCCESS) {
        snprintf(step, sizeof(step), (input->arch >> 16 == 'f')
                 ? "joining them (if it ignores the f, as 13.0 does, sm_%ua may work)"
                 : "joining them", input->arch & SHPOOL_ARCH_NUMBER);
        return link_failed(jit, handle, step, result);
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

static shpool_status create(const shpool_jit *jit, const shpool_link_input *input,
                            shpool_jit_handle *handle_p)
{
    char arch[SHPOOL_ARCH_BYTES];
    char arch_option[24];
    const char *options[3] = { arch_option };
    uint32_t count = 1;
    int result;

    snprintf(arch_option, sizeof(arch_option), "-arch=%s", shpool_arch_name(input->arch, arch));
    if (input->lto) { /* without any LTO-IR it would fail */
        options[count++] = "-lto";
    }
    if (input->table) { /* kernels inherit the registers of the functions they call: as in
                           m4/nvcc.mk */
        options[count++] = "-maxrregcount=32";
    }
    result = jit->create(handle_p, count, options);
    if (result != SHPOOL_JIT_SUCCESS) {
        /* there is no handle from which to get a log */
        return shpool_error(SHPOOL_ERR_LINK, "nvJitLink refused the options %s%s with result %d: "
                            "CUDA %u.%u does not know %s; put the nvJitLink of a later CUDA %u "
                            "on LD_LIBRARY_PATH, or link for an older architecture", options[0],
                            input->lto ? " -lto" : "", result, jit->cuda / 1000,
                            jit->cuda % 1000 / 10, arch, jit->cuda / 1000);
    }
    return SHPOOL_OK;
}

shpool_status shpool_join(const shpool_link_input *input, void **cubin_p, size_t *bytes_p)
{
    shpool_jit_handle handle = NULL;
    shpool_jit jit;
    size_t text_bytes;
    char *text = NULL;
    shpool_status status = check_parts(input, &text_bytes);

    if (status == SHPOOL_OK) {
        status = shpool_jit_load(input->cuda / 1000, &jit);
    }
    if (status == SHPOOL_OK) {
        status = check_stamp(&jit, input);
    }
    if (status != SHPOOL_OK) {
        return status;
    }

    if (text_bytes > 0) {
        text = malloc(text_bytes);
        if (text == NULL) {
            return shpool_error(SHPOOL_ERR_NO_MEMORY, "no host memory for %zu bytes of PTX",
                                text_bytes);
        }
    }
    status = create(&jit, input, &handle);
    if (status == SHPOOL_OK) {
        status = link_inputs(&jit, handle, input, text);
        if (status == SHPOOL_OK) {
            status = take_cubin(&jit, handle, cubin_p, bytes_p);
        }
        jit.destroy(&handle);
    }
    free(text);
    return status;
}
