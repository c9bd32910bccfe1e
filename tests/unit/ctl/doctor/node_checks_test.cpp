// Each check of a node, on what is good and what is not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <ostream>

#include "ctl/doctor/checks.h"
#include "tests/unit/ctl/doctor/cases.h"

namespace pinion::ctl::doctor {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

Error denied(const char* text) {
  return {.code = Errc::kDenied, .text = text};
}

// A node on which all is well: each case spoils one thing.
struct Node : NodeFacts {
  Node() {
    kubelet.running = true;
    kubelet.config_path = "/var/lib/kubelet/config.yaml";
    kubelet.settings = KubeletSettings{.cpu_manager_policy = "none",
                                       .memory_manager_policy = "None",
                                       .cgroup_driver = "systemd",
                                       .reserved_cpus = cpus("0-1"),
                                       .reserved_milli = 0};
    kubelet.state_path = "/var/lib/kubelet/cpu_manager_state";
    kubelet.state_policy = "none";
    runtime.config_path = "/etc/containerd/config.toml";
    runtime.settings = ContainerdSettings{.version = 2,
                                          .nri_disabled = false,
                                          .connections_disabled = false,
                                          .nri_socket = "/var/run/nri/nri.sock",
                                          .systemd_cgroup = true,
                                          .imports = {}};
    runtime.socket_path = "/var/run/nri/nri.sock";
    cgroup.version = 2;
    cgroup.controllers = {"cpu", "cpuset", "memory"};
    cgroup.pods = {{.path = "/kubepods.slice", .controllers = {"cpu", "cpuset"}}};
    cgroup.systemd = true;
    agent.running = true;
    agent.address = "unix:/run/pinion/agent.sock";
    v1::Snapshot snapshot;
    v1::NodeState& node = *snapshot.mutable_node();
    node.set_version("0.1.0");
    node.set_synchronized(true);
    node.mutable_runtime()->set_name("containerd");
    node.mutable_runtime()->set_version("2.1.9");
    node.mutable_runtime()->set_phase("synchronized");
    node.set_fence("tree");
    node.mutable_sets()->set_online("0-7");
    node.mutable_sets()->set_reserved("0-1");
    node.mutable_sets()->set_exclusive("4-5");
    v1::EventSupport& event = *node.add_events();
    event.set_event("cycles");
    event.set_availability("counted");
    add_container(snapshot, "rank-0", "");
    agent.snapshot = std::move(snapshot);
    perf.paranoid = 2;
    clock.synchronized = true;
    now = 1'000'000'000;
    certificates = {certificate("agent.crt", -10, 300)};
    processes = std::vector<metrics::HostProcess>{
        {.unit = "/system.slice/ssh.service", .name = "sshd", .pid = 10, .cpus = cpus("0-3,6-7")}};
  }

  static void add_container(v1::Snapshot& snapshot, const char* pod, const char* trouble) {
    v1::Container& container = *snapshot.add_containers();
    container.set_namespace_("hpc");
    container.set_pod(pod);
    container.set_name("rank");
    container.set_trouble(trouble);
  }

  // Valid from and to these days from now.
  [[nodiscard]] CertificateFile certificate(const char* path, int from, int to) const {
    constexpr std::int64_t day = 24L * 60 * 60;
    return {.use = "pinion-agent's apiCert",
            .path = path,
            .certificates = std::vector<x509::Certificate>{
                {.subject = "/CN=agent",
                 .validity = {.from_s = now + from * day, .to_s = now + to * day},
                 .names = {}}}};
  }

  v1::NodeState& state() { return *agent.snapshot->mutable_node(); }
};

TEST(DoctorOfANode, FindsNothingOnAGoodOne) {
  EXPECT_THAT(check_node(Node()), Each(Field(&Finding::severity, Severity::kGood)));
}

TEST(DoctorOfANode, LooksAtAllThatIsDocumented) {
  std::set<std::string> ids;
  for (const Finding& each : check_node(Node())) {
    ids.insert(each.id);
    EXPECT_NE(each.what, "");
    EXPECT_EQ(each.advice, "");
  }
  EXPECT_EQ(ids, documented_ids("a node"));
  EXPECT_THAT(ids, SizeIs(14));
}

class DoctorFinds : public testing::TestWithParam<Spoiled<Node>> {};

TEST_P(DoctorFinds, WhatIsWrong) {
  expect_found(GetParam(), Node(), [](const Node& n) { return check_node(n); });
}

INSTANTIATE_TEST_SUITE_P(
    Node, DoctorFinds,
    testing::Values(
        Spoiled<Node>{"StaticPolicy", [](Node& n) { n.kubelet.state_policy = "static"; },
                Severity::kError, "kubelet-cpu-manager", "cpu_manager_state says policy static",
                "cpuManagerPolicy: none"},
        Spoiled<Node>{"StaticPolicyToCome",
                [](Node& n) { n.kubelet.settings->cpu_manager_policy = "static"; },
                Severity::kError, "kubelet-cpu-manager", "cpuManagerPolicy: static",
                "cpuManagerPolicy: none"},
        Spoiled<Node>{"StaticMemory",
                [](Node& n) { n.kubelet.settings->memory_manager_policy = "Static"; },
                Severity::kError, "kubelet-memory-manager", "memoryManagerPolicy: Static",
                "memoryManagerPolicy: None"},
        Spoiled<Node>{"NriOff",
                [](Node& n) {
                  n.runtime.socket = failure(Errc::kNotFound, "no such file");
                  n.runtime.settings->nri_disabled = true;
                },
                Severity::kError, "nri", "NRI is off in /etc/containerd/config.toml",
                "disable = false"},
        Spoiled<Node>{"NriNotStatedIn17",
                [](Node& n) {
                  n.runtime.socket = failure(Errc::kNotFound, "no such file");
                  n.runtime.settings->nri_disabled.reset();
                },
                Severity::kError, "nri", "off by default", "disable = false"},
        Spoiled<Node>{"NriNotStatedIn2",
                [](Node& n) {
                  n.runtime.socket = failure(Errc::kUnavailable, "nobody listens");
                  n.runtime.settings->nri_disabled.reset();
                  n.runtime.settings->version = 3;
                },
                Severity::kError, "nri", "nobody listens", "restart containerd"},
        Spoiled<Node>{"RuntimeStopped",
                [](Node& n) {
                  n.runtime.settings->nri_disabled.reset();
                  n.runtime.socket =
                      failure(Error{Errc::kUnavailable, ECONNREFUSED, "connection refused"});
                },
                Severity::kError, "nri", "connection refused", "is the runtime running?"},
        Spoiled<Node>{"StoppedRuntimeOfAnotherKind",
                [](Node& n) {
                  n.runtime.settings.reset();
                  n.runtime.socket =
                      failure(Error{Errc::kUnavailable, ECONNREFUSED, "connection refused"});
                },
                Severity::kError, "nri", "connection refused", "is the runtime running?"},
        Spoiled<Node>{"StaleSocketAndNriOff",
                [](Node& n) {
                  n.runtime.settings->nri_disabled = true;
                  n.runtime.socket =
                      failure(Error{Errc::kUnavailable, ECONNREFUSED, "connection refused"});
                },
                Severity::kError, "nri", "NRI is off", "disable = false"},
        Spoiled<Node>{"NriElsewhere",
                [](Node& n) {
                  n.runtime.socket = failure(Errc::kNotFound, "no such file");
                  n.runtime.settings->nri_socket = "/run/other.sock";
                },
                Severity::kError, "nri", "/run/other.sock", "nriSocket"},
        Spoiled<Node>{"NriWithoutConnections",
                [](Node& n) { n.runtime.settings->connections_disabled = true; }, Severity::kError,
                "nri", "disable_connections = true", "disable_connections = false"},
        Spoiled<Node>{"NriOfAnotherRuntime",
                [](Node& n) {
                  n.runtime.settings.reset();
                  n.runtime.socket = failure(Errc::kNotFound, "no such file");
                },
                Severity::kError, "nri", "no such file", "docs/install.md"},
        Spoiled<Node>{"NriNotAllowed",
                [](Node& n) { n.runtime.socket = failure(denied("connect: Permission denied")); },
                Severity::kUnknown, "nri", "Permission denied", "as root"},
        Spoiled<Node>{"OtherReservedCpus",
                [](Node& n) { n.kubelet.settings->reserved_cpus = cpus("0-3"); }, Severity::kError,
                "reserved-cpus", "the agent reserves 0-1 and the kubelet 0-3",
                "/var/lib/kubelet/config.yaml"},
        Spoiled<Node>{"KubeletReservesTooLittle",
                [](Node& n) {
                  n.kubelet.settings->reserved_cpus.reset();
                  n.kubelet.settings->reserved_milli = 1999;
                },
                Severity::kError, "reserved-cpus", "1999 thousandths", "reservedSystemCPUs"},
        Spoiled<Node>{"NothingReserved",
                [](Node& n) {
                  n.kubelet.settings->reserved_cpus.reset();
                  n.state().mutable_sets()->clear_reserved();
                },
                Severity::kWarning, "reserved-cpus", "no CPU is reserved", "reserve a core"},
        Spoiled<Node>{"NoCpusets", [](Node& n) { n.cgroup.controllers.erase("cpuset"); },
                Severity::kError, "cgroup-cpuset", "no cpuset controller", "cgroup_disable"},
        Spoiled<Node>{"NoCgroups", [](Node& n) { n.cgroup.version = 0; }, Severity::kError,
                "cgroup-cpuset", "no hierarchy", "mount cgroup2"},
        Spoiled<Node>{"CpusetsNotDelegated",
                [](Node& n) { n.cgroup.pods[0].controllers.erase("cpuset"); }, Severity::kError,
                "cgroup-cpuset", "/kubepods.slice has no cpuset", "Delegate=yes"},
        Spoiled<Node>{"DriversDiffer", [](Node& n) { n.runtime.settings->systemd_cgroup.reset(); },
                Severity::kWarning, "cgroup-driver", "says systemd and containerd's cgroupfs",
                "SystemdCgroup = true"},
        Spoiled<Node>{"KubeletUsesCgroupfs",
                [](Node& n) { n.kubelet.settings->cgroup_driver = "cgroupfs"; }, Severity::kWarning,
                "cgroup-driver", "says cgroupfs and containerd's systemd", "cgroupDriver: systemd"},
        Spoiled<Node>{"BothUseCgroupfsUnderSystemd",
                [](Node& n) {
                  n.kubelet.settings->cgroup_driver = "";
                  n.runtime.settings->systemd_cgroup = false;
                },
                Severity::kWarning, "cgroup-driver", "two managers", "SystemdCgroup = true"},
        Spoiled<Node>{"TwoTrees",
                [](Node& n) {
                  n.cgroup.pods.push_back({.path = "/kubepods", .controllers = {"cpuset"}});
                },
                Severity::kWarning, "cgroup-driver", "kubepods and kubepods.slice", "reboot"},
        Spoiled<Node>{"NotSynchronized",
                [](Node& n) {
                  n.state().set_synchronized(false);
                  n.state().mutable_runtime()->set_phase("disconnected");
                },
                Severity::kError, "agent-ready", "disconnected", "the check nri"},
        Spoiled<Node>{"WeakFenceByConfiguration",
                [](Node& n) {
                  n.state().set_fence("runtime");
                  n.agent.configured_fence = "runtime";
                },
                Severity::kWarning, "fence", "configuration says fence: runtime", "on purpose"},
        Spoiled<Node>{"WeakFence", [](Node& n) { n.state().set_fence("runtime"); }, Severity::kWarning,
                "fence", "cannot write cgroup files", "CAP_DAC_OVERRIDE"},
        Spoiled<Node>{
            "Trouble",
            [](Node& n) { Node::add_container(*n.agent.snapshot, "rank-1", "cpuset not applied"); },
            Severity::kError, "agent-drift", "hpc/rank-1/rank; the first: cpuset not applied",
            "pinionctl ps"},
        Spoiled<Node>{"NotPermitted",
                [](Node& n) { n.state().mutable_events(0)->set_availability("not permitted"); },
                Severity::kWarning, "perf", "may not count cycles (perf_event_paranoid is 2)",
                "CAP_PERFMON"},
        Spoiled<Node>{"Expired",
                [](Node& n) { n.certificates.push_back(n.certificate("old.crt", -30, 0)); },
                Severity::kError, "certificates", "old.crt (/CN=agent) has expired", "renew"},
        Spoiled<Node>{"ExpiresSoon",
                [](Node& n) { n.certificates.push_back(n.certificate("soon.crt", -30, 13)); },
                Severity::kWarning, "certificates", "expires in 13 day(s)", "renew"},
        Spoiled<Node>{"NotValidYet",
                [](Node& n) { n.certificates.push_back(n.certificate("new.crt", 1, 300)); },
                Severity::kError, "certificates", "not valid yet", "clock"},
        Spoiled<Node>{"Unreadable",
                [](Node& n) {
                  n.certificates.push_back({.use = "pinion-agent's apiClientCA",
                                            .path = "ca.crt",
                                            .certificates = failure(denied("read ca.crt: no"))});
                },
                Severity::kUnknown, "certificates", "apiClientCA: read ca.crt", "as root"},
        Spoiled<Node>{"Daemon", [](Node& n) { n.processes->front().cpus = cpus("0-7"); },
                Severity::kWarning, "host-daemons",
                "1 process(es) of the host may run on exclusive CPUs 4-5: "
                "ssh.service (sshd 10)",
                "systemctl set-property system.slice AllowedCPUs=0-1"},
        Spoiled<Node>{"DaemonWithoutAGroup",
                [](Node& n) {
                  n.processes->front().unit = "/";
                  n.processes->front().cpus = cpus("5");
                  n.state().mutable_sets()->clear_reserved();
                  n.kubelet.settings->reserved_cpus = cpus("0");
                  n.state().mutable_sets()->set_reserved("0");
                },
                Severity::kWarning, "host-daemons", ": sshd (10)", "taskset -a -p -c 0 10;"},
        Spoiled<Node>{"ProcessesUnread", [](Node& n) { n.processes = failure(denied("read /proc: no")); },
                Severity::kUnknown, "host-daemons", "read /proc", "as root"},
        Spoiled<Node>{"ClockAdrift", [](Node& n) { n.clock.synchronized = false; }, Severity::kWarning,
                "clock", "not synchronized", "NTP"},
        Spoiled<Node>{"ClockNotAsked", [](Node& n) { n.clock.synchronized.reset(); }, Severity::kUnknown,
                "clock", "not asked", ""},
        Spoiled<Node>{"MountsUnread",
                [](Node& n) { n.cgroup.unread = {denied("read /proc/1/mounts: no")}; },
                Severity::kUnknown, "cgroup-cpuset", "mounts", "as root"}),
    [](const auto& one) { return one.param.name; });

TEST(DoctorOfANode, SaysWhichAgentIsSilent) {
  Node node;
  node.agent.snapshot = failure(Errc::kUnavailable, "nobody listens");
  EXPECT_THAT(check_agent(node.agent),
              ElementsAre(finding(Severity::kError, "agent",
                                  "runs and does not answer at unix:", "--agent")));
  node.agent.running = false;
  EXPECT_THAT(check_agent(node.agent),
              ElementsAre(finding(Severity::kError, "agent", "no pinion-agent runs here",
                                  "systemctl start")));
  node.agent.snapshot = failure(denied("Permission denied"));
  EXPECT_THAT(check_agent(node.agent),
              ElementsAre(finding(Severity::kUnknown, "agent", "Permission denied", "as root")));
}

// What can be said without an agent's answer is said.
TEST(DoctorOfANode, UsesTheConfigurationOfASilentAgent) {
  Node node;
  node.agent.snapshot = failure(Errc::kUnavailable, "nobody listens");
  node.agent.config_path = "/etc/pinion/agent.yaml";
  node.agent.configured_reserved = cpus("0-1");
  EXPECT_THAT(check_reserved(node.kubelet, node.agent),
              ElementsAre(finding(Severity::kGood, "reserved-cpus", "reserve 0-1", "")));
  node.agent.configured_reserved = cpus("0");
  EXPECT_THAT(check_reserved(node.kubelet, node.agent),
              ElementsAre(finding(Severity::kError, "reserved-cpus",
                                  "/etc/pinion/agent.yaml reserves 0 and the kubelet 0-1", "")));
  node.agent.configured_reserved.reset();
  EXPECT_THAT(check_reserved(node.kubelet, node.agent),
              ElementsAre(finding(Severity::kUnknown, "reserved-cpus", "neither", "")));
  EXPECT_THAT(check_host_processes(node.processes, node.agent),
              ElementsAre(finding(Severity::kUnknown, "host-daemons", "agent's answer", "")));
}

TEST(DoctorOfANode, TakesAmountsForReservedCpus) {
  Node node;
  node.kubelet.settings->reserved_cpus.reset();
  node.kubelet.settings->reserved_milli = 2000;
  EXPECT_THAT(check_reserved(node.kubelet, node.agent),
              ElementsAre(finding(Severity::kGood, "reserved-cpus", "keeps back as much", "")));
}

TEST(DoctorOfANode, NeedsNoKubelet) {
  Node node;
  node.kubelet = {};
  EXPECT_THAT(check_kubelet_managers(node.kubelet),
              ElementsAre(finding(Severity::kGood, "kubelet-cpu-manager", "no kubelet", "")));
  EXPECT_THAT(check_reserved(node.kubelet, node.agent),
              ElementsAre(finding(Severity::kGood, "reserved-cpus", "no kubelet to differ", "")));
  Node unreserved = node;
  unreserved.state().mutable_sets()->clear_reserved();
  EXPECT_THAT(check_reserved(unreserved.kubelet, unreserved.agent),
              ElementsAre(finding(Severity::kWarning, "reserved-cpus", "no CPU is reserved",
                                  "reserve a core")));
  node.kubelet.running = true;
  EXPECT_THAT(check_reserved(node.kubelet, node.agent),
              ElementsAre(finding(Severity::kUnknown, "reserved-cpus", "was not found", "")));
}

struct Counting {
  const char* name;
  std::optional<std::uint64_t> capabilities;
  std::optional<int> paranoid;
  Severity severity;
};

TEST(DoctorOfANode, JudgesCountersByRightsWhereTheAgentIsSilent) {
  constexpr std::uint64_t perfmon = std::uint64_t{1} << 38U;
  constexpr std::uint64_t sys_admin = std::uint64_t{1} << 21U;
  constexpr std::uint64_t chown = 1;
  for (const Counting& one :
       {Counting{"perfmon", perfmon, 4, Severity::kGood},
        Counting{"sys_admin", sys_admin, 4, Severity::kGood},
        Counting{"neither", chown, 1, Severity::kWarning},
        Counting{"neither and open", chown, 0, Severity::kGood},
        Counting{"no process", std::nullopt, 2, Severity::kGood},
        Counting{"nothing known", std::nullopt, std::nullopt, Severity::kUnknown}}) {
    SCOPED_TRACE(one.name);
    AgentFacts agent;
    agent.capabilities = one.capabilities;
    EXPECT_THAT(check_perf({.paranoid = one.paranoid}, agent),
                ElementsAre(finding(one.severity, "perf", "", "")));
  }
}

// What could not be read is never called good.
TEST(DoctorOfANode, SaysWhatItCouldNotRead) {
  Node node;
  node.kubelet.settings.reset();
  node.kubelet.unread = {denied("read /var/lib/kubelet/config.yaml: Permission denied")};
  node.runtime.settings.reset();
  node.runtime.unread = {denied("read /etc/containerd/config.toml: Permission denied")};
  EXPECT_THAT(
      check_kubelet_managers(node.kubelet),
      ElementsAre(finding(Severity::kUnknown, "kubelet-cpu-manager", "config.yaml", "as root")));
  EXPECT_THAT(check_cgroup_driver(node.kubelet, node.runtime, node.cgroup),
              ElementsAre(finding(Severity::kUnknown, "cgroup-driver", "config.toml", "as root")));
  EXPECT_THAT(check_nri(node.runtime), ElementsAre(finding(Severity::kGood, "nri", "answers", "")));
}

TEST(DoctorOfANode, NamesAFewOfMany) {
  Node node;
  for (int i = 0; i < 20; ++i) {
    node.processes->push_back({.unit = "/system.slice/s" + std::to_string(i) + ".service",
                               .name = "s",
                               .pid = 100 + i,
                               .cpus = cpus("4")});
  }
  EXPECT_THAT(check_host_processes(node.processes, node.agent),
              ElementsAre(finding(Severity::kWarning, "host-daemons", "20 process(es)", "")));
  EXPECT_THAT(check_host_processes(node.processes, node.agent),
              ElementsAre(finding(Severity::kWarning, "host-daemons", "and 15 more", "")));
  node.state().mutable_sets()->clear_exclusive();
  EXPECT_THAT(check_host_processes(node.processes, node.agent),
              ElementsAre(finding(Severity::kGood, "host-daemons", "no CPU is exclusive", "")));
}

}  // namespace
}  // namespace pinion::ctl::doctor
