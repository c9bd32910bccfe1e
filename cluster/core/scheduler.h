// Who gets which CPUs of the cluster, and when: the jobs, the fleet and the queue in one. Sole
// owner of them; takes one event at a time. No clock, no thread, no network, and no word of the
// system that the jobs come from: kube-scheduler and a simulation are adapters of this, and Slurm's
// jobs come as pods.
//
// A job is placed when all of its members exist, all at once or not at all. Its CPUs are then
// reserved: nobody else gets them, and the adapter starts the members there. What comes later to a
// job that has started is placed by itself.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/core/due_times.h"
#include "cluster/core/fleet.h"
#include "cluster/core/head_room.h"
#include "cluster/core/job_book.h"
#include "cluster/core/job_queue.h"
#include "cluster/core/placement.h"
#include "cluster/core/text_map.h"

namespace pinion::cluster {

struct SchedulerSettings {
  PlacementPolicy placement = PlacementPolicy::kHoles;
  std::optional<PlacementPolicy> service_placement{};  // of services; nullopt: as of all others
  [[nodiscard]] PlacementPolicy placement_for(bool service) const {
    return service ? service_placement.value_or(placement) : placement;
  }
  ColocationRules colocation{};
  QueueOrder order = QueueOrder::kPriority;
  bool backfill = true;  // false: nobody is placed before a job that is before it in the queue
  int depth = 100;       // jobs that one run() tries
  int plan_steps = PlanLimits().steps;
  // run() tries a refused job again, but for the first one: all of them at the same moments, so
  // that what is given back meanwhile is for all in order.
  std::int64_t retry_ms = 1000;
  std::int64_t keep_ms = 60'000;       // CPUs are reserved while nobody asks for the job
  std::int64_t confirm_ms = 300'000;   // from a start until the node's agent reports the container
  std::int64_t silent_ms = kNeverDue;  // a node whose agent says nothing for so long gets nobody
  // Room is held for the first of the queue once it has waited so long, and for so long at most:
  // then others have their turn, and it is passed over for as long. The next time room is held for
  // it for twice as long, up to 2^kMostDoublings as long: in the end for longer than the jobs run
  // that it waits for.
  std::int64_t head_after_ms = 0;
  std::int64_t head_ms = kUnknownTime;
  static constexpr int kMostDoublings = 6;
};

// Why a member goes to no other node.
inline constexpr const char* kNodeLimit = "its job is on as many nodes as it may use";

// Whether a job's members have their CPUs.
struct PlaceAnswer {
  bool placed = false;
  bool never = false;  // else: room would not help, as the idle fleet has too little of it, not all
                       // of those that start together exist, or they are others
  std::string why{};   // else
};

// What has become of a job, for the adapter and the log.
struct JobNews {
  enum class Kind {
    kReserved,   // its members' CPUs are reserved: start them
    kStarted,    // all that start together have begun
    kWithdrawn,  // the reservation is given back: do not start those that have not begun
    kHopeless,   // one of its members fits on no node, even with nothing running
  };
  Kind kind = Kind::kReserved;
  JobId job;
  std::string why;  // kWithdrawn, kHopeless
  int members = 0;  // that this is about
};

class Scheduler {
 public:
  explicit Scheduler(const SchedulerSettings& settings)
      : settings_(settings), fleet_(settings.colocation), queue_(settings.order) {}
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // --- jobs and their members

  // A job is there, or its owner wants something else of it now.
  void submit(const JobId& job, JobSpec spec, std::int64_t now_ms);
  // It was there then already, before this was told of it: its age in the queue counts from the
  // earliest that is said. Precondition: the job is known.
  void waits_since(const JobId& job, std::int64_t at_ms);
  // A member exists. Its requests are of the job that they name, for what is near to what; those
  // that name none, of this one. False: it does already, and is as it was; or the job is not known,
  // and nobody joins it.
  bool join(const JobId& job, const MemberId& member, std::vector<topology::Request> requests,
            std::int64_t now_ms, MemberTerms terms = {});
  // The member asks something else of its node. What is reserved for its job is given back, unless
  // that is what it asks already.
  // Preconditions: it is known, and not fixed.
  void change_terms(const MemberId& member, MemberTerms terms, std::int64_t now_ms);
  // A member is no more, or has finished: its CPUs are free. False: it is not known.
  bool leave(const MemberId& member, std::int64_t now_ms);
  // The job is no more, with all of its members.
  void end(const JobId& job, std::int64_t now_ms);

  // --- placing

  // Reserves CPUs for all members that wait, among these nodes (nullptr: all), or for none; of a
  // job that has started, for each member by itself. Precondition: the job is known.
  PlaceAnswer place(const JobId& job, const std::vector<NodeIndex>* among, std::int64_t now_ms);
  // The same for one member: with all that start together, or of a job that has started by itself.
  // Precondition: it is known.
  PlaceAnswer place_member(const MemberId& member, const std::vector<NodeIndex>* among,
                           std::int64_t now_ms);
  // These members cannot be started where their CPUs are reserved: places them anew, among these
  // nodes. Where that fails, all of the job is withdrawn. Preconditions: of one job, not empty.
  PlaceAnswer place_anew(const std::vector<MemberId>& members, const std::vector<NodeIndex>* among,
                         const std::string& why, std::int64_t now_ms);
  // It was refused without a question here: whether its job would ever fit is looked at, and told
  // (kHopeless), as where place() refuses it; unless it may go where no agent speaks for the node.
  // Precondition: it is known.
  void refused_elsewhere(const MemberId& member);
  // Where the member is to go if that is possible, whatever nodes it is placed among; empty:
  // anywhere. Precondition: it is known.
  void prefer(const MemberId& member, const std::string& node);
  // Whether place() would succeed, or has. Precondition: the job is known.
  [[nodiscard]] bool would_place(const JobId& job, std::int64_t now_ms);
  // On which nodes the job would be, with those where it is, if it were placed on another fleet
  // than it is now; nullopt: it would not. Of a job that has started, for this member alone.
  // Precondition: the member is known.
  [[nodiscard]] std::optional<std::set<NodeIndex>> would_use(const MemberId& member,
                                                             const FleetView& fleet) const;
  // The fleet without what jobs of a lower priority have reserved, and without those of their
  // members that run.
  [[nodiscard]] FleetView without_reserved_below(std::int32_t priority) const;
  void drop_running_below(std::int32_t priority, FleetView& fleet) const;
  // Tries the jobs of the queue in its order, if anything has changed since it last did, or the
  // turn has come of one that it left out then.
  void run(std::int64_t now_ms);
  // The same with those of these jobs that are in the queue, whatever has changed, and while
  // `go_on()`, which is asked before each. Returns when the first of those that it left out has its
  // turn, `now_ms` where that is as soon as may be; kNeverDue: it has left out none.
  std::int64_t run_some(std::vector<JobId> jobs, std::int64_t now_ms,
                        const std::function<bool()>& go_on);
  // For who does not call run(): whether somebody may fit since the last call who did not.
  bool take_changed();
  // To be called then: keeps room for the first of those that were refused, as run() does, if it
  // has waited for so long.
  void keep_room_for_first(std::int64_t now_ms);
  [[nodiscard]] bool has_changed() const { return changed_; }
  // Reserves this member's CPUs on this node. Precondition: it waits.
  PlaceAnswer place_at(const MemberId& member, const std::string& node, std::int64_t now_ms);
  // The only nodes where the member may go, as its job may use no more; nullopt: it may. A look at
  // all of the job. Precondition: it is known.
  [[nodiscard]] std::optional<std::set<NodeIndex>> kept_to(const MemberId& member) const {
    return kept_to(*book_.job_of(member), *book_.member(member));
  }
  // Calls `look` with the fleet as this member may use it: with the room that is held for the head
  // of the queue, where it is before that or over by then. Precondition: the member is known.
  void see_as(const MemberId& member, std::int64_t now_ms, const std::function<void()>& look);
  // Gives back what is reserved for members of the job that have not begun.
  void withdraw(const JobId& job, const std::string& why, std::int64_t now_ms);

  // --- starting

  // The member is being started where its CPUs are reserved. False: none are.
  bool start(const MemberId& member, std::int64_t now_ms);
  // It was started, or may have been; or not: then it has its reservation as before. Of which
  // nobody else tells within `confirm_ms`, neither runs() nor its node's agent, that one waits
  // again. Precondition: start() was true.
  void started(const MemberId& member, bool done, std::int64_t now_ms);
  // Its agent on that node was told, here or by another, to put it where these say that are
  // planned. To be said before runs().
  void planned(const MemberId& member, const std::string& node,
               const std::vector<topology::Request>& requests, std::int64_t now_ms);
  // The member runs on this node, whoever started it; `together`: with the others of its job, which
  // has started by that. False: the node has no room for what is reserved by that; it has its CPUs
  // when its agent reports them. Precondition: it is known.
  bool runs(const MemberId& member, const std::string& node, std::int64_t now_ms,
            bool together = false);
  // What the node's report says of this id does not count until the next one.
  void drop_reported(const std::string& node, const std::string& id);
  // So far as these CPUs are free there, they are nobody's until then, under this id, which has
  // nothing there.
  void hold(const std::string& node, const std::string& id, const topology::CpuSet& cpus);
  // It still runs there: what its agent does not name is reserved again until `expires_ms`. False:
  // there is no room. Precondition: it is known and fixed.
  bool still_runs(const MemberId& member, std::int64_t expires_ms);

  // --- the fleet

  Result<std::vector<LostPromise>> report(NodeReport report, std::int64_t now_ms);
  bool heard(std::string_view node, std::int64_t now_ms);  // false: the node is not known
  // Its agent has lost its runtime (see Fleet): what is reserved there is withdrawn. Nothing where
  // the node is not known.
  void unlinked(std::string_view node, std::int64_t now_ms);
  void measured(std::string_view node, MissRates rates);
  void lost(std::string_view node, std::int64_t now_ms);  // the node is no more
  // What decides there beside CPUs, whether its agent has spoken yet or not. What is reserved there
  // for members that may not use it any more is withdrawn.
  void terms(const std::string& node, const NodeTerms& terms, std::int64_t now_ms);
  // The node exists, be it that its agent has not spoken yet; open for members that name no nodes.
  void exists(const std::string& node, bool open, std::int64_t now_ms) {
    fleet_.exists(node, open, now_ms);
  }
  // Sets of nodes that members may use have changed.
  void nodes_changed(std::int64_t now_ms);

  // --- time

  // Ends what has lasted too long. To be called at next_ms() or later; before that it does nothing.
  void tick(std::int64_t now_ms);
  // When tick(), or run() for those that it left out, has something to do though nothing happens
  // meanwhile: in milliseconds of the same clock, perhaps past already; nullopt: never. Any call
  // that is not const may change it.
  [[nodiscard]] std::optional<std::int64_t> next_ms() const;

  [[nodiscard]] const Fleet& fleet() const { return fleet_; }
  [[nodiscard]] const JobBook& book() const { return book_; }
  [[nodiscard]] const JobQueue& queue() const { return queue_; }
  [[nodiscard]] const std::optional<HeadRoom>& head_room() const { return head_; }
  // Since the last call.
  std::vector<JobNews> take_news();

  struct Counters {
    std::uint64_t placed = 0;   // jobs, and members that came later
    std::uint64_t refused = 0;  // looks at the fleet that found no room
    std::uint64_t again = 0;    // of these, asked as before with nothing changed: nobody looked
  };
  [[nodiscard]] const Counters& counters() const { return counters_; }

 private:
  std::int64_t choose(std::vector<JobId>& jobs, std::int64_t now_ms);
  std::int64_t try_again(const std::vector<JobId>& jobs, std::int64_t now_ms,
                         const std::function<bool()>& go_on);
  void touch(Job& job, std::int64_t now_ms);
  void expire(std::int64_t now_ms);
  void age(std::int64_t now_ms);
  PlaceAnswer place_all(Job& job, const std::vector<Member*>& members,
                        const std::vector<NodeIndex>* among, std::int64_t now_ms);
  [[nodiscard]] static bool may_be_lifted(const Job& reserved);
  [[nodiscard]] std::optional<std::int32_t> lowest_reserved() const;
  struct Lifted {
    Member* member = nullptr;
    NodeIndex node = -1;
    std::vector<topology::CpuSet> cpus;  // that its containers had
  };
  std::vector<Lifted> lift_for(const Job& job);
  std::set<JobId> put_back(std::vector<Lifted>& lifted, bool taken);
  std::optional<GangRefusal> attempt(Job& job, const std::vector<Member*>& members,
                                     const std::vector<NodeIndex>* among, std::int64_t now_ms);
  std::optional<GangRefusal> attempt_here(Job& job, const std::vector<Member*>& members,
                                          const std::vector<NodeIndex>* among, std::int64_t now_ms);
  std::optional<GangRefusal> attempt_one(Job& job, Member& member,
                                         const std::vector<NodeIndex>* among, std::int64_t now_ms);
  [[nodiscard]] PlacementPolicy policy_of(const Job& job) const {
    return job.spec.placement.value_or(settings_.placement_for(job.spec.service));
  }
  [[nodiscard]] bool must_wait_its_turn(const Job& job) const;
  [[nodiscard]] std::int64_t held_room_at_most(const topology::Request& request) const;
  [[nodiscard]] bool fits_when_idle(const std::vector<topology::Request>& requests,
                                    const MemberTerms& terms) const;
  [[nodiscard]] MemberTerms heeded(const Job& job, MemberTerms terms) const;
  void add_requests(const std::string& node, const MemberTerms& terms);
  void remove_requests(const std::string& node, const MemberTerms& terms);
  void tell_if_hopeless(Job& job, const std::vector<Member*>& members);
  void set_terms(NodeIndex node, const std::string& name);
  void note_machines();
  void requeue_hopeless();
  [[nodiscard]] const Job::Shape* hindered(const Job& job, std::int64_t now_ms) const;
  std::optional<GangRefusal> reserve_gang(const Job& job, const std::vector<Member*>& members,
                                          Gang& gang, const std::vector<NodeIndex>* among,
                                          std::vector<NodeIndex>& nodes);
  [[nodiscard]] int node_limit(const Job& job) const;
  [[nodiscard]] std::optional<std::set<NodeIndex>> kept_to(const Job& job,
                                                           const Member& member) const;
  void heed_limit(const Job& job, std::int64_t now_ms);
  [[nodiscard]] bool is_to_be_judged(const Job& job) const;
  [[nodiscard]] std::optional<GangRefusal> judge(Job& job, const std::vector<Member*>& members);
  bool promise(const Member& member, NodeIndex node, std::int64_t expires_ms);
  [[nodiscard]] bool stands(const Member& member) const;
  [[nodiscard]] std::int64_t next_turn_ms(std::int64_t now_ms) const;
  [[nodiscard]] bool is_asked_again(const Job& job, const std::vector<NodeIndex>* among,
                                    std::int64_t now_ms) const;
  void note_answer(Job& job, const std::vector<NodeIndex>* among, std::int64_t now_ms);
  [[nodiscard]] bool any_runs(std::span<const Member* const> waiting) const;
  void make_way(const Member& member, NodeIndex node, std::int64_t now_ms);
  void withdraw_fallen(const std::string& why, std::int64_t now_ms);
  [[nodiscard]] bool is_refused_again(const Job& job, std::optional<std::int32_t> lowest,
                                      std::int64_t now_ms) const;
  bool reserve(Job& job, Member& member, NodeIndex node, std::int64_t now_ms);
  void give_back(Job& job, Member& member);
  void requeue(Job& job);
  bool note_whole(Job& job);
  void unqueue(const JobId& job);
  [[nodiscard]] bool over_by_then(const Job& job, std::int64_t now_ms) const;
  [[nodiscard]] bool may_take_head_room(const Job& job, std::int64_t now_ms) const;
  void hold_head_room();
  void hold_head_room_at(NodeIndex node);
  void lift_head_room();
  void drop_head_room();
  [[nodiscard]] std::optional<std::int64_t> last_end_in_head_room() const;
  [[nodiscard]] bool head_room_comes() const;
  void hasten_head(NodeIndex node);
  [[nodiscard]] std::int64_t old_enough_ms(const Job& job) const;
  [[nodiscard]] std::int64_t head_until_ms() const;
  void keep_head_room(const Job& job, const Gang& gang, const std::vector<NodeIndex>* among,
                      std::int64_t now_ms);
  [[nodiscard]] Gang gang_of(const Job& job, std::span<const Member* const> members) const;
  void note_end(const Job& job, const Member& member, std::int64_t now_ms);
  [[nodiscard]] const Member* owner_at(const FleetNode& node, const std::string& id) const;
  [[nodiscard]] std::vector<std::string> unowned_at(NodeIndex node) const;
  void note_ends_at(NodeIndex index);
  void put_ending(Ending ending);
  void forget_end(const std::string& id);
  void forget_end_at(NodeIndex node, const std::string& id);
  void forget_end(const Member& member);
  void note_over(const Member& member, NodeIndex node);
  void defer_endings(std::int64_t now_ms);
  void tell(JobNews::Kind kind, const Job& job, const std::string& why, int members);

  const SchedulerSettings settings_;
  Fleet fleet_;
  JobBook book_;
  JobQueue queue_;                     // complete jobs with members that wait
  DueTimes<JobId> reserved_;           // with members in State::kReserved, and kept until when
  std::set<JobId> hopeless_;           // complete, and larger than the idle fleet: not in the queue
  TextMap<MemberId> member_of_claim_;  // of all members
  std::set<Ending> endings_;
  TextMap<Ending> ending_of_;  // by claim id
  // Claims whose node was lost before anybody told of their start, and until when that is awaited.
  DueTimes<std::string> homeless_;
  // What is said of nodes, and what members take there; also before their agents speak.
  struct Site {
    NodeTerms terms{};
    ResourceList taken{};
    Occupants occupants{};

    [[nodiscard]] bool has_members() const {
      return taken != ResourceList() || occupants != Occupants();
    }
  };
  std::map<std::string, Site, std::less<>> sites_;
  std::uint64_t begun_ = 0;
  std::optional<HeadRoom> head_;  // what is free of it is held on the fleet
  DueTimes<JobId> too_young_;     // before that for room to be held, though they come before head_
  std::int64_t room_ms_ = 0;      // keep_room_for_first() looks no more before that
  bool changed_ = false;          // since the last run(): somebody may fit who did not
  std::int64_t turn_ms_ = kNeverDue;  // of the first that the last run() left out
  std::uint64_t changes_ = 0;         // that take_changed() has told
  IdleFleet idle_{fleet_};
  std::uint64_t machines_ = 1;  // counts changes of what the idle fleet has
  std::vector<JobNews> news_;
  Counters counters_;
};

}  // namespace pinion::cluster
