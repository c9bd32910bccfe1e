// Where all connections come together: limits that count for all of them, the counters, and whom to
// ask.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "cluster/extender/http/admission.h"
#include "cluster/extender/http/body_room.h"
#include "cluster/extender/http/callbacks.h"
#include "cluster/extender/http/figures.h"

namespace pinion::cluster {

inline constexpr std::string_view kPlanPath = "/v1/plan";

// What a listener answers. Whoever it points to outlives the server; null: those calls are none of
// its own.
struct Served {
  Callbacks* scheduler = nullptr;  // filter, prioritize, bind, preempt
  Pages* pages = nullptr;          // probes, metrics, the page and /v1
  Admission* admission = nullptr;  // /mutate
  // Is told why a call was answered with an HTTP error, on many threads at once.
  std::function<void(std::string_view why)> refused = {};
};

struct Limits {
  // Open at once. Held binds take one each, so a gang of 1,000 needs as many. When another one
  // comes, the one is closed that waits longest for its client. Those that have not sent a request
  // yet, or shown the certificate that is asked for, are counted by themselves: as many of them,
  // the oldest of the address with most of them is closed when another one comes.
  std::size_t connections = 1200;
  // Of them, those that no bind may take, so that filter always finds one.
  std::size_t kept_from_binds = 64;
  std::size_t body_bytes = 64U << 20U;       // of one filter, prioritize or preempt
  std::size_t bind_body_bytes = 64U << 10U;  // of one bind
  // Of one review: it has the object, which may be 3 MB, and on an update the one before it.
  std::size_t review_body_bytes = 8U << 20U;
  std::size_t plan_body_bytes = 4U << 20U;  // of one job to plan: the API server takes 3 MB
  // Of what has come of all bodies at one time; parsing takes some six times as much. Where it is
  // short, the oldest that are on their way are ended.
  std::size_t all_bodies_bytes = 128U << 20U;
  std::size_t all_kept_bytes = 64U << 20U;  // between the requests of connections
  std::chrono::milliseconds first{10'000};  // until the first byte of a connection
  std::chrono::milliseconds headers{5000};  // from the first byte of a request to the last header
  std::chrono::milliseconds body{20'000};   // then to the end of the body
  std::chrono::milliseconds answer{20'000};
  // Longer than Go's clients keep an unused connection (90 s), so that it is they who close it: a
  // request sent into a connection that closes just then would fail.
  std::chrono::milliseconds idle{150'000};
  std::chrono::milliseconds stop{3000};  // for calls that still run when the server ends
  // Of a connection's thread. Only what is touched takes memory.
  std::size_t stack_bytes = 512U << 10U;
};

// A counter of things in use, up to a limit; gives back what it took at its end.
class Allowance {
 public:
  Allowance() = default;
  // valid() is false when fewer than `amount` are left.
  Allowance(std::atomic<std::size_t>& used, std::size_t amount, std::size_t limit);
  Allowance(Allowance&& other) noexcept;
  Allowance& operator=(Allowance&& other) noexcept;
  ~Allowance();

  [[nodiscard]] bool valid() const { return used_ != nullptr; }

 private:
  std::atomic<std::size_t>* used_ = nullptr;
  std::size_t amount_ = 0;
};

class ConnectionContext {
 public:
  ConnectionContext(Served what, const Limits& bounds, std::string path)
      : served(std::move(what)),
        limits(bounds),
        prefix(std::move(path)),
        bodies(bounds.all_bodies_bytes) {}

  // By the path, which for the scheduler's calls and /mutate begins with the prefix; nothing for a
  // call that nobody here answers.
  [[nodiscard]] std::optional<Verb> verb_of(std::string_view path) const;
  [[nodiscard]] std::size_t body_limit(Verb verb) const;
  [[nodiscard]] Allowance take_kept(std::size_t bytes);
  [[nodiscard]] Allowance take_bind();
  // Planning takes the pod scheduler's lock for longer than anything else, so one plan is made at a
  // time.
  [[nodiscard]] Allowance take_plan();

  enum class Outcome { kAnswered, kMalformed, kRefused, kFailed };
  void count(Verb verb, Outcome outcome);
  // The calls that there are, for who has asked for another one.
  [[nodiscard]] std::string calls() const;
  // The counters of verbs.
  [[nodiscard]] std::array<VerbFigures, kVerbs> figures() const;

  const Served served;
  const Limits limits;
  const std::string prefix;
  BodyRoom bodies;
  std::array<std::atomic<std::size_t>, kVerbs> now{};  // in callbacks
  std::atomic<bool> stopping = false;

 private:
  static constexpr std::size_t kOutcomes = 4;

  [[nodiscard]] bool answers(Verb verb) const;
  [[nodiscard]] std::string path_of(Verb verb) const;

  std::array<std::array<std::atomic<std::uint64_t>, kOutcomes>, kVerbs> counted_{};
  std::atomic<std::size_t> kept_bytes_ = 0;
  std::atomic<std::size_t> binds_ = 0;
  std::atomic<std::size_t> plans_ = 0;
};

}  // namespace pinion::cluster
