// The whole of a placement, for one test: a cluster with kube-scheduler, nodes with agents, and
// pinion-extender between them.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/e2e/admin.h"
#include "tests/e2e/agent_nodes.h"
#include "tests/e2e/cluster.h"
#include "tests/e2e/collection.h"
#include "tests/e2e/extender_process.h"
#include "tests/e2e/fake_nodes.h"
#include "tests/e2e/ok.h"

namespace pinion::e2e {

struct Gang {
  std::string job;
  int size = 1;
  int cpus = 1;        // of each member
  int groups = 1;      // members go to them in turn
  bool gates = false;  // they wait at the extender's gate
};

// Skips where Kubernetes or the nodes' runtimes are not built. Shows all logs with a failure.
class Scene : public testing::Test {
 protected:
  void SetUp() override;
  [[nodiscard]] virtual ClusterOptions cluster_options() const { return {}; }
  // What every test ends with: no pod was ever refused by an agent, what the agents hold is what
  // the API server says is bound there, and the extender promises nothing beside that. With real
  // agents: what ever ran has been where it was planned, and runtimes and agents have the same on
  // their lists.
  void TearDown() override;

  // `count` nodes of 2 x 16 cores, "node-0" and so on, pinion-extender and the scheduler, which
  // calls the extender itself unless it has another URL.
  void start(int count, SchedulerOptions scheduler = {}, std::vector<std::string> flags = {});

  // The same over TLS, as the API server wants it for a webhook, which is registered. Skips where
  // there is no openssl; the cluster must have a controller manager.
  void start_with_webhook(int count, const std::vector<std::string>& flags = {});

  // The parts of it.
  static std::vector<std::string> node_names(int count);
  virtual void start_nodes(int count);  // AgentNodes, where nobody has others
  void start_fakes(int count) { start_fakes(count, FakeNodes::sockets_in(cluster_->folder())); }
  void start_fakes(int count, const FakeNodes::PlaceOf& place_of);
  void use(std::unique_ptr<Nodes> nodes) { nodes_ = std::move(nodes); }
  void start_extender(std::vector<std::string> flags);
  void start_scheduler(SchedulerOptions scheduler);  // its extender's URL: as above

  // What the extender is given; "": it looks for the agents' pods.
  [[nodiscard]] virtual std::string agents_file() const { return nodes_->agents_file(); }

  Cluster& cluster() { return *cluster_; }
  Admin& admin() { return *admin_; }
  Nodes& nodes() { return *nodes_; }
  AgentNodes& agents() { return dynamic_cast<AgentNodes&>(*nodes_); }
  FakeNodes& fakes() { return dynamic_cast<FakeNodes&>(*nodes_); }
  ExtenderProcess& extender() { return extender_; }
  // Of several extenders, the one that decides.
  virtual const ExtenderProcess& deciding() { return extender_; }
  Collection& pods() { return *pods_; }

  void add(const PodShape& pod);
  void add(const Gang& gang);
  // All of it exist, and the scheduler looks at all but the last: their binds are held. Then at
  // that one, too.
  testing::AssertionResult begin(const Gang& gang);
  void finish(const Gang& gang);
  // The shape of member `index`, named JOB-INDEX.
  static PodShape member(const Gang& gang, int index);
  static std::vector<std::string> names(const Gang& gang);
  void remove(const std::vector<std::string>& names);
  // Adds pods "filler-0" and so on of so many cores.
  std::vector<std::string> fill_cores(const std::vector<int>& cores);
  // Twelve cores are held on each NUMA node of each of `count` nodes: four are left. The first
  // `count` of the pods that do so are on different nodes.
  std::vector<std::string> fill_nodes(int count);

  // As soon as all of these are bound, and run; or are refused by the scheduler.
  testing::AssertionResult run(const std::vector<std::string>& names);
  testing::AssertionResult wait_in_vain(const std::vector<std::string>& names);
  // As soon as a small pod that is made now is bound: the scheduler has heard of what was before.
  // It stays.
  testing::AssertionResult scheduler_has_heard();
  // The pods whose names begin so, as soon as there are `count`.
  std::vector<std::string> pods_called(const std::string& beginning, int count);
  // All of the job's pods `names` succeed but the last, which is deleted: the real controller makes
  // another in its place. As soon as that one is bound.
  testing::AssertionResult last_is_replaced(const std::string& job,
                                            const std::vector<std::string>& names);
  // As soon as the extender has told in an event why the gang of one of these waits.
  testing::AssertionResult told(const std::vector<std::string>& names, const std::string& why);
  // Binds of the gang that the extender holds; -1 when it does not say.
  std::int64_t held(const Gang& gang);
  [[nodiscard]] int bound(const std::vector<std::string>& names) const;
  [[nodiscard]] std::string node_of_pod(const std::string& name) const;
  // The end that TearDown() asks for, now.
  testing::AssertionResult agents_and_api_server_agree();
  testing::AssertionResult agents_and_extender_agree();

 private:
  std::string state() const;  // of pods that are not bound

  std::unique_ptr<Cluster> cluster_;
  std::unique_ptr<Admin> admin_;
  std::unique_ptr<Nodes> nodes_;
  ExtenderProcess extender_;
  std::unique_ptr<Collection> pods_;
  int witnesses_ = 0;
};

}  // namespace pinion::e2e
