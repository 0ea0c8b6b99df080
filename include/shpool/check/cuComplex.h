/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHPOOL_CHECK_CUCOMPLEX_H
#define SHPOOL_CHECK_CUCOMPLEX_H

#include "cuda_runtime.h"

typedef float2  cuFloatComplex;
typedef double2 cuDoubleComplex;
typedef cuFloatComplex cuComplex;

#define SHPOOL_CHECK_COMPLEX(_type, _real, _f, _make, _hypot) \
    inline _type _make(_real x, _real y) { return {x, y}; } \
    inline _real cuCreal##_f(_type a) { return a.x; } \
    inline _real cuCimag##_f(_type a) { return a.y; } \
    inline _type cuConj##_f(_type a) { return {a.x, -a.y}; } \
    inline _type cuCadd##_f(_type a, _type b) { return {a.x + b.x, a.y + b.y}; } \
    inline _type cuCsub##_f(_type a, _type b) { return {a.x - b.x, a.y - b.y}; } \
    inline _type cuCmul##_f(_type a, _type b) \
    { \
        return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; \
    } \
    inline _type cuCdiv##_f(_type a, _type b) \
    { \
        const _real s = b.x * b.x + b.y * b.y; \
        return {(a.x * b.x + a.y * b.y) / s, (a.y * b.x - a.x * b.y) / s}; \
    } \
    inline _type cuCfma##_f(_type a, _type b, _type c) { return cuCadd##_f(cuCmul##_f(a, b), c); } \
    inline _real cuCabs##_f(_type a) { return _hypot(a.x, a.y); }
SHPOOL_CHECK_COMPLEX(cuFloatComplex, float, f, make_cuFloatComplex, hypotf)
SHPOOL_CHECK_COMPLEX(cuDoubleComplex, double, , make_cuDoubleComplex, hypot)
#undef SHPOOL_CHECK_COMPLEX
inline cuComplex make_cuComplex(float x, float y) { return {x, y}; }
inline cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex a) { return {a.x, a.y}; }
inline cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex a) { return {(float)a.x, (float)a.y}; }

#endif /* SHPOOL_CHECK_CUCOMPLEX_H */
