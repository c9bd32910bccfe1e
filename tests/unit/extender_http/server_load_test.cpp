// Many at once, and the end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <cstdint>
#include <deque>
#include <thread>

#include "base/open_files.h"
#include "tests/support/eventually.h"
#include "tests/unit/extender_http/playing.h"

namespace pinion::cluster {
namespace {

using agent::RawClient;
using std::chrono::steady_clock;
using test_support::eventually;
using testing::HasSubstr;

constexpr int kGang = 300;

// Clients and server are one process here. False: the system gives fewer descriptors.
bool enough_descriptors(std::uint64_t needed) {
  const auto limit = allow_open_files(needed);
  return limit && limit->soft >= needed;
}

// Each bind on a connection of its own, as a scheduler sends them.
std::deque<RawClient> send_binds(const Playing& playing, int count) {
  std::deque<RawClient> clients;
  for (int i = 0; i < count; ++i) {
    clients.emplace_back(playing.server->address()).send(post("/bind", bind_body(i)));
  }
  return clients;
}

TEST(ServerLoad, FiltersAreAnsweredWhileBindsAreHeld) {
  Playing playing;
  playing.callbacks.hold(true);
  auto binds = send_binds(playing, kGang);
  ASSERT_TRUE(playing.callbacks.wait_for_held(kGang));
  EXPECT_EQ(playing.server->figures().verbs[2].now, std::size_t{kGang});
  RawClient scheduler(playing.server->address());
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(ask(scheduler, post("/filter", filter_body())).status, 200);
  }
  EXPECT_EQ(playing.server->figures().connections, std::size_t{kGang + 1});
  playing.callbacks.hold(false);
  for (int i = 0; i < kGang; ++i) {
    const auto at = static_cast<std::size_t>(i);
    EXPECT_EQ(read_answer(binds[at]).body, R"({"Error":"bound p)" + std::to_string(i) + R"("})");
  }
  // Connections stay for the next gang.
  playing.callbacks.hold(true);
  for (RawClient& client : binds) client.send(post("/bind", bind_body(0)));
  EXPECT_TRUE(playing.callbacks.wait_for_held(kGang));
  playing.callbacks.hold(false);
  for (RawClient& client : binds) EXPECT_EQ(read_answer(client).status, 200);
}

// 1,100 connections are beyond what select(2) can do.
TEST(ServerLoad, ServesMoreConnectionsThanSelect) {
  if (!enough_descriptors(2400)) GTEST_SKIP() << "the hard limit of descriptors is below 2400";
  Playing playing;
  playing.callbacks.hold(true);
  auto binds = send_binds(playing, 1100);
  ASSERT_TRUE(playing.callbacks.wait_for_held(1100));
  RawClient scheduler(playing.server->address());
  EXPECT_EQ(ask(scheduler, post("/filter", filter_body())).status, 200);
  playing.callbacks.hold(false);
  for (RawClient& client : binds) EXPECT_EQ(read_answer(client).status, 200);
}

ServerOptions few_connections() {
  ServerOptions options;
  options.limits.connections = 8;
  options.limits.kept_from_binds = 3;
  return options;
}

TEST(ServerLoad, TooManyBindsAreTurnedAwayAndFilterIsNot) {
  Playing playing(few_connections());
  playing.callbacks.hold(true);
  auto binds = send_binds(playing, 5);
  ASSERT_TRUE(playing.callbacks.wait_for_held(5));
  RawClient sixth(playing.server->address());
  const Answer answer = ask(sixth, post("/bind", bind_body(6)));
  EXPECT_EQ(answer.status, 503);
  EXPECT_THAT(answer.body, HasSubstr("too many binds are held"));
  RawClient scheduler(playing.server->address());
  EXPECT_EQ(ask(scheduler, post("/filter", filter_body())).status, 200);
  EXPECT_EQ(playing.server->figures().verbs[2].refused, 1U);
  playing.callbacks.hold(false);
  for (RawClient& client : binds) EXPECT_EQ(read_answer(client).status, 200);
}

// All of them have a call that is held.
TEST(ServerLoad, TooManyConnectionsAreToldSoAndProbesAreAnswered) {
  ServerOptions options = few_connections();
  options.limits.kept_from_binds = 1;
  Playing playing(options);
  playing.callbacks.hold(true);
  playing.pages.hold_plans(true);
  auto clients = send_binds(playing, 7);
  ASSERT_TRUE(playing.callbacks.wait_for_held(7));
  clients.emplace_back(playing.server->address()).send(post("/v1/plan", "1"));
  ASSERT_TRUE(playing.pages.wait_for_plan());
  RawClient ninth(playing.server->address());
  const Answer answer = ask(ninth, post("/filter", filter_body()));
  EXPECT_EQ(answer.status, 503);
  EXPECT_THAT(answer.body, HasSubstr("too many connections: 8 are open"));
  EXPECT_EQ(ninth.read_all(), "");
  EXPECT_TRUE(ninth.closed());
  RawClient probe(playing.server->address());
  EXPECT_EQ(ask(probe, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n").body, "ok\n");
  EXPECT_EQ(playing.server->figures().turned_away, 2U);
  playing.callbacks.hold(false);
  playing.pages.hold_plans(false);
  for (RawClient& client : clients) EXPECT_EQ(read_answer(client).status, 200);
}

// Whoever has sent a request and is silent since makes room for who comes, the longest silent one
// first. A call that is held does not.
TEST(ServerLoad, IdleConnectionsMakeRoom) {
  Playing playing(few_connections());
  playing.callbacks.hold(true);
  auto binds = send_binds(playing, 2);
  ASSERT_TRUE(playing.callbacks.wait_for_held(2));
  std::deque<RawClient> idle;
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(
        ask(idle.emplace_back(playing.server->address()), post("/filter", filter_body())).status,
        200);
  }
  EXPECT_EQ(ask(idle[0], post("/filter", filter_body())).status, 200);  // now [1] is the longest
  RawClient scheduler(playing.server->address());
  EXPECT_EQ(ask(scheduler, post("/filter", filter_body())).status, 200);
  EXPECT_EQ(idle[1].read_all(), "");
  EXPECT_TRUE(idle[1].closed());
  EXPECT_EQ(playing.server->figures().turned_away, 1U);
  for (const std::size_t i : {2U, 3U, 4U, 5U, 0U}) {
    EXPECT_EQ(ask(idle[i], post("/filter", filter_body())).status, 200) << i;
  }
  playing.callbacks.hold(false);
  for (RawClient& client : binds) EXPECT_EQ(read_answer(client).status, 200);
}

// So does who begins requests, and who takes no answers.
TEST(ServerLoad, SlowConnectionsMakeRoom) {
  ServerOptions options = few_connections();
  options.limits.headers = options.limits.body = options.limits.answer = std::chrono::hours(1);
  const Playing playing(options);
  const std::string filter = post("/filter", filter_body());
  std::string names;
  for (int i = 0; i < 300'000; ++i) names += "\"node-" + std::to_string(i) + "\",";
  std::string large = filter_body();
  large.insert(large.find('[') + 1, names);
  std::deque<RawClient> slow;
  for (int i = 0; i < 8; ++i) {
    RawClient& client = slow.emplace_back(playing.server->address());
    EXPECT_EQ(ask(client, filter).status, 200);
    if (i == 0) {
      client.send(post("/prioritize", large));  // whose answer is more than sockets hold
      EXPECT_TRUE(eventually([&] { return playing.server->figures().verbs[1].answered == 1; }));
    } else {
      client.send(filter.substr(0, i % 2 == 0 ? filter.size() - 1 : 10));
    }
  }
  std::deque<RawClient> others;
  for (int i = 0; i < 16; ++i) {
    RawClient& scheduler = others.emplace_back(playing.server->address());
    EXPECT_EQ(ask(scheduler, filter).status, 200);
  }
  EXPECT_EQ(playing.server->figures().turned_away, 16U);
  for (RawClient& client : slow) {
    client.read_all();
    EXPECT_TRUE(client.closed());
  }
}

// Nobody who only connects keeps the scheduler out: the oldest of them goes.
TEST(ServerLoad, SilentConnectionsMakeRoom) {
  const Playing playing(few_connections());
  std::deque<RawClient> silent;
  for (int i = 0; i < 8; ++i) silent.emplace_back(playing.server->address());
  RawClient scheduler(playing.server->address());
  for (int i = 0; i < 20; ++i) {
    silent.emplace_back(playing.server->address());
    EXPECT_EQ(ask(scheduler, post("/filter", filter_body())).status, 200);
  }
  EXPECT_EQ(silent.front().read_all(), "");
  EXPECT_TRUE(silent.front().closed());
  // The last of them may not have been taken from the socket's queue yet.
  EXPECT_TRUE(eventually([&] { return playing.server->figures().turned_away >= 20; }));
  EXPECT_EQ(playing.server->figures().turned_away, 20U);
}

// A question of `length` bytes: blanks, and what it asks.
std::string question(std::size_t length) {
  const std::string body = filter_body();
  return std::string(length - body.size(), ' ') + body;
}

// A call with a body of `length` bytes of which so many are sent, once its headers have been read.
RawClient& send_some(std::deque<RawClient>& to, const Playing& playing, std::size_t length,
                     std::size_t sent) {
  RawClient& client = to.emplace_back(playing.server->address());
  client.send("POST /filter HTTP/1.1\r\nContent-Length: " + std::to_string(length) +
              "\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_THAT(read_answer(client).head, HasSubstr("100 Continue"));
  client.send(std::string(sent, ' '));
  return client;
}

// What headers say takes none.
TEST(ServerLoad, BodiesTakeRoomAsTheyCome) {
  ServerOptions options;
  options.limits.all_bodies_bytes = 2'000'000;
  const Playing playing(options);
  std::deque<RawClient> slow;
  for (int i = 0; i < 4; ++i) send_some(slow, playing, 900'000, 100);
  RawClient other(playing.server->address());
  EXPECT_EQ(ask(other, post("/filter", question(900'000))).status, 200);
  for (RawClient& client : slow) {
    client.send(question(899'900));
    EXPECT_EQ(read_answer(client).status, 200);
  }
}

TEST(ServerLoad, SlowBodiesMakeRoom) {
  ServerOptions options;
  options.limits.all_bodies_bytes = 200'000;
  const Playing playing(options);
  std::deque<RawClient> clients;
  RawClient& slow = send_some(clients, playing, 200'000, 150'000);
  RawClient other(playing.server->address());
  EXPECT_TRUE(eventually([&] {  // what has been sent may not be there at once
    EXPECT_EQ(ask(other, post("/filter", question(20'000))).status, 200);
    return playing.server->figures().verbs[0].refused == 1;
  }));
  const Answer answer = read_answer(slow);
  EXPECT_EQ(answer.status, 503);
  EXPECT_THAT(answer.body, HasSubstr("room"));
  slow.read_all();
  EXPECT_TRUE(slow.closed());
}

TEST(ServerLoad, CallsThatAreHeldKeepTheRoomOfTheirBodies) {
  ServerOptions options;
  options.limits.all_bodies_bytes = 1000;
  Playing playing(options);
  playing.callbacks.hold(true);
  std::string body = bind_body(1);
  body.resize(900, ' ');
  RawClient bind(playing.server->address());
  bind.send(post("/bind", body));
  ASSERT_TRUE(playing.callbacks.wait_for_held(1));
  const std::string filter = post("/filter", filter_body() + std::string(100, ' '));
  RawClient other(playing.server->address());
  const Answer answer = ask(other, filter);
  EXPECT_EQ(answer.status, 503);
  EXPECT_THAT(answer.body, HasSubstr("room"));
  playing.callbacks.hold(false);
  EXPECT_EQ(read_answer(bind).status, 200);
  RawClient again(playing.server->address());
  EXPECT_EQ(ask(again, filter).status, 200);
}

TEST(ServerLoad, ReadersThatMayKeepNothingReadAllTheSame) {
  ServerOptions options;
  options.limits.all_kept_bytes = 0;
  const Playing playing(options);
  RawClient client(playing.server->address());
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(ask(client, post("/filter", filter_body())).status, 200);
  }
}

TEST(ServerLoad, TheTimeOfAnAnswerBeginsWithIt) {
  ServerOptions options;
  options.limits.answer = std::chrono::milliseconds(600);
  Playing playing(options);
  playing.callbacks.hold(true);
  const std::string body = bind_body(1);
  RawClient client(playing.server->address());
  client.send("POST /bind HTTP/1.1\r\nContent-Length: " + std::to_string(body.size()) +
              "\r\nExpect: 100-continue\r\n\r\n");
  ASSERT_THAT(read_answer(client).head, HasSubstr("100 Continue"));
  client.send(body);
  ASSERT_TRUE(playing.callbacks.wait_for_held(1));
  pollfd fd{.fd = client.fd(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&fd, 1, 800), 0) << "held for longer than an answer may take";
  playing.callbacks.hold(false);
  EXPECT_EQ(read_answer(client).status, 200);
}

TEST(ServerLoad, ConnectionsThatAreCutLeaveNothingBehind) {
  Playing playing;
  playing.callbacks.hold(true);
  {
    auto binds = send_binds(playing, 20);
    ASSERT_TRUE(playing.callbacks.wait_for_held(20));
  }
  playing.callbacks.hold(false);
  EXPECT_TRUE(eventually([&] { return playing.server->figures().connections == 0; }));
  EXPECT_EQ(playing.server->figures().verbs[2].now, 0U);
}

TEST(ServerLoad, StopEndsHeldCallsWithAnAnswer) {
  ServerOptions options;
  options.limits.stop = std::chrono::seconds(60);  // nobody is cut
  Playing playing(options);
  RawClient idle(playing.server->address());
  EXPECT_EQ(ask(idle, post("/filter", filter_body())).status, 200);
  playing.callbacks.hold(true);
  auto binds = send_binds(playing, kGang);
  ASSERT_TRUE(playing.callbacks.wait_for_held(kGang));
  const std::string address = playing.server->address();
  const auto begin = steady_clock::now();
  playing.server.reset();
  EXPECT_LT(steady_clock::now() - begin, std::chrono::seconds(30));
  for (RawClient& client : binds) {
    EXPECT_EQ(read_answer(client).body, R"({"Error":"stopping"})");
    client.read_all();
    EXPECT_TRUE(client.closed());
  }
  idle.read_all();
  EXPECT_TRUE(idle.closed());
  EXPECT_TRUE(net::listen_on(address));
}

// A client that takes no answer does not hold the end up.
TEST(ServerLoad, StopCutsWhoDoesNotRead) {
  ServerOptions options;
  options.limits.stop = std::chrono::milliseconds(200);
  options.limits.answer = std::chrono::hours(1);
  Playing playing(options);
  std::string names;
  for (int i = 0; i < 300'000; ++i) names += "\"node-" + std::to_string(i) + "\",";
  std::string body = filter_body();
  body.insert(body.find('[') + 1, names);
  RawClient lazy(playing.server->address());
  lazy.send(post("/prioritize", body));  // whose answer is more than sockets hold
  EXPECT_TRUE(eventually([&] { return playing.server->figures().verbs[1].answered > 0; }));
  const auto stop = steady_clock::now();
  playing.server.reset();
  EXPECT_LT(steady_clock::now() - stop, std::chrono::seconds(10));
}

}  // namespace
}  // namespace pinion::cluster
