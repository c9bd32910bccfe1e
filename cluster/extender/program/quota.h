// How much of what is bounded each name (a namespace) has: so much of all, and so much of one, so
// that nobody takes it all. Not thread-safe.
#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace pinion::cluster {

class Quota {
 public:
  Quota(std::size_t most, std::size_t most_of_one) : most_(most), most_of_one_(most_of_one) {}

  // False: there are too many, of all or of this one.
  [[nodiscard]] bool take(const std::string& name) {
    if (!has_room(name)) return false;
    take_anyway(name);
    return true;
  }

  [[nodiscard]] bool has_room(const std::string& name) const {
    if (all_ >= most_) return false;
    const auto of = of_.find(name);
    return of == of_.end() || of->second < most_of_one_;
  }

  // Also where there are too many.
  void take_anyway(const std::string& name) {
    ++of_[name];
    ++all_;
  }

  // Precondition: it has taken one.
  void give_back(const std::string& name) {
    const auto of = of_.find(name);
    --all_;
    if (--of->second == 0) of_.erase(of);
  }

 private:
  std::size_t most_;
  std::size_t most_of_one_;
  std::size_t all_ = 0;
  std::map<std::string, std::size_t> of_;
};

}  // namespace pinion::cluster
