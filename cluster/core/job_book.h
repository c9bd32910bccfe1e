// The jobs that are known: who owns them, what they want, and their members as they exist.
//
// A job's identity is what its owner's system never gives twice (in Kubernetes the owner's uid): a
// job that is made again under the same name is another one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/core/hole_index.h"
#include "cluster/core/placement.h"
#include "cluster/core/text_map.h"

namespace pinion::cluster {

using JobId = std::string;     // never empty
using MemberId = std::string;  // never empty, and of one job only

// What people call it; two jobs may have the same.
struct Owner {
  std::string name_space;
  std::string kind;
  std::string name;

  bool operator==(const Owner&) const = default;
};

// What its owner says of it, and may change.
struct JobSpec {
  Owner owner;
  std::int32_t priority = 0;
  int size = 1;         // members that start together, >= 1
  int task_groups = 0;  // into which they are cut; 0: members say themselves, if any
  int nodes = 0;        // on which its members may be at one time; 0: any number
  std::optional<PlacementPolicy> placement;  // nullopt: the cluster's for this kind of load
  bool service = false;                      // no HPC job
  std::string at_odds = {};  // its members contradict each other: in what; empty: they do not

  bool operator==(const JobSpec&) const = default;
};

// What runs as one: a pod, a rank.
struct Member {
  enum class State {
    kWaiting,   // exists, and has no CPUs
    kReserved,  // its CPUs are kept, nothing has been begun
    kStarting,  // it is being started there: nothing takes its CPUs back
    kRunning,
  };
  MemberId id;
  // One for each container with CPUs, not empty; `planned`, where its agent was told so.
  std::vector<topology::Request> requests;
  MemberTerms terms{};
  State state = State::kWaiting;
  std::string node;           // empty while it waits
  std::string prefers;        // a node; empty: any
  std::int64_t since_ms = 0;  // of this state

  // It is there, or may be at any moment.
  [[nodiscard]] bool fixed() const { return state == State::kStarting || state == State::kRunning; }
  [[nodiscard]] int cpus() const;
};

struct Job {
  JobId id;
  JobSpec spec;
  std::int64_t submitted_ms = 0;
  std::map<MemberId, Member> members;
  bool started = false;         // `size` of its members have begun together
  std::int64_t touched_ms = 0;  // somebody has asked for it or changed it
  std::string why;              // it waits: why; empty: it has what it wants
  std::string never;            // why it never fits, as was told since it last changed
  // Whether it ever fits was looked at on the fleet of then (Scheduler's machines); 0: not since it
  // last changed.
  std::uint64_t judged_at = 0;
  bool refused = false;             // for lack of room, since it last changed
  std::uint64_t refused_at = 0;     // after so many changes of the fleet
  std::int64_t again_ms = 0;        // when it is to be tried again
  std::int64_t rests_ms = 0;        // it has changed itself: it is not tried again before
  int changed = 0;                  // after each of so many refusals in a row
  std::int64_t passed_over_ms = 0;  // until then no room is held for it
  int times_passed_over = 0;        // after room was held for it, since it was submitted
  // What was asked when it was refused, where somebody has asked, and what was answered.
  struct Answered {
    std::uint64_t among = 0;  // a hash of the nodes, in any order: they are many, and so are jobs
    std::string head;         // for whom room was held; empty: nobody
    bool takes_held = false;  // which it might take
    std::string why;
  };
  std::optional<Answered> answered;
  // Its members that are to be placed next, by what they ask for.
  struct Shape {
    topology::Request like;
    MemberTerms terms;
    int members = 0;
  };
  std::vector<Shape> shapes;
  std::int64_t run_ms = 0;  // these run no longer than this; 0: not said of each

  [[nodiscard]] int count(Member::State state) const;
  [[nodiscard]] int fixed() const;
  // All members that are to start together exist, and say the same: it can be planned.
  [[nodiscard]] bool complete() const {
    return started || (static_cast<int>(members.size()) >= spec.size && spec.at_odds.empty());
  }
  [[nodiscard]] std::string called() const { return spec.owner.name_space + "/" + spec.owner.name; }
};

// Those that are to be placed next: who is there beyond the size comes when the job has started.
[[nodiscard]] std::vector<const Member*> next_members(const Job& job);

class JobBook {
 public:
  // nullptr: not known.
  [[nodiscard]] Job* find(std::string_view job);
  [[nodiscard]] const Job* find(std::string_view job) const;
  [[nodiscard]] Job* job_of(std::string_view member);
  [[nodiscard]] const Job* job_of(std::string_view member) const;
  [[nodiscard]] Member* member(std::string_view member);
  [[nodiscard]] const Member* member(std::string_view member) const;

  // Precondition: the job is not known.
  Job& add(JobId id, JobSpec spec, std::int64_t now_ms);
  // Precondition: the member is not known.
  Member& join(Job& job, MemberId id, std::vector<topology::Request> requests);
  // Preconditions: both are known.
  void leave(const MemberId& member);
  void erase(const JobId& job);

  [[nodiscard]] const std::map<JobId, Job, std::less<>>& jobs() const { return jobs_; }
  [[nodiscard]] std::size_t members() const { return job_of_.size(); }

 private:
  std::map<JobId, Job, std::less<>> jobs_;
  TextMap<Job*> by_id_;   // the same, for speed
  TextMap<Job*> job_of_;  // by member
};

}  // namespace pinion::cluster
