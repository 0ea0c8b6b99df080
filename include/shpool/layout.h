/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/layout.h
 * The blocked layout of records, in which neighbouring threads find the words of their records at
 * neighbouring addresses.  Index maps, and pack and unpack on the host; those for the GPU are in
 * shpool/layout.cuh.
 *
 * An array of n records of m words each, one record a thread, is slow to read in its original
 * layout: when a warp reads element i of its records, the addresses are m words apart, and each
 * 32-byte sector serves only one lane.  The blocked layout keeps the records of bd threads (a
 * group; bd is the block dimension of the kernel that works on them) together.  Inside the group it
 * stores element 0 of all records, then element 1 of all records, and so on: the transposed matrix.
 *
 *     record index   indx = bd*bx + tx        bx: group, tx: 0..bd-1, place in the group
 *     as records     m*indx + i               i: element, 0..m-1
 *     blocked        m*bd*bx + bd*i + tx
 *
 * The array is padded to whole groups; the places of records n and above are zero.  A kernel of bd
 * threads a block, one record a thread, then reads its element i at
 *
 *     blocked[m*bd*blockIdx.x + bd*i + threadIdx.x]
 *
 * at full width for every m, and without a test for the last block.
 *
 * Example: n = 70 records of m = 3 words, bd = 32.  There are 3 groups; the padded array has 3*3*32
 * = 288 elements, of which (96-70)*3 = 78 are padding.  Record 69 is place 5 of group 2, and its
 * element 1 lies at 3*32*2 + 32*1 + 5 = 229.  In the other direction, index 229 is record 69,
 * element 1.
 *
 * Terms
 *   word, element  the parts of a record, all of one size: 1, 2, 4, 8 or 16 bytes
 *   m              words of a record, 1 or more
 *   bd             threads of a block and records of a group: a multiple of 32, at most 1,024
 *   n              records
 *   records        an array of n*m elements, one record after the other
 *   blocked        an array of shpool_layout_elements(n, m, bd) elements, as above
 *
 * The layout is that of the COALDA project's report (EECS 583, University of Michigan), section
 * "Problem Definition", with its names m, bd, bx, tx and indx.  It is unrelated to shpool_layout in
 * shpool/abi.h, the geometry of a pool.
 *
 * C11 and C++17; the maps also in device code (nvcc and NVRTC).
 */
#ifndef SHPOOL_LAYOUT_H
#define SHPOOL_LAYOUT_H

#include <shpool/abi.h>

#if defined(__CUDACC__)
#define SHPOOL_LAYOUT_FN static __host__ __device__ __forceinline__
#else
#define SHPOOL_LAYOUT_FN static inline
#endif

#define SHPOOL_LAYOUT_GRAIN 32u /**< bd is a multiple of this: a warp */

/* ---- the maps: host and device ---- */

/**
 * Number of groups for n records.
 *
 * @return n / bd, rounded up; 0 if bd is 0
 */
SHPOOL_LAYOUT_FN unsigned long long shpool_layout_groups(unsigned long long n, uint32_t bd)
{
    return (bd == 0) ? 0 : n / bd + (n % bd != 0);
}

/**
 * Number of elements of the padded array for n records: m*bd for each group.
 *
 * Multiply by the element's size to get the bytes to allocate.
 * @return 0 if there are no records, if m or bd is 0, and if the number does not fit in 64 bits
 */
SHPOOL_LAYOUT_FN unsigned long long shpool_layout_elements(unsigned long long n, uint32_t m,
                                                           uint32_t bd)
{
    const unsigned long long groups = shpool_layout_groups(n, bd);
    const unsigned long long group  = (unsigned long long)m * bd; /* below 2^64 for all values */

    return ((group == 0) || (groups > ~0ull / group)) ? 0 : groups * group;
}

/**
 * Index of a record's element in the blocked array.
 *
 * Does not check bounds: the caller ensures that element < m and record < n.
 * @param [in] record   indx, 0..n-1
 * @param [in] element  i, 0..m-1
 * @return its index; 0 if bd is 0
 */
SHPOOL_LAYOUT_FN unsigned long long shpool_layout_index(unsigned long long record, uint32_t element,
                                                        uint32_t m, uint32_t bd)
{
    return (bd == 0) ? 0
                     : record / bd * ((unsigned long long)m * bd) +
                           (unsigned long long)element * bd + record % bd;
}

/**
 * Record whose element is at this index of the blocked array.
 *
 * @return its number, n or more if the index is padding; 0 if m or bd is 0
 */
SHPOOL_LAYOUT_FN unsigned long long shpool_layout_record(unsigned long long index, uint32_t m,
                                                         uint32_t bd)
{
    const unsigned long long group = (unsigned long long)m * bd;

    return (group == 0) ? 0 : index / group * bd + index % bd;
}

/**
 * Element of its record that is at this index of the blocked array.
 *
 * @return 0..m-1; 0 if m or bd is 0
 */
SHPOOL_LAYOUT_FN uint32_t shpool_layout_element(unsigned long long index, uint32_t m, uint32_t bd)
{
    return ((m == 0) || (bd == 0)) ? 0 : (uint32_t)(index / bd % m);
}

#if !defined(__CUDACC_RTC__)

#include <shpool/shpool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- host ---- */

/**
 * Check whether such an array is possible; pack and unpack, here and on the GPU, call this first.
 *
 * Any thread.
 * @param [in] element_bytes  1, 2, 4, 8 or 16
 * @return SHPOOL_OK
 *   - SHPOOL_ERR_INVALID    m is 0, bd is not one of 32, 64, ... 1,024, or element_bytes is none of
 *                           these
 *   - SHPOOL_ERR_TOO_LARGE  the padded array has more bytes than the address space
 */
SHPOOL_API shpool_status shpool_layout_check(unsigned long long n, uint32_t m, uint32_t bd,
                                             uint32_t element_bytes);

/**
 * Convert records to the blocked layout, in host memory, on the calling thread.
 *
 * Any thread.  The arrays need no alignment and must not overlap.
 * @param [in]  records        n*m elements; may be NULL if n is 0
 * @param [in]  n              records; 0: nothing is written
 * @param [in]  m              words of a record
 * @param [in]  bd             records of a group
 * @param [in]  element_bytes  1, 2, 4, 8 or 16
 * @param [out] blocked        shpool_layout_elements(n, m, bd) elements, all of which are written:
 *                             the padding with zero
 * @return SHPOOL_OK; as shpool_layout_check(); SHPOOL_ERR_INVALID also for a NULL array.  After a
 *         failure nothing has been written
 */
SHPOOL_API shpool_status shpool_layout_pack(const void *records, unsigned long long n, uint32_t m,
                                            uint32_t bd, uint32_t element_bytes, void *blocked);

/**
 * Convert the blocked layout back to records: the inverse of shpool_layout_pack().
 *
 * Does not read the padding.  For everything else see shpool_layout_pack().
 * @param [in]  blocked  shpool_layout_elements(n, m, bd) elements
 * @param [out] records  n*m elements, all of which are written, and nothing after them
 */
SHPOOL_API shpool_status shpool_layout_unpack(const void *blocked, unsigned long long n, uint32_t m,
                                              uint32_t bd, uint32_t element_bytes, void *records);

#ifdef __cplusplus
}
#endif
#endif /* !__CUDACC_RTC__ */
#endif /* SHPOOL_LAYOUT_H */
