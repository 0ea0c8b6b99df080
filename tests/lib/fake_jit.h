/* SPDX-License-Identifier: BSD-3-Clause */
/* A linker in the place of lib/link/jit.c, so that run-time linking is tested anywhere: its "cubin"
 * is the text of its inputs.  It has state, so only one test at a time may use it. */
#ifndef SHPOOL_TESTS_FAKE_JIT_H
#define SHPOOL_TESTS_FAKE_JIT_H

#include "tests/unit.h"

#include <pthread.h>
#include <unistd.h>

#include "lib/link/jit.h"

#define FAKE_CUBIN_BYTES 4096u

/* The state of the fake, which a test sets. */
static struct {
    pthread_mutex_t lock;
    uint32_t cuda;      /* 0: no nvJitLink on this machine */
    const char *path;   /* of its file, NULL: not known */
    const void *base;   /* its first bytes in memory */
    unsigned finds;     /* calls of shpool_jit_find(), which loads the genuine one */
    unsigned loads;     /* calls of shpool_jit_load() */
    unsigned links;     /* finished ones */
    uint32_t major;     /* version that the latest load requested */
    const void *cubin;  /* result in place of the text, if not NULL */
    size_t cubin_bytes;
    char given[FAKE_CUBIN_BYTES]; /* of the latest link that had a cubin: the text, as a string */
    unsigned pause_us;  /* that joining takes */
    const char *words;  /* its log */
    const char *broken; /* the step that fails: "create", "add", "complete", "size" or "cubin" */
} fake = { .words = "the fake linker's words\n", .lock = PTHREAD_MUTEX_INITIALIZER };

struct nvJitLink {
    char text[FAKE_CUBIN_BYTES];
    size_t used;
};

static int fake_breaks(const char *step)
{
    return (fake.broken != NULL) && (strcmp(fake.broken, step) == 0);
}

static void fake_add(shpool_jit_handle handle, const void *data, size_t bytes)
{
    assert_true(handle->used + bytes <= sizeof(handle->text));
    memcpy(handle->text + handle->used, data, bytes);
    handle->used += bytes;
}

static int fake_create(shpool_jit_handle *handle, uint32_t count, const char *const *options)
{
    if (fake_breaks("create")) {
        return 4;
    }
    *handle = calloc(1, sizeof(**handle));
    if (*handle == NULL) {
        return 4;
    }
    for (uint32_t i = 0; i < count; i++) {
        fake_add(*handle, options[i], strlen(options[i]));
        fake_add(*handle, " ", 1);
    }
    return SHPOOL_JIT_SUCCESS;
}

static int fake_destroy(shpool_jit_handle *handle)
{
    free(*handle);
    *handle = NULL;
    return SHPOOL_JIT_SUCCESS;
}

static int fake_add_data(shpool_jit_handle handle, int type, const void *data, size_t bytes,
                         const char *name)
{
    assert_int_equal(type, SHPOOL_JIT_INPUT_ANY);
    assert_non_null(name);
    if (fake_breaks("add")) {
        return 5;
    }
    if ((*(const char *)data >= 'a') && (*(const char *)data <= 'z')) { /* searched up to a NUL */
        assert_int_equal(((const char *)data)[bytes], '\0');
    }
    /* the library's own are there only in builds with CUDA */
    if ((strcmp(name, "spill") != 0) && (strcmp(name, "calls") != 0)) {
        fake_add(handle, data, bytes);
        fake_add(handle, ";", 1);
    }
    return SHPOOL_JIT_SUCCESS;
}

static int fake_complete(shpool_jit_handle handle)
{
    (void)handle;
    if (fake_breaks("complete")) {
        return 6;
    }
    usleep(fake.pause_us);
    pthread_mutex_lock(&fake.lock);
    fake.links++;
    pthread_mutex_unlock(&fake.lock);
    return SHPOOL_JIT_SUCCESS;
}

static int fake_cubin_size(shpool_jit_handle handle, size_t *bytes)
{
    *bytes = (fake.cubin != NULL) ? fake.cubin_bytes : handle->used;
    return fake_breaks("size") ? 7 : SHPOOL_JIT_SUCCESS;
}

static int fake_cubin(shpool_jit_handle handle, void *cubin)
{
    memcpy(cubin, (fake.cubin != NULL) ? fake.cubin : handle->text,
           (fake.cubin != NULL) ? fake.cubin_bytes : handle->used);
    if (fake.cubin != NULL) { /* by one thread only */
        assert_true(handle->used < sizeof(fake.given));
        memcpy(fake.given, handle->text, handle->used);
        fake.given[handle->used] = '\0';
    }
    return fake_breaks("cubin") ? 8 : SHPOOL_JIT_SUCCESS;
}

static int fake_log_size(shpool_jit_handle handle, size_t *bytes)
{
    (void)handle;
    *bytes = strlen(fake.words) + 1;
    return SHPOOL_JIT_SUCCESS;
}

static int fake_log(shpool_jit_handle handle, char *log)
{
    (void)handle;
    memcpy(log, fake.words, strlen(fake.words) + 1);
    return SHPOOL_JIT_SUCCESS;
}

int shpool_jit_find(uint32_t major, shpool_jit *jit_p, shpool_text *tried)
{
    (void)major;
    (void)tried;
    memset(jit_p, 0, sizeof(*jit_p));
    pthread_mutex_lock(&fake.lock);
    fake.finds++;
    pthread_mutex_unlock(&fake.lock);
    if (fake.cuda == 0) {
        return 0;
    }
    *jit_p = (shpool_jit){
        .name = "libfake.so", .path = fake.path, .base = fake.base, .cuda = fake.cuda,
        .create = fake_create, .destroy = fake_destroy,
        .add_data = fake_add_data, .complete = fake_complete, .cubin_size = fake_cubin_size,
        .cubin = fake_cubin, .log_size = fake_log_size, .log = fake_log,
    };
    return 1;
}

shpool_status shpool_jit_load(uint32_t major, shpool_jit *jit_p)
{
    shpool_text tried = { .start = NULL }; /* the fake lists nothing */

    pthread_mutex_lock(&fake.lock);
    fake.loads++;
    fake.major = major;
    pthread_mutex_unlock(&fake.lock);
    return shpool_jit_find(major, jit_p, &tried)
               ? SHPOOL_OK
               : shpool_error(SHPOOL_ERR_UNSUPPORTED, "no libnvJitLink, says the fake");
}

static inline void fake_jit_reset(uint32_t cuda)
{
    memset(&fake, 0, sizeof(fake));
    (void)pthread_mutex_init(&fake.lock, NULL);
    fake.words = "the fake linker's words\n";
    fake.cuda = cuda;
}

/* An allocator with this LTO-IR, or NULL, is registered under the name. */
static inline int fake_register(shpool_allocator *allocator, const char *name,
                                const shpool_blob *blob)
{
    *allocator = fake_allocator(name, SHPOOL_SCOPE_BLOCK, 0);
    allocator->lto_ir = blob;
    return -(shpool_register(allocator) != SHPOOL_OK);
}

#endif /* SHPOOL_TESTS_FAKE_JIT_H */
