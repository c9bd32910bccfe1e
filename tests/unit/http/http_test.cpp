// What is read out of the head of a request, and what is written before an answer.
#include "base/net/http.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace pinion::net {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::Pair;
using testing::StartsWith;

std::string head(const std::string& lines) {
  return lines + "\r\n";
}

HttpRequest request(const std::string& text) {
  auto read = read_request(text);
  EXPECT_TRUE(read) << (read ? "" : read.error().body);
  return read ? *std::move(read) : HttpRequest();
}

HttpRequest of_target(const std::string& target) {
  return request(head("GET " + target + " HTTP/1.1\r\n"));
}

TEST(HttpRequest, HasItsPartsAndHeaders) {
  const HttpRequest read = request(
      head("POST /filter HTTP/1.1\r\nHost: x\r\nX-A: 1\r\nx-a: 2\r\nContent-Length: 12\r\n"));
  EXPECT_EQ(read.method, "POST");
  EXPECT_EQ(read.path, "/filter");
  EXPECT_EQ(read.query, "");
  EXPECT_THAT(read.headers, testing::Contains(Pair("X-A", "1")));
  EXPECT_EQ(read.header("X-a"), "1");
  EXPECT_TRUE(read.has("HOST"));
  EXPECT_FALSE(read.has("Hos"));
  EXPECT_EQ(read.header("None"), "");
  EXPECT_EQ(read.body_length(), 12U);
  EXPECT_TRUE(read.has_body());
  EXPECT_FALSE(read.asks_to_send);
}

TEST(HttpRequest, IsDecodedOnce) {
  EXPECT_EQ(of_target("/a%2Fb%20c").path, "/a/b c");
  EXPECT_EQ(of_target("/%252F").path, "/%2F");
  EXPECT_EQ(of_target("/metrics%00").path, std::string("/metrics\0", 9));
  for (const char* broken : {"/%", "/%4", "/%4g", "/%-1", "/%+1", "/%x1"}) {
    EXPECT_EQ(of_target(broken).path, broken);
  }
  EXPECT_EQ(of_target("/a+b").path, "/a+b");
}

TEST(HttpRequest, HasParameters) {
  const HttpRequest read =
      of_target("/v1/jobs?other=b&namespace=hpc%2Fa+b%2B&namespace=c&empty&=x");
  EXPECT_EQ(read.path, "/v1/jobs");
  EXPECT_EQ(read.parameter("namespace"), "hpc/a b+");
  EXPECT_EQ(read.parameter("other"), "b");
  EXPECT_EQ(read.parameter("empty"), "");
  EXPECT_EQ(read.parameter("none"), "");
  EXPECT_EQ(of_target("/?a?b=c").parameter("a?b"), "c");
  EXPECT_EQ(of_target("/?n%61me=1").parameter("name"), "1");
  EXPECT_EQ(of_target("/?").query, "");
}

TEST(HttpRequest, SaysWhetherTheConnectionStays) {
  const auto stays = [](const std::string& lines) { return request(head(lines)).keep_alive; };
  EXPECT_TRUE(stays("GET / HTTP/1.1\r\n"));
  EXPECT_FALSE(stays("GET / HTTP/1.1\r\nConnection: close\r\n"));
  EXPECT_FALSE(stays("GET / HTTP/1.1\r\nConnection: TE, Close\r\n"));
  EXPECT_FALSE(stays("GET / HTTP/1.0\r\n"));
  EXPECT_TRUE(stays("GET / HTTP/1.0\r\nConnection: keep-alive\r\n"));
}

TEST(HttpRequest, TellsOfItsBody) {
  const auto with = [](const std::string& header) {
    return request(head("POST / HTTP/1.1\r\n" + header + "\r\n"));
  };
  EXPECT_FALSE(with("Content-Length: 0").has_body());
  EXPECT_EQ(with("Content-Length: 0").body_length(), 0U);
  EXPECT_EQ(with("X: y").body_length(), std::nullopt);
  EXPECT_FALSE(with("X: y").has_body());
  EXPECT_TRUE(with("Transfer-Encoding: chunked").has_body());
  EXPECT_TRUE(with("Transfer-Encoding: gzip").has_body());
  EXPECT_EQ(with("Transfer-Encoding: chunked").body_length(), std::nullopt);
  EXPECT_EQ(with("Content-Length: 5, 5").body_length(), std::nullopt);
  EXPECT_TRUE(with("Content-Length: 5, 5").has_body());
  EXPECT_TRUE(with("Expect: 100-Continue").asks_to_send);
}

struct BadHeadCase {
  const char* name;
  std::string head;
  int status;
};

class BadHead : public testing::TestWithParam<BadHeadCase> {};

TEST_P(BadHead, IsRefusedWithAReason) {
  const auto read = read_request(GetParam().head);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().status, GetParam().status);
  EXPECT_THAT(read.error().body, testing::EndsWith("\n"));
  EXPECT_EQ(read.error().keep_alive, std::nullopt);
}

std::string get_with(const std::string& headers) {
  return "GET / HTTP/1.1\r\n" + headers + "\r\n";
}

std::string many(int count) {
  std::string headers;
  for (int i = 0; i < count; ++i) headers += "A: x\r\n";
  return headers;
}

INSTANTIATE_TEST_SUITE_P(
    Heads, BadHead,
    testing::Values(
        BadHeadCase{"nothing", "", 400}, BadHeadCase{"empty_line", "\r\n\r\n", 400},
        BadHeadCase{"cut", "GET / HTTP/1.1\r\nA: x\r\n", 400},
        BadHeadCase{"words", "hello\r\n\r\n", 400}, BadHeadCase{"no_version", "GET /\r\n\r\n", 400},
        BadHeadCase{"version_2", "GET / HTTP/2.0\r\n\r\n", 400},
        BadHeadCase{"version_of_digits", "GET / HTTP/1.10\r\n\r\n", 400},
        BadHeadCase{"unknown_method", "BREW / HTTP/1.1\r\n\r\n", 400},
        BadHeadCase{"two_spaces", "GET  / HTTP/1.1\r\n\r\n", 400},
        BadHeadCase{"bare_line_feeds", "GET / HTTP/1.1\nA: x\n\n\r\n\r\n", 400},
        BadHeadCase{"nul_in_a_value", get_with(std::string("A: \0\r\n", 6)), 400},
        BadHeadCase{"space_before_the_colon", get_with("Content-Length : 3\r\n"), 400},
        BadHeadCase{"no_colon", get_with("A\r\n"), 400},
        BadHeadCase{"length_of_text", get_with("Content-Length: 2x\r\n"), 400},
        BadHeadCase{"length_below_zero", get_with("Content-Length: -1\r\n"), 400},
        BadHeadCase{"length_with_a_sign", get_with("Content-Length: +1\r\n"), 400},
        BadHeadCase{"length_beyond_64_bits", get_with("Content-Length: 18446744073709551616\r\n"),
                    400},
        BadHeadCase{"two_lengths", get_with("Content-Length: 1\r\nContent-Length: 2\r\n"), 400},
        BadHeadCase{"a_length_twice", get_with("Content-Length: 1\r\nContent-Length: 1\r\n"), 400},
        BadHeadCase{"length_then_chunked",
                    get_with("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"), 400},
        BadHeadCase{"chunked_then_length",
                    get_with("Transfer-Encoding: chunked\r\nContent-Length: 1\r\n"), 400},
        BadHeadCase{"coded_then_length",
                    get_with("Transfer-Encoding: xchunked\r\nContent-Length: 1\r\n"), 400},
        BadHeadCase{"two_hosts", get_with("Host: localhost\r\nHost: evil.example\r\n"), 400},
        BadHeadCase{"long_target", "GET /" + std::string(8192, 'x') + " HTTP/1.1\r\n\r\n", 414},
        BadHeadCase{"long_header", get_with("A: " + std::string(8192, 'x') + "\r\n"), 400},
        BadHeadCase{"many_headers", get_with(many(101)), 431}),
    [](const auto& one) { return one.param.name; });

TEST(HttpRequest, MayBeAsLongAsTheLimits) {
  EXPECT_EQ(of_target("/" + std::string(8191, 'x')).path.size(), 8192U);
  EXPECT_EQ(request(get_with("A: " + std::string(8191, 'x') + "\r\n")).header("A").size(), 8191U);
  EXPECT_EQ(request(get_with(many(100))).headers.size(), 100U);
}

TEST(HttpAnswer, HasOneLengthAndSaysWhetherTheConnectionStays) {
  HttpAnswer answer;
  answer.headers.emplace_back("Cache-Control", "no-store");
  answer.set("text/x", "four");
  EXPECT_EQ(head_of(answer),
            "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Type: text/x\r\n"
            "Content-Length: 4\r\nConnection: close\r\n\r\n");
  answer.keep_alive = std::chrono::seconds(150);
  EXPECT_THAT(head_of(answer),
              testing::EndsWith("Connection: keep-alive\r\nKeep-Alive: timeout=150\r\n\r\n"));
}

TEST(HttpAnswer, OfAnErrorHasItsReason) {
  HttpAnswer answer;
  answer.complain(404, "not here");
  EXPECT_EQ(answer.body, "not here\n");
  EXPECT_THAT(head_of(answer), StartsWith("HTTP/1.1 404 Not Found\r\n"));
  EXPECT_THAT(head_of(answer), HasSubstr("Content-Type: text/plain; charset=utf-8\r\n"));
  EXPECT_THAT(head_of(answer), Not(HasSubstr("not here")));
}

}  // namespace
}  // namespace pinion::net
