/* SPDX-License-Identifier: BSD-3-Clause */
/* A libnvJitLink.so.13 whose cubin is the text of its inputs, without memory of its own from
 * malloc().  For faults.sh. */
#include <string.h>

#define MOST 4096u

struct linker {
    char   text[MOST];
    size_t used;
};

static struct linker only;

int nvJitLinkVersion(unsigned *major, unsigned *minor)
{
    *major = 13;
    *minor = 0;
    return 0;
}

static void add(const void *data, size_t bytes)
{
    bytes = (bytes < MOST - only.used) ? bytes : MOST - only.used;
    memcpy(only.text + only.used, data, bytes);
    only.used += bytes;
}

int __nvJitLinkCreate_13_0(struct linker **linker_p, unsigned count, const char **options)
{
    only.used = 0;
    for (unsigned i = 0; i < count; i++) {
        add(options[i], strlen(options[i]));
    }
    *linker_p = &only;
    return 0;
}

int __nvJitLinkDestroy_13_0(struct linker **linker_p)
{
    *linker_p = NULL;
    return 0;
}

int __nvJitLinkAddData_13_0(struct linker *linker, int type, const void *data, size_t bytes,
                            const char *name)
{
    (void)linker;
    (void)type;
    (void)name;
    add(data, bytes);
    return 0;
}

int __nvJitLinkComplete_13_0(struct linker *linker)
{
    (void)linker;
    return 0;
}

int __nvJitLinkGetLinkedCubinSize_13_0(struct linker *linker, size_t *bytes)
{
    *bytes = linker->used;
    return 0;
}

int __nvJitLinkGetLinkedCubin_13_0(struct linker *linker, void *cubin)
{
    memcpy(cubin, linker->text, linker->used);
    return 0;
}

int __nvJitLinkGetErrorLogSize_13_0(struct linker *linker, size_t *bytes)
{
    (void)linker;
    *bytes = 0;
    return 0;
}

int __nvJitLinkGetErrorLog_13_0(struct linker *linker, char *log)
{
    (void)linker;
    (void)log;
    return 0;
}
