#include "tests/lab/demo_report.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace pinion::lab {
namespace {

using Line = std::vector<std::string>;

// A pinned rank that spins gets all of its cores, unless the machine does other work: no cpuset of
// ours keeps off what runs outside of the containers.
constexpr double kBusyElsewhere = 0.9;

std::string fixed(double value, int digits) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
}

std::string or_dash(const std::string& text) {
  return text.empty() ? "-" : text;
}

std::string cores_text(std::int64_t milli) {
  if (milli == 0) return "-";
  return milli % 1000 == 0 ? std::to_string(milli / 1000)
                           : fixed(static_cast<double>(milli) / 1000, 2);
}

// Each thread's CPUs; equal ones once, with their number: "1" or "0-1 x2, 3".
std::string ran_on(const ContainerUse& use) {
  std::vector<std::pair<std::string, int>> groups;
  for (const auto& thread : use.threads) {
    const std::string cpus = or_dash(thread.ran_on.to_string());
    const auto same = std::find_if(groups.begin(), groups.end(),
                                   [&](const auto& group) { return group.first == cpus; });
    if (same == groups.end()) {
      groups.emplace_back(cpus, 1);
    } else {
      ++same->second;
    }
  }
  std::string text;
  for (const auto& [cpus, count] : groups) {
    text += (text.empty() ? "" : ", ") + cpus + (count > 1 ? " x" + std::to_string(count) : "");
  }
  return or_dash(text);
}

// Of the CPU time that one CPU has, or that the CPUs which were asked for have.
double share_of(const Row& row) {
  const double cpus = row.rank ? static_cast<double>(row.asked) / 1000 : 1;
  return row.use.cpu_seconds() / (row.use.seconds * cpus);
}

std::string percent(double share) {
  return fixed(100 * share, 0) + " %";
}

std::string got(const Row& row, const std::map<std::string, topology::CpuSet>& told) {
  if (told.empty()) return "-";
  const auto found = told.find(row.id);
  if (!row.rank || found == told.end()) return "shared";
  return std::to_string(found->second.count()) + " (" + or_dash(found->second.to_string()) + ")";
}

Line line_of(const Row& row, const std::map<std::string, topology::CpuSet>& told,
             const topology::Topology& machine) {
  Line line{row.name,
            to_text(row.qos),
            cores_text(row.asked),
            got(row, told),
            or_dash(machine.nodes_of(row.cpuset).to_string()),
            row.cpuset.to_string(),
            ran_on(row.use),
            std::to_string(row.use.migrations()),
            std::to_string(row.use.preemptions()),
            percent(share_of(row))};
  if (machine.nodes.size() > 1) {
    line.push_back(row.use.local_memory ? percent(*row.use.local_memory) : "-");
  }
  return line;
}

std::string aligned(const std::vector<Line>& lines) {
  std::vector<std::size_t> widths(lines.front().size());
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string text;
  for (const auto& line : lines) {
    std::string row = " ";
    for (std::size_t i = 0; i < line.size(); ++i) {
      row += " " + line[i] + std::string(widths[i] - line[i].size() + 1, ' ');
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  return text;
}

struct Sums {
  std::uint64_t migrations = 0;
  std::uint64_t preemptions = 0;
  double share = 0;                         // mean
  std::optional<double> local_memory = {};  // mean
  int ranks = 0;
};

Sums sums_of(const std::vector<Row>& rows) {
  Sums sums;
  for (const auto& row : rows) {
    if (!row.rank) continue;
    ++sums.ranks;
    sums.migrations += row.use.migrations();
    sums.preemptions += row.use.preemptions();
    sums.share += share_of(row);
    if (row.use.local_memory) {
      sums.local_memory = sums.local_memory.value_or(0) + *row.use.local_memory;
    }
  }
  if (sums.ranks > 0) sums.share /= sums.ranks;
  if (sums.local_memory) *sums.local_memory /= sums.ranks;
  return sums;
}

std::string sums_text(const Sums& sums) {
  return std::to_string(sums.migrations) + " migrations, " + std::to_string(sums.preemptions) +
         " preemptions, " + percent(sums.share) + " of the CPU time asked for" +
         (sums.local_memory ? ", " + percent(*sums.local_memory) + " of the memory local" : "");
}

topology::CpuSet where(const ContainerUse& use) {
  topology::CpuSet cpus;
  for (const auto& thread : use.threads) cpus |= thread.ran_on;
  return cpus;
}

}  // namespace

std::string table(const std::vector<Row>& rows, const std::map<std::string, topology::CpuSet>& told,
                  const topology::Topology& machine) {
  std::vector<Line> lines{{"CONTAINER", "QOS", "ASKED", "GOT", "NUMA", "CPUSET", "RAN ON",
                           "MIGRATIONS", "PREEMPTIONS", "CPU TIME"}};
  if (machine.nodes.size() > 1) lines.front().emplace_back("LOCAL MEMORY");
  auto sorted = rows;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Row& a, const Row& b) { return a.rank > b.rank; });
  for (const auto& row : sorted) lines.push_back(line_of(row, told, machine));
  return aligned(lines);
}

std::vector<std::string> faults_of_pinned(const std::vector<Row>& rows,
                                          const topology::Topology& machine) {
  std::vector<std::string> faults;
  for (const auto& row : rows) {
    if (!row.rank) continue;
    const std::string cpus = row.cpuset.to_string();
    if (row.cpuset.count() * 1000 != row.asked) {
      faults.push_back(row.name + " asked for " + cores_text(row.asked) + " and has CPUs " + cpus);
      continue;
    }
    if (machine.nodes_of(row.cpuset).count() > 1) {
      faults.push_back(row.name + " spans NUMA nodes with CPUs " + cpus);
    }
    for (const auto& other : rows) {
      const auto ran = where(other.use);
      const bool own = other.id == row.id;
      if (own && !ran.is_subset_of(row.cpuset)) {
        faults.push_back(row.name + " ran on " + ran.to_string() + ", its CPUs are " + cpus);
      }
      if (!own && (ran.intersects(row.cpuset) || other.cpuset.intersects(row.cpuset))) {
        faults.push_back(other.name + " ran or may run on CPUs " + cpus + " of " + row.name);
      }
    }
  }
  return faults;
}

std::string verdict(const std::vector<Row>& pinned, const std::vector<Row>& unpinned) {
  const Sums with = sums_of(pinned);
  const Sums without = sums_of(unpinned);
  const std::string ranks = with.ranks == 1 ? "1 rank" : std::to_string(with.ranks) + " ranks";
  return "Verdict (" + ranks + "): pinned " + sums_text(with) + "; unpinned " + sums_text(without) +
         "." +
         (with.share < kBusyElsewhere ? "\nSomething outside of the demo used the machine "
                                        "meanwhile, also the ranks' own CPUs: "
                                        "see it on an idle one."
                                      : "");
}

}  // namespace pinion::lab
