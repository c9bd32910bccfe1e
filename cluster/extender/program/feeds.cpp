#include "cluster/extender/program/feeds.h"

#include <nlohmann/json.hpp>

#include "cluster/extender/kube/json_read.h"
#include "cluster/extender/pods/node_of.h"
#include "cluster/extender/pods/pod_group.h"
#include "cluster/extender/pods/pod_of.h"
#include "cluster/extender/program/server_name.h"

namespace pinion::cluster {
namespace {

using kube::json_text;

std::string called(PodGroupApi api) {
  return api == PodGroupApi::kNative ? "PodGroups of scheduling.k8s.io"
                                     : "PodGroups of scheduling.x-k8s.io";
}

bool is_ready(const nlohmann::json& pod) {
  if (!json_text(pod, "metadata", "deletionTimestamp").empty()) return false;
  if (json_text(pod, "status", "phase") != "Running") return false;
  return kube::has_condition(pod, "Ready");
}

}  // namespace

void Feed::on_synced(std::uint64_t generation) {
  synced_ = true;
  log_.info("the API server's list is complete",
            {{"of", what_}, {"generation", std::to_string(generation)}});
}

void Feed::on_trouble(const Error& error, std::chrono::milliseconds pause) {
  log_.warn("the API server was not understood or not reached",
            {{"list", what_}, {"why", error.text}, {"pause_ms", std::to_string(pause.count())}});
}

Status PodFeed::on_raw(kube::Change change, const kube::RawObject& object) {
  const View view = reader_.pod(object.json);
  if (view && change != kube::Change::kModified) jobs_.changed(*view);
  if (change == kube::Change::kDeleted) {
    gone(std::string(object.uid));
  } else if (view) {
    seen(*view);
  } else {
    log().warn("a pod makes no sense",
               {{"pod", std::string(object.name_space) + "/" + std::string(object.name)},
                {"why", view.error().text}});
  }
  look_(change, object, view);
  return {};
}

void PodFeed::gone(const std::string& uid) {
  refused_.gone(uid);
  placing_.tell([&uid](PodScheduler& scheduler, std::int64_t now) {
    scheduler.gone(uid, now);
    return 0;
  });
}

void PodFeed::seen(const wire::PodSpecView& view) {
  refused_.seen(view);
  const Pod pod = pod_of(view);
  const bool room = placing_.tell(
      [&](PodScheduler& scheduler, std::int64_t now) { return scheduler.seen(pod, now); });
  if (!room) {
    log().warn("a pod is bound where its cores are not free; its agent will refuse it",
               {{"pod", pod.name_space + "/" + pod.name}, {"node", pod.node}});
  }
}

void NodeFeed::on_object(kube::Change change, const nlohmann::json& object) {
  if (change == kube::Change::kDeleted) {
    const std::string node = json_text(object, "metadata", "name");
    log().info("a node is deleted", {{"node", node}});
    placing_.tell([&](PodScheduler& scheduler, std::int64_t now) {
      scheduler.lost(node, now);
      return 0;
    });
  } else {
    const NodeView view = node_of(object);
    placing_.tell([&](PodScheduler& scheduler, std::int64_t now) {
      scheduler.node(view, now);
      return 0;
    });
  }
  look_(change, object);
}

PodGroupFeed::PodGroupFeed(PodGroupApi api, Placing& placing, Log& log)
    : Feed(called(api), log), api_(api), placing_(placing) {}

void PodGroupFeed::on_object(kube::Change change, const nlohmann::json& object) {
  const PodGroupView group = pod_group_of(api_, object);
  placing_.tell([&](PodScheduler& scheduler, std::int64_t now) {
    if (change == kube::Change::kDeleted) {
      scheduler.group_gone(group.key);
    } else {
      scheduler.group(group.key, group.members, now);
    }
    return 0;
  });
}

void PodGroupFeed::on_synced(std::uint64_t generation) {
  Feed::on_synced(generation);
  refused_lists_ = 0;
  serve(true);
}

void PodGroupFeed::on_trouble(const Error& error, std::chrono::milliseconds pause) {
  if (error.code != Errc::kNotFound) Feed::on_trouble(error, pause);
}

// A cluster without PodGroups, or one that does not show them to us, is none that cannot be worked
// for; the watch tries again, and notices when they come. A watch that is refused says nothing: it
// goes on where it was, and lists again if that lasts. Nor do a few lists, once one has been
// complete: an API server that has just started does not know them yet, and pods that go one by one
// meanwhile cannot be called back.
void PodGroupFeed::on_list_failed(const Error& error) {
  const bool absent = error.code == Errc::kNotFound;
  if (!absent && error.code != Errc::kDenied) return;
  if (synced() && ++refused_lists_ < kRefusedLists) return;
  if (synced() && refused_lists_ == kRefusedLists) {
    log().warn(called(api_) + " mean nothing any more", {{"why", error.text}});
  }
  if (absent && !complete_) log().info("the API server has no " + called(api_), {});
  serve(false);
}

void PodGroupFeed::serve(bool served) {
  placing_.tell([&](PodScheduler& scheduler, std::int64_t) {
    scheduler.serve_groups(api_, served);
    return 0;
  });
  served_ = served;
  complete_ = true;
}

void AgentPodFeed::on_object(kube::Change change, const nlohmann::json& object) {
  const std::string uid = json_text(object, "metadata", "uid");
  auto agent = change == kube::Change::kDeleted ? std::nullopt : agent_of(object);
  const auto known = by_uid_.find(uid);
  if (agent ? known != by_uid_.end() && known->second == *agent : known == by_uid_.end()) return;
  if (agent) {
    by_uid_[uid] = *std::move(agent);
  } else {
    by_uid_.erase(known);
  }
  if (synced()) tell();
}

std::optional<AgentPodFeed::AgentPod> AgentPodFeed::agent_of(const nlohmann::json& pod) const {
  const std::string node = json_text(pod, "spec", "nodeName");
  std::string host = json_text(pod, "status", "podIP");
  if (node.empty() || host.empty() || !is_ready(pod)) return std::nullopt;
  if (host.find(':') != std::string::npos) host = "[" + host + "]";
  return AgentPod{.created = json_text(pod, "metadata", "creationTimestamp"),
                  .agent = {.node = node,
                            .address = host + ":" + std::to_string(interface_.port),
                            .server_name = server_name(interface_.server_name, node,
                                                       json_text(pod, "metadata", "name"))}};
}

void AgentPodFeed::on_synced(std::uint64_t generation) {
  Feed::on_synced(generation);
  tell();
}

// While an agent is replaced a node has two pods: the newest of them counts, and of equal ones that
// with the greater uid.
void AgentPodFeed::tell() const {
  std::map<std::string, const AgentPod*> by_node;
  for (const auto& [uid, pod] : by_uid_) {
    const AgentPod*& newest = by_node[pod.agent.node];
    if (newest == nullptr || newest->created <= pod.created) newest = &pod;
  }
  std::vector<AgentAddress> agents;
  agents.reserve(by_node.size());
  for (const auto& [node, pod] : by_node) agents.push_back(pod->agent);
  found_(agents);
}

void AgentFeed::reported(const std::string& node, NodeReport report) {
  const auto lost = placing_.tell([&](PodScheduler& scheduler, std::int64_t now) {
    return scheduler.report(std::move(report), now);
  });
  if (!lost) {
    log_.warn("what an agent reports makes no sense", {{"node", node}, {"why", lost.error().text}});
    return;
  }
  lost_promises_ += lost->size();
  for (const LostPromise& promise : *lost) {
    log_.warn("cores that were promised are taken; the agent will refuse the container",
              {{"node", node}, {"claim", promise.id}, {"why", promise.refusal.text}});
  }
}

bool AgentFeed::measured(const std::string& node, MissRates rates) {
  return placing_.tell([&](PodScheduler& scheduler, std::int64_t now) {
    scheduler.measured(node, std::move(rates));
    return scheduler.heard(node, now);
  });
}

bool AgentFeed::heard(const std::string& node) {
  return placing_.tell(
      [&](PodScheduler& scheduler, std::int64_t now) { return scheduler.heard(node, now); });
}

void AgentFeed::unlinked(const std::string& node) {
  log_.warn("an agent has lost its runtime, its node gets no pods until it is back",
            {{"node", node}});
  placing_.tell([&](PodScheduler& scheduler, std::int64_t now) {
    scheduler.unlinked(node, now);
    return 0;
  });
}

void AgentFeed::used(const std::string& node, const std::vector<ContainerUse>& uses) {
  learnt_->used(node, uses);
}

void AgentFeed::connected(const std::string& node) {
  log_.info("an agent is connected", {{"node", node}});
}

void AgentFeed::lost(const std::string& node, const Error& why) {
  log_.info("an agent is not connected", {{"node", node}, {"why", why.text}});
}

}  // namespace pinion::cluster
