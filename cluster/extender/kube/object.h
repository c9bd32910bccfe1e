// Objects of a collection as the API server wrote them, one by one or in a list. No I/O.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace pinion::kube {

// What has become of an object.
enum class Change { kAdded, kModified, kDeleted };

// The texts are somebody else's. Of its metadata what a watch goes by; empty where it has none.
struct RawObject {
  std::string_view name_space;
  std::string_view name;
  std::string_view uid;
  std::string_view version;  // metadata.resourceVersion
  std::string_view json;     // all of it; may be broken within, as nobody has read it yet
};

// One answer to a list, which may have further pages.
struct ListPage {
  std::vector<RawObject> items;
  std::string version;                // of the collection, never empty
  std::string next;                   // the token of the next page; empty: this is the last
  std::shared_ptr<const void> texts;  // the items', and their metadata's
};

// Errors: kUnavailable for what is no list, or one without a resourceVersion.
Result<ListPage> read_list_page(std::string answer);

}  // namespace pinion::kube
