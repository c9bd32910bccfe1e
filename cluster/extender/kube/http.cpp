#include "cluster/extender/kube/http.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "cluster/extender/kube/exchange.h"
#include "cluster/extender/kube/tls_context.h"
#include "cluster/extender/kube/token.h"
#include "cluster/extender/kube/wire.h"

namespace pinion::kube {
namespace {

using std::chrono::steady_clock;

constexpr int kUnauthorized = 401;
constexpr int kOk = 200;
constexpr std::chrono::seconds kKeptFor{60};  // unused; API servers close after minutes
// What may arrive beside a body: the head. Chunks cost less than the body itself.
constexpr std::size_t kHeadBytes = std::size_t{256} << 10;

}  // namespace

struct Http::Parts {
  Parts(Access how, TlsContext context)
      : access(std::move(how)), tls(std::move(context)), token(access.token, access.token_file) {}

  struct Kept {
    std::unique_ptr<Wire> wire;
    TimePoint since;
  };
  struct Turn;

  Result<Exchanged> attempt(const HttpRequest& request, const HttpLimits& limits, TimePoint until,
                            const Cancel& cancel, const std::string& with_token);
  Result<std::unique_ptr<Wire>> connect(std::chrono::milliseconds longest, TimePoint until,
                                        const Cancel& cancel) const;
  std::unique_ptr<Wire> take_kept();
  Status wait_for_turn(TimePoint until, const Cancel& cancel);
  void end_turn(std::unique_ptr<Wire> wire);

  Access access;
  TlsContext tls;
  Token token;
  std::mutex mutex;
  std::condition_variable turn;
  std::vector<Kept> kept;  // these two under mutex
  std::size_t busy = 0;
};

// One of kConnections, given back at the end, with the connection when it is good for more.
struct Http::Parts::Turn {
  explicit Turn(Parts& of) : parts(of) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() { parts.end_turn(std::move(wire)); }

  Parts& parts;
  std::unique_ptr<Wire> wire;
};

Result<std::unique_ptr<Wire>> Http::Parts::connect(std::chrono::milliseconds longest,
                                                   TimePoint until, const Cancel& cancel) const {
  return Wire::connect(access, tls.get(), std::min(until, steady_clock::now() + longest), cancel);
}

// The one that was used last: the others may then grow old and be closed.
std::unique_ptr<Wire> Http::Parts::take_kept() {
  const std::lock_guard lock(mutex);
  std::erase_if(kept, [now = steady_clock::now()](const Kept& one) {
    return now - one.since > kKeptFor || !one.wire->reusable();
  });
  if (kept.empty()) return nullptr;
  auto wire = std::move(kept.back().wire);
  kept.pop_back();
  return wire;
}

Status Http::Parts::wait_for_turn(TimePoint until, const Cancel& cancel) {
  constexpr std::chrono::milliseconds look{100};  // a Cancel does not wake a condition variable
  std::unique_lock lock(mutex);
  while (busy >= kConnections) {
    if (cancel.cancelled() || steady_clock::now() >= until) {
      return failure(Errc::kUnavailable,
                     "all " + std::to_string(kConnections) + " connections are busy");
    }
    turn.wait_until(lock, std::min(until, steady_clock::now() + look));
  }
  ++busy;
  return {};
}

void Http::Parts::end_turn(std::unique_ptr<Wire> wire) {
  {
    const std::lock_guard lock(mutex);
    --busy;
    if (wire) kept.push_back({std::move(wire), steady_clock::now()});
  }
  turn.notify_one();
}

Result<Exchanged> Http::Parts::attempt(const HttpRequest& request, const HttpLimits& limits,
                                       TimePoint until, const Cancel& cancel,
                                       const std::string& with_token) {
  if (Status mine = wait_for_turn(until, cancel); !mine) return failure(mine.error());
  Turn held(*this);
  for (;;) {
    auto wire = take_kept();
    const bool used_before = wire != nullptr;
    if (!used_before) {
      auto fresh = connect(limits.connect, until, cancel);
      if (!fresh) return failure(fresh.error());
      wire = *std::move(fresh);
    }
    wire->begin(until, cancel, 2 * limits.body_bytes + kHeadBytes);
    std::string body;
    auto done = exchange(
        *wire, access, request, with_token, [](int) {},
        [&](std::string_view bytes) {
          body.append(bytes);
          return body.size() <= limits.body_bytes;
        });
    if (done) {
      done->answer.body = std::move(body);
      if (done->keep) held.wire = std::move(wire);
      return done;
    }
    const bool closed_meanwhile = used_before && wire->received() == 0 && !cancel.cancelled();
    if (request.method != "GET" || !closed_meanwhile || steady_clock::now() >= until) return done;
  }
}

Http::Http(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Http::~Http() = default;

Result<std::unique_ptr<Http>> Http::create(Access access) {
  TlsContext context;
  if (access.endpoint.tls) {
    auto made = make_tls_context(access);
    if (!made) return failure(made.error());
    context = *std::move(made);
  }
  return std::unique_ptr<Http>(
      new Http(std::make_unique<Parts>(std::move(access), std::move(context))));
}

Result<HttpAnswer> Http::send(const HttpRequest& request, const HttpLimits& limits,
                              const Cancel& cancel) {
  const TimePoint until = steady_clock::now() + limits.whole;
  for (int tries = 0;; ++tries) {
    const auto token = parts_->token.get(steady_clock::now());
    if (!token) return failure(token.error().within(request.what()));
    auto done = parts_->attempt(request, limits, until, cancel, *token);
    if (!done) return failure(done.error().within(request.what()));
    if (done->answer.status != kUnauthorized || tries > 0 || !parts_->token.refused(*token)) {
      return std::move(done->answer);
    }
  }
}

Result<HttpAnswer> Http::stream(const HttpRequest& request, const StreamLimits& limits,
                                const Cancel& cancel, const BytesHandler& handler) {
  const auto token = parts_->token.get(steady_clock::now());
  if (!token) return failure(token.error().within(request.what()));
  const TimePoint head = steady_clock::now() + limits.head;
  auto wire = parts_->connect(limits.connect, head, cancel);
  if (!wire) return failure(wire.error().within(request.what()));
  (*wire)->begin(head, cancel, std::numeric_limits<std::size_t>::max());
  int status = 0;
  bool enough = false;
  std::string refusal;
  const auto on_head = [&](int said) {
    status = said;
    (*wire)->extend(steady_clock::now() + limits.idle);
  };
  const auto on_body = [&](std::string_view bytes) {
    if (status != kOk) {
      refusal.append(bytes);
      return refusal.size() <= limits.refusal_bytes;
    }
    (*wire)->extend(steady_clock::now() + limits.idle);
    enough = !handler(bytes);
    return !enough;
  };
  const auto done = exchange(**wire, parts_->access, request, *token, on_head, on_body);
  if (!done && !enough) return failure(done.error().within(request.what()));
  if (status == kUnauthorized) parts_->token.refused(*token);
  return HttpAnswer{.status = status, .body = std::move(refusal)};
}

}  // namespace pinion::kube
