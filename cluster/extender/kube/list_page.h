// One answer to a list, which may have further pages. No I/O.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"

namespace pinion::kube {

struct ListPage {
  const nlohmann::json& items;  // of the answer that was read: a list, or null for none
  std::string version;          // of the collection, never empty
  std::string next;             // the token of the next page; empty: this is the last
};

// Errors: kUnavailable for what is no list, or one without a resourceVersion.
Result<ListPage> read_list_page(const nlohmann::json& answer);

}  // namespace pinion::kube
