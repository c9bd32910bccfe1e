#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "cluster/extender/kube/api.h"
#include "tests/support/tree.h"
#include "tests/unit/api/certificates.h"
#include "tests/unit/kube/fake_api_server.h"

namespace pinion::kube {
namespace {

using agent::api::files_of;
using testing::HasSubstr;

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class OverTls : public testing::Test {
 protected:
  void SetUp() override {
    if (!agent::api::has_openssl()) GTEST_SKIP() << "there is no openssl command";
    ASSERT_TRUE(agent::api::make_certificates(directory_.path(), "one"));
    ASSERT_TRUE(agent::api::make_certificates(directory_.path(), "two"));
    start("");
  }

  void start(const std::string& client_ca) {
    const auto files = files_of(directory_.path(), "one", "server");
    server_ = std::make_unique<FakeApiServer>(FakeApiServer::Files{
        .certificate = files.certificate, .key = files.key, .client_ca = client_ca});
    server_->on("GET /a", 200, {{"kind", "A"}});
    access_ = server_->access();
    access_.ca = text_of(files.ca);
  }

  Result<nlohmann::json> ask() {
    auto api = Api::create(access_);
    if (!api) return failure(api.error());
    return (*api)->get("/a");
  }

  test_support::TempDir directory_;
  std::unique_ptr<FakeApiServer> server_;
  Access access_;
};

TEST_F(OverTls, TrustsACertificateOfTheCa) {
  const auto answer = ask();
  ASSERT_TRUE(answer) << answer.error().text;
  EXPECT_EQ(answer->at("kind"), "A");
}

TEST_F(OverTls, UsesTheConnectionAgain) {
  const auto api = Api::create(access_);
  ASSERT_TRUE(api);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE((*api)->get("/a"));
  const auto seen = server_->seen();
  EXPECT_EQ(seen.front().client_port, seen.back().client_port);
}

TEST_F(OverTls, RefusesACertificateOfAnotherCa) {
  access_.ca = text_of(files_of(directory_.path(), "two", "server").ca);
  const auto refused = ask();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kDenied);
  EXPECT_THAT(refused.error().text, HasSubstr("certificate is not accepted"));
  EXPECT_TRUE(server_->seen().empty()) << "the token must not be sent to a stranger";
}

TEST_F(OverTls, ComparesTheName) {
  access_.server_name = "agent.test";
  EXPECT_TRUE(ask());
  access_.server_name = "other.test";
  const auto refused = ask();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kDenied);
  access_.server_name = "127.0.0.2";
  EXPECT_FALSE(ask());
}

TEST_F(OverTls, DoesNotLookWhenThatIsAllowed) {
  access_.ca.clear();
  EXPECT_FALSE(ask());
  access_.verify = false;
  EXPECT_TRUE(ask());
}

TEST_F(OverTls, ShowsItsOwnCertificate) {
  start(files_of(directory_.path(), "one", "client").ca);
  EXPECT_FALSE(ask()) << "without one";
  const auto mine = files_of(directory_.path(), "one", "client");
  access_.certificate = text_of(mine.certificate);
  access_.key = text_of(mine.key);
  const auto answer = ask();
  EXPECT_TRUE(answer) << answer.error().text;
  const auto others = files_of(directory_.path(), "two", "client");
  access_.certificate = text_of(others.certificate);
  access_.key = text_of(others.key);
  EXPECT_FALSE(ask());
}

TEST_F(OverTls, SaysWhichTextIsNoPem) {
  const auto mine = files_of(directory_.path(), "one", "client");
  const auto says = [](const Access& access, const char* what) {
    const auto api = Api::create(access);
    ASSERT_FALSE(api);
    EXPECT_EQ(api.error().code, Errc::kInvalid);
    EXPECT_THAT(api.error().text, HasSubstr(what));
  };
  Access wrong = access_;
  wrong.ca = "CA";
  says(wrong, "certificate authority");
  wrong = access_;
  wrong.certificate = "CERT";
  says(wrong, "client certificate");
  wrong.certificate = text_of(mine.certificate);
  wrong.key = "KEY";
  says(wrong, "no private key");
  wrong.key = text_of(files_of(directory_.path(), "two", "client").key);
  says(wrong, "not of the certificate");
}

}  // namespace
}  // namespace pinion::kube
