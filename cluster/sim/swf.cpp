#include "cluster/sim/swf.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>

namespace pinion::sim {
namespace {

constexpr std::size_t kMostShown = 24;  // bytes of a bad word
constexpr std::size_t kFields = 18;

// Positions of fields.
constexpr std::size_t kNumber = 0;
constexpr std::size_t kSubmit = 1;
constexpr std::size_t kRun = 3;
constexpr std::size_t kGot = 4;
constexpr std::size_t kAsked = 7;
constexpr std::size_t kAskedTime = 8;
constexpr std::size_t kStatus = 10;
constexpr std::size_t kUser = 11;

struct Fields {
  std::array<double, kFields> values{};
  std::size_t count = 0;

  [[nodiscard]] double at(std::size_t field) const { return values[field]; }
};

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

std::string shown(std::string_view text) {
  std::string safe = "'";
  for (const char c : text.substr(0, kMostShown)) safe += c >= ' ' && c <= '~' ? c : '?';
  return safe + (text.size() > kMostShown ? "...'" : "'");
}

Result<Fields> split(std::string_view line) {
  Fields fields;
  for (std::size_t at = 0; at < line.size();) {
    if (is_blank(line[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < line.size() && !is_blank(line[end])) ++end;
    const std::string_view word = line.substr(at, end - at);
    if (fields.count == kFields) {
      return failure(Errc::kInvalid, "more than 18 fields, the first too many is " + shown(word));
    }
    double value = 0;
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    const bool number = error == std::errc() && stop == word.data() + word.size();
    if (!number || !std::isfinite(value)) {
      return failure(Errc::kInvalid, "field " + std::to_string(fields.count + 1) + " is " +
                                         shown(word) + ", which is no number");
    }
    fields.values[fields.count++] = value;
    at = end;
  }
  return fields;
}

Ms ms_of(double seconds) {
  return static_cast<Ms>(std::llround(seconds * 1000));
}

}  // namespace

Result<std::optional<Job>> parse_swf_line(std::string_view line, bool& skipped) {
  skipped = false;
  if (line.size() > kMaxSwfLine) {
    return failure(Errc::kInvalid, "a line of more than " + std::to_string(kMaxSwfLine) + " bytes");
  }
  const auto fields = split(line.substr(0, line.find(';')));
  if (!fields) return failure(fields.error());
  if (fields->count == 0) return std::nullopt;
  if (fields->count < kFields) {
    return failure(Errc::kInvalid, std::to_string(fields->count) + " fields, where 18 belong");
  }
  for (const std::size_t field : {kNumber, kSubmit, kRun, kAskedTime, kUser}) {
    if (std::abs(fields->at(field)) <= kMaxSwfSeconds) continue;
    return failure(Errc::kInvalid, "field " + std::to_string(field + 1) + " is beyond 1e11");
  }
  for (const std::size_t field : {kNumber, kGot, kAsked, kStatus, kUser}) {
    if (fields->at(field) == std::trunc(fields->at(field))) continue;
    return failure(Errc::kInvalid,
                   "field " + std::to_string(field + 1) + " must be a whole number");
  }
  const double asked = fields->at(kAsked);
  const double processors = asked > 0 ? asked : fields->at(kGot);
  if (processors > kMaxProcessors) {
    return failure(Errc::kInvalid, "a job of more than 10 million processors");
  }
  const double status = fields->at(kStatus);
  const bool part = status >= 2 && status <= 4;
  if (fields->at(kRun) < 0 || processors < 1 || fields->at(kSubmit) < 0 || part) {
    skipped = true;
    return std::nullopt;
  }
  Job job;
  job.number = static_cast<std::int64_t>(fields->at(kNumber));
  job.submit = ms_of(fields->at(kSubmit));
  job.run = ms_of(fields->at(kRun));
  job.request = std::max(job.run, ms_of(fields->at(kAskedTime)));
  job.shape.tasks = static_cast<int>(processors);
  const double user = fields->at(kUser);
  if (user >= 0) job.user = std::to_string(static_cast<std::int64_t>(user));
  return job;
}

}  // namespace pinion::sim
