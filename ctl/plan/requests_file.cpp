#include "ctl/plan/requests_file.h"

#include <yaml-cpp/yaml.h>

#include <array>
#include <set>

#include "base/cli/yaml_entry.h"
#include "base/quantity.h"
#include "base/utf8.h"
#include "topology/words.h"

namespace pinion::ctl {
namespace {

using topology::Align;
using topology::Profile;
using topology::Request;
using topology::Smt;
using topology::Strength;

constexpr int kMaxCpus = topology::CpuSet::kCapacity;

constexpr std::array<std::string_view, 13> kKeys{
    "id",        "count",       "cpus", "align",      "strength", "smt", "memory", "memory-policy",
    "isolation", "near-device", "job",  "task-group", "profile"};

topology::Bytes bytes_of(YamlEntry& entry, const char* key) {
  if (!entry.has(key)) return 0;
  auto result = byte_quantity(entry.text(key));
  if (!result) entry.fail(entry[key], std::string(key) + ": " + result.error().text);
  return result.value_or(0);
}

// The defaults are the agent's for the annotations of the same names.
Request read_request(YamlEntry& entry) {
  Request request;
  request.cpus = entry.number("cpus", 0, kMaxCpus);
  request.align = entry.word("align", topology::kAlignWords, Align::kNuma);
  request.job = entry.text("job");
  request.strength = entry.word("strength", topology::kStrengthWords,
                                request.job.empty() ? Strength::kPreferred : Strength::kRequired);
  request.smt = entry.word("smt", topology::kSmtWords, Smt::kPreferFull);
  request.memory = bytes_of(entry, "memory");
  request.memory_policy = entry.word("memory-policy", topology::kMemoryPolicyWords,
                                     topology::usual_memory_policy(request));
  request.use_isolated = entry.word("isolation", topology::kIsolationWords, false);
  request.near_device = entry.text("near-device");
  request.task_group = entry.text("task-group");
  request.profile = entry.word("profile", topology::kProfileWords, Profile::kNone);
  return request;
}

class Reader {
 public:
  Status add(const YAML::Node& node) {
    ++position_;
    if (!node.IsMap())
      return yaml_error(node, "an entry must be a map with at least the key 'cpus'");
    YamlEntry entry(node, kKeys);
    if (!entry.has("cpus")) entry.fail(node, "the key 'cpus' is missing");
    Request request = read_request(entry);
    const std::string id = entry.text("id", "container-" + std::to_string(position_));
    const int count = entry.number("count", 1, kMaxRequests);
    if (entry.error()) return failure(*entry.error());
    if (static_cast<int>(requests.size()) + count > kMaxRequests) {
      return yaml_error(node, "more than " + std::to_string(kMaxRequests) + " containers");
    }
    for (int i = 0; i < count; ++i) {
      request.id = entry.has("count") ? id + "-" + std::to_string(i) : id;
      if (!ids_.insert(request.id).second) {
        return yaml_error(node, "the id " + quoted_value(request.id) + " is given twice");
      }
      requests.push_back(request);
    }
    return {};
  }

  std::vector<Request> requests;

 private:
  int position_ = 0;
  std::set<std::string> ids_;
};

}  // namespace

Result<std::vector<Request>> parse_requests(const std::string& text) {
  return read_yaml(text, [](const YAML::Node& root) -> Result<std::vector<Request>> {
    if (!root.IsSequence()) return yaml_error(root, "the file must be a list of containers");
    Reader reader;
    for (const YAML::Node& node : root) {
      const Status added = reader.add(node);
      if (!added) return failure(added.error());
    }
    return std::move(reader.requests);
  });
}

}  // namespace pinion::ctl
