#include "policy/unknown_annotations.h"

#include <algorithm>

#include "base/utf8.h"
#include "policy/annotations.h"

namespace pinion::policy {
namespace {

constexpr std::size_t kMostUnknownNames = 5;
constexpr std::size_t kLongestShownName = 64;  // of a hostile one

}  // namespace

std::vector<std::string> unknown_annotations(std::span<const std::string_view> names) {
  std::vector<std::string> found;
  std::size_t more = 0;
  for (const std::string_view name : names) {
    if (!name.starts_with(annotation::kPrefix)) continue;
    const std::string_view plain = name.substr(0, name.find('.', annotation::kPrefix.size()));
    if (std::find(annotation::kAll.begin(), annotation::kAll.end(), plain) !=
        annotation::kAll.end()) {
      continue;
    }
    if (found.size() == kMostUnknownNames) {
      ++more;
    } else {
      found.push_back("annotation " + std::string(cut_utf8(name, kLongestShownName)) +
                      " is not known and ignored");
    }
  }
  if (more > 0) {
    found.push_back(std::to_string(more) + " more annotations of " +
                    std::string(annotation::kPrefix) + " are not known and ignored");
  }
  return found;
}

}  // namespace pinion::policy
