#include <algorithm>
#include <map>

#include "base/cli/table.h"
#include "ctl/job/draw_job_plan.h"
#include "ctl/machine/core_cells.h"

namespace pinion::ctl {
namespace {

using cluster::jobs::JobPlan;
using cluster::jobs::PlanMachine;
using cluster::jobs::PlanNode;
using cluster::jobs::PlanWorker;
using topology::CpuId;

constexpr const char* kLegend =
    "letter: worker  #: others  r: reserved  i: isolated  -: kept empty  .: free";
constexpr std::size_t kIndent = 2;

std::string clipped(std::string text, std::size_t width) {
  if (text.size() > width) text.resize(width);
  while (text.ends_with(' ')) text.pop_back();
  return text;
}

class Picture {
 public:
  Picture(const JobPlan& plan, const PictureSize& size) : plan_(plan), size_(size) {
    for (std::size_t i = 0; i < plan.workers.size(); ++i) {
      const PlanWorker& worker = plan.workers[i];
      groups_.emplace(worker.group, groups_.size());
      if (!worker.node.empty()) by_node_[worker.node].push_back(i);
    }
  }

  [[nodiscard]] std::string draw() const {
    std::string text = clipped(kLegend, size_.width) + "\n";
    std::size_t left = size_.height > 1 ? size_.height - 1 : 0;
    for (std::size_t i = 0; i < plan_.nodes.size(); ++i) {
      const bool last = i + 1 == plan_.nodes.size();
      const std::size_t room = left - std::min<std::size_t>(left, last ? 0 : 1);
      auto lines = node_lines(plan_.nodes[i]);
      if (lines.size() > room && i > 0) return text + others(i);
      if (lines.size() > room) shorten(lines, room, plan_.nodes[i]);
      for (const Cells& line : lines) text += line.text + "\n";
      left -= std::min(left, lines.size());
    }
    return text;
  }

 private:
  // A heading with the workers, then the NUMA nodes.
  [[nodiscard]] std::vector<Cells> node_lines(const PlanNode& node) const {
    const PlanMachine& machine = plan_.machines[node.machine];
    const std::size_t width = size_.width - std::min(size_.width, kIndent);
    const auto name = [&](topology::Index index) {
      return index < 0 ? "-" : std::to_string(machine.numa_ids[static_cast<std::size_t>(index)]);
    };
    const auto marks = marks_on(node, machine);
    const auto cell = [&](CpuId cpu) { return marks.at(cpu); };
    std::vector<Cells> lines =
        core_cells(machine.cpus, std::max<std::size_t>(width, 1), name, cell);
    for (Cells& line : lines) line.text.insert(0, kIndent, ' ');
    const Cells heading{.text = heading_of(node), .width = 0, .cpus = 0};
    lines.insert(lines.begin(), heading);
    return lines;
  }

  [[nodiscard]] std::map<CpuId, std::string> marks_on(const PlanNode& node,
                                                      const PlanMachine& machine) const {
    std::map<CpuId, std::string> marks;
    for (const topology::Pu& pu : machine.cpus) marks[pu.cpu] = standing(node, machine, pu.cpu);
    for (const std::size_t number : by_node_.at(node.name)) {
      const PlanWorker& worker = plan_.workers[number];
      for (const CpuId cpu : worker.held) {
        const std::string mark(1, worker.runs.contains(cpu) ? core_mark(number) : '-');
        marks[cpu] = size_.color ? colored(mark, groups_.at(worker.group), true) : mark;
      }
    }
    return marks;
  }

  // Where no worker goes.
  [[nodiscard]] std::string standing(const PlanNode& node, const PlanMachine& machine,
                                     CpuId cpu) const {
    std::string mark = ".";
    if (machine.isolated.contains(cpu)) mark = "i";
    if (machine.reserved.contains(cpu)) mark = "r";
    if (node.taken.contains(cpu)) mark = "#";
    return size_.color ? dimmed(mark) : mark;
  }

  // "node-0  wind-0: A 0, E 4, wind-1: B 1": the letters of workers, by group.
  [[nodiscard]] std::string heading_of(const PlanNode& node) const {
    std::vector<std::size_t> workers = by_node_.at(node.name);
    const auto group = [&](std::size_t number) -> const std::string& {
      return plan_.workers[number].group;
    };
    std::stable_sort(workers.begin(), workers.end(),
                     [&](std::size_t a, std::size_t b) { return group(a) < group(b); });
    std::string text = plain(node.name) + " ";
    for (std::size_t i = 0; i < workers.size(); ++i) {
      const bool new_group = i == 0 || group(workers[i]) != group(workers[i - 1]);
      std::string word = i == 0 ? " " : ", ";
      if (new_group && !group(workers[i]).empty()) word += plain(group(workers[i])) + ": ";
      word += std::string(1, core_mark(workers[i])) + " " + std::to_string(workers[i]);
      const std::string more = ", " + std::to_string(workers.size() - i) + " more";
      const bool last = i + 1 == workers.size();
      if (text.size() + word.size() + (last ? 0 : more.size()) > size_.width) {
        return clipped(text + more, size_.width);
      }
      text += word;
    }
    return text;
  }

  // Takes lines off the end until it fits with one that says so.
  void shorten(std::vector<Cells>& lines, std::size_t room, const PlanNode& node) const {
    std::size_t cpus = 0;
    while (!lines.empty() && lines.size() + 1 > std::max<std::size_t>(room, 1)) {
      cpus += lines.back().cpus;
      lines.pop_back();
    }
    const std::string text = "... " + std::to_string(cpus) + " more CPUs of " + plain(node.name);
    lines.push_back({.text = clipped(text, size_.width), .width = 0, .cpus = 0});
  }

  [[nodiscard]] std::string others(std::size_t from) const {
    std::size_t workers = 0;
    for (std::size_t i = from; i < plan_.nodes.size(); ++i) {
      workers += by_node_.at(plan_.nodes[i].name).size();
    }
    const std::string text = "... " +
                             counted(plan_.nodes.size() - from, "more node", "more nodes") +
                             " with " + counted(workers, "worker", "workers");
    return clipped(text, size_.width) + "\n";
  }

  const JobPlan& plan_;
  const PictureSize size_;
  std::map<std::string, std::size_t> groups_;                // to their colours
  std::map<std::string, std::vector<std::size_t>> by_node_;  // positions of workers
};

}  // namespace

std::string draw_job_picture(const JobPlan& plan, const PictureSize& size) {
  return plan.nodes.empty() ? "" : Picture(plan, size).draw();
}

}  // namespace pinion::ctl
