// TLS with certificates of the openssl command.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <csignal>
#include <deque>
#include <filesystem>
#include <mutex>
#include <thread>

#include "base/whole_file.h"
#include "base/x509/read.h"
#include "tests/support/eventually.h"
#include "tests/support/tree.h"
#include "tests/unit/api/certificates.h"
#include "tests/unit/extender_http/playing.h"

namespace pinion::cluster {
namespace {

using agent::api::files_of;
using test_support::eventually;
using testing::HasSubstr;

class ServerTls : public testing::Test {
 protected:
  void SetUp() override {
    if (!agent::api::has_openssl()) GTEST_SKIP() << "there is no openssl command";
    ASSERT_TRUE(agent::api::make_certificates(folder_.path(), "one"));
    ASSERT_TRUE(agent::api::make_certificates(folder_.path(), "two"));
    use("one");
    std::signal(SIGPIPE, SIG_IGN);  // for httplib's clients, whom a server may refuse
  }
  void TearDown() override { std::signal(SIGPIPE, SIG_DFL); }

  // Puts certificate and key of that CA's server where the extender reads them.
  void use(const std::string& name) {
    const auto from = files_of(folder_.path(), name, "server");
    replace(from.certificate, "tls.crt");
    replace(from.key, "tls.key");
  }

  void replace(const std::string& from, const std::string& to) {
    const auto target = folder_.path() / to;
    std::filesystem::copy_file(from, target.string() + ".new");
    std::filesystem::rename(target.string() + ".new", target);
  }

  [[nodiscard]] TlsFiles files(const std::string& client_ca = "") const {
    return {.certificate = folder_.path() / "tls.crt",
            .key = folder_.path() / "tls.key",
            .client_ca = client_ca.empty() ? "" : ca(client_ca)};
  }
  [[nodiscard]] std::string ca(const std::string& name) const {
    return files_of(folder_.path(), name, "client").ca;
  }

  // When that certificate ends.
  [[nodiscard]] std::int64_t end_of(const std::string& name, const std::string& who) const {
    const auto text = read_file(files_of(folder_.path(), name, who).certificate, 1);
    const auto read = text ? x509::read_certificates(*text) : failure(text.error());
    return read ? read->front().validity.to_s : -1;
  }

  // The status of a filter call by a client that trusts the CA `name`; 0: no connection.
  static int call(httplib::SSLClient& client, const std::string& ca) {
    client.set_ca_cert_path(ca.c_str());
    client.enable_server_certificate_verification(true);
    const auto answer = client.Post("/filter", filter_body(), "application/json");
    return answer ? answer->status : 0;
  }
  [[nodiscard]] int call(const Playing& playing, const std::string& name) const {
    httplib::SSLClient client("127.0.0.1", port(playing));
    return call(client, ca(name));
  }
  [[nodiscard]] int call_as(const Playing& playing, const std::string& authority,
                            const std::string& who = "client") const {
    const auto own = files_of(folder_.path(), authority, who);
    httplib::SSLClient client("127.0.0.1", port(playing), own.certificate, own.key);
    return call(client, ca("one"));
  }

  static int port(const Playing& playing) {
    const std::string address = playing.server->address();
    return std::stoi(address.substr(address.rfind(':') + 1));
  }

  test_support::TempDir folder_;
};

TEST_F(ServerTls, ServesWhoTrustsItsCertificate) {
  const Playing playing({.listen = {}, .prefix = {}, .tls = files()});
  EXPECT_EQ(call(playing, "one"), 200);
  EXPECT_EQ(call(playing, "two"), 0);
}

TEST_F(ServerTls, KeepsConnectionsAndSendsLargeAnswers) {
  const Playing playing({.listen = {}, .prefix = {}, .tls = files()});
  std::string body = filter_body();
  std::string names;
  for (int i = 0; i < 20'000; ++i) names += "\"node-" + std::to_string(i) + "\",";
  body.insert(body.find('[') + 1, names);
  httplib::SSLClient client("127.0.0.1", port(playing));
  client.set_ca_cert_path(ca("one").c_str());
  client.set_keep_alive(true);
  for (int i = 0; i < 3; ++i) {
    const auto answer = client.Post("/prioritize", body, "application/json");
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 200);
    EXPECT_GT(answer->body.size(), 500'000U);
  }
  EXPECT_EQ(playing.server->figures().connections, 1U);
}

TEST_F(ServerTls, TakesNewCertificatesWhenTheFilesChange) {
  const Playing playing({.listen = {}, .prefix = {}, .tls = files()});
  EXPECT_EQ(call(playing, "one"), 200);
  use("two");
  EXPECT_EQ(call(playing, "two"), 200);
  EXPECT_EQ(call(playing, "one"), 0);
}

TEST_F(ServerTls, KeepsWhatItHasWhileTheNewFilesMakeNoSense) {
  const Playing playing({.listen = {}, .prefix = {}, .tls = files()});
  replace(files_of(folder_.path(), "two", "server").certificate, "tls.crt");
  EXPECT_EQ(call(playing, "one"), 200);
  EXPECT_THAT(playing.server->figures().tls_error, HasSubstr("tls.key"));
  replace(files_of(folder_.path(), "two", "server").key, "tls.key");
  EXPECT_EQ(call(playing, "two"), 200);
  EXPECT_EQ(playing.server->figures().tls_error, "");
}

TEST_F(ServerTls, CallsNeedACertificateOfTheClientsCaAndProbesDoNot) {
  const Playing playing({.listen = {}, .prefix = {}, .tls = files(/*client_ca=*/"one")});
  EXPECT_EQ(call(playing, "one"), 403);
  EXPECT_EQ(playing.server->figures().client_end_s, 0);
  EXPECT_EQ(call_as(playing, "one"), 200);
  EXPECT_EQ(call_as(playing, "two"), 0);
  EXPECT_EQ(playing.server->figures().client_end_s, end_of("one", "client"));
  EXPECT_EQ(playing.server->figures().own_end_s, end_of("one", "server"));
  httplib::SSLClient probe("127.0.0.1", port(playing));
  probe.set_ca_cert_path(ca("one").c_str());
  EXPECT_EQ(probe.Get("/livez")->status, 200);
  EXPECT_EQ(probe.Get("/metrics")->status, 200);
  EXPECT_EQ(probe.Get("/v1/fleet")->status, 403);
  EXPECT_EQ(probe.Post("/v1/plan", "{}", "application/json")->status, 403);
  // The API server shows its webhooks no certificate.
  EXPECT_EQ(probe.Post("/mutate", "{}", "application/json")->status, 200);
}

TEST_F(ServerTls, WhereAllNeedACertificateThereIsNoConnectionWithout) {
  TlsFiles only = files(/*client_ca=*/"one");
  only.clients_only = true;
  const Playing playing({.listen = {}, .prefix = {}, .tls = only});
  EXPECT_EQ(call(playing, "one"), 0);
  EXPECT_EQ(call_as(playing, "two"), 0);
  EXPECT_EQ(call_as(playing, "one"), 200);
}

TEST_F(ServerTls, OfOneAuthorityOnlyCertificatesWithOneOfTheNamesAreTaken) {
  for (const auto& [who, names] :
       {std::pair{"scheduler", "DNS:a.test,DNS:pinion-scheduler"},
        std::pair{"agent", "DNS:pinion-agent"}, std::pair{"all", "DNS:*.test"}}) {
    ASSERT_TRUE(agent::api::make_certificate(folder_.path(), "one", who, names));
  }
  const auto calls = [&](std::vector<std::string> names) {
    TlsFiles named = files(/*client_ca=*/"one");
    named.clients_only = true;
    named.client_names = std::move(names);
    const Playing playing({.listen = {}, .prefix = {}, .tls = named});
    std::vector<std::string> taken;
    for (const char* who : {"scheduler", "agent", "all", "client"}) {
      if (call_as(playing, "one", who) == 200) taken.emplace_back(who);
    }
    return taken;
  };
  using testing::ElementsAre;
  EXPECT_THAT(calls({}), ElementsAre("scheduler", "agent", "all", "client"));
  EXPECT_THAT(calls({"pinion-scheduler"}), ElementsAre("scheduler"));
  EXPECT_THAT(calls({"b.test", "a.test"}), ElementsAre("scheduler"));
  EXPECT_THAT(calls({"client"}), ElementsAre("client")) << "by its common name";
  EXPECT_THAT(calls({"agent"}), ElementsAre("agent")) << "by its common name";
  EXPECT_THAT(calls({"nobody"}), ElementsAre());
}

TEST_F(ServerTls, ARefusedHandshakeIsCountedAndTold) {
  std::mutex mutex;
  std::vector<std::string> told;
  PlayedCallbacks callbacks;
  TlsFiles named = files(/*client_ca=*/"one");
  named.clients_only = true;
  named.client_names = {"pinion-scheduler"};
  const auto server = Server::start({.listen = "127.0.0.1:0", .prefix = {}, .tls = named},
                                    {.scheduler = &callbacks, .refused = [&](std::string_view why) {
                                       const std::lock_guard lock(mutex);
                                       told.emplace_back(why);
                                     }});
  ASSERT_TRUE(server) << server.error().text;
  const auto is_told = [&] {
    const std::lock_guard lock(mutex);
    return !told.empty();
  };
  const auto knock = [&](const char* authority) {
    const auto own = files_of(folder_.path(), authority, "client");
    const std::string address = (*server)->address();
    httplib::SSLClient client("127.0.0.1", std::stoi(address.substr(address.rfind(':') + 1)),
                              own.certificate, own.key);
    EXPECT_EQ(call(client, ca("one")), 0);
  };
  knock("one");
  EXPECT_TRUE(eventually([&] { return is_told(); }));
  knock("two");
  EXPECT_TRUE(eventually([&] { return (*server)->figures().handshakes_refused >= 2; }));
  const std::lock_guard lock(mutex);
  EXPECT_EQ(told[0], "TLS with 127.0.0.1: its certificate has another name");
}

// OpenSSL would raise SIGPIPE, which ends the program.
TEST_F(ServerTls, MayAnswerAClientThatIsGone) {
  Playing playing({.listen = {}, .prefix = {}, .tls = files()});
  playing.callbacks.hold(true);
  httplib::SSLClient client("127.0.0.1", port(playing));
  client.set_ca_cert_path(ca("one").c_str());
  client.set_read_timeout(std::chrono::milliseconds(200));
  EXPECT_FALSE(client.Post("/bind", bind_body(1), "application/json"));
  ASSERT_TRUE(playing.callbacks.wait_for_held(1));
  std::signal(SIGPIPE, SIG_DFL);
  playing.callbacks.hold(false);
  EXPECT_TRUE(eventually([&] { return playing.server->figures().connections == 0; }));
}

// On a port for both, as the extender's second one.
TEST_F(ServerTls, WhoShowsNoCertificateEndsNobodyThatHas) {
  ServerOptions options{.listen = {}, .prefix = {}, .tls = files(/*client_ca=*/"one")};
  options.limits.connections = 2;
  options.limits.kept_from_binds = 1;
  const Playing playing(options);
  const auto own = files_of(folder_.path(), "one", "client");
  std::deque<httplib::SSLClient> known;
  const auto ask = [&](httplib::SSLClient& client) {
    client.set_keep_alive(true);
    client.set_ca_cert_path(ca("one").c_str());
    const auto answer = client.Get("/livez");
    EXPECT_TRUE(answer && answer->status == 200);
    return answer ? answer->get_header_value("Connection") : "";
  };
  for (int i = 0; i < 3; ++i) {
    auto& client = known.emplace_back("127.0.0.1", port(playing), own.certificate, own.key);
    EXPECT_EQ(ask(client), "keep-alive") << i;
  }
  EXPECT_EQ(playing.server->figures().turned_away, 1U) << "the first, for the third";
  httplib::SSLClient probe("127.0.0.1", port(playing));
  EXPECT_EQ(ask(probe), "close");
  EXPECT_EQ(playing.server->figures().turned_away, 2U);
}

TEST_F(ServerTls, PlainRequestsAndSilentClientsEnd) {
  ServerOptions options{.listen = {}, .prefix = {}, .tls = files()};
  options.limits.headers = std::chrono::seconds(2);
  options.limits.first = std::chrono::seconds(2);
  const Playing playing(options);
  agent::RawClient plain(playing.server->address());
  plain.send(post("/filter", filter_body()));
  plain.read_all();
  EXPECT_TRUE(plain.closed());
  agent::RawClient silent(playing.server->address());
  silent.read_all();
  EXPECT_TRUE(silent.closed());
  EXPECT_EQ(call(playing, "one"), 200);
}

TEST_F(ServerTls, NamesTheFileThatIsWrongAtTheStart) {
  PlayedCallbacks callbacks;
  PlayedPages pages;
  TlsFiles wrong = files();
  wrong.key = folder_.path() / "none.key";
  const auto server = Server::start({.listen = "127.0.0.1:0", .prefix = {}, .tls = wrong},
                                    {.scheduler = &callbacks, .pages = &pages});
  ASSERT_FALSE(server);
  EXPECT_THAT(server.error().text, HasSubstr("none.key"));
}

}  // namespace
}  // namespace pinion::cluster
