/* SPDX-License-Identifier: BSD-3-Clause */
/* The host's side of the trials of loadstore/trial.h: arguments, drawn by a seed, and expected
 * results.  A file that includes this must first define machine_run():
 *
 *   template <typename Op> bool machine_run(const job &j, trial t, std::vector<unsigned char> *out)
 *       runs the kernel of Op over copies of j's buffers at addresses that are congruent modulo 16
 *       to their shifts; t has all but the addresses.  False: it did not end well (and said so).
 *   void report(const std::string &what)   of a trial that failed
 */
#ifndef SHPOOL_TESTS_LOADSTORE_RUN_H
#define SHPOOL_TESTS_LOADSTORE_RUN_H

#include "trial.h"

namespace {

/* A splitmix generator: the same numbers everywhere. */
struct dice {
    unsigned long long state;

    uint32_t operator()(uint32_t below)
    {
        unsigned long long z = (state += 0x9e3779b97f4a7c15ull);

        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
        return static_cast<uint32_t>(((z ^ (z >> 31)) >> 16) % below);
    }
};

/* The data that the machine copies to its kernel's buffers. */
struct job {
    std::vector<unsigned char> in, in2, out;
    std::vector<int>           indices;
    uint32_t in_shift, in2_shift, out_shift; /* addresses modulo 16 */
    uint32_t threads;
    uint32_t dynamic_bytes;
    unsigned long long seed;
};

template <typename Op>
bool machine_run(const job &j, trial t, std::vector<unsigned char> *out);
void report(const std::string &what);

template <typename T> void put(std::vector<unsigned char> &bytes, size_t at, const T &value)
{
    memcpy(&bytes[at], static_cast<const void *>(&value), sizeof(T));
}
template <typename T> std::vector<T> values(place where, long long count)
{
    std::vector<T> all(static_cast<size_t>(count));

    for (size_t i = 0; i < all.size(); i++) {
        all[i] = maker<T>::at(where, static_cast<uint32_t>(i));
    }
    return all;
}
template <typename T> std::vector<unsigned char> bytes_of_all(const std::vector<T> &all)
{
    std::vector<unsigned char> bytes(all.size() * sizeof(T));

    for (size_t i = 0; i < all.size(); i++) {
        put(bytes, i * sizeof(T), all[i]);
    }
    return bytes;
}

/* A count around every border that a tile has. */
template <typename S> long long draw_count(dice &roll, bool any_count)
{
    const long long borders[] = {0, 1, S::NT - 1, S::NT, S::TILE - 1, S::TILE, S::TILE + 1,
                                 S::TILE - S::VT, 32 * S::VT, 5ll * S::TILE,
                                 3ll * S::NT, 3ll * S::NT + 1};
    const long long most      = any_count ? 3ll * S::TILE + 40 : S::TILE;

    switch (roll(4)) {
    case 0: return S::TILE;
    case 1: return borders[roll(12)];
    default: return roll(static_cast<uint32_t>(most + 1));
    }
}

/* Address of a buffer modulo 16: half of the time the same as the other one's. */
template <typename T> uint32_t draw_shift(dice &roll, uint32_t like)
{
    constexpr uint32_t align = (alignof(T) < 16) ? alignof(T) : 16;

    switch (roll(4)) {
    case 0: return 0;
    case 1: return like;
    default: return roll(16 / align) * align;
    }
}

template <typename Op> struct draw {
    typedef typename Op::shape S;
    typedef typename S::type   T;
    model<S> m;
    job      j;
    trial    t;

    explicit draw(unsigned long long seed)
    {
        dice roll = {seed};
        long long slots = S::TILE;

        m.count  = draw_count<S>(roll, Op::any_count);
        m.count2 = Op::two ? draw_count<S>(roll, false) : 0;
        if (Op::two && (roll(2) == 0) && (m.count < S::TILE)) {
            m.count2 = S::TILE - m.count; /* both together fill the tile */
        }
        j.in_shift     = draw_shift<T>(roll, 0);
        j.in2_shift    = draw_shift<T>(roll, j.in_shift);
        j.out_shift    = draw_shift<T>(roll, j.in_shift);
        t.shared_shift = draw_shift<T>(roll, Op::reads_shared ? j.out_shift : j.in_shift);
        t.sync         = static_cast<int>(roll(3));
        t.count        = m.count;
        t.count2       = m.count2;
        t.shared_bytes = 2 * GUARD + 16u;
        if (Op::reads_shared || (Op::writes == SHARED)) {
            t.shared_bytes += (S::TILE * static_cast<uint32_t>(sizeof(T)) + 15u) & ~15u;
        }
        if (Op::any_count && (m.count > slots)) {
            slots = m.count;
        }
        draw_values(roll, slots);
        draw_indices(roll);
        j.in            = bytes_of_all(m.in);
        j.in2           = bytes_of_all(m.in2);
        j.out           = image();
        j.threads       = S::NT;
        t.notes         = t.shared_bytes + (Op::reads_indices ? S::TILE * 4u : 0u) + 16u;
        j.dynamic_bytes = t.notes + S::NT * 4u;
        j.seed          = seed;
        if (Op::writes != OUT) {
            j.out_shift = 0;
        }
    }

    void draw_values(dice &roll, long long slots)
    {
        const bool      whole = Op::reads_indices && !Op::two;
        const long long n     = whole ? 2 * S::TILE + roll(99)
                                      : (Op::any_count || Op::two || (m.count < S::TILE)) ? m.count
                                                                                         : S::TILE;

        m.in     = values<T>(IN, n);
        m.in2    = values<T>(IN2, m.count2);
        m.shared = values<T>(SHARED, S::TILE);
        m.reg    = values<T>(REG, S::TILE);
        m.out    = values<T>(OUT, slots);
    }

    /* Distinct indexes for the elements that exist; invalid ones past them. */
    void draw_indices(dice &roll)
    {
        const long long all  = Op::two ? m.count + m.count2 : S::TILE;
        const long long used = (all < S::TILE) ? all : S::TILE;
        const long long n    = Op::two ? used : m.n();
        std::vector<int> order(static_cast<size_t>(all));

        for (size_t i = 0; i < order.size(); i++) {
            order[i] = static_cast<int>(i);
        }
        for (size_t i = order.size(); i > 1; i--) {
            std::swap(order[i - 1], order[roll(static_cast<uint32_t>(i))]);
        }
        m.indices.assign(S::TILE, 0x7fffffff);
        for (size_t i = 0; i < static_cast<size_t>(n); i++) {
            m.indices[i] = order[i];
        }
        j.indices = m.indices;
    }

    /* All bytes that the kernel writes out, as the model has them. */
    std::vector<unsigned char> image() const
    {
        const std::vector<T> &from = (Op::writes == OUT) ? m.out
                                     : (Op::writes == REG) ? m.reg : m.shared;
        const size_t inner = from.size() * sizeof(T);
        const size_t front = (Op::writes == REG) ? 0
                             : (Op::writes == OUT) ? GUARD : GUARD + t.shared_shift;
        const size_t total = (Op::writes == REG) ? inner
                             : (Op::writes == OUT) ? inner + 2 * GUARD : t.shared_bytes;
        std::vector<unsigned char> bytes(total);

        for (size_t k = 0; k < total; k++) {
            bytes[k] = poison(static_cast<uint32_t>(k));
        }
        for (size_t i = 0; i < from.size(); i++) {
            put(bytes, front + i * sizeof(T), from[i]);
        }
        return bytes;
    }
};

/* One trial.  True: every byte is right. */
template <typename Op> bool check(const char *name, unsigned long long seed)
{
    typedef typename Op::shape S;
    draw<Op>                   d(seed);
    std::vector<unsigned char> found;
    std::vector<unsigned char> expected;
    char                       text[400];

    std::snprintf(text, sizeof(text),
                  "%s<NT %d, VT %d>, %zu-byte elements, path %d, source %d, count %lld + %lld, "
                  "in %% 16 = %u, out %% 16 = %u, shared + %u, sync %d, seed %llu",
                  name, S::NT, S::VT, sizeof(typename S::type), static_cast<int>(S::path),
                  static_cast<int>(S::via), d.m.count, d.m.count2, d.j.in_shift, d.j.out_shift,
                  d.t.shared_shift, d.t.sync, seed);
    if (!machine_run<Op>(d.j, d.t, &found)) {
        report(std::string(text) + ": not so: it did not end, or not in step");
        return false;
    }
    Op::expect(d.m);
    expected = d.image();
    for (size_t k = 0; k < expected.size(); k++) {
        if ((found.size() != expected.size()) || (found[k] != expected[k])) {
            char more[100];

            std::snprintf(more, sizeof(more), ": not so: byte %zu of %zu is %02x, not %02x", k,
                          expected.size(), (k < found.size()) ? found[k] : 0, expected[k]);
            report(std::string(text) + more);
            return false;
        }
    }
    return true;
}

/* `rounds` trials of an operation for each of the shapes; how many failed. */
template <template <typename> class Op, typename... Shapes>
unsigned check_all(const char *name, unsigned rounds, unsigned long long seed = 1)
{
    unsigned failed = 0;

    for (unsigned i = 0; i < rounds; i++) {
        ((failed += !check<Op<Shapes>>(name, seed * 1000003u + i * 101u + Shapes::TILE)), ...);
    }
    return failed;
}

} // namespace

#endif /* SHPOOL_TESTS_LOADSTORE_RUN_H */
