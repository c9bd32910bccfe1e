#include "tests/e2e/service.h"

#include <httplib.h>

#include <algorithm>
#include <utility>

namespace pinion::e2e {
namespace {

using namespace std::chrono_literals;

constexpr auto kPause = 20ms;     // between two questions
constexpr auto kLongest = 300ms;  // for an answer; who takes longer is not ready

}  // namespace

Service::Service(std::vector<Place> replicas) {
  for (Place& place : replicas) replicas_.push_back({.place = std::move(place)});
  for (Replica& replica : replicas_) {
    threads_.emplace_back([this, &replica] {
      while (!ending_) {
        ask(replica);
        std::this_thread::sleep_for(kPause);
      }
    });
  }
}

Service::~Service() {
  ending_ = true;
  for (std::thread& thread : threads_) thread.join();
}

void Service::ask(Replica& replica) {
  httplib::Client client("http://" + replica.place.probes);
  client.set_connection_timeout(kLongest);
  client.set_read_timeout(kLongest);
  Said said{.from = Clock::now(), .until = {}};
  const auto answer = client.Get("/leadz");
  said.until = Clock::now();
  said.ready = answer && answer->status == 200;
  const std::lock_guard lock(mutex_);
  replica.answers = said.ready;
  if (answer) replica.said.push_back(said);
}

std::string Service::ready() const {
  const std::lock_guard lock(mutex_);
  const Replica* last = nullptr;
  for (const Replica& replica : replicas_) {
    if (!replica.answers) continue;
    if (last == nullptr || last->said.back().until < replica.said.back().until) last = &replica;
  }
  return last == nullptr ? "" : last->place.scheduler;
}

// It was before and after, and nothing else between: who has lost the lead does not get it again.
bool Service::ready_throughout(const Replica& replica, const Said& moment) {
  const auto after = std::find_if(replica.said.begin(), replica.said.end(),
                                  [&](const Said& said) { return said.from >= moment.until; });
  if (after == replica.said.end() || !after->ready) return false;
  for (auto before = after; before != replica.said.begin();) {
    --before;
    if (!before->ready) return false;
    if (before->until <= moment.from) return true;
  }
  return false;
}

bool Service::two_at_once() const {
  const std::lock_guard lock(mutex_);
  for (const Replica& one : replicas_) {
    for (const Replica& other : replicas_) {
      if (&one == &other) continue;
      for (const Said& moment : one.said) {
        if (moment.ready && ready_throughout(other, moment)) return true;
      }
    }
  }
  return false;
}

}  // namespace pinion::e2e
