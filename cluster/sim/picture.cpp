#include "cluster/sim/picture.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "cluster/sim/report.h"

namespace pinion::sim {
namespace {

// Pixels.
constexpr double kWidth = 1000;
constexpr double kLeft = 90;
constexpr double kRight = 20;
constexpr double kTitle = 28;  // above each plot
constexpr double kJobRow = 6;
constexpr double kElasticRow = 16;
constexpr double kDigit = 7;          // of a number, or a letter
constexpr std::size_t kFewJobs = 40;  // whose bars are high enough for a name
constexpr double kCpuRow = 4;
constexpr double kUsage = 120;
constexpr int kMarks = 5;  // of an axis, less one

constexpr const char* kStyle =
    "<style>text{font:11px sans-serif;fill:#222}.t{font-weight:bold}.w{fill:#bbb}.u{fill:#2b6cb0}"
    ".x{stroke:#888}svg{background:#fff}@media(prefers-color-scheme:dark){svg{background:#16181c}"
    "text{fill:#ddd}.w{fill:#555}.u{fill:#63a4e8}}</style>\n";

std::string px(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", value);
  return text.data();
}

struct Times {
  Ms from = 0;
  Ms to = 1;

  [[nodiscard]] double at(Ms time) const {
    return kLeft + (kWidth - kLeft - kRight) * static_cast<double>(time - from) /
                       static_cast<double>(to - from);
  }
};

std::string rect(double x, double y, double width, double height, const std::string& look) {
  return "<rect x=\"" + px(x) + "\" y=\"" + px(y) + "\" width=\"" + px(std::max(width, 0.3)) +
         "\" height=\"" + px(height) + "\" " + look;
}

std::string text(double x, double y, const std::string& look, const std::string& words) {
  return "<text x=\"" + px(x) + "\" y=\"" + px(y) + "\"" + look + ">" + words + "</text>\n";
}

std::string color_of(const JobRecord& record) {
  return "fill=\"hsl(" + std::to_string(record.handle * 137 % 360) + ",60%,55%)\">";
}

// Names are of letters, digits, '.', '_' and '-' (jobs_file.h), or numbers.
std::string hint_of(const JobRecord& record) {
  const std::string sizes = sizes_text(record);
  return "<title>" + record.job.called() + ": " + std::to_string(record.job.processors()) +
         " processors, " + seconds_text(record.start) + " to " + seconds_text(record.end) + " s" +
         (sizes.empty() ? "" : ", workers " + sizes) + "</title></rect>\n";
}

// On a bar of kElasticRow, where there is room.
std::string label(double x, double y, double width, const std::string& words) {
  const bool fits = width > kDigit * static_cast<double>(words.size() + 1);
  return fits ? text(x + 2, y + kElasticRow - 4, "", words) : "";
}

std::string axis(const Times& times, double y) {
  std::string drawn = "<line class=\"x\" x1=\"" + px(kLeft) + "\" x2=\"" + px(kWidth - kRight) +
                      "\" y1=\"" + px(y) + "\" y2=\"" + px(y) + "\"/>\n";
  for (int mark = 0; mark <= kMarks; ++mark) {
    const Ms time = times.from + (times.to - times.from) * mark / kMarks;
    drawn += text(times.at(time), y + 14,
                  mark == kMarks ? " text-anchor=\"end\"" : " text-anchor=\"middle\"",
                  seconds_text(time / 1000 * 1000) + " s");
  }
  return drawn;
}

// A bar as high as the job is large, of its own largest size, and the number where there is room;
// first the name, too.
std::string draw_sizes(const JobRecord& record, const Times& times, double y) {
  int most = 1;
  for (const auto& size : record.sizes) most = std::max(most, size.workers);
  std::string drawn;
  for (std::size_t i = 0; i < record.sizes.size(); ++i) {
    const bool last = i + 1 == record.sizes.size();
    const double from = times.at(std::max(record.start, record.sizes[i].from));
    const double width = times.at(last ? record.end : record.sizes[i + 1].from) - from;
    const double height = (kElasticRow - 1) * record.sizes[i].workers / most;
    drawn +=
        rect(from, y + kElasticRow - 1 - height, width, height, color_of(record)) + hint_of(record);
    const std::string workers = std::to_string(record.sizes[i].workers);
    const std::string named =
        i == 0 ? label(from, y, width, record.job.called() + ": " + workers) : "";
    drawn += named.empty() ? label(from, y, width, workers) : named;
  }
  return drawn;
}

std::string draw_jobs(const std::vector<JobRecord>& jobs, const Times& times, double& y, bool all) {
  std::string drawn =
      text(kLeft, y + 18, " class=\"t\"",
           all ? "Jobs: grey while they wait" : "The first jobs that ended: grey while they wait");
  y += kTitle;
  const bool few = jobs.size() <= kFewJobs;
  const double row = few ? kElasticRow : kJobRow;
  for (const JobRecord& job : jobs) {
    const double submitted = times.at(job.job.submit);
    drawn +=
        rect(submitted, y + 2, times.at(job.start) - submitted, kJobRow - 4, "class=\"w\"/>\n");
    if (!job.sizes.empty()) {
      drawn += draw_sizes(job, times, y);
      y += kElasticRow;
      continue;
    }
    const double start = times.at(job.start);
    const double width = times.at(job.end) - start;
    drawn += rect(start, y, width, row - 1, color_of(job)) + hint_of(job);
    if (few) drawn += label(start, y, width, job.job.called());
    y += row;
  }
  drawn += axis(times, y);
  y += kTitle;
  return drawn;
}

std::string draw_cpus(const std::vector<JobRecord>& jobs, const cluster::Fleet& fleet,
                      const Times& times, double& y) {
  std::string drawn = text(kLeft, y + 18, " class=\"t\"", "CPUs of the first nodes");
  y += kTitle;
  int cpus = 0;
  for (cluster::NodeIndex node = 0; node < fleet.size() && cpus < Picture::kMostCpus; ++node) {
    const auto& online = fleet.node(node).topology().online;
    drawn += text(4, y + 10, "", fleet.node(node).name.substr(0, 14));
    int row = 0;
    for (const int cpu : online) {
      for (const JobRecord& job : jobs) {
        const auto draw = [&](const Piece& piece, Ms from, Ms to) {
          if (piece.node != node || !piece.cpus.contains(cpu)) return;
          drawn += rect(times.at(from), y + row * kCpuRow, times.at(to) - times.at(from),
                        kCpuRow - 0.5, color_of(job)) +
                   hint_of(job);
        };
        for (const auto& [piece, from, to] : job.stays) draw(piece, from, to);
        if (!job.stays.empty()) continue;
        for (const Piece& piece : job.pieces) draw(piece, job.start, job.end);
      }
      ++row;
    }
    cpus += row;
    y += row * kCpuRow + 4;
    drawn += axis(times, y - 2);
    y += kTitle;
  }
  return drawn;
}

}  // namespace

void Picture::ended(const JobRecord& record) {
  all_ = jobs_.size() < kMostJobs;
  if (all_) jobs_.push_back(record);
}

// Times since the first moment.
void Picture::spend(Ms from, Ms to) {
  while (static_cast<std::size_t>(to / step_) >= kMostTimes) {
    step_ *= 2;
    for (std::size_t i = 0; i < work_.size(); ++i) {
      const double work = std::exchange(work_[i], 0);
      work_[i / 2] += work;
    }
    work_.resize((work_.size() + 1) / 2);
  }
  while (from < to) {
    const auto at = static_cast<std::size_t>(from / step_);
    const Ms until = std::min(to, static_cast<Ms>(at + 1) * step_);
    if (at >= work_.size()) work_.resize(at + 1);
    work_[at] += static_cast<double>(busy_) * static_cast<double>(until - from);
    from = until;
  }
}

void Picture::busy(Ms now, std::int64_t processors) {
  if (!first_) first_ = last_ = now;
  spend(last_ - *first_, now - *first_);
  last_ = now;
  busy_ = processors;
}

std::string Picture::svg(std::int64_t processors, const cluster::Fleet* fleet) const {
  Times all{.from = first_.value_or(0), .to = last_};
  if (!first_ && !jobs_.empty()) all = {.from = jobs_.front().job.submit, .to = jobs_.back().end};
  for (const JobRecord& job : jobs_) all.from = std::min(all.from, job.job.submit);
  all.to = std::max(all.to, all.from + 1);
  Times shown = all;
  if (!all_) shown.to = std::max(jobs_.back().end, all.from + 1);
  std::vector<JobRecord> jobs = jobs_;
  std::stable_sort(jobs.begin(), jobs.end(), [](const JobRecord& a, const JobRecord& b) {
    return std::pair(a.job.submit, a.handle) < std::pair(b.job.submit, b.handle);
  });
  double y = 0;
  std::string drawn = text(kLeft, y + 18, " class=\"t\"",
                           all_ ? "Utilisation, %" : "Utilisation of the whole run, %");
  y += kTitle;
  for (std::size_t i = 0; i < work_.size(); ++i) {
    const double share = work_[i] / static_cast<double>(step_) /
                         static_cast<double>(std::max<std::int64_t>(processors, 1));
    const Ms from = *first_ + static_cast<Ms>(i) * step_;
    const double x = all.at(std::min(from, all.to));
    drawn += rect(x, y + kUsage * (1 - share), all.at(std::min(from + step_, all.to)) - x,
                  kUsage * share, "class=\"u\"/>\n");
  }
  drawn += text(kLeft - 6, y + 8, " text-anchor=\"end\"", "100") +
           text(kLeft - 6, y + kUsage, " text-anchor=\"end\"", "0") + axis(all, y + kUsage);
  y += kUsage + kTitle;
  drawn += draw_jobs(jobs, shown, y, all_);
  if (fleet != nullptr) drawn += draw_cpus(jobs, *fleet, shown, y);
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + px(kWidth) + "\" height=\"" +
         px(y) + "\" viewBox=\"0 0 " + px(kWidth) + " " + px(y) + "\">\n" + kStyle + drawn +
         "</svg>\n";
}

}  // namespace pinion::sim
