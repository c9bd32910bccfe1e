#include "cluster/extender/kube/http.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

#include "cluster/extender/kube/certificates.h"
#include "cluster/extender/kube/connection.h"
#include "cluster/extender/kube/proxy.h"
#include "cluster/extender/kube/token.h"

namespace pinion::kube {
namespace {

using std::chrono::steady_clock;

constexpr int kUnauthorized = 401;
constexpr int kOk = 200;
constexpr std::chrono::seconds kKeptFor{60};  // unused; API servers close after minutes

// In the form that libcurl takes; what the Access names comes before the environment's.
Status choose_proxy(Access& access) {
  const bool named = !access.proxy.empty();
  if (!named) access.proxy = proxy_of(access.endpoint, proxy_environment());
  if (access.proxy.empty()) return {};
  auto url = read_proxy_url(access.proxy);
  if (!url) return failure(url.error().within(named ? access.source : "HTTPS_PROXY or HTTP_PROXY"));
  access.proxy = *std::move(url);
  return {};
}

}  // namespace

struct Http::Parts {
  explicit Parts(Access how) : access(std::move(how)), token(access.token, access.token_file) {}

  struct Kept {
    std::unique_ptr<Connection> connection;
    TimePoint since;
  };
  struct Turn;

  Result<HttpAnswer> attempt(const HttpRequest& request, const HttpLimits& limits, TimePoint until,
                             const Cancel& cancel, const std::string& with_token);
  Result<std::unique_ptr<Connection>> take_connection();
  Status wait_for_turn(TimePoint until, const Cancel& cancel);
  void end_turn(std::unique_ptr<Connection> connection);

  Access access;
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
  ~Turn() { parts.end_turn(std::move(connection)); }

  Parts& parts;
  std::unique_ptr<Connection> connection;
};

// The one that was used last: the others may then grow old and be closed.
Result<std::unique_ptr<Connection>> Http::Parts::take_connection() {
  {
    const std::lock_guard lock(mutex);
    std::erase_if(
        kept, [now = steady_clock::now()](const Kept& one) { return now - one.since > kKeptFor; });
    if (!kept.empty()) {
      auto connection = std::move(kept.back().connection);
      kept.pop_back();
      return connection;
    }
  }
  return Connection::create(access);
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

void Http::Parts::end_turn(std::unique_ptr<Connection> connection) {
  {
    const std::lock_guard lock(mutex);
    --busy;
    if (connection) kept.push_back({std::move(connection), steady_clock::now()});
  }
  turn.notify_one();
}

Result<HttpAnswer> Http::Parts::attempt(const HttpRequest& request, const HttpLimits& limits,
                                        TimePoint until, const Cancel& cancel,
                                        const std::string& with_token) {
  if (Status mine = wait_for_turn(until, cancel); !mine) return failure(mine.error());
  Turn held(*this);
  auto connection = take_connection();
  if (!connection) return failure(connection.error());
  if (Status begun =
          (*connection)
              ->begin(
                  request, with_token,
                  {.connect = limits.connect, .body_bytes = limits.body_bytes, .endless = false});
      !begun) {
    return failure(begun.error());
  }
  for (bool complete = false; !complete;) {
    const auto went_on = (*connection)->proceed(until, cancel);
    if (!went_on) return failure(went_on.error());
    complete = *went_on;
  }
  HttpAnswer answer{.status = (*connection)->status(),
                    .body = (*connection)->take_body(),
                    .http2 = (*connection)->http2()};
  held.connection = *std::move(connection);
  return answer;
}

Http::Http(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Http::~Http() = default;

Result<std::unique_ptr<Http>> Http::create(Access access) {
  if (access.endpoint.tls) {
    if (const Status checked = check_certificates(access); !checked)
      return failure(checked.error());
  }
  if (const Status chosen = choose_proxy(access); !chosen) return failure(chosen.error());
  return std::unique_ptr<Http>(new Http(std::make_unique<Parts>(std::move(access))));
}

Result<HttpAnswer> Http::send(const HttpRequest& request, const HttpLimits& limits,
                              const Cancel& cancel) {
  const TimePoint until = steady_clock::now() + limits.whole;
  for (int tries = 0;; ++tries) {
    const auto token = parts_->token.get(steady_clock::now());
    if (!token) return failure(token.error().within(request.what()));
    auto done = parts_->attempt(request, limits, until, cancel, *token);
    if (!done) return failure(done.error().within(request.what()));
    if (done->status != kUnauthorized || tries > 0 || !parts_->token.refused(*token)) return done;
  }
}

Result<HttpAnswer> Http::stream(const HttpRequest& request, const StreamLimits& limits,
                                const Cancel& cancel, const BytesHandler& handler) {
  const auto token = parts_->token.get(steady_clock::now());
  if (!token) return failure(token.error().within(request.what()));
  TimePoint until = steady_clock::now() + limits.head;
  const auto connection = Connection::create(parts_->access);
  if (!connection) return failure(connection.error().within(request.what()));
  Connection& from = **connection;
  if (const Status begun = from.begin(
          request, *token,
          {.connect = limits.connect, .body_bytes = limits.refusal_bytes, .endless = true});
      !begun) {
    return failure(begun.error().within(request.what()));
  }
  for (bool complete = false; !complete;) {
    const bool had_head = from.status() != 0;
    const auto went_on = from.proceed(until, cancel);
    if (!went_on) return failure(went_on.error().within(request.what()));
    complete = *went_on;
    if (from.status() == kOk) {
      const std::string bytes = from.take_body();
      if (!bytes.empty() && !handler(bytes)) break;
    }
    // A refusal has to be complete by then.
    if (from.status() == kOk || !had_head) until = steady_clock::now() + limits.idle;
  }
  if (from.status() == kUnauthorized) parts_->token.refused(*token);
  return HttpAnswer{.status = from.status(), .body = from.take_body(), .http2 = from.http2()};
}

}  // namespace pinion::kube
