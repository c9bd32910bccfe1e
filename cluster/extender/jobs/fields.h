// Small steps through a job object. Private to the folder.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/error.h"

namespace pinion::cluster::jobs {

using nlohmann::json;
using Pointer = json::json_pointer;

// As people write it: "spec.tasks[1].template".
[[nodiscard]] std::string shown(const Pointer& at);

// What stands there; null when nothing does, or the JSON null.
[[nodiscard]] const json* find(const json& object, const Pointer& at);

[[nodiscard]] tl::unexpected<Error> wrong_field(const Pointer& at, const std::string& what);

// A number of pods, 0 .. kMaxGang; nothing when it is not stated. Errors: kInvalid for anything
// else.
Result<std::optional<int>> count_at(const json& object, const Pointer& at);

// The list or object there. Errors: kInvalid when it is missing or something else.
Result<const json*> list_at(const json& object, const Pointer& at);
Result<const json*> object_at(const json& object, const Pointer& at);

// The member of that name, made empty when it is missing. Precondition: `parent` is an object or
// null. Errors: kInvalid when it is something else than `type`.
Result<json*> member(json& parent, const std::string& name, json::value_t type, const Pointer& at);

}  // namespace pinion::cluster::jobs
