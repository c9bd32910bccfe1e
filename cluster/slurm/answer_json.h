// What all answers in JSON of Slurm's commands have in common.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace pinion::slurm {

// The list of this name. Slurm writes texts as users gave them: what is no UTF-8 becomes '?'.
// Errors: kUnavailable for what is no such answer, is cut off, or says what went wrong.
Result<nlohmann::json> list_of_answer(std::string_view text, const char* name);

// The words of a list, or of a text, parted by commas; later versions write lists.
[[nodiscard]] std::vector<std::string> words_of(const nlohmann::json& value);

}  // namespace pinion::slurm
