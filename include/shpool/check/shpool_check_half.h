/* SPDX-License-Identifier: BSD-3-Clause */
/* Floating point of 16 bits, for cuda_fp16.h and cuda_bf16.h: each operation rounds a float's. */
#ifndef SHPOOL_CHECK_HALF_H
#define SHPOOL_CHECK_HALF_H

#include "cuda_runtime.h"

namespace shpool_checker {

/* A float's bits with `exponent` and `mantissa` bits, rounded to nearest even. */
template <int exponent, int mantissa> inline uint16_t narrow(float value)
{
    constexpr int bias = (1 << (exponent - 1)) - 1;
    uint32_t      bits;
    int           shift = 23 - mantissa;
    int           e;
    uint32_t      m;

    memcpy(&bits, &value, 4);
    const uint16_t sign = (uint16_t)((bits >> 31) << 15);
    e = (int)((bits >> 23) & 0xff) - 127 + bias;
    m = bits & 0x7fffffu;
    if (((bits >> 23) & 0xff) == 0xff) { /* infinity, NaN */
        return (uint16_t)(sign | (((1 << exponent) - 1) << mantissa) |
                          ((m != 0) ? 1 << (mantissa - 1) : 0));
    }
    if (e <= 0) {
        if (e < -mantissa) {
            return sign;
        }
        m      = m | 0x800000u; /* subnormal: the leading one is stored */
        shift += 1 - e;
        e      = 0;
    }
    const uint32_t half = 1u << (shift - 1);
    uint32_t       r    = ((uint32_t)e << mantissa) + (m >> shift);
    const uint32_t rest = m & ((1u << shift) - 1u);

    r += (rest > half) || ((rest == half) && ((r & 1u) != 0));
    return (uint16_t)(sign | ((r < ((1u << exponent) - 1u) << mantissa)
                                  ? r : ((1u << exponent) - 1u) << mantissa));
}

template <int exponent, int mantissa> inline float widen(uint16_t bits)
{
    constexpr int bias = (1 << (exponent - 1)) - 1;
    const int     e    = (bits >> mantissa) & ((1 << exponent) - 1);
    const int     m    = bits & ((1 << mantissa) - 1);
    float         v    = (e == (1 << exponent) - 1) ? ((m != 0) ? NAN : INFINITY)
                         : (e == 0) ? ldexpf((float)m, 1 - bias - mantissa)
                                    : ldexpf((float)(m | (1 << mantissa)), e - bias - mantissa);

    return ((bits & 0x8000) != 0) ? -v : v;
}

template <int exponent, int mantissa> struct half {
    uint16_t x;

    half() = default;
    half(float v) : x(narrow<exponent, mantissa>(v)) {}
    half(double v) : half((float)v) {}
    half(int v) : half((float)v) {}
    half(unsigned v) : half((float)v) {}
    operator float() const { return widen<exponent, mantissa>(x); }
    half &operator+=(half v) { return *this = half((float)*this + (float)v); }
    half &operator-=(half v) { return *this = half((float)*this - (float)v); }
    half &operator*=(half v) { return *this = half((float)*this * (float)v); }
    half &operator/=(half v) { return *this = half((float)*this / (float)v); }
    friend half operator+(half a, half b) { return half((float)a + (float)b); }
    friend half operator-(half a, half b) { return half((float)a - (float)b); }
    friend half operator*(half a, half b) { return half((float)a * (float)b); }
    friend half operator/(half a, half b) { return half((float)a / (float)b); }
    friend half operator-(half a) { return half(-(float)a); }
    friend bool operator<(half a, half b) { return (float)a < (float)b; }
    friend bool operator>(half a, half b) { return (float)a > (float)b; }
    friend bool operator<=(half a, half b) { return (float)a <= (float)b; }
    friend bool operator>=(half a, half b) { return (float)a >= (float)b; }
    friend bool operator==(half a, half b) { return (float)a == (float)b; }
    friend bool operator!=(half a, half b) { return (float)a != (float)b; }
};
template <typename T> struct alignas(4) half2 {
    T x, y;

    half2() = default;
    half2(T a, T b) : x(a), y(b) {}
    friend half2 operator+(half2 a, half2 b) { return {a.x + b.x, a.y + b.y}; }
    friend half2 operator-(half2 a, half2 b) { return {a.x - b.x, a.y - b.y}; }
    friend half2 operator*(half2 a, half2 b) { return {a.x * b.x, a.y * b.y}; }
    half2 &operator+=(half2 v) { return *this = *this + v; }
};
}

/* The functions of both types, by the names of one. */
#define SHPOOL_CHECK_HALF(_h, _h2, _name, _name2) \
    inline float __##_name##2float(_h a) { return a; } \
    inline _h __float2##_name(float a) { return a; } \
    inline _h __float2##_name##_rn(float a) { return a; } \
    inline _h __double2##_name(double a) { return a; } \
    inline _h __int2##_name##_rn(int a) { return a; } \
    inline int __##_name##2int_rn(_h a) { return (int)nearbyintf(a); } \
    inline int __##_name##2int_rz(_h a) { return (int)(float)a; } \
    inline _h2 __##_name##2##_name2(_h a) { return {a, a}; } \
    inline _h2 __floats2##_name2##_rn(float a, float b) { return {a, b}; } \
    inline _h2 __float2##_name2##_rn(float a) { return {a, a}; } \
    inline _h2 __float22##_name2##_rn(float2 a) { return {a.x, a.y}; } \
    inline float2 __##_name2##2float2(_h2 a) { return {a.x, a.y}; } \
    inline float __low2float(_h2 a) { return a.x; } \
    inline float __high2float(_h2 a) { return a.y; } \
    inline _h __low2##_name(_h2 a) { return a.x; } \
    inline _h __high2##_name(_h2 a) { return a.y; } \
    inline _h2 __halves2##_name2(_h a, _h b) { return {a, b}; } \
    inline _h2 make_##_name2(_h a, _h b) { return {a, b}; } \
    inline _h __ushort_as_##_name(unsigned short a) { return shpool_check_bits<_h>(a); } \
    inline unsigned short __##_name##_as_ushort(_h a) { return a.x; } \
    inline _h __hadd(_h a, _h b) { return a + b; } \
    inline _h __hsub(_h a, _h b) { return a - b; } \
    inline _h __hmul(_h a, _h b) { return a * b; } \
    inline _h __hdiv(_h a, _h b) { return a / b; } \
    inline _h __hneg(_h a) { return -a; } \
    inline _h __habs(_h a) { return _h(fabsf(a)); } \
    inline _h __hmax(_h a, _h b) { return (a > b) ? a : b; } \
    inline _h __hmin(_h a, _h b) { return (a < b) ? a : b; } \
    inline _h __hfma(_h a, _h b, _h c) { return _h(fmaf(a, b, c)); } \
    inline bool __hgt(_h a, _h b) { return a > b; } \
    inline bool __hlt(_h a, _h b) { return a < b; } \
    inline bool __heq(_h a, _h b) { return a == b; } \
    inline bool __hisnan(_h a) { return std::isnan((float)a); } \
    inline _h hexp(_h a) { return _h(expf(a)); } \
    inline _h hsqrt(_h a) { return _h(sqrtf(a)); } \
    inline _h htanh(_h a) { return _h(tanhf(a)); } \
    inline _h2 __hadd2(_h2 a, _h2 b) { return a + b; } \
    inline _h2 __hsub2(_h2 a, _h2 b) { return a - b; } \
    inline _h2 __hmul2(_h2 a, _h2 b) { return a * b; } \
    inline _h2 __hneg2(_h2 a) { return {-a.x, -a.y}; } \
    inline _h2 __hfma2(_h2 a, _h2 b, _h2 c) \
    { \
        return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; \
    }

#endif /* SHPOOL_CHECK_HALF_H */
