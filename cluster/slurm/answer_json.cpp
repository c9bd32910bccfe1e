#include "cluster/slurm/answer_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "cluster/extender/kube/json_read.h"

namespace pinion::slurm {
namespace {

using nlohmann::json;

// One broken text must not hide all others.
std::string as_utf8(std::string_view text) {
  std::string whole(text);
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_length(text, i);
    if (length == 0) whole[i] = '?';
    i += std::max<std::size_t>(length, 1);
  }
  return whole;
}

}  // namespace

Result<json> list_of_answer(std::string_view text, const char* name) {
  json answer = json::parse(as_utf8(text), nullptr, false);
  if (!kube::json_at(answer, name).is_array()) {
    return failure(Errc::kUnavailable, std::string("Slurm's answer has no list of ") + name);
  }
  // An answer that says what went wrong may have an empty list beside it.
  const json& errors = kube::json_at(answer, "errors");
  if (errors.is_array() && !errors.empty()) {
    return failure(Errc::kUnavailable, "Slurm's answer: " + kube::json_dump(errors));
  }
  return std::move(answer[name]);
}

std::vector<std::string> words_of(const json& value) {
  std::vector<std::string> words;
  if (value.is_array()) {
    for (const json& one : value) {
      if (one.is_string() && !one.get_ref<const std::string&>().empty()) {
        words.push_back(one.get<std::string>());
      }
    }
  } else if (value.is_string()) {
    std::string_view left = value.get_ref<const std::string&>();
    while (!left.empty()) {
      const auto end = std::min(left.find(','), left.size());
      if (end > 0) words.emplace_back(left.substr(0, end));
      left.remove_prefix(std::min(end + 1, left.size()));
    }
  }
  return words;
}

}  // namespace pinion::slurm
