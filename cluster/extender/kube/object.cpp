#include "cluster/extender/kube/object.h"

#include <utility>

#include "cluster/extender/kube/read_object.h"

namespace pinion::kube {
namespace {

namespace ondemand = cluster::wire::ondemand;
using cluster::wire::each_field;
using cluster::wire::read_string;
using cluster::wire::read_text;
using cluster::wire::Where;
using Value = ondemand::value;

Status read_metadata(RawObject& to, Value& value, const Where& at) {
  return each_field(value, at, [&](std::string_view key, Value& field) -> Status {
    const Where here(at, key);
    if (key == "namespace") return read_string(to.name_space, field, here);
    if (key == "name") return read_string(to.name, field, here);
    if (key == "uid") return read_string(to.uid, field, here);
    if (key == "resourceVersion") return read_string(to.version, field, here);
    return {};
  });
}

Status read_metadata(ListPage& to, Value& value, const Where& at) {
  return each_field(value, at, [&](std::string_view key, Value& field) -> Status {
    const Where here(at, key);
    if (key == "resourceVersion") return read_text(to.version, field, here);
    if (key == "continue") return read_text(to.next, field, here);
    return {};
  });
}

// A collection without objects is written as null by some servers.
Status read_items(ListPage& to, Value& value, const Where& at) {
  return cluster::wire::each_item(value, at, [&](Value& item, const Where& here) {
    return read_object(to.items.emplace_back(), item, here);
  });
}

}  // namespace

Status read_object(RawObject& to, Value& value, const Where& at) {
  ondemand::object object;
  if (const auto code = value.get_object().get(object)) return at.refuse(code, "not an object");
  if (Status good = read_raw(to.json, object, at); !good) return good;
  return each_field(object, at, [&](std::string_view key, Value& field) {
    return key == "metadata" ? read_metadata(to, field, Where(at, key)) : Status();
  });
}

Result<ListPage> read_list_page(std::string answer) {
  ListPage page;
  bool items = false;
  const auto document = std::make_shared<cluster::wire::Document>();
  Status good = document->read(std::move(answer), [&](ondemand::object object, const Where& root) {
    return each_field(object, root, [&](std::string_view key, Value& field) -> Status {
      if (key == "metadata") return read_metadata(page, field, Where(root, key));
      if (key != "items") return {};
      items = true;
      return read_items(page, field, Where(root, key));
    });
  });
  if (good && !items) good = failure(Errc::kInvalid, "no items");
  if (good && page.version.empty()) good = failure(Errc::kInvalid, "no resourceVersion");
  if (!good) return failure(Errc::kUnavailable, "the answer is no list: " + good.error().text);
  page.texts = document;
  return page;
}

}  // namespace pinion::kube
