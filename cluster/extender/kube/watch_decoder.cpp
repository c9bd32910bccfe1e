#include "cluster/extender/kube/watch_decoder.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/utf8.h"
#include "cluster/extender/kube/json_read.h"

namespace pinion::kube {
namespace {

using nlohmann::json;

constexpr std::size_t kShown = 80;  // bytes of a wrong line, in the message

constexpr std::array<std::pair<std::string_view, WatchEvent::Kind>, 5> kKinds{{
    {"ADDED", WatchEvent::Kind::kAdded},
    {"MODIFIED", WatchEvent::Kind::kModified},
    {"DELETED", WatchEvent::Kind::kDeleted},
    {"BOOKMARK", WatchEvent::Kind::kBookmark},
    {"ERROR", WatchEvent::Kind::kError},
}};

std::optional<WatchEvent::Kind> kind_of(const std::string& word) {
  for (const auto& [name, kind] : kKinds) {
    if (name == word) return kind;
  }
  return std::nullopt;
}

tl::unexpected<Error> no_event(std::string_view line, const std::string& why) {
  return failure(Errc::kInvalid,
                 "no event of a watch (" + why + "): " + std::string(cut_utf8(line, kShown)));
}

}  // namespace

Status WatchDecoder::feed(std::string_view bytes, const std::function<void(WatchEvent)>& handle) {
  if (broken_) return failure(Errc::kInvalid, "the watch is broken already");
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    broken_ = line_.size() + end > max_line_;
    if (broken_) {
      line_ = std::string();
      return failure(Errc::kExhausted,
                     "a line of a watch has more than " + std::to_string(max_line_) + " bytes");
    }
    if (end == bytes.size()) {
      line_.append(bytes);
      return {};
    }
    // Mostly a line arrives whole, and is then not copied.
    line_.append(line_.empty() ? std::string_view() : bytes.substr(0, end));
    Status taken = take_line(line_.empty() ? bytes.substr(0, end) : line_, handle);
    line_.clear();
    bytes.remove_prefix(end + 1);
    broken_ = !taken;
    if (broken_) return taken;
  }
  return {};
}

Status WatchDecoder::take_line(std::string_view line,
                               const std::function<void(WatchEvent)>& handle) {
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) return {};
  json parsed = json::parse(line, nullptr, false);
  if (parsed.is_discarded()) return no_event(line, "no JSON");
  const auto kind = kind_of(json_text(parsed, "type"));
  if (!kind) return no_event(line, "unknown type");
  if (!json_at(parsed, "object").is_object()) return no_event(line, "no object");
  handle({.kind = *kind, .object = std::move(parsed["object"])});
  return {};
}

}  // namespace pinion::kube
