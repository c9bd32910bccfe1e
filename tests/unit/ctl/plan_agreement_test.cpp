// The agent, `plan --live`, `plan` without an agent and the extender answer the same questions
// alike: the operator's limits and the rules of capacity are the same for all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <array>
#include <string>
#include <vector>

#include "agent/api/plan.h"
#include "agent/config.h"
#include "agent/view_publisher.h"
#include "cluster/extender/scheduling/pod_scheduler.h"
#include "ctl/plan/node_options.h"
#include "ctl/plan/plan_live.h"
#include "ctl/plan/requests_file.h"
#include "policy/annotations.h"
#include "policy/plan.h"
#include "tests/support/places.h"
#include "tests/unit/agent/node_events.h"

namespace pinion::ctl {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using Settings = std::vector<std::string>;  // options, by the names that agent and ctl share
using Answers = std::vector<std::string>;   // one for each request

std::string placed(const std::string& cpus, const std::string& mems) {
  return "CPUs " + cpus + ", memory of nodes " + (mems.empty() ? "any" : mems);
}
std::string refused(std::string_view reason, const std::string& text) {
  return "refused, " + std::string(reason) + ": " + text;
}

// --- the agent, at each container's creation

engine::Engine engine_of(const Settings& settings) {
  std::vector<const char*> argv{"pinion-agent"};
  for (const std::string& word : settings) argv.push_back(word.c_str());
  const auto config = agent::read_config(static_cast<int>(argv.size()), argv.data());
  EXPECT_TRUE(config) << (config ? "" : config.error().text);
  auto machine = topology::discover(config->source().value());
  EXPECT_TRUE(machine) << (machine ? "" : machine.error().text);
  const policy::Reserved reserved = config->kept_back();
  EXPECT_TRUE(policy::check_reserved(reserved, *machine));
  return {topology::without_reserved_memory(*machine, reserved.memory_of(*machine)),
          {.reserved = reserved.cpus,
           .strict_reservation = reserved.strict,
           .defaults = config->defaults},
          engine::FenceKind::kLeaf};
}

template <class T, std::size_t N>
void state(engine::Pod& pod, const char* name, T value, const std::array<Word<T>, N>& words) {
  const std::string word(word_of(value, words));
  if (!word.empty()) pod.annotations[name] = word;
}

// A pod of one container that asks for the same.
test_support::Unit unit_of(const topology::Request& request) {
  test_support::Unit unit =
      test_support::rank(request.id, request.cpus, static_cast<std::int64_t>(request.memory));
  engine::Pod& pod = unit.pod;
  state(pod, annotation::kAlign, request.align, topology::kAlignWords);
  state(pod, annotation::kStrength, request.strength, topology::kStrengthWords);
  state(pod, annotation::kSmt, request.smt, topology::kSmtWords);
  state(pod, annotation::kMemory, request.memory_policy, topology::kMemoryPolicyWords);
  state(pod, annotation::kIsolation, request.use_isolated, topology::kIsolationWords);
  state(pod, annotation::kProfile, request.profile, topology::kProfileWords);
  if (!request.near_device.empty()) pod.annotations[annotation::kNearDevice] = request.near_device;
  if (!request.job.empty()) pod.annotations[annotation::kJob] = request.job;
  if (!request.task_group.empty()) pod.annotations[annotation::kTaskGroup] = request.task_group;
  return unit;
}

Answers of_the_agent(const Settings& settings, const std::vector<topology::Request>& requests) {
  engine::Engine engine = engine_of(settings);
  Answers answers;
  for (const topology::Request& request : requests) {
    const test_support::Unit unit = unit_of(request);
    const auto effects = engine.handle(engine::CreateContainer{unit.pod, unit.container});
    if (effects.reply.refusal) {
      EXPECT_EQ(effects.refused.size(), 1U);
      EXPECT_THAT(*effects.reply.refusal, HasSubstr(effects.refused.front().text));
      answers.push_back(refused(effects.refused.front().reason, effects.refused.front().text));
    } else {
      answers.push_back(
          placed(effects.reply.own->cpus.to_string(), effects.reply.own->mems.to_string()));
    }
  }
  return answers;
}

// --- `plan --live`: what goes over the wire, and the service behind it

Answers of_a_live_plan(const Settings& settings, const std::vector<topology::Request>& requests) {
  Log log("error", LogFormat::kText);
  agent::Node node(engine_of(settings), std::nullopt, std::nullopt, log, std::chrono::seconds(10));
  const nri::Connection connection({.socket = "/nowhere", .session = {}}, node);
  agent::Published<agent::NodeView> views;
  agent::ViewPublisher(node, views).publish(std::chrono::steady_clock::now(), node, connection);
  const auto asked = agent::api::requests_of(plan_request_of(requests));
  EXPECT_TRUE(asked) << (asked ? "" : asked.error().text);
  const v1::PlanResponse response =
      agent::api::response_of(*views.get(), *asked, agent::api::dry_run(*views.get(), *asked));
  Answers answers;
  for (const v1::PlanResponse::Outcome& outcome : response.outcomes()) {
    answers.push_back(outcome.has_placement()
                          ? placed(outcome.placement().cpus(), outcome.placement().mems())
                          : refused(outcome.rejection().reason(), outcome.rejection().text()));
  }
  return answers;
}

// --- `plan` without an agent

Answers of_a_dry_plan(const Settings& settings, const std::vector<topology::Request>& requests) {
  CLI::App app;
  NodeOptions options;
  add_node_options(app, options);
  app.parse(std::vector<std::string>(settings.rbegin(), settings.rend()));
  const auto node = read_node(options);
  EXPECT_TRUE(node) << (node ? "" : node.error().text);
  const topology::Plan plan =
      policy::plan(node->topology, node->ledger, requests, options.privileges);
  Answers answers;
  for (const topology::Outcome& outcome : plan.outcomes) {
    const auto* decision = std::get_if<topology::Decision>(&outcome);
    const auto* refusal = std::get_if<topology::Refusal>(&outcome);
    answers.push_back(decision != nullptr
                          ? placed(decision->cpus.to_string(), decision->claim.mems.to_string())
                          : refused(topology::to_string(refusal->reason), refusal->text));
  }
  return answers;
}

// --- the extender, with the agents' settings and what such an agent reports

cluster::Pod pod_of(const topology::Request& request) {
  const test_support::Unit unit = unit_of(request);
  cluster::Pod pod;
  pod.uid = unit.pod.uid;
  pod.name_space = unit.pod.name_space;
  pod.name = unit.pod.name;
  pod.qos = policy::Qos::kGuaranteed;
  pod.annotations = unit.pod.annotations;
  pod.containers = {{.name = unit.container.name,
                     .milli_cpus = std::int64_t{1000} * request.cpus,
                     .memory = request.memory}};
  return pod;
}

// "CPUs ..." as the pod's agent is told them, or why the node is refused.
Answers of_the_extender(const Settings& settings, const std::vector<topology::Request>& requests) {
  const engine::Engine engine = engine_of(settings);
  cluster::PodScheduler scheduler(engine.defaults(), cluster::PodSchedulerLimits());
  cluster::NodeReport report;
  report.name = "node";
  report.topology = std::make_shared<const topology::Topology>(engine.state().topology);
  report.reserved = engine.state().ledger.reserved();
  report.strict_reservation = engine.state().ledger.strict();
  report.instance = "agent";
  EXPECT_TRUE(scheduler.report(std::move(report), 0));
  Answers answers;
  for (const topology::Request& request : requests) {
    const cluster::Pod pod = pod_of(request);
    const auto answer = scheduler.filter(pod, {"node"}, 1);
    EXPECT_TRUE(answer.ours);
    if (const auto verdict = answer.verdict.at(0); verdict != 0) {
      answers.push_back("refused: " + answer.texts.at(verdict - 1U).text);
      continue;
    }
    EXPECT_EQ(scheduler.bind(pod.uid, "node", 1, 1).kind, cluster::BindAnswer::Kind::kGo);
    const auto told = scheduler.told_with_binding(pod.uid).at("pinion.dev/planned");
    auto cpus = *topology::CpuSet::parse(told.substr(told.find('=') + 1));
    if (request.smt == topology::Smt::kOnePerCore) {  // promised with the siblings that stay empty
      for (const topology::Core& core : engine.state().topology.cores) {
        const topology::CpuSet held = cpus & core.cpus;
        if (!held.empty()) cpus = (cpus - held) | topology::CpuSet{held.first()};
      }
    }
    answers.push_back("CPUs " + cpus.to_string());
  }
  return answers;
}

// It says the same CPUs, and the same of what the operator does not allow. Of what has no room it
// says in fewer words how many nodes have none.
void expect_the_same(const Answers& extender, const Answers& agent) {
  ASSERT_EQ(extender.size(), agent.size());
  for (std::size_t i = 0; i < agent.size(); ++i) {
    const std::string annotation = "refused, annotation: ";
    if (agent[i].starts_with(annotation)) {
      EXPECT_THAT(extender[i], HasSubstr(agent[i].substr(annotation.size())));
    } else if (agent[i].starts_with("refused")) {
      EXPECT_THAT(extender[i], StartsWith("refused"));
    } else {
      EXPECT_EQ(extender[i], agent[i].substr(0, agent[i].find(", memory")));
    }
  }
}

struct Question {
  const char* name;
  Settings settings;
  const char* requests;  // as the file of `pinionctl plan`
  Answers answers;       // a part of each
};

std::string machine() {
  return "synthetic:package:2 numa:2(memory=64GiB) l3:2 core:4 pu:2";  // 16 CPUs in each node
}
std::string with_devices() {
  return "xml:" + test_support::in_checkout("tests/golden/nic_gpu_per_node/topology.xml");
}

TEST(EveryPlan, AnswersAsTheAgentDoes) {
  const Question questions[] = {
      {"ranks of a job, bound to their nodes' memory",
       {"--topology", machine(), "--reserved-cpus", "0-1"},
       "- {id: rank, count: 5, cpus: 4, memory: 40Gi, job: wind}",
       {"CPUs 2-5, memory of nodes 0", "nodes 1", "nodes 2", "nodes 3",
        "refused, memory: not enough memory left in any NUMA node with 4 CPUs free: need 40 "
        "GiB, largest 23 GiB"}},
      {"more than a node has without the usual reserved memory",
       {"--topology", machine()},
       "- {cpus: 4, memory: 63.5Gi, job: wind}",
       {"refused, topology: not enough memory"}},
      {"the same with nothing reserved",
       {"--topology", machine(), "--reserved-memory", ""},
       "- {cpus: 4, memory: 63.5Gi, job: wind}",
       {"CPUs 0-3, memory of nodes 0"}},
      {"other reserved memory on each node",
       {"--topology", machine(), "--reserved-memory", "0:memory=10Gi;1:memory=2Gi;2:memory=20Gi"},
       "- {id: r, count: 2, cpus: 4, memory: 62Gi, strength: required}",
       {"nodes 1", "nodes 3"}},
      {"one-per-core where it is not allowed",
       {"--topology", machine()},
       "- {cpus: 2, smt: one-per-core}\n- {cpus: 2}",
       {"refused, annotation: annotation pinion.dev/smt: one-per-core holds more CPUs than the "
        "pod's request counts; this node's allowedPrivileges does not have 'one-per-core'",
        "CPUs 0-1"}},
      {"one-per-core where it is allowed",
       {"--topology", machine(), "--allowed-privileges", "one-per-core"},
       "- {cpus: 2, smt: one-per-core}\n- {cpus: 2}",
       {"CPUs 0,2", "CPUs 4-5"}},
      {"isolated CPUs where they are not allowed",
       {"--topology", machine(), "--allowed-privileges", "one-per-core,near-device"},
       "- {cpus: 2, isolation: isolated}",
       {"refused, annotation: annotation pinion.dev/isolation: isolated CPUs are set apart by the "
        "operator; this node's allowedPrivileges does not have 'isolated'"}},
      {"isolated CPUs where they are allowed and there are none",
       {"--topology", machine(), "--allowed-privileges", "isolated"},
       "- {cpus: 2, isolation: isolated}",
       {"CPUs 0-1"}},
      {"a device, which is allowed by default",
       {"--topology", with_devices()},
       "- {cpus: 2, near-device: ib1}\n- {cpus: 2, near-device: nosuch0}",
       {"CPUs 4,12", "refused, topology: "}},
      {"a device where nothing is allowed",
       {"--topology", with_devices(), "--allowed-privileges", ""},
       "- {cpus: 2, near-device: ib1}",
       {"refused, annotation: annotation pinion.dev/near-device: "}},
      {"the last CPUs that everybody else may use",
       {"--topology", "synthetic:numa:1 core:4 pu:1", "--reserved-cpus", "0"},
       "- {cpus: 3}",
       {"CPUs 1-3"}},
      {"the same where reserved CPUs are for the system alone",
       {"--topology", "synthetic:numa:1 core:4 pu:1", "--reserved-cpus", "0",
        "--strict-cpu-reservation"},
       "- {cpus: 3}\n- {cpus: 2}",
       {"refused, last-shared: no CPU would be left for all other containers beside the reserved "
        "ones (0)",
        "CPUs 1-2"}},
      {"an odd number of whole cores, and one that climbs",
       {"--topology", machine()},
       "- {cpus: 3, smt: full-core}\n- {cpus: 20, align: numa}\n- {cpus: 20, job: wind}",
       {"refused, topology: ", "CPUs 0-19", "refused, topology: "}},
  };
  for (const Question& question : questions) {
    SCOPED_TRACE(question.name);
    const auto requests = parse_requests(question.requests);
    ASSERT_TRUE(requests) << requests.error().text;
    const Answers agent = of_the_agent(question.settings, *requests);
    ASSERT_EQ(agent.size(), question.answers.size());
    for (std::size_t i = 0; i < agent.size(); ++i) {
      EXPECT_THAT(agent[i], HasSubstr(question.answers[i]));
    }
    EXPECT_EQ(of_a_live_plan(question.settings, *requests), agent);
    EXPECT_EQ(of_a_dry_plan(question.settings, *requests), agent);
    expect_the_same(of_the_extender(question.settings, *requests), agent);
  }
}

}  // namespace
}  // namespace pinion::ctl
