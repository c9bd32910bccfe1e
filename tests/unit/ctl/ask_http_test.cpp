// What servers that mean ill can do to who asks them over HTTP: make it say so, and no more.
#include "ctl/common/ask_http.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ctl/compare/prometheus_client.h"
#include "ctl/job/extender_client.h"
#include "tests/unit/ctl/hostile_server.h"

namespace pinion::ctl {
namespace {

using testing::HasSubstr;

constexpr const char* kHead = "HTTP/1.1 200 OK\r\n";
constexpr std::size_t kMuch = std::size_t{32} << 20;  // more than sockets keep

std::string error_of(const HostileServer& server, const HttpLimits& limits = {}) {
  const auto answer = ask_http({.url = server.url()}, limits);
  if (answer) return "none";
  EXPECT_EQ(answer.error().code, Errc::kUnavailable);
  return answer.error().text;
}

TEST(AskHttp, TakesNoEndlessHead) {
  struct Case {
    const char* first;
    std::string again;
    const char* error;
  };
  const char* many = "its answer has more than 256 KiB of headers";
  const Case cases[] = {
      {kHead, "X-More: " + std::string(1000, 'x') + "\r\n", many},
      {"", "HTTP/1.1 100 Continue\r\nX-More: 1\r\n\r\n", many},
      {kHead, std::string(1000, 'x'), "its answer has too long a header, or memory is short"},
  };
  for (const Case& c : cases) {
    const HostileServer server({.first = c.first, .again = c.again});
    EXPECT_EQ(error_of(server), c.error);
    EXPECT_LT(server.sent(), kMuch);
  }
}

TEST(AskHttp, TakesNoEndlessBody) {
  const HostileServer server(
      {.first = std::string(kHead) + "\r\n", .again = std::string(100'000, 'x')});
  EXPECT_EQ(error_of(server, {.body_bytes = std::size_t{1} << 20}),
            "its answer is larger than 1 MiB");
  EXPECT_LT(server.sent(), kMuch);
}

TEST(AskHttp, TakesNoEndlessTrailer) {
  const HostileServer server(
      {.first = std::string(kHead) + "Transfer-Encoding: chunked\r\n\r\n0\r\n",
       .again = "X-More: " + std::string(1000, 'x') + "\r\n"});
  EXPECT_NE(error_of(server), "none");
  EXPECT_LT(server.sent(), kMuch);
}

TEST(AskHttp, EndsInTimeWhateverComes) {
  const HttpLimits limits{.time = std::chrono::milliseconds(500)};
  const std::string head = std::string(kHead) + "Transfer-Encoding: chunked\r\n\r\n";
  const HostileServer::Says cases[] = {
      {.first = "", .closes = false},                           // no answer
      {.first = head + "5\r\nab", .closes = false},             // the half of one
      {.first = head + "1;", .again = std::string(1000, 'x')},  // a chunk's extension
  };
  for (const auto& says : cases) {
    const HostileServer server(says);
    EXPECT_EQ(error_of(server, limits), "no whole answer in 0.500 s");
  }
}

TEST(AskHttp, SaysThatAnAnswerIsCutOff) {
  EXPECT_EQ(error_of(HostileServer({.first = ""})), "it closed the connection without an answer");
  for (const char* rest : {"", "X: 1\r\n", "Content-Length: 5\r\n\r\nab"}) {
    EXPECT_EQ(error_of(HostileServer({.first = std::string(kHead) + rest})),
              "its answer is cut off");
  }
}

TEST(AskHttp, FollowsNobodyElsewhere) {
  const HostileServer server(
      {.first =
           "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"});
  const auto answer = ask_http({.url = server.url()});
  ASSERT_TRUE(answer) << answer.error().text;
  EXPECT_EQ(answer->status, 302);
}

TEST(AskHttp, RefusesWhatIsNoUrl) {
  for (const char* url : {"http://127.0.0.1:99999", "http://a b", "http://user:word@127.0.0.1:1",
                          "file:///etc/passwd"}) {
    const auto answer = ask_http({.url = url});
    ASSERT_FALSE(answer) << url;
    EXPECT_THAT(answer.error().text, testing::Not(HasSubstr("reached"))) << url;
  }
}

TEST(AskHttp, QueriesAreEncoded) {
  EXPECT_EQ(with_query("http://x/y", {{"a", "b c&d=+/"}, {"e", ""}}),
            "http://x/y?a=b%20c%26d%3D%2B%2F&e=");
}

TEST(ExtenderAndPrometheus, AreNotReadWithoutEnd) {
  const HostileServer server(
      {.first = kHead, .again = "X-More: " + std::string(1000, 'x') + "\r\n"});
  const auto jobs =
      jobs_at_extender({.url = server.url(), .ca = {}, .certificate = {}, .key = {}}, "");
  ASSERT_FALSE(jobs);
  EXPECT_EQ(jobs.error().text, server.url() + ": its answer has more than 256 KiB of headers");
  const auto prometheus = PrometheusClient::create(server.url());
  ASSERT_TRUE(prometheus);
  const auto values = prometheus->query("up", {0, 1, 1});
  ASSERT_FALSE(values);
  EXPECT_EQ(values.error().text, jobs.error().text);
}

TEST(JobsAtExtender, AreThoseOfAnExtender) {
  const auto answer_to = [](const std::string& body) {
    const HostileServer server({.first = std::string(kHead) + "\r\n" + body});
    return jobs_at_extender({.url = server.url(), .ca = {}, .certificate = {}, .key = {}}, "");
  };
  for (const char* body :
       {"null", "[]", "{}", "7", R"({"status":"error"})", R"({"jobs":[{"name":5}]})",
        R"({"elastic":[]})", R"({"elastic":7,"profiles":[]})",
        R"({"elastic":[],"profiles":{"a":1}})", R"({"elastic":["x"],"profiles":[]})",
        R"({"elastic":[],"profiles":[{"name":5}]})"}) {
    const auto document = answer_to(body);
    ASSERT_FALSE(document) << body;
    EXPECT_THAT(document.error().text,
                HasSubstr("the answer is not one of an extender's /v1/jobs"));
  }
  EXPECT_TRUE(answer_to(R"({"jobs":[],"elastic":[{"name":"a/b"}],"profiles":[]})"));
  EXPECT_THAT(answer_to("{").error().text, HasSubstr("the answer is no JSON"));
}

}  // namespace
}  // namespace pinion::ctl
