// The shell around the engine: takes the runtime's events, has the engine decide, carries the
// effects out, and compares decided with applied when nothing else is to do. One thread, never
// blocked.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/cgroup/cpuset_files.h"
#include "agent/device_nodes.h"
#include "agent/engine/engine.h"
#include "agent/machine_watch.h"
#include "agent/nri/engine_handler.h"
#include "agent/view.h"
#include "base/backoff.h"
#include "base/log/log.h"
#include "nri-plugin/connection.h"

namespace pinion::agent {

class Node final : public EngineHandler {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // The log must outlive the node. Without `files` nothing is compared; without `machine` its CPUs
  // never change; without `kept_file` what pods keep is not saved (kept_file.h).
  Node(engine::Engine engine, std::optional<cgroup::CpusetFiles> files,
       std::optional<MachineWatch> machine, Log& log, std::chrono::milliseconds audit_interval,
       DeviceNodes devices = {}, std::string kept_file = {});

  // EngineHandler
  engine::Reply handle(engine::Event event) override;
  void runtime_connected(const nri::RuntimeInfo& info) override;
  void runtime_disconnected(const Error& why, bool again) override;
  void warn(const std::string& text) override;

  // What nobody is to wait for who waits for an answer, after each round of events: writes the
  // log's lines, saves what pods keep where that has changed and, every 100 ms while there are
  // events, stops the process if the state is broken.
  void finish(TimePoint now);
  // The same before an orderly end, which leaves nothing for later.
  void end(TimePoint now);
  // What was saved is gone: the next finish() writes it again.
  void save_again() { saved_.reset(); }

  // Does one small piece of waiting work: a cpuset file to grow, or one to compare. False: there is
  // none until next_work().
  bool work(TimePoint now);
  // While not `synchronized` no resync is asked for: nothing is due for its sake.
  [[nodiscard]] std::optional<TimePoint> next_work(bool synchronized) const;

  // Readable when hear_news() has something to do; -1 while it cannot have.
  [[nodiscard]] int news_fd() const { return files_ ? files_->news_fd() : -1; }
  // Takes in what a thread that may wait has done meanwhile.
  void hear_news();

  // These hold from now on.
  void use(const policy::Defaults& defaults, std::chrono::milliseconds audit_interval);

  // A container is wrong in a way that only the answer to a new Synchronize can mend. True at most
  // once in a while, so that a repair that does not help cannot spin.
  [[nodiscard]] bool take_resync_request(TimePoint now);

  // All containers are known: a Synchronize was answered.
  [[nodiscard]] bool synchronized() const { return synchronized_; }
  [[nodiscard]] const engine::Engine& engine() const { return engine_; }
  [[nodiscard]] bool compares_files() const { return files_.has_value(); }

  // Grows whenever something that a reader could see has changed.
  [[nodiscard]] std::uint64_t version() const { return version_; }
  // The last kRefusalsKept of them.
  [[nodiscard]] const std::deque<RefusalView>& refusals() const { return refusals_; }

 private:
  // Does what the engine wants done to files now.
  void do_work();
  // Lines of the log, in their order, at the next finish().
  void say(std::vector<Note> notes);
  void say(Note::Level level, std::string text,
           std::vector<std::pair<std::string, std::string>> fields);
  void enforce(const engine::Enforce& wanted, cgroup::Allowance& allowance);
  bool go_on_inside(TimePoint now);
  void unguard(const engine::Unguard& group);
  void log_widened(const cgroup::Widened& widened);
  bool look_at_machine(TimePoint now);
  bool grows_by_resync(TimePoint now);
  void record(std::vector<engine::Refused> refused);
  void save_kept(TimePoint now);
  void complete(engine::Synchronize& all);
  bool settle_update(TimePoint now);

  engine::Engine engine_;
  std::optional<cgroup::CpusetFiles> files_;
  std::optional<MachineWatch> machine_;
  Log& log_;
  std::chrono::milliseconds audit_interval_;
  DeviceNodes devices_;
  std::string kept_file_;
  std::optional<std::uint64_t> saved_;  // State::kept_revision() of the file; nullopt: not known
  std::vector<engine::KeptCores> saved_kept_;     // in the file
  std::uint64_t unstarted_ = 0;                   // State::unstarted_revision() when last looked at
  std::optional<TimePoint> save_unstarted_;       // when what such containers have is saved
  std::string save_trouble_;                      // why not, as said last
  std::map<std::string, TimePoint> updates_due_;  // by id: when the runtime has had long enough
  bool synchronized_ = false;
  std::uint64_t version_ = 0;
  std::deque<RefusalView> refusals_;
  std::vector<Note> notes_;  // for the log
  bool unchecked_ = false;   // an event has changed the state since it was last checked
  TimePoint next_check_;
  bool widen_due_;  // QoS groups may be narrow by an agent before this one and another fence
  std::optional<std::string> audit_at_;  // the container compared last in this round
  TimePoint next_audit_;
  TimePoint next_inside_;  // when groups inside containers are gone on with
  bool changed_ = false;   // since the engine was last asked whether it wants a resync
  TimePoint next_look_;    // whether it wants one
  TimePoint next_resync_;
  std::optional<TimePoint> could_grow_;  // since when shared containers could have more CPUs
  Backoff resync_backoff_;
  std::string last_disconnect_;
};

}  // namespace pinion::agent
