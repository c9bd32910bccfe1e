// The server over real sockets, at ports that the system chooses.
#include "agent/http/http_server.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <future>
#include <stdexcept>

#include "tests/support/own_process.h"
#include "tests/unit/http/example_node.h"
#include "tests/unit/http/raw_client.h"

namespace pinion::agent {
namespace {

using prometheus::Format;
using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const std::string kGet = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";

HttpHandlers handlers() {
  return {.metrics = [](Format format, const ScrapeCost&) -> std::string {
            return format == Format::kText ? "text 1\n" : "open 1\n# EOF\n";
          },
          .not_live = {},
          .not_ready = {},
          .page = [] { return std::string("<!doctype html>page"); },
          .node_json = [] { return std::string("{\"generation\": 1}"); }};
}

net::ConnectionFigures& figures() {  // of all servers here
  static net::ConnectionFigures all;
  return all;
}

std::unique_ptr<HttpServer> serve(HttpHandlers what = handlers(), HttpOptions options = {}) {
  if (options.listen.empty()) options.listen = "127.0.0.1:0";
  auto server = HttpServer::start(options, std::move(what), figures());
  EXPECT_TRUE(server) << (server ? "" : server.error().text);
  return server ? std::move(*server) : nullptr;
}

httplib::Client client(const HttpServer& server) {
  return httplib::Client("http://" + server.address());
}

// --- what is served
// ------------------------------------------------------------------------------

TEST(HttpServer, ServesTextFormatToWhoDoesNotAsk) {
  const auto server = serve();
  const auto answer = client(*server).Get("/metrics");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->body, "text 1\n");
  EXPECT_EQ(answer->get_header_value("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
}

TEST(HttpServer, ServesOpenMetricsToWhoAsks) {
  const auto server = serve();
  const auto answer = client(*server).Get(
      "/metrics", {{"Accept", "application/openmetrics-text;version=1.0.0,text/plain;q=0.5"}});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->body, "open 1\n# EOF\n");
  EXPECT_EQ(answer->get_header_value("Content-Type"),
            "application/openmetrics-text; version=1.0.0; charset=utf-8");
}

TEST(HttpServer, ListensOnIpv6) {
  const auto server = serve(handlers(), {.listen = "[::1]:0"});
  EXPECT_THAT(server->address(), StartsWith("[::1]:"));
  EXPECT_THAT(answer_to(server->address(), kGet), HasSubstr("text 1\n"));
}

TEST(HttpServer, NamesTheAddressThatItCannotHave) {
  const auto first = serve();
  const auto second = HttpServer::start({.listen = first->address()}, handlers(), figures());
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().text, HasSubstr(first->address()));
}

TEST(HttpServer, TellsTheNextScrapeWhatTheLastOneCost) {
  HttpHandlers what = handlers();
  what.metrics = [](Format, const ScrapeCost& cost) {
    return std::to_string(cost.scrapes) + " " + std::to_string(cost.bytes) +
           (cost.seconds > 0 ? " timed" : " not timed");
  };
  const auto server = serve(what);
  EXPECT_EQ(client(*server).Get("/metrics")->body, "0 0 not timed");
  EXPECT_EQ(client(*server).Get("/metrics")->body, "1 13 timed");
}

TEST(HttpServer, PacksBothFormatsForWhoAcceptsGzip) {
  HttpHandlers what = handlers();
  const std::string text(100'000, 'x');
  what.metrics = [&](Format, const ScrapeCost&) { return text; };
  const auto server = serve(what);
  for (const char* accept : {"text/plain", "application/openmetrics-text"}) {
    const auto answer =
        client(*server).Get("/metrics", {{"Accept", accept}, {"Accept-Encoding", "br, gzip"}});
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->get_header_value("Content-Encoding"), "gzip");
    EXPECT_LT(std::stoul(answer->get_header_value("Content-Length")), text.size() / 10);
    EXPECT_EQ(answer->body, text);  // the client has unpacked it
  }
}

TEST(HttpServer, DoesNotPackForWhoDoesNotAccept) {
  HttpHandlers what = handlers();
  what.metrics = [](Format, const ScrapeCost&) { return std::string(100'000, 'x'); };
  const auto server = serve(what);
  EXPECT_THAT(answer_to(server->address(), kGet), Not(HasSubstr("Content-Encoding")));
}

TEST(HttpServer, AnswersHeadWithoutBody) {
  const auto server = serve();
  const std::string answer =
      answer_to(server->address(), "HEAD /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(answer, HasSubstr("Content-Length: 7\r\n"));
  EXPECT_TRUE(answer.ends_with("\r\n\r\n")) << answer;
}

TEST(HttpServer, SaysWhyItIsNotReadyUntilItIs) {
  std::atomic<bool> ready = false;
  HttpHandlers what = handlers();
  what.not_ready = [&] { return std::string(ready ? "" : "not synchronized yet"); };
  const auto server = serve(what);
  const auto before = client(*server).Get("/readyz");
  EXPECT_EQ(before->status, 503);
  EXPECT_EQ(before->body, "not synchronized yet\n");
  EXPECT_EQ(client(*server).Get("/livez")->status, 200);
  ready = true;
  EXPECT_EQ(client(*server).Get("/readyz")->status, 200);
}

TEST(HttpServer, SaysWhyItIsNotLive) {
  HttpHandlers what = handlers();
  what.not_live = [] { return std::string("stuck"); };
  const auto server = serve(what);
  EXPECT_EQ(client(*server).Get("/livez")->status, 503);
}

TEST(HttpServer, ForProbesAloneThereIsNothingElse) {
  const auto server = serve(HttpHandlers{});
  EXPECT_EQ(client(*server).Get("/livez")->status, 200);
  EXPECT_EQ(client(*server).Get("/readyz")->status, 200);
  for (const char* path : {"/metrics", "/", "/api/v1/node"}) {
    EXPECT_EQ(client(*server).Get(path)->status, 404) << path;
  }
}

TEST(HttpServer, AHandlerThatThrowsIsAnAnswer) {
  HttpHandlers what = handlers();
  what.metrics = [](Format, const ScrapeCost&) -> std::string {
    throw std::runtime_error("secret");
  };
  const auto server = serve(what);
  const std::string answer = answer_to(server->address(), kGet);
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 500 "));
  EXPECT_THAT(answer, Not(HasSubstr("secret")));
  EXPECT_EQ(client(*server).Get("/livez")->status, 200);
}

// --- the page
// ------------------------------------------------------------------------------------

TEST(HttpServerPage, IsServedOnLoopback) {
  const auto server = serve();
  const auto page = client(*server).Get("/");
  EXPECT_EQ(page->status, 200);
  EXPECT_EQ(page->get_header_value("Content-Type"), "text/html; charset=utf-8");
  EXPECT_THAT(page->get_header_value("Content-Security-Policy"), HasSubstr("default-src 'none'"));
  const auto json = client(*server).Get("/api/v1/node");
  EXPECT_EQ(json->body, "{\"generation\": 1}");
  EXPECT_EQ(json->get_header_value("Content-Type"), "application/json");
}

TEST(HttpServerPage, IsNotServedOnOtherAddresses) {
  const auto server = serve(handlers(), {.listen = "0.0.0.0:0"});
  const std::string port = server->address().substr(server->address().find(':'));
  httplib::Client here("http://127.0.0.1" + port);
  EXPECT_EQ(here.Get("/")->status, 403);
  EXPECT_THAT(here.Get("/api/v1/node")->body, HasSubstr("unless pageAnywhere is true"));
  EXPECT_EQ(here.Get("/metrics")->status, 200);
}

TEST(HttpServerPage, IsServedAnywhereWhenTheConfigurationSaysSo) {
  const auto server = serve(handlers(), {.listen = "0.0.0.0:0", .page_anywhere = true});
  const std::string port = server->address().substr(server->address().find(':'));
  httplib::Client here("http://127.0.0.1" + port);
  EXPECT_EQ(here.Get("/", {{"Host", "node-7.example"}})->status, 200);
}

// A site of somebody else whose name points at this machine.
TEST(HttpServerPage, IsNotForOtherNamesOfLoopback) {
  const auto server = serve();
  const auto ask = [&](const std::string& path) {
    return client(*server).Get(path, {{"Host", "evil.example"}})->status;
  };
  EXPECT_EQ(ask("/"), 403);
  EXPECT_EQ(ask("/api/v1/node"), 403);
  EXPECT_EQ(ask("/metrics"), 200);
}

TEST(HttpServerPage, IsNotThereWithoutAHandler) {
  HttpHandlers what = handlers();
  what.page = {};
  what.node_json = {};
  const auto server = serve(what);
  EXPECT_EQ(client(*server).Get("/")->status, 404);
  EXPECT_EQ(client(*server).Get("/api/v1/node")->status, 404);
}

// --- malformed
// -----------------------------------------------------------------------------------

struct MalformedCase {
  const char* name;
  std::string request;
  std::string answer;  // how it begins; empty: no matter
};

class Malformed : public testing::TestWithParam<MalformedCase> {};

TEST_P(Malformed, IsAnsweredAndTheNextIsServed) {
  HttpOptions options;
  options.limits.read = milliseconds(300);
  const auto server = serve(handlers(), options);
  RawClient bad(server->address());
  bad.send(GetParam().request);
  EXPECT_THAT(bad.read_all(), StartsWith(GetParam().answer));
  EXPECT_TRUE(bad.closed());
  EXPECT_THAT(answer_to(server->address(), kGet), HasSubstr("text 1\n"));
}

std::string many_ranges() {
  std::string header = "0-0";
  for (int i = 0; i < 1900; ++i) header += ",0-0";
  return header;
}

INSTANTIATE_TEST_SUITE_P(
    Requests, Malformed,
    testing::Values(
        MalformedCase{"no_line", "\r\n\r\n", "HTTP/1.1 400 "},
        MalformedCase{"words", "give me metrics please\r\n\r\n", "HTTP/1.1 400 "},
        MalformedCase{"no_version", "GET /metrics\r\n\r\n", "HTTP/1.1 400 "},
        MalformedCase{"unknown_method", "BREW /metrics HTTP/1.1\r\n\r\n", "HTTP/1.1 400 "},
        MalformedCase{"unknown_path", "GET /x HTTP/1.1\r\n\r\n", "HTTP/1.1 404 "},
        MalformedCase{"path_above_the_root", "GET /../../etc/passwd HTTP/1.1\r\n\r\n",
                      "HTTP/1.1 404 "},
        MalformedCase{"encoded_nul", "GET /metrics%00 HTTP/1.1\r\n\r\n", "HTTP/1.1 404 "},
        MalformedCase{"long_path", "GET /" + std::string(9000, 'x') + " HTTP/1.1\r\n\r\n",
                      "HTTP/1.1 414 "},
        MalformedCase{"long_header",
                      "GET /metrics HTTP/1.1\r\nA: " + std::string(9000, 'x') + "\r\n\r\n",
                      "HTTP/1.1 400 "},
        MalformedCase{"endless_headers",
                      "GET /metrics HTTP/1.1\r\n" +
                          [] {
                            std::string lines;
                            for (int i = 0; i < 3000; ++i) lines += "A: xxxxxxxx\r\n";
                            return lines;
                          }(),
                      ""},
        MalformedCase{"many_ranges",
                      "GET /metrics HTTP/1.1\r\nRange: bytes=" + many_ranges() + "\r\n\r\n",
                      "HTTP/1.1 200 "},
        MalformedCase{"post", "POST /metrics HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc",
                      "HTTP/1.1 405 "},
        MalformedCase{"post_of_a_terabyte",
                      "POST /metrics HTTP/1.1\r\nContent-Length: 1099511627776\r\n\r\n",
                      "HTTP/1.1 405 "},
        MalformedCase{"endless_chunk",
                      "POST /metrics HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFF\r\n",
                      "HTTP/1.1 405 "},
        MalformedCase{"delete", "DELETE / HTTP/1.1\r\n\r\n", "HTTP/1.1 405 "},
        MalformedCase{"tls", std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11), ""},
        MalformedCase{"nuls", std::string(5000, '\0') + "\r\n\r\n", ""},
        MalformedCase{"half_a_line", "GET /met", ""}, MalformedCase{"nothing", "", ""}),
    [](const auto& one) { return one.param.name; });

// --- many, and slow ones
// -------------------------------------------------------------------------

TEST(HttpServerLoad, ManyScrapeAtOnce) {
  const ExampleNode node = full_node(50);
  HttpHandlers what = handlers();
  what.metrics = [&](Format format, const ScrapeCost& cost) {
    ExposeExtras extras = node.extras;
    extras.scrape = cost;
    return expose(node.view, node.sample, extras, format);
  };
  const auto server = serve(what);
  std::vector<std::future<int>> scrapers;
  for (int i = 0; i < 16; ++i) {
    scrapers.push_back(std::async(std::launch::async, [&] {
      int good = 0;
      for (int k = 0; k < 10; ++k) {
        const std::string answer = answer_to(server->address(), kGet);
        if (answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("\"} 1\n")) ++good;
      }
      return good;
    }));
  }
  for (auto& scraper : scrapers) EXPECT_EQ(scraper.get(), 10);
}

TEST(HttpServerLoad, SilentClientsLoseTheirConnection) {
  HttpOptions options;
  options.limits.read = milliseconds(200);
  const auto server = serve(handlers(), options);
  std::vector<std::unique_ptr<RawClient>> silent;
  for (int i = 0; i < 3; ++i) {
    silent.push_back(std::make_unique<RawClient>(server->address()));
    silent.back()->send("GET /metr");
  }
  EXPECT_THAT(answer_to(server->address(), kGet), HasSubstr("text 1\n"));
  for (const auto& one : silent) {
    one->read_all();
    EXPECT_TRUE(one->closed());
  }
}

// Each byte begins httplib's own time-out anew; ours it does not.
TEST(HttpServerLoad, AByteNowAndThenDoesNotHoldTheConnection) {
  HttpOptions options;
  options.limits.read = milliseconds(300);
  const auto server = serve(handlers(), options);
  RawClient drip(server->address());
  drip.send("GET /metrics HTTP/1.1\r\n");
  const auto begin = std::chrono::steady_clock::now();
  while (drip.send("a") && std::chrono::steady_clock::now() - begin < std::chrono::seconds(10)) {
    pollfd fd{.fd = drip.fd(), .events = POLLIN, .revents = 0};
    if (poll(&fd, 1, 20) > 0) break;  // the pace of the client; ends when the server answers
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  drip.read_all();
  EXPECT_TRUE(drip.closed());
}

TEST(HttpServerLoad, WhoDoesNotReadLosesTheAnswer) {
  HttpHandlers what = handlers();
  what.page = [] { return std::string(24 << 20, 'x'); };  // more than sockets hold
  HttpOptions options;
  options.limits.write = milliseconds(300);
  const auto server = serve(what, options);
  std::vector<std::unique_ptr<RawClient>> lazy;
  for (int i = 0; i < 2; ++i) {
    lazy.push_back(std::make_unique<RawClient>(server->address()));
    lazy.back()->send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  }
  EXPECT_THAT(answer_to(server->address(), kGet), HasSubstr("text 1\n"));
  for (const auto& one : lazy) {
    EXPECT_LT(one->read_all().size(), std::size_t{24} << 20U);
    EXPECT_TRUE(one->closed());
  }
}

TEST(HttpServerLoad, TheOldestMakeRoomAndStopDoesNotWaitForTheOthers) {
  HttpOptions options;
  options.limits.read = std::chrono::hours(1);
  auto server = serve(handlers(), options);
  const std::uint64_t closed = figures().closed_for_room;
  std::vector<std::unique_ptr<RawClient>> silent;
  for (int i = 0; i < 100; ++i) silent.push_back(std::make_unique<RawClient>(server->address()));
  // Nobody is kept out by who came before.
  EXPECT_THAT(answer_to(server->address(), kGet), HasSubstr("text 1\n"));
  silent.front()->read_all();
  EXPECT_TRUE(silent.front()->closed());
  EXPECT_EQ(figures().closed_for_room - closed, 101 - options.limits.peers.most_of_peer);
  EXPECT_LE(figures().open, options.limits.peers.most_of_peer);
  const auto begin = std::chrono::steady_clock::now();
  server.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  silent.back()->read_all();
  EXPECT_TRUE(silent.back()->closed());
  EXPECT_EQ(figures().open, 0U);
}

TEST(HttpServerLoad, AnswersThatNobodyReadsTakeOnlySoMuchMemory) {
  HttpHandlers what = handlers();
  what.page = [] { return std::string(24 << 20, 'x'); };  // more than sockets hold, and the limit
  HttpOptions options;
  options.limits.write = std::chrono::hours(1);
  const auto server = serve(what, options);
  std::vector<std::unique_ptr<RawClient>> lazy;
  for (int i = 0; i < 3; ++i) {
    lazy.push_back(std::make_unique<RawClient>(server->address()));
    lazy.back()->send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  }
  EXPECT_THAT(answer_to(server->address(), kGet), HasSubstr("text 1\n"));
  for (int i = 0; i < 2; ++i) {
    EXPECT_LT(lazy[static_cast<std::size_t>(i)]->read_all().size(), std::size_t{24} << 20U);
    EXPECT_TRUE(lazy[static_cast<std::size_t>(i)]->closed()) << i;
  }
}

// In a process of its own, whose limit is its own.
TEST(HttpServerLoad, AnswersWithoutADescriptorLeft) {
  EXPECT_EQ(test_support::in_own_process([]() -> std::string {
              const auto server = serve();
              const RawClient early(server->address());
              std::vector<Fd> clients;  // their descriptors, before there are none
              for (int i = 0; i < 4; ++i) {
                clients.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
              }
              rlimit limit{};
              getrlimit(RLIMIT_NOFILE, &limit);
              limit.rlim_cur = 128;
              setrlimit(RLIMIT_NOFILE, &limit);
              std::vector<Fd> all;
              do {
                all.emplace_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
              } while (all.back().valid());
              const auto to = net::parse_listen_address(server->address());
              for (const Fd& client : clients) {
                const auto* address = reinterpret_cast<const sockaddr*>(&to->address);
                if (connect(client.get(), address, to->size) != 0) return "connect";
                const std::string ask = "GET /livez HTTP/1.1\r\n\r\n";
                if (send(client.get(), ask.data(), ask.size(), 0) < 0) return "send";
                std::array<char, 16> answer{};
                if (recv(client.get(), answer.data(), 12, MSG_WAITALL) != 12) return "no answer";
                if (std::string(answer.data()) != "HTTP/1.1 200") return answer.data();
              }
              return figures().shortages > 0 ? "" : "there were descriptors";
            }),
            "");
}

TEST(HttpServerLoad, ItsPortIsFreeAfterTheStop) {
  auto server = serve();
  const std::string address = server->address();
  EXPECT_THAT(answer_to(address, kGet), HasSubstr("text 1\n"));
  server.reset();
  const auto again = HttpServer::start({.listen = address}, handlers(), figures());
  ASSERT_TRUE(again) << again.error().text;
}

// An agent with a perf event for each core has thousands of descriptors open; select(2) ends at
// 1024.
TEST(HttpServerLoad, ServesWithDescriptorsAboveThoseOfSelect) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlim_t before = limit.rlim_cur;
  constexpr rlim_t kNeeded = 1200;
  if (limit.rlim_max < kNeeded) GTEST_SKIP() << "the hard limit of descriptors is below 1200";
  limit.rlim_cur = std::max<rlim_t>(before, kNeeded);
  setrlimit(RLIMIT_NOFILE, &limit);
  const auto server = serve();
  std::vector<Fd> many;
  do {
    many.emplace_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
  } while (many.back().valid() && many.back().get() < FD_SETSIZE);
  EXPECT_THAT(answer_to(server->address(), kGet), HasSubstr("text 1\n"));
  many.clear();
  limit.rlim_cur = before;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace
}  // namespace pinion::agent
