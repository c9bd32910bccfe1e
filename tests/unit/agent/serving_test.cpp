// What the agent's doors answer, by what they are wired to.
#include "agent/serving.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/http/raw_client.h"

namespace pinion::agent {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// The probes' door and the other one.
TEST(Serving, LivezFailsWhileTheMainLoopHangs) {
  Published<NodeView> views;
  Published<metrics::Sample> samples;
  const Published<noise::Figures> noise;
  Heartbeat heart(Heartbeat::Clock::now());
  Config config;
  config.api_listen = "off";
  config.metrics_listen = "127.0.0.1:0";
  config.probe_listen = "127.0.0.1:0";
  const auto serving = Serving::start(config, views, samples, noise, heart);
  ASSERT_TRUE(serving) << serving.error().text;
  ASSERT_EQ((*serving)->addresses().size(), 2U);
  for (const auto& [what, address] : (*serving)->addresses()) {
    SCOPED_TRACE(what);
    const auto livez = [&to = address] {
      return answer_to(to, "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n");
    };
    EXPECT_THAT(livez(), StartsWith("HTTP/1.1 200 "));
    heart.beat(Heartbeat::Clock::now() - 2 * Heartbeat::kPatience);
    EXPECT_THAT(livez(), StartsWith("HTTP/1.1 503 "));
    EXPECT_THAT(livez(), HasSubstr("the main loop has hung for 2"));
    heart.beat(Heartbeat::Clock::now());
    EXPECT_THAT(livez(), StartsWith("HTTP/1.1 200 "));
  }
}

}  // namespace
}  // namespace pinion::agent
