// The socket's side: real unix sockets, in one thread; the time that passes is made up.
#include "nri-plugin/connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "session_rig.h"
#include "tests/support/fake_runtime/runtime_socket.h"

namespace pinion::nri {
namespace {

using std::chrono::milliseconds;
using test_support::FakeRuntime;
using test_support::make_container;
using testing::HasSubstr;

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "pinion-nri-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  [[nodiscard]] std::string socket() const { return path_ + "/nri.sock"; }

 private:
  std::string path_;
};

// A connection and the runtime's end of its socket, both moved by hand.
struct ConnectionRig {
  explicit ConnectionRig(SessionOptions session = {})
      : connection({.socket = folder.socket(),
                    .session = session,
                    .before_session = [this] { return allowed; }},
                   handler) {}

  void listen() {
    auto socket = test_support::RuntimeSocket::listen(folder.socket());
    ASSERT_TRUE(socket) << socket.error().text;
    runtime.emplace(*std::move(socket));
    runtime->set_patience(milliseconds(0));  // what a test waits for is there already
  }
  // One turn of the agent's main loop without waiting.
  bool turn() {
    pollfd poll_fd{.fd = connection.fd(), .events = POLLIN, .revents = 0};
    if (connection.wants_write()) poll_fd.events |= POLLOUT;
    const bool ready = connection.fd() >= 0 && ::poll(&poll_fd, 1, 0) > 0;
    if (ready && (poll_fd.revents & (POLLIN | POLLHUP | POLLERR)) != 0) connection.on_readable(now);
    if (ready && (poll_fd.revents & POLLOUT) != 0) connection.on_writable(now);
    connection.tick(now);
    return ready;
  }
  void turns() {
    while (turn()) {
    }
  }
  FakeRuntime& fake() { return runtime->runtime(); }
  void send(std::string_view bytes) {
    ASSERT_TRUE(runtime->send(bytes));
    turns();
  }
  void take_answers() {
    const std::size_t before = fake().results();
    const bool registering = !fake().registration();
    const auto more = [&] {
      return fake().results() > before || (registering && fake().registration());
    };
    const Status status = runtime->wait_for(more);
    ASSERT_TRUE(status) << status.error().text;
  }
  void handshake() {
    turn();
    ASSERT_TRUE(runtime->accept());
    take_answers();
    send(fake().register_answer() + fake().configure());
    take_answers();
    send(fake().synchronize({}));
    take_answers();
    ASSERT_EQ(connection.phase(), Phase::kSynchronized);
  }
  void pass(milliseconds time) { now += time; }

  TimePoint now{std::chrono::hours(1)};
  Status allowed;  // to begin a session
  TemporaryFolder folder;
  RecordingHandler handler;
  Connection connection;
  std::optional<test_support::RuntimeSocket> runtime;
};

TEST(Connection, HandshakeAndACall) {
  ConnectionRig rig;
  rig.listen();
  EXPECT_EQ(rig.connection.fd(), -1);
  EXPECT_EQ(rig.connection.phase(), std::nullopt);
  EXPECT_LE(rig.connection.deadline(), rig.now);
  rig.handshake();
  EXPECT_EQ(rig.connection.deadline(), std::nullopt);
  EXPECT_FALSE(rig.connection.wants_write());
  EXPECT_EQ(rig.connection.runtime()->name, "containerd");

  rig.handler.reply = {.cpus = "1", .mems = "0"};
  wire::CreateContainerRequest request;
  *request.mutable_container() = make_container({});
  rig.send(rig.fake().call("CreateContainer", request));
  rig.take_answers();
  wire::CreateContainerResponse response;
  ASSERT_TRUE(response.ParseFromString(rig.fake().result()->payload));
  EXPECT_EQ(response.adjust().linux().resources().cpu().cpus(), "1");
  EXPECT_EQ(rig.connection.counters().connects, 1U);
  EXPECT_EQ(rig.handler.losses.size(), 0U);
}

TEST(Connection, AbsentSocketIsTriedAgainWithBackOff) {
  ConnectionRig rig;
  for (const int wait : {10, 20, 40, 80, 160, 200, 200}) {
    rig.turn();
    EXPECT_EQ(rig.connection.deadline(), rig.now + milliseconds(wait));
    rig.pass(milliseconds(wait - 1));
    const auto failures = rig.connection.counters().connect_failures;
    rig.turn();
    EXPECT_EQ(rig.connection.counters().connect_failures, failures);
    rig.pass(milliseconds(1));
  }
  EXPECT_THAT(rig.handler.losses.at(0), HasSubstr("nri.sock: No such file or directory"));
  rig.listen();
  rig.handshake();
}

TEST(Connection, NothingIsSaidBeforeItIsAllowed) {
  ConnectionRig rig;
  rig.listen();
  rig.allowed = failure(Errc::kExhausted, "another agent is there");
  rig.turns();
  EXPECT_EQ(rig.connection.fd(), -1);
  EXPECT_EQ(rig.connection.counters().connects, 0U);
  ASSERT_EQ(rig.handler.losses.size(), 1U);
  EXPECT_THAT(rig.handler.losses.front(), HasSubstr("another agent"));
  ASSERT_TRUE(rig.runtime->accept());
  EXPECT_FALSE(rig.fake().registration());
  rig.allowed = {};
  rig.pass(milliseconds(10));
  rig.handshake();
}

TEST(Connection, StaleSocketOfACrashedRuntime) {
  ConnectionRig rig;
  rig.listen();
  rig.runtime->stop_listening(false);
  rig.turn();
  EXPECT_EQ(rig.connection.fd(), -1);
  EXPECT_THAT(rig.handler.losses.at(0), HasSubstr("Connection refused"));
}

TEST(Connection, ComesBackWithin200MsOfARuntimesRestart) {
  ConnectionRig rig;
  rig.listen();
  rig.handshake();
  rig.pass(milliseconds(5000));
  rig.runtime->stop_listening(true);
  rig.runtime->close_peer();
  rig.turns();
  EXPECT_EQ(rig.connection.fd(), -1);
  EXPECT_THAT(rig.handler.losses.back(), HasSubstr("closed the NRI connection"));
  EXPECT_TRUE(rig.handler.tries_again);
  for (int tried = 0; tried < 10; ++tried) {  // a second or so without a runtime
    ASSERT_LE(*rig.connection.deadline() - rig.now, milliseconds(200));
    rig.now = *rig.connection.deadline();
    rig.turn();
  }
  rig.listen();
  ASSERT_LE(*rig.connection.deadline() - rig.now, milliseconds(200));
  rig.now = *rig.connection.deadline();
  rig.handshake();
  EXPECT_EQ(rig.connection.counters().connects, 2U);
  EXPECT_EQ(rig.connection.counters().synchronized, 2U);
  EXPECT_EQ(rig.connection.counters().sessions_failed, 1U);
}

TEST(Connection, RuntimeThatAcceptsAndRejectsIsTriedEverMoreSlowly) {
  ConnectionRig rig;
  rig.listen();
  for (const int wait : {50, 100, 200, 400, 800, 1600, 3200, 6400, 10000, 10000}) {
    rig.turn();
    ASSERT_TRUE(rig.runtime->accept());
    rig.take_answers();
    rig.send(rig.fake().register_answer(2, "go away"));
    EXPECT_EQ(rig.connection.fd(), -1);
    EXPECT_EQ(*rig.connection.deadline() - rig.now, milliseconds(wait));
    rig.now = *rig.connection.deadline();
  }
  EXPECT_THAT(rig.handler.losses.back(), HasSubstr("go away"));
  rig.handshake();
  rig.pass(milliseconds(1000));
  rig.runtime->close_peer();
  rig.turns();
  EXPECT_EQ(*rig.connection.deadline() - rig.now, milliseconds(10));
}

TEST(Connection, SilentRuntimeIsGivenUp) {
  SessionOptions options;
  options.handshake_timeout = milliseconds(3000);
  ConnectionRig rig(options);
  rig.listen();
  rig.turn();
  ASSERT_TRUE(rig.runtime->accept());
  EXPECT_EQ(rig.connection.deadline(), rig.now + milliseconds(3000));
  rig.pass(milliseconds(3000));
  rig.turn();
  EXPECT_EQ(rig.connection.fd(), -1);
  EXPECT_THAT(rig.handler.losses.back(), HasSubstr("silent for 3000 ms"));
}

TEST(Connection, SlowReaderIsGivenUpAndAnswersWaitUntilThen) {
  SessionOptions options;
  options.max_pending_output = std::size_t{3} << 20;
  ConnectionRig rig(options);
  rig.listen();
  rig.handshake();
  rig.handler.reply = {.updates = 12000};  // 1 MB
  wire::CreateContainerRequest request;
  *request.mutable_container() = make_container({});
  int calls = 0;
  for (; rig.connection.fd() >= 0 && calls < 50; ++calls) {
    rig.send(rig.fake().call("CreateContainer", request));
    EXPECT_TRUE(rig.connection.fd() < 0 || rig.connection.wants_write());
    EXPECT_LE(rig.connection.pending_output(), std::size_t{3} << 20);
  }
  EXPECT_GE(calls, 3);
  EXPECT_LT(calls, 10);
  EXPECT_THAT(rig.handler.losses.back(), HasSubstr("does not read its answers"));
}

TEST(Connection, PendingAnswersArriveWholeWhenTheReaderWakesUp) {
  ConnectionRig rig;
  rig.listen();
  rig.handshake();
  rig.handler.reply = {.updates = 12000};
  wire::CreateContainerRequest request;
  *request.mutable_container() = make_container({});
  for (int i = 0; i < 5; ++i) rig.send(rig.fake().call("CreateContainer", request));
  ASSERT_TRUE(rig.connection.wants_write());
  rig.fake().forget_results();
  const auto all = [&] {
    rig.turns();
    return rig.fake().results() == 5;
  };
  const Status status = rig.runtime->wait_for(all);
  EXPECT_TRUE(status) << status.error().text;
  EXPECT_FALSE(rig.connection.wants_write());
}

TEST(Connection, BytesThatAreNotTheProtocolEndTheSession) {
  ConnectionRig rig;
  rig.listen();
  rig.handshake();
  rig.send("HTTP/1.1 400 Bad Request\r\n\r\n");
  EXPECT_EQ(rig.connection.fd(), -1);
  EXPECT_THAT(rig.handler.losses.back(), HasSubstr("mux frame"));
}

TEST(Connection, ResyncReconnectsAtOnceAndSynchronizesAnew) {
  ConnectionRig rig;
  rig.listen();
  rig.handshake();
  ASSERT_TRUE(rig.connection.resync(rig.now, "a pool was drained"));
  EXPECT_LE(rig.connection.deadline(), rig.now);
  rig.handler.reply = {.updates = 2};
  rig.handshake();
  wire::SynchronizeResponse response;
  ASSERT_TRUE(response.ParseFromString(rig.fake().result()->payload));
  EXPECT_EQ(response.update_size(), 2);
  EXPECT_EQ(rig.connection.counters().resyncs, 1U);
  EXPECT_EQ(rig.connection.counters().sessions_failed, 0U);
  EXPECT_THAT(rig.handler.losses.back(), HasSubstr("a pool was drained"));
}

TEST(Connection, ResyncFromWithinACallWaitsForItsAnswer) {
  ConnectionRig rig;
  rig.listen();
  rig.handshake();
  rig.handler.within_call = [&rig] { EXPECT_TRUE(rig.connection.resync(rig.now, "drift")); };
  wire::StopContainerRequest request;
  *request.mutable_container() = make_container({});
  ASSERT_TRUE(rig.runtime->send(rig.fake().call("StopContainer", request)));
  rig.turn();
  rig.take_answers();
  EXPECT_EQ(rig.fake().result()->code, 0);
  EXPECT_EQ(rig.connection.counters().resyncs, 1U);
}

struct LaunchedRig {
  LaunchedRig() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    runtime.emplace(Fd(ends[0]));
    runtime->set_patience(milliseconds(0));
    connection.emplace(ConnectionOptions{}, handler, Fd(ends[1]));
  }
  TimePoint now{std::chrono::hours(1)};
  RecordingHandler handler;
  std::optional<test_support::RuntimeSocket> runtime;
  std::optional<Connection> connection;
};

TEST(LaunchedConnection, UsesTheInheritedSocketAndEndsWithIt) {
  LaunchedRig rig;
  rig.connection->tick(rig.now);
  FakeRuntime& fake = rig.runtime->runtime();
  ASSERT_TRUE(rig.runtime->wait_for([&fake] { return fake.registration().has_value(); }));
  ASSERT_TRUE(rig.runtime->send(fake.handshake()));
  rig.connection->on_readable(rig.now);
  EXPECT_EQ(rig.connection->phase(), Phase::kSynchronized);
  EXPECT_FALSE(rig.connection->resync(rig.now, "impossible"));
  rig.handler.tries_again = true;
  rig.runtime->close_peer();
  rig.connection->on_readable(rig.now);
  EXPECT_TRUE(rig.connection->finished());
  EXPECT_FALSE(rig.handler.tries_again);
  EXPECT_EQ(rig.connection->deadline(), std::nullopt);
  rig.connection->tick(rig.now + std::chrono::hours(1));
  EXPECT_EQ(rig.connection->fd(), -1);
}

TEST(LaunchedConnection, DescriptorThatIsNoneEndsAtOnce) {
  RecordingHandler handler;
  Connection connection({}, handler, Fd(-1));
  connection.tick(TimePoint(std::chrono::hours(1)));
  EXPECT_TRUE(connection.finished());
  EXPECT_THAT(handler.losses.at(0), HasSubstr("inherited"));
}

}  // namespace
}  // namespace pinion::nri
