#include "cluster/slurm/mark.h"

#include <charconv>
#include <vector>

#include "base/utf8.h"

namespace pinion::slurm {
namespace {

constexpr std::string_view kWaiting = "pinion=wait";
constexpr std::string_view kUserHeld = "pinion=user-held";
constexpr std::string_view kGrows = "pinion-grows=";
constexpr std::string_view kTold = " [pinion: ";
constexpr std::size_t kLongestTold = 400;

std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const auto end = text.find_first_of(separators);
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return parts;
}

template <class T>
void read_number(std::string_view text, T& number) {
  T read = 0;
  const auto end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, read);
  if (result.ec == std::errc() && result.ptr == end && read >= 0) number = read;
}

// "2-8x4"; nullopt for what is no such thing.
std::optional<Sizes> read_sizes(std::string_view text) {
  const auto parts = split(text, "-x");
  Sizes sizes{.least = 0, .most = 0, .cpus = 0};
  if (parts.size() != 3) return std::nullopt;
  read_number(parts[0], sizes.least);
  read_number(parts[1], sizes.most);
  read_number(parts[2], sizes.cpus);
  if (sizes.least < 1 || sizes.most < sizes.least || sizes.cpus < 1) return std::nullopt;
  return sizes;
}

std::map<std::string, std::string> read_cpus(std::string_view text) {
  std::map<std::string, std::string> cpus;
  for (const std::string_view pair : split(text, "/")) {
    const auto colon = pair.find(':');
    if (colon == std::string_view::npos || colon == 0 || colon + 1 == pair.size()) continue;
    cpus[std::string(pair.substr(0, colon))] = pair.substr(colon + 1);
  }
  return cpus;
}

// On one line, without what would be taken for the end of it.
std::string one_line(std::string_view why) {
  std::string text(cut_utf8(why, kLongestTold));
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == ']') c = ' ';
  }
  return text;
}

}  // namespace

std::optional<Mark> read_mark(std::string_view admin_comment) {
  const auto parts = split(admin_comment, ";");
  if (parts.empty() || (parts.front() != kWaiting && parts.front() != kUserHeld)) {
    return std::nullopt;
  }
  Mark mark;
  mark.user_held = parts.front() == kUserHeld;
  for (const std::string_view part : parts) {
    const auto equals = part.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = part.substr(0, equals);
    const std::string_view value = part.substr(equals + 1);
    if (name == "attempt") read_number(value, mark.attempt);
    if (name == "failed") read_number(value, mark.failed);
    if (name == "since") read_number(value, mark.since_s);
    if (name == "after") read_number(value, mark.after_s);
    if (name == "sizes") mark.sizes = read_sizes(value);
    if (name == "cpus") mark.cpus = read_cpus(value);
  }
  return mark;
}

std::string to_text(const Mark& mark) {
  std::string text(mark.user_held ? kUserHeld : kWaiting);
  if (mark.attempt > 0) text += ";attempt=" + std::to_string(mark.attempt);
  if (mark.failed > 0) text += ";failed=" + std::to_string(mark.failed);
  if (mark.since_s > 0) text += ";since=" + std::to_string(mark.since_s);
  if (mark.after_s > 0) text += ";after=" + std::to_string(mark.after_s);
  if (mark.sizes) {
    text += ";sizes=" + std::to_string(mark.sizes->least) + "-" + std::to_string(mark.sizes->most) +
            "x" + std::to_string(mark.sizes->cpus);
  }
  const char* before = ";cpus=";
  for (const auto& [node, cpus] : mark.cpus) {
    text.append(before).append(node).append(":").append(cpus);
    before = "/";
  }
  return text;
}

std::uint32_t grown_by(std::string_view admin_comment) {
  std::uint32_t job = 0;
  if (admin_comment.substr(0, kGrows.size()) == kGrows) {
    read_number(admin_comment.substr(kGrows.size()), job);
  }
  return job;
}

std::string attempt_of(const Job& job, const Mark& mark) {
  return std::to_string(job.id) + "-" + std::to_string(job.submit_s) + "-" +
         std::to_string(job.restarts) + "-" + std::to_string(mark.attempt);
}

std::string_view users_comment(std::string_view comment) {
  const std::string_view begin = kTold.substr(1);
  if (comment.substr(0, begin.size()) == begin) return {};
  return comment.substr(0, comment.find(kTold));
}

std::string told(std::string_view comment, std::string_view why) {
  std::string text(users_comment(comment));
  if (why.empty()) return text;
  text.append(text.empty() ? kTold.substr(1) : kTold);
  return text + one_line(why) + "]";
}

std::string_view word_in(std::string_view comment, std::string_view name) {
  for (const std::string_view word : split(users_comment(comment), " ,")) {
    const auto equals = word.find('=');
    if (equals != std::string_view::npos && word.substr(0, equals) == name) {
      return word.substr(equals + 1);
    }
  }
  return {};
}

bool has_word(std::string_view comment, std::string_view word) {
  for (const std::string_view one : split(users_comment(comment), " ,")) {
    if (one == word) return true;
  }
  return false;
}

}  // namespace pinion::slurm
