/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A plugin: an allocator for programs that were built without it.
 *
 *   nvcc -arch=sm_75 -rdc=true -dlto -ltoir -DSHPOOL_LINKED_MODULE own.cu -o own.ltoir \
 *        $(pkg-config --cflags shpool)
 *   od -An -v -tu1 own.ltoir | sed 's/[0-9]\{1,\}/&,/g' >own_ltoir.inc
 *   cc -shared -fPIC -fvisibility=hidden -DOWN_CUDA=13000 -I. own.c -o own.so \
 *        $(pkg-config --cflags shpool)
 *
 *   SHPOOL_PLUGIN_PATH=$PWD shpool-info show own
 *   SHPOOL_PLUGIN_PATH=$PWD SHPOOL_ALLOCATOR=own ./linked linked_kernel.ltoir
 *
 * OWN_CUDA is the CUDA version of that nvcc, 13000 for 13.0.  The cc command alone, without
 * -DOWN_CUDA, makes a plugin for the CPU block executor; it needs no nvcc.
 */
#include "own.h"

#ifdef OWN_CUDA
static const unsigned char ltoir[] = {
#include "own_ltoir.inc"
};
static const shpool_blob lto_ir = { ltoir, sizeof(ltoir), OWN_CUDA, 75, NULL };
#define OWN_LTO_IR &lto_ir
#else
#define OWN_LTO_IR NULL
#endif

SHPOOL_HOST_MODULE(own, "a third party's: bump, and afresh when empty", SHPOOL_SCOPE_BLOCK,
                   SHPOOL_CAP_FREE | SHPOOL_CAP_LOCK_FREE, NULL, OWN_LTO_IR);
SHPOOL_PLUGIN(own);
