#include "metrics/trespassers.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>

#include "base/some_of.h"
#include "base/words.h"

namespace pinion::metrics {
namespace {

constexpr std::size_t kMostCommands = 5;
constexpr std::size_t kMostPids = 16;

// Of a runtime that has nothing to do with the kubelet.
struct OtherContainer {
  std::string runtime;
  std::string id;  // as much of it as the runtime's own commands show and take
};

// The group is that container's, or one inside it: "/system.slice/docker-ID.scope",
// "/docker/ID/init".
std::optional<OtherContainer> container_of(std::string_view unit) {
  constexpr std::size_t least_digits = 32;
  constexpr std::size_t shown_digits = 12;
  std::string_view above;
  while (!unit.empty()) {
    unit.remove_prefix(1);
    std::string_view part = unit.substr(0, unit.find('/'));
    unit.remove_prefix(part.size());
    if (part.ends_with(".scope")) part.remove_suffix(std::string_view(".scope").size());
    const std::size_t dash = part.rfind('-');
    const bool prefixed = dash != std::string_view::npos;
    const std::string_view id = prefixed ? part.substr(dash + 1) : part;
    const bool hash = id.size() >= least_digits &&
                      id.find_first_not_of("0123456789abcdef") == std::string_view::npos;
    if (hash) {
      const std::string_view runtime = prefixed ? part.substr(0, dash) : above;
      return OtherContainer{.runtime = std::string(runtime == "libpod" ? "podman" : runtime),
                            .id = std::string(id.substr(0, shown_digits))};
    }
    above = part;
  }
  return std::nullopt;
}

// system.slice for /system.slice/ssh.service; "" for what is in none.
std::string slice_of(const std::string& unit) {
  const std::size_t end = unit.find('/', 1);
  const std::string top =
      unit.size() > 1 ? unit.substr(1, end == std::string::npos ? end : end - 1) : std::string();
  return top.ends_with(".slice") || top.ends_with(".scope") ? top : std::string();
}

std::string name_of(const std::string& unit) {
  const auto container = container_of(unit);
  if (!container) return unit.substr(unit.rfind('/') + 1);
  return container->runtime + (container->runtime.empty() ? "" : " ") + "container " +
         container->id;
}

// "ssh.service (sshd 640 and 3 more)"; "sshd (640)" in no unit.
std::string text_of(const std::string& unit, const std::vector<const HostProcess*>& inside) {
  const HostProcess& first = *inside.front();
  std::string text = unit + " (";
  if (unit != first.name) text.append(first.name).append(" ");
  text.append(std::to_string(first.pid));
  if (inside.size() > 1)
    text.append(" and ").append(std::to_string(inside.size() - 1)).append(" more");
  return text.append(")");
}

// What puts a process on other CPUs: a command for each of some, and the PIDs of the others.
struct Commands {
  std::set<std::string> all;
  std::vector<std::string> pids;
};

void add(Commands& commands, const HostProcess& process, const std::string& cpus) {
  const auto container = container_of(process.unit);
  const std::string slice = slice_of(process.unit);
  if (container && (container->runtime == "docker" || container->runtime == "podman")) {
    commands.all.insert(container->runtime + " update --cpuset-cpus=" + cpus + " " + container->id);
  } else if (!slice.empty()) {
    commands.all.insert("systemctl set-property " + slice + " AllowedCPUs=" + cpus);
  } else {
    commands.pids.push_back(std::to_string(process.pid));
  }
}

std::string text_of(const Commands& commands, const std::string& cpus) {
  std::vector<std::string> texts;
  for (const std::string& command : commands.all) {
    if (texts.size() == kMostCommands) break;
    texts.push_back(command);
  }
  std::size_t more = commands.all.size() - texts.size();
  const std::string taskset = "taskset -a -p -c " + cpus + " ";
  if (commands.pids.size() == 1) {
    texts.push_back(taskset + commands.pids.front());
  } else if (!commands.pids.empty()) {
    const auto first = std::span(commands.pids).first(std::min(kMostPids, commands.pids.size()));
    texts.push_back("for p in " + joined(first, " ") + "; do " + taskset + "$p; done");
    more += commands.pids.size() - first.size();
  }
  if (more > 0) texts.push_back("the same for " + std::to_string(more) + " more");
  return joined(std::span(texts), "; ");
}

}  // namespace

Trespassers trespassers(const std::vector<HostProcess>& processes, const topology::CpuSet& cpus,
                        const topology::CpuSet& others) {
  Trespassers found;
  std::map<std::string, std::vector<const HostProcess*>> units;
  Commands commands;
  for (const HostProcess& process : processes) {
    if (!process.cpus.intersects(cpus)) continue;
    ++found.processes;
    const std::string name = name_of(process.unit);
    units[name.empty() ? process.name : name].push_back(&process);
    add(commands, process, others.to_string());
  }
  if (found.processes == 0) return found;
  std::vector<std::string> names;
  names.reserve(units.size());
  for (const auto& [name, inside] : units) names.push_back(text_of(name, inside));
  found.units = some_of(names);
  found.keep_off =
      (others.empty() ? "reserve CPUs for them" : text_of(commands, others.to_string())) +
      "; or let the kernel keep all of them off: the fence partition (docs/node.md)";
  return found;
}

}  // namespace pinion::metrics
