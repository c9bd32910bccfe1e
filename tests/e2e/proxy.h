// Between kube-scheduler and an extender, in the test's process: passes calls on, and does to
// single ones what networks and machines do.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "base/error.h"
#include "base/net/acceptor.h"
#include "cluster/extender/http/thread_set.h"

namespace pinion::e2e {

// What becomes of one call.
struct Fate {
  std::chrono::milliseconds before{0};  // it waits, and is then passed on
  bool heard = true;                    // false: the extender never hears of it
  std::chrono::milliseconds after{0};   // the answer waits
  enum class Reply { kOwn, kCut, kError } reply = Reply::kOwn;  // cut: the connection; error: 500
};

class Proxy {
 public:
  // The address that calls go to now, "" for none: they are cut then, as they are where the
  // extender ends on the way. Called on many threads at once.
  using Target = std::function<std::string()>;
  // Of a call, by its verb: "filter", "bind". Called on many threads at once.
  using Rule = std::function<Fate(const std::string& verb)>;

  // Honest until it is given a rule. Errors: as net::listen_on().
  static Result<std::unique_ptr<Proxy>> start(Target target);
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;
  // Returns when the last call has.
  ~Proxy();

  // For calls that begin from now on; an empty one is honest.
  void obey(Rule rule);

  [[nodiscard]] std::string url() const { return "http://" + acceptor_->address().to_string(); }

 private:
  class Talk;

  explicit Proxy(Target target);

  void serve(Fd socket);
  [[nodiscard]] Fate fate_of(const std::string& verb) const;
  void wait(std::chrono::milliseconds time);  // shorter when all ends

  const Target target_;
  mutable std::mutex mutex_;
  std::condition_variable ends_;
  Rule rule_;           // these three under mutex_
  std::set<int> open_;  // sockets
  bool ending_ = false;
  cluster::ThreadSet threads_;
  std::unique_ptr<net::Acceptor> acceptor_;  // the last: it uses all the others
};

}  // namespace pinion::e2e
