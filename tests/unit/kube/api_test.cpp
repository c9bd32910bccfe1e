#include "cluster/extender/kube/api.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <fstream>
#include <future>
#include <set>

#include "tests/support/eventually.h"
#include "tests/support/tree.h"
#include "tests/unit/kube/fake_api_server.h"
#include "tests/unit/kube/raw_server.h"
#include "tests/unit/kube/slow_name.h"

namespace pinion::kube {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using test_support::eventually;
using testing::HasSubstr;

constexpr const char* kPod = "/api/v1/namespaces/n/pods/p";

std::unique_ptr<Api> connect(const Access& access, const ApiOptions& options = {}) {
  auto api = Api::create(access, options);
  EXPECT_TRUE(api) << api.error().text;
  return *std::move(api);
}

class Calls : public testing::Test {
 protected:
  FakeApiServer server_;
  std::unique_ptr<Api> api_ = connect(server_.access());
};

TEST_F(Calls, GiveBackTheObject) {
  server_.on(std::string("GET ") + kPod, 200, {{"kind", "Pod"}});
  const auto pod = api_->get(kPod);
  ASSERT_TRUE(pod) << pod.error().text;
  EXPECT_EQ(*pod, json({{"kind", "Pod"}}));
  EXPECT_EQ(server_.seen().at(0).token, "");
}

TEST_F(Calls, SendWhatTheirNamesSay) {
  for (const char* method : {"POST ", "PUT ", "PATCH "}) {
    server_.on(std::string(method) + "/a", 201, json::object());
  }
  const json body = {{"x", 1}};
  ASSERT_TRUE(api_->create("/a", body));
  ASSERT_TRUE(api_->replace("/a", body));
  ASSERT_TRUE(api_->patch("/a", PatchKind::kMerge, body));
  ASSERT_TRUE(api_->patch("/a", PatchKind::kStrategic, body));
  ASSERT_TRUE(api_->patch("/a", PatchKind::kJson, body));
  std::vector<std::string> sent;
  for (const auto& seen : server_.seen()) {
    EXPECT_EQ(seen.json(), body);
    sent.push_back(seen.method + " " + seen.content_type);
  }
  EXPECT_THAT(sent, testing::ElementsAre("POST application/json", "PUT application/json",
                                         "PATCH application/merge-patch+json",
                                         "PATCH application/strategic-merge-patch+json",
                                         "PATCH application/json-patch+json"));
}

struct Refusal {
  int status;
  Errc code;
};

class Refusals : public Calls, public testing::WithParamInterface<Refusal> {};

TEST_P(Refusals, HaveACodeAndKeepTheMessage) {
  const auto [status, code] = GetParam();
  server_.on("GET /a", status, status_object(status, "Because", "of that"));
  const auto refused = api_->get("/a");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, code);
  EXPECT_EQ(refused.error().text, "GET /a: " + std::to_string(status) + " Because: of that");
}

INSTANTIATE_TEST_SUITE_P(
    All, Refusals,
    testing::Values(Refusal{400, Errc::kInvalid}, Refusal{401, Errc::kDenied},
                    Refusal{403, Errc::kDenied}, Refusal{404, Errc::kNotFound},
                    Refusal{408, Errc::kUnavailable}, Refusal{409, Errc::kConflict},
                    Refusal{410, Errc::kGone}, Refusal{422, Errc::kInvalid},
                    Refusal{429, Errc::kUnavailable}, Refusal{500, Errc::kUnavailable},
                    Refusal{503, Errc::kUnavailable}, Refusal{504, Errc::kUnavailable},
                    Refusal{301, Errc::kUnavailable}),
    [](const auto& tested) { return std::to_string(tested.param.status); });

TEST_F(Calls, ShowAnErrorThatIsNoStatusObject) {
  server_.on("GET /a", [](const httplib::Request&, httplib::Response& response) {
    response.status = 502;
    response.set_content("bad gateway", "text/plain");
  });
  EXPECT_EQ(api_->get("/a").error().text, "GET /a: 502: bad gateway");
}

TEST_F(Calls, RefuseHalfAnObject) {
  server_.on("GET /a", [](const httplib::Request&, httplib::Response& response) {
    response.set_content("{\"kind\": ", "application/json");
  });
  const auto refused = api_->get("/a");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kUnavailable);
  EXPECT_THAT(refused.error().text, HasSubstr("no JSON"));
}

TEST_F(Calls, EndAtTheirDeadline) {
  server_.gate_on("GET /a");
  const auto began = steady_clock::now();
  const auto refused = api_->get("/a", {.cancel = nullptr, .whole = milliseconds(50)});
  EXPECT_LT(steady_clock::now() - began, std::chrono::seconds(5));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kUnavailable);
  EXPECT_THAT(refused.error().text, HasSubstr("took too long"));
}

TEST_F(Calls, EndWhenTheyAreCancelled) {
  server_.gate_on("GET /a");
  Cancel cancel;
  auto call = std::async(std::launch::async, [&] {
    return api_->get("/a", {.cancel = &cancel, .whole = std::chrono::hours(1)});
  });
  server_.wait_for(1);
  cancel.cancel();
  const auto refused = call.get();
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text, HasSubstr("cancelled"));
}

TEST_F(Calls, BoundTheAnswer) {
  const json large = {{"data", std::string(20'000, 'x')}};
  server_.on("GET /a", 200, large);
  ApiOptions options;
  options.answer_bytes = 10'000;
  options.list_bytes = 100'000;
  const auto api = connect(server_.access(), options);
  const auto refused = api->get("/a");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kExhausted);
  const auto list = api->list("/a");
  ASSERT_TRUE(list) << list.error().text;
  EXPECT_EQ(*list, large);
}

TEST_F(Calls, UseOneConnectionAgainAndAgain) {
  server_.on("GET /a", 200, json::object());
  server_.on("GET /gone", 404, json::object());
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(api_->get("/a"));
  ASSERT_FALSE(api_->get("/gone"));
  ASSERT_TRUE(api_->get("/a"));
  std::set<int> ports;
  for (const auto& seen : server_.seen()) ports.insert(seen.client_port);
  EXPECT_EQ(ports.size(), 1U);
}

TEST_F(Calls, GoOnAfterTheServerClosedTheConnection) {
  server_.on("GET /a", [](const httplib::Request&, httplib::Response& response) {
    response.set_header("Connection", "close");
    response.set_content("{}", "application/json");
  });
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(api_->get("/a"));
}

TEST_F(Calls, FromManyThreadsUseABoundedNumberOfConnections) {
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  const auto gate = server_.new_gate();
  server_.on("GET /a", [&](const httplib::Request&, httplib::Response& response) {
    const int now = ++inside;
    for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
    }
    gate->wait();
    --inside;
    response.set_content("{}", "application/json");
  });
  constexpr std::size_t callers = Http::kConnections + 8;
  std::vector<std::future<bool>> calls;
  for (std::size_t i = 0; i < callers; ++i) {
    calls.push_back(std::async(std::launch::async, [this] { return api_->get("/a").has_value(); }));
  }
  server_.wait_for(Http::kConnections);
  EXPECT_TRUE(eventually([&] { return inside >= static_cast<int>(Http::kConnections); }));
  // All are busy: the next one is told so at its deadline.
  const auto refused = api_->get("/a", {.cancel = nullptr, .whole = milliseconds(20)});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text, HasSubstr("connections are busy"));
  gate->open();
  for (auto& call : calls) EXPECT_TRUE(call.get());
  EXPECT_EQ(most, static_cast<int>(Http::kConnections));
}

TEST(Tokens401, AreReadAgainAndTriedOnce) {
  const test_support::TempDir directory;
  const std::string path = directory.path() / "token";
  std::ofstream(path) << "old";
  FakeApiServer server;
  server.on("GET /a", [&](const httplib::Request& request, httplib::Response& response) {
    response.set_content("{}", "application/json");
    if (request.get_header_value("Authorization") == "Bearer new") return;
    response.status = 401;
    std::ofstream(path) << "new";
  });
  Access access = server.access();
  access.token_file = path;
  const auto api = connect(access);
  EXPECT_TRUE(api->get("/a"));
  std::vector<std::string> tokens;
  for (const auto& seen : server.seen()) tokens.push_back(seen.token);
  EXPECT_THAT(tokens, testing::ElementsAre("Bearer old", "Bearer new"));

  server.on("GET /never", 401, status_object(401, "Unauthorized", "who are you?"));
  const auto refused = api->get("/never");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kDenied);
  EXPECT_EQ(server.seen().size(), 4U) << "not for ever";
}

TEST(Connections, SayThatNobodyListens) {
  Access access;
  {
    const FakeApiServer gone;
    access = gone.access();
  }
  const auto refused = connect(access)->get("/a");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kUnavailable);
  EXPECT_THAT(refused.error().text, HasSubstr(access.endpoint.authority()));
}

TEST(Connections, EndWithASilentServer) {
  const RawServer silent("", RawServer::Then::kKeepOpen);
  Access access = silent.access();
  access.endpoint.tls = true;  // whose handshake nobody answers
  ApiOptions options;
  options.connect = milliseconds(50);
  const auto refused = connect(access, options)->get("/a");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kUnavailable);
  EXPECT_THAT(refused.error().text, HasSubstr("SSL"));
}

// Nothing else could be interrupted while the system looks a name up.
TEST(Connections, EndWhileANameIsLookedUp) {
  const SlowName name;
  Access access;
  access.endpoint = {.tls = false, .host = SlowName::kName, .port = 80, .path = ""};
  ApiOptions patient;
  patient.connect = std::chrono::hours(1);
  const auto api = connect(access, patient);
  Cancel cancel;
  auto call = std::async(std::launch::async, [&] {
    return api->get("/a", {.cancel = &cancel, .whole = std::chrono::hours(1)});
  });
  name.wait_until_asked();
  cancel.cancel();
  const bool ended = call.wait_for(std::chrono::seconds(10)) == std::future_status::ready;
  name.answer();
  EXPECT_TRUE(ended);
  const auto refused = call.get();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kUnavailable);
  EXPECT_THAT(refused.error().text, HasSubstr("look up the name: cancelled"));
}

constexpr const char* kKeptOpen = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";

TEST(KeptConnections, ThatAreClosedInsteadOfAnAnswerAreAskedAgainOnlyByAGet) {
  const RawServer server(kKeptOpen, RawServer::Then::kCloseWhenAskedAgain);
  const auto api = connect(server.access());
  ASSERT_TRUE(api->get("/a"));
  EXPECT_TRUE(api->get("/a"));
  EXPECT_EQ(server.requests(), 3);
  EXPECT_EQ(server.connections(), 2);
}

struct Writing {
  const char* name;
  Result<json> (*call)(Api& api);
};

class WritesOnKeptConnections : public testing::TestWithParam<Writing> {};

// They may have been carried out before it was closed.
TEST_P(WritesOnKeptConnections, AreSentOnce) {
  const RawServer server(kKeptOpen, RawServer::Then::kCloseWhenAskedAgain);
  const auto api = connect(server.access());
  ASSERT_TRUE(api->get("/a"));
  const auto refused = GetParam().call(*api);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kUnavailable);
  EXPECT_THAT(refused.error().text, HasSubstr("closed the connection"));
  EXPECT_EQ(server.requests(), 2);
  EXPECT_TRUE(api->get("/a")) << "the next has a connection of its own";
}

INSTANTIATE_TEST_SUITE_P(
    All, WritesOnKeptConnections,
    testing::Values(Writing{"create", [](Api& api) { return api.create("/a", json::object()); }},
                    Writing{"replace", [](Api& api) { return api.replace("/a", json::object()); }},
                    Writing{"patch",
                            [](Api& api) {
                              return api.patch("/a", PatchKind::kMerge, json::object());
                            }}),
    [](const auto& tested) { return tested.param.name; });

struct Broken {
  const char* name;
  std::string bytes;
};

class BrokenAnswers : public testing::TestWithParam<Broken> {};

TEST_P(BrokenAnswers, AreUnavailable) {
  const RawServer server(GetParam().bytes, RawServer::Then::kClose);
  const auto refused = connect(server.access())->get("/a");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kUnavailable) << refused.error().text;
  EXPECT_EQ(server.connections(), 1) << "a new connection is not tried twice";
}

INSTANTIATE_TEST_SUITE_P(
    All, BrokenAnswers,
    testing::Values(Broken{"no_http", "SSH-2.0-OpenSSH_9.2\r\n"},
                    Broken{"half_a_head", "HTTP/1.1 200 OK\r\nContent-Le"},
                    Broken{"half_a_body", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{}"},
                    Broken{"half_a_chunk",
                           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n40\r\n{}"}),
    [](const auto& tested) { return tested.param.name; });

TEST(Connections, BoundTheHead) {
  std::string head = "HTTP/1.1 200 OK\r\n";
  while (head.size() < 2'000'000) head += "X-More: 0123456789012345678901234567890123456789\r\n";
  const RawServer server(head, RawServer::Then::kKeepOpen);
  ApiOptions options;
  options.answer_bytes = 1000;
  const auto refused = connect(server.access(), options)->get("/a");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kExhausted) << refused.error().text;
}

// select(2) could not: an extender has a connection to each of thousands of agents.
TEST(Connections, WorkAboveDescriptor1024) {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  if (limit.rlim_max < 2048) GTEST_SKIP() << "this process may not have 2048 descriptors";
  limit.rlim_cur = std::max<rlim_t>(limit.rlim_cur, 2048);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  std::vector<Fd> taken;
  while (taken.empty() || taken.back().get() < 1100) {
    taken.emplace_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
    ASSERT_TRUE(taken.back().valid());
  }
  const RawServer server(kKeptOpen, RawServer::Then::kClose);
  const auto api = connect(server.access());
  EXPECT_TRUE(api->get("/a"));
  EXPECT_TRUE(api->get("/a"));
  EXPECT_EQ(server.connections(), 2);
}

}  // namespace
}  // namespace pinion::kube
