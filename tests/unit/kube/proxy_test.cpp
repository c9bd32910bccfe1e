#include "cluster/extender/kube/proxy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>

#include "cluster/extender/kube/api.h"
#include "tests/support/tree.h"
#include "tests/unit/api/certificates.h"
#include "tests/unit/kube/connect_proxy.h"
#include "tests/unit/kube/fake_api_server.h"

namespace pinion::kube {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

struct Choice {
  const char* name;
  const char* server;
  const char* no_proxy;
  const char* proxy;  // that is chosen
};

class Choices : public testing::TestWithParam<Choice> {};

TEST_P(Choices, AreThoseOfKubectl) {
  const ProxyEnvironment environment{
      .https = "http://s:1", .http = "http://p:2", .no = GetParam().no_proxy};
  const auto endpoint = parse_endpoint(GetParam().server);
  ASSERT_TRUE(endpoint);
  EXPECT_EQ(proxy_of(*endpoint, environment), GetParam().proxy);
}

constexpr const char* kBySecure = "http://s:1";
constexpr const char* kByPlain = "http://p:2";

INSTANTIATE_TEST_SUITE_P(
    All, Choices,
    testing::Values(Choice{"https", "https://a.b", "", kBySecure},
                    Choice{"http", "http://a.b", "", kByPlain},
                    Choice{"localhost", "https://LocalHost:6443", "", ""},
                    Choice{"loopback", "https://127.9.9.9", "", ""},
                    Choice{"loopback_6", "https://[::1]", "", ""},
                    Choice{"all", "https://a.b", "x, *", ""},
                    Choice{"name", "https://A.b", " x , a.B ,", ""},
                    Choice{"other_name", "https://a.b", "c.b", kBySecure},
                    Choice{"name_above", "https://a.b.c", "b.c", ""},
                    Choice{"part_of_a_name", "https://ab.c", "b.c", kBySecure},
                    Choice{"dot_above", "https://a.b.c", ".b.c", ""},
                    Choice{"dot_itself", "https://b.c", ".b.c", kBySecure},
                    Choice{"star_above", "https://a.b.c", "*.b.c", ""},
                    Choice{"port", "https://a.b:6443", "a.b:6443", ""},
                    Choice{"other_port", "https://a.b:6443", "a.b:443", kBySecure},
                    Choice{"address", "https://10.0.0.1", "10.0.0.1", ""},
                    Choice{"address_port", "https://10.0.0.1:6443", "10.0.0.1:6443", ""},
                    Choice{"address_is_no_name", "https://1.10.0.1", "10.0.0.1", kBySecure},
                    Choice{"address_6", "https://[fd00:0::1]", "fd00::1", ""},
                    Choice{"address_6_port", "https://[fd00::1]:6443", "[fd00::1]:6443", ""},
                    Choice{"network", "https://10.200.3.4", "10.192.0.0/10", ""},
                    Choice{"other_network", "https://10.64.0.1", "10.0.0.0/10", kBySecure},
                    Choice{"network_6", "https://[fd00:1::1]", "fd00::/16", ""},
                    Choice{"all_of_6_is_not_4", "https://10.0.0.1", "fd00::/0,::/97", kBySecure},
                    Choice{"odd_networks", "https://10.0.0.1",
                           "10.0.0.0/,/8,10.0.0.0/33,10.0.0.0/x", kBySecure},
                    Choice{"odd_entries", "https://a.b", "[,],[:80,:,*.,.,:443", kBySecure}),
    [](const auto& tested) { return tested.param.name; });

struct Written {
  const char* name;
  const char* text;
  const char* url;  // null: refused
};

class WrittenProxies : public testing::TestWithParam<Written> {};

TEST_P(WrittenProxies, AreReadOrRefused) {
  const auto url = read_proxy_url(GetParam().text);
  ASSERT_EQ(url.has_value(), GetParam().url != nullptr);
  if (url) {
    EXPECT_EQ(*url, GetParam().url);
  } else {
    EXPECT_EQ(url.error().code, Errc::kInvalid);
    EXPECT_THAT(url.error().text, Not(HasSubstr("secret")));
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, WrittenProxies,
    testing::Values(Written{"http", "http://p:3128", "http://p:3128"},
                    Written{"https", "https://p", "https://p"},
                    Written{"no_scheme", "p:3128", "http://p:3128"},
                    Written{"socks", "socks5://p:1080", "socks5h://p:1080"},
                    Written{"password", "http://me:secret@p", "http://me:secret@p"},
                    Written{"other_scheme", "ftp://me:secret@p", nullptr},
                    Written{"nothing", "", nullptr}, Written{"no_host", "http://", nullptr},
                    Written{"two_lines", "http://p\r\nsecret", nullptr}),
    [](const auto& tested) { return tested.param.name; });

// A server that only a proxy knows the address of.
class BehindAProxy : public testing::Test {
 protected:
  void SetUp() override {
    if (!agent::api::has_openssl()) GTEST_SKIP() << "there is no openssl command";
    ASSERT_TRUE(agent::api::make_certificates(directory_.path(), "one"));
    const auto files = agent::api::files_of(directory_.path(), "one", "server");
    server_ = std::make_unique<FakeApiServer>(
        FakeApiServer::Files{.certificate = files.certificate, .key = files.key, .client_ca = ""});
    server_->on("GET /a", 200, {{"kind", "A"}});
    start(ConnectProxy::kAccepted);
    access_ = server_->access();
    std::ifstream ca(files.ca);
    access_.ca = {std::istreambuf_iterator<char>(ca), {}};
    access_.token = "hidden";
    access_.endpoint.host = "agent.test";  // as in the certificate
    access_.endpoint.port = 6443;
    access_.proxy = "http://" + proxy_->address();
  }
  void start(const std::string& answer) {
    proxy_ = std::make_unique<ConnectProxy>(server_->access().endpoint.port, answer);
  }
  Result<nlohmann::json> ask() {
    auto api = Api::create(access_);
    if (!api) return failure(api.error());
    return (*api)->get("/a");
  }

  test_support::TempDir directory_;
  std::unique_ptr<FakeApiServer> server_;
  std::unique_ptr<ConnectProxy> proxy_;
  Access access_;
};

TEST_F(BehindAProxy, ANameIsLookedUpByTheProxyWhichSeesNoToken) {
  const auto answer = ask();
  ASSERT_TRUE(answer) << answer.error().text;
  EXPECT_EQ(answer->at("kind"), "A");
  EXPECT_THAT(proxy_->asked(), ElementsAre(AllOf(StartsWith("CONNECT agent.test:6443 HTTP/1.1\r\n"),
                                                 Not(HasSubstr("hidden")))));
  EXPECT_EQ(server_->seen().at(0).token, "Bearer hidden");
}

TEST_F(BehindAProxy, TheAddressIsAskedForAndNotTheNameInTheCertificate) {
  access_.endpoint.host = "10.0.0.1";
  const auto refused = ask();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kDenied) << refused.error().text;
  access_.server_name = "agent.test";
  const auto answer = ask();
  ASSERT_TRUE(answer) << answer.error().text;
  EXPECT_THAT(proxy_->asked(), testing::Each(StartsWith("CONNECT 10.0.0.1:6443 HTTP/1.1\r\n")));
}

TEST_F(BehindAProxy, AStreamArrivesToo) {
  server_->stream_on("GET /stream")->send("some");
  const auto api = Api::create(access_);
  ASSERT_TRUE(api);
  std::string arrived;
  const Cancel never;
  const Status done = (*api)->stream("/stream", std::chrono::minutes(1), never, [&](auto bytes) {
    arrived += bytes;
    return false;
  });
  EXPECT_TRUE(done) << done.error().text;
  EXPECT_EQ(arrived, "some");
}

TEST_F(BehindAProxy, APasswordIsForTheProxy) {
  access_.proxy = "http://me:secret@" + proxy_->address();
  ASSERT_TRUE(ask());
  EXPECT_THAT(proxy_->asked(), ElementsAre(HasSubstr("Proxy-Authorization: Basic bWU6c2VjcmV0")));
}

TEST_F(BehindAProxy, ARefusalOfTheProxyIsSaid) {
  start("HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n");
  access_.proxy = "http://me:secret@" + proxy_->address();
  const auto refused = ask();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kUnavailable);
  EXPECT_THAT(refused.error().text,
              AllOf(HasSubstr("proxy"), HasSubstr("407"), Not(HasSubstr("secret"))));
}

// The environment of this process, and what it was before.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() {
    if (before_) {
      setenv(name_, before_->c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

TEST_F(BehindAProxy, TheEnvironmentNamesItWhereTheAccessDoesNot) {
  const Variable no("NO_PROXY", "other.test");
  const Variable https("HTTPS_PROXY", access_.proxy);
  access_.proxy.clear();
  const auto answer = ask();
  EXPECT_TRUE(answer) << answer.error().text;
  EXPECT_EQ(proxy_->asked().size(), 1U);
}

TEST_F(BehindAProxy, AnAccessWithAProxyHeedsNoException) {
  const Variable no("NO_PROXY", "agent.test");
  const auto answer = ask();
  EXPECT_TRUE(answer) << answer.error().text;
}

TEST_F(BehindAProxy, AnEnvironmentThatMakesNoUrlIsRefusedAtOnce) {
  const Variable no("NO_PROXY", "other.test");
  const Variable https("HTTPS_PROXY", "ftp://p");
  access_.proxy.clear();
  const auto api = Api::create(access_);
  ASSERT_FALSE(api);
  EXPECT_EQ(api.error().code, Errc::kInvalid);
  EXPECT_THAT(api.error().text, HasSubstr("HTTPS_PROXY"));
}

}  // namespace
}  // namespace pinion::kube
