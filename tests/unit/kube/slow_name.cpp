#include "tests/unit/kube/slow_name.h"

#include <dlfcn.h>
#include <netdb.h>

#include <condition_variable>
#include <mutex>
#include <string_view>

namespace pinion::kube {
namespace {

// Those who look up may outlive the test, so this does too.
struct LookUps {
  std::mutex mutex;
  std::condition_variable changed;
  bool asked = false;  // these two under mutex
  bool answered = true;
};

LookUps& look_ups() {
  static auto* const all = new LookUps;
  return *all;
}

void wait_for_answer() {
  std::unique_lock lock(look_ups().mutex);
  look_ups().asked = true;
  look_ups().changed.notify_all();
  look_ups().changed.wait(lock, [] { return look_ups().answered; });
}

}  // namespace

SlowName::SlowName() {
  const std::lock_guard lock(look_ups().mutex);
  look_ups().asked = false;
  look_ups().answered = false;
}

void SlowName::wait_until_asked() const {
  std::unique_lock lock(look_ups().mutex);
  look_ups().changed.wait(lock, [] { return look_ups().asked; });
}

void SlowName::answer() const {
  const std::lock_guard lock(look_ups().mutex);
  look_ups().answered = true;
  look_ups().changed.notify_all();
}

}  // namespace pinion::kube

// Found before the C library's by everything in this process.
extern "C" int getaddrinfo(const char* node, const char* service, const addrinfo* hints,
                           addrinfo** found) {
  if (node != nullptr && std::string_view(node) == pinion::kube::SlowName::kName) {
    pinion::kube::wait_for_answer();
    return EAI_AGAIN;
  }
  static const auto next =
      reinterpret_cast<decltype(&getaddrinfo)>(dlsym(RTLD_NEXT, "getaddrinfo"));
  return next(node, service, hints, found);
}
