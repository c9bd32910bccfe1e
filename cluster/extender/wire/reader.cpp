#include "cluster/extender/wire/reader.h"

#include <utility>

#include "cluster/extender/wire/json.h"
#include "cluster/extender/wire/read_pod.h"

namespace pinion::cluster::wire {

struct Reader::Body : Document {};

namespace {

Status missing_if_empty(const std::string& text, const Where& root, std::string_view field) {
  return text.empty() ? Status(Where(root, field).fail("missing")) : Status();
}

Status read_labels(std::vector<Label>& to, ondemand::value& value, const Where& at) {
  to.clear();
  return each_field(value, at, [&](std::string_view key, ondemand::value& text) {
    return read_string(to.emplace_back(Label{.name = key, .value = {}}).value, text,
                       Where::entry(at, key));
  });
}

Status read_node_metadata(std::string_view& name, NodeObject& node, ondemand::value& value,
                          const Where& at) {
  return each_field(value, at, [&](std::string_view key, ondemand::value& field) -> Status {
    if (same_key(key, "name")) return read_string(name, field, Where(at, key));
    if (same_key(key, "labels")) return read_labels(node.labels, field, Where(at, key));
    return {};
  });
}

Status read_node(std::string_view& name, NodeObject& node, ondemand::value& value,
                 const Where& at) {
  ondemand::object object;
  if (const auto code = value.get_object().get(object)) return at.refuse(code, "not an object");
  if (Status good = read_raw(node.json, object, at); !good) return good;
  Status good = each_field(object, at, [&](std::string_view key, ondemand::value& field) -> Status {
    return same_key(key, "metadata") ? read_node_metadata(name, node, field, Where(at, key))
                                     : Status();
  });
  if (good && name.empty()) return Where(Where(at, "metadata"), "name").fail("missing");
  return good;
}

using Names = std::optional<std::vector<std::string_view>>;  // nothing: null

Status read_nodes(Names& names, std::vector<NodeObject>& objects, ondemand::value& value,
                  const Where& at) {
  names.reset();
  objects.clear();
  if (is_null(value)) return {};
  names.emplace();
  return each_field(value, at, [&](std::string_view key, ondemand::value& items) -> Status {
    if (!same_key(key, "items")) return {};
    names->clear();
    objects.clear();
    return each_item(items, Where(at, key), [&](ondemand::value& node, const Where& here) {
      return read_node(names->emplace_back(), objects.emplace_back(), node, here);
    });
  });
}

Status read_names(Names& to, ondemand::value& value, const Where& at) {
  to.reset();
  if (is_null(value)) return {};
  to.emplace();
  return each_item(value, at, [&](ondemand::value& name, const Where& here) -> Status {
    std::string_view& text = to->emplace_back();
    if (Status good = read_string(text, name, here); !good) return good;
    return text.empty() ? Status(here.fail("empty")) : Status();
  });
}

// {"UID": "..."}, or a pod.
Status read_victim(std::string& uid, ondemand::value& value, const Where& at, bool object) {
  if (object) return read_pod_uid(uid, value, at);
  Status good = each_field(value, at, [&](std::string_view key, ondemand::value& field) -> Status {
    return same_key(key, "UID") ? read_text(uid, field, Where(at, key)) : Status();
  });
  if (good && uid.empty()) return Where(at, "UID").fail("missing");
  return good;
}

Status read_victims(Victims& to, ondemand::value& value, const Where& at, bool objects) {
  return each_field(value, at, [&](std::string_view key, ondemand::value& field) -> Status {
    const Where here(at, key);
    if (same_key(key, "NumPDBViolations")) return read_integer(to.pdb_violations, field, here);
    if (!same_key(key, "Pods")) return {};
    to.uids.clear();
    return each_item(field, here, [&](ondemand::value& pod, const Where& place) {
      return read_victim(to.uids.emplace_back(), pod, place, objects);
    });
  });
}

using VictimsByNode = std::optional<std::vector<Victims>>;  // nothing: null

Status read_victims_by_node(VictimsByNode& to, ondemand::value& value, const Where& at,
                            bool objects) {
  to.reset();
  if (is_null(value)) return {};
  to.emplace();
  return each_field(value, at, [&](std::string_view node, ondemand::value& victims) {
    to->push_back({.node = std::string(node), .uids = {}, .pdb_violations = 0});
    return read_victims(to->back(), victims, Where::entry(at, node), objects);
  });
}

// The pod of a call: it must be there.
Status read_the_pod(std::optional<PodSpecView>& to, ondemand::value& value, const Where& at) {
  to.reset();
  if (is_null(value)) return {};
  return read_pod(to.emplace(), value, at);
}

}  // namespace

Reader::Reader() : body_(std::make_unique<Body>()) {}
Reader::~Reader() = default;
Reader::Reader(Reader&&) noexcept = default;
Reader& Reader::operator=(Reader&&) noexcept = default;

Result<FilterAsk> Reader::filter(std::string body) {
  std::optional<PodSpecView> pod;
  Names names;
  Names names_of_objects;
  std::vector<NodeObject> objects;
  const auto read = [&](ondemand::object object, const Where& root) -> Status {
    Status good =
        each_field(object, root, [&](std::string_view key, ondemand::value& field) -> Status {
          const Where here(root, key);
          if (same_key(key, "Pod")) return read_the_pod(pod, field, here);
          if (same_key(key, "NodeNames")) return read_names(names, field, here);
          if (same_key(key, "Nodes")) return read_nodes(names_of_objects, objects, field, here);
          return {};
        });
    if (good && !pod) return Where(root, "Pod").fail("missing");
    if (good && !names && !names_of_objects) return root.fail("neither NodeNames nor Nodes");
    return good;
  };
  Status good = body_->read(std::move(body), read);
  if (!good) return failure(std::move(good.error()));
  if (names) return FilterAsk{.pod = std::move(*pod), .names = std::move(*names), .objects = {}};
  return FilterAsk{.pod = std::move(*pod),
                   .form = NodeForm::kObjects,
                   .names = std::move(*names_of_objects),
                   .objects = std::move(objects)};
}

Result<BindAsk> Reader::bind(std::string body) {
  BindAsk ask;
  const auto read = [&](ondemand::object object, const Where& root) -> Status {
    Status good =
        each_field(object, root, [&](std::string_view key, ondemand::value& field) -> Status {
          const Where here(root, key);
          if (same_key(key, "PodName")) return read_text(ask.pod_name, field, here);
          if (same_key(key, "PodNamespace")) return read_text(ask.pod_namespace, field, here);
          if (same_key(key, "PodUID")) return read_text(ask.pod_uid, field, here);
          if (same_key(key, "Node")) return read_text(ask.node, field, here);
          return {};
        });
    if (good) good = missing_if_empty(ask.pod_uid, root, "PodUID");
    if (good) good = missing_if_empty(ask.pod_namespace, root, "PodNamespace");
    if (good) good = missing_if_empty(ask.pod_name, root, "PodName");
    if (good) good = missing_if_empty(ask.node, root, "Node");
    return good;
  };
  Status good = body_->read(std::move(body), read);
  if (!good) return failure(std::move(good.error()));
  return ask;
}

Result<PreemptAsk> Reader::preempt(std::string body) {
  std::optional<PodSpecView> pod;
  VictimsByNode uids;
  VictimsByNode objects;
  const auto read = [&](ondemand::object object, const Where& root) -> Status {
    Status good =
        each_field(object, root, [&](std::string_view key, ondemand::value& field) -> Status {
          const Where here(root, key);
          if (same_key(key, "Pod")) return read_the_pod(pod, field, here);
          if (same_key(key, "NodeNameToMetaVictims")) {
            return read_victims_by_node(uids, field, here, false);
          }
          if (same_key(key, "NodeNameToVictims")) {
            return read_victims_by_node(objects, field, here, true);
          }
          return {};
        });
    if (good && !pod) return Where(root, "Pod").fail("missing");
    return good;
  };
  Status good = body_->read(std::move(body), read);
  if (!good) return failure(std::move(good.error()));
  PreemptAsk ask{.pod = std::move(*pod), .nodes = {}};
  if (uids || objects) ask.nodes = std::move(uids ? *uids : *objects);
  return ask;
}

Result<PodSpecView> Reader::pod(std::string_view object) {
  PodSpecView pod;
  Status good = body_->read(object, [&](ondemand::object fields, const Where& root) -> Status {
    return read_pod(pod, fields, root);
  });
  if (!good) return failure(std::move(good.error()));
  return pod;
}

std::size_t Reader::kept_bytes() const {
  return body_->kept_bytes();
}

}  // namespace pinion::cluster::wire
