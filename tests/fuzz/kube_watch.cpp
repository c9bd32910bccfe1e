// WatchDecoder takes any bytes and comes to the same in any split: the first byte says how large
// the pieces are. What it hands out goes where a watch of pods sends it, and its metadata is what
// nlohmann reads in the same text.
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
#include "cluster/extender/wire/reader.h"
#include "tests/fuzz/target.h"

namespace pinion::fuzz::kube_watch {
namespace {

using nlohmann::json;
using pinion::kube::json_text;
using pinion::kube::KnownObjects;
using pinion::kube::WatchDecoder;
using pinion::kube::WatchEvent;

constexpr std::size_t kMaxLine = 4096;

// Written anew, so that no name is there twice.
void check_metadata(const json& object) {
  WatchDecoder decoder;
  const json line = {{"type", "ADDED"}, {"object", object}};
  (void)decoder.feed(line.dump() + "\n", [&](const WatchEvent& event) -> pinion::Status {
    const auto same = [&](std::string_view text, const char* name) {
      require(text == json_text(object, "metadata", name));
    };
    same(event.object.name_space, "namespace");
    same(event.object.name, "name");
    same(event.object.uid, "uid");
    same(event.object.version, "resourceVersion");
    require(json::parse(event.object.json) == object);
    return {};
  });
}

// All that was decoded, as text, with the error.
std::string decoded(std::string_view text, std::size_t piece) {
  WatchDecoder decoder(kMaxLine);
  KnownObjects known;
  std::string result;
  pinion::cluster::wire::Reader reader;
  const auto take = [&](const WatchEvent& event) -> pinion::Status {
    result.append(event.object.json).append("\n");
    const auto pod = reader.pod(event.object.json);
    result += pod ? pod->uid : pod.error().text;
    const json object = json::parse(event.object.json, nullptr, /*allow_exceptions=*/false);
    if (!object.is_discarded()) check_metadata(object);
    if (event.kind == WatchEvent::Kind::kError) {
      result += pinion::kube::error_of(object).text;
    } else if (event.kind == WatchEvent::Kind::kDeleted) {
      result += known.deleted(event.object) ? "-" : "?";
    } else {
      result += known.seen(event.object).change ? "+" : "=";
    }
    return {};
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
