// Messages of the agent's interface as JSON for other programs.
#pragma once

#include <google/protobuf/message.h>

#include <string>

#include "base/error.h"

namespace pinion::ctl {

// Indented, names as in the .proto file; 64-bit numbers are strings, as protobuf has it. Zeros,
// empty texts and empty lists are written, unset optional fields are not. Error: kInternal.
Result<std::string> message_json(const google::protobuf::Message& message);

}  // namespace pinion::ctl
