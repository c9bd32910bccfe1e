#include "agent/api/watchers.h"

#include <grpc/grpc.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

#include "base/process/memory.h"

namespace pinion::agent::api {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::uint32_t kMaxInterval = 60000;  // milliseconds

// An answer that is only a status.
class Refused final : public grpc::ServerWriteReactor<v1::WatchNodeResponse> {
 public:
  explicit Refused(grpc::Status status) { Finish(std::move(status)); }
  void OnDone() override { delete this; }
};

}  // namespace

// One stream. gRPC calls the On...() methods on its own threads; all else runs on their thread,
// or in stop() after that has ended. Kept alive by their list until OnDone().
class Watcher final : public grpc::ServerWriteReactor<v1::WatchNodeResponse> {
 public:
  using TimePoint = WatchState::TimePoint;

  Watcher(Watchers& all, grpc::CallbackServerContext& context, WatchState state)
      : all_(all), context_(context), state_(std::move(state)) {}

  void OnWriteDone(bool ok) override {
    if (!ok) gone_ = true;
    written_ = true;
    all_.wake();
  }
  void OnCancel() override {
    gone_ = true;
    all_.wake();
  }
  void OnDone() override { all_.remove(*this); }

  // Does what is to be done now; answers when to be called again.
  TimePoint turn(const std::shared_ptr<const Picture>& picture, TimePoint now) {
    if (ended_) return TimePoint::max();
    if (gone_) {
      end({grpc::StatusCode::CANCELLED, "the reader has left"});
      return TimePoint::max();
    }
    if (written_.exchange(false)) {
      state_.written();
      message_.Clear();  // the first one is as large as the node
      if (!std::exchange(knows_all_, true)) all_.give_back_ = true;
    }
    if (state_.overdue(now)) {
      ++all_.figures_.watchers_cut_off;
      cut_off({grpc::StatusCode::DEADLINE_EXCEEDED, "the reader has read nothing for too long"});
      return TimePoint::max();
    }
    if (state_.next(picture, now, message_)) {
      ++all_.figures_.watch_messages;
      StartWrite(&message_);
    }
    return state_.wake(picture.get());
  }

  // Ends the stream, even in the middle of a message that the reader does not take.
  void cut_off(const grpc::Status& status) {
    if (ended_) return;
    // Finish() alone would wait behind that message. gRPC's C++ interface can only cancel with
    // CANCELLED, its C interface says why.
    grpc_call_cancel_with_status(context_.c_call(),
                                 static_cast<grpc_status_code>(status.error_code()),
                                 status.error_message().c_str(), nullptr);
    end(status);
  }

 private:
  // After this OnDone() may come at any time: gRPC must not be called for this stream again.
  void end(const grpc::Status& status) {
    ended_ = true;
    Finish(status);
  }

  Watchers& all_;
  grpc::CallbackServerContext& context_;
  WatchState state_;
  v1::WatchNodeResponse message_;  // gRPC reads it until OnWriteDone()
  bool ended_ = false;
  bool knows_all_ = false;  // the first message was written
  std::atomic<bool> gone_ = false;
  std::atomic<bool> written_ = false;
};

Watchers::Watchers(Pictures& pictures, Published<NodeView>& views,
                   Published<metrics::Sample>& samples, const WatchLimits& limits,
                   ApiFigures& figures)
    : pictures_(pictures), limits_(limits), figures_(figures), thread_([this] { run(); }) {
  on_view_ = views.subscribe([this] { news(); });
  on_sample_ = samples.subscribe([this] { news(); });
}

Watchers::~Watchers() {
  stop();
}

grpc::ServerWriteReactor<v1::WatchNodeResponse>* Watchers::watch(
    grpc::CallbackServerContext& context, const v1::WatchNodeRequest& request) {
  for (const auto& [name, asked] : {std::pair("min_interval_ms", request.min_interval_ms()),
                                    {"figures_interval_ms", request.figures_interval_ms()}}) {
    if (asked <= kMaxInterval) continue;
    return new Refused(
        {grpc::StatusCode::INVALID_ARGUMENT, std::string(name) + ": " + std::to_string(asked) +
                                                 " is above " + std::to_string(kMaxInterval)});
  }
  const std::lock_guard lock(mutex_);
  if (stopping_) {
    return new Refused({grpc::StatusCode::UNAVAILABLE, "the agent is stopping"});
  }
  if (watchers_.size() >= limits_.most) {
    ++figures_.watchers_refused;
    return new Refused({grpc::StatusCode::RESOURCE_EXHAUSTED,
                        std::to_string(limits_.most) + " watch already, which is the most"});
  }
  const WatchTerms terms{.figures = request.figures(),
                         .interval = milliseconds(request.min_interval_ms()),
                         .figures_interval = milliseconds(request.figures_interval_ms())};
  watchers_.push_back(std::make_shared<Watcher>(*this, context, WatchState(terms, limits_.times)));
  figures_.watchers = watchers_.size();
  awake_ = true;
  changed_.notify_one();
  return watchers_.back().get();
}

void Watchers::news() {
  const std::lock_guard lock(mutex_);
  ++news_;
  if (watchers_.empty()) return;
  awake_ = true;
  changed_.notify_one();
}

void Watchers::wake() {
  const std::lock_guard lock(mutex_);
  awake_ = true;
  changed_.notify_one();
}

void Watchers::remove(Watcher& watcher) {
  std::shared_ptr<Watcher> last;  // freed after the lock
  const std::lock_guard lock(mutex_);
  const auto at = std::find_if(watchers_.begin(), watchers_.end(),
                               [&](const auto& known) { return known.get() == &watcher; });
  if (at == watchers_.end()) return;
  last = std::move(*at);
  watchers_.erase(at);
  figures_.watchers = watchers_.size();
}

void Watchers::stop() {
  on_view_.reset();
  on_sample_.reset();
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
  std::vector<std::shared_ptr<Watcher>> watchers;
  {
    const std::lock_guard lock(mutex_);
    watchers = watchers_;
  }
  for (const auto& watcher : watchers) {
    watcher->cut_off({grpc::StatusCode::UNAVAILABLE, "the agent is stopping"});
  }
}

void Watchers::run() {
  std::shared_ptr<const Picture> picture;
  std::uint64_t pictured = 0;  // the news that the picture holds
  TimePoint made;              // when
  std::vector<std::shared_ptr<Watcher>> watchers;
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    awake_ = false;
    watchers = watchers_;
    const std::uint64_t news = news_;
    lock.unlock();

    const TimePoint now = steady_clock::now();
    TimePoint wake = now + std::chrono::hours(1);
    // However many watchers, and however fast the news: one picture in this time.
    if (!watchers.empty() && pictured != news) {
      if (now >= made + limits_.times.least) {
        picture = pictures_.newest();
        pictured = news;
        made = now;
      } else {
        wake = made + limits_.times.least;
      }
    }
    for (const auto& watcher : watchers) wake = std::min(wake, watcher->turn(picture, now));
    if (watchers.empty()) {  // nothing is kept for nobody
      picture.reset();
      pictured = 0;
    }
    watchers.clear();
    // What TLS has read of the program, and what the first message needed.
    if (std::exchange(give_back_, false)) give_back_memory();

    lock.lock();
    changed_.wait_until(lock, wake, [this] { return awake_ || stopping_; });
  }
}

}  // namespace pinion::agent::api
