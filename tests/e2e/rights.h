// What the extender may do, and what it has asked for: the API server writes down each of its
// calls. A right is "VERB RESOURCE", as "patch pods/status" or, in another API group, "get
// jobs.batch".
#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"

namespace pinion::e2e {

// A Role's rules without the right that PINION_E2E_WITHOUT_RIGHT names; all, where that is not set.
nlohmann::json granted(const nlohmann::json& rules);

// Flags of the API server that writes down what `user` calls, in `folder`. Errors: as write_file().
Result<std::vector<std::string>> flags_to_note_calls(const std::string& folder,
                                                     const std::string& user);
// The rights that the user lacked for a call that was therefore denied.
std::set<std::string> denied(const std::string& folder);

}  // namespace pinion::e2e
