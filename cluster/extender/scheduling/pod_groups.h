// PodGroups, of both APIs: how many pods are to start together where a user, or a job controller
// such as the MPI operator's, has said so with one of these.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "cluster/extender/scheduling/pod.h"

namespace pinion::cluster {

class PodGroups {
 public:
  // Whether the API server has PodGroups of this API at all; where it has not, that a pod names one
  // means nothing. Before it is said, it has not.
  void serve(PodGroupApi api, bool served);
  [[nodiscard]] bool served(PodGroupApi api) const { return served_.contains(api); }

  // Far above what may start together, and sums of a few such do not overflow.
  static constexpr int kMost = 1'000'000;

  // `members`: that start together, taken as 1 where it is below, and as kMost where it is above;
  // nullopt: the group is no gang. Keys are group_key().
  void set(const std::string& key, std::optional<std::int64_t> members);
  void erase(const std::string& key);
  // A pod of the group that gets no cores, and so starts when the scheduler likes: the rest of the
  // group need not wait for it, nor when it has finished. False: that was known.
  bool other(const std::string& key, const std::string& uid);
  void gone(const std::string& uid);

  // Pods with cores that are to start together, at least 1; 0: the group is no gang; nullopt: there
  // is no such group (yet).
  [[nodiscard]] std::optional<int> size(const std::string& key) const;

 private:
  std::set<PodGroupApi> served_;
  std::map<std::string, int> members_;  // 0: no gang
  struct Others {
    std::set<std::string> alive;  // uids
    std::size_t most = 0;         // alive at once
  };
  std::map<std::string, Others> others_;         // by key
  std::map<std::string, std::string> group_of_;  // of those alive, by uid
};

}  // namespace pinion::cluster
