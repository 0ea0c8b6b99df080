/* SPDX-License-Identifier: BSD-3-Clause */
/* nvrtc_headers HEADER OPTION...: does #include <HEADER> compile under NVRTC?  For headers.sh. */
#include <nvrtc.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    char         source[512];
    nvrtcProgram program;
    nvrtcResult  result;
    size_t       bytes;

    if (argc < 2) {
        return 2;
    }
    snprintf(source, sizeof(source), "#include <%s>\nextern \"C\" __global__ void k() {}\n",
             argv[1]);
    result = nvrtcCreateProgram(&program, source, "header.cu", 0, NULL, NULL);
    if (result != NVRTC_SUCCESS) {
        fprintf(stderr, "nvrtcCreateProgram: %s\n", nvrtcGetErrorString(result));
        return 1;
    }
    result = nvrtcCompileProgram(program, argc - 2, (const char *const *)(argv + 2));
    if ((nvrtcGetProgramLogSize(program, &bytes) == NVRTC_SUCCESS) && (bytes > 1)) {
        char *log = (char *)malloc(bytes);

        if ((log != NULL) && (nvrtcGetProgramLog(program, log) == NVRTC_SUCCESS)) {
            fputs(log, stderr);
        }
        free(log);
    }
    nvrtcDestroyProgram(&program);
    return (result == NVRTC_SUCCESS) ? 0 : 1;
}
