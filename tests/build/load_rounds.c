/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * load_rounds LIBRARY ROUNDS: loads libshpool.so, makes a call fail, and unloads it, ROUNDS times.
 * Thread keys, mapped files and memory of the process must be as after the first rounds, and fork()
 * must not find a handler whose code has been unloaded.
 */
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int one_round(const char *library)
{
    void *image = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    int (*find)(const char *name, const void **found_p);
    const char *(*last_error)(void);
    const void *found;
    void *symbol[2];

    if (image == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 0;
    }
    symbol[0] = dlsym(image, "shpool_allocator_find");
    symbol[1] = dlsym(image, "shpool_last_error");
    if ((symbol[0] == NULL) || (symbol[1] == NULL)) {
        return 0;
    }
    memcpy(&find, &symbol[0], sizeof(find));
    memcpy(&last_error, &symbol[1], sizeof(last_error));
    return (find("no_such_one", &found) != 0) && (strstr(last_error(), "no_such_one") != NULL) &&
           (dlclose(image) == 0);
}

static unsigned keys_left(void)
{
    static pthread_key_t keys[PTHREAD_KEYS_MAX];
    unsigned count = 0;

    while ((count < PTHREAD_KEYS_MAX) && (pthread_key_create(&keys[count], NULL) == 0)) {
        count++;
    }
    for (unsigned i = 0; i < count; i++) {
        (void)pthread_key_delete(keys[i]);
    }
    return count;
}

/* Pages of the process's address space. */
static long pages(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    long found = 0;

    if ((file == NULL) || (fscanf(file, "%ld", &found) != 1)) {
        found = -1;
    }
    if (file != NULL) {
        fclose(file);
    }
    return found;
}

static int fork_works(void)
{
    int status = 1;
    const pid_t child = fork();

    if (child == 0) {
        _exit(0);
    }
    return (child > 0) && (waitpid(child, &status, 0) == child) && (status == 0);
}

int main(int argc, char **argv)
{
    const int rounds = (argc == 3) ? atoi(argv[2]) : 0;
    unsigned keys = 0;
    long before = 0;

    for (int i = 0; i < rounds; i++) {
        if (!one_round(argv[1])) {
            fprintf(stderr, "round %d failed\n", i);
            return 1;
        }
        if (i == 9) {
            keys = keys_left();
            before = pages();
        }
    }
    printf("%d rounds: %u keys were left, now %u; %ld pages, now %ld\n", rounds, keys,
           keys_left(), before, pages());
    return !((rounds > 10) && (keys_left() == keys) && (pages() == before) && fork_works());
}
