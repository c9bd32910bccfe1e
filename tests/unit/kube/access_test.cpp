#include "cluster/extender/kube/access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "cluster/extender/kube/base64.h"
#include "cluster/extender/kube/token.h"
#include "tests/support/tree.h"

namespace pinion::kube {
namespace {

using testing::HasSubstr;

void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path) << text;
}

// A kubeconfig with these lines in its cluster and its user.
std::string kubeconfig(const std::string& cluster, const std::string& user) {
  return "apiVersion: v1\nkind: Config\ncurrent-context: here\n"
         "contexts:\n- name: other\n  context: {cluster: none, user: none}\n"
         "- name: here\n  context: {cluster: c, user: u, namespace: mine}\n"
         "clusters:\n- name: c\n  cluster:\n" +
         cluster + "users:\n- name: u\n  user:\n" + user;
}

constexpr const char* kServer = "    server: https://10.0.0.1:6443\n";
constexpr const char* kToken = "    token: secret\n";

class Kubeconfigs : public testing::Test {
 protected:
  Result<Access> read(const std::string& text, const KubeconfigOptions& options = {}) {
    write(path_, text);
    return read_kubeconfig(path_, options);
  }

  test_support::TempDir directory_;
  std::string path_ = directory_.path() / "config";
};

TEST_F(Kubeconfigs, GivesServerTokenAndNamespace) {
  const auto access = read(kubeconfig(kServer, kToken));
  ASSERT_TRUE(access) << access.error().text;
  EXPECT_EQ(access->endpoint.url(), "https://10.0.0.1:6443");
  EXPECT_EQ(access->token, "secret");
  EXPECT_EQ(access->default_namespace, "mine");
  EXPECT_TRUE(access->verify);
}

TEST_F(Kubeconfigs, GivesTheProxyAndTheNameInTheCertificate) {
  const auto access = read(kubeconfig(
      std::string(kServer) + "    proxy-url: socks5://p:1080\n    tls-server-name: api.test\n",
      kToken));
  ASSERT_TRUE(access) << access.error().text;
  EXPECT_EQ(access->proxy, "socks5://p:1080");
  EXPECT_EQ(access->server_name, "api.test");
}

TEST_F(Kubeconfigs, DecodesDataAndPrefersItToFiles) {
  const auto access = read(
      kubeconfig(std::string(kServer) +
                     "    certificate-authority-data: Q0E=\n    certificate-authority: /nowhere\n",
                 "    client-certificate-data: Q0VSVA==\n    client-key-data: S0VZ\n"));
  ASSERT_TRUE(access) << access.error().text;
  EXPECT_EQ(access->ca, "CA");
  EXPECT_EQ(access->certificate, "CERT");
  EXPECT_EQ(access->key, "KEY");
}

TEST_F(Kubeconfigs, ReadsFilesBesideItself) {
  write(directory_.path() / "ca.pem", "the CA");
  const auto access = read(kubeconfig(std::string(kServer) + "    certificate-authority: ca.pem\n",
                                      "    tokenFile: token\n"));
  ASSERT_TRUE(access) << access.error().text;
  EXPECT_EQ(access->ca, "the CA");
  EXPECT_EQ(access->token_file, directory_.path() / "token");
}

TEST_F(Kubeconfigs, ObeysInsecureOnlyWhereItIsAllowed) {
  const std::string text =
      kubeconfig(std::string(kServer) + "    insecure-skip-tls-verify: true\n", kToken);
  const auto refused = read(text);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text, HasSubstr("insecure-skip-tls-verify"));
  const auto allowed = read(text, {.context = "", .allow_insecure = true});
  ASSERT_TRUE(allowed) << allowed.error().text;
  EXPECT_FALSE(allowed->verify);
}

TEST_F(Kubeconfigs, NamesAFileThatIsMissing) {
  const auto refused =
      read(kubeconfig(std::string(kServer) + "    certificate-authority: gone.pem\n", kToken));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kNotFound);
  EXPECT_THAT(refused.error().text, HasSubstr(path_));
  EXPECT_THAT(refused.error().text, HasSubstr("gone.pem"));
  const auto nothing = read_kubeconfig(directory_.path() / "none");
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code, Errc::kNotFound);
}

struct Wrong {
  const char* name;
  std::string text;
  const char* says;
};

class WrongKubeconfigs : public Kubeconfigs, public testing::WithParamInterface<Wrong> {};

TEST_P(WrongKubeconfigs, AreRefusedByName) {
  const auto refused = read(GetParam().text);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kInvalid);
  EXPECT_THAT(refused.error().text, HasSubstr(path_));
  EXPECT_THAT(refused.error().text, HasSubstr(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongKubeconfigs,
    testing::Values(
        Wrong{"no_yaml", "a: [", "no YAML"}, Wrong{"no_mapping", "- a\n", "no mapping"},
        Wrong{"empty", "", "no mapping"}, Wrong{"no_context", "kind: Config\n", "current-context"},
        Wrong{"unknown_context", "current-context: a\ncontexts: []\n", "contexts has no entry 'a'"},
        Wrong{"no_server", kubeconfig("    tls-server-name: a\n", kToken),
              "clusters[c].cluster.server"},
        Wrong{"odd_server", kubeconfig("    server: 10.0.0.1\n", kToken), "server '10.0.0.1'"},
        Wrong{"exec", kubeconfig(kServer, "    exec: {command: aws}\n"), "users[u].user.exec"},
        Wrong{"auth_provider", kubeconfig(kServer, "    auth-provider: {name: oidc}\n"),
              "users[u].user.auth-provider"},
        Wrong{"password", kubeconfig(kServer, "    password: a\n"), "users[u].user.password"},
        Wrong{"impersonation", kubeconfig(kServer, "    as: root\n"), "users[u].user.as"},
        Wrong{"proxy", kubeconfig(std::string(kServer) + "    proxy-url: ftp://p\n", kToken),
              "proxy-url: the proxy is no URL"},
        Wrong{"server_name",
              kubeconfig(std::string(kServer) + "    tls-server-name: a/b\n", kToken),
              "tls-server-name 'a/b'"},
        Wrong{"no_base64",
              kubeconfig(std::string(kServer) + "    certificate-authority-data: '?'\n", kToken),
              "certificate-authority-data: no base64"},
        Wrong{"no_boolean",
              kubeconfig(std::string(kServer) + "    insecure-skip-tls-verify: maybe\n", kToken),
              "'maybe' is neither true nor false"},
        Wrong{"list_as_text", kubeconfig(kServer, "    token: [a]\n"), "users[u].user.token"},
        Wrong{"token_of_two_lines", kubeconfig(kServer, "    token: \"a\\r\\nb\"\n"), "token"},
        Wrong{"key_without_certificate", kubeconfig(kServer, "    client-key-data: S0VZ\n"),
              "client-certificate and client-key"}),
    [](const auto& tested) { return tested.param.name; });

struct Url {
  const char* name;
  const char* text;
  const char* url;  // null: refused
};

class Urls : public testing::TestWithParam<Url> {};

TEST_P(Urls, AreReadOrRefused) {
  const auto endpoint = parse_endpoint(GetParam().text);
  ASSERT_EQ(endpoint.has_value(), GetParam().url != nullptr);
  if (endpoint) {
    EXPECT_EQ(endpoint->url(), GetParam().url);
  } else {
    EXPECT_THAT(endpoint.error().text, HasSubstr(GetParam().text));
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, Urls,
    testing::Values(Url{"port", "https://a:6443", "https://a:6443"},
                    Url{"default_port", "https://a", "https://a:443"},
                    Url{"plain", "http://a/", "http://a:80"},
                    Url{"path", "https://a:1/k8s/c1//", "https://a:1/k8s/c1"},
                    Url{"v6", "https://[::1]:6443", "https://[::1]:6443"},
                    Url{"no_scheme", "a:6443", nullptr}, Url{"no_host", "https://:1", nullptr},
                    Url{"port_0", "https://a:0", nullptr}, Url{"port_word", "https://a:x", nullptr},
                    Url{"port_too_large", "https://a:65536", nullptr},
                    Url{"open_bracket", "https://[::1", nullptr},
                    Url{"blank", "https://a /b", nullptr}, Url{"odd_host", "https://a%41", nullptr},
                    Url{"query", "https://a?b", nullptr}, Url{"user", "https://u@a", nullptr}),
    [](const auto& tested) { return tested.param.name; });

TEST(Base64, DecodesWithPaddingAndRefusesTheRest) {
  EXPECT_EQ(decode_base64("").value(), "");
  EXPECT_EQ(decode_base64("YQ==").value(), "a");
  EXPECT_EQ(decode_base64("YW\nI=\n").value(), "ab");
  EXPECT_EQ(decode_base64("YWJj").value(), "abc");
  for (const char* wrong : {"YQ", "YQ=", "Y===", "====", "Y=Q=", "Y*Jj"}) {
    EXPECT_FALSE(decode_base64(wrong)) << wrong;
  }
}

TEST(InCluster, ReadsTheServiceAccountsFolder) {
  const test_support::TempDir folder;
  InClusterOptions options{.folder = folder.path(), .host = "10.96.0.1", .port = "443"};
  const auto without = read_in_cluster(options);
  ASSERT_FALSE(without);
  EXPECT_EQ(without.error().code, Errc::kNotFound);
  EXPECT_THAT(without.error().text, HasSubstr("ca.crt"));
  write(folder.path() / "ca.crt", "the CA");
  write(folder.path() / "token", "t1\n");
  write(folder.path() / "namespace", "pinion\n");
  const auto access = read_in_cluster(options);
  ASSERT_TRUE(access) << access.error().text;
  EXPECT_EQ(access->endpoint.url(), "https://10.96.0.1:443");
  EXPECT_EQ(access->ca, "the CA");
  EXPECT_EQ(access->token_file, folder.path() / "token");
  EXPECT_EQ(access->default_namespace, "pinion");
  options.host = "fd00::1";
  EXPECT_EQ(read_in_cluster(options)->endpoint.url(), "https://[fd00::1]:443");
}

TEST(InCluster, SaysThatThisIsNoPod) {
  ASSERT_EQ(unsetenv("KUBERNETES_SERVICE_HOST"), 0);
  const auto refused = read_in_cluster();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kNotFound);
  EXPECT_THAT(refused.error().text, HasSubstr("KUBERNETES_SERVICE_HOST"));
}

class Tokens : public testing::Test {
 protected:
  void put(const std::string& text) { write(path_, text); }

  test_support::TempDir directory_;
  std::string path_ = directory_.path() / "token";
  Token::TimePoint now_{};
};

TEST_F(Tokens, AreReadAgainAfterAMinute) {
  put("one\n");
  Token token("ignored", path_);
  EXPECT_EQ(token.get(now_).value(), "one");
  put("two");
  EXPECT_EQ(token.get(now_ + std::chrono::seconds(59)).value(), "one");
  EXPECT_EQ(token.get(now_ + std::chrono::seconds(60)).value(), "two");
}

TEST_F(Tokens, AreReadAgainWhenRefused) {
  put("one");
  Token token("", path_);
  EXPECT_EQ(token.get(now_).value(), "one");
  put("two");
  EXPECT_TRUE(token.refused("one"));
  EXPECT_EQ(token.get(now_).value(), "two");
  put("three");
  EXPECT_TRUE(token.refused("one")) << "an older one";
  EXPECT_EQ(token.get(now_).value(), "two") << "was not refused";
}

TEST_F(Tokens, StayWhenTheFileIsGone) {
  put("one");
  Token token("", path_);
  EXPECT_EQ(token.get(now_).value(), "one");
  std::filesystem::remove(path_);
  EXPECT_EQ(token.get(now_ + std::chrono::hours(1)).value(), "one");
  Token never("", path_);
  ASSERT_FALSE(never.get(now_));
  EXPECT_THAT(never.get(now_).error().text, HasSubstr(path_));
}

TEST_F(Tokens, OfAFileHoldOneWord) {
  for (const char* text : {"", "\n", "a b", "a\r\nX-Injected: b\n"}) {
    put(text);
    Token token("", path_);
    ASSERT_FALSE(token.get(now_)) << text;
    EXPECT_EQ(token.get(now_).error().code, Errc::kInvalid);
  }
}

TEST_F(Tokens, MayBeFixed) {
  Token token("fixed", "");
  EXPECT_EQ(token.get(now_).value(), "fixed");
  EXPECT_FALSE(token.refused("fixed"));
}

}  // namespace
}  // namespace pinion::kube
