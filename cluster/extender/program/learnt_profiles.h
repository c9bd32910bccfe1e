// What is learnt of jobs' runs, and the ConfigMap that keeps it. Each replica watches the agents
// and so knows the runs; the one that leads writes, at most once in a round and at its end, and all
// read it in each round, so a new leader goes on from what is stored, and who changes the map by
// hand is heard. A run is learnt when it ends; while nobody leads, those that follow keep it for
// the next leader.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/log/log.h"
#include "cluster/core/run_book.h"
#include "cluster/extender/kube/api.h"
#include "cluster/extender/kube/cancel.h"
#include "cluster/extender/profiles/history_map.h"
#include "cluster/extender/program/rounds.h"
#include "cluster/extender/service/views.h"

namespace pinion::cluster {

inline constexpr const char* kProfilesMap = "pinion-profiles";  // the ConfigMap
inline constexpr const char* kProfilesKey = "profiles.json";    // of its data

class LearntProfiles {
 public:
  using SteadySeconds = std::function<double()>;
  struct Options {
    std::string name_space;                     // of the ConfigMap, the extender's own
    std::chrono::milliseconds every{60'000};    // between two looks at it, and two writes
    std::chrono::milliseconds soon{5'000};      // after a write that somebody else's came before
    SteadySeconds steady_s = {};                // empty: the steady clock
    std::function<std::int64_t()> unix_s = {};  // empty: the time of day
  };

  // `may_act()`: whether this replica leads, asked before each write; it must be quick. What is
  // passed must outlive this.
  LearntProfiles(kube::Api& api, Log& log, std::function<bool()> may_act, Options options);
  LearntProfiles(const LearntProfiles&) = delete;
  LearntProfiles& operator=(const LearntProfiles&) = delete;
  // Writes what is not written yet, if we lead and the API server answers within two seconds.
  ~LearntProfiles();

  // AgentSink::used(). Any thread.
  void used(const std::string& node, const std::vector<ContainerUse>& uses);
  // What is known of that job now. Any thread.
  [[nodiscard]] LearntProfile of(const std::string& name_space, const std::string& job) const;
  // What was counted of its run that is under way, if there is one. Any thread.
  [[nodiscard]] std::optional<RunFigures> under_way(const std::string& name_space,
                                                    const std::string& job) const;
  // Of all jobs, by name. Any thread.
  [[nodiscard]] std::vector<ProfileRow> rows() const;

 private:
  struct Ended {
    RunFigures figures;
    std::int64_t unix_s = 0;
  };
  struct Stored {
    std::optional<std::string> version;  // none: there is no ConfigMap
    profiles::Histories histories;
  };

  void note(const std::vector<EndedRun>& ended);       // under mutex_
  [[nodiscard]] profiles::Histories together() const;  // under mutex_
  std::chrono::milliseconds round(const kube::Call& how);
  Status read(const kube::Call& how);
  // Errors: kInvalid, for what was passed over.
  Status take(const nlohmann::json& map);
  Status write(const kube::Call& how);
  void forget_stored();  // under mutex_
  void warn_once(const std::string& text, const std::string& why);

  kube::Api& api_;
  Log& log_;
  const std::function<bool()> may_act_;
  const Options options_;
  const std::string path_;  // of the ConfigMaps
  kube::Cancel cancel_;
  std::map<std::string, std::string> warned_;  // why, by what; of the rounds alone

  mutable std::mutex mutex_;  // these under it
  RunBook book_;
  bool known_ = false;  // the ConfigMap was read, or there is none
  Stored stored_;
  // Runs that `stored_` does not have, in their order, by job.
  std::map<std::string, std::vector<Ended>, std::less<>> fresh_;
  std::size_t fresh_runs_ = 0;
  std::optional<Rounds> rounds_;  // last: it uses all above
};

}  // namespace pinion::cluster
