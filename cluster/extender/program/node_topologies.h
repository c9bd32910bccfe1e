// Writes NodeResourceTopology objects of all nodes whose agents are heard, for schedulers other
// than ours.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/log/log.h"
#include "cluster/extender/kube/api.h"
#include "cluster/extender/kube/cancel.h"
#include "cluster/extender/program/rounds.h"

namespace pinion::cluster {

class NodeTopologies {
 public:
  struct Options {
    std::chrono::milliseconds every{1'000};    // between two looks at the fleet
    int most = 20;                             // objects written in each
    std::chrono::milliseconds again{600'000};  // so old an object is written anew
  };
  // The object of each node, as it is now; called on a thread of our own.
  using Look = std::function<std::vector<nlohmann::json>()>;

  // `may_act()`: asked before each round; nothing is written while another replica leads. What is
  // passed must outlive it. What has not changed is not written; of more than `most` that have,
  // those that wait longest come first.
  NodeTopologies(kube::Api& api, Log& log, std::function<bool()> may_act, Look look,
                 Options options);
  NodeTopologies(kube::Api& api, Log& log, std::function<bool()> may_act, Look look)
      : NodeTopologies(api, log, std::move(may_act), std::move(look), Options()) {}
  NodeTopologies(const NodeTopologies&) = delete;
  NodeTopologies& operator=(const NodeTopologies&) = delete;
  ~NodeTopologies();  // the objects stay

 private:
  using Clock = std::chrono::steady_clock;
  struct Written {
    nlohmann::json object;
    Clock::time_point when{};  // tried last
  };

  void round();
  void write_changed();
  Status write(const nlohmann::json& object);

  kube::Api& api_;
  Log& log_;
  const std::function<bool()> may_act_;
  const Look look_;
  const Options options_;
  kube::Cancel cancel_;
  std::map<std::string, Written> written_;  // by node; these two are the rounds' alone
  std::string told_trouble_;
  Rounds rounds_;  // last: it uses all above
};

}  // namespace pinion::cluster
