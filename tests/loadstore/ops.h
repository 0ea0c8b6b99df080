/* SPDX-License-Identifier: BSD-3-Clause */
/* The operations of loadstore.cuh as trials: the call, and the plain loop that defines it. */
#ifndef SHPOOL_TESTS_LOADSTORE_OPS_H
#define SHPOOL_TESTS_LOADSTORE_OPS_H

#include "trial.h"

namespace {

template <typename T> SHPOOL_HOST_METHOD T init_value()
{
    return maker<T>::at(INIT, 0);
}

/* ---- strided registers ---- */
template <typename S> struct op_shared_to_reg : operation<S, REG, true, true> {
    static SHPOOL_METHOD void run(frame<S> &f)
    {
        SYNCED(f, (shpool::shared_to_reg<S::NT, S::VT>), f.shared, f.tid, f.reg);
    }
    static void expect(model<S> &m)
    {
        for (long long e = 0; e < S::TILE; e++) {
            m.strided(e) = m.shared[e];
        }
    }
};
template <typename S> struct op_shared_to_reg_counted : operation<S, REG, true, true> {
    static SHPOOL_METHOD void run(frame<S> &f)
    {
        SYNCED(f, (shpool::shared_to_reg<S::NT, S::VT>), f.count, f.shared, f.tid, f.reg);
    }
    static void expect(model<S> &m)
    {
        for (long long e = 0; e < m.n(); e++) {
            m.strided(e) = m.shared[e];
        }
    }
};

/* Operations that load the existing elements in strided order. */
template <typename S> struct load_op : operation<S, REG, false> {
    static void expect(model<S> &m)
    {
        for (long long e = 0; e < m.n(); e++) {
            m.strided(e) = m.in[e];
        }
    }
};
template <typename S> struct fill_op : operation<S, REG, false> {
    static void expect(model<S> &m)
    {
        for (long long e = 0; e < S::TILE; e++) {
            m.strided(e) = (e < m.count) ? m.in[e] : init_value<typename S::type>();
        }
    }
};
template <typename S> struct op_global_to_reg : load_op<S> {
    static SHPOOL_METHOD void run(frame<S> &f)
    {
        SYNCED(f, (shpool::global_to_reg<S::NT, S::VT>), f.count, load_op<S>::via::from(f.in),
               f.tid, f.reg);
    }
};
template <typename S> struct op_global_to_reg_pred : load_op<S> {
    static SHPOOL_METHOD void run(frame<S> &f)
    {
        SYNCED(f, (shpool::global_to_reg_pred<S::NT, S::VT>), f.count, load_op<S>::via::from(f.in),
               f.tid, f.reg);
    }
};
template <typename S> struct op_global_to_reg2 : load_op<S> {
    static SHPOOL_METHOD void run(frame<S> &f)
    {
        SYNCED(f, (shpool::global_to_reg2<S::NT, S::VT / 2, S::VT>), f.count,
               load_op<S>::via::from(f.in), f.tid, f.reg);
    }
};
template <typename S> struct op_global_to_reg_loop : load_op<S> {
    static SHPOOL_METHOD void run(frame<S> &f)
    {
        SYNCED(f, (shpool::global_to_reg_loop<S::NT, S::VT>), f.count, load_op<S>::via::from(f.in),
               f.tid, f.reg);
    }
};
template <typename S> struct op_global_to_reg_default : fill_op<S> {
    static SHPOOL_METHOD void run(frame<S> &f)
    {
        SYNCED(f, (shpool::global_to_reg_default<S::NT, S::VT>), f.count,
               fill_op<S>::via::from(f.in), f.tid, f.reg, init_value<typename S::type>());
    }
};
template <typename S> struct op_global_to_reg_default2 : fill_op<S> {
    static SHPOOL_METHOD void run(frame<S> &f)
    {
        SYNCED(f, (shpool::global_to_reg_default2<S::NT, (S::VT + 1) / 2, S::VT>), f.count,
               fill_op<S>::via::from(f.in), f.tid, f.reg, init_value<typename S::type>());
    }
};
template <typename S> struct op_reg_to_shared : operation<S, SHARED, true> {
    static SHPOOL_METHOD void run(frame<S> &f)
    {
        SYNCED(f, (shpool::reg_to_shared<S::NT, S::VT>), f.reg, f.tid, f.shared);
    }
    static void expect(model<S> &m)
    {
        for (long long e = 0; e < S::TILE; e++) {
            m.shared[e] = m.strided(e);
        }
    }
};
template <typename S> struct op_reg_to_global : operation<S, OUT, false> {
    static SHPOOL_METHOD void run(frame<S> &f)
    {
        SYNCED(f, (shpool::reg_to_global<S::NT, S::VT>), f.count, f.reg, f.tid,
               op_reg_to_global::via::to(f.out));
    }
    static void expect(model<S> &m)
    {
        for (long long e = 0; e < m.n(); e++) {
            m.out[e] = m.strided(e);
        }
    }
};

/* ---- gather, scatter, merge ---- */
template <typename S> struct op_gather : operation<S, REG, true, false, true> {
    static SHPOOL_METHOD void run(frame<S> &f)
    {
        SYNCED(f, (shpool::gather<S::NT, S::VT>), f.count, op_gather::via::from(f.in), f.indices,
               f.tid, f.reg);
    }
    static void expect(model<S> &m)
    {
        for (long long e = 0; e < m.n(); e++) {
            m.strided(e) = m.in[m.indices[e]];
        }
    }
};
template <typename S> struct op_gather_default : operation<S, REG, true, false, true> {
    static SHPOOL_METHOD void run(frame<S> &f)
    {
        SYNCED(f, (shpool::gather_default<S::NT, S::VT>), f.count,
               op_gather_default::via::from(f.in), f.indices, f.tid, f.reg,
               init_value<typename S::type>());
    }
    static void expect(model<S> &m)
    {
        for (long long e = 0; e < S::TILE; e++) {
            m.strided(e) = (e < m.count) ? m.in[m.indices[e]] : init_value<typename S::type>();
        }
    }
};
template <typename S> struct op_scatter : operation<S, OUT, true, false, true> {
    static SHPOOL_METHOD void run(frame<S> &f)
    {
        SYNCED(f, (shpool::scatter<S::NT, S::VT>), f.count, f.reg, f.tid, f.indices,
               op_scatter::via::to(f.out));
    }
    static void expect(model<S> &m)
    {
        for (long long e = 0; e < m.n(); e++) {
            m.out[m.indices[e]] = m.strided(e);
        }
    }
};
template <typename S> struct op_gather_global_to_global : operation<S, OUT, true, false, true> {
    static SHPOOL_METHOD void run(frame<S> &f)
    {
        SYNCED(f, (shpool::gather_global_to_global<S::NT, S::VT>), f.count,
               op_gather_global_to_global::via::from(f.in), f.shared_indices, f.tid,
               op_gather_global_to_global::via::to(f.out));
    }
    static void expect(model<S> &m)
    {
        for (long long e = 0; e < m.n(); e++) {
            m.out[e] = m.in[m.indices[e]];
        }
    }
};

/* Element e of a followed by b. */
template <typename S> typename S::type both(const model<S> &m, long long e)
{
    return (e < m.count) ? m.in[e] : m.in2[e - m.count];
}
template <typename S> long long tile_of_both(const model<S> &m)
{
    return (m.count + m.count2 < S::TILE) ? m.count + m.count2 : S::TILE;
}
template <typename S>
struct op_load2_to_reg : operation<S, REG, false, false, false, false, true> {
    static SHPOOL_METHOD void run(frame<S> &f)
    {
        SYNCED(f, (shpool::load2_to_reg<S::NT, S::VT / 2, S::VT>), op_load2_to_reg::via::from(f.in),
               f.count, op_load2_to_reg::via::from(f.in2), f.count2, f.tid, f.reg);
    }
    static void expect(model<S> &m)
    {
        for (long long e = 0; e < tile_of_both(m); e++) {
            m.strided(e) = both(m, e);
        }
    }
};
template <typename S>
struct op_load2_to_shared : operation<S, SHARED, true, false, false, false, true> {
    static SHPOOL_METHOD void run(frame<S> &f)
    {
        SYNCED(f, (shpool::load2_to_shared<S::NT, (S::VT + 1) / 2, S::VT>), f.in, f.count,
               op_load2_to_shared::via::from(f.in2), f.count2, f.tid, f.shared);
    }
    static void expect(model<S> &m)
    {
        for (long long e = 0; e < tile_of_both(m); e++) {
            m.shared[e] = both(m, e);
        }
    }
};
/* Here count is a's, and the tile has the elements of both that the indexes select. */
template <typename S>
struct op_transfer_merge_reg : operation<S, REG, false, false, true, false, true> {
    static SHPOOL_METHOD void run(frame<S> &f)
    {
        SYNCED(f, (shpool::transfer_merge_reg<S::NT, S::VT>), f.count + f.count2,
               op_transfer_merge_reg::via::from(f.in), op_transfer_merge_reg::via::from(f.in2),
               f.count, f.indices, f.tid, f.reg);
    }
    static void expect(model<S> &m)
    {
        for (long long e = 0; e < tile_of_both(m); e++) {
            m.strided(e) = both(m, m.indices[e]);
        }
    }
};
template <typename S>
struct op_transfer_merge_shared : operation<S, OUT, true, false, true, false, true> {
    static SHPOOL_METHOD void run(frame<S> &f)
    {
        SYNCED(f, (shpool::transfer_merge_shared<S::NT, S::VT>), f.count + f.count2,
               op_transfer_merge_shared::via::from(f.in), f.in2, f.count, f.shared_indices, f.tid,
               op_transfer_merge_shared::via::to(f.out));
    }
    static void expect(model<S> &m)
    {
        for (long long e = 0; e < tile_of_both(m); e++) {
            m.out[e] = both(m, m.indices[e]);
        }
    }
};

} // namespace

#endif /* SHPOOL_TESTS_LOADSTORE_OPS_H */
