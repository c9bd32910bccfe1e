// All who watch the node. One thread makes their messages, at a bounded rate, from the newest
// picture; gRPC's threads and the publishers only wake it.
#pragma once

#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "agent/api/figures.h"
#include "agent/api/pictures.h"
#include "agent/api/watch_state.h"

namespace pinion::agent::api {

class Watcher;

class Watchers {
 public:
  // `pictures` and `figures` must live longer than this, and this longer than the gRPC server
  // that calls it.
  Watchers(Pictures& pictures, Published<NodeView>& views, Published<metrics::Sample>& samples,
           const WatchLimits& limits, ApiFigures& figures);
  Watchers(const Watchers&) = delete;
  Watchers& operator=(const Watchers&) = delete;
  ~Watchers();

  // A new watcher, or one that is refused at once.
  grpc::ServerWriteReactor<v1::WatchNodeResponse>* watch(grpc::CallbackServerContext& context,
                                                         const v1::WatchNodeRequest& request);
  // Ends all watches with UNAVAILABLE, and refuses new ones. Returns before the ends are sent.
  void stop();

 private:
  friend class Watcher;
  using TimePoint = WatchState::TimePoint;

  void news();                    // something was published
  void wake();                    // a watcher has something to do
  void remove(Watcher& watcher);  // gRPC is done with it
  void run();

  Pictures& pictures_;
  const WatchLimits limits_;
  ApiFigures& figures_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<Watcher>> watchers_;
  std::uint64_t news_ = 1;  // how often something was published
  bool awake_ = false;
  bool stopping_ = false;
  bool give_back_ = false;  // of their thread alone: somebody was told all

  std::thread thread_;
  Subscription on_view_;  // last: their callbacks use all above
  Subscription on_sample_;
};

}  // namespace pinion::agent::api
