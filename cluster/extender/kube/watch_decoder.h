// The bytes of a watch, one JSON object on each line, to events. No I/O: fed with bytes in any
// split.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "cluster/extender/kube/object.h"

namespace pinion::cluster::wire {
class Document;
}

namespace pinion::kube {

struct WatchEvent {
  enum class Kind {
    kAdded,
    kModified,
    kDeleted,
    kBookmark,  // only its version counts
    kError,     // the object is a Status
  };
  Kind kind = Kind::kError;
  RawObject object;  // valid until handle() returns
};

class WatchDecoder {
 public:
  using Handle = std::function<Status(const WatchEvent&)>;
  static constexpr std::size_t kMaxLine = std::size_t{16} << 20;

  explicit WatchDecoder(std::size_t max_line = kMaxLine);
  ~WatchDecoder();

  // Hands out the events of all lines that are complete now, in order; empty lines are none.
  // Errors: kExhausted for a line of more than `max_line` bytes, kInvalid for one that is no event:
  // no JSON, another type, no object; or what `handle` says of an event. The events before it were
  // handed out; nothing is decoded after an error.
  Status feed(std::string_view bytes, const Handle& handle);

  // The bytes so far end within a line.
  [[nodiscard]] bool within_line() const { return !line_.empty(); }
  // Between lines.
  [[nodiscard]] std::size_t kept_bytes() const;

 private:
  Status take_line(std::string_view line, const Handle& handle);

  std::size_t max_line_;
  std::string line_;  // what has arrived of the line at the end, at most max_line_
  std::unique_ptr<cluster::wire::Document> document_;
  bool broken_ = false;
};

}  // namespace pinion::kube
