#include "tests/lab/agent_api.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "proto/pinion/v1/node.grpc.pb.h"

namespace pinion::lab {
namespace {

namespace api = ::pinion::v1;

// An agent whose collector has made one more pass with each question.
class FakeAgent final : public api::Node::Service {
 public:
  grpc::Status ListContainers(grpc::ServerContext*, const api::ListContainersRequest*,
                              api::ListContainersResponse* response) override {
    ++asked;
    auto& bare = *response->add_containers();
    bare.set_id("bare");
    auto& counted = *response->add_containers();
    counted.set_id("counted");
    auto& figures = *counted.mutable_figures();
    figures.set_cpu_user_ns(static_cast<std::uint64_t>(asked) * 900'000'000);
    figures.set_cpu_system_ns(static_cast<std::uint64_t>(asked) * 100'000'000);
    figures.set_intrusion_ns(7);
    figures.set_l3_misses(8);
    return grpc::Status::OK;
  }
  grpc::Status GetNode(grpc::ServerContext*, const api::GetNodeRequest*,
                       api::GetNodeResponse* response) override {
    for (const auto& [event, word] :
         {std::pair{"cycles", "counted"}, {"l3-misses", "no such PMU"}}) {
      auto& support = *response->mutable_node()->add_events();
      support.set_event(event);
      support.set_availability(word);
    }
    return grpc::Status::OK;
  }

  grpc::Status WatchNode(grpc::ServerContext*, const api::WatchNodeRequest*,
                         grpc::ServerWriter<api::WatchNodeResponse>* writer) override {
    api::WatchNodeResponse response;
    auto& snapshot = *response.mutable_snapshot();
    snapshot.mutable_node()->mutable_runtime()->set_phase("synchronized");
    (*snapshot.mutable_node()->mutable_counters())["drift"] = 3;
    auto& rank = *snapshot.add_containers();
    rank.set_id("rank");
    rank.set_exclusive(true);
    rank.set_cpus("2-3");
    snapshot.add_containers()->set_finished(true);
    writer->Write(response);
    return grpc::Status::OK;
  }

  int asked = 0;
};

class AgentApiTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + socket(), grpc::InsecureServerCredentials());
    builder.RegisterService(&agent_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
  }
  void TearDown() override {
    if (server_ != nullptr) server_->Shutdown();
    std::filesystem::remove_all(folder_);
  }
  [[nodiscard]] std::string socket() const { return folder_ + "/agent.sock"; }

  std::string folder_ = std::filesystem::temp_directory_path() / "pinion-api-XXXXXX";
  FakeAgent agent_;
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(AgentApiTest, ReadsTheFiguresOfOneContainer) {
  const auto figures = AgentApi(socket()).figures("counted");
  ASSERT_TRUE(figures.has_value()) << figures.error().text;
  EXPECT_EQ(*figures, (AgentFigures{.cpu_ns = 1'000'000'000, .intrusion_ns = 7, .l3_misses = 8}));
}

TEST_F(AgentApiTest, SetsNothingThatTheAgentDoesNotSay) {
  const auto figures = AgentApi(socket()).figures("bare");
  ASSERT_TRUE(figures.has_value()) << figures.error().text;
  EXPECT_EQ(*figures, AgentFigures());
}

TEST_F(AgentApiTest, KnowsWhichContainerIsMissing) {
  const auto figures = AgentApi(socket()).figures("other");
  ASSERT_FALSE(figures.has_value());
  EXPECT_EQ(figures.error().code, Errc::kNotFound);
}

TEST_F(AgentApiTest, AsksUntilTheFiguresAreOfAfterTheRun) {
  const auto figures = AgentApi(socket()).figures_after("counted", 2.5, Milliseconds(30000));
  ASSERT_TRUE(figures.has_value()) << figures.error().text;
  EXPECT_EQ(figures->cpu_ns, 3'000'000'000U);
  EXPECT_EQ(agent_.asked, 3);
}

TEST_F(AgentApiTest, AnswersWithTheLastFiguresAfterTheLimit) {
  const auto figures = AgentApi(socket()).figures_after("counted", 1e6, Milliseconds(0));
  ASSERT_TRUE(figures.has_value()) << figures.error().text;
  EXPECT_EQ(figures->cpu_ns, 1'000'000'000U);
}

TEST_F(AgentApiTest, SaysWhyAnEventIsNotCounted) {
  const AgentApi api(socket());
  EXPECT_EQ(api.why_not_counted("l3-misses").value_or("?"), "no such PMU");
  EXPECT_EQ(api.why_not_counted("cycles").value_or("?"), "");
  EXPECT_EQ(api.why_not_counted("unheard-of").value_or("?"), "");
}

TEST_F(AgentApiTest, ReadsTheNodeAndItsLiveContainers) {
  const auto status = AgentApi(socket()).status();
  ASSERT_TRUE(status.has_value()) << status.error().text;
  EXPECT_EQ(status->phase, "synchronized");
  EXPECT_EQ(status->counters.at("drift"), 3U);
  ASSERT_EQ(status->containers.size(), 1U);
  const auto* rank = status->find("rank");
  ASSERT_NE(rank, nullptr);
  EXPECT_TRUE(rank->exclusive);
  EXPECT_EQ(rank->decided, (topology::CpuSet{2, 3}));
  EXPECT_TRUE(rank->told.empty());
  EXPECT_EQ(status->find("other"), nullptr);
}

TEST_F(AgentApiTest, SaysThatNobodyAnswers) {
  server_->Shutdown();
  server_.reset();
  const auto figures = AgentApi(socket()).figures_after("counted", 1, Milliseconds(30000));
  ASSERT_FALSE(figures.has_value());
  EXPECT_EQ(figures.error().code, Errc::kUnavailable);
}

}  // namespace
}  // namespace pinion::lab
