/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the layout's tests on the CPU and on a GPU: random shapes, records in which every
 * element encodes its place, and the blocked array by the seed's formula. */
#ifndef SHPOOL_TESTS_LAYOUT_TRIAL_H
#define SHPOOL_TESTS_LAYOUT_TRIAL_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <shpool/layout.h>

namespace
{

const std::size_t   GUARD  = 256;  /* bytes of poison on either side of an array */
const unsigned char POISON = 0xA7;

struct alignas(16) element16 {
    unsigned long long low, high;
};

struct draw {
    unsigned long long state;
    /* 0..below-1; Knuth's MMIX generator */
    unsigned long long operator()(unsigned long long below)
    {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        return (state >> 33) % below;
    }
};

struct shape {
    unsigned long long n;
    uint32_t           m, bd;
};

/* Mostly records of up to 64 words, some far longer, and n with and without a tail. */
shape any_shape(draw &random, unsigned long long most_elements)
{
    shape s;

    s.m  = static_cast<uint32_t>((random(8) == 0) ? 1 + random(700) : 1 + random(64));
    s.bd = static_cast<uint32_t>(32 * (1 + random(32)));
    switch (random(4)) {
    case 0:
        s.n = 1 + random(s.bd); /* one group */
        break;
    case 1:
        s.n = s.bd * (1 + random(6)); /* no tail */
        break;
    default:
        s.n = 1 + random(6ull * s.bd);
        break;
    }
    while (s.n * s.m > most_elements) {
        s.n = (s.n + 1) / 2;
        s.m = (s.m + 1) / 2;
    }
    return s;
}

/* A byte string with poison around, at an address `skew` bytes off a multiple of 256. */
class guarded
{
public:
    guarded(std::size_t bytes, std::size_t skew = 0)
        : bytes_(bytes), store_(bytes + 2 * GUARD + 256 + skew, POISON)
    {
        const std::size_t at = reinterpret_cast<std::size_t>(store_.data()) + GUARD;

        offset_ = GUARD + (256 - at % 256) % 256 + skew;
    }
    unsigned char *data() { return store_.data() + offset_; }
    bool is_intact() const
    {
        for (std::size_t i = 0; i < store_.size(); i++) {
            if (((i < offset_) || (i >= offset_ + bytes_)) && (store_[i] != POISON)) {
                return false;
            }
        }
        return true;
    }

private:
    std::size_t                bytes_;
    std::size_t                offset_;
    std::vector<unsigned char> store_;
};

/* Byte b of the record's element: neighbours in every direction differ. */
unsigned char byte_of(unsigned long long record, uint32_t element, uint32_t b)
{
    const unsigned long long mixed =
        (record * 0x9E3779B97F4A7C15ull) ^ ((element + 1ull) * 0xC2B2AE3D27D4EB4Full);

    return static_cast<unsigned char>((mixed >> 29) + 37u * b);
}

void fill_records(unsigned char *records, const shape &s, uint32_t bytes)
{
    for (unsigned long long r = 0; r < s.n; r++) {
        for (uint32_t i = 0; i < s.m; i++) {
            for (uint32_t b = 0; b < bytes; b++) {
                records[(r * s.m + i) * bytes + b] = byte_of(r, i, b);
            }
        }
    }
}

/* m*indx + i -> m*bd*bx + i*bd + tx; the rest is zero. */
std::vector<unsigned char> blocked_of(const unsigned char *records, const shape &s, uint32_t bytes)
{
    const std::size_t          groups = static_cast<std::size_t>((s.n + s.bd - 1) / s.bd);
    std::vector<unsigned char> blocked(groups * s.m * s.bd * bytes, 0);

    for (std::size_t indx = 0; indx < s.n; indx++) {
        const std::size_t bx = indx / s.bd;
        const std::size_t tx = indx - bx * s.bd;

        for (std::size_t i = 0; i < s.m; i++) {
            std::memcpy(&blocked[(s.m * s.bd * bx + i * s.bd + tx) * bytes],
                        &records[(s.m * indx + i) * bytes], bytes);
        }
    }
    return blocked;
}

} // namespace

#endif /* SHPOOL_TESTS_LAYOUT_TRIAL_H */
