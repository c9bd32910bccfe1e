#include "ctl/source/message_json.h"

#include <google/protobuf/util/json_util.h>

namespace pinion::ctl {

Result<std::string> message_json(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  options.add_whitespace = true;
  std::string text;
  const auto written = google::protobuf::util::MessageToJsonString(message, &text, options);
  if (!written.ok()) return failure(Errc::kInternal, "write as JSON: " + written.ToString());
  return text;
}

}  // namespace pinion::ctl
