// The agents' side of pinion-streams-bench: thousands of agents in one process.
#pragma once

#include <string>

namespace pinion::bench {

struct PlayedAgents {
  int agents = 5000;
  int containers = 8;  // ranks with cores of their own on each node, of 8 CPUs each
  int kinds = 1;       // of machines: they differ in their memory, and in who runs there
};

// Serves until it is killed, from when it has written a byte to `orders`. Agents of one kind share
// one picture, each with a stream of its own; all that was measured changes every second, and the
// placement with each byte from `orders`, a socket. False: it could not begin.
bool play_agents(const std::string& socket, const PlayedAgents& load, int orders);

}  // namespace pinion::bench
