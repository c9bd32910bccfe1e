// One request and its answer on a connection: cpp-httplib writes the one and reads the other.
#pragma once

#include <functional>
#include <string>

#include "cluster/extender/kube/http.h"
#include "cluster/extender/kube/wire.h"

namespace pinion::kube {

struct Exchanged {
  HttpAnswer answer;
  bool keep = false;  // the connection may serve another request
};

// `on_head` is told the status before the body; `on_body` its bytes, false ends it. Errors:
// kUnavailable, or what the wire says; kExhausted when `on_body` did not want more.
Result<Exchanged> exchange(Wire& wire, const Access& access, const HttpRequest& request,
                           const std::string& token, const std::function<void(int)>& on_head,
                           const BytesHandler& on_body);

}  // namespace pinion::kube
