#include "topology/discover/discover.h"

#include <hwloc.h>
#include <numa.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "topology/discover/scoped_env.h"
#include "topology/discover/sysfs.h"

namespace pinion::topology {
namespace {

struct Destroy {
  void operator()(hwloc_topology* machine) const { hwloc_topology_destroy(machine); }
};
using Machine = std::unique_ptr<hwloc_topology, Destroy>;

constexpr std::array<std::pair<std::string_view, Source::Kind>, 3> kForms{
    {{"xml:", Source::Kind::kXml},
     {"synthetic:", Source::Kind::kSynthetic},
     {"root:", Source::Kind::kRoot}}};

std::string name_of(const Source& source) {
  for (const auto& [prefix, kind] : kForms) {
    if (kind == source.kind) return std::string(prefix) + source.value;
  }
  return "live";
}

// What can be known to be missing before hwloc is asked: it would fall back to this machine.
Status check_present(const Source& source) {
  std::error_code error;
  if (source.kind == Source::Kind::kXml) {
    const auto kind = std::filesystem::status(source.value, error).type();
    if (kind == std::filesystem::file_type::not_found) {
      return failure(Errc::kNotFound, "no such file");
    }
    if (kind == std::filesystem::file_type::directory) {
      return failure(Errc::kInvalid, "is a directory, not an hwloc XML file");
    }
  }
  if (source.kind == Source::Kind::kRoot) {
    if (!std::filesystem::is_directory(source.value, error)) {
      return failure(Errc::kNotFound, "no such directory");
    }
    if (!tells_cpus(source.value)) {
      return failure(Errc::kNotFound, "no CPUs in its sys/devices/system/cpu");
    }
  }
  return {};
}

// Tells hwloc where to read. False: it cannot, see errno.
bool configure(hwloc_topology* machine, const Source& source) {
  // The whole machine, not what our own cgroup leaves of it.
  if (hwloc_topology_set_flags(machine, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) != 0 ||
      hwloc_topology_set_io_types_filter(machine, HWLOC_TYPE_FILTER_KEEP_IMPORTANT) != 0) {
    return false;
  }
  switch (source.kind) {
    case Source::Kind::kXml:
      return hwloc_topology_set_xml(machine, source.value.c_str()) == 0;
    case Source::Kind::kSynthetic:
      return hwloc_topology_set_synthetic(machine, source.value.c_str()) == 0;
    case Source::Kind::kLive:
    case Source::Kind::kRoot:
      // hwloc's x86 backend runs on each core in turn to ask CPUID: it would disturb the ranks
      // there, and the kernel has told the same in /sys.
      return hwloc_topology_set_components(machine, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
                                           "x86") == 0;
  }
  return false;
}

Result<Machine> load(const Source& source) {
  if (auto present = check_present(source); !present) return failure(present.error());
  // The only way that hwloc offers to read another root. As the environment belongs to the whole
  // process, discovery has to run before other threads do (main calls it first).
  std::optional<ScopedEnv> root;
  if (source.kind == Source::Kind::kRoot) root.emplace("HWLOC_FSROOT", source.value);

  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return sys_failure("hwloc_topology_init");
  Machine machine(raw);
  errno = 0;
  if (!configure(raw, source) || hwloc_topology_load(raw) != 0) {
    const int cause = errno;
    std::string text = "hwloc cannot read it";
    if (cause != 0) text += std::string(": ") + std::strerror(cause);
    return failure(Error{.code = Errc::kInvalid, .sys_errno = cause, .text = std::move(text)});
  }
  return machine;
}

CpuSet to_cpus(hwloc_const_cpuset_t bitmap) {
  CpuSet cpus;
  if (bitmap == nullptr) return cpus;
  for (int cpu = hwloc_bitmap_first(bitmap); cpu >= 0 && cpu < CpuSet::kCapacity;
       cpu = hwloc_bitmap_next(bitmap, cpu)) {
    cpus.add(cpu);
  }
  return cpus;
}

// Its number among the objects of that type above `from`, or -1.
int ancestor(hwloc_topology* machine, hwloc_obj_type_t type, hwloc_obj* from) {
  const hwloc_obj* found = hwloc_get_ancestor_obj_by_type(machine, type, from);
  return found == nullptr ? -1 : static_cast<int>(found->logical_index);
}

// hwloc gives a memory-only node the CPUs of its locality. So a CPU's home is the smallest node
// that holds it; of equal ones the lowest number (memory beside a CPU's own, as HBM, comes later).
NodeId home_node(hwloc_topology* machine, const hwloc_obj* pu) {
  std::pair<int, NodeId> best{std::numeric_limits<int>::max(), kNoIndex};
  for (hwloc_obj* node = nullptr;
       (node = hwloc_get_next_obj_by_type(machine, HWLOC_OBJ_NUMANODE, node)) != nullptr;) {
    if (hwloc_bitmap_isset(node->cpuset, pu->os_index) == 0) continue;
    best = std::min(best, {hwloc_bitmap_weight(node->cpuset), static_cast<NodeId>(node->os_index)});
  }
  return best.second;
}

void read_threads(hwloc_topology* machine, Facts& facts) {
  const int cores = std::max(hwloc_get_nbobjs_by_type(machine, HWLOC_OBJ_CORE), 0);
  for (hwloc_obj* pu = nullptr;
       (pu = hwloc_get_next_obj_by_type(machine, HWLOC_OBJ_PU, pu)) != nullptr;) {
    Facts::Thread thread;
    thread.cpu = static_cast<CpuId>(pu->os_index);
    thread.core = ancestor(machine, HWLOC_OBJ_CORE, pu);
    // A machine that does not tell its cores: each CPU is one, numbered behind the told ones.
    if (thread.core < 0) thread.core = cores + static_cast<int>(pu->logical_index);
    thread.l2 = ancestor(machine, HWLOC_OBJ_L2CACHE, pu);
    thread.l3 = ancestor(machine, HWLOC_OBJ_L3CACHE, pu);
    thread.package = ancestor(machine, HWLOC_OBJ_PACKAGE, pu);
    thread.node = home_node(machine, pu);
    facts.threads.push_back(thread);
  }
}

std::vector<std::pair<int, Bytes>> read_cache_sizes(hwloc_topology* machine,
                                                    hwloc_obj_type_t type) {
  std::vector<std::pair<int, Bytes>> sizes;
  for (hwloc_obj* cache = nullptr;
       (cache = hwloc_get_next_obj_by_type(machine, type, cache)) != nullptr;) {
    sizes.emplace_back(static_cast<int>(cache->logical_index), cache->attr->cache.size);
  }
  return sizes;
}

void read_memories(hwloc_topology* machine, Facts& facts) {
  for (hwloc_obj* node = nullptr;
       (node = hwloc_get_next_obj_by_type(machine, HWLOC_OBJ_NUMANODE, node)) != nullptr;) {
    Facts::Memory memory;
    memory.node = static_cast<NodeId>(node->os_index);
    memory.bytes = node->attr->numanode.local_memory;
    facts.memories.push_back(std::move(memory));
  }
}

// Where the kernel's own files say which node a CPU is in, they are right: nodes without memory,
// for one, are known to them alone.
void apply(const KernelFiles& files, Facts& facts) {
  facts.offline = files.offline;
  facts.isolated = files.isolated;
  for (const auto& [node, cpus] : files.nodes) {
    bool used = false;
    for (Facts::Thread& thread : facts.threads) {
      if (!cpus.contains(thread.cpu)) continue;
      thread.node = node;
      used = true;
    }
    const auto same = [number = node](const Facts::Memory& memory) {
      return memory.node == number;
    };
    if (used && std::none_of(facts.memories.begin(), facts.memories.end(), same)) {
      facts.memories.push_back({.node = node, .bytes = 0, .distance = {}});
    }
  }
}

using Matrix = std::vector<std::vector<int>>;

// The matrix by position in `memories`; nothing unless it covers them all.
std::optional<Matrix> to_matrix(hwloc_distances_s* from,
                                const std::vector<Facts::Memory>& memories) {
  std::vector<std::size_t> position;  // in the hwloc matrix, of each memory
  for (const Facts::Memory& memory : memories) {
    std::size_t at = 0;
    while (at < from->nbobjs && static_cast<NodeId>(from->objs[at]->os_index) != memory.node) ++at;
    if (at == from->nbobjs) return std::nullopt;
    position.push_back(at);
  }
  Matrix matrix;
  for (const std::size_t row : position) {
    matrix.emplace_back();
    for (const std::size_t column : position) {
      const hwloc_uint64_t value = from->values[row * from->nbobjs + column];
      if (value > std::numeric_limits<int>::max()) return std::nullopt;
      matrix.back().push_back(static_cast<int>(value));
    }
  }
  return matrix;
}

std::optional<Matrix> hwloc_distances(hwloc_topology* machine,
                                      const std::vector<Facts::Memory>& memories) {
  std::array<hwloc_distances_s*, 8> found{};
  auto count = static_cast<unsigned>(found.size());
  if (hwloc_distances_get_by_type(machine, HWLOC_OBJ_NUMANODE, &count, found.data(),
                                  HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0) != 0) {
    return std::nullopt;
  }
  std::optional<Matrix> matrix;
  for (std::size_t i = 0; i < std::min<std::size_t>(count, found.size()); ++i) {
    if (!matrix) matrix = to_matrix(found[i], memories);
    hwloc_distances_release(machine, found[i]);
  }
  return matrix;
}

std::optional<Matrix> libnuma_distances(const std::vector<Facts::Memory>& memories) {
  if (numa_available() < 0) return std::nullopt;
  Matrix matrix;
  for (const Facts::Memory& from : memories) {
    matrix.emplace_back();
    for (const Facts::Memory& to : memories) {
      const int distance = numa_distance(from.node, to.node);
      if (distance == 0) return std::nullopt;  // its way to say "unknown"
      matrix.back().push_back(distance);
    }
  }
  return matrix;
}

void read_distances(hwloc_topology* machine, const Source& source, Facts& facts) {
  std::optional<Matrix> matrix;
  if (facts.memories.size() == 1) matrix = Matrix{{10}};  // ACPI 6.5, 5.2.17: 10 is local
  if (!matrix) matrix = hwloc_distances(machine, facts.memories);
  if (!matrix && source.kind == Source::Kind::kLive) matrix = libnuma_distances(facts.memories);
  if (!matrix) return;
  for (std::size_t i = 0; i < facts.memories.size(); ++i) {
    facts.memories[i].distance = std::move((*matrix)[i]);
  }
}

// The one node that all CPUs near the device are in; kNoIndex when they are in several.
NodeId node_near(hwloc_topology* machine, hwloc_obj* device, const Facts& facts) {
  const hwloc_obj* place = hwloc_get_non_io_ancestor_obj(machine, device);
  const CpuSet near = to_cpus(place == nullptr ? nullptr : place->cpuset);
  NodeId node = kNoIndex;
  for (const Facts::Thread& thread : facts.threads) {
    if (!near.contains(thread.cpu)) continue;
    if (node != kNoIndex && node != thread.node) return kNoIndex;
    node = thread.node;
  }
  return node;
}

// The screen of a server's management controller: Matrox G200 (102b), ASPEED (1a03).
bool is_console(const hwloc_obj* device) {
  const unsigned vendor = device->attr->pcidev.vendor_id;
  return vendor == 0x102b || vendor == 0x1a03;
}

const hwloc_obj* pci_device_of(const hwloc_obj* device) {
  while (device != nullptr && device->type != HWLOC_OBJ_PCI_DEVICE) device = device->parent;
  return device;
}

std::string pci_address(const hwloc_obj* device) {
  const hwloc_obj* pci_device = pci_device_of(device);
  if (pci_device == nullptr) return {};
  const auto& pci = pci_device->attr->pcidev;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%04x:%02x:%02x.%x", static_cast<unsigned>(pci.domain),
                unsigned{pci.bus}, unsigned{pci.dev}, unsigned{pci.func});
  return text.data();
}

std::optional<DeviceKind> kind_of_os_device(const hwloc_obj* device) {
  switch (device->attr->osdev.type) {
    case HWLOC_OBJ_OSDEV_NETWORK:
    case HWLOC_OBJ_OSDEV_OPENFABRICS:
      return DeviceKind::kNetwork;
    case HWLOC_OBJ_OSDEV_GPU:
    case HWLOC_OBJ_OSDEV_COPROC:
      // A second door to the same card.
      if (std::string_view(device->name).substr(0, 7) == "renderD") return std::nullopt;
      return DeviceKind::kGpu;
    default:
      return std::nullopt;
  }
}

// By the PCI code of the device's class (PCI Code and ID Assignment, base classes 02, 03, 12h).
std::optional<DeviceKind> kind_of_pci_device(const hwloc_obj* device) {
  switch (device->attr->pcidev.class_id >> 8) {
    case 0x02:
      return DeviceKind::kNetwork;
    case 0x03:
    case 0x12:
      return DeviceKind::kGpu;
    default:
      return std::nullopt;
  }
}

void read_devices(hwloc_topology* machine, Facts& facts) {
  for (hwloc_obj* at = nullptr; (at = hwloc_get_next_osdev(machine, at)) != nullptr;) {
    if (at->name == nullptr) continue;
    const hwloc_obj* card = pci_device_of(at);
    if (card != nullptr && is_console(card)) continue;
    if (const auto kind = kind_of_os_device(at)) {
      facts.devices.push_back({*kind, at->name, pci_address(at), node_near(machine, at, facts)});
    }
  }
  // Cards that no driver has given a name.
  for (hwloc_obj* at = nullptr; (at = hwloc_get_next_pcidev(machine, at)) != nullptr;) {
    if (is_console(at)) continue;
    const auto kind = kind_of_pci_device(at);
    const std::string pci = pci_address(at);
    const auto same = [&](const Device& device) { return device.pci == pci; };
    if (!kind || std::any_of(facts.devices.begin(), facts.devices.end(), same)) continue;
    facts.devices.push_back({*kind, pci, pci, node_near(machine, at, facts)});
  }
}

Result<Facts> read_facts(hwloc_topology* machine, const Source& source) {
  Facts facts;
  read_memories(machine, facts);
  read_threads(machine, facts);
  facts.l2_sizes = read_cache_sizes(machine, HWLOC_OBJ_L2CACHE);
  facts.l3_sizes = read_cache_sizes(machine, HWLOC_OBJ_L3CACHE);
  if (source.kind == Source::Kind::kLive || source.kind == Source::Kind::kRoot) {
    const auto files = read_kernel_files(source.value);
    if (!files) return failure(files.error());
    apply(*files, facts);
  } else {
    const hwloc_obj* whole = hwloc_get_root_obj(machine);
    facts.offline = to_cpus(whole->complete_cpuset) - to_cpus(whole->cpuset);
  }
  read_distances(machine, source, facts);
  read_devices(machine, facts);
  return facts;
}

}  // namespace

Result<Source> Source::parse(std::string_view text) {
  if (text == "live") return Source{Kind::kLive, {}};
  for (const auto& [prefix, kind] : kForms) {
    if (text.substr(0, prefix.size()) == prefix && text.size() > prefix.size()) {
      return Source{kind, std::string(text.substr(prefix.size()))};
    }
  }
  return failure(Errc::kInvalid,
                 "'" + std::string(text) +
                     "' is no source of a topology: give live, xml:FILE, synthetic:STRING or "
                     "root:DIR");
}

Result<Topology> discover(const Source& source, const std::stop_token& stop) {
  const std::string phrase = "topology " + name_of(source);
  const auto stopped = [&] {
    return failure(Errc::kUnavailable, phrase + ": nobody waits for it");
  };
  if (stop.stop_requested()) return stopped();
  auto machine = load(source);
  if (!machine) return failure(std::move(machine.error()).within(phrase));
  if (stop.stop_requested()) return stopped();
  auto facts = read_facts(machine->get(), source);
  if (!facts) return failure(std::move(facts.error()).within(phrase));
  auto topology = make_topology(*facts);
  if (!topology) return failure(std::move(topology.error()).within(phrase));
  return topology;
}

}  // namespace pinion::topology
