/* SPDX-License-Identifier: BSD-3-Clause */
/* Compiled once for each size of element, with -DBENCH_LS_BYTES=1, 2, 4, 8 or 16.  With
 * -DBENCH_LS_ALL (tools.mk) for every shape, which takes minutes; with -DBENCH_LS_FEW one shape,
 * and no elements of 2 and 8 bytes. */
#include "loadstore.h"

#define LS_JOIN_(_a, _b) _a##_b
#define LS_JOIN(_a, _b)  LS_JOIN_(_a, _b)

#ifdef BENCH_LS_ALL
#define BENCH_LS_THREADS 128, 256, 512
#define BENCH_LS_VALUES  1, 2, 3, 4, 5, 7, 8, 11, 12, 15, 16, 17
#elif defined(BENCH_LS_FEW)
#define BENCH_LS_THREADS 256
#define BENCH_LS_VALUES  7
#else
#define BENCH_LS_THREADS 256
#define BENCH_LS_VALUES  7, 16
#endif

typedef void (*ls_add)(const bench_ls_entry *entry, void *user);

extern "C" void LS_JOIN(bench_ls_entries_, BENCH_LS_BYTES)(ls_add add, void *user);

#if defined(BENCH_LS_FEW) && ((BENCH_LS_BYTES == 2) || (BENCH_LS_BYTES == 8))

extern "C" void LS_JOIN(bench_ls_entries_, BENCH_LS_BYTES)(ls_add, void *)
{
}

#else

#include "kernels.cuh"

namespace {

typedef ls_type<BENCH_LS_BYTES>::type element;

template <int... VALUES> struct ls_list {};

/* Common part of all entries of a shape. */
template <int NT, int VT>
bench_ls_entry entry_of(const char *function, const char *path, bench_ls_check check,
                        bench_ls_order order, uint32_t shared, const void *kernel)
{
    bench_ls_entry e = {function, path, check, order, 0, sizeof(element), NT, VT, shared, kernel,
                        NULL};

    return e;
}

int pack_here(const void *in, void *out, ull count, uint32_t threads, uint32_t values)
{
    return shpool::layout_pack(static_cast<const element *>(in), count / values, values, threads,
                               static_cast<element *>(out), 0) != SHPOOL_OK;
}

int unpack_here(const void *in, void *out, ull count, uint32_t threads, uint32_t values)
{
    return shpool::layout_unpack(static_cast<const element *>(in), count / values, values, threads,
                                 static_cast<element *>(out), 0) != SHPOOL_OK;
}

template <int NT, int VT> struct ls_shape {
    ls_add add;
    void  *user;

    template <typename OP, bool STORES>
    void entry(const char *function, const char *path, bench_ls_check check, bench_ls_order order,
               int is_cub) const
    {
        bench_ls_entry e = entry_of<NT, VT>(
            function, path, check, order, OP::template shared<element, NT, VT>(),
            reinterpret_cast<const void *>(&ls_run<OP, element, NT, VT, STORES>));

        e.is_cub = is_cub;
        add(&e, user);
    }
    template <typename OP>
    void copy(const char *function, const char *path, bench_ls_order order,
              bench_ls_check check = BENCH_LS_EQUAL, int is_cub = 0) const
    {
        entry<OP, true>(function, path, check, order, is_cub);
    }
    template <typename OP>
    void sum(const char *function, const char *path, bench_ls_order order, int is_cub = 0) const
    {
        entry<OP, false>(function, path, BENCH_LS_SUM, order, is_cub);
    }
    template <int BUFFERS, copy_path STORE> void bulk(const char *path) const
    {
        const bench_ls_entry e = entry_of<NT, VT>(
            "global_to_shared+store", path, BENCH_LS_EQUAL, BENCH_LS_ANY,
            BUFFERS * NT * VT * sizeof(element),
            reinterpret_cast<const void *>(&ls_bulk<element, NT, VT, BUFFERS, STORE>));

        add(&e, user);
    }
    template <cub::BlockLoadAlgorithm L, cub::BlockStoreAlgorithm S>
    void cub_mode(const char *mode, bench_ls_order order) const
    {
        copy<ls_cub<L, S>>("cub copy", mode, order, BENCH_LS_EQUAL, 1);
        sum<ls_cub<L, S>>("cub load", mode, order, 1);
    }

    /* CUB's first: the others are compared with the best of them. */
    void cub_all() const
    {
        cub_mode<cub::BLOCK_LOAD_DIRECT, cub::BLOCK_STORE_DIRECT>("direct", BENCH_LS_THREAD);
        cub_mode<cub::BLOCK_LOAD_STRIPED, cub::BLOCK_STORE_STRIPED>("striped", BENCH_LS_ANY);
        cub_mode<cub::BLOCK_LOAD_VECTORIZE, cub::BLOCK_STORE_VECTORIZE>("vectorize",
                                                                        BENCH_LS_THREAD);
        cub_mode<cub::BLOCK_LOAD_TRANSPOSE, cub::BLOCK_STORE_TRANSPOSE>("transpose",
                                                                        BENCH_LS_THREAD);
        cub_mode<cub::BLOCK_LOAD_WARP_TRANSPOSE, cub::BLOCK_STORE_WARP_TRANSPOSE>(
            "warp_transpose", BENCH_LS_THREAD);
    }
    void copies() const
    {
        constexpr copy_path automatic = copy_path::automatic;
        constexpr copy_path elements  = copy_path::elements;
        constexpr copy_path vector    = copy_path::vector;

        copy<ls_direct<automatic>>("global_to_global", "automatic", BENCH_LS_ANY);
        copy<ls_direct<elements>>("global_to_global", "elements", BENCH_LS_ANY);
        copy<ls_loop>("mem_to_mem_loop", "automatic", BENCH_LS_ANY);
        copy<ls_strided>("global_to_reg+store", "elements", BENCH_LS_ANY);
        copy<ls_shared<automatic, automatic>>("global_to_shared+store", "automatic", BENCH_LS_ANY);
        copy<ls_shared<elements, elements>>("global_to_shared+store", "elements", BENCH_LS_ANY);
        copy<ls_shared<vector, vector>>("global_to_shared+store", "vector", BENCH_LS_ANY);
        bulk<1, vector>("bulk");
        bulk<2, vector>("bulk 2");
        bulk<2, copy_path::bulk>("bulk 2, bulk");
        copy<ls_thread<automatic>>("global_to_thread+store", "automatic", BENCH_LS_THREAD);
        copy<ls_thread<elements>>("global_to_thread+store", "elements", BENCH_LS_THREAD);
        copy<ls_turned>("shared_to_thread+store", "automatic", BENCH_LS_THREAD);
        copy<ls_gather>("gather", "elements", BENCH_LS_OTHER, BENCH_LS_GATHER);
        copy<ls_gather_direct>("gather_global_to_global", "elements", BENCH_LS_OTHER,
                               BENCH_LS_GATHER);
        copy<ls_merge>("transfer_merge_reg", "elements", BENCH_LS_OTHER, BENCH_LS_GATHER);
        copy<ls_scatter>("scatter", "elements", BENCH_LS_OTHER, BENCH_LS_SCATTER);
        copy<ls_load2>("load2_to_reg", "elements", BENCH_LS_OTHER);
    }
    void loads() const
    {
        sum<ls_strided>("global_to_reg", "elements", BENCH_LS_ANY);
        sum<ls_thread<copy_path::automatic>>("global_to_thread", "automatic", BENCH_LS_THREAD);
        sum<ls_thread<copy_path::vector>>("global_to_thread", "vector", BENCH_LS_THREAD);
        sum<ls_thread<copy_path::transpose>>("global_to_thread", "transpose", BENCH_LS_THREAD);
        sum<ls_shared<copy_path::automatic, copy_path::automatic>>("global_to_shared", "automatic",
                                                                   BENCH_LS_ANY);
        sum<ls_turned>("shared_to_thread", "automatic", BENCH_LS_THREAD);
        sum<ls_half>("half_smem_transpose", "elements", BENCH_LS_THREAD);
    }
    /* m is VT and bd is NT. */
    void layouts() const
    {
        bench_ls_entry e = entry_of<NT, VT>("layout_pack", "tiles", BENCH_LS_PACK, BENCH_LS_OTHER,
                                            0, NULL);

        copy<ls_records<false>>("records copy", "as records", BENCH_LS_OTHER);
        copy<ls_records<true>>("records copy", "blocked", BENCH_LS_OTHER);
        sum<ls_records<false>>("records sum", "as records", BENCH_LS_OTHER);
        sum<ls_records<true>>("records sum", "blocked", BENCH_LS_OTHER);
        e.launch = pack_here;
        add(&e, user);
        e.function = "layout_unpack";
        e.check    = BENCH_LS_UNPACK;
        e.launch   = unpack_here;
        add(&e, user);
    }
    void all() const
    {
        cub_all();
        copies();
        loads();
        layouts();
    }
};

template <int NT, int... VTS> void values(ls_list<VTS...>, ls_add add, void *user)
{
    (ls_shape<NT, VTS>{add, user}.all(), ...);
}

template <int... NTS> void threads(ls_list<NTS...>, ls_add add, void *user)
{
    (values<NTS>(ls_list<BENCH_LS_VALUES>(), add, user), ...);
}

} // namespace

/* Every entry for this size, those of a shape together, CUB's in front. */
extern "C" void LS_JOIN(bench_ls_entries_, BENCH_LS_BYTES)(ls_add add, void *user)
{
    threads(ls_list<BENCH_LS_THREADS>(), add, user);
}

#endif
