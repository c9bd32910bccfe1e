#include "ctl/plan/requests_file.h"

#include <gtest/gtest.h>

namespace pinion::ctl {
namespace {

using topology::Align;
using topology::MemoryPolicy;
using topology::Profile;
using topology::Request;
using topology::Smt;
using topology::Strength;

TEST(RequestsFile, AllKeys) {
  const auto requests = parse_requests(R"(
- id: solver
  count: 2
  cpus: 8
  align: l3
  strength: preferred
  smt: one-per-core
  memory: 4Gi
  memory-policy: preferred
  isolation: isolated
  near-device: mlx5_0
  job: wind
  task-group: wind-0
  profile: memory
)");
  ASSERT_TRUE(requests) << requests.error().text;
  ASSERT_EQ(requests->size(), 2U);
  const Request& second = requests->at(1);
  EXPECT_EQ(requests->at(0).id, "solver-0");
  EXPECT_EQ(second.id, "solver-1");
  EXPECT_EQ(second.cpus, 8);
  EXPECT_EQ(second.align, Align::kL3);
  EXPECT_EQ(second.strength, Strength::kPreferred);
  EXPECT_EQ(second.smt, Smt::kOnePerCore);
  EXPECT_EQ(second.memory, topology::Bytes{4} << 30);
  EXPECT_EQ(second.memory_policy, MemoryPolicy::kPreferred);
  EXPECT_TRUE(second.use_isolated);
  EXPECT_EQ(second.near_device, "mlx5_0");
  EXPECT_EQ(second.job, "wind");
  EXPECT_EQ(second.task_group, "wind-0");
  EXPECT_EQ(second.profile, Profile::kMemory);
}

TEST(RequestsFile, DefaultsAreThoseOfTheAnnotations) {
  const auto requests =
      parse_requests("- cpus: 2\n- {cpus: 2, job: j}\n- {cpus: 2, align: socket}");
  ASSERT_TRUE(requests) << requests.error().text;
  const Request& plain = requests->at(0);
  EXPECT_EQ(plain.id, "container-1");
  EXPECT_EQ(plain.align, Align::kNuma);
  EXPECT_EQ(plain.strength, Strength::kPreferred);
  EXPECT_EQ(plain.smt, Smt::kPreferFull);
  EXPECT_EQ(plain.memory_policy, MemoryPolicy::kPreferred);
  EXPECT_EQ(plain.profile, Profile::kNone);
  EXPECT_FALSE(plain.use_isolated);
  EXPECT_EQ(requests->at(1).strength, Strength::kRequired);
  EXPECT_EQ(requests->at(1).memory_policy, MemoryPolicy::kBind);
  EXPECT_EQ(requests->at(2).memory_policy, MemoryPolicy::kAny);
}

TEST(RequestsFile, JsonIsYaml) {
  const auto requests = parse_requests(R"([{"id": "a", "cpus": 2, "memory": "1.5Gi"}])");
  ASSERT_TRUE(requests) << requests.error().text;
  EXPECT_EQ(requests->at(0).memory, topology::Bytes{3} << 29);
}

struct Bad {
  const char* name;
  std::string text;
  std::string want;  // part of the error
};

TEST(RequestsFile, ErrorsNameTheLine) {
  const std::vector<Bad> cases = {
      {"unknown key", "- cpus: 1\n- cpus: 1\n  cpu: 2\n", "line 3: unknown key 'cpu'"},
      {"key twice", "- cpus: 1\n  cpus: 2\n", "line 2: key 'cpus' is given twice"},
      {"no cpus", "- cpus: 1\n- id: a\n", "line 2: the key 'cpus' is missing"},
      {"no list", "cpus: 1\n", "line 1: the file must be a list"},
      {"empty", "", "the file must be a list"},
      {"entry is a word", "- cpus: 1\n- two\n", "line 2: an entry must be a map"},
      {"zero CPUs", "- cpus: 0\n", "line 1: cpus must be a whole number from 1 to 4096"},
      {"half a CPU", "- cpus: 1.5\n", "line 1: cpus must be a whole number"},
      {"CPUs as a list", "- id: a\n  cpus: [1]\n", "line 2: cpus must be a whole number"},
      {"too many", "- cpus: 1\n  count: 9999\n- cpus: 1\n  count: 2\n",
       "line 3: more than 10000 containers"},
      {"unknown word", "- cpus: 1\n  align: core\n",
       "line 2: align: unknown value 'core', use one of: l3, numa, socket, none"},
      {"same id", "- {cpus: 1, id: a}\n- {cpus: 1, id: a}\n", "line 2: the id 'a' is given twice"},
      {"same id by count", "- {cpus: 1, id: a-1}\n- {cpus: 1, id: a, count: 2}\n",
       "line 2: the id 'a-1' is given twice"},
      {"memory", "- cpus: 1\n  memory: lots\n", "line 2: memory: quantity 'lots': no digits"},
      {"empty id", "- cpus: 1\n  id: ''\n", "line 2: id must be a word"},
      {"two documents", "- cpus: 1\n---\n- cpus: 2\n", "line 2: a second document"},
      {"broken YAML", "- cpus: 1\n  id: [\n", "line 3"},
  };
  for (const Bad& c : cases) {
    SCOPED_TRACE(c.name);
    const auto requests = parse_requests(c.text);
    ASSERT_FALSE(requests);
    EXPECT_EQ(requests.error().code, Errc::kInvalid);
    EXPECT_NE(requests.error().text.find(c.want), std::string::npos) << requests.error().text;
  }
}

}  // namespace
}  // namespace pinion::ctl
