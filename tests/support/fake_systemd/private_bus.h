// A dbus-daemon of a test's own. It dies with the test.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

#include "agent/systemd/manager.h"

namespace pinion::test_support {

class PrivateBus {
 public:
  // What the bus itself lets through.
  enum class Policy { kAll, kNoSetUnitProperties };

  // Its socket and configuration are made in `folder`, which must outlive it.
  explicit PrivateBus(std::filesystem::path folder, Policy policy = Policy::kAll);
  ~PrivateBus();
  PrivateBus(const PrivateBus&) = delete;
  PrivateBus& operator=(const PrivateBus&) = delete;

  // False where there is no dbus-daemon on this machine. Otherwise it can be connected to.
  [[nodiscard]] bool start();
  void stop();
  // From now on it takes connections and answers none.
  void hang() const;

  [[nodiscard]] std::string address() const;
  [[nodiscard]] std::vector<systemd::Address> addresses() const { return {{.text = address()}}; }

 private:
  std::filesystem::path folder_;
  pid_t process_ = -1;
};

}  // namespace pinion::test_support
