/* SPDX-License-Identifier: BSD-3-Clause */
/* cuda_memory's header of this name: the types, for declarations that mention them.  No block of
 * this library has such a header; freelist and rbtree have their own (allocators/.../README.md). */
#pragma once
#include <cstdint>

struct RBTreeBlockHeader {
    int16_t fullSize;
    int16_t leftOffset, rightOffset, parentOffset;
};
struct BlockHeader {
    int16_t fullSize;
    int16_t nextListOffset, prevListOffset, prevAdjOffset;
};
struct BlockFooter {
    int16_t headerOffset;
};
