/* SPDX-License-Identifier: BSD-3-Clause */
/* One call of a function of loadstore.cuh, on the block executor or on a GPU, against a plain loop
 * on the host.
 *
 * An operation (loadstore/ops.h, ...) defines how it is called in a kernel and what it changes.
 * The kernel fills registers and shared memory with values that depend on the place, makes the
 * call, and writes out the results.  The host fills its model with the same values, applies the
 * operation's loop, and compares every byte, including the poison before and after.  Memory past
 * count does not exist: reading it faults, or compute-sanitizer reports it. */
#ifndef SHPOOL_TESTS_LOADSTORE_TRIAL_H
#define SHPOOL_TESTS_LOADSTORE_TRIAL_H

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <shpool/loadstore.cuh>

namespace {

using shpool::copy_path;

/* ---- elements ---- */

/* Size bytes, aligned to Align. */
template <int Size, int Align> struct alignas(Align) blob {
    unsigned char byte[Size];
};
/* Copied by its constructor only: never by bytes. */
struct careful {
    SHPOOL_HOST_METHOD careful() : value(0), check(~0u) { }
    SHPOOL_HOST_METHOD careful(const careful &other) : value(other.value), check(~other.value) { }
    SHPOOL_HOST_METHOD careful &operator=(const careful &other)
    {
        value = other.value;
        check = ~other.value;
        return *this;
    }
    uint32_t value;
    uint32_t check;
};

SHPOOL_HOST_METHOD uint32_t hash(uint32_t a, uint32_t b)
{
    uint32_t h = (a + 1u) * 0x9e3779b1u ^ b * 0x85ebca77u;

    h ^= h >> 15;
    h *= 0xc2b2ae3du;
    return h ^ (h >> 13);
}

/* The contents of a place before the call. */
enum place { IN = 1, IN2, REG, SHARED, OUT, INIT };

template <typename T> struct maker {
    static SHPOOL_HOST_METHOD T at(uint32_t where, uint32_t index)
    {
        T              value;
        unsigned char *bytes = reinterpret_cast<unsigned char *>(&value);

        for (uint32_t i = 0; i < sizeof(T); i++) {
            bytes[i] = static_cast<unsigned char>(hash(index * 64u + i, where) >> 7);
        }
        return value;
    }
};
template <> struct maker<careful> {
    static SHPOOL_HOST_METHOD careful at(uint32_t where, uint32_t index)
    {
        careful value;

        value.value = hash(index, where);
        value.check = ~value.value;
        return value;
    }
};

/* ---- sources and destinations that are not pointers ---- */
template <typename T> struct view {
    const T *ptr;
    SHPOOL_METHOD T    operator[](ptrdiff_t i) const { return ptr[i]; }
    SHPOOL_METHOD view operator+(ptrdiff_t n) const { return view{ptr + n}; }
};
template <typename T> struct sink {
    T *ptr;
    SHPOOL_METHOD T   &operator[](ptrdiff_t i) const { return ptr[i]; }
    SHPOOL_METHOD sink operator+(ptrdiff_t n) const { return sink{ptr + n}; }
};

enum kind { POINTER, READ_ONLY, ITERATOR };

template <typename T, kind Kind> struct ends {
    static SHPOOL_METHOD const T *from(const T *p) { return p; }
    static SHPOOL_METHOD T       *to(T *p) { return p; }
};
template <typename T> struct ends<T, READ_ONLY> {
    static SHPOOL_METHOD shpool::read_only_pointer<T> from(const T *p)
    {
        return shpool::read_only(p);
    }
    static SHPOOL_METHOD T *to(T *p) { return p; }
};
template <typename T> struct ends<T, ITERATOR> {
    static SHPOOL_METHOD view<T> from(const T *p) { return view<T>{p}; }
    static SHPOOL_METHOD sink<T> to(T *p) { return sink<T>{p}; }
};

/* The compile-time parameters of a trial. */
template <int NT_, int VT_, typename T, copy_path Path = copy_path::automatic,
          kind Kind = POINTER>
struct shape {
    static constexpr int       NT   = NT_;
    static constexpr int       VT   = VT_;
    static constexpr int       TILE = NT_ * VT_;
    static constexpr copy_path path = Path;
    static constexpr kind      via  = Kind;
    typedef T type;
};

/* ---- shared by kernel and host ---- */

enum sync_mode { SYNC_FALSE, SYNC_TRUE, SYNC_DEFAULT };

constexpr uint32_t GUARD = 64; /* bytes of poison on either side */

struct trial {
    const unsigned char *in;
    const unsigned char *in2;
    const int           *indices;
    unsigned char       *out;          /* of a GLOBAL operation: with its shift; else plain */
    long long            count;
    long long            count2;
    uint32_t             shared_shift; /* bytes before the tile in shared memory */
    uint32_t             shared_bytes; /* in all, indices not counted */
    int                  sync;
    uint32_t            *wrong;        /* threads that came through a barrier before the others */
    uint32_t             notes;        /* where in shared memory each thread leaves a note */
};

/* A thread's view of it. */
template <typename S> struct frame {
    typedef typename S::type T;
    int       tid;
    const T  *in;
    const T  *in2;
    T        *out;
    T        *shared;
    int      *shared_indices;
    int       indices[S::VT];
    T         reg[S::VT];
    long long count;
    long long count2;
    int       sync;
};

SHPOOL_HOST_METHOD unsigned char poison(uint32_t at)
{
    return static_cast<unsigned char>(0xc5u ^ (at * 29u));
}

/* The kernel. */
template <typename Op> SIMT_FN void run_trial(const trial &t)
{
    typedef typename Op::shape  S;
    typedef typename S::type    T;
    const int      tid   = static_cast<int>(simt_thread_rank());
    unsigned char *base  = static_cast<unsigned char *>(simt_from_shared(simt_dynamic_base()));
    uint32_t      *notes = reinterpret_cast<uint32_t *>(base + t.notes);
    T             *kept  = nullptr;
    frame<S>       f;

    for (uint32_t k = static_cast<uint32_t>(tid); k < t.shared_bytes; k += S::NT) {
        base[k] = poison(k);
    }
    simt_barrier();
    f.tid            = tid;
    f.in             = reinterpret_cast<const T *>(t.in);
    f.in2            = reinterpret_cast<const T *>(t.in2);
    f.out            = reinterpret_cast<T *>(t.out);
    f.shared         = reinterpret_cast<T *>(base + GUARD + t.shared_shift);
    f.shared_indices = reinterpret_cast<int *>(base + t.shared_bytes);
    f.count          = t.count;
    f.count2         = t.count2;
    f.sync           = t.sync;
    SIMT_UNROLLED
    for (int i = 0; i < S::VT; i++) {
        if (Op::reads_shared || (Op::writes == SHARED)) {
            f.shared[S::NT * i + tid] =
                maker<T>::at(SHARED, static_cast<uint32_t>(S::NT * i + tid));
        }
        if (Op::reads_indices) {
            f.indices[i]                      = t.indices[S::NT * i + tid];
            f.shared_indices[S::NT * i + tid] = t.indices[S::NT * i + tid];
        }
        f.reg[i] = maker<T>::at(REG, static_cast<uint32_t>(S::VT * tid + i));
    }
    simt_barrier();
    notes[tid] = ~static_cast<uint32_t>(tid);
    Op::run(f);
    if ((t.sync == SYNC_FALSE) || ((t.sync == SYNC_DEFAULT) && !Op::syncs)) {
        simt_barrier();
    }
    if (notes[S::NT - 1 - tid] != ~static_cast<uint32_t>(S::NT - 1 - tid)) {
        simt_global_add32(t.wrong, 1);
    }
    if (Op::writes == REG) {
        kept = reinterpret_cast<T *>(t.out);
        SIMT_UNROLLED
        for (int i = 0; i < S::VT; i++) {
            kept[S::VT * tid + i] = f.reg[i];
        }
    } else if (Op::writes == SHARED) {
        /* from the other end: no thread reads its own writes */
        for (uint32_t k = static_cast<uint32_t>(S::NT - 1 - tid); k < t.shared_bytes; k += S::NT) {
            t.out[k] = base[k];
        }
    } else if (Op::reads_shared || Op::reads_indices) {
        /* sync promises that the memory may be used again */
        for (uint32_t k = static_cast<uint32_t>(tid); k < t.shared_bytes; k += S::NT) {
            base[k] = 0;
        }
    }
}

/* ---- the model ---- */
template <typename S> struct model {
    typedef typename S::type T;
    std::vector<T>   in, in2, reg, shared, out;
    std::vector<int> indices;
    long long        count;
    long long        count2;

    long long n() const { return (count < S::TILE) ? count : S::TILE; }
    /* the register that holds strided element e */
    T &strided(long long e)
    {
        return reg[static_cast<size_t>((e % S::NT) * S::VT + e / S::NT)];
    }
};

/* An operation's constants: what it writes and reads, and whether it synchronizes if not told. */
template <typename S, place Writes, bool Syncs, bool ReadsShared = false, bool ReadsIndices = false,
          bool AnyCount = false, bool Two = false>
struct operation {
    typedef S shape;
    typedef typename S::type T;
    typedef ends<T, S::via>  via;
    static constexpr place writes        = Writes;
    static constexpr bool  syncs         = Syncs;
    static constexpr bool  reads_shared  = ReadsShared;
    static constexpr bool  reads_indices = ReadsIndices;
    static constexpr bool  any_count     = AnyCount;
    static constexpr bool  two           = Two;
    static constexpr bool  always_syncs  = false;
};

/* The call with sync as the trial says: f.sync, and the arguments before it. */
#define SYNCED(_f, _call, ...) \
    do { \
        if ((_f).sync == SYNC_DEFAULT) { \
            _call(__VA_ARGS__); \
        } else { \
            _call(__VA_ARGS__, (_f).sync == SYNC_TRUE); \
        } \
    } while (0)

} // namespace

#endif /* SHPOOL_TESTS_LOADSTORE_TRIAL_H */
