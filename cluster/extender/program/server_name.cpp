#include "cluster/extender/program/server_name.h"

#include <string_view>

namespace pinion::cluster {
namespace {

constexpr std::string_view kNode = "{node}";
constexpr std::string_view kPod = "{pod}";

std::string replaced(std::string text, std::string_view what, const std::string& with) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
  return text;
}

}  // namespace

Status check_server_name(const std::string& pattern) {
  const std::string rest = replaced(replaced(pattern, kNode, "n"), kPod, "p");
  if (rest.find_first_of("{}") == std::string::npos) return {};
  return failure(Errc::kInvalid, "'" + pattern + "': only {node} and {pod} stand for something");
}

bool names_pod(const std::string& pattern) {
  return pattern.find(kPod) != std::string::npos;
}

std::string server_name(const std::string& pattern, const std::string& node,
                        const std::string& pod) {
  return replaced(replaced(pattern, kNode, node), kPod, pod);
}

}  // namespace pinion::cluster
