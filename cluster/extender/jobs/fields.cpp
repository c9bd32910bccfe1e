#include "cluster/extender/jobs/fields.h"

#include <algorithm>

#include "cluster/extender/scheduling/demand.h"

namespace pinion::cluster::jobs {
namespace {

const char* name_of(json::value_t type) {
  return type == json::value_t::array ? "a list" : "an object";
}

Result<const json*> typed_at(const json& object, const Pointer& at, json::value_t type) {
  const json* value = find(object, at);
  if (value == nullptr) return wrong_field(at, "missing");
  if (value->type() != type) return wrong_field(at, std::string("not ") + name_of(type));
  return value;
}

}  // namespace

std::string shown(const Pointer& at) {
  std::string text;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  for (Pointer rest = at; !rest.empty(); rest = rest.parent_pointer()) {
    const std::string& part = rest.back();
    const bool index = std::all_of(part.begin(), part.end(), is_digit);
    const bool first = rest.parent_pointer().empty();
    text.insert(0, index ? "[" + part + "]" : (first ? "" : ".") + part);
  }
  return text;
}

const json* find(const json& object, const Pointer& at) {
  if (!object.contains(at)) return nullptr;
  const json& value = object.at(at);
  return value.is_null() ? nullptr : &value;
}

tl::unexpected<Error> wrong_field(const Pointer& at, const std::string& what) {
  return failure(Errc::kInvalid, shown(at) + ": " + what);
}

Result<std::optional<int>> count_at(const json& object, const Pointer& at) {
  const json* value = find(object, at);
  if (value == nullptr) return std::optional<int>();
  const bool sound = value->is_number_integer() && *value >= 0 && *value <= kMaxGang;
  if (!sound) return wrong_field(at, "not a number from 0 to " + std::to_string(kMaxGang));
  return std::optional(value->get<int>());
}

Result<const json*> list_at(const json& object, const Pointer& at) {
  return typed_at(object, at, json::value_t::array);
}

Result<const json*> object_at(const json& object, const Pointer& at) {
  return typed_at(object, at, json::value_t::object);
}

Result<json*> member(json& parent, const std::string& name, json::value_t type, const Pointer& at) {
  if (parent.is_null()) parent = json::object();
  json& value = parent[name];
  if (value.is_null()) value = json(type);
  if (value.type() != type) return wrong_field(at / name, std::string("not ") + name_of(type));
  return &value;
}

}  // namespace pinion::cluster::jobs
