/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/error.hpp
 * C++17: reports failures of the C functions as exceptions.
 */
#ifndef SHPOOL_ERROR_HPP
#define SHPOOL_ERROR_HPP

#include <stdexcept>
#include <string>

#include <shpool/shpool.h>

namespace shpool {

/** A failure: the status and, in what(), also shpool_last_error(). */
class error : public std::runtime_error {
  public:
    explicit error(shpool_status status)
        : std::runtime_error(std::string(shpool_strerror(status)) + ": " + shpool_last_error()),
          status_(status)
    {
    }
    shpool_status status() const noexcept { return status_; }

  private:
    shpool_status status_;
};

/** Throws an error unless the status is SHPOOL_OK. */
inline void check(shpool_status status)
{
    if (status != SHPOOL_OK) {
        throw error(status);
    }
}

} /* namespace shpool */

#endif /* SHPOOL_ERROR_HPP */
