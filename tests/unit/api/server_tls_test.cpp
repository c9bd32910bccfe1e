#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <fstream>

#include "proto/pinion/v1/node.grpc.pb.h"
#include "tests/unit/api/certificates.h"
#include "tests/unit/api/serving.h"

namespace pinion::agent::api {
namespace {

using testing::HasSubstr;

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class ServedWithTls : public Serving {
 protected:
  void SetUp() override {
    if (!has_openssl()) GTEST_SKIP() << "there is no openssl command";
    ASSERT_TRUE(make_certificates(directory_.path(), "one"));
    ASSERT_TRUE(make_certificates(directory_.path(), "two"));
    options_.listen = "127.0.0.1:0";
    options_.tls = files_of(directory_.path(), "one", "server");
    publish(empty_view());
  }

  Result<v1::NodeState> ask(const TlsFiles& files, const std::string& server_name = "") {
    auto caller = Client::connect(server_->address(), {.tls = files, .server_name = server_name});
    if (!caller) return failure(caller.error());
    return caller->get_node();
  }
  Result<v1::NodeState> ask_as(const std::string& ca) {
    return ask(files_of(directory_.path(), ca, "client"));
  }

  // What gRPC's own client says with these credentials.
  grpc::StatusCode ask_with(const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
    const auto stub = v1::Node::NewStub(grpc::CreateChannel(server_->address(), credentials));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    v1::GetNodeResponse response;
    return stub->GetNode(&context, v1::GetNodeRequest(), &response).error_code();
  }
};

TEST_F(ServedWithTls, AnswersAClientWithACertificateOfTheCa) {
  start();
  EXPECT_NE(server_->address(), "127.0.0.1:0") << "the port that was chosen";
  const auto node = ask_as("one");
  ASSERT_TRUE(node) << node.error().text;
  EXPECT_EQ(node->name(), "host");
  EXPECT_TRUE(ask(files_of(directory_.path(), "one", "client"), "agent.test"));
}

TEST_F(ServedWithTls, AnswersWithoutACertificateAtItsSocket) {
  const std::string socket = directory_.path() / "local.sock";
  options_.local = "unix:" + socket;
  start();
  EXPECT_NE(server_->address(), options_.local);
  auto caller = Client::connect(options_.local);
  ASSERT_TRUE(caller) << caller.error().text;
  EXPECT_TRUE(caller->get_node());
  EXPECT_TRUE(ask_as("one"));
  server_->stop();
  EXPECT_FALSE(std::filesystem::exists(socket));
}

TEST_F(ServedWithTls, RefusesAClientWithoutACertificate) {
  start();
  const std::string ca = text_of(options_.tls.ca);
  EXPECT_EQ(ask_with(grpc::SslCredentials(
                {.pem_root_certs = ca, .pem_private_key = "", .pem_cert_chain = ""})),
            grpc::StatusCode::UNAVAILABLE);
}

TEST_F(ServedWithTls, RefusesAClientOfAnotherCa) {
  start();
  TlsFiles mixed = files_of(directory_.path(), "two", "client");
  mixed.ca = options_.tls.ca;  // it trusts the server, the server not it
  const auto refused = ask(mixed);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kUnavailable);
}

TEST_F(ServedWithTls, RefusesAClientWithoutTls) {
  start();
  EXPECT_EQ(ask_with(grpc::InsecureChannelCredentials()), grpc::StatusCode::UNAVAILABLE);
  const auto refused = Client::connect(server_->address());
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text, HasSubstr("wants mutual TLS"));
}

TEST_F(ServedWithTls, ClientDoesNotTrustAnAgentOfAnotherCaOrName) {
  start();
  TlsFiles mixed = files_of(directory_.path(), "one", "client");
  mixed.ca = files_of(directory_.path(), "two", "client").ca;
  EXPECT_FALSE(ask(mixed));
  EXPECT_FALSE(ask(files_of(directory_.path(), "one", "client"), "another.test"));
}

TEST_F(ServedWithTls, TakesNewFilesWithoutARestart) {
  // As Kubernetes mounts secrets: the directory is a link that is exchanged.
  const std::filesystem::path link = directory_.path() / "current";
  std::filesystem::create_symlink("one", link);
  options_.tls = files_of(directory_.path(), "current", "server");
  start();
  ASSERT_TRUE(ask_as("one"));
  ASSERT_FALSE(ask_as("two"));
  std::filesystem::create_symlink("two", directory_.path() / "next");
  std::filesystem::rename(directory_.path() / "next", link);
  EXPECT_TRUE(eventually([this] { return ask_as("two").has_value(); }));
  EXPECT_FALSE(ask_as("one")) << "the old CA is trusted no more";
}

TEST_F(ServedWithTls, AddressInUseIsSaid) {
  start();
  options_.listen = server_->address();
  const auto second = ApiServer::start(options_, views_, samples_);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().text, HasSubstr("Address already in use"));
}

TEST_F(ServedWithTls, FilesThatCannotServeAreNamed) {
  const TlsFiles good = options_.tls;
  std::ofstream(directory_.path() / "empty");
  const std::string empty = directory_.path() / "empty";
  struct Case {
    TlsFiles files;
    const char* text;
  };
  const Case cases[] = {
      {{.certificate = good.certificate, .key = good.key, .ca = ""},
       "no file is given for the other side's CA"},
      {{.certificate = "/none", .key = good.key, .ca = good.ca}, "/none: No such file"},
      {{.certificate = empty, .key = good.key, .ca = good.ca}, "empty holds no certificate"},
      {{.certificate = good.certificate, .key = empty, .ca = good.ca},
       "empty holds no private key"},
      {{.certificate = good.certificate, .key = good.key, .ca = good.key},
       "server.key holds no certificate"},
      {{.certificate = good.certificate,
        .key = files_of(directory_.path(), "two", "server").key,
        .ca = good.ca},
       "is not of the certificate"},
  };
  for (const Case& test : cases) {
    options_.tls = test.files;
    const auto server = ApiServer::start(options_, views_, samples_);
    ASSERT_FALSE(server) << test.text;
    EXPECT_THAT(server.error().text, HasSubstr("serve gRPC: TLS: "));
    EXPECT_THAT(server.error().text, HasSubstr(test.text));
  }
}

}  // namespace
}  // namespace pinion::agent::api
