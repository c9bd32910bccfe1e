// Kubernetes quantities: "500m", "1.5Gi", "1e3".
#pragma once

#include <cstdint>
#include <string_view>

#include "base/error.h"

namespace pinion {

// The text's value in thousandths, or in whole units, fractions rounded away from zero as
// resource.Quantity does in MilliValue() and Value() ("100n" is 1 thousandth). The grammar is that
// of k8s.io/apimachinery/pkg/api/resource: a sign or none, decimal digits with at most one point,
// then n, u, m, k, M, G, T, P or E (powers of ten), Ki, Mi, Gi, Ti, Pi or Ei (of two), e or E with
// a decimal exponent, or nothing. Errors: kInvalid for anything else (a text without any digit is
// refused here, Go reads it as 0), for more than 256 characters or 19 significant digits, and for
// values beyond 64 bits, which Go caps.
Result<std::int64_t> milli_quantity(std::string_view text);
Result<std::int64_t> whole_quantity(std::string_view text);

// The same of what an API server has taken, as Go reads it: values beyond 64 bits are the largest
// or smallest that these hold, and of digits beyond the 19th the last one is rounded away from
// zero.
Result<std::int64_t> capped_milli_quantity(std::string_view text);
Result<std::int64_t> capped_whole_quantity(std::string_view text);

// An amount of bytes: as whole_quantity(), and none below zero.
Result<std::uint64_t> byte_quantity(std::string_view text);

}  // namespace pinion
