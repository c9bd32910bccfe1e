// How the extender's readers go over JSON: simdjson's on-demand interface, with errors as values
// that say where. For this folder and cluster/extender/kube.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace pinion::cluster::wire {

namespace ondemand = simdjson::ondemand;

struct Source {
  ondemand::document* document = nullptr;
  const char* begin = nullptr;  // of the body
};

// Where in a body a value stands: a chain on the stack, so that no text is made while all is well.
// What it is made of stays the caller's.
class Where {
 public:
  explicit Where(const Source& source) : source_(source) {}
  Where(const Where& up, std::string_view field)
      : source_(up.source_), up_(&up), kind_(Kind::kField), key_(field) {}
  Where(const Where& up, std::size_t index)
      : source_(up.source_), up_(&up), kind_(Kind::kItem), index_(index) {}
  // An entry of a map, whose keys are data.
  static Where entry(const Where& up, std::string_view key) {
    Where where(up, key);
    where.kind_ = Kind::kEntry;
    return where;
  }

  // "Pod.spec.containers[0].resources.requests[cpu]"; "body" for all of it.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] tl::unexpected<Error> fail(const std::string& what) const;
  // What simdjson refused: `expected` when the type is another one, else broken JSON.
  [[nodiscard]] tl::unexpected<Error> refuse(simdjson::error_code code, const char* expected) const;
  [[nodiscard]] tl::unexpected<Error> broken(simdjson::error_code code) const;

 private:
  enum class Kind { kRoot, kField, kItem, kEntry };

  void append_to(std::string& path) const;

  const Source& source_;
  const Where* up_ = nullptr;
  Kind kind_ = Kind::kRoot;
  std::string_view key_;
  std::size_t index_ = 0;
};

// As Go matches a key to a field, for ASCII.
[[nodiscard]] bool same_key(std::string_view key, std::string_view field);

// Values are never copied on the way: that takes as long as reading a short text.
//
// Each leaves `to` at its own null for null: "", 0, false, nothing.
Status read_string(std::string_view& to, ondemand::value& value, const Where& at);
Status read_text(std::string& to, ondemand::value& value, const Where& at);
Status read_integer(std::int64_t& to, ondemand::value& value, const Where& at);
Status read_bool(bool& to, ondemand::value& value, const Where& at);

[[nodiscard]] bool is_null(ondemand::value& value);

// each(key, value) for the fields of an object.
template <class Each>
Status each_field(ondemand::object object, const Where& at, const Each& each) {
  for (auto item : object) {
    ondemand::field field;
    std::string_view key;
    if (const auto code = std::move(item).get(field)) return at.broken(code);
    if (const auto code = field.unescaped_key().get(key)) return at.broken(code);
    if (Status good = each(key, field.value()); !good) return good;
  }
  return {};
}

// The same; none for null.
template <class Each>
Status each_field(ondemand::value& value, const Where& at, const Each& each) {
  ondemand::object object;
  if (const auto code = value.get_object().get(object)) {
    if (code == simdjson::INCORRECT_TYPE && is_null(value)) return {};
    return at.refuse(code, "not an object");
  }
  return each_field(object, at, each);
}

// All of an object as it came, which is to be read afterwards.
Status read_raw(std::string_view& to, ondemand::object& object, const Where& at);

// each(value, where) for the items of an array; none for null.
template <class Each>
Status each_item(ondemand::value& value, const Where& at, const Each& each) {
  ondemand::array array;
  if (const auto code = value.get_array().get(array)) {
    if (code == simdjson::INCORRECT_TYPE && is_null(value)) return {};
    return at.refuse(code, "not a list");
  }
  std::size_t index = 0;
  for (auto item : array) {
    const Where here(at, index++);
    if (const auto code = item.error()) return here.broken(code);
    if (Status good = each(item.value_unsafe(), here); !good) return good;
  }
  return {};
}

// One text after the other, in memory that is kept for the next: some six times the largest one.
class Document {
 public:
  // read(object, where) for the whole of a text, with nothing behind it.
  template <class Read>
  Status read(std::string text, const Read& read) {
    text_ = std::move(text);
    return read_kept(read);
  }
  template <class Read>
  Status read(std::string_view text, const Read& read) {
    text_.assign(text);
    return read_kept(read);
  }

  [[nodiscard]] std::size_t kept_bytes() const {
    // For each byte of the largest text: an index of 4 bytes, and 5/3 bytes for unescaped strings.
    constexpr std::size_t per_byte = 6;
    return text_.capacity() + parser_.capacity() * per_byte;
  }

 private:
  template <class Read>
  Status read_kept(const Read& read) {
    text_.reserve(text_.size() + simdjson::SIMDJSON_PADDING);
    const Source source{.document = &document_, .begin = text_.data()};
    const Source unparsed{};  // nothing to ask for a place
    const auto code = parser_.iterate(text_.data(), text_.size(), text_.capacity()).get(document_);
    if (code) return Where(unparsed).broken(code);
    const Where root(source);
    ondemand::object object;
    const auto no_object = document_.get_object().get(object);
    if (no_object) return root.refuse(no_object, "not an object");
    if (Status good = read(object, root); !good) return good;
    const char* rest = nullptr;
    const bool ended = document_.current_location().get(rest) == simdjson::OUT_OF_BOUNDS;
    return ended ? Status() : Status(root.broken(simdjson::TRAILING_CONTENT));
  }

  ondemand::parser parser_;
  ondemand::document document_;
  std::string text_;
};

}  // namespace pinion::cluster::wire
