#include "cluster/sim/malleable.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>

namespace pinion::sim {
namespace {

constexpr double kMostFactor = 1e6;
constexpr double kRounding = 1e-9;  // of a factor times a size that is whole

}  // namespace

void set_rates(Job& job, Elastic& elastic, std::vector<cluster::SizeRate> rates) {
  const double rate = cluster::SpeedUp(rates).rate(job.shape.tasks);
  for (cluster::SizeRate& one : rates) one.rate /= rate;
  elastic.speed_up = cluster::SpeedUp(std::move(rates));
  job.run = static_cast<Ms>(std::llround(std::min(1 / rate, kMostSeconds) * 1000));
}

Result<Malleable> parse_malleable(std::string_view text) {
  const auto wrong = [&](const std::string& what) { return failure(Errc::kInvalid, what); };
  Malleable how;
  const std::array<double*, 3> values{&how.least, &how.most, &how.serial};
  std::size_t count = 0;
  for (bool more = true; more; ++count) {
    const std::size_t end = text.find(':');
    const std::string_view word = text.substr(0, end);
    if (count == values.size()) return wrong("more than LEAST:MOST:SERIAL");
    const auto [stop, error] =
        std::from_chars(word.data(), word.data() + word.size(), *values[count]);
    if (word.empty() || error != std::errc() || stop != word.data() + word.size()) {
      return wrong("give LEAST:MOST or LEAST:MOST:SERIAL, three numbers as 0.5:2:0.05");
    }
    more = end != std::string_view::npos;
    text.remove_prefix(more ? end + 1 : text.size());
  }
  if (count < 2) return wrong("MOST is missing, as in 0.5:2");
  if (!(how.least > 0 && how.least <= 1)) return wrong("LEAST must be above 0 and at most 1");
  if (!(how.most >= 1 && how.most <= kMostFactor)) return wrong("MOST must be from 1 to 1000000");
  if (!(how.serial >= 0 && how.serial <= 1)) return wrong("SERIAL must be from 0 to 1");
  return how;
}

void make_malleable(Job& job, const Malleable& how, std::int64_t processors) {
  const int tasks = job.shape.tasks;
  const auto most = std::min(static_cast<std::int64_t>(tasks * how.most + kRounding),
                             processors / job.shape.cpus_per_task);
  auto elastic = std::make_shared<Elastic>();
  elastic->min = std::clamp(static_cast<int>(std::ceil(tasks * how.least - kRounding)), 1, tasks);
  elastic->max = std::max(tasks, static_cast<int>(most));
  elastic->speed_up = cluster::SpeedUp(how.serial, tasks);
  job.elastic = std::move(elastic);
}

}  // namespace pinion::sim
