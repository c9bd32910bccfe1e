#include <cerrno>

#include "ctl/doctor/checks.h"
#include "ctl/doctor/words.h"

namespace pinion::ctl::doctor {
namespace {

constexpr const char* kSection = "[plugins.\"io.containerd.nri.v1.nri\"]";

bool is_elsewhere(const RuntimeFacts& runtime, const ContainerdSettings& settings) {
  return !settings.nri_socket.empty() && settings.nri_socket != runtime.socket_path;
}

// What containerd's configuration has to do with a socket that does not answer.
Finding explain(const RuntimeFacts& runtime) {
  const std::string id = "nri";
  const std::string what = "nobody answers at the runtime's NRI socket " + runtime.socket_path;
  const std::string restart = ", and restart containerd; running containers stay";
  // The socket is there, and who made it is not. Where its configuration tells more, that comes
  // first.
  const bool told = runtime.settings && (runtime.settings->nri_disabled.value_or(false) ||
                                         is_elsewhere(runtime, *runtime.settings));
  if (runtime.socket.error().sys_errno == ECONNREFUSED && !told) {
    return error(id, what + " (" + runtime.socket.error().text + ")",
                 "is the runtime running? systemctl status containerd, or crio");
  }
  if (!runtime.settings) {
    return error(id, what + " (" + runtime.socket.error().text + ")",
                 "switch NRI on in the runtime's configuration: docs/install.md");
  }
  const ContainerdSettings& settings = *runtime.settings;
  const std::string in = " in " + runtime.config_path;
  if (settings.nri_disabled.value_or(false)) {
    return error(id, what + ": NRI is off" + in,
                 std::string("set disable = false below ") + kSection + in + restart);
  }
  if (!settings.nri_disabled && settings.version < 3) {
    return error(id,
                 what + ": " + runtime.config_path +
                     " does not say that NRI is on, and containerd 1.7 has it off by default",
                 std::string("write disable = false below ") + kSection + in + restart);
  }
  if (is_elsewhere(runtime, settings)) {
    return error(id, what + ": containerd's is " + settings.nri_socket + ", by its configuration",
                 "set nriSocket to that in the agent's configuration");
  }
  return error(id, what + " (" + runtime.socket.error().text + "), though NRI is on" + in,
               "restart containerd, and look at its log for io.containerd.nri.v1.nri");
}

// The driver that a file states, or the default where it does not.
std::string driver_of(const ContainerdSettings& settings) {
  return settings.systemd_cgroup.value_or(false) ? "systemd" : "cgroupfs";
}

// Two trees of pods: one of them is of a driver that nobody uses now, or one of the two programs
// uses another than the other.
bool two_trees(const CgroupFacts& cgroup) {
  bool slice = false;
  bool plain = false;
  for (const PodsGroup& group : cgroup.pods) {
    (group.path.ends_with(".slice") ? slice : plain) = true;
  }
  return slice && plain;
}

}  // namespace

Findings check_nri(const RuntimeFacts& runtime) {
  const std::string id = "nri";
  Findings findings;
  const bool settled = runtime.socket.has_value();
  if (!settled && runtime.socket.error().code == Errc::kDenied) {
    return {unknown(id, runtime.socket.error())};
  }
  if (runtime.settings && runtime.settings->connections_disabled.value_or(false)) {
    findings.push_back(error(
        id, "plugins may not connect: " + runtime.config_path + " says disable_connections = true",
        std::string("set disable_connections = false below ") + kSection +
            ", and restart containerd; or let containerd launch the agent: "
            "docs/install.md"));
  } else if (settled) {
    findings.push_back(good(id, "the runtime's NRI socket answers at " + runtime.socket_path));
  } else {
    findings.push_back(explain(runtime));
  }
  // The socket has the last word: what its configuration would have said matters where it is dead.
  return settled ? findings : with_unread(std::move(findings), id, runtime.unread);
}

Findings check_cgroup_driver(const KubeletFacts& kubelet, const RuntimeFacts& runtime,
                             const CgroupFacts& cgroup) {
  const std::string id = "cgroup-driver";
  if (two_trees(cgroup)) {
    return {warning(id,
                    "there are groups kubepods and kubepods.slice: kubelet and runtime use "
                    "different cgroup drivers, or did before the last restart",
                    "state the same driver in both (cgroupDriver: systemd in the kubelet's, "
                    "SystemdCgroup = true in containerd's configuration), drain and reboot")};
  }
  if (!runtime.settings) {
    if (!runtime.unread.empty()) return {unknown(id, runtime.unread.front())};
    return {good(id, cgroup.pods.empty() ? "no pods' groups, and no containerd's configuration"
                                         : "all pods are below " + cgroup.pods.front().path)};
  }
  const std::string theirs = driver_of(*runtime.settings);
  const std::string stated = kubelet.settings ? kubelet.settings->cgroup_driver : "";
  if (!stated.empty() && stated != theirs) {
    return {warning(id,
                    "the kubelet's configuration says " + stated + " and containerd's " + theirs +
                        ": with containerd 1.7 pods do not start, with 2.x the kubelet takes "
                        "containerd's",
                    stated == "systemd" ? "set SystemdCgroup = true for runc in " +
                                              runtime.config_path + ", drain, and restart both"
                                        : "set cgroupDriver: systemd for the kubelet, drain, and "
                                          "restart both")};
  }
  if (theirs == "cgroupfs" && cgroup.systemd && cgroup.version == 2) {
    return {warning(id,
                    "containers' groups are made by cgroupfs on a machine of systemd: two managers "
                    "write one tree",
                    "cgroupDriver: systemd for the kubelet and SystemdCgroup = true for runc in " +
                        runtime.config_path + ", on a drained node")};
  }
  return {good(id, "kubelet and runtime use " + theirs)};
}

}  // namespace pinion::ctl::doctor
