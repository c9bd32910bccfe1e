// Holds bindings inside the API server: an admission webhook of it, in the test's process. So a
// test chooses after which of a gang's bindings something happens.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "tests/e2e/admin.h"
#include "tests/e2e/cluster.h"

namespace httplib {
class Server;
}

namespace pinion::e2e {

class BindingGate {
 public:
  // In force when it returns, and open. Errors: of the API server; kUnavailable.
  static Result<std::unique_ptr<BindingGate>> start(const Cluster& cluster, Admin& admin);
  BindingGate(const BindingGate&) = delete;
  BindingGate& operator=(const BindingGate&) = delete;
  ~BindingGate();

  // So many more bindings pass; those after them are held.
  void let_pass(int bindings);
  // All pass from now on; those that are held are refused, or pass too.
  void open();
  void open_for_held();
  // As soon as so many are held; false when they are not within a long time.
  bool wait_for_held(int bindings);

 private:
  BindingGate();

  bool may_pass();
  Status put_in_force(const Cluster& cluster, Admin& admin, int port);

  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = true;  // these under mutex_
  bool held_pass_ = false;
  int left_ = 0;  // that may pass while it is not open
  int held_ = 0;
  int asked_ = 0;  // ever
  std::unique_ptr<httplib::Server> server_;
  std::thread thread_;
};

}  // namespace pinion::e2e
