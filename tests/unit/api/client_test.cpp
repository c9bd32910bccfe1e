// What an agent that means ill can do to its client.
#include "agent/client/client.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "proto/pinion/v1/node.grpc.pb.h"
#include "tests/support/tree.h"

namespace pinion::agent::api {
namespace {

using testing::HasSubstr;

// Says the same to every call.
class HostileAgent : public v1::Node::Service {
 public:
  explicit HostileAgent(grpc::Status status, v1::WatchNodeResponse first = {})
      : status_(std::move(status)), first_(std::move(first)) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + socket(), grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    EXPECT_NE(server_, nullptr);
  }

  grpc::Status GetNode(grpc::ServerContext* /*context*/, const v1::GetNodeRequest* /*request*/,
                       v1::GetNodeResponse* /*response*/) override {
    return status_;
  }
  grpc::Status WatchNode(grpc::ServerContext* /*context*/, const v1::WatchNodeRequest* /*request*/,
                         grpc::ServerWriter<v1::WatchNodeResponse>* writer) override {
    writer->Write(first_);
    return status_;
  }

  Client client() {
    auto client = Client::connect("unix:" + socket());
    if (!client) throw std::runtime_error(client.error().text);
    return *std::move(client);
  }

 private:
  [[nodiscard]] std::string socket() const { return directory_.path() / "agent.sock"; }

  const grpc::Status status_;
  const v1::WatchNodeResponse first_;
  test_support::TempDir directory_;
  std::unique_ptr<grpc::Server> server_;
};

TEST(Client, ShowsAnAgentsWordsCleanAndCut) {
  const std::string words = "\x1B[2J\u202Eevil" + std::string(4000, 'x');
  for (const auto code :
       {grpc::StatusCode::INVALID_ARGUMENT, grpc::StatusCode::DEADLINE_EXCEEDED}) {
    HostileAgent agent({code, words});
    const auto node = agent.client().get_node();
    ASSERT_FALSE(node);
    EXPECT_THAT(node.error().text, HasSubstr(": \uFFFD[2J\uFFFDevilxx"));
    EXPECT_LT(node.error().text.size(), 1200U);
  }
}

TEST(Client, TakesNothingElseForASnapshot) {
  v1::WatchNodeResponse empty;
  v1::WatchNodeResponse heartbeat;
  heartbeat.mutable_heartbeat();
  v1::WatchNodeResponse nobody;
  nobody.mutable_snapshot()->add_containers();
  for (const v1::WatchNodeResponse& first : {empty, heartbeat, nobody}) {
    HostileAgent agent(grpc::Status::OK, first);
    const auto snapshot = agent.client().snapshot();
    ASSERT_FALSE(snapshot) << first.DebugString();
    EXPECT_THAT(snapshot.error().text, HasSubstr("its first message is no snapshot"));
  }
}

}  // namespace
}  // namespace pinion::agent::api
