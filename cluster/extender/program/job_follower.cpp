#include "cluster/extender/program/job_follower.h"

#include <nlohmann/json.hpp>

#include "cluster/extender/jobs/hostfile.h"
#include "cluster/extender/jobs/job_object.h"
#include "cluster/extender/jobs/pod_group.h"
#include "cluster/extender/kube/json_read.h"
#include "cluster/extender/kube/path.h"
#include "cluster/extender/kube/pods.h"
#include "cluster/extender/pods/pod_of.h"
#include "cluster/extender/scheduling/demand.h"
#include "policy/annotations.h"
#include "policy/policy.h"

namespace pinion::cluster {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

// More are not remembered; the next pod of theirs tells of them again.
constexpr std::size_t kMostJobs = 100'000;
// Pods come and go in crowds: a job is not looked at more often.
constexpr std::chrono::milliseconds kLookRest = 1s;
constexpr std::chrono::milliseconds kLongestLookPause = 20s;
// So many jobs are looked at at one time, of one namespace half of them: a call may hang, as where
// an admission webhook of theirs does.
constexpr int kLookThreads = 4;

std::string text_of(const wire::PodSpecView& pod, const char* annotation) {
  const auto found = pod.annotations.find(annotation);
  return found == pod.annotations.end() ? std::string() : found->second;
}

}  // namespace

JobFollower::JobFollower(kube::Api& api, Log& log, Asks asks, std::chrono::milliseconds first_pause)
    : api_(api),
      log_(log),
      asks_(std::move(asks)),
      queue_({.most = kMostJobs,
              .rest = kLookRest,
              .first_pause = first_pause,
              .longest_pause = kLongestLookPause,
              .threads = kLookThreads,
              .group_of = [](const std::string& name_space) { return name_space; },
              .most_of_group = kLookThreads / 2},
             asks_.may_act, [this](const Job& job, const std::string&) { return follow(job); }) {}

JobFollower::~JobFollower() {
  cancel_.cancel();
}

void JobFollower::changed(const wire::PodSpecView& pod) {
  const std::string name = policy::cut_name(text_of(pod, annotation::kJob));
  if (!name.empty() && owner_is_unknown(pod)) {
    queue_.add({.name_space = pod.name_space,
                .path = "/apis/batch/v1/namespaces/" + kube::percent_encoded(pod.name_space) +
                        "/jobs/" + kube::percent_encoded(pod.controller->name),
                .gang = {},
                .pod = pod.name,
                .pod_uid = pod.uid,
                .uid = pod.controller->uid},
               pod.name_space);
  }
  const auto path = jobs::owner_path(text_of(pod, annotation::kOwner), pod.name_space);
  if (!path) return;
  queue_.add({.name_space = pod.name_space,
              .path = *path,
              .gang = gang_of(pod_of(pod), name),
              .group = pod.scheduling_group,
              .priority_class = pod.priority_class},
             pod.name_space);
}

Worked JobFollower::follow(const Job& job) {
  const Status done = look_at(job);
  if (done) {
    const bool lacks = job.pod.empty() && asks_.lacks_members(gang_called(job));
    return lacks ? Worked::kAgain : Worked::kDone;
  }
  const bool again = done.error().code == Errc::kUnavailable;
  log_.warn("what goes with a job cannot be kept",
            {{"job", job.path}, {"why", done.error().text}, {"again", again ? "true" : "false"}});
  return again ? Worked::kAgain : Worked::kFailed;
}

// The pod is told of which job it is, by the owner of the object that has made it.
Status JobFollower::tell_owner(const Job& job) {
  const kube::Call how{.cancel = &cancel_, .whole = {}};
  const auto object = api_.get(job.path, how);
  const bool other = object && kube::json_text(*object, "metadata", "uid") != job.uid;
  if (other || (!object && object.error().code == Errc::kNotFound)) return {};  // the pod goes, too
  if (!object) return failure(object.error());
  const std::string uid = owner_of(*object, "uid");
  if (uid.empty()) return failure(Errc::kInvalid, "nobody owns it");
  const Status told =
      kube::annotate_pod(api_, {.name_space = job.name_space, .name = job.pod, .uid = job.pod_uid},
                         {{annotation::kOwnerUid, uid}}, how);
  const bool gone =
      !told && (told.error().code == Errc::kNotFound || told.error().code == Errc::kConflict);
  return gone ? Status() : told;
}

Status JobFollower::look_at(const Job& job) {
  if (!job.pod.empty()) return tell_owner(job);
  const auto object = api_.get(job.path, {.cancel = &cancel_, .whole = {}});
  if (!object && object.error().code == Errc::kNotFound) return {};  // gone, and its pods with it
  if (!object) return failure(object.error());
  const auto cut = jobs::read_cut_job(*object);
  if (!cut) return failure(cut.error());
  if (!*cut) return {};
  asks_.sized(job.gang, (*cut)->members());
  const Status grouped = keep_group(job, *object, **cut);
  auto map = jobs::hostfile_config_map(*object, **cut);
  if (!map) return failure(map.error());
  const Status mapped = *map ? keep(job, owned_map(**std::move(map)), "hostfile") : Status();
  return grouped ? mapped : grouped;
}

std::string JobFollower::gang_called(const Job& job) {
  if (job.group.empty()) return job.gang;
  return gang_of_group(group_key(PodGroupApi::kNative, job.name_space, job.group));
}

// Who comes to a job that has started is to start by itself: others may have ended, of which
// kube-scheduler knows no more.
Status JobFollower::keep_group(const Job& job, const json& object, const jobs::CutJob& cut) {
  if (job.group.empty()) return {};
  const bool started = asks_.started(gang_called(job));
  auto group = jobs::pod_group(object, cut.job, started ? 1 : cut.members(), job.priority_class);
  if (!group || kube::json_text(*group, "metadata", "name") != job.group) return {};  // its user's
  const std::string groups = owned_path("/apis/scheduling.k8s.io/v1beta1", *group, "podgroups");
  const Status kept = keep(job,
                           {.collection = groups,
                            .object = *std::move(group),
                            .part = json::json_pointer("/spec/schedulingPolicy")},
                           "PodGroup");
  return kept ? kept : Status(failure(Errc::kUnavailable, kept.error().text));
}

Status JobFollower::keep(const Job& job, const OwnedObject& owned, const char* what) {
  const auto kept = keep_owned(api_, owned, asks_.may_act, {.cancel = &cancel_, .whole = {}});
  if (!kept) return failure(kept.error());
  if (*kept == Kept::kMade) {
    log_.info("what goes with a job is made",
              {{"job", job.path},
               {"what", what},
               {"name", kube::json_text(owned.object, "metadata", "name")}});
  } else if (*kept == Kept::kChanged) {
    log_.info("what goes with a job follows its size", {{"job", job.path}, {"what", what}});
  }
  return {};
}

}  // namespace pinion::cluster
