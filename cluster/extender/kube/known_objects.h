// Which objects of a collection its watcher has told about, and so what the next one means. Keeps
// name, uid and resourceVersion of each, nothing else. No I/O.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cluster/extender/kube/object.h"

namespace pinion::kube {

class KnownObjects {
 public:
  // An object that went away unseen.
  struct Gone {
    std::string name_space;
    std::string name;
    std::string uid;

    bool operator==(const Gone&) const = default;
  };
  struct News {
    std::optional<Gone> gone;      // an older one of the same name
    std::optional<Change> change;  // of the object itself; none: nothing new
  };

  // A list begins; again when one is given up half-way.
  void begin_list() { ++list_; }
  // It is there, as a list or a watch says.
  News seen(const RawObject& object);
  // It was deleted, as a watch says. False: it was not known, or is another one by now.
  bool deleted(const RawObject& object);
  // The list is complete: what was not seen since begin_list() is gone.
  std::vector<Gone> end_list();

  [[nodiscard]] std::size_t size() const { return known_.size(); }

 private:
  struct Entry {
    std::string uid;
    std::string version;
    std::uint64_t list = 0;  // the last one that had it
  };
  using Key = std::pair<std::string, std::string>;  // namespace and name

  std::map<Key, Entry> known_;
  std::uint64_t list_ = 0;
};

}  // namespace pinion::kube
