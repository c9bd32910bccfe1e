// The fleet as values: of each node the machine, what runs on it and what was promised there since;
// and an index of its free holes. No clock: the caller says what time it is.
//
// Ids: a container is known to the fleet by an id that both sides can tell before it exists (the
// pod's uid and the container's name), so that an agent's report confirms a promise.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cluster/core/colocation.h"
#include "cluster/core/due_times.h"
#include "cluster/core/hole_index.h"
#include "cluster/core/memory_pressure.h"
#include "cluster/core/name_table.h"
#include "cluster/core/node_digest.h"
#include "cluster/core/node_terms.h"
#include "cluster/core/text_map.h"
#include "topology/holes.h"

namespace pinion::cluster {

// A machine with its reserved CPUs, shared by all nodes that are alike, and what it could give when
// nothing runs there.
struct MachineKind {
  std::shared_ptr<const topology::Topology> topology;  // never null
  topology::CpuSet reserved;
  bool strict_reservation = false;  // topology::Ledger::strict()
  topology::Holes idle;

  // When nothing runs there.
  [[nodiscard]] topology::Ledger idle_ledger() const {
    return topology::Ledger(reserved, strict_reservation);
  }
};

struct FleetNode {
  // What each plan asks of every node, side by side.
  bool stale = false;  // silent for too long, or its agent has no runtime: nothing is placed there
  bool open = true;    // for members that name no nodes of their own
  int pressure_level = 0;        // of its memory controllers, 0 .. 10
  ResourceList spare = kPlenty;  // now
  topology::Holes holes;         // of the ledger

  std::string name;  // empty: no node has this index now
  std::shared_ptr<const MachineKind> kind;
  topology::Ledger ledger;                        // what runs there and what is promised
  std::map<std::uint64_t, std::string> promises;  // ids, by the order in which they were made
  bool displaced = false;  // a pinned promise is not where its agent was told
  MissRates rates;
  std::string instance;  // of the agent: another one means that generations began anew
  std::uint64_t generation = 0;
  std::int64_t heard_ms = 0;        // when the agent was last heard
  ResourceList capacity = kPlenty;  // when nobody is there
  ResourceList room = kPlenty;      // when no member is there
  Occupants occupants;              // where it matters (ColocationRules::counts())

  [[nodiscard]] const topology::Topology& topology() const { return *kind->topology; }
};

// Everything an agent says about its node at one moment.
struct NodeReport {
  std::string name;
  // null: the machine and its reserved CPUs are as in the report before.
  std::shared_ptr<const topology::Topology> topology;
  topology::CpuSet reserved;
  bool strict_reservation = false;
  std::vector<topology::Claim> claims;  // of exclusive containers
  topology::Bytes shared_memory = 0;    // what the others request
  MissRates rates;
  std::string instance;
  std::uint64_t generation = 0;
};

// A promise that a report left no room for: if the pod was sent there, and the report is not only
// older than that, the agent will refuse it.
struct LostPromise {
  std::string id;
  std::string node;
  topology::Refusal refusal;
};

// The expiry of a promise that something else ends: its pod's end, its agent's report, or a gang's
// own time to keep a place.
inline constexpr std::int64_t kNoExpiry = kNeverDue;

class Fleet {
 public:
  explicit Fleet(const ColocationRules& rules = {}) : rules_(rules) {}
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  // Takes the report in place of what was known of the node. Promises that it names are confirmed
  // (no promise any more), the others are fitted in again; those that no longer fit are returned, a
  // pinned one once, and dropped unless they are pinned. A report older than the one known (same
  // instance, lower generation) changes nothing. Errors: kInvalid for an empty name, a first report
  // without a machine, or claims without CPUs, with CPUs that another one has or that are reserved,
  // or with memory of a node that the machine has not.
  Result<std::vector<LostPromise>> report(NodeReport report, std::int64_t now_ms);
  // The agent was heard and nothing has changed.
  void heard(NodeIndex node, std::int64_t now_ms);
  // The agent was heard and has no link to its runtime: stale until it is heard otherwise.
  void unlinked(NodeIndex node);
  // What its containers measured since.
  void measured(NodeIndex node, MissRates rates);
  // `taken`: by members; `occupants`: of them. Precondition: the node exists.
  void set_terms(NodeIndex node, const NodeTerms& terms, const ResourceList& taken,
                 Occupants occupants = {});
  // The node exists, as somebody else tells; its agent may still have to speak. `open`: as in
  // NodeTerms.
  void exists(const std::string& name, bool open, std::int64_t now_ms);
  // The node is gone, with all promises there.
  void remove(const std::string& name);
  // Marks as stale the nodes that were not heard for `silent_ms`; returns how many became so. Those
  // of which nothing was ever heard for so long are not awaited any more.
  int age(std::int64_t now_ms, std::int64_t silent_ms);

  // Holds what allocate() gives there for the request until the agent reports it, it is released,
  // or `expires_ms` has come. One that was planned on CPUs which it could be given on this machine,
  // as its agent was told by another extender, stands as a pinned one, also with a refusal. An id
  // that is known to the fleet already is refused with kExhausted, a node that does not exist with
  // kNotFound; what allocate() says is in the outcome.
  Result<topology::Outcome> promise(NodeIndex node, const topology::Request& request,
                                    std::int64_t expires_ms);
  // The same for each in turn, or for none, also where one would stand with a refusal: true when
  // all are held.
  [[nodiscard]] bool promise_all(const std::vector<std::pair<NodeIndex, topology::Request>>& those,
                                 std::int64_t expires_ms);
  // Its agent is told where the promise is, and will give it these CPUs, which are returned: it
  // stays there. Where a report that was on its way takes some of them for a while, it holds the
  // others and a place elsewhere, if there is one, and comes back. Empty: it has no place, or there
  // is none of that id.
  topology::CpuSet pin(std::string_view id);
  // Where the agent will have it; empty for what is not pinned.
  [[nodiscard]] topology::CpuSet pinned(std::string_view id) const;
  // Whether the request is planned, and the machine could keep that when nothing else runs there.
  [[nodiscard]] bool may_pin(NodeIndex node, const topology::Request& request) const;
  // Its agent was not told after all: the promise may move. Whether it is where it was, whole.
  bool unpin(std::string_view id);
  // Something was given back on this node: pinned promises that are not where their agent will
  // have them come there as far as it is free by now.
  void bring_back(NodeIndex node);
  // Sets the time of a promise anew. False: there is none of that id.
  bool extend(std::string_view id, std::int64_t expires_ms);
  // Gives the promise back. False: there is none, or it was confirmed.
  bool release(std::string_view id);
  // Holds those of these CPUs that are free there for nobody, until drop_claim() or the next report
  // of the node. Precondition: the node has no hold of this id.
  void hold(NodeIndex node, const std::string& id, const topology::CpuSet& cpus);
  // Takes off the node what is held there by this id, or what its last report says of it, which
  // does not count until the next one. A promise stays.
  void drop_claim(NodeIndex node, std::string_view id);
  // The promises on a node that do not last for ever, and when each of them ends.
  [[nodiscard]] std::vector<std::pair<std::string, std::int64_t>> expiring(NodeIndex index) const;
  // Gives back the promises whose time has come; returns their ids, ascending.
  std::vector<std::string> expire(std::int64_t now_ms);
  // When age() or expire() has something to do next; nullopt: never, as things are.
  [[nodiscard]] std::optional<std::int64_t> next_ms(std::int64_t silent_ms) const;

  [[nodiscard]] const ColocationRules& rules() const { return rules_; }
  [[nodiscard]] NodeIndex find(std::string_view name) const {  // -1: not known
    return lookup_.find(name);
  }
  // Precondition: an index below size().
  [[nodiscard]] const FleetNode& node(NodeIndex node) const {
    return nodes_[static_cast<std::size_t>(node)];
  }
  [[nodiscard]] const NodeDigest& digest(NodeIndex node) const {
    return digests_[static_cast<std::size_t>(node)];
  }
  [[nodiscard]] NodeIndex size() const { return static_cast<NodeIndex>(nodes_.size()); }
  // All nodes, ascending by name.
  [[nodiscard]] const std::map<std::string, NodeIndex, std::less<>>& by_name() const {
    return by_name_;
  }
  // Whether a node exists whose agent may be about to speak for the first time.
  [[nodiscard]] bool awaits() const { return !awaited_.empty(); }
  // Nodes for which no agent has spoken, of those that a member of these terms may use.
  [[nodiscard]] int unheard(const MemberTerms& terms) const;
  // What was reported of the container is of this job. Nothing where it was not, or is promised.
  void name_job(std::string_view id, const std::string& job);
  // Whether the container has CPUs on some node, promised or reported.
  [[nodiscard]] bool knows(std::string_view id) const;
  [[nodiscard]] bool promised(std::string_view id) const {
    return promises_.find(id) != promises_.end();
  }
  [[nodiscard]] std::size_t promises() const { return promises_.size(); }
  // No less than the containers like this one that could be given their CPUs now; cheap.
  [[nodiscard]] std::int64_t room_at_most(const topology::Request& request) const {
    return request.use_isolated ? std::numeric_limits<std::int64_t>::max()
                                : index_.room_at_most(request);
  }
  // The nodes where containers of the job are or are promised.
  [[nodiscard]] std::set<NodeIndex> nodes_of_job(std::string_view job) const;

  // Whether the node would take it now; never a stale one. As allocate() answers.
  [[nodiscard]] bool fits(NodeIndex node, const topology::Request& request) const;
  // Whether a first look does not rule it out: cheap, and never false where fits() is true.
  [[nodiscard]] bool may_fit(NodeIndex node, const topology::Request& request) const {
    return would_grant(digest(node), request).value_or(true);
  }
  // Whether a first look is enough to tell that it does: cheap, and never true where fits() is
  // false.
  [[nodiscard]] bool surely_fits(NodeIndex node, const topology::Request& request) const {
    return would_grant(digest(node), request).value_or(false);
  }
  // Whether a member of these terms may go there at all, whoever else is there; and why it must not
  // join those who are.
  [[nodiscard]] bool may_ever_use(NodeIndex node, const MemberTerms& terms) const {
    return terms.nodes == nullptr ? this->node(node).open : terms.nodes->contains(node);
  }
  [[nodiscard]] Unwelcome unwelcome(NodeIndex node, const MemberTerms& terms) const {
    return cluster::unwelcome(rules_, terms.service, terms.job, this->node(node).occupants);
  }
  // Whether it may go there now; whether what the node has suffices for it, too, now and
  // when nobody else is there. CPUs and silence aside.
  [[nodiscard]] bool may_use(NodeIndex node, const MemberTerms& terms) const {
    return may_ever_use(node, terms) && unwelcome(node, terms) == Unwelcome::kNo;
  }
  [[nodiscard]] bool takes(NodeIndex node, const MemberTerms& terms) const {
    return may_use(node, terms) && has(this->node(node).spare, terms.requests);
  }
  [[nodiscard]] bool takes_idle(NodeIndex node, const MemberTerms& terms) const {
    return may_ever_use(node, terms) && has(this->node(node).capacity, terms.requests);
  }
  // Whether these terms forbid it because another member of this job is there.
  [[nodiscard]] bool too_near(NodeIndex node, const MemberTerms& terms, std::string_view job) const;
  // Whether it would, if nothing ran there.
  [[nodiscard]] bool fits_idle(NodeIndex node, const topology::Request& request) const;
  // The node with the tightest hole that takes it, the first by name of equal ones; -1: none.
  // With Strength::kPreferred a wider alignment is tried where no node has the narrower one.
  [[nodiscard]] NodeIndex best_node(const topology::Request& request,
                                    const MemberTerms& terms = {}) const;
  // How well it would use the node's best hole, 0 .. 10 (node_digest.h).
  [[nodiscard]] int hole_score(NodeIndex node, const topology::Request& request) const {
    return cluster::hole_score(digest(node), request);
  }

 private:
  struct Promise {
    NodeIndex node = -1;
    topology::Request request;  // planned: it is pinned, where that says
    std::int64_t expires_ms = kNoExpiry;
    std::uint64_t order = 0;  // of being made
    bool lost = false;        // pinned, and the last report leaves it no room
  };

  FleetNode& at(NodeIndex node) { return nodes_[static_cast<std::size_t>(node)]; }
  NodeIndex add(const std::string& name, std::shared_ptr<const MachineKind> kind);
  std::shared_ptr<const MachineKind> kind_of(
      const std::shared_ptr<const topology::Topology>& topology, const topology::CpuSet& reserved,
      bool strict_reservation);
  void confirm(const NodeReport& report, NodeIndex node);
  Result<topology::Outcome> promise_unseen(NodeIndex node, const topology::Request& request,
                                           std::int64_t expires_ms);
  void erase_promise(std::string_view id);
  void set_expiry(const std::string& id, Promise& promise, std::int64_t expires_ms);
  void forget_unheard(const std::string& name);
  static bool is_whole(const topology::Ledger& ledger, const Promise& promise);
  static topology::Outcome place(const topology::Topology& topology, topology::Ledger& ledger,
                                 Promise& promise);
  void forget_running(NodeIndex node);
  bool any_may_fit(const topology::Request& request) const;
  std::vector<LostPromise> refit(NodeIndex node, topology::Ledger& ledger);
  void set_ledger(NodeIndex node, topology::Ledger ledger);
  void refresh(NodeIndex node);
  void set_stale(NodeIndex node, bool stale);
  void count_job(const std::string& job, NodeIndex node, int by);

  const ColocationRules rules_;
  std::vector<FleetNode> nodes_;     // by index
  std::vector<NodeDigest> digests_;  // by index
  std::vector<NodeIndex> unused_;
  std::map<std::string, NodeIndex, std::less<>> by_name_;  // its keys stay where they are
  NameTable lookup_;                                       // the same, for speed
  // By fingerprint; those that no node has any more go when there are many.
  std::multimap<std::size_t, std::weak_ptr<const MachineKind>> kinds_;
  TextMap<Promise> promises_;
  TextMap<NodeIndex> running_;              // claims that agents reported
  TextMap<std::map<NodeIndex, int>> jobs_;  // containers by node
  std::uint64_t promises_made_ = 0;
  HoleIndex index_;
  DueTimes<std::string> expiring_;  // promises that do not last for ever
  DueTimes<NodeIndex> heard_;       // when nodes were last heard that are not stale
  // Nodes that exist and of whose agents nothing was heard, and whether they are open.
  std::map<std::string, bool, std::less<>> unheard_;
  DueTimes<std::string> awaited_;  // since when; of them
};

}  // namespace pinion::cluster
