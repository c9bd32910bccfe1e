#include "ctl/common/text.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace pinion::ctl {
namespace {

constexpr topology::Bytes kKiB = 1024;
constexpr topology::Bytes kMiB = kKiB * 1024;
constexpr topology::Bytes kGiB = kMiB * 1024;

}  // namespace

std::string human_bytes(topology::Bytes bytes) {
  if (bytes == 0) return "0";
  if (bytes < kMiB) return std::to_string((bytes + kKiB - 1) / kKiB) + " KiB";
  if (bytes < kGiB) return std::to_string(bytes / kMiB) + " MiB";
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f GiB",
                static_cast<double>(bytes) / static_cast<double>(kGiB));
  return text.data();
}

std::string counted(std::size_t count, const std::string& singular, const std::string& plural) {
  return std::to_string(count) + " " + (count == 1 ? singular : plural);
}

std::string flow(const std::string& head, const std::vector<std::string>& words,
                 const std::string& gap) {
  std::string text = head;
  std::size_t column = head.size();
  bool first = true;
  for (const std::string& word : words) {
    if (!first && column + gap.size() + word.size() > kPageWidth) {
      while (!text.empty() && text.back() == ' ') text.pop_back();
      text += "\n" + std::string(head.size(), ' ');
      column = head.size();
    } else if (!first) {
      text += gap;
      column += gap.size();
    }
    text += word;
    column += word.size();
    first = false;
  }
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text + "\n";
}

std::vector<std::string> list_words(const std::string& list) {
  std::vector<std::string> words;
  for (std::size_t from = 0; from < list.size();) {
    const std::size_t comma = std::min(list.find(',', from), list.size() - 1);
    words.push_back(list.substr(from, comma + 1 - from));
    from = comma + 1;
  }
  return words;
}

std::string grid(const std::string& head, const std::vector<std::string>& cells) {
  if (cells.empty()) return head + "\n";
  const std::size_t cell = cells.front().size() + 1;
  const std::size_t room = kPageWidth + 1 - std::min(kPageWidth, head.size());
  const std::size_t fitting = std::max<std::size_t>(1, room / cell);
  const std::size_t rows = (cells.size() + fitting - 1) / fitting;
  const std::size_t columns = (cells.size() + rows - 1) / rows;
  std::string text = head;
  for (std::size_t at = 0; at < cells.size(); ++at) {
    if (at > 0) text += at % columns == 0 ? "\n" + std::string(head.size(), ' ') : " ";
    text += cells[at];
  }
  return text + "\n";
}

}  // namespace pinion::ctl
