/* SPDX-License-Identifier: BSD-3-Clause */
/* The operations of loadstore.cuh that have paths, as trials: memory to memory, thread order. */
#ifndef SHPOOL_TESTS_LOADSTORE_PATHS_H
#define SHPOOL_TESTS_LOADSTORE_PATHS_H

#include "ops.h"

namespace {

/* ---- memory to memory ---- */
template <typename S, bool Shared, bool Syncs, bool AnyCount = false>
struct copy_op : operation<S, OUT, Syncs, Shared, false, AnyCount> {
    static void expect(model<S> &m)
    {
        for (long long e = 0; e < (AnyCount ? m.count : m.n()); e++) {
            m.out[e] = Shared ? m.shared[e] : m.in[e];
        }
    }
};
template <typename S> struct op_mem_to_mem4 : copy_op<S, false, true> {
    static SHPOOL_METHOD void run(frame<S> &f)
    {
        SYNCED(f, (shpool::mem_to_mem4<S::NT, S::VT>), f.count, op_mem_to_mem4::via::from(f.in),
               f.tid, op_mem_to_mem4::via::to(f.out));
    }
};
template <typename S> struct op_mem_to_mem_loop : copy_op<S, false, true, true> {
    static SHPOOL_METHOD void run(frame<S> &f)
    {
        SYNCED(f, (shpool::mem_to_mem_loop<S::NT, S::path>), f.count,
               op_mem_to_mem_loop::via::from(f.in), f.tid, op_mem_to_mem_loop::via::to(f.out));
    }
};
template <typename S> struct op_global_to_global : copy_op<S, false, false> {
    static SHPOOL_METHOD void run(frame<S> &f)
    {
        SYNCED(f, (shpool::global_to_global<S::NT, S::VT, S::path>), f.count,
               op_global_to_global::via::from(f.in), f.tid, op_global_to_global::via::to(f.out));
    }
};
template <typename S> struct op_shared_to_global : copy_op<S, true, true> {
    static SHPOOL_METHOD void run(frame<S> &f)
    {
        SYNCED(f, (shpool::shared_to_global<S::NT, S::VT, S::path>), f.count, f.shared, f.tid,
               op_shared_to_global::via::to(f.out));
    }
};

/* ---- global to shared ---- */
template <typename S, bool Fill> struct stage_op : operation<S, SHARED, true> {
    static void expect(model<S> &m)
    {
        for (long long e = 0; e < (Fill ? S::TILE : m.n()); e++) {
            m.shared[e] = (e < m.count) ? m.in[e] : init_value<typename S::type>();
        }
    }
};
template <typename S> struct op_global_to_shared : stage_op<S, false> {
    static SHPOOL_METHOD void run(frame<S> &f)
    {
        SYNCED(f, (shpool::global_to_shared<S::NT, S::VT, S::path>), f.count,
               op_global_to_shared::via::from(f.in), f.tid, f.shared);
    }
};
template <typename S> struct op_global_to_shared2 : stage_op<S, false> {
    static SHPOOL_METHOD void run(frame<S> &f)
    {
        SYNCED(f, (shpool::global_to_shared2<S::NT, S::VT / 2, S::VT, S::path>), f.count,
               op_global_to_shared2::via::from(f.in), f.tid, f.shared);
    }
};
template <typename S> struct op_global_to_shared_loop : stage_op<S, false> {
    static SHPOOL_METHOD void run(frame<S> &f)
    {
        SYNCED(f, (shpool::global_to_shared_loop<S::NT, S::VT, S::path>), f.count,
               op_global_to_shared_loop::via::from(f.in), f.tid, f.shared);
    }
};
template <typename S> struct op_global_to_shared_default : stage_op<S, true> {
    static SHPOOL_METHOD void run(frame<S> &f)
    {
        SYNCED(f, (shpool::global_to_shared_default<S::NT, S::VT, S::path>), f.count,
               op_global_to_shared_default::via::from(f.in), f.tid, f.shared,
               init_value<typename S::type>());
    }
};
template <typename S> struct op_global_to_shared_default2 : stage_op<S, true> {
    static SHPOOL_METHOD void run(frame<S> &f)
    {
        SYNCED(f, (shpool::global_to_shared_default2<S::NT, S::VT / 2, S::VT, S::path>), f.count,
               op_global_to_shared_default2::via::from(f.in), f.tid, f.shared,
               init_value<typename S::type>());
    }
};
/* Two tiles, the second over the first: the gate's phases; its word lies where others
 * have their indexes. */
template <typename S> struct op_global_to_shared_gate : stage_op<S, false> {
    static SHPOOL_METHOD void run(frame<S> &f)
    {
        shpool::bulk_barrier *word =
            reinterpret_cast<shpool::bulk_barrier *>(f.shared_indices);
        shpool::bulk_gate gate(word, f.tid);

        shpool::global_to_shared<S::NT, S::VT>(f.count, op_global_to_shared_gate::via::from(f.in),
                                               f.tid, f.shared, gate);
        simt_barrier();
        SIMT_UNROLLED
        for (int i = 0; i < S::VT; i++) { /* the second one has something to do */
            if (S::NT * i + f.tid < f.count) {
                f.shared[S::NT * i + f.tid] = maker<typename S::type>::at(REG, 1);
            }
        }
        simt_barrier();
        shpool::global_to_shared<S::NT, S::VT>(f.count, op_global_to_shared_gate::via::from(f.in),
                                               f.tid, f.shared, gate, f.sync != SYNC_FALSE);
        if (f.sync == SYNC_FALSE) {
            gate.wait();
        }
        gate.close(f.tid);
    }
};

/* ---- thread order ---- */
template <typename S, bool Fill> struct thread_op : operation<S, REG, false> {
    static void expect(model<S> &m)
    {
        for (long long e = 0; e < (Fill ? S::TILE : m.n()); e++) {
            m.reg[e] = (e < m.count) ? m.in[e] : init_value<typename S::type>();
        }
    }
};
template <typename S> struct op_global_to_thread : thread_op<S, false> {
    static SHPOOL_METHOD void run(frame<S> &f)
    {
        shpool::global_to_thread<S::NT, S::VT, S::path>(
            f.count, op_global_to_thread::via::from(f.in), f.tid, f.reg);
        simt_barrier(); /* it has no sync */
    }
};
template <typename S> struct op_global_to_thread_default : thread_op<S, true> {
    static SHPOOL_METHOD void run(frame<S> &f)
    {
        shpool::global_to_thread_default<S::NT, S::VT, S::path>(
            f.count, op_global_to_thread_default::via::from(f.in), f.tid, f.reg,
            init_value<typename S::type>());
        simt_barrier();
    }
};
template <typename S> struct op_thread_to_global : operation<S, OUT, false> {
    static SHPOOL_METHOD void run(frame<S> &f)
    {
        SYNCED(f, (shpool::thread_to_global<S::NT, S::VT, S::path>), f.count, f.reg, f.tid,
               op_thread_to_global::via::to(f.out));
    }
    static void expect(model<S> &m)
    {
        for (long long e = 0; e < m.n(); e++) {
            m.out[e] = m.reg[e];
        }
    }
};
template <typename S> struct op_thread_to_shared : operation<S, SHARED, true> {
    static SHPOOL_METHOD void run(frame<S> &f)
    {
        SYNCED(f, (shpool::thread_to_shared<S::VT>), f.reg, f.tid, f.shared);
    }
    static void expect(model<S> &m)
    {
        for (long long e = 0; e < S::TILE; e++) {
            m.shared[e] = m.reg[e];
        }
    }
};
template <typename S> struct op_shared_to_thread : operation<S, REG, true, true> {
    static SHPOOL_METHOD void run(frame<S> &f)
    {
        SYNCED(f, (shpool::shared_to_thread<S::VT>), f.shared, f.tid, f.reg);
    }
    static void expect(model<S> &m)
    {
        for (long long e = 0; e < S::TILE; e++) {
            m.reg[e] = m.shared[e];
        }
    }
};
/* The second half of the tile's slots does not belong to the function and must not change. */
template <typename S> struct op_half_smem_transpose : operation<S, REG, true, true> {
    static SHPOOL_METHOD void run(frame<S> &f)
    {
        typedef typename S::type T;
        constexpr int HALF = S::TILE / 2;
        T             x[S::VT];
        T             after;
        const T       before = maker<T>::at(SHARED, static_cast<uint32_t>(HALF + f.tid % HALF));

        SIMT_UNROLLED
        for (int i = 0; i < S::VT; i++) {
            x[i] = f.reg[i];
        }
        shpool::half_smem_transpose<S::NT, S::VT>(x, f.tid, f.shared, f.reg);
        after = f.shared[HALF + f.tid % HALF];
        for (uint32_t i = 0; i < sizeof(T); i++) {
            if (reinterpret_cast<const unsigned char *>(&after)[i] !=
                reinterpret_cast<const unsigned char *>(&before)[i]) {
                f.reg[0] = before;
            }
        }
        if (f.tid < HALF) {
            f.shared[f.tid] = x[0]; /* after four barriers no thread reads it any more */
        }
    }
    static void expect(model<S> &m)
    {
        std::vector<typename S::type> before(m.reg);

        for (long long e = 0; e < S::TILE; e++) {
            m.reg[e] = before[static_cast<size_t>((e % S::NT) * S::VT + e / S::NT)];
        }
    }
};

} // namespace

#endif /* SHPOOL_TESTS_LOADSTORE_PATHS_H */
