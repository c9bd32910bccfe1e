#pragma once

namespace pinion::kube {

// What has become of an object of a watched collection.
enum class Change { kAdded, kModified, kDeleted };

}  // namespace pinion::kube
