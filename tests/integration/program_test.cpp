// pinion-agent as a program: its command line, a snapshot of another machine, its end. No runtime.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <string_view>

#include "base/cgroup/hierarchy.h"
#include "tests/integration/scrape.h"
#include "tests/lab/agent_process.h"
#include "tests/lab/files.h"
#include "tests/lab/process.h"
#include "tests/support/fake_runtime/runtime_socket.h"
#include "tests/support/fake_runtime/samples.h"
#include "tests/support/lateness.h"
#include "tests/support/tree.h"

namespace pinion::integration {
namespace {

using lab::Milliseconds;
using test_support::TempDir;
namespace wire = test_support::wire;

constexpr Milliseconds kLimit{10000};

// Where that is served, by the log; empty while the log does not say.
std::string address_in(const std::string& log, const std::string& what) {
  const std::string begins = "what=" + what + " address=";
  const auto at = log.find(begins);
  const auto end = at == std::string::npos ? at : log.find('\n', at);
  if (end == std::string::npos) return {};
  return log.substr(at + begins.size(), end - at - begins.size());
}

class Program : public testing::Test {
 protected:
  // The exit status and what it printed.
  struct Ended {
    int status = -1;
    std::string output;
  };

  [[nodiscard]] std::string path(const std::string& name) const { return dir_.path() / name; }

  Result<lab::Process> start(std::vector<std::string> flags) {
    flags.insert(flags.begin(), lab::default_agent());
    return lab::Process::start({.argv = std::move(flags), .env = {}, .log = path("log")});
  }

  Ended run(std::vector<std::string> flags) {
    auto process = start(std::move(flags));
    if (!process) return {.status = -1, .output = process.error().text};
    const auto status = process->wait(kLimit);
    return {.status = status.value_or(-1), .output = log()};
  }

  [[nodiscard]] std::string log() const {
    const auto text = lab::read_file(path("log"));
    return text ? *text : "";
  }

  TempDir dir_;
};

TEST_F(Program, HelpNamesEveryFlag) {
  const Ended help = run({"--help"});
  EXPECT_EQ(help.status, 0);
  for (const char* flag : {"--config", "--check-config", "--nri-socket", "--nri-index",
                           "--topology", "--host-root", "--reserved-cpus", "--fence", "--state-dir",
                           "--audit-interval", "--log-level", "--log-format"}) {
    EXPECT_NE(help.output.find(flag), std::string::npos) << flag;
  }
}

TEST_F(Program, CheckConfigPrintsWhatWouldHold) {
  ASSERT_TRUE(lab::write_file(path("config.yaml"), "reservedSystemCPUs: \"0\"\nlogFormat: json\n"));
  const Ended checked =
      run({"--config", path("config.yaml"), "--nri-index", "42", "--check-config"});
  EXPECT_EQ(checked.status, 0) << checked.output;
  EXPECT_NE(checked.output.find("reservedSystemCPUs: '0'"), std::string::npos) << checked.output;
  EXPECT_NE(checked.output.find("nriIndex: '42'"), std::string::npos) << checked.output;
  EXPECT_NE(checked.output.find("logFormat: 'json'"), std::string::npos) << checked.output;
}

TEST_F(Program, AnUnknownKeyIsRefusedWithItsLine) {
  ASSERT_TRUE(lab::write_file(path("config.yaml"), "nriIndex: \"10\"\nreservedCpus: \"0\"\n"));
  const Ended refused = run({"--config", path("config.yaml"), "--check-config"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.output.find("line 2: unknown key 'reservedCpus'"), std::string::npos)
      << refused.output;
}

TEST_F(Program, AReservedCpuThatDoesNotExistIsRefused) {
  const Ended refused = run({"--topology", "synthetic:package:1 core:2 pu:1", "--reserved-cpus",
                             "7", "--state-dir", path("state")});
  EXPECT_EQ(refused.status, 1);
  EXPECT_NE(refused.output.find("CPUs 7 do not exist"), std::string::npos) << refused.output;
}

TEST_F(Program, AMachineThatThisOneDoesNotHoldIsRefused) {
  const Ended refused = run({"--topology", "synthetic:package:8 core:128 pu:1", "--state-dir",
                             path("state"), "--nri-socket", path("none.sock")});
  EXPECT_EQ(refused.status, 1);
  EXPECT_NE(refused.output.find("-1023, which this machine lacks"), std::string::npos)
      << refused.output;
}

TEST_F(Program, WarnsWhereNoCpuIsLeftToGiveAway) {
  auto agent = start({"--topology", "synthetic:package:1 core:2 pu:1", "--reserved-cpus", "0-1",
                      "--state-dir", path("state"), "--nri-socket", path("none.sock")});
  ASSERT_TRUE(agent);
  EXPECT_TRUE(lab::eventually(kLimit, [&] {
    return log().find("all CPUs are reserved") != std::string::npos;
  })) << log();
}

// No runtime there, no cgroups there: it says so once, goes on trying, and ends at once when told.
TEST_F(Program, RunsOnABareSnapshotAndEndsWithinASecond) {
  ASSERT_TRUE(test_support::write_tree(R"(
sys/devices/system/cpu/online = 0-3
sys/devices/system/cpu/possible = 0-3
sys/devices/system/cpu/present = 0-3
sys/devices/system/cpu/cpu[0-3]/topology/core_cpus = {mask n}
sys/devices/system/cpu/cpu[0-3]/topology/thread_siblings = {mask n}
sys/devices/system/cpu/cpu[0-3]/topology/package_cpus = 0000000f
sys/devices/system/cpu/cpu[0-3]/topology/core_siblings = 0000000f
sys/devices/system/cpu/cpu[0-3]/topology/core_id = {n}
sys/devices/system/cpu/cpu[0-3]/topology/physical_package_id = 0
)",
                                       path("host")));
  auto agent = start({"--host-root", path("host"), "--nri-socket", path("none.sock"), "--state-dir",
                      path("state"), "--audit-interval", "100ms"});
  ASSERT_TRUE(agent);
  ASSERT_TRUE(lab::eventually(kLimit, [&] {
    return log().find("trying again") != std::string::npos;
  })) << log();
  EXPECT_NE(log().find("cpus=0-3"), std::string::npos) << log();
  EXPECT_NE(log().find("no CPU is reserved"), std::string::npos) << log();
  const auto said = log().find("no cpuset cgroup hierarchy is mounted under");
  ASSERT_NE(said, std::string::npos) << log();
  EXPECT_EQ(log().find("no cpuset cgroup hierarchy", said + 1), std::string::npos) << "said twice";

  const test_support::Lateness machine;
  const auto before = std::chrono::steady_clock::now();
  const auto status = agent->stop(kLimit);
  EXPECT_LT(std::chrono::steady_clock::now() - before,
            lab::patient(Milliseconds(1000)) + machine.so_far());
  ASSERT_TRUE(status);
  EXPECT_EQ(*status, 0) << log();
  EXPECT_NE(access(path("state/agent.sock").c_str(), F_OK), 0) << "the socket is left behind";
}

// The runtime has gone on without it, and would never tell it of anything again.
TEST_F(Program, BeginsAnewWhereItAnsweredSynchronizeTooLate) {
  auto runtime = test_support::RuntimeSocket::listen(path("nri.sock"));
  ASSERT_TRUE(runtime);
  auto agent = start({"--topology", "synthetic:package:1 core:2 pu:1", "--state-dir", path("state"),
                      "--nri-socket", path("nri.sock")});
  ASSERT_TRUE(agent);
  ASSERT_TRUE(runtime->accept());
  wire::SynchronizeRequest all;
  for (int i = 0; i < 500; ++i) {
    *all.add_pods() = test_support::make_pod({.number = i, .qos = "besteffort"});
    *all.add_containers() = test_support::make_container({.pod = i, .qos = "besteffort"});
  }
  ASSERT_TRUE(runtime->handshake(all, 1));
  EXPECT_TRUE(runtime->wait_for_close()) << log();
  EXPECT_TRUE(lab::eventually(kLimit, [&] {
    return log().find("Synchronize was answered after") != std::string::npos;
  })) << log();
  ASSERT_TRUE(runtime->accept());
  EXPECT_TRUE(runtime->handshake({}, 60'000)) << "the next one may be in time";
}

TEST_F(Program, EndsSoonThoughNobodyReadsItsLog) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const Fd reader(ends[0]);
  const Fd writer(ends[1]);
  const std::string page(4096, '.');
  ASSERT_EQ(fcntl(writer.get(), F_SETFL, O_NONBLOCK), 0);
  while (write(writer.get(), page.data(), page.size()) > 0) {
  }
  ASSERT_EQ(errno, EAGAIN);
  ASSERT_EQ(fcntl(writer.get(), F_SETFL, 0), 0);

  const std::string program = lab::default_agent();
  const std::string state = path("state");
  const std::string socket = path("none.sock");
  std::vector<std::string> flags = {program,       "--topology", "synthetic:package:1 core:2 pu:1",
                                    "--state-dir", state,        "--nri-socket",
                                    socket};
  std::vector<char*> argv;
  for (std::string& flag : flags) argv.push_back(flag.data());
  argv.push_back(nullptr);
  const pid_t agent = fork();
  if (agent == 0) {
    dup2(writer.get(), STDERR_FILENO);
    execv(argv[0], argv.data());
    _exit(127);
  }
  ASSERT_GT(agent, 0);
  // Nor does who holds a connection to the API take gRPC's goodbye.
  sockaddr_un api{.sun_family = AF_UNIX, .sun_path = {}};
  (state + "/agent.sock").copy(api.sun_path, sizeof(api.sun_path) - 1);
  const Fd idle(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_TRUE(lab::eventually(kLimit, [&] {
    return connect(idle.get(), reinterpret_cast<const sockaddr*>(&api), sizeof(api)) == 0;
  }));
  constexpr std::string_view hello("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33);
  EXPECT_EQ(send(idle.get(), hello.data(), hello.size(), 0), static_cast<ssize_t>(hello.size()));
  char answer = 0;
  EXPECT_EQ(recv(idle.get(), &answer, 1, 0), 1);
  const test_support::Lateness machine;
  const auto before = std::chrono::steady_clock::now();
  EXPECT_EQ(kill(agent, SIGTERM), 0);
  int status = -1;
  const bool ended =
      lab::eventually(kLimit, [&] { return waitpid(agent, &status, WNOHANG) == agent; });
  EXPECT_LT(std::chrono::steady_clock::now() - before,
            lab::patient(Milliseconds(1000)) + machine.so_far());
  if (!ended) {
    kill(agent, SIGKILL);
    waitpid(agent, &status, 0);
  }
  EXPECT_TRUE(ended && WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(Program, ReadsItsFileAgainOnSighup) {
  const auto configure = [&](const std::string& text) {
    ASSERT_TRUE(lab::write_file(path("config.yaml"), text));
  };
  const auto says = [&](const char* text) {
    return lab::eventually(kLimit, [&] { return log().find(text) != std::string::npos; });
  };
  configure("auditInterval: 10s\n");
  auto agent =
      start({"--config", path("config.yaml"), "--topology", "synthetic:package:1 core:2 pu:1",
             "--state-dir", path("state"), "--nri-socket", path("none.sock"), "--nri-index", "42"});
  ASSERT_TRUE(agent);
  ASSERT_TRUE(says("trying again")) << log();
  configure("auditInterval: 5s\nallowedPrivileges: isolated\nfence: leaf\nnriIndex: \"11\"\n");
  agent->signal(SIGHUP);
  EXPECT_TRUE(says("changed=\"allowedPrivileges, auditInterval\"")) << log();
  EXPECT_TRUE(says("settings=fence")) << log() << "; a flag wins over the file as at the start";
  configure("auditInterval: soon\n");
  agent->signal(SIGHUP);
  EXPECT_TRUE(says("the configuration is wrong, all stays as it was")) << log();
  EXPECT_TRUE(agent->running());
  const auto status = agent->stop(kLimit);
  ASSERT_TRUE(status);
  EXPECT_EQ(*status, 0) << log();
}

// Its main thread alone is held, as by a system call that does not come back.
TEST_F(Program, LivezFailsWhileTheMainLoopHangs) {
  auto agent = start({"--topology", "synthetic:package:1 core:2 pu:1", "--state-dir", path("state"),
                      "--nri-socket", path("none.sock"), "--probe-listen", "127.0.0.1:0"});
  ASSERT_TRUE(agent);
  std::string address;
  ASSERT_TRUE(lab::eventually(kLimit, [&] {
    address = address_in(log(), "probe");
    return !address.empty();
  })) << log();
  EXPECT_TRUE(fetch(address, "/livez"));
  if (ptrace(PTRACE_SEIZE, agent->pid(), nullptr, nullptr) != 0) {
    GTEST_SKIP() << "a thread cannot be held here: " << std::strerror(errno);
  }
  ASSERT_EQ(ptrace(PTRACE_INTERRUPT, agent->pid(), nullptr, nullptr), 0);
  int state = 0;
  ASSERT_EQ(waitpid(agent->pid(), &state, __WALL), agent->pid());
  ASSERT_TRUE(WIFSTOPPED(state));
  Result<std::string> said;
  EXPECT_TRUE(lab::eventually(Milliseconds(30'000), [&] {
    said = fetch(address, "/livez");
    return !said;
  }));
  EXPECT_TRUE(!said && said.error().text.find("503") != std::string::npos);
  ASSERT_EQ(ptrace(PTRACE_DETACH, agent->pid(), nullptr, nullptr), 0);
  EXPECT_TRUE(lab::eventually(kLimit, [&] { return fetch(address, "/livez").has_value(); }));
  const auto status = agent->stop(kLimit);
  ASSERT_TRUE(status);
  EXPECT_EQ(*status, 0) << log();
}

// The hierarchy is read-only for it, as in a container that lacks the right mount.
TEST(Root_Program, AFenceWeakerThanTheMachineAllowsIsSaidAndCounted) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  const auto hierarchy = cgroup::find_hierarchy("/", "cpuset");
  if (!hierarchy || !hierarchy->writable) GTEST_SKIP() << "no writable cpuset hierarchy";
  const TempDir dir;
  const auto in = [&](const char* name) { return (dir.path() / name).string(); };
  const std::string script =
      "mount --make-rprivate / && mount --bind \"$0\" \"$0\" && "
      "mount -o remount,bind,ro \"$0\" && exec \"$@\"";
  auto agent = lab::Process::start(
      {.argv = {"unshare", "--mount", "sh", "-c", script, hierarchy->mount, lab::default_agent(),
                "--state-dir", in("state"), "--nri-socket", in("none.sock"), "--metrics-listen",
                "127.0.0.1:0"},
       .env = {},
       .log = in("log")});
  ASSERT_TRUE(agent);
  const auto log = [&] { return lab::read_file(in("log")).value_or(""); };
  std::string address;
  ASSERT_TRUE(lab::eventually(kLimit, [&] {
    address = address_in(log(), "metrics");
    return !address.empty();
  })) << log();
  EXPECT_NE(log().find("the fence is weaker than this machine allows: the agent lacks rights "
                       "fence=runtime why=\"files below " +
                       hierarchy->mount + " cannot be written\""),
            std::string::npos)
      << log();
  Result<std::string> metrics;
  EXPECT_TRUE(lab::eventually(kLimit, [&] {
    metrics = fetch(address, "/metrics");
    return metrics && metrics->find("weakened=\"true\"") != std::string::npos;
  })) << metrics.value_or("");
}

}  // namespace
}  // namespace pinion::integration
