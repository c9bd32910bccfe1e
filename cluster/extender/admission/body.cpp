#include "cluster/extender/admission/body.h"

#include <string>

#include "base/utf8.h"

namespace pinion::cluster::admission {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxError = 200;  // of the parser's text, which quotes the body

}  // namespace

Result<json> parse_body(std::string_view body) {
  bool too_deep = false;
  const auto watch = [&](int depth, json::parse_event_t /*event*/, json& /*value*/) {
    too_deep = too_deep || depth > kMaxDepth;
    return !too_deep;
  };
  try {
    json value = json::parse(body.begin(), body.end(), watch);
    if (too_deep)
      return failure(Errc::kInvalid, "body: nested deeper than " + std::to_string(kMaxDepth));
    return value;
  } catch (const json::exception& error) {
    return failure(Errc::kInvalid,
                   "body: no JSON: " + std::string(cut_utf8(error.what(), kMaxError)));
  }
}

}  // namespace pinion::cluster::admission
