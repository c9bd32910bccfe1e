#include "agent/api/picture.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

namespace pinion::agent::api {
namespace {

// Equal messages give equal bytes: maps in the order of their keys.
std::string bytes_of(const google::protobuf::MessageLite& message) {
  std::string bytes;
  bytes.reserve(message.ByteSizeLong());  // else it doubles
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream out(&stream);
  out.SetSerializationDeterministic(true);
  message.SerializeToCodedStream(&out);
  out.Trim();
  return bytes;
}

ContainerRecord record_of(v1::Container container) {
  v1::Container measured;
  if (container.has_figures()) measured.mutable_figures()->Swap(container.mutable_figures());
  if (container.has_rates()) measured.mutable_rates()->Swap(container.mutable_rates());
  container.clear_figures();
  container.clear_rates();
  return {.id = container.id(), .standing = bytes_of(container), .measured = bytes_of(measured)};
}

}  // namespace

v1::Container message_of(const ContainerRecord& record, bool measured) {
  v1::Container container;
  container.ParseFromString(record.standing);  // our own bytes
  if (measured) container.MergeFromString(record.measured);
  return container;
}

std::shared_ptr<const Picture> picture_of(const NodeName& name, const NodeView& view,
                                          const metrics::Sample* sample, const Picture* last) {
  auto picture = std::make_shared<Picture>();
  picture->node = node_of(name, view, sample);
  picture->machine = bytes_of(picture->node.machine());
  v1::NodeState standing = picture->node;
  standing.clear_machine();
  standing.clear_generation();
  picture->node_standing = bytes_of(standing);
  if (sample != nullptr) picture->pass = sample->number;

  picture->containers.reserve(view.containers.size());
  std::size_t at = 0;  // in last->containers
  each_container(view, sample, [&](v1::Container container) {
    auto record = std::make_shared<const ContainerRecord>(record_of(std::move(container)));
    while (last != nullptr && at < last->containers.size() &&
           last->containers[at]->id < record->id) {
      ++at;
    }
    if (last != nullptr && at < last->containers.size()) {
      const auto& known = last->containers[at];
      if (known->standing == record->standing && known->measured == record->measured) {
        record = known;
      }
    }
    picture->containers.push_back(std::move(record));
  });
  return picture;
}

}  // namespace pinion::agent::api
