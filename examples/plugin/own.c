/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A plugin: an allocator for programs that were built without it.
 *
 *   nvcc -rdc=true -fatbin -gencode 'arch=compute_75,code=[lto_75,compute_75]' own.cu \
 *        -o own.fatbin $(pkg-config --cflags shpool)
 *   od -An -v -tu1 own.fatbin | sed 's/[0-9]\{1,\}/&,/g' >own_fatbin.inc
 *   cc -shared -fPIC -fvisibility=hidden -DOWN_CUDA=13000 -I. own.c -o own.so \
 *        $(pkg-config --cflags shpool)
 *
 *   SHPOOL_PLUGIN_PATH=$PWD shpool-info show own
 *   SHPOOL_PLUGIN_PATH=$PWD SHPOOL_ALLOCATOR=own ./runtime
 *
 * OWN_CUDA is the CUDA version of that nvcc, 13000 for 13.0.  The cc command alone, without
 * -DOWN_CUDA, makes a plugin for the CPU block executor; it needs no nvcc.
 */
#include "own.h"

#ifdef OWN_CUDA
static const unsigned char fatbin[] = {
#include "own_fatbin.inc"
};
static const shpool_blob code = { fatbin, sizeof(fatbin), OWN_CUDA, 75, NULL };
#define OWN_CODE &code
#else
#define OWN_CODE NULL
#endif

SHPOOL_HOST_MODULE(own, "a third party's: bump, and afresh when empty", SHPOOL_SCOPE_BLOCK,
                   SHPOOL_CAP_FREE | SHPOOL_CAP_LOCK_FREE, OWN_CODE);
SHPOOL_PLUGIN(own);
