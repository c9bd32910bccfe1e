#include "cluster/extender/kube/random.h"

#include <memory>
#include <random>

namespace pinion::kube {

Random system_random() {
  auto engine = std::make_shared<std::mt19937_64>(std::random_device()());
  return [engine] { return std::uniform_real_distribution<double>(0, 1)(*engine); };
}

}  // namespace pinion::kube
