/* SPDX-License-Identifier: BSD-3-Clause */
/* What the linker puts in the place of functions of the C library (--wrap, tests.mk): requests that
 * fail as faults.h says. */
#include "faults.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>

#define WRAPPED(_type, _name, _parameters, _before, _call, _failure)                               \
    _type __real_##_name _parameters;                                                              \
    _type __wrap_##_name _parameters;                                                              \
    _type __wrap_##_name _parameters                                                               \
    {                                                                                              \
        if (fault_refuses()) {                                                                     \
            return _failure;                                                                       \
        }                                                                                          \
        _before;                                                                                   \
        return _call;                                                                              \
    }

#define ALLOCATION(_type, _name, _parameters, _old, _arguments)                                    \
    WRAPPED(_type, _name, _parameters, fault_forget(_old), fault_note(__real_##_name _arguments),  \
            NULL)

ALLOCATION(void *, malloc, (size_t bytes), NULL, (bytes))
ALLOCATION(void *, calloc, (size_t count, size_t bytes), NULL, (count, bytes))
ALLOCATION(void *, realloc, (void *ptr, size_t bytes), ptr, (ptr, bytes))
ALLOCATION(void *, aligned_alloc, (size_t alignment, size_t bytes), NULL, (alignment, bytes))
ALLOCATION(char *, strdup, (const char *text), NULL, (text))
ALLOCATION(char *, strndup, (const char *text, size_t bytes), NULL, (text, bytes))
WRAPPED(FILE *, fdopen, (int file, const char *mode), , __real_fdopen(file, mode), NULL)
WRAPPED(DIR *, fdopendir, (int file), , __real_fdopendir(file), NULL)
WRAPPED(int, scandir, (const char *folder, struct dirent ***names_p,
                       int (*choose)(const struct dirent *),
                       int (*compare)(const struct dirent **, const struct dirent **)), ,
        __real_scandir(folder, names_p, choose, compare), -1)
WRAPPED(int, pthread_create, (pthread_t *thread, const pthread_attr_t *attributes,
                              void *(*body)(void *), void *arg), ,
        __real_pthread_create(thread, attributes, body, arg), EAGAIN)

char *__real_realpath(const char *path, char *to);
char *__wrap_realpath(const char *path, char *to);
char *__wrap_realpath(const char *path, char *to)
{
    char *resolved = fault_refuses() ? NULL : __real_realpath(path, to);

    return (to == NULL) ? fault_note(resolved) : resolved;
}

int __real_posix_memalign(void **ptr_p, size_t alignment, size_t bytes);
int __wrap_posix_memalign(void **ptr_p, size_t alignment, size_t bytes);
int __wrap_posix_memalign(void **ptr_p, size_t alignment, size_t bytes)
{
    const int error = fault_refuses() ? ENOMEM : __real_posix_memalign(ptr_p, alignment, bytes);

    if (error == 0) {
        (void)fault_note(*ptr_p);
    }
    return error;
}

void *__real_mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset);
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset);
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset)
{
    void *map = fault_refuses() ? MAP_FAILED
                                : __real_mmap(at, bytes, protection, flags, file, offset);

    return (((flags & MAP_FIXED) != 0) || (map == MAP_FAILED)) ? map : fault_note(map);
}

int __real_munmap(void *at, size_t bytes);
int __wrap_munmap(void *at, size_t bytes);
int __wrap_munmap(void *at, size_t bytes)
{
    fault_forget(at);
    return __real_munmap(at, bytes);
}

void __real_free(void *ptr);
void __wrap_free(void *ptr);
void __wrap_free(void *ptr)
{
    fault_forget(ptr);
    __real_free(ptr);
}
