#include "cluster/extender/kube/path.h"

namespace pinion::kube {
namespace {

bool unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

}  // namespace

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string result;
  for (const char c : text) {
    if (unreserved(c)) {
      result += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    result += '%';
    result += digits[byte >> 4U];
    result += digits[byte & 15U];
  }
  return result;
}

std::string pod_path(std::string_view name_space, std::string_view name,
                     std::string_view subresource) {
  std::string path =
      "/api/v1/namespaces/" + percent_encoded(name_space) + "/pods/" + percent_encoded(name);
  if (!subresource.empty()) path.append("/").append(subresource);
  return path;
}

std::string with_query(std::string path, Query query) {
  char separator = path.find('?') == std::string::npos ? '?' : '&';
  for (const auto& [key, value] : query) {
    if (value.empty()) continue;
    path.append(1, separator).append(key).append("=").append(percent_encoded(value));
    separator = '&';
  }
  return path;
}

}  // namespace pinion::kube
