#include "cluster/extender/jobs/auto_profile.h"

#include <vector>

#include "cluster/extender/kube/json_read.h"
#include "policy/annotations.h"
#include "policy/policy.h"
#include "topology/words.h"

namespace pinion::cluster::jobs {
namespace {

using kube::json_text;
using nlohmann::json;

// The annotations that ask for it.
std::vector<std::string> asking(const json& object) {
  const std::string of_container = std::string(annotation::kProfile) + ".";
  std::vector<std::string> names;
  const json& annotations = kube::json_at(object, "metadata", "annotations");
  if (!annotations.is_object()) return names;
  for (const auto& [name, value] : annotations.items()) {
    if (name != annotation::kProfile && !name.starts_with(of_container)) continue;
    if (value == annotation::kAutoProfile) names.push_back(name);
  }
  return names;
}

// By which a job was cut that says so: "... profile memory, policy ...".
LearntProfile as_decided(const std::string& decided) {
  for (const auto& [word, profile] : topology::kProfileWords) {
    const std::string text = ", profile " + std::string(word);
    const auto at = decided.find(text);
    if (at == std::string::npos) continue;
    return {.profile = profile, .why = "as this job was cut before"};
  }
  return {.why = "as this job was cut before"};
}

}  // namespace

LearntText write_learnt_profile(json& object, const std::string& name_space,
                                const Options& options) {
  const std::vector<std::string> names = asking(object);
  if (names.empty()) return std::optional<std::string>();
  const auto said = [&](const char* name) {
    return json_text(object, "metadata", "annotations", name);
  };
  const std::string decided = said(annotation::kDecided);
  if (decided.empty() && !options.learnt) {
    return failure(Errc::kInvalid,
                   "annotation " + names.front() +
                       ": 'auto' needs what a running extender has learnt of earlier runs (its "
                       "setting learnProfiles); use one of: " +
                       list_of(topology::kProfileWords));
  }
  const std::string job = policy::cut_name(said(annotation::kJob));
  const LearntProfile learnt =
      decided.empty()
          ? options.learnt(name_space, job.empty() ? json_text(object, "metadata", "name") : job)
          : as_decided(decided);
  const std::string_view word = word_of(learnt.profile, topology::kProfileWords);
  const std::string why = sentence_of(learnt);
  json& annotations = object["metadata"]["annotations"];
  for (const std::string& name : names) {
    if (word.empty()) {
      annotations.erase(name);
    } else {
      annotations[name] = word;
    }
  }
  if (decided.empty()) annotations[annotation::kProfileWhy] = why;
  return std::optional<std::string>(std::string(annotation::kProfile) + " auto: " + why);
}

}  // namespace pinion::cluster::jobs
