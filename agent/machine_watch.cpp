#include "agent/machine_watch.h"

#include <sys/stat.h>

#include <fstream>
#include <utility>

namespace pinion::agent {
namespace {

constexpr std::chrono::seconds kPause{1};
constexpr std::chrono::milliseconds kReading{10};

}  // namespace

std::optional<MachineWatch> MachineWatch::of(const topology::Source& source,
                                             topology::ReservedMemory reserved) {
  const bool running =
      source.kind == topology::Source::Kind::kLive || source.kind == topology::Source::Kind::kRoot;
  if (!running) return std::nullopt;
  return MachineWatch(source, source.value + "/sys/devices/system/cpu", std::move(reserved));
}

MachineWatch::MachineWatch(topology::Source source, std::string cpu_folder,
                           topology::ReservedMemory reserved)
    : source_(std::move(source)),
      cpu_folder_(std::move(cpu_folder)),
      reserved_(std::move(reserved)),
      seen_(read_cpus()) {}

MachineWatch::Cpus MachineWatch::read_cpus() const {
  std::ifstream file(cpu_folder_ + "/online");
  std::string list;
  std::getline(file, list);
  Cpus cpus;
  for (const int cpu : topology::CpuSet::parse(list).value_or(topology::CpuSet())) {
    struct stat folder = {};
    const bool there =
        ::stat((cpu_folder_ + "/cpu" + std::to_string(cpu) + "/topology").c_str(), &folder) == 0;
    cpus.emplace(cpu, there ? folder.st_ino : 0);
  }
  return cpus;
}

std::optional<Result<engine::MachineChanged>> MachineWatch::look(TimePoint now) {
  if (now < next_) return std::nullopt;
  if (machine_.valid()) {
    next_ = now + kReading;
    if (machine_.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
      return std::nullopt;
    auto machine = machine_.get();
    if (!machine) return failure(machine.error());
    engine::MachineChanged changed{
        .topology = topology::without_reserved_memory(std::move(*machine), reserved_), .away = {}};
    for (const auto& [cpu, folder] : reading_) {
      const auto before = seen_.find(cpu);
      if (before != seen_.end() && before->second != folder) changed.away.add(cpu);
    }
    changed.away &= changed.topology.online;
    seen_ = std::move(reading_);
    return changed;
  }
  next_ = now + kPause;
  Cpus cpus = read_cpus();
  if (cpus == seen_ || cpus.empty()) return std::nullopt;
  next_ = now + kReading;
  reading_ = std::move(cpus);
  std::packaged_task<Result<topology::Topology>(std::stop_token)> read(
      [source = source_](const std::stop_token& stop) { return topology::discover(source, stop); });
  machine_ = read.get_future();
  reader_ = std::jthread(std::move(read));
  return std::nullopt;
}

std::optional<MachineWatch::TimePoint> MachineWatch::deadline() const {
  return machine_.valid() ? std::optional(next_) : std::nullopt;
}

}  // namespace pinion::agent
