#include "agent/api/picture.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

namespace pinion::agent::api {
namespace {

// Equal messages give equal bytes: maps in the order of their keys.
std::string bytes_of(const google::protobuf::MessageLite& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream out(&stream);
  out.SetSerializationDeterministic(true);
  message.SerializeToCodedStream(&out);
  out.Trim();
  return bytes;
}

ContainerRecord record_of(v1::Container container) {
  ContainerRecord record;
  v1::Container measured;
  if (container.has_figures()) measured.mutable_figures()->Swap(container.mutable_figures());
  if (container.has_rates()) measured.mutable_rates()->Swap(container.mutable_rates());
  container.clear_figures();
  container.clear_rates();
  record.standing = bytes_of(container);
  record.measured = bytes_of(measured);
  container.MergeFrom(measured);
  record.message = std::move(container);
  return record;
}

}  // namespace

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

  std::size_t at = 0;  // in last->containers
  for (v1::Container& container : containers_of(view, sample)) {
    auto record = std::make_shared<const ContainerRecord>(record_of(std::move(container)));
    while (last != nullptr && at < last->containers.size() &&
           last->containers[at]->message.id() < record->message.id()) {
      ++at;
    }
    if (last != nullptr && at < last->containers.size()) {
      const auto& known = last->containers[at];
      if (known->standing == record->standing && known->measured == record->measured) {
        record = known;
      }
    }
    picture->containers.push_back(std::move(record));
  }
  return picture;
}

}  // namespace pinion::agent::api
