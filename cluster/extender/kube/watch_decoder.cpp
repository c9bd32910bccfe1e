#include "cluster/extender/kube/watch_decoder.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/utf8.h"
#include "cluster/extender/kube/read_object.h"

namespace pinion::kube {
namespace {

namespace ondemand = cluster::wire::ondemand;
using cluster::wire::each_field;
using cluster::wire::read_string;
using cluster::wire::Where;
using Value = ondemand::value;

constexpr std::size_t kShown = 80;  // bytes of a wrong line, in the message
constexpr std::size_t kMostKept = std::size_t{4} << 20;

constexpr std::array<std::pair<std::string_view, WatchEvent::Kind>, 5> kKinds{{
    {"ADDED", WatchEvent::Kind::kAdded},
    {"MODIFIED", WatchEvent::Kind::kModified},
    {"DELETED", WatchEvent::Kind::kDeleted},
    {"BOOKMARK", WatchEvent::Kind::kBookmark},
    {"ERROR", WatchEvent::Kind::kError},
}};

std::optional<WatchEvent::Kind> kind_of(std::string_view word) {
  for (const auto& [name, kind] : kKinds) {
    if (name == word) return kind;
  }
  return std::nullopt;
}

Status read_event(WatchEvent& event, ondemand::object object, const Where& root) {
  std::string_view type;
  bool whole = false;
  Status good = each_field(object, root, [&](std::string_view key, Value& field) -> Status {
    if (key == "type") return read_string(type, field, Where(root, key));
    if (key != "object") return {};
    whole = true;
    return read_object(event.object, field, Where(root, key));
  });
  if (!good) return good;
  const auto kind = kind_of(type);
  if (!kind) return Where(root, "type").fail("unknown");
  event.kind = *kind;
  return whole ? Status() : Where(root, "object").fail("missing");
}

}  // namespace

WatchDecoder::WatchDecoder(std::size_t max_line)
    : max_line_(max_line), document_(std::make_unique<cluster::wire::Document>()) {}
WatchDecoder::~WatchDecoder() = default;

std::size_t WatchDecoder::kept_bytes() const {
  return line_.capacity() + document_->kept_bytes();
}

Status WatchDecoder::feed(std::string_view bytes, const Handle& handle) {
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
    // Mostly a line arrives whole.
    Status taken = line_.empty() ? take_line(bytes.substr(0, end), handle)
                                 : take_line(line_.append(bytes.substr(0, end)), handle);
    if (line_.capacity() > kMostKept) std::string().swap(line_);
    line_.clear();
    bytes.remove_prefix(end + 1);
    broken_ = !taken;
    if (broken_) return taken;
  }
  return {};
}

Status WatchDecoder::take_line(std::string_view line, const Handle& handle) {
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) return {};
  WatchEvent event;
  const Status good = document_->read(line, [&](ondemand::object object, const Where& root) {
    return read_event(event, object, root);
  });
  if (!good) {
    return failure(Errc::kInvalid, "no event of a watch: " + good.error().text + ": " +
                                       std::string(cut_utf8(line, kShown)));
  }
  Status taken = handle(event);
  // A line as long as that is rare.
  if (document_->kept_bytes() > kMostKept) {
    document_ = std::make_unique<cluster::wire::Document>();
  }
  return taken;
}

}  // namespace pinion::kube
