// Follows one collection of the API server: a list, then a watch from where the list was, for ever.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/error.h"
#include "cluster/extender/kube/api.h"
#include "cluster/extender/kube/object.h"
#include "cluster/extender/kube/random.h"

namespace pinion::kube {

// Called from the watch's own thread, one call at a time.
class WatchHandler {
 public:
  virtual ~WatchHandler() = default;

  // Each object once as kAdded, then as kModified for every version that was seen, then as
  // kDeleted. A deletion that was missed is told of later, with metadata.namespace, name and uid
  // alone. An object may be reported as modified although nothing in it has changed.
  virtual void on_object(Change change, const nlohmann::json& object) {
    (void)change;
    (void)object;
  }
  // The same as text, for who reads it without a document of it: on_object() is not called then.
  // Errors: it cannot be read at all, and the collection is to be listed again.
  virtual Status on_raw(Change change, const RawObject& object);
  // Everything of a list has been told, and what had gone too: the picture is complete. Generation
  // 1 is the first, then one for each time that the collection had to be listed anew.
  virtual void on_synced(std::uint64_t generation) = 0;
  // The server was not understood or not reached, and will be tried again after `pause`.
  virtual void on_trouble(const Error& error, std::chrono::milliseconds pause) {
    (void)error;
    (void)pause;
  }
  // After that, where it was a list: it is not known any more what there is. on_synced() comes when
  // one is complete.
  virtual void on_list_failed(const Error& error) { (void)error; }
};

struct WatchOptions {
  std::string path;            // "/api/v1/nodes"
  std::string label_selector;  // "app=a,tier in (b,c)"
  std::string field_selector;  // "spec.nodeName!="
  int page = 500;              // objects in one part of a list

  // A watch is ended by the server after a time drawn between these, and begun again.
  std::chrono::seconds watch_least{240};
  std::chrono::seconds watch_most{480};
  // Nothing arrives for so long: the connection is taken for dead. Bookmarks come each minute.
  std::chrono::milliseconds idle{180'000};
  std::chrono::milliseconds backoff_first{500};
  std::chrono::milliseconds backoff_longest{30'000};
  Random random = system_random();
};

class Watch {
 public:
  // Begins; `api` and `handler` must outlive the watch.
  Watch(Api& api, WatchOptions options, WatchHandler& handler);
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch();

  // Ends within a second, whatever the server does; no call of the handler begins after it. Not
  // from the handler itself, nor from two threads at once.
  void stop();

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace pinion::kube
