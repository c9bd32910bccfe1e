// What the server counts.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace pinion::cluster {

enum class Verb { kFilter, kPrioritize, kBind, kPreempt, kMutate, kPlan };
inline constexpr std::size_t kVerbs = 6;
inline constexpr std::array<std::string_view, kVerbs> kVerbNames{"filter",  "prioritize", "bind",
                                                                 "preempt", "mutate",     "plan"};

struct VerbFigures {
  std::uint64_t answered = 0;   // by a callback
  std::uint64_t malformed = 0;  // HTTP 400
  std::uint64_t refused = 0;    // too large, too many or too slow, or without a client certificate
  std::uint64_t failed = 0;     // a defect of ours: HTTP 500
  std::uint64_t now = 0;        // in a callback; for bind: held
};

struct ServerFigures {
  std::array<VerbFigures, kVerbs> verbs{};  // by Verb
  std::uint64_t connections = 0;            // open now
  std::uint64_t turned_away = 0;            // connections beyond the limit
  std::uint64_t handshakes_refused = 0;     // of TLS, for what the client sent or did not
  // When the server's certificate ends, and that of the client that came last, in seconds since
  // 1970; 0: there is none.
  std::int64_t own_end_s = 0;
  std::int64_t client_end_s = 0;
  std::string tls_error;  // why a changed certificate is not used; empty: nothing is wrong

  // Of another listener; whose certificates end when stays that of the first.
  ServerFigures& operator+=(const ServerFigures& other);
};

}  // namespace pinion::cluster
