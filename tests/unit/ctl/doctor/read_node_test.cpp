// A node as a tree of files.
#include "ctl/doctor/read_node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "ctl/doctor/checks.h"
#include "ctl/doctor/processes.h"
#include "tests/support/places.h"
#include "tests/support/tree.h"

namespace pinion::ctl::doctor {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kNode = R"(
proc/1/comm = systemd
proc/1/status = Name:	systemd
proc/1/status = VmSize:	  1000 kB
proc/1/status = Cpus_allowed_list:	0-7
proc/1/cgroup = 0::/init.scope
proc/1/task/1/status = Cpus_allowed_list:	0-7
proc/1/mounts = cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0
proc/2/comm = kthreadd
proc/2/status = Name:	kthreadd
proc/2/status = Cpus_allowed_list:	0-7
proc/2/cgroup = 0::/
proc/50/comm = kubelet
proc/50/status = Name:	kubelet
proc/50/status = VmSize:	  1000 kB
proc/50/cgroup = 0::/system.slice/kubelet.service
proc/50/task/50/status = Cpus_allowed_list:	0-1
proc/50/task/51/status = Cpus_allowed_list:	4
proc/60/comm = pinion-agent
proc/60/status = Name:	pinion-agent
proc/60/status = VmSize:	  1000 kB
proc/60/status = CapEff:	0000004000000000
proc/60/cgroup = 0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1.slice/cri-containerd-1.scope
proc/60/task/60/status = Cpus_allowed_list:	0-7
proc/60/root/etc/pinion/agent.yaml = apiListen: unix:/run/pinion/agent.sock
proc/60/root/etc/pinion/agent.yaml = reservedSystemCPUs: "0"
proc/60/root/etc/pinion/agent.yaml = apiCert: /etc/pinion-tls/tls.crt
proc/60/root/etc/pinion-tls/tls.crt = no certificate
proc/sys/kernel/perf_event_paranoid = 3
run/systemd/system/marker = here
sys/fs/cgroup/cgroup.controllers = cpuset cpu io memory pids
sys/fs/cgroup/kubepods.slice/cgroup.controllers = cpuset cpu
etc/kubelet.yaml = cpuManagerPolicy: none
etc/kubelet.yaml = reservedSystemCPUs: "0"
etc/kubelet.d/20-b.conf = cgroupDriver: systemd
etc/kubelet.d/10-a.conf = cgroupDriver: cgroupfs
etc/kubelet.d/readme.txt = cgroupDriver: other
etc/containerd/config.toml = version = 2
etc/containerd/config.toml = imports = ["conf.d/*.toml"]
etc/containerd/conf.d/nri.toml = [plugins."io.containerd.nri.v1.nri"]
etc/containerd/conf.d/nri.toml = disable = true
)";

class DoctorReads : public testing::Test {
 protected:
  void SetUp() override {
    const Status written = test_support::write_tree(kNode, dir_.path());
    ASSERT_TRUE(written) << written.error().text;
    write("var/lib/kubelet/cpu_manager_state",
          R"({"policyName":"none","defaultCpuSet":"","checksum":1})");
    cmdline(50,
            {"/usr/bin/kubelet", "--config", "/etc/kubelet.yaml", "--config-dir=/etc/kubelet.d"});
    cmdline(60, {"/usr/bin/pinion-agent", "--config", "/etc/pinion/agent.yaml"});
  }

  [[nodiscard]] std::string root() const { return dir_.path().string(); }
  [[nodiscard]] std::string path(const std::string& name) const { return root() + "/" + name; }

  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    std::ofstream(path(name), std::ios::binary) << text;
  }
  void cmdline(int pid, const std::vector<std::string>& words) const {
    std::string text;
    for (const std::string& word : words) text += word + '\0';
    write("proc/" + std::to_string(pid) + "/cmdline", text);
  }

  [[nodiscard]] Fd listen_at(const std::string& name) const {
    const std::string socket_path = path(name);
    std::filesystem::create_directories(std::filesystem::path(socket_path).parent_path());
    Fd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    EXPECT_LT(socket_path.size(), sizeof(address.sun_path));
    socket_path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    EXPECT_EQ(bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)),
              0);
    EXPECT_EQ(listen(listener.get(), 1), 0);
    return listener;
  }

  [[nodiscard]] NodeFacts read() const {
    ReadOptions options;
    options.root = root();
    return read_node(options);
  }

 private:
  test_support::TempDir dir_;
};

TEST_F(DoctorReads, TheKubelet) {
  const KubeletFacts facts = read().kubelet;
  EXPECT_TRUE(facts.running);
  EXPECT_EQ(facts.config_path, "/etc/kubelet.yaml");
  ASSERT_TRUE(facts.settings);
  EXPECT_EQ(facts.settings->cpu_manager_policy, "none");
  EXPECT_EQ(facts.settings->cgroup_driver, "systemd");  // of the last file
  EXPECT_EQ(facts.settings->reserved_cpus, topology::CpuSet({0}));
  EXPECT_EQ(facts.state_path, "/var/lib/kubelet/cpu_manager_state");
  EXPECT_EQ(facts.state_policy, "none");
  EXPECT_THAT(facts.unread, IsEmpty());
}

TEST_F(DoctorReads, AKubeletOfAnotherRootDirectory) {
  cmdline(50, {"kubelet", "--root-dir=/data/kubelet", "--cgroup-driver=cgroupfs"});
  write("data/kubelet/cpu_manager_state", R"({"policyName":"static"})");
  const KubeletFacts facts = read().kubelet;
  EXPECT_EQ(facts.state_policy, "static");
  ASSERT_TRUE(facts.settings);
  EXPECT_EQ(facts.settings->cgroup_driver, "cgroupfs");
  EXPECT_THAT(check_kubelet_managers(facts), Contains(Field(&Finding::severity, Severity::kError)));
}

TEST_F(DoctorReads, WhatIsBrokenIsUnread) {
  write("etc/kubelet.d/30-c.conf", "a: [");
  write("var/lib/kubelet/cpu_manager_state", "{");
  const KubeletFacts facts = read().kubelet;
  EXPECT_FALSE(facts.settings);
  EXPECT_THAT(facts.unread, ElementsAre(Field(&Error::text, HasSubstr("30-c.conf")),
                                        Field(&Error::text, HasSubstr("cpu_manager_state"))));
}

TEST_F(DoctorReads, NoKubeletIsNoFault) {
  std::filesystem::remove_all(path("proc/50"));
  std::filesystem::remove(path("var/lib/kubelet/cpu_manager_state"));
  const KubeletFacts facts = read().kubelet;
  EXPECT_FALSE(facts.running);
  EXPECT_FALSE(facts.settings);
  EXPECT_FALSE(facts.state_policy);
  EXPECT_THAT(facts.unread, IsEmpty());
}

TEST_F(DoctorReads, TheRuntime) {
  const RuntimeFacts facts = read().runtime;
  EXPECT_EQ(facts.config_path, "/etc/containerd/config.toml");
  ASSERT_TRUE(facts.settings);
  EXPECT_EQ(facts.settings->version, 2);
  EXPECT_EQ(facts.settings->nri_disabled, true);  // of the import
  ASSERT_FALSE(facts.socket);
  EXPECT_EQ(facts.socket.error().code, Errc::kNotFound);
  EXPECT_THAT(check_nri(facts), ElementsAre(Field(&Finding::what, HasSubstr("NRI is off"))));
}

// The usual path goes over a link that leads out of the tree.
TEST_F(DoctorReads, ASocketThatAnswers) {
  std::filesystem::remove_all(path("proc/60"));
  std::filesystem::create_directories(path("var"));
  const Fd listener = listen_at("run/nri/nri.sock");
  const RuntimeFacts facts = read().runtime;
  EXPECT_EQ(facts.socket_path, "/var/run/nri/nri.sock");
  EXPECT_TRUE(facts.socket) << facts.socket.error().text;
}

// Where the node has it, only the volumes of its pod know.
TEST_F(DoctorReads, ASocketThatAnswersTheAgentInItsContainer) {
  const Fd listener = listen_at("proc/60/root/var/run/nri/nri.sock");
  const RuntimeFacts facts = read().runtime;
  EXPECT_EQ(facts.socket_path, "/var/run/nri/nri.sock");
  EXPECT_TRUE(facts.socket) << facts.socket.error().text;
}

TEST_F(DoctorReads, Cgroups) {
  CgroupFacts facts = read().cgroup;
  EXPECT_EQ(facts.version, 2);
  EXPECT_TRUE(facts.systemd);
  EXPECT_THAT(facts.controllers, Contains("cpuset"));
  ASSERT_THAT(facts.pods, SizeIs(1));
  EXPECT_EQ(facts.pods[0].path, "/kubepods.slice");
  EXPECT_THAT(facts.pods[0].controllers, ElementsAre("cpu", "cpuset"));

  write("proc/1/mounts",
        "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n"
        "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu,cpuacct 0 0\n"
        "cgroup /sys/fs/cgroup/cpuset cgroup rw,cpuset 0 0\n");
  EXPECT_EQ(read().cgroup.version, 1);
  write("proc/1/mounts", "proc /proc proc rw 0 0\n");
  EXPECT_EQ(read().cgroup.version, 0);
  std::filesystem::remove(path("proc/1/mounts"));
  EXPECT_THAT(read().cgroup.unread, SizeIs(1));
}

TEST_F(DoctorReads, TheAgentsSettingsAsItSeesThem) {
  const NodeFacts facts = read();
  EXPECT_TRUE(facts.agent.running);
  EXPECT_EQ(facts.agent.address, "unix:" + path("proc/60/root/run/pinion/agent.sock"));
  EXPECT_FALSE(facts.agent.snapshot);
  EXPECT_EQ(facts.agent.config_path, "/etc/pinion/agent.yaml");
  EXPECT_EQ(facts.agent.configured_reserved, topology::CpuSet({0}));
  EXPECT_EQ(facts.agent.capabilities, std::uint64_t{1} << 38U);
  EXPECT_EQ(facts.perf.paranoid, 3);
  ASSERT_THAT(facts.certificates, SizeIs(1));
  EXPECT_EQ(facts.certificates[0].path, "/etc/pinion-tls/tls.crt");
  ASSERT_FALSE(facts.certificates[0].certificates);
  EXPECT_THAT(facts.certificates[0].certificates.error().text, HasSubstr("no certificate in PEM"));
}

// As a shell leaves it: "pinion-agent --config agent.yaml".
TEST_F(DoctorReads, PathsThatAreRelativeToTheAgentsDirectory) {
  cmdline(60, {"pinion-agent", "--config", "agent.yaml"});
  write("proc/60/cwd/agent.yaml",
        "stateDir: state\nnriSocket: nri/nri.sock\nreservedSystemCPUs: 3\napiCert: tls.crt\n");
  write("proc/60/cwd/tls.crt", "no certificate");
  const Fd runtime = listen_at("proc/60/cwd/nri/nri.sock");
  const NodeFacts facts = read();
  EXPECT_THAT(facts.agent.unread, IsEmpty());
  EXPECT_EQ(facts.agent.configured_reserved, topology::CpuSet({3}));
  EXPECT_EQ(facts.agent.address, "unix:" + path("proc/60/cwd/state/agent.sock"));
  EXPECT_TRUE(facts.runtime.socket) << facts.runtime.socket.error().text;
  ASSERT_THAT(facts.certificates, SizeIs(1));
  EXPECT_THAT(facts.certificates[0].certificates.error().text, HasSubstr("no certificate in PEM"));
}

TEST_F(DoctorReads, OneOfSeveralAgentsAndNamesTheOthers) {
  EXPECT_THAT(read().agent.others, IsEmpty());
  write("proc/61/comm", "pinion-agent\n");
  write("proc/61/cmdline", "");  // it has ended
  for (const int pid : {70, 80}) {
    write("proc/" + std::to_string(pid) + "/comm", "pinion-agent\n");
    cmdline(pid, {"pinion-agent", "--reserved-cpus=5"});
  }
  const AgentFacts facts = read().agent;
  EXPECT_EQ(facts.pid, 60);
  EXPECT_THAT(facts.others, ElementsAre(70, 80));
  EXPECT_EQ(facts.configured_reserved, topology::CpuSet({0}));
  EXPECT_THAT(check_agent(facts),
              Contains(AllOf(Field(&Finding::severity, Severity::kWarning),
                             Field(&Finding::what,
                                   "several pinion-agents run here; this is about process 60, not "
                                   "about: 70, 80"))));
}

TEST_F(DoctorReads, AnAgentThatIsNamedIsAskedThere) {
  ReadOptions options;
  options.root = root();
  options.agent_named = true;
  options.agent.agent = "unix:" + path("other.sock");
  EXPECT_EQ(read_node(options).agent.address, "unix:" + path("other.sock"));
}

// Over TCP it serves those who have a certificate; who is on the node asks its socket.
TEST_F(DoctorReads, AsksAnAgentThatListensElsewhereAtItsSocket) {
  write("proc/60/root/etc/pinion/agent.yaml", "apiListen: 0.0.0.0:9465\nstateDir: /run/other\n");
  EXPECT_EQ(read().agent.address, "unix:" + path("proc/60/root/run/other/agent.sock"));
  write("proc/60/root/etc/pinion/agent.yaml", "apiListen: 'off'\n");
  EXPECT_EQ(read().agent.address, "off");
}

// The package's file, where no agent runs.
TEST_F(DoctorReads, TheSettingsOfAnAgentThatIsDown) {
  std::filesystem::remove_all(path("proc/60"));
  write("etc/pinion/agent.yaml", "reservedSystemCPUs: 0-1\nfence: runtime\n");
  const AgentFacts facts = read().agent;
  EXPECT_FALSE(facts.running);
  EXPECT_EQ(facts.address, "unix:" + path("run/pinion/agent.sock"));
  EXPECT_EQ(facts.configured_reserved, topology::CpuSet({0, 1}));
  EXPECT_EQ(facts.configured_fence, "runtime");
  EXPECT_EQ(facts.capabilities, std::nullopt);
}

TEST_F(DoctorReads, NoFileOutsideOfTheAgentsOwn) {
  write("proc/60/root/etc/pinion/agent.yaml", "apiCert: /../../../secret\n");
  const NodeFacts facts = read();
  ASSERT_THAT(facts.certificates, SizeIs(1));
  ASSERT_FALSE(facts.certificates[0].certificates);
  EXPECT_THAT(facts.certificates[0].certificates.error().text, HasSubstr("leads upwards"));
}

TEST_F(DoctorReads, APipeInPlaceOfAFileHoldsNobodyUp) {
  std::filesystem::remove(path("proc/60/root/etc/pinion/agent.yaml"));
  ASSERT_EQ(mkfifo(path("proc/60/root/etc/pinion/agent.yaml").c_str(), 0600), 0);
  EXPECT_THAT(read().agent.unread, Contains(Field(&Error::text, HasSubstr("no regular file"))));
}

TEST_F(DoctorReads, TheExtendersCertificates) {
  write("proc/70/comm", "pinion-extender\n");
  cmdline(70, {"pinion-extender", "--config", "/e.yaml", "--tls-cert", "/flag.crt"});
  write("proc/70/root/e.yaml", "tlsCert: /file.crt\nagentCA: /ca.crt\n");
  write("proc/70/root/flag.crt", "x");
  const NodeFacts facts = read();
  std::vector<std::string> paths;
  for (const CertificateFile& file : facts.certificates) paths.push_back(file.path);
  EXPECT_THAT(paths, ElementsAre("/etc/pinion-tls/tls.crt", "/flag.crt", "/ca.crt"));
}

TEST_F(DoctorReads, ProcessesOfTheHost) {
  const auto processes = read().processes;
  ASSERT_TRUE(processes);
  ASSERT_THAT(*processes, SizeIs(2));  // neither the kernel's nor a pod's
  EXPECT_EQ((*processes)[0].unit, "/init.scope");
  EXPECT_EQ((*processes)[0].name, "systemd");
  EXPECT_EQ((*processes)[1].unit, "/system.slice/kubelet.service");
  EXPECT_EQ((*processes)[1].cpus, topology::CpuSet({0, 1, 4}));  // of all its threads
}

TEST_F(DoctorReads, WithoutAProcNothingIsKnown) {
  std::filesystem::remove_all(path("proc"));
  const NodeFacts facts = read();
  EXPECT_FALSE(facts.processes);
  EXPECT_FALSE(facts.agent.running);
  EXPECT_FALSE(facts.kubelet.running);
}

// The whole program: what it prints, and that it says by its exit code that something is wrong.
TEST_F(DoctorReads, TheCommandSaysWhatIsWrong) {
  const std::string command =
      test_support::built_program("pinionctl") + " doctor --json --root " + root() + "/";
  FILE* pipe = popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string text;
  std::array<char, 4096> part{};
  while (const std::size_t n = fread(part.data(), 1, part.size(), pipe))
    text.append(part.data(), n);
  const int status = pclose(pipe);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 1);
  const auto document = nlohmann::json::parse(text, nullptr, false);
  ASSERT_TRUE(document.is_object()) << text;
  std::map<std::string, std::string> severities;
  for (const auto& each : document["findings"]) {
    severities[each["id"].get<std::string>()] = each["severity"].get<std::string>();
  }
  EXPECT_EQ(severities["nri"], "error");
  EXPECT_EQ(severities["agent"], "error");
  EXPECT_EQ(severities["cgroup-cpuset"], "good");
  EXPECT_EQ(severities["reserved-cpus"], "good");
  EXPECT_EQ(severities["certificates"], "unknown");
}

}  // namespace
}  // namespace pinion::ctl::doctor
