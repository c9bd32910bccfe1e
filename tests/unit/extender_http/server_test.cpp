// What is answered to what, over real sockets.
#include "cluster/extender/http/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/extender_http/playing.h"

namespace pinion::cluster {
namespace {

using agent::RawClient;
using testing::HasSubstr;
using testing::Not;

std::string get(const std::string& path) {
  return "GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n";
}

TEST(Server, AnswersAllCallsOnOneConnection) {
  const Playing playing;
  RawClient client(playing.server->address());
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(ask(client, post("/filter", filter_body())).body,
              R"({"NodeNames":["a"],"FailedNodes":{},"FailedAndUnresolvableNodes":{},"Error":""})");
    EXPECT_EQ(ask(client, post("/prioritize", filter_body())).body,
              R"([{"Host":"a","Score":7},{"Host":"b","Score":0}])");
    EXPECT_EQ(ask(client, post("/bind", bind_body(1))).body, R"({"Error":"bound p1"})");
    const Answer preempt = ask(
        client,
        post(
            "/preempt",
            R"({"Pod":{"metadata":{"name":"p","namespace":"n","uid":"u"}},"NodeNameToMetaVictims":{"a":{}}})"));
    EXPECT_EQ(preempt.body, R"({"NodeNameToMetaVictims":{"a":{"Pods":[],"NumPDBViolations":0}}})");
    EXPECT_EQ(ask(client, post("/mutate?timeout=10s", "{}")).body, R"({"seen":{}})");
    EXPECT_EQ(ask(client, post("/v1/plan", "{}")).body, R"({"planned":{}})");
    EXPECT_THAT(preempt.head, HasSubstr("Content-Type: application/json\r\n"));
    EXPECT_THAT(preempt.head, Not(HasSubstr("Content-Encoding")));
  }
  const ServerFigures figures = playing.server->figures();
  for (const VerbFigures& verb : figures.verbs) EXPECT_EQ(verb.answered, 3U);
  EXPECT_EQ(figures.connections, 1U);
}

TEST(Server, AnswersBelowAPrefix) {
  const Playing playing({.listen = {}, .prefix = "/pinion/v1"});
  RawClient client(playing.server->address());
  EXPECT_EQ(ask(client, post("/pinion/v1/filter", filter_body())).status, 200);
  EXPECT_EQ(ask(client, post("/v1/plan", "{}")).status, 200);  // as the other pages
  EXPECT_EQ(ask(client, post("/filter", filter_body())).status, 404);
}

TEST(Server, ShowsPages) {
  const Playing playing;
  RawClient client(playing.server->address());
  EXPECT_EQ(ask(client, get("/livez")).body, "ok\n");
  const Answer ready = ask(client, get("/readyz"));
  EXPECT_EQ(ready.status, 503);
  EXPECT_EQ(ready.body, "no agent has been heard\n");
  const Answer leads = ask(client, get("/leadz"));
  EXPECT_EQ(leads.status, 503);
  EXPECT_EQ(leads.body, "another one leads\n");
  EXPECT_EQ(ask(client, "GET /metrics HTTP/1.1\r\nAccept: text/x\r\n\r\n").body, "accept text/x");
  EXPECT_EQ(ask(client, get("/v1/fleet")).body, "[]");
  EXPECT_EQ(ask(client, get("/v1/jobs")).body, "{}");
  EXPECT_EQ(ask(client, get("/v1/jobs?namespace=hpc%2Fa&other=b")).body, "{hpc/a}");
  EXPECT_EQ(ask(client, get("/")).body, "<!doctype html>");
  EXPECT_EQ(ask(client, get("/filter")).status, 404);
}

TEST(Server, SaysWhatIsWrongWithABodyAndGoesOn) {
  Playing playing;
  RawClient client(playing.server->address());
  const Answer answer = ask(
      client,
      post("/filter",
           R"({"Pod":{"metadata":{"name":"p","namespace":"n","uid":"u"}},"NodeNames":["a",1]})"));
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.body, "pinion-extender: filter: NodeNames[1]: not a string\n");
  EXPECT_EQ(ask(client, post("/bind", "")).status, 400);
  EXPECT_EQ(ask(client, post("/filter", filter_body())).status, 200);
  EXPECT_THAT(playing.refusals.all(),
              testing::ElementsAre(HasSubstr("NodeNames[1]"), HasSubstr("bind")));
  EXPECT_EQ(playing.server->figures().verbs[0].malformed, 1U);
  EXPECT_EQ(playing.server->figures().verbs[2].malformed, 1U);
}

TEST(Server, SaysWhatIsWrongWithAReviewAndGoesOn) {
  const Playing playing;
  RawClient client(playing.server->address());
  const Answer answer = ask(client, post("/mutate", "malformed"));
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.body, "pinion-extender: mutate: request: missing\n");
  EXPECT_EQ(ask(client, post("/mutate", "{}")).status, 200);
  EXPECT_EQ(playing.server->figures().verbs[4].malformed, 1U);
}

TEST(Server, SaysWhatIsWrongWithAJobAndGoesOn) {
  const Playing playing;
  RawClient client(playing.server->address());
  const Answer answer = ask(client, post("/v1/plan", "malformed"));
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.body, "body: no JSON\n");
  EXPECT_EQ(ask(client, post("/v1/plan", "{}")).status, 200);
  EXPECT_EQ(playing.server->figures().verbs[5].malformed, 1U);
}

TEST(Server, MakesOnePlanAtATime) {
  Playing playing;
  playing.pages.hold_plans(true);
  RawClient first(playing.server->address());
  first.send(post("/v1/plan", "1"));
  ASSERT_TRUE(playing.pages.wait_for_plan());
  RawClient second(playing.server->address());
  const Answer answer = ask(second, post("/v1/plan", "2"));
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.body, "pinion-extender: plan: another one is being made: try again\n");
  EXPECT_EQ(ask(second, post("/filter", filter_body())).status, 200);
  playing.pages.hold_plans(false);
  EXPECT_EQ(read_answer(first).body, R"({"planned":1})");
  EXPECT_EQ(ask(second, post("/v1/plan", "3")).body, R"({"planned":3})");
}

// As the extender listens: the scheduler's calls on one port, all else on another.
TEST(Server, AnswersOnlyWhatItServes) {
  PlayedCallbacks callbacks;
  PlayedPages pages;
  PlayedAdmission admission;
  const std::string probe = "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n";
  const auto start = [](const Served& served) {
    auto server = Server::start({.listen = "127.0.0.1:0"}, served);
    EXPECT_TRUE(server) << (server ? "" : server.error().text);
    return server ? *std::move(server) : nullptr;
  };
  const auto calls = start({.scheduler = &callbacks});
  ASSERT_NE(calls, nullptr);
  RawClient scheduler(calls->address());
  EXPECT_EQ(ask(scheduler, post("/filter", filter_body())).status, 200);
  EXPECT_EQ(ask(scheduler, probe).status, 404);
  const Answer none = ask(scheduler, post("/mutate", "{}"));
  EXPECT_EQ(none.status, 404);
  EXPECT_THAT(none.body, HasSubstr("there are /filter, /prioritize, /bind, /preempt\n"));

  const auto others = start({.pages = &pages, .admission = &admission});
  ASSERT_NE(others, nullptr);
  RawClient client(others->address());
  EXPECT_EQ(ask(client, probe).status, 200);
  EXPECT_EQ(ask(client, post("/mutate", "{}")).status, 200);
  RawClient lost(others->address());
  const Answer no_call = ask(lost, post("/filter", filter_body()));
  EXPECT_EQ(no_call.status, 404);
  EXPECT_THAT(no_call.body, HasSubstr("there are /mutate, /v1/plan\n"));
}

TEST(Server, ACallbackThatThrowsIsAnAnswer) {
  const Playing playing;
  RawClient client(playing.server->address());
  const Answer answer = ask(
      client,
      post("/filter",
           R"({"Pod":{"metadata":{"name":"throw","namespace":"n","uid":"u"}},"NodeNames":[]})"));
  EXPECT_EQ(answer.status, 500);
  EXPECT_THAT(answer.head + answer.body, Not(HasSubstr("secret")));
  EXPECT_EQ(ask(client, post("/filter", filter_body())).status, 200);
  EXPECT_EQ(playing.server->figures().verbs[0].failed, 1U);
  EXPECT_EQ(playing.server->figures().verbs[0].now, 0U);
}

// What is behind a body is the next request, however the bytes come.
TEST(Server, AnswersRequestsThatComeTogether) {
  const Playing playing;
  RawClient client(playing.server->address());
  const std::string filter = post("/filter", filter_body());
  client.send(filter + get("/livez") + filter.substr(0, filter.size() - 5));
  EXPECT_THAT(read_answer(client).body, HasSubstr("NodeNames"));
  EXPECT_EQ(read_answer(client).body, "ok\n");
  EXPECT_THAT(ask(client, filter.substr(filter.size() - 5)).body, HasSubstr("NodeNames"));
  for (const char byte : get("/v1/fleet")) client.send({&byte, 1});
  EXPECT_EQ(read_answer(client).body, "[]");
}

TEST(Server, SaysForHowLongAConnectionStays) {
  const Playing playing;
  RawClient client(playing.server->address());
  const Answer stays = ask(client, get("/livez"));
  EXPECT_THAT(stays.head, HasSubstr("Keep-Alive: timeout=150"));
  EXPECT_THAT(stays.head, HasSubstr("X-Content-Type-Options: nosniff\r\n"));
  EXPECT_THAT(stays.head, HasSubstr("Cache-Control: no-store\r\n"));
  const Answer ends = ask(client, "GET /livez HTTP/1.1\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(ends.head, HasSubstr("Connection: close\r\n"));
  EXPECT_EQ(client.read_all(), "");
  EXPECT_TRUE(client.closed());
}

TEST(Server, AnswersHeadWithoutABody) {
  const Playing playing;
  RawClient client(playing.server->address());
  client.send("HEAD /livez HTTP/1.1\r\nConnection: close\r\n\r\n");
  const std::string answer = client.read_all();
  EXPECT_THAT(answer, HasSubstr("Content-Length: 3\r\n"));
  EXPECT_TRUE(answer.ends_with("\r\n\r\n")) << answer;
}

// --- requests that are refused, after which the connection ends
// ---------------------------------------------------------------------

struct RefusedCase {
  const char* name;
  std::string request;
  int status;  // 0: no answer
  const char* says;
  bool slow = false;  // the client has to run out of time
};

class Refused : public testing::TestWithParam<RefusedCase> {};

TEST_P(Refused, WithAReasonAndTheNextIsServed) {
  ServerOptions options;
  options.limits.body_bytes = 1000;
  options.limits.bind_body_bytes = 200;
  options.limits.review_body_bytes = 300;
  options.limits.plan_body_bytes = 400;
  if (GetParam().slow) {
    options.limits.headers = std::chrono::seconds(1);
    options.limits.body = std::chrono::seconds(1);
    options.limits.idle = std::chrono::seconds(1);
  }
  const Playing playing(options);
  RawClient client(playing.server->address());
  const Answer answer = ask(client, GetParam().request);
  EXPECT_EQ(answer.status, GetParam().status);
  EXPECT_THAT(answer.body, HasSubstr(GetParam().says));
  client.read_all();
  EXPECT_TRUE(client.closed());
  RawClient next(playing.server->address());
  EXPECT_EQ(ask(next, post("/filter", filter_body())).status, 200);
}

INSTANTIATE_TEST_SUITE_P(
    Requests, Refused,
    testing::Values(
        RefusedCase{"oversize", post("/filter", std::string(1001, ' ')), 413,
                    "a body of 1001 bytes; at most 1000"},
        RefusedCase{"oversize_bind", post("/bind", std::string(201, ' ')), 413, "at most 200"},
        RefusedCase{"oversize_review", post("/mutate", std::string(301, ' ')), 413, "at most 300"},
        RefusedCase{"oversize_plan", post("/v1/plan", std::string(401, ' ')), 413, "at most 400"},
        RefusedCase{"a_terabyte", "POST /filter HTTP/1.1\r\nContent-Length: 1099511627776\r\n\r\n",
                    413, "at most 1000"},
        RefusedCase{"unknown_call", post("/other", "{}"), 404, "no such call"},
        RefusedCase{
            "chunked",
            "POST /filter HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 411,
            "Content-Length"},
        RefusedCase{"no_length", "POST /filter HTTP/1.1\r\nConnection: close\r\n\r\n", 411,
                    "Content-Length"},
        RefusedCase{"length_of_text", "POST /filter HTTP/1.1\r\nContent-Length: 2x\r\n\r\n{}", 400,
                    "Content-Length"},
        RefusedCase{"lengths", "POST /filter HTTP/1.1\r\nContent-Length: 2, 2\r\n\r\n{}", 411,
                    "one Content-Length"},
        // Whoever is between might see the end of the body elsewhere, and another request behind
        // it.
        RefusedCase{"length_and_chunked",
                    "POST /filter HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n"
                    "\r\n0\r\n\r\nGET /livez HTTP/1.1\r\n\r\n",
                    400, ""},
        RefusedCase{"coded_and_length",
                    "POST /filter HTTP/1.1\r\nTransfer-Encoding: xchunked\r\nContent-Length: 2\r\n"
                    "\r\n{}",
                    400, "Transfer-Encoding"},
        RefusedCase{"two_hosts", "GET /livez HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, "Host"},
        RefusedCase{"endless_headers", "GET /livez HTTP/1.1\r\n" + std::string(40'000, 'a'), 431,
                    "32768 bytes"},
        RefusedCase{"packed", post("/filter", "{}", "Content-Encoding: gzip\r\n"), 415, "packed"},
        RefusedCase{"get_with_body", "GET /livez HTTP/1.1\r\nContent-Length: 5\r\n\r\nGET /", 200,
                    "ok"},
        RefusedCase{"other_method", "PUT /filter HTTP/1.1\r\nConnection: close\r\n\r\n", 405,
                    "only GET"},
        RefusedCase{"cut_body", "POST /filter HTTP/1.1\r\nContent-Length: 100\r\n\r\n{\"Pod\":",
                    408, "the body ended after 7 of 100 bytes", true},
        RefusedCase{"cut_headers", "POST /filter HTT", 0, "", true},
        RefusedCase{"no_http", "hello\r\n\r\n", 400, ""}, RefusedCase{"nothing", "", 0, "", true}),
    [](const auto& one) { return one.param.name; });

TEST(Server, RefusesOptionsThatMakeNoSense) {
  PlayedCallbacks callbacks;
  PlayedPages pages;
  const auto error = [&](const ServerOptions& options) {
    const auto server = Server::start(options, {.scheduler = &callbacks, .pages = &pages});
    return server ? "" : server.error().text;
  };
  EXPECT_THAT(error({.listen = "127.0.0.1:0", .prefix = "pinion"}), HasSubstr("prefix 'pinion'"));
  EXPECT_THAT(error({.listen = "127.0.0.1:0", .prefix = "/"}), HasSubstr("prefix '/'"));
  EXPECT_THAT(error({.listen = "nowhere"}), HasSubstr("nowhere"));
  ServerOptions few{.listen = "127.0.0.1:0"};
  few.limits.connections = 10;
  EXPECT_THAT(error(few), HasSubstr("limit of 10 connections"));
  ServerOptions half{.listen = "127.0.0.1:0"};
  half.tls.key = "key.pem";
  EXPECT_THAT(error(half), HasSubstr("no certificate"));
  half.tls = {.certificate = "tls.crt", .key = "tls.key", .client_ca = "", .clients_only = true};
  EXPECT_THAT(error(half), HasSubstr("no CA of them"));
}

}  // namespace
}  // namespace pinion::cluster
