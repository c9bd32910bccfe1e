// A scene whose nodes have real agents. Skips where their runtime is not built.
#pragma once

#include <gmock/gmock.h>

#include <map>
#include <string>

#include "tests/e2e/agent_nodes.h"
#include "tests/e2e/scene.h"

namespace pinion::e2e {

// Base: Scene, or who is one. Every test ends with all that the scene's do, and also with: what
// ever ran has been where it was planned, and runtimes and agents have the same on their lists.
template <class Base>
class WithAgents : public Base {
 protected:
  void SetUp() override {
    Base::SetUp();
    if (this->IsSkipped() || this->HasFatalFailure()) return;
    if (const Status built = NodeRuntime::built(); !built) GTEST_SKIP() << built.error().text;
  }

  void start_nodes(int count) override {
    auto nodes = AgentNodes::start(this->cluster(), this->node_names(count));
    ASSERT_TRUE(ok(nodes));
    agents_ = nodes->get();
    this->use(*std::move(nodes));
  }

  void TearDown() override {
    if (agents_ != nullptr) {
      EXPECT_THAT(agents_->wrong(), testing::IsEmpty());
      EXPECT_EQ(agents_->difference(), "");
    }
    Base::TearDown();
  }

  AgentNodes& agents() { return *agents_; }

 private:
  AgentNodes* agents_ = nullptr;  // the scene's nodes
};

}  // namespace pinion::e2e
