// An elastic job as the API server has it: what its user lets it do, and what of a rescale is under
// way. All that is known of a rescale stands in the job's annotations, so whoever leads goes on.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cluster/core/elastic.h"
#include "cluster/extender/elastic/history.h"
#include "cluster/extender/elastic/sent.h"
#include "cluster/extender/elastic/speed_seen.h"
#include "cluster/extender/jobs/job_object.h"
#include "policy/policy.h"

namespace pinion::cluster::elastic {

// How the application says that it is ready for another size.
struct Channel {
  enum class Kind {
    kNone,        // it is not asked
    kAnnotation,  // "annotation": it sets annotation::kAcknowledgedWorkers, before a shrink
    kHttp,        // "http:PORT": it is asked by HTTP, before a shrink and after an expand
    kCcs,         // "ccs:PORT": the same, of a Charm++ program
  };
  Kind kind = Kind::kNone;
  int port = 0;

  bool operator==(const Channel&) const = default;
};
[[nodiscard]] std::optional<Channel> read_channel(std::string_view word);

// What the fleet has for it and of it.
struct OnFleet {
  std::vector<std::int64_t> frees_whole{};  // CPUs, as ElasticJob's; empty: not known
  std::int64_t room = kAnyRoom;             // as ElasticJob's
  std::int64_t room_at_best = kAnyRoom;     // the same if no elastic job ran
  // Its first workers, up to the first of which no pod has its CPUs; nullopt: not known.
  std::optional<int> placed{};
};

struct ElasticObject {
  jobs::JobKind kind = jobs::JobKind::kIndexedJob;
  std::string uid;
  std::string name;
  std::string name_space;
  std::string version;   // metadata.resourceVersion
  std::string path;      // on the API server, percent-encoded
  nlohmann::json owner;  // a reference to it

  Change change = Change::kRigid;
  int min_workers = 1;
  int max_workers = 1;
  std::optional<int> requested;  // by its user, as it is said
  std::optional<int> asked{};    // by its application, the same; its user's word goes before
  std::optional<int> noted{};    // as `asked`, for the next leader; with kHttp alone
  std::int32_t priority = 0;
  std::int64_t gap_ms = 180'000;
  std::int64_t cpus = 0;        // exclusive ones of a worker
  topology::Request request;    // of a worker's container that has most of them
  std::int64_t other_cpus = 0;  // of its other pods: its launcher
  Channel channel;
  int pes_per_worker = 1;
  std::string head;  // label selector of the pod that listens
  // It mounts the ConfigMap that tells its size (telling.h); then its workers' hosts, if they have
  // names.
  bool is_told = false;
  std::optional<jobs::HostName> host;
  std::int64_t submitted_ms = 0;  // since 1970
  // Since when it has had fewer workers than are wished for, as far as this leader knows; 0: it
  // does not know. Since 1970.
  std::int64_t wished_ms = 0;

  bool over = false;  // finished, or being deleted
  // What its user says makes no sense, and why: its pods count, and nothing is done to it.
  std::string left_alone;
  bool suspended = false;  // it waits for its start
  int stated = 0;          // its workers, as its spec says
  int active = 0;          // of its workers, those that are not over
  int ready = 0;
  int succeeded = 0;
  int terminating = 0;          // where its kind counts them
  nlohmann::json spec_part;     // of its spec, what has to follow another size (actuator.h)
  std::size_t worker_task = 0;  // Volcano: the workers' place in spec.tasks

  std::optional<int> wanted;
  int before = 0;
  std::optional<int> acknowledged;
  std::optional<Sent> sent{};  // with kCcs alone; stays when the rescale is given up
  std::int64_t rescaled_ms = 0;
  std::int64_t declined_until_ms = 0;
  std::vector<PastStep> history{};  // the newest first

  std::vector<SizeRate> speed_up{};    // as its user says; empty: unknown
  double rescale_cost_s = kNotStated;  // the same
  double run_s = kNotStated;           // the same: with min_workers
  double done_s = 0;                   // of these, before its last change
  std::optional<Progress> progress{};  // as its application writes it on the job
  SpeedSeen seen{};                    // what the annotation has, or this leader knows
  std::optional<double> left{};        // work that it still has to do, of seen.measure
  OnFleet on_fleet{};                  // where the policy looks at that

  // Workers that it has, or will have when what is under way ends.
  [[nodiscard]] int workers() const { return wanted.value_or(suspended ? 0 : stated); }
  [[nodiscard]] bool grows() const { return wanted && *wanted > before; }
  // Who may says that it is to have so many, within what it may have.
  [[nodiscard]] std::optional<int> wish() const;
  // All that are stated are there.
  [[nodiscard]] bool is_whole() const { return ready + succeeded >= stated; }
  // A Charm++ program may still act on what it was sent.
  [[nodiscard]] bool is_pending() const { return sent && !acknowledged; }
  // Of these, one that has, but of which no progress was seen since.
  [[nodiscard]] bool has_come() const { return is_pending() && sent->came_ms > 0; }
  // The application is asked by us, and before an expand counts too.
  [[nodiscard]] bool is_asked() const {
    return channel.kind == Channel::Kind::kHttp || channel.kind == Channel::Kind::kCcs;
  }
};

[[nodiscard]] std::string_view to_string(Change change);
// For people: "waits", "starts", "runs", "shrinks", "expands", "ends".
[[nodiscard]] std::string_view state_of(const ElasticObject& job);

// Errors: kInvalid, naming the field, for a kind that
// cannot change its size, a number that is none, a minimum above the maximum, or pods that get no
// cores of their own.
Result<ElasticObject> read_elastic(const nlohmann::json& job, const policy::Defaults& defaults);
// The same; one that has pods, and of which only what its user or its application says is wrong, is
// left alone.
Result<ElasticObject> read_or_leave_alone(const nlohmann::json& job,
                                          const policy::Defaults& defaults);

}  // namespace pinion::cluster::elastic
