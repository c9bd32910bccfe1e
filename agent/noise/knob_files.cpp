#include "agent/noise/knob_files.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <memory>

#include "agent/noise/cpu_mask.h"
#include "base/whole_file.h"

namespace pinion::noise {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostMib = 1;
// All kernel threads are its children.
constexpr const char* kKthreadd = "2";

std::string line_of(const std::string& path) {
  auto text = read_file(path, kMostMib);
  if (!text) return {};
  return text->substr(0, text->find('\n'));
}

struct FreeSet {
  void operator()(cpu_set_t* set) const { CPU_FREE(set); }
};

Status set_affinity(int pid, const CpuSet& cpus) {
  const std::unique_ptr<cpu_set_t, FreeSet> set(CPU_ALLOC(CpuSet::kCapacity));
  const std::size_t bytes = CPU_ALLOC_SIZE(CpuSet::kCapacity);
  CPU_ZERO_S(bytes, set.get());
  for (const int cpu : cpus) CPU_SET_S(static_cast<std::size_t>(cpu), bytes, set.get());
  if (sched_setaffinity(pid, bytes, set.get()) != 0) {
    return sys_failure("bind thread " + std::to_string(pid) + " to " + cpus.to_string());
  }
  return {};
}

Result<CpuSet> allowed_cpus(const std::string& status_file) {
  const auto text = read_file(status_file, kMostMib);
  if (!text) return failure(text.error());
  constexpr std::string_view field = "\nCpus_allowed_list:";
  const auto at = text->find(field);
  if (at == std::string::npos) return failure(Errc::kInvalid, status_file + ": no CPUs in it");
  const auto from = at + field.size();
  return CpuSet::parse(std::string_view(*text).substr(from, text->find('\n', from) - from));
}

// The interrupts' own files hold lists; the others, older, masks.
bool holds_list(const Knob& knob) {
  return knob.is_irq();
}

}  // namespace

Writers kernel_writers(const Roots& roots) {
  const std::string self = roots.proc + "/self";
  const auto thread = [self](int pid, const CpuSet& cpus) -> Status {
    std::array<char, 32> pid_there{};
    const ssize_t length = readlink(self.c_str(), pid_there.data(), pid_there.size());
    if (length < 0 || std::string_view(pid_there.data(), static_cast<std::size_t>(length)) !=
                          std::to_string(getpid())) {
      return failure(Errc::kUnavailable, self + " is of another PID namespace (hostPID: true)");
    }
    return set_affinity(pid, cpus);
  };
  const auto file = [](const std::string& path, const std::string& text) {
    return write_file(AT_FDCWD, path.c_str(), text, O_TRUNC);
  };
  return {.file = file, .thread = thread};
}

KnobFiles::KnobFiles(Roots roots, Writers writers)
    : roots_(std::move(roots)), writers_(std::move(writers)) {}

std::set<Knob> KnobFiles::list_irqs() const {
  std::set<Knob> found;
  std::error_code error;
  for (fs::directory_iterator at(roots_.proc + "/irq", error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename();
    auto knob = make_knob(Kind::kIrq, name);
    if (knob && knob->is_irq()) found.insert(std::move(*knob));
  }
  return found;
}

std::set<Knob> KnobFiles::list_threads() {
  threads_.clear();
  const std::string kthreadd = roots_.proc + "/" + kKthreadd;
  if (line_of(kthreadd + "/comm") != "kthreadd") return {};
  const std::string children = line_of(kthreadd + "/task/" + kKthreadd + "/children");
  std::set<Knob> found;
  for (std::string_view rest = children; !rest.empty();) {
    const auto word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    int pid = 0;
    std::from_chars(word.data(), word.data() + word.size(), pid);
    auto knob = make_knob(Kind::kRcu, line_of(roots_.proc + "/" + std::string(word) + "/comm"));
    if (!knob || pid <= 0) continue;
    threads_[knob->name] = pid;
    found.insert(std::move(*knob));
  }
  return found;
}

std::set<Knob> KnobFiles::list(Kind kind) {
  if (kind == Kind::kRcu) return list_threads();
  std::set<Knob> found = kind == Kind::kIrq ? list_irqs() : std::set<Knob>();
  const auto add = [&](std::string_view name) {
    Knob knob{.kind = kind, .name = std::string(name)};
    if (access(path_of(knob).c_str(), F_OK) == 0) found.insert(std::move(knob));
  };
  if (kind == Kind::kIrq) {
    add(kDefaultIrq);
  } else {
    add(kUnbound);
    add(kWriteback);
  }
  return found;
}

// Not of a thread.
std::string KnobFiles::path_of(const Knob& knob) const {
  if (knob.is_irq()) return roots_.proc + "/irq/" + knob.name + "/smp_affinity_list";
  if (knob.kind == Kind::kIrq) return roots_.proc + "/irq/default_smp_affinity";
  if (knob.name == kWriteback) return roots_.sys + "/bus/workqueue/devices/writeback/cpumask";
  return roots_.sys + "/devices/virtual/workqueue/cpumask";
}

Result<CpuSet> KnobFiles::read(const Knob& knob) const {
  if (knob.kind == Kind::kRcu) {
    const auto thread = threads_.find(knob.name);
    if (thread == threads_.end()) return failure(Errc::kNotFound, "no thread " + knob.name);
    return allowed_cpus(roots_.proc + "/" + std::to_string(thread->second) + "/status");
  }
  std::string path = path_of(knob);
  // Since Linux 6.9 the first file leaves out the CPUs of isolated partitions: written back later,
  // it would never have them again.
  if (knob.name == kUnbound && access((path + "_requested").c_str(), F_OK) == 0) {
    path += "_requested";
  }
  const auto text = read_file(path, kMostMib);
  if (!text) return failure(text.error());
  auto cpus = holds_list(knob) ? CpuSet::parse(*text) : parse_mask(*text);
  if (!cpus) return failure(cpus.error().within(path));
  return cpus;
}

Status KnobFiles::write(const Knob& knob, const CpuSet& cpus) const {
  if (knob.kind == Kind::kRcu) {
    const auto thread = threads_.find(knob.name);
    if (thread == threads_.end()) return failure(Errc::kNotFound, "no thread " + knob.name);
    return writers_.thread(thread->second, cpus);
  }
  return writers_.file(path_of(knob), holds_list(knob) ? cpus.to_string() : to_mask(cpus));
}

std::optional<CpuSet> KnobFiles::effective(const Knob& knob) const {
  if (!knob.is_irq()) return std::nullopt;
  const std::string path = roots_.proc + "/irq/" + knob.name + "/effective_affinity_list";
  const auto text = read_file(path, kMostMib);
  if (!text) return std::nullopt;
  const auto cpus = CpuSet::parse(*text);
  return cpus ? std::optional(*cpus) : std::nullopt;
}

Result<CpuSet> KnobFiles::online() const {
  const std::string path = roots_.sys + "/devices/system/cpu/online";
  const auto text = read_file(path, kMostMib);
  if (!text) return failure(text.error());
  auto cpus = CpuSet::parse(*text);
  if (!cpus) return failure(cpus.error().within(path));
  return cpus;
}

std::string KnobFiles::boot() const {
  return line_of(roots_.proc + "/sys/kernel/random/boot_id");
}

bool KnobFiles::irqbalance_runs() const {
  std::error_code error;
  for (fs::directory_iterator at(roots_.proc, error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (line_of(at->path().native() + "/comm") == "irqbalance") return true;
  }
  return false;
}

}  // namespace pinion::noise
