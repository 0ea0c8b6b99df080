/* SPDX-License-Identifier: BSD-3-Clause */
/* A host file of a cuda_memory program: it is compiled by a C++ compiler and not linked with our
 * libraries; pmalloc and pfree are the C library's (tests/compat/compat.sh sets HEADER). */
#include HEADER

#include <cstring>

#if defined(CONFIGURE)
template <typename T> static DISPATCH_MACRO T *copy_of(const T *from, int n)
{
    static_assert(CPU_MEM_POOL_SIZE > 0 && GPU_MEM_POOL_SIZE > 0 && MEM_MAX_BLOCKS > 0 &&
                  MEM_MAX_THREADS > 0, "numbers");
    T *to = (T *)malloc(n * sizeof(T));
#else
template <typename T> static T *copy_of(const T *from, int n)
{
    T *to = (T *)pmalloc(n * sizeof(T));
#endif
    std::memcpy(to, from, n * sizeof(T));
    return to;
}

int main()
{
    const double three[3] = {1, 2, 3};
    double      *copy     = copy_of(three, 3);
    bool         same     = std::memcmp(copy, three, sizeof(three)) == 0;

    copy = (double *)realloc(copy, 64); /* only pointers from malloc may be freed there */
    pfree(copy);
    return same ? 0 : 1;
}
