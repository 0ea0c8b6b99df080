/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/compat/util/util.h
 * MGPU's utilities: type names, intrusive_ptr and its base class, errors as exceptions.
 *
 * C++11.  Where MGPU printed a message and ended the process with exit(0), these throw.
 */
#ifndef SHPOOL_COMPAT_UTIL_UTIL_H
#define SHPOOL_COMPAT_UTIL_UTIL_H

#include <algorithm> /* what MGPU's static.h includes, and programs use, */
#include <cassert>
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <list>
#include <map>
#include <memory>
#include <vector>

#include <atomic> /* and what this file needs */
#include <cstddef>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <typeinfo>

#include <shpool/compat/util/cuda_types.h>
#include <shpool/device.h>

/* MGPU's own static.h, if its algorithms are used together with these headers, else its macros. */
#if __has_include(<util/static.h>)
#include <util/static.h>
#elif !defined(MGPU_MIN)
#define MGPU_MIN(x, y) (((x) <= (y)) ? (x) : (y))
#define MGPU_MAX(x, y) (((x) >= (y)) ? (x) : (y))
#define MGPU_MAX0(x) (((x) >= 0) ? (x) : 0)
#define MGPU_ABS(x) (((x) >= 0) ? (x) : -(x))
#define MGPU_DIV_ROUND(x, y) (((x) + (y) / 2) / (y))
#define MGPU_ROUND_UP(x, y) ((y) * (((x) + (y) - 1) / (y)))
#define MGPU_SHIFT_DIV_UP(x, y) (((x) + ((1 << (y)) - 1)) >> (y))
#define MGPU_ROUND_UP_POW2(x, y) (((x) + (y) - 1) & ~((y) - 1))
#define MGPU_ROUND_DOWN_POW2(x, y) ((x) & ~((y) - 1))
#define MGPU_IS_POW_2(x) (0 == ((x) & ((x) - 1)))
#endif
#if !defined(MGPU_DIV_UP)
#define MGPU_DIV_UP(x, y) (((x) + (y) - 1) / (y))
#endif

namespace mgpu {

typedef signed char        int8;
typedef unsigned char      byte;
typedef short              int16;
typedef unsigned short     uint16;
typedef unsigned short     ushort;
typedef unsigned int       uint;
typedef long long          int64;
typedef unsigned long long uint64;

/** A failed call.  For a library call, what() is shpool_last_error(); it also has the status and
 *  the nearest error of CUDA. */
class CudaException : public std::runtime_error {
public:
    CudaException() : CudaException(cudaErrorUnknown) {}
    /** An error of the program itself. */
    CudaException(cudaError_t error_)
        : std::runtime_error("CUDA runtime error " + std::to_string(static_cast<int>(error_))),
          error(error_),
          status(error_ == cudaErrorMemoryAllocation ? SHPOOL_ERR_NO_MEMORY
                 : error_ == cudaErrorInvalidValue   ? SHPOOL_ERR_INVALID
                                                     : SHPOOL_ERR_CUDA)
    {
    }
    CudaException(shpool_status status_, const std::string &detail)
        : std::runtime_error(detail), error(Nearest(status_)), status(status_)
    {
    }

    static cudaError_t Nearest(shpool_status status)
    {
        switch (status) {
        case SHPOOL_OK:            return cudaSuccess;
        case SHPOOL_ERR_NO_MEMORY:
        case SHPOOL_ERR_LIMIT:
        case SHPOOL_ERR_TOO_LARGE: return cudaErrorMemoryAllocation;
        case SHPOOL_ERR_INVALID:   return cudaErrorInvalidValue;
        default:                   return cudaErrorUnknown;
        }
    }

    cudaError_t   error;
    shpool_status status;
};

/** Throw unless the status is SHPOOL_OK. */
inline void Check(shpool_status status)
{
    if (status != SHPOOL_OK) {
        throw CudaException(status, shpool_last_error());
    }
}

/** The same for calls of CUDA's runtime. */
inline void Check(cudaError_t error)
{
    if (error != cudaSuccess) {
        throw CudaException(error);
    }
}

/** Base class.  Unlike in the last versions of MGPU 1.1, classes derived from it cannot be copied
 *  either: a copy of an allocator or of counted memory would free what the original owns. */
class noncopyable {
protected:
    noncopyable() {}
    ~noncopyable() {}
    noncopyable(const noncopyable &) = delete;
    noncopyable &operator=(const noncopyable &) = delete;
};

/** Counted by intrusive_ptr; the count is atomic, objects are not copied. */
class CudaBase : public noncopyable {
public:
    CudaBase() : references_(0) {}
    virtual ~CudaBase() {}

    /** Returns the number of references. */
    virtual long AddRef()
    {
        /* relaxed: the thread that passes a reference on has ordered it */
        return references_.fetch_add(1, std::memory_order_relaxed) + 1;
    }
    /** The last one deletes the object. */
    virtual void Release()
    {
        /* release: this use has ended; acquire: for the last one, all uses have ended */
        if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
            delete this;
        }
    }

private:
    std::atomic<long> references_;
};

inline long intrusive_ptr_add_ref(CudaBase *base) { return base->AddRef(); }
inline void intrusive_ptr_release(CudaBase *base) { base->Release(); }

/** A pointer whose count is in the object itself. */
template <typename T> class intrusive_ptr {
public:
    intrusive_ptr() : p_(nullptr) {}
    /* explicit, as in MGPU: `condition ? pointer : plain` is then a plain pointer */
    explicit intrusive_ptr(T *p) : p_(p) { Add(); }
    intrusive_ptr(const intrusive_ptr &other) : p_(other.p_) { Add(); }
    intrusive_ptr(intrusive_ptr &&other) noexcept : p_(other.p_) { other.p_ = nullptr; }
    template <typename U> intrusive_ptr(const intrusive_ptr<U> &other) : p_(other.get()) { Add(); }
    ~intrusive_ptr()
    {
        if (p_ != nullptr) {
            p_->Release();
        }
    }
    intrusive_ptr &operator=(intrusive_ptr other) noexcept
    {
        swap(other);
        return *this;
    }

    void reset(T *p = nullptr) { intrusive_ptr(p).swap(*this); }
    void swap(intrusive_ptr &other) noexcept
    {
        T *p     = p_;
        p_       = other.p_;
        other.p_ = p;
    }
    /** Pass the reference to the caller, who releases it. */
    T *release()
    {
        T *p = p_;
        p_   = nullptr;
        return p;
    }
    T *get() const { return p_; }
    T *operator->() const { return p_; }
    T &operator*() const { return *p_; }
    operator T *() const { return p_; }

private:
    void Add()
    {
        if (p_ != nullptr) {
            p_->AddRef();
        }
    }

    T *p_;
};

/** The library's element type for a C++ type; opaque for types that are neither integer nor
 *  float. */
template <typename T> inline shpool_type ElementType()
{
    return std::is_floating_point<T>::value && (sizeof(T) <= 8)
               ? (sizeof(T) == 4 ? SHPOOL_TYPE_F32 : SHPOOL_TYPE_F64)
           : !std::is_integral<T>::value ? SHPOOL_TYPE_OPAQUE(sizeof(T))
           : std::is_signed<T>::value    ? (SHPOOL_TYPE_I8 - 1 + (shpool_type)sizeof(T))
                                         : (SHPOOL_TYPE_U8 - 1 + (shpool_type)sizeof(T));
}

/** "int", "float", ...; the compiler's name for other types. */
inline const char *TypeIdString(const std::type_info &type)
{
    return type == typeid(char)     ? "char"
           : type == typeid(byte)   ? "byte"
           : type == typeid(short)  ? "short"
           : type == typeid(ushort) ? "ushort"
           : type == typeid(int)    ? "int"
           : type == typeid(int64)  ? "int64"
           : type == typeid(uint)   ? "uint"
           : type == typeid(uint64) ? "uint64"
           : type == typeid(float)  ? "float"
           : type == typeid(double) ? "double"
                                    : type.name();
}
template <typename T> inline const char *TypeIdName() { return TypeIdString(typeid(T)); }

} // namespace mgpu

#endif /* SHPOOL_COMPAT_UTIL_UTIL_H */
