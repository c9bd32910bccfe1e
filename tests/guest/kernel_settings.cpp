#include "tests/guest/kernel_settings.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "metrics/proc_files.h"
#include "tests/lab/files.h"

namespace pinion::guest {
namespace {

namespace fs = std::filesystem;

// /proc/irq/N/smp_affinity_list by N.
std::map<std::string, std::string> affinity_files() {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator("/proc/irq")) {
    if (entry.is_directory()) {
      files[entry.path().filename()] = entry.path().string() + "/smp_affinity_list";
    }
  }
  return files;
}

}  // namespace

std::map<std::string, std::string> kernel_settings() {
  std::map<std::string, std::string> settings;
  auto files = affinity_files();
  files["default"] = "/proc/irq/default_smp_affinity";
  files["unbound"] = "/sys/devices/virtual/workqueue/cpumask";
  files["writeback"] = "/sys/bus/workqueue/devices/writeback/cpumask";
  for (const auto& [name, path] : files) {
    if (const auto text = lab::read_file(path)) settings[path] = *text;
  }
  return settings;
}

std::map<std::string, CpuSet> rcu_threads() {
  std::map<std::string, CpuSet> threads;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const auto name = lab::read_file(entry.path().string() + "/comm");
    if (!name || !name->starts_with("rcuo")) continue;
    const int pid = std::atoi(entry.path().filename().c_str());
    const auto status = metrics::read_task_status("", pid, pid);
    if (status && status->cpus_allowed) threads[*name] = *status->cpus_allowed;
  }
  return threads;
}

std::set<std::string> kernel_threads_on(const CpuSet& cpus) {
  constexpr unsigned kernel_thread = 0x00200000;  // PF_KTHREAD
  constexpr unsigned bound = 0x04000000;          // PF_NO_SETAFFINITY
  std::set<std::string> names;
  for (const int pid : metrics::list_processes("").value_or(std::vector<int>())) {
    const auto stat = lab::read_file("/proc/" + std::to_string(pid) + "/stat");
    const auto status = metrics::read_task_status("", pid, pid);
    if (!stat || !status || !status->cpus_allowed) continue;
    std::istringstream fields(stat->substr(stat->rfind(')') + 1));
    std::string before;
    for (int field = 3; field < 9; ++field) fields >> before;
    unsigned flags = 0;
    fields >> flags;
    if ((flags & kernel_thread) == 0 || (flags & bound) != 0) continue;
    if (status->cpus_allowed->intersects(cpus)) names.insert(stat->substr(0, stat->rfind(')') + 1));
  }
  return names;
}

std::set<std::string> fixed_irqs() {
  std::set<std::string> fixed;
  for (const auto& [number, path] : affinity_files()) {
    const auto text = lab::read_file(path);
    if (text && !lab::write_existing(path, *text)) fixed.insert(number);
  }
  return fixed;
}

std::string movable_irqs_on(const CpuSet& cpus, const std::set<std::string>& fixed) {
  std::string found;
  for (const auto& [number, path] : affinity_files()) {
    const auto text = lab::read_file(path);
    const auto now = text ? CpuSet::parse(*text) : Result<CpuSet>(CpuSet());
    if (!fixed.contains(number) && now && now->intersects(cpus)) found += number + ": " + *text;
  }
  return found;
}

Interrupts interrupts_on(CpuId cpu) {
  std::ifstream file("/proc/interrupts");
  std::string line;
  std::getline(file, line);  // CPU0 CPU1 ...: one column for each online CPU
  std::istringstream header(line);
  int column = 0;
  for (std::string word; header >> word && word != "CPU" + std::to_string(cpu);) ++column;
  Interrupts sum;
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    std::string name;
    fields >> name;
    long count = 0;
    bool there = true;
    for (int i = 0; i <= column && there; ++i) there = static_cast<bool>(fields >> count);
    if (!there) continue;  // ERR and MIS have one column
    sum.all += count;
    if (name.find_first_not_of("0123456789:") == std::string::npos) sum.devices += count;
  }
  return sum;
}

int console_irq() {
  std::ifstream file("/proc/tty/driver/serial");
  for (std::string line; std::getline(file, line);) {
    const auto at = line.find(" irq:");
    if (line.starts_with("0:") && at != std::string::npos) return std::atoi(line.c_str() + at + 5);
  }
  return 0;
}

Status set_affinity_list(int irq, const std::string& list) {
  return lab::write_existing("/proc/irq/" + std::to_string(irq) + "/smp_affinity_list", list);
}

}  // namespace pinion::guest
