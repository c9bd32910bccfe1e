#include "cluster/extender/kube/lease.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>
#include <utility>

#include "base/rfc3339.h"
#include "cluster/extender/kube/path.h"

namespace pinion::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kLastCall{600};
constexpr double kJitter = 0.5;  // of the retry period, so that followers do not come all at once

std::string now_text() {
  return micro_time(std::chrono::system_clock::now());
}

std::string collection(const LeaseName& name) {
  return "/apis/coordination.k8s.io/v1/namespaces/" + percent_encoded(name.name_space) + "/leases";
}

Status check(const LeaseOptions& options) {
  const LeaseTiming& timing = options.timing;
  if (options.identity.empty() || options.lease.name.empty() || options.lease.name_space.empty()) {
    return failure(Errc::kInvalid, "a lease needs a namespace, a name and an identity");
  }
  if (timing.retry <= milliseconds(0) || timing.renew_deadline <= timing.retry ||
      timing.duration <= timing.renew_deadline) {
    return failure(Errc::kInvalid,
                   "a lease needs 0 < retry period < renew deadline < lease duration");
  }
  return {};
}

}  // namespace

std::string unique_identity(const std::string& name) {
  std::random_device source;
  std::array<char, 20> text{};
  std::snprintf(text.data(), text.size(), "_%08x%08x", source(), source());
  return name + text.data();
}

class Lease::Loop {
 public:
  Loop(Api& api, LeaseOptions options)
      : api_(api),
        options_(std::move(options)),
        collection_(collection(options_.lease)),
        path_(collection_ + "/" + percent_encoded(options_.lease.name)),
        election_(options_.identity, options_.timing),
        thread_([this] { run(); }) {}
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  ~Loop() { stop(); }

  [[nodiscard]] bool leading() const {
    return steady_clock::now() < steady_clock::time_point(leading_until_.load());
  }
  [[nodiscard]] std::string holder() const {
    const std::lock_guard lock(mutex_);
    return holder_;
  }
  void stop() {
    stop_.cancel();
    if (thread_.joinable()) thread_.join();
  }

 private:
  void run();
  Status step();
  Status read();
  Status write(Election::Action action);
  void resign();
  void publish();
  void notice();
  [[nodiscard]] milliseconds pause() const;
  [[nodiscard]] Call call() const;

  Api& api_;
  LeaseOptions options_;
  std::string collection_;
  std::string path_;
  Cancel stop_;
  Election election_;
  std::atomic<steady_clock::duration> leading_until_ = steady_clock::duration::min();
  bool told_leading_ = false;
  mutable std::mutex mutex_;
  std::string holder_;  // under mutex_
  std::thread thread_;  // the last: it uses all the others
};

void Lease::Loop::run() {
  while (!stop_.cancelled()) {
    const Status done = step();
    publish();
    notice();
    if (!done && !stop_.cancelled() && options_.on_trouble) options_.on_trouble(done.error());
    if (stop_.wait_for(pause())) break;
    notice();
  }
  resign();
}

milliseconds Lease::Loop::pause() const {
  const milliseconds retry = options_.timing.retry;
  if (leading()) return retry;
  const double factor = 1 + kJitter * options_.random();
  const milliseconds usual(static_cast<long>(static_cast<double>(retry.count()) * factor));
  const auto now = steady_clock::now();
  const auto free_from = election_.free_from();
  if (free_from <= now) return usual;
  return std::min(usual, std::chrono::ceil<milliseconds>(free_from - now));
}

// One that hangs leaves time for two more within the deadline.
Call Lease::Loop::call() const {
  return {.cancel = &stop_, .whole = options_.timing.renew_deadline / 3};
}

// The leader knows the record as it wrote it, and reads it only when that was not accepted.
Status Lease::Loop::step() {
  if (!election_.leading(steady_clock::now())) {
    if (Status seen = read(); !seen) return seen;
  }
  const Election::Action action = election_.decide(steady_clock::now());
  if (action == Election::Action::kWait) return {};
  Status written = write(action);
  if (written || written.error().code != Errc::kConflict) return written;
  return read();  // another was faster: an ordinary thing
}

Status Lease::Loop::read() {
  const auto lease = api_.get(path_, call());
  if (lease) {
    election_.observe(lease_record(*lease), steady_clock::now());
    return {};
  }
  if (lease.error().code != Errc::kNotFound) return failure(lease.error());
  election_.observe(std::nullopt, steady_clock::now());
  return {};
}

Status Lease::Loop::write(Election::Action action) {
  const LeaseRecord wanted = election_.proposal(action, now_text());
  const nlohmann::json object = lease_object(options_.lease, wanted);
  const auto sent = steady_clock::now();
  const auto lease = action == Election::Action::kCreate ? api_.create(collection_, object, call())
                                                         : api_.replace(path_, object, call());
  if (!lease) return failure(lease.error());
  election_.confirmed(lease_record(*lease), sent, steady_clock::now());
  return {};
}

// First we do not lead any more, then we say so. A second time, when the version that we know is
// not the newest: a renewal that was cancelled may have arrived all the same.
void Lease::Loop::resign() {
  const Call last{.cancel = nullptr, .whole = kLastCall};
  for (int tries = 0; tries < 2; ++tries) {
    const auto record = election_.resignation(now_text());
    publish();
    notice();
    if (!record) return;
    const auto done = api_.replace(path_, lease_object(options_.lease, *record), last);
    if (done || done.error().code != Errc::kConflict) return;
    const auto lease = api_.get(path_, last);
    if (!lease) return;
    election_.observe(lease_record(*lease), steady_clock::now());
  }
}

void Lease::Loop::publish() {
  leading_until_ = election_.leading_until().time_since_epoch();
  const std::lock_guard lock(mutex_);
  holder_ = election_.record() ? election_.record()->holder : std::string();
}

void Lease::Loop::notice() {
  if (leading() == told_leading_) return;
  told_leading_ = !told_leading_;
  if (options_.on_change) options_.on_change(told_leading_);
}

Lease::Lease(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}
Lease::~Lease() = default;

Result<std::unique_ptr<Lease>> Lease::start(Api& api, LeaseOptions options) {
  if (const Status sound = check(options); !sound) return failure(sound.error());
  return std::unique_ptr<Lease>(new Lease(std::make_unique<Loop>(api, std::move(options))));
}

bool Lease::leading() const {
  return loop_->leading();
}

std::string Lease::holder() const {
  return loop_->holder();
}

void Lease::stop() {
  loop_->stop();
}

}  // namespace pinion::kube
