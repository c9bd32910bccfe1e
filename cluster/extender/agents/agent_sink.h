// Who is told what the agents say.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "cluster/core/fleet.h"
#include "cluster/core/run_book.h"

namespace pinion::cluster {

// Called on several threads at once, for one node one after another. It may not call Agents.
class AgentSink {
 public:
  AgentSink() = default;
  AgentSink(const AgentSink&) = delete;
  AgentSink& operator=(const AgentSink&) = delete;
  virtual ~AgentSink() = default;

  virtual void reported(const std::string& node, NodeReport report) = 0;
  // Only what containers measured has changed; L3 misses per second by claim id. False: the node is
  // not known any more, and is to be reported again.
  virtual bool measured(const std::string& node, MissRates rates) = 0;
  virtual bool heard(const std::string& node) = 0;  // nothing has changed there; the same
  // Its agent has lost the runtime, and can start nothing until one of the above is told.
  virtual void unlinked(const std::string& node) = 0;
  // All containers of jobs that have cores of their own there, with what they have used so far.
  // With each message that says more than that the agent is there, to who wants it.
  [[nodiscard]] virtual bool wants_uses() const { return false; }
  virtual void used(const std::string& /*node*/, const std::vector<ContainerUse>& /*uses*/) {}

  // The agent's stream is up: after its first report, and not again before lost().
  virtual void connected(const std::string& node) = 0;
  // It is up no more, or the first try was in vain; not again before connected().
  virtual void lost(const std::string& node, const Error& why) = 0;
};

}  // namespace pinion::cluster
