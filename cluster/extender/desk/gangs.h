// Gangs between the first question about a member and the last binding: when all members that start
// together exist, places are kept for them on the fleet all at once or not at all; their binds are
// held until all have come, and then all go or all are refused. Until they exist a gang holds
// nothing. Who comes later, to a gang that has started, goes by itself: it replaces one that has
// failed, or the job has grown.
//
// Nothing waits for anything without a limit: a held bind ends when the gang is whole, when
// `hold_ms` have passed since the first one was held, or when a member is gone; places without a
// binding are given back when nobody has asked for the gang for `keep_ms`. Two gangs cannot block
// each other: neither ever keeps a part of its places while it waits for the rest.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cluster/core/fleet.h"
#include "cluster/core/gang_plan.h"
#include "cluster/extender/desk/demand.h"
#include "cluster/extender/desk/effects.h"

namespace pinion::cluster {

struct DeskLimits {
  std::int64_t hold_ms = 20'000;      // a bind call is held; below the scheduler's time-out for it
  std::int64_t keep_ms = 60'000;      // places are kept without a question about the gang
  std::int64_t confirm_ms = 300'000;  // from the binding until the agent reports the container
  int plan_steps = PlanLimits().steps;
  std::size_t pods = 200'000;  // known at once
  // Bind calls that may be held at one time, kMaxGang or more. A gang begins to hold its calls only
  // while there is room for all of them, else two could fill it with half of each.
  std::size_t held = kMaxGang;
};

struct Place {
  enum class State {
    kTaken,    // kept for `member`
    kHeld,     // the member's bind is held
    kBinding,  // the API server is being asked
    kBound,
  };
  State state = State::kTaken;
  // Its id is the one under which the fleet keeps it; its task group is the member's.
  topology::Request request;
  std::string node;
  PodRef member;
  Ticket ticket = 0;     // while held
  bool offered = false;  // the scheduler takes the member there
  // When the scheduler did not offer the node and it was nominated; 0: it was not.
  std::int64_t nominated_ms = 0;

  // The member is bound there, or may be at any moment: not to be taken back.
  [[nodiscard]] bool fixed() const { return state == State::kBinding || state == State::kBound; }
};

// What the nodes of a question are.
enum class Sight {
  kAll,        // all that the scheduler would take
  kSample,     // some of them: it stops looking when it has 100 or more
  kNominated,  // the one that the pod's status names, before all others
};

struct GangMember {
  PodRef pod;
  topology::Request request;
  std::string nominated;  // the node that its status names, or empty
};

struct GangState {
  int size = 0;
  int groups = 0;                             // Demand::groups
  bool started = false;                       // `size` members were let go together
  std::map<std::string, GangMember> members;  // all that were told of, by uid
  // Until it has started, of all `size` or of the fixed members.
  std::vector<Place> places;
  std::int64_t asked_ms = 0;  // the last question about it
  std::int64_t held_ms = 0;   // the first of the held binds came

  // All that start together exist: it can be planned.
  [[nodiscard]] bool complete() const {
    return started || static_cast<int>(members.size()) >= size;
  }
};

class Gangs {
 public:
  // Both must outlive it.
  Gangs(Fleet& fleet, const DeskLimits& limits) : fleet_(fleet), limits_(limits) {}

  struct Offer {
    std::string node;       // kept for the member; empty: none
    std::string text;       // why none
    bool never = false;     // and evicting others would not help
    bool nominate = false;  // the node is to be looked at, it was not among `nodes`
  };
  // Where the member may go. `nodes`: those that the scheduler would take; -1 for one that the
  // fleet does not know. Preconditions: a demand of kind kMember; known() was told of it.
  Offer offer(const PodRef& pod, const Demand& demand, const std::vector<NodeIndex>& nodes,
              Sight sight, std::int64_t now_ms);
  // The member exists. True: with it the gang is complete.
  bool known(const PodRef& pod, const Demand& demand);
  // The member's status names the node, or none: empty. Precondition: known() was told of it.
  void nominated(const std::string& gang, const std::string& uid, const std::string& node);
  // The member is bound already (found so after a start); and `by_us`, so that its gang had
  // started.
  void found_bound(const PodRef& pod, const Demand& demand, const std::string& node, bool by_us);
  // Precondition: a member that known() or found_bound() was told of.
  BindAnswer bind(const std::string& gang, const std::string& uid, const std::string& node,
                  Ticket ticket, std::int64_t now_ms);
  // What the API server said of the binding that a kGo asked for.
  void bound(const std::string& gang, const std::string& uid, bool done, std::int64_t now_ms);
  // So many are to start together from now on.
  void resize(const std::string& gang, int size);
  // The member is no more, or has finished.
  void gone(const std::string& gang, const std::string& uid);
  // Keeps places for the missing members of gangs of which a part is bound, where there is room. To
  // be called once all is known after a start, before anybody else is given that room.
  void complete(std::int64_t now_ms);
  // Ends what has lasted too long.
  void tick(std::int64_t now_ms);

  // Whether a gang that was refused has its places now, or would get them.
  [[nodiscard]] bool would_fit(const std::string& gang) const;
  // The member's place; nullptr: it has none.
  [[nodiscard]] const Place* place_of(const std::string& gang, const std::string& uid) const;
  // All held binds are refused, for instance because the extender stops.
  void refuse_held(const std::string& why);

  [[nodiscard]] const std::map<std::string, GangState>& all() const { return gangs_; }
  // Whether a member's gang would get its places if these nodes had these ledgers. Precondition: a
  // demand of kind kMember.
  [[nodiscard]] bool would_fit_with(const Demand& demand,
                                    const std::map<NodeIndex, topology::Ledger>& ledgers) const;
  // The answers to held binds since the last call.
  std::vector<Answered> take_answered() { return std::exchange(answered_, {}); }
  std::vector<GangNews> take_news() { return std::exchange(news_, {}); }

  struct Counters {
    std::uint64_t planned = 0;
    std::uint64_t refused = 0;
    std::uint64_t whole = 0;     // all members were let go together
    std::uint64_t given_up = 0;  // plans that were taken back
  };
  [[nodiscard]] const Counters& counters() const { return counters_; }

 private:
  static Place* place_of(GangState& gang, const std::string& uid);
  static void describe(GangState& gang, const Demand& demand);
  void release_if(GangState& gang, const std::function<bool(const Place&)>& which,
                  const std::string& why);
  [[nodiscard]] bool stands(const GangState& gang) const;
  [[nodiscard]] Gang missing(const GangState& gang, const topology::Request& first,
                             std::size_t need) const;
  static void share_out(const std::string& key, const GangState& gang, Gang& members);
  std::optional<GangRefusal> plan(const std::string& key, GangState& gang,
                                  const topology::Request& like, std::size_t need,
                                  std::vector<NodeIndex> among);
  [[nodiscard]] std::vector<NodeIndex> nominations(const GangState& gang,
                                                   const Gang& members) const;
  std::optional<GangRefusal> keep(const Gang& members, const std::vector<NodeIndex>& among,
                                  std::vector<NodeIndex>& nodes);
  Place* asked_again(GangState& gang, const PodRef& pod);
  [[nodiscard]] bool among(const std::vector<NodeIndex>& nodes, const Place& place) const;
  Offer offer_new(const PodRef& pod, const Demand& demand, const std::vector<NodeIndex>& nodes,
                  std::size_t need);
  Offer offer_elsewhere(const PodRef& pod, const Demand& demand,
                        const std::vector<NodeIndex>& nodes);
  void take_back(const std::string& key, GangState& gang, const std::string& why);
  BindAnswer let_go(const std::string& key, GangState& gang, Ticket own);
  [[nodiscard]] bool may_hold(const GangState& gang) const;
  void tell(GangNews::Kind kind, const std::string& key, const std::vector<const Place*>& places,
            const std::string& why);

  Fleet& fleet_;
  const DeskLimits& limits_;
  std::map<std::string, GangState> gangs_;
  std::vector<Answered> answered_;
  std::vector<GangNews> news_;
  Counters counters_;
};

}  // namespace pinion::cluster
