// Reading JSON that somebody else wrote: what is missing or of another kind is empty, never an
// exception.
#pragma once

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace pinion::kube {

// The value at a path of names, or null.
template <class... Names>
const nlohmann::json& json_at(const nlohmann::json& object, const Names&... names) {
  static const nlohmann::json nothing;
  const nlohmann::json* at = &object;
  for (const char* name : {static_cast<const char*>(names)...}) {
    if (!at->is_object()) return nothing;
    const auto found = at->find(name);
    if (found == at->end()) return nothing;
    at = &*found;
  }
  return *at;
}

template <class... Names>
std::string json_text(const nlohmann::json& object, const Names&... names) {
  const nlohmann::json& value = json_at(object, names...);
  return value.is_string() ? value.get_ref<const std::string&>() : std::string();
}

template <class... Names>
std::int64_t json_integer(const nlohmann::json& object, const Names&... names) {
  const nlohmann::json& value = json_at(object, names...);
  return value.is_number_integer() ? value.get<std::int64_t>() : 0;
}

// Whether the object's condition of this type is "True".
inline bool has_condition(const nlohmann::json& object, const char* type) {
  const nlohmann::json& conditions = json_at(object, "status", "conditions");
  return std::any_of(conditions.begin(), conditions.end(), [&](const nlohmann::json& condition) {
    return json_text(condition, "type") == type && json_text(condition, "status") == "True";
  });
}

// For sending: text that is no UTF-8 gets replacement characters.
inline std::string json_dump(const nlohmann::json& object) {
  return object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace pinion::kube
