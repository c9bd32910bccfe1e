// WatchDecoder takes any bytes and comes to the same in any split: the first byte says how large
// the pieces are. What it hands out goes where a watch sends it.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "cluster/extender/kube/answer.h"
#include "cluster/extender/kube/json_read.h"
#include "cluster/extender/kube/known_objects.h"
#include "cluster/extender/kube/watch_decoder.h"
#include "tests/fuzz/target.h"

namespace pinion::fuzz::kube_watch {
namespace {

using pinion::kube::KnownObjects;
using pinion::kube::WatchDecoder;
using pinion::kube::WatchEvent;

constexpr std::size_t kMaxLine = 4096;

// All that was decoded, as text, with the error.
std::string decoded(std::string_view text, std::size_t piece) {
  WatchDecoder decoder(kMaxLine);
  KnownObjects known;
  std::string result;
  const auto take = [&](const WatchEvent& event) {
    result += pinion::kube::json_dump(event.object) + "\n";
    if (event.kind == WatchEvent::Kind::kError) {
      result += pinion::kube::error_of(event.object).text;
    } else if (event.kind == WatchEvent::Kind::kDeleted) {
      result += known.deleted(event.object) ? "-" : "?";
    } else {
      result += known.seen(event.object).change ? "+" : "=";
    }
  };
  while (!text.empty()) {
    const auto fed = decoder.feed(text.substr(0, piece), take);
    if (!fed) return result + fed.error().text;
    text.remove_prefix(std::min(piece, text.size()));
  }
  return result;
}

}  // namespace

PINION_FUZZ_TARGET(kube_watch) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (decoded(text, data[0] + std::size_t{1}) != decoded(text, size)) std::abort();
  return 0;
}

}  // namespace pinion::fuzz::kube_watch
