#include "cluster/extender/http/figures.h"

namespace pinion::cluster {

ServerFigures& ServerFigures::operator+=(const ServerFigures& other) {
  for (std::size_t i = 0; i < kVerbs; ++i) {
    const VerbFigures& more = other.verbs[i];
    verbs[i].answered += more.answered;
    verbs[i].malformed += more.malformed;
    verbs[i].refused += more.refused;
    verbs[i].failed += more.failed;
    verbs[i].now += more.now;
  }
  connections += other.connections;
  turned_away += other.turned_away;
  handshakes_refused += other.handshakes_refused;
  if (tls_error.empty()) tls_error = other.tls_error;
  return *this;
}

}  // namespace pinion::cluster
