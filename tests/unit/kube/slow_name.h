// A host name that the system looks up until the test says so: getaddrinfo(3) is the test's own.
#pragma once

namespace pinion::kube {

// One at a time.
class SlowName {
 public:
  static constexpr const char* kName = "slow.test";

  SlowName();
  SlowName(const SlowName&) = delete;
  SlowName& operator=(const SlowName&) = delete;
  ~SlowName() { answer(); }

  void wait_until_asked() const;
  void answer() const;  // that it does not know now
};

}  // namespace pinion::kube
