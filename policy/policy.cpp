#include "policy/policy.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/utf8.h"
#include "policy/annotations.h"
#include "policy/unknown_annotations.h"
#include "topology/words.h"

namespace pinion::policy {
namespace {

using topology::Bytes;
using topology::CpuSet;
using topology::Profile;
using topology::Strength;

constexpr std::uint64_t kSharesPerCpu = 1024;
constexpr std::uint64_t kMaxShares = 262144;  // the kernel's, and the kubelet's, upper bound
constexpr std::uint64_t kDefaultPeriod = 100'000;
// Far above any machine, so that sums of many do not overflow.
constexpr Bytes kMostMemory = Bytes{1} << 48;
constexpr std::size_t kLongestDevice = 255;                  // bytes: a file's name
constexpr std::size_t kLongestPlan = std::size_t{16} << 10;  // bytes
constexpr std::size_t kMostPlanned = 256;                    // containers of a plan that are read
constexpr std::size_t kMaxShown = 64;  // of a hostile annotation's value in an error text

enum class Cpus { kByQos, kExclusive, kShared };
constexpr std::array kCpus{Word<Cpus>{"exclusive", Cpus::kExclusive},
                           Word<Cpus>{"shared", Cpus::kShared}};
constexpr std::array kYesNo{Word<bool>{"true", true}, Word<bool>{"false", false}};

// The annotations of one pod as one container sees them: "NAME.CONTAINER" before "NAME".
class Annotations {
 public:
  Annotations(const Pod& pod, const std::string& container) : pod_(pod), container_(container) {}

  [[nodiscard]] const std::string* find(const std::string& name) const {
    const auto general = pod_.annotations.find(name);
    const auto special = pod_.annotations.find(name + "." + container_);
    if (special != pod_.annotations.end()) return &special->second;
    return general != pod_.annotations.end() ? &general->second : nullptr;
  }

  // As the pod has it: for this container alone, or for all.
  [[nodiscard]] std::string shown(const std::string& name) const {
    const std::string special = name + "." + container_;
    return "annotation " + (pod_.annotations.contains(special) ? special : name);
  }

  [[nodiscard]] std::string name(const std::string& annotation) const {
    const std::string* value = find(annotation);
    return value != nullptr ? cut_name(*value) : std::string();
  }

  // Empty where it says nothing. What is too long for one is remembered in error(), for what
  // becomes of it stays in memory.
  std::string device() {
    const std::string* value = find(annotation::kNearDevice);
    if (value == nullptr) return {};
    if (value->size() <= kLongestDevice) return *value;
    if (error_.empty()) {
      error_ = shown(annotation::kNearDevice) + ": '" + std::string(cut_utf8(*value, kMaxShown)) +
               "...' is longer than " + std::to_string(kLongestDevice) +
               " bytes, and so no device's name or PCI address";
    }
    return {};
  }

  // The value that the annotation's word stands for, `otherwise` when it is absent. An unknown
  // word is remembered in error().
  template <class T, std::size_t N>
  T word(const std::string& name, const std::array<Word<T>, N>& words, T otherwise) {
    return word(name, words).value_or(otherwise);
  }
  // The same; nullopt when it is absent.
  template <class T, std::size_t N>
  std::optional<T> word(const std::string& name, const std::array<Word<T>, N>& words) {
    const std::string* value = find(name);
    if (value == nullptr) return std::nullopt;
    if (const auto known = value_of(*value, words)) return known;
    if (error_.empty() && name == annotation::kProfile && *value == annotation::kAutoProfile) {
      error_ = shown(name) +
               ": 'auto' is for the extender's webhook to decide, which has not seen this pod; "
               "use one of: " +
               list_of(words);
    }
    if (error_.empty()) {
      error_ = shown(name) + ": unknown value '" + std::string(cut_utf8(*value, kMaxShown)) +
               "', use one of: " + list_of(words);
    }
    return std::nullopt;
  }

  // nullopt where it says nothing; what cannot be read is remembered in error().
  std::optional<LendTo> lend_to() {
    const std::string* value = find(annotation::kLendTo);
    if (value == nullptr) return std::nullopt;
    auto to = parse_lend_to(*value);
    if (!to && error_.empty()) {
      error_ = shown(annotation::kLendTo) + ": '" + std::string(cut_utf8(*value, kMaxShown)) +
               "' is not POD/CONTAINER, where POD may end in '*'";
    }
    return to;
  }

  struct Planned {
    CpuSet own;
    CpuSet beside;        // for the pod's other containers
    std::string ignored;  // why it is; empty: it is not
  };
  // By "CONTAINER=CPUS CONTAINER=CPUS"; empty where it says nothing. Own CPUs that are none are
  // remembered in error(). One of a single container would take the extender's place. Each
  // container of the pod has it read, so no more is read of it than the extender would write.
  // `beside`: also the other containers' CPUs.
  Planned planned(bool beside) {
    Planned planned;
    const auto value = pod_.annotations.find(annotation::kPlanned);
    if (value == pod_.annotations.end()) return planned;
    if (value->second.size() > kLongestPlan) {
      planned.ignored = std::string("annotation ") + annotation::kPlanned + " is longer than " +
                        std::to_string(kLongestPlan) + " bytes and ignored";
      return planned;
    }
    std::size_t parts = 0;
    bool found = false;
    for (std::string_view rest = value->second; !rest.empty() && parts < kMostPlanned;) {
      const std::string_view part = rest.substr(0, rest.find(' '));
      rest.remove_prefix(std::min(part.size() + 1, rest.size()));
      const auto sign = part.find('=');
      if (sign == std::string_view::npos) continue;
      ++parts;
      const bool own = part.substr(0, sign) == container_;
      if (own ? std::exchange(found, true) : !beside) continue;
      const auto cpus = CpuSet::parse(std::string(part.substr(sign + 1)));
      if (cpus) {
        (own ? planned.own : planned.beside) |= *cpus;
      } else if (own && error_.empty()) {
        error_ = std::string("annotation ") + annotation::kPlanned + ": " + cpus.error().text;
      }
    }
    return planned;
  }

  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  const Pod& pod_;
  const std::string& container_;
  std::string error_;
};

std::string milli_text(std::int64_t milli) {
  std::string text = std::to_string(milli) + "m";
  return text;
}

bool handler_fits(std::string_view handler, std::string_view pattern) {
  if (!pattern.ends_with('*')) return handler == pattern;
  return handler.starts_with(pattern.substr(0, pattern.size() - 1));
}

// Its containers' threads are those of a guest, which no cpuset file of this machine places.
bool in_virtual_machine(const Pod& pod, const Defaults& defaults) {
  const auto is_its = [&](const std::string& pattern) {
    return handler_fits(pod.runtime_handler, pattern);
  };
  return !pod.runtime_handler.empty() &&
         std::any_of(defaults.vm_handlers.begin(), defaults.vm_handlers.end(), is_its);
}

// Why exclusive cores are for others only; empty when not.
std::string not_chosen(const Pod& pod, bool asks, const Defaults& defaults) {
  if (in_virtual_machine(pod, defaults)) {
    return "its pod runs in a virtual machine (runtime handler '" +
           std::string(cut_utf8(pod.runtime_handler, kMaxShown)) +
           "', see vmRuntimeHandlers), where the agent places no threads";
  }
  if (!defaults.namespaces.empty() && defaults.namespaces.count(pod.name_space) == 0) {
    return "its namespace is not one of this node's exclusiveNamespaces";
  }
  if (defaults.pods == ExclusivePods::kAnnotated && !asks) {
    return "this node's exclusivePods is 'annotated', and it has neither " +
           std::string(annotation::kCpus) + ": exclusive nor " + annotation::kJob;
  }
  return {};
}

// Why this container cannot have exclusive cores; empty when it can.
std::string not_entitled(const Pod& pod, const Resources& resources,
                         std::optional<std::int64_t> milli) {
  const Qos qos = qos_of(pod.cgroup_parent);
  if (qos != Qos::kGuaranteed)
    return "its pod is " + std::string(to_string(qos)) + ", not Guaranteed";
  if (!milli) {
    return milli_cpus(pod.resources)
               ? "it states no CPU limit of its own, only its pod does (spec.resources)"
               : "it states no CPU limit";
  }
  if (*milli < 1000 || *milli % 1000 != 0)
    return "it asks for " + milli_text(*milli) + " CPU, not a whole number of CPUs";
  if (requests_less(resources)) return "it requests less CPU than its limit";
  return {};
}

Labels labels_of(Annotations& annotations) {
  return {
      .job = annotations.name(annotation::kJob),
      .task_group = annotations.name(annotation::kTaskGroup),
      .profile = annotations.word(annotation::kProfile, topology::kProfileWords, Profile::kNone),
      .service = annotations.word(annotation::kClass, kClassWords)};
}

Lending lending_of(Annotations& annotations) {
  return {.lend_to = annotations.lend_to(),
          .borrows = annotations.word(annotation::kBorrow, kYesNo, false)};
}

topology::Request request_of(Annotations& annotations, const Resources& resources, int cpus,
                             const Defaults& defaults) {
  topology::Request request;
  request.cpus = cpus;
  Labels labels = labels_of(annotations);
  request.job = std::move(labels.job);
  request.task_group = std::move(labels.task_group);
  request.profile = labels.profile;
  request.near_device = annotations.device();
  request.align = annotations.word(annotation::kAlign, topology::kAlignWords, defaults.align);
  const Strength by_job = request.job.empty() ? Strength::kPreferred : Strength::kRequired;
  request.strength = annotations.word(annotation::kStrength, topology::kStrengthWords,
                                      defaults.strength.value_or(by_job));
  request.smt = annotations.word(annotation::kSmt, topology::kSmtWords, defaults.smt);
  request.memory_policy = annotations.word(annotation::kMemory, topology::kMemoryPolicyWords,
                                           topology::usual_memory_policy(request));
  request.use_isolated = annotations.word(annotation::kIsolation, topology::kIsolationWords, false);
  request.memory = stated_memory(resources);
  return request;
}

// "/kubepods" of "/kubepods/burstable", and of itself.
std::string_view without_class(std::string_view name, char before) {
  for (const std::string_view word : {"burstable", "besteffort"}) {
    const std::string_view rest = name.substr(0, name.size() - std::min(word.size(), name.size()));
    if (name.ends_with(word) && rest.ends_with(before)) return rest.substr(0, rest.size() - 1);
  }
  return name;
}

}  // namespace

Qos qos_of(std::string_view cgroup_parent) {
  std::vector<std::string_view> words;
  for (std::string_view rest = cgroup_parent; !rest.empty();) {
    const auto end = rest.find_first_of("/-.");
    words.push_back(rest.substr(0, end));
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  // The last "kubepods": with the systemd driver every slice repeats its parents' names.
  const auto last = std::find(words.rbegin(), words.rend(), "kubepods");
  if (last == words.rend() || last == words.rbegin()) return Qos::kUnknown;
  const std::string_view next = *std::prev(last);
  if (next == "burstable") return Qos::kBurstable;
  if (next == "besteffort") return Qos::kBestEffort;
  return next.starts_with("pod") ? Qos::kGuaranteed : Qos::kUnknown;
}

std::string qos_group_of(std::string_view cgroup_parent) {
  constexpr std::string_view slice = ".slice";
  const Qos qos = qos_of(cgroup_parent);
  if (qos != Qos::kBurstable && qos != Qos::kBestEffort) return {};
  const auto slash = cgroup_parent.rfind('/');
  if (slash != std::string_view::npos) return std::string(cgroup_parent.substr(0, slash));
  const auto pod = cgroup_parent.rfind("-pod");
  if (pod == std::string_view::npos) return {};
  return std::string(cgroup_parent.substr(0, pod)) + std::string(slice);
}

std::vector<std::string> qos_groups_of(std::string_view cgroup_parent) {
  constexpr auto none = std::string_view::npos;
  if (qos_of(cgroup_parent) == Qos::kUnknown) return {};
  const auto slash = cgroup_parent.rfind('/');
  std::string_view above = cgroup_parent.substr(0, slash == none ? 0 : slash);
  if (!cgroup_parent.ends_with(".slice")) {
    const std::string all(without_class(above, '/'));
    return {all + "/besteffort", all + "/burstable"};
  }
  const std::string_view name = cgroup_parent.substr(slash == none ? 0 : slash + 1);
  const auto pod = name.rfind("-pod");
  if (pod == none) return {};
  const std::string_view all = without_class(name.substr(0, pod), '-');
  bool below = slash != none;
  if (all.size() < pod && !above.empty()) {
    const auto last = above.rfind('/');
    below = last != none;
    above = above.substr(0, below ? last : 0);
  }
  std::string begin(above);
  if (below) begin += '/';
  begin += all;
  return {begin + "-besteffort.slice", begin + "-burstable.slice"};
}

std::string_view to_string(Qos qos) {
  switch (qos) {
    case Qos::kGuaranteed:
      return "Guaranteed";
    case Qos::kBurstable:
      return "Burstable";
    case Qos::kBestEffort:
      return "BestEffort";
    case Qos::kUnknown:
      break;
  }
  return "of unknown QoS class";
}

std::optional<std::int64_t> milli_cpus(const Resources& resources) {
  constexpr std::int64_t limit = std::int64_t{1} << 40;  // far above any machine, no overflow below
  const auto period = static_cast<std::int64_t>(
      std::min<std::uint64_t>(resources.period.value_or(kDefaultPeriod), limit));
  if (resources.quota.value_or(0) > 0 && period > 0) {
    return std::min(std::min(*resources.quota, limit) * 1000 / period, kMostMilliCpus);
  }
  const std::uint64_t shares = resources.shares.value_or(0);
  if (shares <= 2 || shares >= kMaxShares) return std::nullopt;  // 2: the kernel's "nothing asked"
  // Rounded up, as the kubelet rounded down: 1001m is 1025 shares and not one CPU.
  return static_cast<std::int64_t>((shares * 1000 + kSharesPerCpu - 1) / kSharesPerCpu);
}

bool requests_less(const Resources& resources) {
  const std::uint64_t shares = resources.shares.value_or(0);
  const auto limit = static_cast<std::uint64_t>(milli_cpus(resources).value_or(0));
  return shares != 0 && shares < std::min(limit * kSharesPerCpu / 1000, kMaxShares);
}

Bytes stated_memory(const Resources& resources) {
  const auto limit = static_cast<Bytes>(std::max<std::int64_t>(resources.memory.value_or(0), 0));
  return std::min(limit, kMostMemory);
}

topology::Bytes requested_memory(Qos qos, const Resources& resources,
                                 std::optional<std::int64_t> oom_score_adj,
                                 topology::Bytes machine) {
  const Bytes limit = stated_memory(resources);
  const topology::Bytes most = limit == 0 ? machine : std::min(limit, machine);
  if (qos == Qos::kGuaranteed) return limit == 0 ? 0 : most;
  // Other scores have another meaning: of critical pods, and 999 for all below two thousandths.
  const std::int64_t score = oom_score_adj.value_or(0);
  if (qos != Qos::kBurstable || score < 3 || score > 998) return 0;
  return std::min(most, machine / 1000 * static_cast<topology::Bytes>(1000 - score));
}

Resources merge(Resources record, const Resources& wanted) {
  // CRI writes 0 for "not stated", and containerd passes it on.
  if (wanted.shares.value_or(0) != 0) record.shares = wanted.shares;
  if (wanted.quota.value_or(0) != 0) record.quota = wanted.quota;
  if (wanted.period.value_or(0) != 0) record.period = wanted.period;
  if (wanted.memory.value_or(0) != 0) record.memory = wanted.memory;
  if (!wanted.cpus.empty()) record.cpus = wanted.cpus;
  if (!wanted.mems.empty()) record.mems = wanted.mems;
  return record;
}

std::string cut_name(std::string_view name) {
  return std::string(cut_utf8(name, kLongestName));
}

Labels labels_of(const Pod& pod, const std::string& container_name) {
  Annotations annotations(pod, container_name);
  return labels_of(annotations);
}

Lending lending_of(const Pod& pod, const std::string& container_name) {
  Annotations annotations(pod, container_name);
  return lending_of(annotations);
}

std::string not_allowed(const topology::Request& request, const std::set<Privilege>& privileges) {
  const auto lacks = [&](bool asked, Privilege privilege) {
    return asked && privileges.count(privilege) == 0;
  };
  const auto text = [](const char* name, Privilege privilege, std::string_view why) {
    return "annotation " + std::string(name) + ": " + std::string(why) +
           "; this node's allowedPrivileges does not have '" +
           std::string(word_of(privilege, kPrivilegeWords)) + "'";
  };
  if (lacks(request.smt == topology::Smt::kOnePerCore, Privilege::kOnePerCore)) {
    return text(annotation::kSmt, Privilege::kOnePerCore,
                "one-per-core holds more CPUs than the pod's request counts");
  }
  if (lacks(request.use_isolated, Privilege::kIsolated)) {
    return text(annotation::kIsolation, Privilege::kIsolated,
                "isolated CPUs are set apart by the operator");
  }
  if (lacks(!request.near_device.empty(), Privilege::kNearDevice)) {
    return text(annotation::kNearDevice, Privilege::kNearDevice,
                "CPUs beside a device are left to those who use it");
  }
  return {};
}

bool may_share_cores(const Pod& pod) {
  // NAME, or NAME.CONTAINER.
  const auto is = [](std::string_view name, std::string_view annotation) {
    if (!name.starts_with(annotation)) return false;
    name.remove_prefix(annotation.size());
    return name.empty() || name.starts_with('.');
  };
  return std::none_of(pod.annotations.begin(), pod.annotations.end(), [&](const auto& entry) {
    const auto& [name, value] = entry;
    const bool insists = is(name, annotation::kCpus) && value_of(value, kCpus) == Cpus::kExclusive;
    return insists || is(name, annotation::kLendTo);
  });
}

Entitlement entitlement_of(const Pod& pod, const std::string& container_name,
                           const Resources& resources, const Defaults& defaults) {
  Annotations annotations(pod, container_name);
  Entitlement entitlement;
  std::vector<std::string_view> names;
  for (const auto& [name, value] : pod.annotations) names.push_back(name);
  entitlement.warnings = unknown_annotations(names);
  const Cpus cpus = annotations.word(annotation::kCpus, kCpus, Cpus::kByQos);
  lending_of(annotations);                            // for its error
  annotations.word(annotation::kClass, kClassWords);  // the same
  const auto milli = milli_cpus(resources);
  const std::string unfit = not_entitled(pod, resources, milli);
  const bool asks = cpus == Cpus::kExclusive || annotations.find(annotation::kJob) != nullptr;
  const std::string obstacle = unfit.empty() ? not_chosen(pod, asks, defaults) : unfit;
  if (!annotations.error().empty()) {
    entitlement.kind = Entitlement::Kind::kRefused;
    entitlement.text = annotations.error();
  } else if (cpus == Cpus::kShared) {
    entitlement.text = "it asked for shared CPUs";
  } else if (!obstacle.empty()) {
    entitlement.kind =
        cpus == Cpus::kExclusive ? Entitlement::Kind::kRefused : Entitlement::Kind::kShared;
    entitlement.text =
        cpus == Cpus::kExclusive && !unfit.empty()
            ? "exclusive CPUs are only for containers of Guaranteed pods with a whole number "
              "of CPUs: " +
                  obstacle
            : obstacle;
  } else {
    entitlement.request = request_of(
        annotations, resources,
        static_cast<int>(std::min<std::int64_t>(*milli / 1000, CpuSet::kCapacity)), defaults);
    const auto planned = annotations.planned(true);
    if (!planned.ignored.empty()) entitlement.warnings.push_back(planned.ignored);
    entitlement.request.preferred = planned.own;
    entitlement.request.planned = !planned.own.empty();
    entitlement.beside = planned.beside;
    entitlement.demands = cpus == Cpus::kExclusive;
    entitlement.text = annotations.error();
    if (entitlement.text.empty())
      entitlement.text = not_allowed(entitlement.request, defaults.privileges);
    entitlement.kind =
        entitlement.text.empty() ? Entitlement::Kind::kExclusive : Entitlement::Kind::kRefused;
  }
  if (entitlement.kind == Entitlement::Kind::kShared) {
    request_of(annotations, resources, 0, defaults);  // for its error
    annotations.planned(false);                       // the same
    if (!annotations.error().empty()) {
      entitlement.warnings.push_back(annotations.error() + "; ignored, as it gets no CPUs alone");
    }
  }
  return entitlement;
}

}  // namespace pinion::policy
