/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * load_two LIBRARY FUNCTION LIBRARY FUNCTION: loads both into one process and calls each function
 * twice, alternating.  Two libraries that both embed libshpool_device.a once crashed at load.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    int (*function[2])(void);

    if (argc != 5) {
        return 2;
    }
    for (int i = 0; i < 2; i++) {
        void *image  = dlopen(argv[1 + 2 * i], RTLD_NOW | RTLD_GLOBAL);
        void *symbol = (image != NULL) ? dlsym(image, argv[2 + 2 * i]) : NULL;

        if (symbol == NULL) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        memcpy(&function[i], &symbol, sizeof(symbol));
    }
    for (int i = 0; i < 4; i++) {
        if (function[i % 2]() != 0) {
            return 1;
        }
    }
    return 0;
}
