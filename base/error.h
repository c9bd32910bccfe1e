// Errors as values. Every fallible function returns Result<T>; a caller that passes an error on
// adds one phrase of context, so the text reads from the outermost action to the innermost cause:
// "start agent: read config: line 3: unknown key 'reservedCpu'".
#pragma once

#include <cerrno>
#include <cstring>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace pinion {

enum class Errc {
  kInvalid,      // the input is wrong: a human has to change it
  kNotFound,     // the named thing does not exist
  kExhausted,    // a limit or a resource is used up
  kUnavailable,  // try again later
  kDenied,       // permission
  kConflict,     // somebody else was first: read again and decide anew
  kGone,         // a position in a history that is not kept any more: start from the present
  kInternal,     // a defect of ours
};

struct Error {
  Errc code = Errc::kInternal;
  int sys_errno = 0;  // 0 when no system call was involved
  std::string text;

  // The same error, seen from one level further out.
  [[nodiscard]] Error within(const std::string& phrase) && {
    text = phrase + ": " + text;
    return std::move(*this);
  }
  [[nodiscard]] Error within(const std::string& phrase) const& {
    return Error(*this).within(phrase);
  }
};

template <class T>
struct [[nodiscard]] Result : tl::expected<T, Error> {
  using tl::expected<T, Error>::expected;
};

using Status = Result<void>;

inline tl::unexpected<Error> failure(Errc code, std::string text) {
  return tl::unexpected<Error>(Error{.code = code, .sys_errno = 0, .text = std::move(text)});
}

inline tl::unexpected<Error> failure(Error error) {
  return tl::unexpected<Error>(std::move(error));
}

// A failed system call: "<what>: <strerror>", the code chosen from errno.
inline tl::unexpected<Error> sys_failure(const std::string& what, int sys_errno = errno) {
  Errc code = Errc::kUnavailable;
  if (sys_errno == ENOENT || sys_errno == ENODEV) code = Errc::kNotFound;
  if (sys_errno == EACCES || sys_errno == EPERM || sys_errno == EROFS) code = Errc::kDenied;
  if (sys_errno == EINVAL) code = Errc::kInvalid;
  return tl::unexpected<Error>(
      Error{.code = code, .sys_errno = sys_errno, .text = what + ": " + std::strerror(sys_errno)});
}

}  // namespace pinion
