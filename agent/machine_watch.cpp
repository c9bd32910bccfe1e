#include "agent/machine_watch.h"

#include <fstream>

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
  return MachineWatch(source, source.value + "/sys/devices/system/cpu/online", std::move(reserved));
}

MachineWatch::MachineWatch(topology::Source source, std::string online_file,
                           topology::ReservedMemory reserved)
    : source_(std::move(source)),
      online_file_(std::move(online_file)),
      reserved_(std::move(reserved)),
      seen_(read_list()) {}

std::string MachineWatch::read_list() const {
  std::ifstream file(online_file_);
  std::string list;
  std::getline(file, list);
  return list;
}

std::optional<Result<topology::Topology>> MachineWatch::look(TimePoint now) {
  if (now < next_) return std::nullopt;
  if (machine_.valid()) {
    next_ = now + kReading;
    if (machine_.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
      return std::nullopt;
    auto machine = machine_.get();
    if (!machine) return machine;
    seen_ = std::move(reading_);
    return topology::without_reserved_memory(std::move(*machine), reserved_);
  }
  next_ = now + kPause;
  std::string list = read_list();
  if (list == seen_ || list.empty()) return std::nullopt;
  next_ = now + kReading;
  reading_ = std::move(list);
  machine_ =
      std::async(std::launch::async, [source = source_] { return topology::discover(source); });
  return std::nullopt;
}

std::optional<MachineWatch::TimePoint> MachineWatch::deadline() const {
  return machine_.valid() ? std::optional(next_) : std::nullopt;
}

}  // namespace pinion::agent
