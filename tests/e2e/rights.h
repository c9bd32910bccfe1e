// What the extender may do, and what it has asked for: the API server writes down each of its
// calls. A right is "VERB RESOURCE", as "patch pods/status" or, in another API group, "get
// jobs.batch".
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace pinion::e2e {

// A Role's rules without the right that PINION_E2E_WITHOUT_RIGHT names; all, where that is not set.
nlohmann::json granted(const nlohmann::json& rules);

// Flags of the API server that writes down what `user` calls, in `folder`. Errors: as write_file().
Result<std::vector<std::string>> flags_to_note_calls(const std::string& folder,
                                                     const std::string& user);
// Bytes that it has written.
std::uintmax_t noted_calls(const std::string& folder);
// The rights that the user lacked for a call that was therefore denied, but for calls between these
// bytes: an API server that starts again denies all until it has read the rights.
std::set<std::string> denied(const std::string& folder,
                             const std::vector<std::pair<std::uintmax_t, std::uintmax_t>>& but);

}  // namespace pinion::e2e
