/* SPDX-License-Identifier: BSD-3-Clause */
/* A CUDA runtime without a GPU, in the place of libcudart: the functions that lib/image*.cu and
 * launch.cuh call.  Kernels do not run; launches are recorded.  Any thread may load libraries. */
#ifndef SHPOOL_TESTS_FAKE_RUNTIME_H
#define SHPOOL_TESTS_FAKE_RUNTIME_H

#include <cstddef>
#include <string>

#include <cudaTypedefs.h>
#include <cuda_runtime.h>

enum { FAKE_REGISTERS = 72, FAKE_THREADS = 896 }; /* of every kernel; of a block that has room */

struct fake_launch {
    const void *kernel; /* a function of the program, or one of a library */
    size_t      shared;
    unsigned    count;  /* accepted launches */
    unsigned    refused;
    void      (*look)(void **arguments); /* gets the parameters; NULL: not called */
};

struct fake_runtime_state {
    int         device;
    int         capturing; /* capture state of every stream */
    fake_launch launch;
    unsigned    loads;     /* libraries */
    unsigned    unloads;
    unsigned    names;     /* of functions that were looked up */
    unsigned    allowed;   /* calls of cudaFuncSetAttribute */
    unsigned    copies;    /* to the host: of tables, and of reports that are read */
    unsigned long long context; /* id of the current one; 0: the driver does not say */
};

extern fake_runtime_state fake_runtime;

/* The name of a library's kernel, or "". */
std::string fake_kernel_name(const void *kernel);

#endif /* SHPOOL_TESTS_FAKE_RUNTIME_H */
