// How much of what is bounded each namespace has: so much of all, and so much of one, so that
// nobody takes it all. Not thread-safe.
#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace pinion::cluster {

class NamespaceShares {
 public:
  NamespaceShares(std::size_t most, std::size_t most_of_one)
      : most_(most), most_of_one_(most_of_one) {}

  // False: there are too many, of all or of this one.
  [[nodiscard]] bool take(const std::string& name_space) {
    if (!has_room(name_space)) return false;
    take_anyway(name_space);
    return true;
  }

  [[nodiscard]] bool has_room(const std::string& name_space) const {
    if (all_ >= most_) return false;
    const auto of = of_.find(name_space);
    return of == of_.end() || of->second < most_of_one_;
  }

  // Also where there are too many.
  void take_anyway(const std::string& name_space) {
    ++of_[name_space];
    ++all_;
  }

  // Precondition: it has taken one.
  void give_back(const std::string& name_space) {
    const auto of = of_.find(name_space);
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
