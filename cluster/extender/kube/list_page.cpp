#include "cluster/extender/kube/list_page.h"

#include "cluster/extender/kube/json_read.h"

namespace pinion::kube {

Result<ListPage> read_list_page(const nlohmann::json& answer) {
  const nlohmann::json& items = json_at(answer, "items");
  // A collection without objects is written as null by some servers.
  if (!items.is_array() && !(answer.is_object() && items.is_null())) {
    return failure(Errc::kUnavailable, "the answer is no list");
  }
  std::string version = json_text(answer, "metadata", "resourceVersion");
  if (version.empty()) return failure(Errc::kUnavailable, "the list has no resourceVersion");
  return ListPage{.items = items,
                  .version = std::move(version),
                  .next = json_text(answer, "metadata", "continue")};
}

}  // namespace pinion::kube
