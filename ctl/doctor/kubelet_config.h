// What a kubelet is told, as text: its configuration file, files of its drop-in folder, flags.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "ctl/doctor/facts.h"

namespace pinion::ctl::doctor {

// Sets what a KubeletConfiguration states, on top of what is there: JSON is YAML, too. Other keys
// are passed over. Errors: kInvalid for text that is no YAML map, and for CPUs or amounts that are
// none, naming the key.
Status apply_kubelet_config(const std::string& text, KubeletSettings& settings);

// The same for its command line, whose flags win. Errors: kInvalid, naming the flag.
Status apply_kubelet_flags(const std::vector<std::string>& arguments, KubeletSettings& settings);

// policyName of the kubelet's cpu_manager_state. Errors: kInvalid.
Result<std::string> policy_of_state(const std::string& text);

}  // namespace pinion::ctl::doctor
