// The running extender: everything composed, from the API server to the answers.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/log/log.h"
#include "cluster/extender/admission/webhook.h"
#include "cluster/extender/agents/agents.h"
#include "cluster/extender/http/server.h"
#include "cluster/extender/kube/lease.h"
#include "cluster/extender/kube/watch.h"
#include "cluster/extender/program/config.h"
#include "cluster/extender/program/elastic_jobs.h"
#include "cluster/extender/program/feeds.h"
#include "cluster/extender/program/kube_cluster.h"
#include "cluster/extender/program/leader_label.h"
#include "cluster/extender/program/learnt_profiles.h"
#include "cluster/extender/program/node_topologies.h"
#include "cluster/extender/program/service_targets.h"
#include "cluster/extender/program/startup_taint.h"
#include "cluster/extender/service/gate.h"
#include "cluster/extender/service/placing.h"

namespace pinion::cluster {

class Extender : private Pages {
 public:
  // Connects, listens, and answers once it knows the cluster and leads. Errors: of the
  // configuration and of listening, naming the setting; an API server that is away is none.
  static Result<std::unique_ptr<Extender>> start(const Config& config, Log& log);
  Extender(const Extender&) = delete;
  Extender& operator=(const Extender&) = delete;
  // Held binds are refused; the lead is given back.
  ~Extender() override;

  // Where kube-scheduler's calls are taken, and all others.
  [[nodiscard]] std::string address() const { return server_->address(); }
  [[nodiscard]] std::string web_address() const { return web_->address(); }
  // Why questions are not answered now; empty: they are.
  [[nodiscard]] std::string closed() const;
  // It led and does not any more: the process should end, and begin anew as a follower.
  [[nodiscard]] bool deposed() const { return led_ && !leading(); }
  // Does what is due. Returns after how long it is to be called again, unless hurry() says sooner.
  std::chrono::milliseconds tick();
  // Readable when tick() has something to do sooner than it has said.
  [[nodiscard]] const Fd& hurry() const { return hurry_; }

 private:
  // `own_namespace`: where our lease is, and what we keep.
  Extender(const Config& config, const policy::Defaults& defaults, std::unique_ptr<kube::Api> api,
           const std::string& own_namespace, Log& log);

  Status follow_agents(const Config& config);
  void follow(const std::vector<AgentAddress>& agents);
  void size_jobs(const Config& config);
  Status keep_targets(const Config& config);
  void watch_all(const Config& config, const kube::Access& access);
  Status elect(const Config& config, const kube::Access& access);
  Status listen(const Config& config);
  void resize(const std::string& gang, int members);
  [[nodiscard]] bool leading() const;
  [[nodiscard]] std::string unprepared() const;
  [[nodiscard]] std::string uninformed() const;
  [[nodiscard]] bool agents_heard() const;

  std::string not_live() override { return {}; }
  // A follower is ready when it could take over: it serves the webhook as well.
  std::string not_ready() override { return leading() ? closed() : uninformed(); }
  std::string not_leading() override { return closed(); }
  Page metrics(std::string_view accept) override;
  Page fleet() override;
  Page jobs(std::string_view name_space) override;
  Page home() override;
  Page plan(std::string_view job) override;

  Log& log_;
  const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::unique_ptr<kube::Api> api_;
  const bool elects_;  // false: this is the only replica
  std::unique_ptr<kube::Api> lease_api_;
  std::unique_ptr<kube::Lease> lease_;
  std::atomic<const kube::Lease*> vote_ = nullptr;  // lease_, for other threads
  std::atomic<bool> led_ = false;
  std::atomic<bool> open_ = false;  // gangs that are bound in part have their places
  std::atomic<std::size_t> followed_ = 0;
  std::atomic<bool> agents_known_ = false;  // which there are
  mutable std::atomic<bool> agents_heard_ = false;
  const Fd hurry_;

  KubeCluster cluster_;
  RefusedPods refused_;
  Placing placing_;
  JobFollower jobs_;
  Gate gate_;
  std::unique_ptr<LearntProfiles> learnt_;  // null: nothing is learnt
  const jobs::Options job_options_;
  admission::Webhook webhook_;
  AgentFeed agent_feed_;
  std::unique_ptr<StartupTaint> taint_;  // null: nodes are left as they are
  ReadyAgents ready_agents_;
  Agents agents_;
  PodFeed pods_;
  NodeFeed nodes_;
  PodGroupFeed pod_groups_;
  PodGroupFeed native_pod_groups_;
  std::unique_ptr<NodeTopologies> topologies_;  // null: none are written
  std::unique_ptr<AgentPodFeed> agent_pods_;    // null: a fixed list
  std::unique_ptr<ElasticJobs> elastic_;        // null: they are left alone
  std::unique_ptr<ServiceTargets> services_;    // null: the same
  std::vector<std::unique_ptr<kube::Watch>> watches_;
  std::unique_ptr<LeaderLabel> label_;  // null: the pod is not known, or there is one replica
  std::unique_ptr<Server> server_;      // these two last: they use all above
  std::unique_ptr<Server> web_;
};

}  // namespace pinion::cluster
