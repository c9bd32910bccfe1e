#include "cluster/extender/program/feeds.h"

#include <nlohmann/json.hpp>

#include "cluster/extender/kube/json_read.h"
#include "cluster/extender/pods/pod_group.h"
#include "cluster/extender/pods/pod_of.h"

namespace pinion::cluster {
namespace {

using kube::json_text;

std::string name_of(const nlohmann::json& pod) {
  return json_text(pod, "metadata", "namespace") + "/" + json_text(pod, "metadata", "name");
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

void PodFeed::on_object(kube::Change change, const nlohmann::json& object) {
  if (change == kube::Change::kDeleted) {
    placing_.tell([uid = json_text(object, "metadata", "uid")](Desk& desk, std::int64_t) {
      desk.gone(uid);
      return 0;
    });
    return;
  }
  const auto view = reader_.pod(kube::json_dump(object));
  if (!view) {
    log().warn("a pod makes no sense", {{"pod", name_of(object)}, {"why", view.error().text}});
    return;
  }
  hostfiles_.seen(*view);
  const Pod pod = pod_of(*view);
  const bool room = placing_.tell([&](Desk& desk, std::int64_t) { return desk.seen(pod); });
  if (!room) {
    log().warn("a pod is bound where its cores are not free; its agent will refuse it",
               {{"pod", name_of(object)}, {"node", pod.node}});
  }
}

void NodeFeed::on_object(kube::Change change, const nlohmann::json& object) {
  if (change != kube::Change::kDeleted) return;
  const std::string node = json_text(object, "metadata", "name");
  log().info("a node is deleted", {{"node", node}});
  placing_.tell([&](Desk& desk, std::int64_t) {
    desk.lost(node);
    return 0;
  });
}

void PodGroupFeed::on_object(kube::Change change, const nlohmann::json& object) {
  const PodGroupView group = pod_group_of(object);
  placing_.tell([&](Desk& desk, std::int64_t) {
    if (change == kube::Change::kDeleted) {
      desk.group_gone(group.key);
    } else {
      desk.group(group.key, group.members);
    }
    return 0;
  });
}

void PodGroupFeed::on_synced(std::uint64_t generation) {
  Feed::on_synced(generation);
  serve(true);
}

// A cluster without PodGroups, or one that does not show them to us, is none that cannot be worked
// for; the watch tries again, and notices when they come.
void PodGroupFeed::on_trouble(const Error& error, std::chrono::milliseconds pause) {
  const bool absent = error.code == Errc::kNotFound;
  if (!absent) Feed::on_trouble(error, pause);
  if (!absent && error.code != Errc::kDenied) return;
  if (absent && !settled_) log().info("the API server has no PodGroups of scheduling.x-k8s.io", {});
  serve(false);
}

void PodGroupFeed::serve(bool served) {
  placing_.tell([served](Desk& desk, std::int64_t) {
    desk.serve_groups(served);
    return 0;
  });
  settled_ = true;
}

void AgentPodFeed::on_object(kube::Change change, const nlohmann::json& object) {
  const std::string uid = json_text(object, "metadata", "uid");
  const std::string node = json_text(object, "spec", "nodeName");
  std::string host = json_text(object, "status", "podIP");
  if (host.find(':') != std::string::npos) host = "[" + host + "]";
  const bool there = change != kube::Change::kDeleted && !node.empty() && !host.empty();
  const AgentAddress agent{.node = node, .address = host + ":" + std::to_string(port_)};
  const auto known = by_uid_.find(uid);
  if (there ? known != by_uid_.end() && known->second == agent : known == by_uid_.end()) return;
  if (there) {
    by_uid_[uid] = agent;
  } else {
    by_uid_.erase(known);
  }
  if (synced()) tell();
}

void AgentPodFeed::on_synced(std::uint64_t generation) {
  Feed::on_synced(generation);
  tell();
}

// While an agent is replaced a node has two pods: one of them, the same each time.
void AgentPodFeed::tell() const {
  std::map<std::string, AgentAddress> by_node;
  for (const auto& [uid, agent] : by_uid_) by_node.try_emplace(agent.node, agent);
  std::vector<AgentAddress> agents;
  agents.reserve(by_node.size());
  for (auto& [node, agent] : by_node) agents.push_back(std::move(agent));
  found_(agents);
}

void AgentFeed::reported(const std::string& node, NodeReport report) {
  const auto lost = placing_.tell(
      [&](Desk& desk, std::int64_t now) { return desk.report(std::move(report), now); });
  if (!lost) {
    log_.warn("what an agent reports makes no sense", {{"node", node}, {"why", lost.error().text}});
    return;
  }
  lost_ += lost->size();
  for (const LostPromise& promise : *lost) {
    log_.warn("cores that were promised are taken; the agent will refuse the container",
              {{"node", node}, {"claim", promise.id}, {"why", promise.refusal.text}});
  }
}

bool AgentFeed::measured(const std::string& node, MissRates rates) {
  return placing_.tell([&](Desk& desk, std::int64_t now) {
    desk.measured(node, std::move(rates));
    return desk.heard(node, now);
  });
}

bool AgentFeed::heard(const std::string& node) {
  return placing_.tell([&](Desk& desk, std::int64_t now) { return desk.heard(node, now); });
}

void AgentFeed::trouble(const std::string& node, const Error& error,
                        std::chrono::milliseconds pause) {
  ++troubles_;
  log_.warn("no word from an agent",
            {{"node", node}, {"why", error.text}, {"again_in_ms", std::to_string(pause.count())}});
}

}  // namespace pinion::cluster
