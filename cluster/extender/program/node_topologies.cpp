#include "cluster/extender/program/node_topologies.h"

#include <algorithm>
#include <utility>

#include "cluster/extender/kube/json_read.h"
#include "cluster/extender/kube/path.h"

namespace pinion::cluster {
namespace {

using nlohmann::json;

constexpr std::chrono::milliseconds kTopologyLimit{4'000};
constexpr const char* kTopologies = "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies";

}  // namespace

NodeTopologies::NodeTopologies(kube::Api& api, Log& log, std::function<bool()> may_act, Look look,
                               Options options)
    : api_(api),
      log_(log),
      may_act_(std::move(may_act)),
      look_(std::move(look)),
      options_(options),
      rounds_([this] {
        round();
        return options_.every;
      }) {}

NodeTopologies::~NodeTopologies() {
  rounds_.stop();
  cancel_.cancel();
}

void NodeTopologies::round() {
  if (may_act_()) {
    write_changed();
  } else {
    written_.clear();  // whoever leads meanwhile may write others
  }
}

void NodeTopologies::write_changed() {
  const auto now = Clock::now();
  std::vector<json> due;
  std::map<std::string, Written> still;  // nodes that are gone are forgotten
  for (json& object : look_()) {
    const std::string name = kube::json_text(object, "metadata", "name");
    Written& written = still[name] = std::move(written_[name]);
    if (written.object != object || now - written.when > options_.again) {
      due.push_back(std::move(object));
    }
  }
  written_ = std::move(still);
  const auto when = [this](const json& object) {
    return written_[kube::json_text(object, "metadata", "name")].when;
  };
  std::stable_sort(due.begin(), due.end(),
                   [&](const json& a, const json& b) { return when(a) < when(b); });
  due.resize(std::min(due.size(), static_cast<std::size_t>(options_.most)));
  for (const json& object : due) {
    if (rounds_.stopping()) return;
    Written& written = written_[kube::json_text(object, "metadata", "name")];
    written.when = Clock::now();
    const Status done = write(object);
    if (done) {
      written.object = object;
      told_trouble_.clear();
      continue;
    }
    // As a rule the others cannot be written either: the next round tries again.
    if (std::exchange(told_trouble_, done.error().text) != done.error().text) {
      log_.warn("a NodeResourceTopology cannot be written, trying again",
                {{"why", done.error().text}});
    }
    return;
  }
}

Status NodeTopologies::write(const json& object) {
  const kube::Call how{.cancel = &cancel_, .whole = kTopologyLimit};
  const std::string name = kube::json_text(object, "metadata", "name");
  const auto patched = api_.patch(std::string(kTopologies) + "/" + kube::percent_encoded(name),
                                  kube::PatchKind::kMerge, object, how);
  if (patched) return {};
  if (patched.error().code != Errc::kNotFound) return failure(patched.error().within(name));
  const auto created = api_.create(kTopologies, object, how);
  return created ? Status() : Status(failure(created.error().within(name)));
}

}  // namespace pinion::cluster
