// Parses the bodies of kube-scheduler's calls, and pods. Keys are read as Go reads them: the
// field's name, in whatever case; the last one counts; null is as good as not there; unknown ones
// are skipped.
//
// What is skipped is checked for valid UTF-8, ended strings and counted brackets, and for nothing
// else. Nothing recurses into what it reads, so depth costs nothing.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "cluster/extender/wire/asks.h"

namespace pinion::cluster::wire {

// Not for several threads at once. Keeps its memory for the next body, some six times the largest
// one; see kept_bytes().
//
// Errors of all: kInvalid, saying what is wrong and where ("NodeNames[3]: not a string"); for
// broken JSON, the byte where it was noticed.
class Reader {
 public:
  Reader();
  ~Reader();
  Reader(Reader&&) noexcept;
  Reader& operator=(Reader&&) noexcept;

  // Pod and nodes must be there; of NodeNames and Nodes, NodeNames count where both are.
  // Views in the result are valid until the next body, or the end of the Reader.
  Result<FilterAsk> filter(std::string body);
  Result<BindAsk> bind(std::string body);
  // Of NodeNameToMetaVictims and NodeNameToVictims the former counts where both are; neither: no
  // nodes.
  Result<PreemptAsk> preempt(std::string body);
  // A v1 Pod by itself, as the API server has it.
  Result<PodSpecView> pod(std::string_view object);

  // What the largest body so far took for good.
  [[nodiscard]] std::size_t kept_bytes() const;

 private:
  struct Body;
  std::unique_ptr<Body> body_;
};

}  // namespace pinion::cluster::wire
