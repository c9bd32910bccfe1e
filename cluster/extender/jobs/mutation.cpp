#include "cluster/extender/jobs/mutation.h"

#include <algorithm>

#include "cluster/extender/jobs/auto_profile.h"
#include "cluster/extender/jobs/child_pod.h"
#include "cluster/extender/jobs/entitlement.h"
#include "cluster/extender/jobs/hostfile.h"
#include "cluster/extender/jobs/pod_group.h"
#include "cluster/extender/jobs/template_editor.h"
#include "cluster/extender/kube/json_read.h"
#include "cluster/extender/wire/pod.h"
#include "policy/annotations.h"
#include "policy/unknown_annotations.h"
#include "topology/words.h"

namespace pinion::cluster::jobs {
namespace {

using kube::json_text;
using nlohmann::json;

Mutation untouched(std::string why) {
  Mutation mutation;
  mutation.text = std::move(why);
  return mutation;
}

Mutation refused(const Error& error) {
  Mutation mutation;
  mutation.kind = Mutation::Kind::kRefused;
  mutation.text = error.text;
  return mutation;
}

Mutation changed(const json& before, const json& after) {
  Mutation mutation;
  mutation.patch = json::diff(before, after);
  if (mutation.patch.empty()) return untouched("it is already as it should be");
  mutation.kind = Mutation::Kind::kChanged;
  return mutation;
}

// Whether the extender is asked about pods with this scheduler's name.
bool asks_us(const std::string& scheduler, const Options& options) {
  return scheduler.empty() || scheduler == "default-scheduler" || scheduler == options.scheduler;
}

// Who needs no cores has no need of the extender, and does not wait where that is away; but for
// services that say that they are such: they want it to be asked. The kubelet leaves out what its
// node does not have; it counts for no QoS class.
void mark_managed(json& pod, const Options& options) {
  const json::json_pointer at("/spec/containers/0");
  if (options.managed_resource.empty() || !pod.contains(at) || !pod.at(at).is_object()) return;
  // Another scheduler would look for a node that has it.
  if (!asks_us(json_text(pod, "spec", "schedulerName"), options)) return;
  const Demand demand = demand_of_template(pod, options.defaults);
  if (demand.kind == Demand::Kind::kNone && !(demand.service && demand.classed)) return;
  json& resources = pod.at(at)["resources"];
  for (const char* amounts : {"limits", "requests"}) {
    resources[amounts][options.managed_resource] = "1";
  }
}

// Cuts one job.
class Cutter {
 public:
  Cutter(const json& object, const Options& options) : after_(object), options_(options) {}

  Status cut(Cut& cut);

  [[nodiscard]] const json& after() const { return after_; }
  std::vector<std::string> take_warnings() { return std::move(warnings_); }

 private:
  Status edit(const Cut& cut, const PodTemplate& one);
  void mark_worker(const Cut& cut, TemplateEditor& editor);
  void give_hostfile(const Cut& cut, TemplateEditor& editor);
  void set_scheduler(const PodTemplate& one, TemplateEditor& editor);
  void keep_together(const Cut& cut, const PodTemplate& one, TemplateEditor& editor) const;
  [[nodiscard]] bool is_kept_together(const Cut& cut, const PodTemplate& one) const;
  void mark_job(const Cut& cut);

  json after_;
  const Options& options_;
  std::vector<std::string> warnings_;
};

std::string job_name(const Cut& cut) {
  return cut.request.job.empty() ? cut.job.name : cut.request.job;
}

// By what a second pass tells that nothing is left to do.
std::string decided_text(const JobRequest& request, const std::string& what) {
  return words_of(request) + ": " + what;
}

std::string short_text(const Granularity& granularity) {
  Granularity without_tried = granularity;
  without_tried.tried.clear();
  return to_string(without_tried);
}

void Cutter::mark_worker(const Cut& cut, TemplateEditor& editor) {
  const Decision& decision = cut.decision;
  const Worker& worker = decision.largest();
  std::optional<Bytes> memory;
  if (cut.request.memory_per_task) memory = worker.memory;
  editor.set_resources(worker.cpus, memory);
  for (const auto& [name, value] : cut.request.for_workers) editor.suggest(name, value);
  const std::string_view profile = word_of(cut.request.profile, topology::kProfileWords);
  if (!profile.empty()) editor.mark(annotation::kProfile, std::string(profile));
  if (!cut.request.profile_why.empty()) {
    editor.suggest(annotation::kProfileWhy, cut.request.profile_why);
  }
  // A Pod by itself is not told how many others there are.
  if (cut.job.kind == JobKind::kPod) return;
  if (cut.request.nodes > 0) editor.mark(annotation::kNodes, std::to_string(cut.request.nodes));
  editor.mark(annotation::kGangSize, std::to_string(decision.granularity.workers));
  editor.mark(annotation::kTaskGroups, std::to_string(decision.granularity.groups));
  if (!decision.granularity.tried.empty()) {
    editor.suggest(annotation::kAlign,
                   std::string(topology::to_string(decision.granularity.align)));
  }
}

void Cutter::give_hostfile(const Cut& cut, TemplateEditor& editor) {
  editor.mark(annotation::kHostfile, cut.hostfile);
  editor.mount_hostfile(cut.hostfile);
  // An MPIJob's operator would put its own behind these.
  if (cut.job.kind == JobKind::kMpiJob) return;
  const std::string folder = std::string(kHostfileFolder) + "/";
  editor.suggest_env("PINION_HOSTFILE", folder + kHostfileKey);
  editor.suggest_env("OMPI_MCA_orte_default_hostfile", folder + kHostfileKey);  // Open MPI 4
  editor.suggest_env("PRTE_MCA_prte_default_hostfile", folder + kHostfileKey);  // Open MPI 5
  editor.suggest_env("HYDRA_HOST_FILE", folder + kMachinefileKey);              // MPICH, Intel
}

void Cutter::set_scheduler(const PodTemplate& one, TemplateEditor& editor) {
  if (options_.scheduler.empty() || editor.set_scheduler(options_.scheduler)) return;
  warnings_.push_back("the pods with role " + one.role +
                      " keep the scheduler that is stated and not " + options_.scheduler +
                      ", so nobody plans their cores");
}

// By us: one worker waits for nobody, a scheduler that does not ask us knows of no gang here, a pod
// that states its node may have no gate, and its user's own PodGroup kube-scheduler sees to.
bool Cutter::is_kept_together(const Cut& cut, const PodTemplate& one) const {
  if (cut.job.kind == JobKind::kPod) return false;
  if (cut.decision.granularity.workers < 2) return false;
  const json& pod = after_.at(one.at);
  if (!json_text(pod, "spec", "nodeName").empty()) return false;
  if (!json_text(pod, "spec", "schedulingGroup", "podGroupName").empty()) return false;
  std::string scheduler = json_text(pod, "spec", "schedulerName");
  if (scheduler.empty() && cut.job.kind == JobKind::kVolcanoJob) {
    scheduler = json_text(after_, "spec", "schedulerName");
    if (scheduler.empty()) scheduler = "volcano";
  }
  return asks_us(scheduler, options_);
}

// A launcher's pod does not tell whose it is when it is made, so it can join no PodGroup.
void Cutter::keep_together(const Cut& cut, const PodTemplate& one, TemplateEditor& editor) const {
  if (!is_kept_together(cut, one)) return;
  if (options_.pod_groups && options_.pod_groups() && !cut.job.launcher_works) {
    editor.mark(annotation::kPodGroup, "true");
  } else if (options_.gates) {
    editor.gate(kGangGate);
  }
}

Status Cutter::edit(const Cut& cut, const PodTemplate& one) {
  TemplateEditor editor(after_[one.at], one.at);
  const std::string job = job_name(cut);
  if (!job.empty()) editor.mark(annotation::kJob, job);
  editor.mark(annotation::kRole, one.role);
  if (cut.job.kind != JobKind::kPod) editor.mark(annotation::kOwner, owner_text(after_, cut.job));
  if (one.member) mark_worker(cut, editor);
  if (one.starts && !cut.hostfile.empty()) give_hostfile(cut, editor);
  set_scheduler(one, editor);
  if (one.member) keep_together(cut, one, editor);
  if (editor.error()) return failure(*editor.error());
  if (!one.member) return {};
  const std::string why = why_not_entitled(after_[one.at], options_.defaults);
  if (why.empty()) return {};
  return wrong_field(one.at, "its pods would get no cores of their own: " + why);
}

void Cutter::mark_job(const Cut& cut) {
  json& annotations = after_["metadata"]["annotations"];
  annotations[annotation::kDecided] =
      decided_text(cut.request, short_text(cut.decision.granularity));
  if (!cut.hostfile.empty()) annotations[annotation::kHostfile] = cut.hostfile;
}

Status Cutter::cut(Cut& cut) {
  const Decision& decision = cut.decision;
  if (cut.job.follows_leader && decision.granularity.workers > 1) {
    return failure(
        Errc::kInvalid,
        std::string("annotation ") + kExclusiveTopology +
            ": JobSet makes the other pods of a group when the first one is scheduled, "
            "and the job's pods start together, so it would wait for ever. Leave it out, "
            "or set " +
            kNodeSelectorStrategy + " to \"true\" beside it");
  }
  if (Status good =
          write_workers(after_, cut.job, decision.granularity.workers, decision.largest().tasks);
      !good) {
    return good;
  }
  if (needs_hostfile(after_, cut.job, cut.request, decision)) cut.hostfile = hostfile_name(cut.job);
  for (const PodTemplate& one : cut.job.templates) {
    if (Status good = edit(cut, one); !good) return good;
  }
  if (cut.job.kind == JobKind::kPod) mark_managed(after_, options_);
  mark_job(cut);
  cut.rows = rows_of(cut, options_);
  return {};
}

// An earlier pass has cut it: the same webhook again, or a copy of a job that ran.
Mutation cut_before(const JobRequest& request, const std::string& decided) {
  if (decided.starts_with(decided_text(request, ""))) return untouched("it is cut already");
  return refused({.code = Errc::kInvalid,
                  .text = std::string("annotation ") + annotation::kDecided + ": was made for '" +
                          decided + "', and the job asks for '" + words_of(request) +
                          "'. Create the job from its source, without what was filled in"});
}

// As the API server makes a name: the base cut to 58 bytes, and five letters or digits that make no
// words.
std::string generated_name(const std::string& base, const std::string& seed) {
  constexpr std::string_view letters = "bcdfghjklmnpqrstvwxz2456789";
  constexpr std::size_t longest = 58;
  std::uint64_t hash = 14'695'981'039'346'656'037U;  // FNV-1a
  for (const char byte : base + seed) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 1'099'511'628'211U;
  }
  hash ^= hash >> 32;
  std::string name = base.substr(0, longest);
  for (int i = 0; i < 5; ++i, hash /= letters.size()) name += letters[hash % letters.size()];
  return name;
}

json with_name(const json& object, const std::string& seed) {
  json named = object;
  const std::string base = json_text(object, "metadata", "generateName");
  const bool needs_one = json_text(object, "metadata", "name").empty() && !base.empty();
  if (needs_one && kind_of(object) != JobKind::kPod) {
    named["metadata"]["name"] = generated_name(base, seed);
  }
  return named;
}

Mutation cut_job(const json& original, const std::string& name_space, const Options& options,
                 const Choose& choose, const std::string& seed) {
  json object = with_name(original, seed);
  const auto learnt = kube::json_at(object, "metadata", "annotations", annotation::kTasks).is_null()
                          ? LearntText()
                          : write_learnt_profile(object, name_space, options);
  if (!learnt) return refused(learnt.error());
  auto request = read_job_request(object);
  if (!request) return refused(request.error());
  if (!*request) return untouched("it has no annotation pinion.dev/tasks");
  const std::string decided = json_text(object, "metadata", "annotations", annotation::kDecided);
  if (!decided.empty()) {
    Mutation before = cut_before(**request, decided);
    return *learnt && before.kind == Mutation::Kind::kUntouched ? changed(original, object)
                                                                : before;
  }
  auto job = read_job(object, name_space, **request);
  if (!job) return refused(job.error());
  const auto worker = std::find_if(job->templates.begin(), job->templates.end(),
                                   [](const PodTemplate& one) { return one.member; });
  const NodeDemand where =
      worker == job->templates.end() ? NodeDemand() : pod_of_template(object.at(worker->at)).nodes;
  auto decision = decide(*job, **request, options, where, choose);
  if (!decision) return refused(decision.error());
  Cut cut{.job = std::move(*job),
          .request = std::move(**request),
          .decision = std::move(*decision),
          .hostfile = {},
          .rows = {}};
  Cutter cutter(object, options);
  if (Status good = cutter.cut(cut); !good) return refused(good.error());
  Mutation mutation = changed(original, cutter.after());
  mutation.warnings = cutter.take_warnings();
  if (*learnt) mutation.warnings.push_back(**learnt);
  mutation.cut = std::move(cut);
  return mutation;
}

// Pods are told on their creation alone: what their job was told before stands in its template.
Mutation changed_pod(const json& before, json after, const std::string& name_space,
                     const Options& options) {
  const auto learnt = write_learnt_profile(after, name_space, options);
  if (!learnt) return refused(learnt.error());
  mark_managed(after, options);
  Mutation mutation = changed(before, after);
  if (*learnt) mutation.warnings.push_back(**learnt);
  return mutation;
}

Mutation mutate_child(const json& object, JobKind kind, const std::string& name_space,
                      const Options& options) {
  if (kind != JobKind::kPod) return untouched("another job's controller has made it");
  json after = object;
  edit_child_pod(after);
  // Where the setting is off, nobody makes the group. Whether there are such groups at this moment
  // is not asked: half a gang would be in one.
  if (options.pod_groups) join_pod_group(after);
  return changed_pod(object, std::move(after), name_space, options);
}

// One that says what it belongs to, and not how many tasks it has.
Mutation direct_pod(const json& object, const std::string& name_space, const Options& options) {
  json after = object;
  if (!options.scheduler.empty() &&
      !json_text(object, "metadata", "annotations", annotation::kJob).empty()) {
    TemplateEditor editor(after, Pointer());
    editor.set_scheduler(options.scheduler);
    if (editor.error()) return refused(*editor.error());
  }
  Mutation mutation = changed_pod(object, std::move(after), name_space, options);
  if (mutation.kind == Mutation::Kind::kUntouched) {
    mutation.text = "it has no annotation pinion.dev/tasks";
  }
  return mutation;
}

// What its user wrote and nothing reads, a warning for each.
std::vector<std::string> ignored_annotations(const json& object, JobKind kind) {
  const json& annotations = kube::json_at(object, "metadata", "annotations");
  if (!annotations.is_object()) return {};
  std::vector<std::string_view> names;
  for (const auto& one : annotations.items()) names.push_back(one.key());
  std::vector<std::string> warnings = policy::unknown_annotations(names);
  const bool has_roles = kind == JobKind::kVolcanoJob || kind == JobKind::kJobSet;
  if (!has_roles && annotations.contains(annotation::kWorkerRole)) {
    warnings.push_back(std::string("annotation ") + annotation::kWorkerRole +
                       " is for Volcano Jobs and JobSets, and ignored");
  }
  return warnings;
}

}  // namespace

Mutation mutate(const json& object, const std::string& name_space, const Options& options,
                const Choose& choose, const std::string& seed) {
  const auto kind = kind_of(object);
  if (!kind) return untouched("it is no kind of job that is known here");
  if (is_child(object)) return mutate_child(object, *kind, name_space, options);
  Mutation mutation = cut_job(object, name_space, options, choose, seed);
  const bool without_tasks =
      kube::json_at(object, "metadata", "annotations", annotation::kTasks).is_null();
  if (mutation.kind == Mutation::Kind::kUntouched && *kind == JobKind::kPod && without_tasks) {
    mutation = direct_pod(object, name_space, options);
  }
  for (std::string& warning : ignored_annotations(object, *kind)) {
    mutation.warnings.push_back(std::move(warning));
  }
  return mutation;
}

}  // namespace pinion::cluster::jobs
