// PodGroups of scheduling.x-k8s.io: how many pods are to start together where a user, or a job
// controller such as the MPI operator's, has said so with one of these.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace pinion::cluster {

class PodGroups {
 public:
  // Whether the API server has PodGroups at all; where it has not, their label means nothing.
  void serve(bool served) { served_ = served; }
  [[nodiscard]] bool served() const { return served_; }

  // Far above what may start together, and sums of a few such do not overflow.
  static constexpr int kMost = 1'000'000;

  // `members`: its minMember, taken as 1 where it is below, and as kMost where it is above. Keys
  // are "NAMESPACE/NAME".
  void set(const std::string& key, std::int64_t members);
  void erase(const std::string& key);
  // A pod of the group that gets no cores, and so starts when the scheduler likes: the rest of the
  // group need not wait for it, nor when it has finished. False: that was known.
  bool other(const std::string& key, const std::string& uid);
  void gone(const std::string& uid);

  // Pods with cores that are to start together, at least 1; nullopt: there is no such group (yet).
  [[nodiscard]] std::optional<int> size(const std::string& key) const;

 private:
  bool served_ = false;
  std::map<std::string, int> members_;
  struct Others {
    std::set<std::string> alive;  // uids
    std::size_t most = 0;         // alive at once
  };
  std::map<std::string, Others> others_;         // by key
  std::map<std::string, std::string> group_of_;  // of those alive, by uid
};

}  // namespace pinion::cluster
