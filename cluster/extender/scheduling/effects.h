// What a decision wants done outside: data for the shell, which does it in this order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cluster/extender/scheduling/pod.h"

namespace pinion::cluster {

// Of a bind call of the scheduler that waits for its answer; chosen by the caller, never 0.
using CallId = std::uint64_t;

// The held call's answer: make the binding, or say why not.
struct Answered {
  CallId call_id = 0;
  bool go = false;
  std::string text;  // where it may not

  bool operator==(const Answered&) const = default;
};

// Until a nomination is in the pod's status and all have read it.
inline constexpr std::int64_t kNominationMs = 2000;

// The node is to be named in the pod's status: then the scheduler offers it first, and counts the
// pod there.
struct Nomination {
  PodRef pod;
  std::string node;
  const char* why = "";
};

// Pinion's scheduling gate is to be taken off.
struct Opening {
  PodRef pod;
  std::string node;        // to be nominated before that; empty: none
  bool nominated = false;  // it is already
};

// For the pod's user.
struct Explanation {
  PodRef pod;
  std::string why;
};

// What has become of a gang, for the log.
struct GangNews {
  enum class Kind { kPlanned, kGivenUp, kLetGo };
  Kind kind = Kind::kPlanned;
  std::string gang;
  std::string why;         // kGivenUp
  std::size_t places = 0;  // that this is about
  std::size_t nodes = 0;   // on which they are
};

struct Effects {
  std::vector<Answered> answered;
  std::vector<Nomination> nominations;
  std::vector<Opening> openings;
  // Pods to be touched, so that the scheduler asks for them again: they would fit now.
  std::vector<PodRef> wake;
  std::vector<Explanation> explanations;  // why its gang waits though nobody asks about it
  std::vector<GangNews> news;
  std::vector<Explanation> hopeless;  // its job can start on no node, whatever ends
};

// What becomes of a bind call.
struct BindAnswer {
  enum class Kind {
    kGo,       // make the binding now and report with bound()
    kHold,     // an Answered with its id will come
    kRefuse,   // `text` says why
    kUnknown,  // nobody has told of this pod
  };
  Kind kind = Kind::kUnknown;
  std::string text;
};

}  // namespace pinion::cluster
