// The program itself, against an agent that tells what the test says, over a real socket.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <utmp.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ctl/source/recording.h"
#include "proto/pinion/v1/node.grpc.pb.h"
#include "tests/support/tree.h"
#include "tests/unit/ctl/program.h"
#include "tests/unit/ctl/sample.h"

namespace pinion::ctl {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

class FakeNode final : public v1::Node::Service {
 public:
  grpc::Status WatchNode(grpc::ServerContext* /*context*/, const v1::WatchNodeRequest* /*request*/,
                         grpc::ServerWriter<v1::WatchNodeResponse>* writer) override {
    v1::WatchNodeResponse response;
    {
      const std::lock_guard lock(mutex_);
      ++asked_;
      asked_again_.notify_all();
      *response.mutable_snapshot() = snapshot_;
    }
    writer->Write(response);
    return grpc::Status::OK;
  }

  grpc::Status Plan(grpc::ServerContext* /*context*/, const v1::PlanRequest* request,
                    v1::PlanResponse* response) override {
    for (const v1::PlanRequest::Request& one : request->requests()) {
      v1::PlanResponse::Outcome& outcome = *response->add_outcomes();
      outcome.set_id(one.id());
      if (one.cpus() > 1) {
        outcome.mutable_rejection()->set_reason("cpus");
        outcome.mutable_rejection()->set_text("needs " + std::to_string(one.cpus()) + " CPUs");
      } else {
        outcome.mutable_placement()->set_cpus("1");
        outcome.mutable_placement()->set_why(one.align() + " " + one.smt() + " " +
                                             one.memory_policy());
      }
    }
    response->set_generation(42);
    (*response->mutable_largest())["numa"] = 0;
    return grpc::Status::OK;
  }

  // Until it was asked for so many snapshots.
  void wait_until_asked(int times) {
    std::unique_lock lock(mutex_);
    asked_again_.wait(lock, [&] { return asked_ >= times; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable asked_again_;
  int asked_ = 0;
  v1::Snapshot snapshot_ = small_sample();
};

int exit_code_of(pid_t child) {
  int status = 0;
  if (::waitpid(child, &status, 0) != child) return -2;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class NodeCommands : public testing::Test {
 protected:
  void SetUp() override {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(agent(), grpc::InsecureServerCredentials());
    builder.RegisterService(&node_);
    server_ = builder.BuildAndStart();
    ASSERT_TRUE(server_);
  }

  [[nodiscard]] std::string agent() const { return "unix:" + path("agent.sock"); }
  [[nodiscard]] std::string path(const std::string& name) const {
    return (dir_.path() / name).string();
  }

  // `rest` is the shell's text behind the program's name.
  [[nodiscard]] Outcome run(const std::string& rest) const {
    return run_pinionctl(dir_.path(), rest);
  }
  [[nodiscard]] Outcome ask(const std::string& command, const std::string& rest = "") const {
    return run(command + " --agent " + agent() + " " + rest);
  }

  // Starts the program without waiting for it.
  [[nodiscard]] pid_t start(const std::vector<std::string>& arguments) const {
    std::vector<std::string> words = {kPinionctl};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
      ::execv(kPinionctl.c_str(), argv.data());
      ::_exit(127);
    }
    return child;
  }

  // Snapshots of the small machine with these figures, one a second.
  void write_recording(const std::string& name, const std::vector<double>& migrations) const {
    RecordingWriter writer;
    std::ofstream file(path(name));
    std::int64_t time = 1767225600000;
    for (const double rate : migrations) {
      Moment moment;
      moment.unix_ms = time += 1000;
      moment.snapshot = small_sample();
      v1::Container& rank = *moment.snapshot.mutable_containers(2);
      rank.mutable_rates()->set_migrations_per_second(rate);
      rank.mutable_figures()->set_migrations(static_cast<std::uint64_t>(time));
      file << *writer.line_of(moment);
    }
  }

  FakeNode node_;
  std::unique_ptr<grpc::Server> server_;

 private:
  test_support::TempDir dir_;
};

TEST_F(NodeCommands, NodeShowsThePicture) {
  const Outcome outcome = ask("node");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(
      outcome.out,
      AllOf(HasSubstr("Runtime    containerd 1.7.24, synchronized\n"), HasSubstr("[0r] [1A]"),
            HasSubstr("A  hpc/wind-rank-0/rank: CPU 1\n"), HasSubstr("needs 1 CPU, none is free")));
  const auto json = nlohmann::json::parse(ask("node", "--json").out, nullptr, false);
  ASSERT_FALSE(json.is_discarded());
  EXPECT_EQ(json["name"], "node-a");
  EXPECT_EQ(json["generation"], "42");
  EXPECT_EQ(json["strict_reservation"], false);
}

TEST_F(NodeCommands, PsListsContainers) {
  const Outcome outcome = ask("ps");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("hpc/wind-rank-0/rank"));
  const auto json = nlohmann::json::parse(ask("ps", "--json").out, nullptr, false);
  ASSERT_FALSE(json.is_discarded());
  ASSERT_EQ(json["containers"].size(), 3U);
  EXPECT_EQ(json["containers"][2]["task_group"], "wind-0");
}

TEST_F(NodeCommands, TopOverAPipePrintsOneTableAfterAnother) {
  const Outcome outcome = ask("top", "--count 3 --interval 10ms --sort name");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, Not(HasSubstr("\x1b")));
  std::size_t tables = 0;
  for (std::size_t at = 0; (at = outcome.out.find("CONTAINER", at)) != std::string::npos; ++at) {
    ++tables;
  }
  EXPECT_EQ(tables, 3U);
  EXPECT_THAT(ask("top", "--once --color always").out, HasSubstr("\x1b["));
  const std::string json = ask("top", "--json --count 2 --interval 1ms").out;
  EXPECT_EQ(std::count(json.begin(), json.end(), '\n'), 2);
  EXPECT_TRUE(parse_recorded(json.substr(0, json.find('\n'))));
}

TEST_F(NodeCommands, TopEndsWhenItsReaderLeaves) {
  const Outcome outcome = ask("top", "--interval 1ms | head -n 1");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, StartsWith("node-a  "));
}

TEST_F(NodeCommands, TopEndsOnASignal) {
  const pid_t child = start({"top", "--agent", agent(), "--interval", "1h", "--json"});
  node_.wait_until_asked(1);
  ASSERT_EQ(::kill(child, SIGTERM), 0);
  EXPECT_EQ(exit_code_of(child), 0);
}

TEST_F(NodeCommands, AnAgentThatIsNotThereIsOneLineAndOne) {
  for (const char* command : {"node", "ps", "top --once", "record --out /dev/null/x"}) {
    const Outcome outcome = run(std::string(command) + " --agent unix:" + path("nobody.sock"));
    EXPECT_EQ(outcome.exit_code, 1) << command;
    EXPECT_THAT(outcome.out, IsEmpty());
    EXPECT_THAT(outcome.err, AllOf(StartsWith("pinionctl: "), HasSubstr("nobody.sock")));
    EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << outcome.err;
  }
}

TEST_F(NodeCommands, EndWithTwoOnWrongUsage) {
  for (const char* arguments :
       {"node --from", "ps extra", "top --sort size", "top --interval 0", "top --color blue",
        "top --count 0", "record", "record --out x --for ever", "record --out x --max-size -1",
        "compare a", "compare a b --prometheus http://x --job y", "node --from x --agent y"}) {
    SCOPED_TRACE(arguments);
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
    EXPECT_THAT(outcome.out, IsEmpty());
  }
}

TEST_F(NodeCommands, RecordWritesWhatTheOthersRead) {
  const Outcome outcome =
      ask("record", "--interval 20ms --for 50ms --out '" + path("run.jsonl") + "'");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr(" snapshots, "));
  const std::string from = " --from '" + path("run.jsonl") + "'";
  EXPECT_THAT(run("node" + from).out, HasSubstr("[0r] [1A]"));
  EXPECT_THAT(run("ps" + from).out, HasSubstr("hpc/wind-rank-0/rank"));
  EXPECT_THAT(run("top" + from).out, HasSubstr("3 containers, 1 exclusive"));
}

TEST_F(NodeCommands, RecordOverwritesOnlyWhenForced) {
  std::ofstream(path("run.jsonl")) << "mine";
  const std::string rest = "--interval 1ms --for 2ms --out '" + path("run.jsonl") + "'";
  const Outcome refused = ask("record", rest);
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("--force overwrites it"));
  EXPECT_EQ(read_file(path("run.jsonl")), "mine");
  EXPECT_EQ(ask("record", rest + " --force").exit_code, 0);
  EXPECT_THAT(read_file(path("run.jsonl")), StartsWith("{\"unix_ms\":"));
}

TEST_F(NodeCommands, RecordStaysBelowItsSize) {
  const Outcome outcome =
      ask("record", "--interval 1ms --for 1h --max-size 20k --out '" + path("run.jsonl") + "'");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("--max-size is reached"));
  const std::string text = read_file(path("run.jsonl"));
  EXPECT_LE(text.size(), 20000U);
  EXPECT_EQ(text.back(), '\n');
}

TEST_F(NodeCommands, RecordStopsCleanlyOnASignal) {
  const pid_t child = start({"record", "--agent", agent(), "--out", path("run.jsonl"), "--interval",
                             "1ms", "--for", "1h"});
  node_.wait_until_asked(5);
  ASSERT_EQ(::kill(child, SIGINT), 0);
  EXPECT_EQ(exit_code_of(child), 0);
  auto recording = Recording::open(path("run.jsonl"));
  ASSERT_TRUE(recording);
  int lines = 0;
  while (true) {
    const auto moment = (*recording)->next();
    ASSERT_TRUE(moment) << moment.error().text;
    if (!moment->has_value()) break;
    ++lines;
  }
  EXPECT_GE(lines, 3);
}

TEST_F(NodeCommands, CompareTellsTwoRecordingsApart) {
  write_recording("a", {0, 0, 1, 0, 0, 1});
  write_recording("b", {30, 40, 35, 41, 28, 33});
  const std::string files = "'" + path("a") + "' '" + path("b") + "' --job wind";
  const Outcome outcome = run("compare " + files + " --svg '" + path("x.svg") + "'");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, testing::ContainsRegex("migrations \\[1/s\\] .* B is more\n"));
  EXPECT_THAT(outcome.out,
              testing::ContainsRegex("CPU use \\[cores\\] .* no difference to be seen\n"));
  EXPECT_THAT(read_file(path("x.svg")), StartsWith("<svg "));
  const auto json = nlohmann::json::parse(run("compare --json " + files).out, nullptr, false);
  ASSERT_FALSE(json.is_discarded());
  EXPECT_EQ(json["measures"][1]["name"], "migrations");
  EXPECT_EQ(json["measures"][1]["verdict"], "more");
  EXPECT_EQ(json["measures"][1]["b"]["median"], 34);
  const Outcome parts = run("compare '" + path("b") + "@0..2' '" + path("b") + "@3..'");
  EXPECT_EQ(parts.exit_code, 0) << parts.err;
  EXPECT_THAT(parts.out, HasSubstr("too few values"));
  EXPECT_EQ(run("compare '" + path("a") + "' '" + path("nothing") + "'").exit_code, 1);
}

TEST_F(NodeCommands, PlanAsksTheAgentWhatItWouldDo) {
  std::ofstream(path("r.yaml")) << "- {id: small, cpus: 1, smt: pack}\n"
                                   "- {id: big, cpus: 4, align: l3, memory-policy: any}\n";
  const std::string requests = "--live --requests '" + path("r.yaml") + "'";
  const Outcome outcome = ask("plan", requests);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(
      outcome.out,
      AllOf(HasSubstr("numa pack preferred"), HasSubstr("refused  big  needs 4 CPUs\n"),
            HasSubstr("1 of 2 containers placed on what was free at the node's generation 42")));
  const auto json = nlohmann::json::parse(ask("plan", requests + " --json").out, nullptr, false);
  ASSERT_FALSE(json.is_discarded());
  EXPECT_EQ(json["outcomes"][1]["rejection"]["reason"], "cpus");
  for (const char* other : {"--topology live", "--reserved-cpus 0", "--strict-cpu-reservation",
                            "--reserved-memory 0:memory=1", "--allowed-privileges isolated"}) {
    EXPECT_EQ(ask("plan", requests + " " + other).exit_code, 2) << other;
  }
}

// A terminal for the program, and what it wrote there.
class Terminal {
 public:
  Terminal() {
    winsize size{};
    size.ws_row = 12;
    size.ws_col = 60;
    EXPECT_EQ(::openpty(&ours_, &theirs_, nullptr, nullptr, &size), 0);
    EXPECT_EQ(::tcgetattr(theirs_, &before_), 0);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal() {
    ::close(ours_);
    ::close(theirs_);
  }

  [[nodiscard]] pid_t start(const std::string& agent) const {
    const pid_t child = ::fork();
    if (child == 0) {
      ::setenv("TERM", "xterm", 1);
      ::unsetenv("NO_COLOR");
      ::login_tty(::dup(theirs_));
      ::execl(kPinionctl.c_str(), kPinionctl.c_str(), "top", "--agent", agent.c_str(), "--interval",
              "1h", nullptr);
      ::_exit(127);
    }
    return child;
  }

  // Reads until the text came; what was read before it is dropped. False after 30 s.
  bool wait_for(const std::string& text) {
    while (seen_.find(text) == std::string::npos) {
      pollfd polled{ours_, POLLIN, 0};
      if (::poll(&polled, 1, 30000) != 1) return false;
      std::array<char, 4096> piece{};
      const ssize_t got = ::read(ours_, piece.data(), piece.size());
      if (got <= 0) return false;
      seen_.append(piece.data(), static_cast<std::size_t>(got));
    }
    seen_ = seen_.substr(seen_.find(text) + text.size());
    return true;
  }
  void type(char key) const { EXPECT_EQ(::write(ours_, &key, 1), 1); }
  void resize(unsigned short rows, unsigned short columns) const {
    winsize size{};
    size.ws_row = rows;
    size.ws_col = columns;
    EXPECT_EQ(::ioctl(ours_, TIOCSWINSZ, &size), 0);
  }

  [[nodiscard]] bool is_raw() const { return (now().c_lflag & (ICANON | ECHO)) == 0; }
  [[nodiscard]] bool is_as_before() const { return now().c_lflag == before_.c_lflag; }

 private:
  [[nodiscard]] termios now() const {
    termios mode{};
    EXPECT_EQ(::tcgetattr(theirs_, &mode), 0);
    return mode;
  }

  int ours_ = -1;
  int theirs_ = -1;
  termios before_{};
  std::string seen_;
};

constexpr const char* kLeavesPage = "\x1b[?25h\x1b[?1049l";

TEST_F(NodeCommands, TopOnATerminalTakesKeysAndPutsItBack) {
  Terminal terminal;
  const pid_t child = terminal.start(agent());
  ASSERT_TRUE(terminal.wait_for("sorted by cpu"));
  EXPECT_TRUE(terminal.is_raw());
  const std::pair<char, const char*> keys[] = {{'m', "sorted by migrations"},
                                               {'i', "sorted by intrusion"},
                                               {'l', "sorted by mpki"},
                                               {'n', "sorted by name"},
                                               {'c', "sorted by cpu"}};
  for (const auto& [key, text] : keys) {
    terminal.type(key);
    ASSERT_TRUE(terminal.wait_for(text)) << key;
  }
  terminal.resize(30, 100);
  ASSERT_TRUE(terminal.wait_for("coredns-7db6d8ff4d-x2x9k/coredns"));  // there is room for it now
  terminal.type('q');
  ASSERT_TRUE(terminal.wait_for(kLeavesPage));
  EXPECT_EQ(exit_code_of(child), 0);
  EXPECT_TRUE(terminal.is_as_before());
}

TEST_F(NodeCommands, TopOnATerminalPutsItBackOnASignal) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    Terminal terminal;
    const pid_t child = terminal.start(agent());
    ASSERT_TRUE(terminal.wait_for("sorted by cpu")) << signal;
    EXPECT_TRUE(terminal.is_raw());
    ASSERT_EQ(::kill(child, signal), 0);
    ASSERT_TRUE(terminal.wait_for(kLeavesPage)) << signal;
    EXPECT_EQ(exit_code_of(child), 0);
    EXPECT_TRUE(terminal.is_as_before()) << signal;
  }
}

}  // namespace
}  // namespace pinion::ctl
