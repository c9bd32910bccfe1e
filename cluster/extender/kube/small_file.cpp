#include "cluster/extender/kube/small_file.h"

#include "base/whole_file.h"

namespace pinion::kube {

Result<std::string> read_small_file(const std::string& path) {
  return read_file(path, 1);
}

}  // namespace pinion::kube
