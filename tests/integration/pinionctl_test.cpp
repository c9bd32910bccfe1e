// The built pinionctl, over a real agent's interface.
#include "tests/integration/pinionctl.h"

#include "tests/integration/node.h"

namespace pinion::integration {
namespace {

class Root_Containerd_Pinionctl : public NodeTest {
 protected:
  Status start() { return start_agent({.more = {"--counters-interval", "100ms"}}); }

  Result<std::string> ask(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--agent", "unix:" + agent().api_socket()});
    return pinionctl(node(), std::move(arguments));
  }
};

TEST_P(Root_Containerd_Pinionctl, ShowsTheNode) {
  ASSERT_TRUE(ok(start()));
  const auto rank = run_rank("rank");
  ASSERT_TRUE(ok(rank));
  ASSERT_TRUE(ok(run_burstable("noise")));
  ASSERT_TRUE(becomes_pinned(*rank, {}, Milliseconds(10'000)));
  ASSERT_TRUE(lab::eventually(Milliseconds(10'000), [&] {
    const auto status = agent().status();
    return status && status->containers.size() == 2;
  }));
  const std::string cpus = file(*rank).to_string();

  const auto sets = ask({"node"});
  ASSERT_TRUE(ok(sets));
  EXPECT_NE(sets->find("synchronized"), std::string::npos) << *sets;
  EXPECT_NE(sets->find("lab/rank/main: CPU"), std::string::npos) << *sets;
  const auto list = ask({"ps"});
  ASSERT_TRUE(ok(list));
  EXPECT_NE(list->find("\nlab/noise/main"), std::string::npos) << *list;
  EXPECT_NE(list->find("\nlab/rank/main"), std::string::npos) << *list;
  const auto view = ask({"top", "--once"});
  ASSERT_TRUE(ok(view));
  EXPECT_NE(view->find("2 containers, 1 exclusive"), std::string::npos) << *view;
  EXPECT_NE(view->find(" A lab/rank/main"), std::string::npos) << *view;
  EXPECT_EQ(view->find('\x1b'), std::string::npos) << "colour over a pipe";
}

TEST_P(Root_Containerd_Pinionctl, RecordsAndCompares) {
  ASSERT_TRUE(ok(start()));
  const std::string busy = node().dir() + "/busy.jsonl";
  const std::string idle = node().dir() + "/idle.jsonl";
  const auto record = [&](const std::string& file, const std::string& length) {
    return ask({"record", "--out", file, "--for", length, "--interval", "200ms"});
  };
  const auto rank = run_rank("rank");
  ASSERT_TRUE(ok(rank));
  const auto recorded = record(busy, "3s");
  ASSERT_TRUE(ok(recorded));
  EXPECT_NE(recorded->find(" snapshots, "), std::string::npos) << *recorded;
  ASSERT_TRUE(ok(remove(*rank)));
  auto spec = lab::burstable_pod("rank", 100, {});
  spec.annotations["pinion.dev/job"] = "job";
  ASSERT_TRUE(ok(run(spec)));
  // What sleeps counts once for each ten passes, that is, every second.
  ASSERT_TRUE(ok(record(idle, "8s")));

  for (const char* by : {"--job=job", "--match=lab/rank/"}) {
    const auto data = pinionctl(node(), {"compare", busy, idle, by, "--json"});
    ASSERT_TRUE(ok(data));
    const auto cpu = compared(*data, "CPU use");
    ASSERT_TRUE(ok(cpu));
    EXPECT_GT(cpu->a, 0.25) << *data;
    EXPECT_LT(cpu->b, 0.05) << *data;
    EXPECT_EQ(cpu->verdict, "less") << *data;
  }
  const auto table = pinionctl(node(), {"compare", busy, idle + "@2..6", "--match", "rank"});
  ASSERT_TRUE(ok(table));
  EXPECT_NE(table->find("\nCPU use [cores]"), std::string::npos) << *table;
  const auto view = pinionctl(node(), {"ps", "--from", busy});
  ASSERT_TRUE(ok(view));
  EXPECT_NE(view->find("\nlab/rank/main"), std::string::npos) << *view;
}

INSTANTIATE_TEST_SUITE_P(Newer, Root_Containerd_Pinionctl, testing::Values("2.1"),
                         [](const auto&) { return "v21"; });

}  // namespace
}  // namespace pinion::integration
