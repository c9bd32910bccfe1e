// A cluster in which nothing is done.
#pragma once

#include "cluster/extender/service/placing.h"

namespace pinion::cluster {

class NoCluster : public Cluster {
 public:
  Status bind(const PodRef&, const std::string&,
              const std::map<std::string, std::string>&) override {
    return {};
  }
  void wake(const PodRef&) override {}
  void warn(const PodRef&, const std::string&) override {}
  void nominate(const PodRef&, const std::string&) override {}
  void open(const Opening&) override {}
  void explain(const PodRef&, const std::string&) override {}
};

}  // namespace pinion::cluster
