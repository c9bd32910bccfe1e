// What the extender does to the cluster.
#pragma once

#include <map>
#include <string>

#include "base/error.h"
#include "cluster/extender/scheduling/effects.h"
#include "cluster/extender/scheduling/pod.h"

namespace pinion::cluster {

// All are called on many threads at once.
class Cluster {
 public:
  Cluster() = default;
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;
  virtual ~Cluster() = default;

  // Makes the binding, with these annotations for the pod, and waits for the API server's answer,
  // for 2.5 s at most. Error kUnavailable: it may have been made.
  virtual Status bind(const PodRef& pod, const std::string& node,
                      const std::map<std::string, std::string>& annotations) = 0;
  // These only note what is to be done.
  // The scheduler asks about the pod again.
  virtual void wake(const PodRef& pod) = 0;
  // The scheduler offers this node first.
  virtual void nominate(const PodRef& pod, const std::string& node) = 0;
  // The same where there is a node and it is not nominated yet, and then Pinion's scheduling gate
  // is taken off.
  virtual void open(const Opening& opening) = 0;
  // The pod's user is told why its gang waits.
  virtual void explain(const PodRef& pod, const std::string& why) = 0;
  // The pod's owner is told why it cannot start.
  virtual void warn(const PodRef& pod, const std::string& why) = 0;
};

}  // namespace pinion::cluster
