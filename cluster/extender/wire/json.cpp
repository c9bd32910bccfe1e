#include "cluster/extender/wire/json.h"

#include <algorithm>

#include "base/utf8.h"

namespace pinion::cluster::wire {
namespace {

constexpr std::size_t kMaxKeyShown = 80;  // of a key, in an error

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// What a getter's failure means: null is no failure.
Status unless_null(ondemand::value& value, simdjson::error_code code, const Where& at,
                   const char* expected) {
  if (code == simdjson::INCORRECT_TYPE && is_null(value)) return {};
  return at.refuse(code, expected);
}

}  // namespace

void Where::append_to(std::string& path) const {
  if (up_ != nullptr) up_->append_to(path);
  const std::string_view key = cut_utf8(key_, kMaxKeyShown);
  switch (kind_) {
    case Kind::kRoot:
      return;
    case Kind::kField:
      if (!path.empty()) path += '.';
      path += key;
      return;
    case Kind::kItem:
      path += '[' + std::to_string(index_) + ']';
      return;
    case Kind::kEntry:
      path += '[';
      path += key;
      path += ']';
      return;
  }
}

std::string Where::text() const {
  std::string path;
  append_to(path);
  return path.empty() ? "body" : path;
}

tl::unexpected<Error> Where::fail(const std::string& what) const {
  return failure(Errc::kInvalid, text() + ": " + what);
}

tl::unexpected<Error> Where::refuse(simdjson::error_code code, const char* expected) const {
  return code == simdjson::INCORRECT_TYPE ? fail(expected) : broken(code);
}

tl::unexpected<Error> Where::broken(simdjson::error_code code) const {
  std::string what = "broken JSON";
  const char* place = nullptr;
  if (source_.document != nullptr &&
      source_.document->current_location().get(place) == simdjson::SUCCESS) {
    what += " at byte " + std::to_string(place - source_.begin);
  }
  return fail(what + ": " + simdjson::error_message(code));
}

bool same_key(std::string_view key, std::string_view field) {
  return key.size() == field.size() &&
         std::equal(key.begin(), key.end(), field.begin(),
                    [](char a, char b) { return lower(a) == lower(b); });
}

bool is_null(ondemand::value& value) {
  bool null = false;
  return value.is_null().get(null) == simdjson::SUCCESS && null;
}

Status read_string(std::string_view& to, ondemand::value& value, const Where& at) {
  to = {};
  const auto code = value.get_string().get(to);
  return code == simdjson::SUCCESS ? Status() : unless_null(value, code, at, "not a string");
}

Status read_text(std::string& to, ondemand::value& value, const Where& at) {
  std::string_view text;
  Status good = read_string(text, value, at);
  to = text;
  return good;
}

// What simdjson gives goes on to the next token.
Status read_raw(std::string_view& to, ondemand::object& object, const Where& at) {
  if (const auto code = object.raw_json().get(to)) return at.broken(code);
  to = to.substr(0, to.find_last_not_of(" \t\r\n") + 1);
  if (const auto code = object.reset().error()) return at.broken(code);
  return {};
}

Status read_integer(std::int64_t& to, ondemand::value& value, const Where& at) {
  to = 0;
  const auto code = value.get_int64().get(to);
  if (code == simdjson::SUCCESS) return {};
  constexpr auto expected = "not an integer of 64 bits";
  // A fraction, for instance.
  if (code == simdjson::NUMBER_ERROR) return at.fail(expected);
  return unless_null(value, code, at, expected);
}

Status read_bool(bool& to, ondemand::value& value, const Where& at) {
  to = false;
  const auto code = value.get_bool().get(to);
  return code == simdjson::SUCCESS ? Status() : unless_null(value, code, at, "not a boolean");
}

}  // namespace pinion::cluster::wire
