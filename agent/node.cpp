#include "agent/node.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "agent/kept_file.h"

namespace pinion::agent {
namespace {

using Level = Note::Level;

constexpr std::chrono::milliseconds kFirstResyncPause{1000};
constexpr std::chrono::milliseconds kLastResyncPause{60'000};
constexpr std::chrono::milliseconds kGrowthPause{60'000};
// Each takes a walk over all containers.
constexpr std::chrono::milliseconds kLookPause{250};
constexpr std::chrono::milliseconds kCheckPause{100};
// Within this time a container that is made has started, or its start has failed.
constexpr std::chrono::milliseconds kStartPause{500};
// Groups inside containers, of which a tenant decides how many there are: so many are followed in a
// turn, in so long, before an event is answered, and so many at once when it is quiet, a part of
// the time alone. The kernel takes 20 us for one, or milliseconds where there are thousands.
constexpr int kInsideOfTurn = 256;
constexpr std::chrono::milliseconds kTimeOfTurn{50};
constexpr int kInsideOfPiece = 64;
constexpr std::chrono::milliseconds kTimeOfPiece{5};
constexpr std::chrono::milliseconds kInsidePause{20};
// Far longer than a runtime takes for an update that it says to have done.
constexpr std::chrono::milliseconds kUpdatePause{10'000};

cgroup::Allowance of_turn() {
  return {kInsideOfTurn, std::chrono::steady_clock::now() + kTimeOfTurn};
}

}  // namespace

Node::Node(engine::Engine engine, std::optional<cgroup::CpusetFiles> files,
           std::optional<MachineWatch> machine, Log& log, std::chrono::milliseconds audit_interval,
           DeviceNodes devices, std::string kept_file)
    : engine_(std::move(engine)),
      files_(std::move(files)),
      machine_(std::move(machine)),
      log_(log),
      audit_interval_(audit_interval),
      devices_(std::move(devices)),
      kept_file_(std::move(kept_file)),
      widen_due_(!engine_.narrows_qos_groups()),
      next_audit_(std::chrono::steady_clock::now() + audit_interval),
      resync_backoff_(kFirstResyncPause, kLastResyncPause) {}

void Node::do_work() {
  cgroup::Allowance allowance = of_turn();
  while (const auto work = engine_.next()) {
    if (!files_) continue;
    if (const auto* group = std::get_if<engine::Unguard>(&*work)) {
      unguard(*group);
    } else {
      enforce(std::get<engine::Enforce>(*work), allowance);
    }
  }
}

void Node::enforce(const engine::Enforce& wanted, cgroup::Allowance& allowance) {
  const engine::Enforced result = files_->enforce(wanted, allowance);
  std::vector<Note> notes = engine_.report(result);
  changed_ = true;
  // An audit that finds all well is no news; neither is that groups inside go on as before.
  const bool as_before = result.unfinished
                             ? !wanted.halfway.empty()
                             : wanted.cause == engine::Cause::kAudit && !result.written;
  if (!as_before || !notes.empty()) ++version_;
  say(std::move(notes));
}

void Node::say(std::vector<Note> notes) {
  notes_.insert(notes_.end(), std::make_move_iterator(notes.begin()),
                std::make_move_iterator(notes.end()));
}

void Node::say(Note::Level level, std::string text,
               std::vector<std::pair<std::string, std::string>> fields) {
  notes_.push_back({.level = level, .text = std::move(text), .fields = std::move(fields)});
}

// Where it fails, the next round tries again.
void Node::save_kept(TimePoint now) {
  if (kept_file_.empty() || !synchronized_) return;
  const engine::State& state = engine_.state();
  if (std::exchange(unstarted_, state.unstarted_revision()) != state.unstarted_revision() &&
      !save_unstarted_) {
    save_unstarted_ = now + kStartPause;
  }
  const bool due = save_unstarted_ && now >= *save_unstarted_;
  if (saved_ == state.kept_revision() && !due) return;
  if (due) save_unstarted_.reset();
  auto kept = engine_.kept();
  if (saved_ == state.kept_revision() && kept == saved_kept_) return;
  const auto done = agent::save_kept(kept_file_, kept);
  std::string trouble = done ? std::string() : done.error().text;
  saved_ = done ? std::optional(state.kept_revision()) : std::nullopt;
  saved_kept_ = std::move(kept);
  if (std::exchange(save_trouble_, trouble) == trouble || trouble.empty()) return;
  log_.warn("what pods keep is not saved: an agent after this one will not know it",
            {{"why", trouble}});
}

void Node::finish(TimePoint now) {
  for (const Note& note : std::exchange(notes_, {})) log_.write(note);
  save_kept(now);
  if (!unchecked_ || now < next_check_) return;
  unchecked_ = false;
  next_check_ = now + kCheckPause;
  if (const auto broken = engine_.broken()) {
    log_.error("broken invariant, stopping: a restart rebuilds the state", {{"what", *broken}});
    std::abort();
  }
}

void Node::end(TimePoint now) {
  save_unstarted_ = now;
  finish(now);
}

void Node::unguard(const engine::Unguard& group) {
  if (const auto done = files_->unguard(group); !done) {
    say(Level::kWarn,
        "a partition was not taken away whole: the next one in its way will try again",
        {{"cgroup", group.cgroups_path}, {"why", done.error().text}});
  }
}

void Node::log_widened(const cgroup::Widened& widened) {
  for (const std::string& group : widened.groups) {
    say(Level::kInfo, "QoS group may use all CPUs again", {{"cgroup", group}});
  }
  for (const std::string& why : widened.failed) {
    say(Level::kWarn, "a QoS group is not as before: pinionctl release tries again",
        {{"why", why}});
  }
}

void Node::hear_news() {
  if (!files_) return;
  const cgroup::QosWriter::News news = files_->take_news();
  if (news.widened) log_widened(*news.widened);
  for (const std::string& group : news.groups) engine_.look_again(group);
  do_work();
}

void Node::record(std::vector<engine::Refused> refused) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  for (engine::Refused& one : refused) {
    refusals_.push_back(
        {.unix_ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count(),
         .name_space = std::move(one.name_space),
         .pod = std::move(one.pod),
         .container = std::move(one.container),
         .reason = std::move(one.reason),
         .text = std::move(one.text)});
    if (refusals_.size() > kRefusalsKept) refusals_.pop_front();
  }
}

// Adds what the node's files say.
void Node::complete(engine::Synchronize& all) {
  for (engine::Container& container : all.containers) {
    container.near_nodes = devices_.of(container.devices);
    if (!files_) continue;
    if (auto applied = files_->read(container.cgroups_path, container.pid)) {
      all.files.emplace(container.id, *applied);
    }
  }
}

engine::Reply Node::handle(engine::Event event) {
  auto* all = std::get_if<engine::Synchronize>(&event);
  if (all != nullptr) complete(*all);
  if (auto* create = std::get_if<engine::CreateContainer>(&event)) {
    create->container.near_nodes = devices_.of(create->container.devices);
  }
  engine::Effects effects = engine_.handle(event);
  if (const auto* update = std::get_if<engine::UpdateContainer>(&event)) {
    const engine::Member* member = engine_.state().find(update->container.id);
    updates_due_.erase(update->container.id);
    if (member != nullptr && member->pending) {
      updates_due_[update->container.id] = std::chrono::steady_clock::now() + kUpdatePause;
    }
  }
  changed_ = true;
  ++version_;
  unchecked_ = true;
  record(std::move(effects.refused));
  do_work();
  say(std::move(effects.notes));
  synchronized_ = synchronized_ || all != nullptr;
  return std::move(effects.reply);
}

void Node::use(const policy::Defaults& defaults, std::chrono::milliseconds audit_interval) {
  engine_.use(defaults);
  ++version_;
  audit_interval_ = audit_interval;
  next_audit_ = std::min(next_audit_, std::chrono::steady_clock::now() + audit_interval);
}

void Node::runtime_connected(const nri::RuntimeInfo& info) {
  last_disconnect_.clear();
  say(Level::kInfo, "connected",
      {{"runtime", info.name},
       {"version", info.version},
       {"request_timeout_ms", std::to_string(info.request_timeout.count())}});
}

void Node::runtime_disconnected(const Error& why, bool again) {
  if (why.text == last_disconnect_) return;  // said already, still trying
  last_disconnect_ = why.text;
  say(Level::kWarn,
      again ? "no connection to the runtime, trying again"
            : "no connection to the runtime that launched this agent, which ends",
      {{"why", why.text}});
}

void Node::warn(const std::string& text) {
  say(Level::kWarn, text, {});
}

// True when CPUs came or went.
bool Node::look_at_machine(TimePoint now) {
  if (!machine_) return false;
  auto changed = machine_->look(now);
  if (!changed) return false;
  if (!*changed) {
    say(Level::kError, "CPUs of the machine changed and it cannot be read, trying again",
        {{"why", changed->error().text}});
    return false;
  }
  const engine::CpuSet stayed = engine_.state().topology.online - (*changed)->away;
  handle(std::move(**changed));
  const engine::CpuSet& online = engine_.state().topology.online;
  if (files_ && !online.is_subset_of(stayed) && !engine_.guarded().empty()) {
    // Never those of ranks: the trial would take a partition, or their file, away from them.
    const engine::CpuSet free = online - engine_.state().ledger.exclusive();
    if (const auto cleared = files_->clear_partitions(free); !cleared) {
      say(Level::kWarn, "threads of the kernel may run on ranks' CPUs that were offline",
          {{"why", cleared.error().text}});
    }
  }
  return true;
}

// An update of which the runtime has said nothing more for too long, if there is one.
bool Node::settle_update(TimePoint now) {
  const auto due = std::find_if(updates_due_.begin(), updates_due_.end(),
                                [&](const auto& entry) { return entry.second <= now; });
  if (due == updates_due_.end()) return false;
  const std::string id = updates_due_.extract(due).key();
  const engine::Member* member = engine_.state().find(id);
  if (member != nullptr && member->pending) handle(engine::UpdateOverdue{id});
  return true;
}

bool Node::work(TimePoint now) {
  if (look_at_machine(now) || settle_update(now)) return true;
  if (!files_) return false;
  cgroup::Allowance allowance = of_turn();
  if (const auto piece = engine_.idle()) {
    enforce(*piece, allowance);
    do_work();
    return true;
  }
  if (widen_due_ && synchronized_) {  // everybody is kept off by this fence's way by now
    widen_due_ = false;
    if (const auto begun = files_->widen_narrowed(); !begun) {
      log_widened({.groups = {}, .failed = {begun.error().text}});
    }
  }
  if (!audit_at_) {
    if (now < next_audit_) return go_on_inside(now);
    audit_at_.emplace();
  }
  const auto piece = engine_.audit(*audit_at_);
  if (!piece) {
    audit_at_.reset();
    next_audit_ = now + audit_interval_;
    return go_on_inside(now);
  }
  audit_at_ = piece->id;
  enforce(*piece, allowance);
  do_work();
  return true;
}

// Always false: what remains waits for a pause.
bool Node::go_on_inside(TimePoint now) {
  if (now < next_inside_) return false;
  const auto piece = engine_.put_off();
  if (!piece) {
    files_->rest();
    return false;
  }
  next_inside_ = now + kInsidePause;
  cgroup::Allowance allowance(kInsideOfPiece, std::chrono::steady_clock::now() + kTimeOfPiece);
  enforce(*piece, allowance);
  do_work();
  return false;
}

std::optional<Node::TimePoint> Node::next_work(bool synchronized) const {
  std::optional<TimePoint> next = machine_ ? machine_->deadline() : std::nullopt;
  const auto due = [&next](TimePoint time) { next = std::min(time, next.value_or(time)); };
  if (files_) due(next_audit_);
  if (engine_.has_put_off()) due(next_inside_);
  if (unchecked_) due(next_check_);
  for (const auto& [id, time] : updates_due_) due(time);
  if (save_unstarted_) due(*save_unstarted_);
  if (synchronized && could_grow_) due(*could_grow_ + kGrowthPause);
  if (synchronized && changed_) due(std::max(next_look_, next_resync_));
  return next;
}

// Where no answer comes that could say so, shared containers get what is free again by a resync.
bool Node::grows_by_resync(TimePoint now) {
  if (!engine_.could_grow()) {
    could_grow_.reset();
    return false;
  }
  if (!could_grow_) could_grow_ = now;
  return now >= *could_grow_ + kGrowthPause;
}

bool Node::take_resync_request(TimePoint now) {
  const bool due = could_grow_ && now >= *could_grow_ + kGrowthPause;
  if ((!changed_ && !due) || now < std::max(next_look_, next_resync_)) return false;
  next_look_ = now + kLookPause;
  if (!engine_.wants_resync() && !grows_by_resync(now)) {
    changed_ = false;
    if (now >= next_resync_ + kLastResyncPause) resync_backoff_.reset();
    return false;
  }
  could_grow_.reset();
  next_resync_ = now + resync_backoff_.next();
  return true;
}

}  // namespace pinion::agent
