// The protocol's service "Plugin": takes one call of the runtime, asks the handler, makes the
// answer. Knows nothing of streams and sockets, and the time only
// to count how long its answers take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nri-plugin/counters.h"
#include "nri-plugin/handler.h"

namespace pinion::nri {

// The gRPC status codes that Pinion answers with.
enum class StatusCode : std::int32_t {
  kOk = 0,
  kInvalidArgument = 3,     // what the runtime sent cannot be read
  kResourceExhausted = 8,   // a limit of the protocol or of ours
  kFailedPrecondition = 9,  // the handler refuses the request
  kUnimplemented = 12,
};

struct Answer {
  StatusCode code = StatusCode::kOk;
  std::string text;     // for a human, valid UTF-8 of at most a few kB; shown with the pod
  std::string payload;  // the encoded response message; empty unless kOk
};

class Service {
 public:
  // The name begins the text of every error status, so that a user sees who refused. The handler
  // and the counters must outlive the service.
  Service(std::string name, std::size_t max_listed_bytes, Handler& handler, Counters& counters);
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // Answers one call: kUnimplemented for an unknown service or method, kInvalidArgument for a
  // payload that cannot be decoded, kFailedPrecondition with the handler's words for a refusal,
  // kResourceExhausted for a Synchronize that is too large.
  Answer call(std::string_view service, std::string_view method, std::string_view payload);

  // Who the runtime is; nothing before Configure.
  [[nodiscard]] const std::optional<RuntimeInfo>& runtime() const { return runtime_; }
  // Parts of Synchronize have come and more will.
  [[nodiscard]] bool synchronizing() const { return listed_bytes_ > 0; }
  [[nodiscard]] bool synchronized() const { return synchronized_; }

 private:
  Answer dispatch(Method method, std::string_view payload);
  Answer configure(std::string_view payload);
  Answer synchronize(std::string_view payload);
  Answer shutdown(std::string_view payload);
  Answer create_container(std::string_view payload);
  Answer update_container(std::string_view payload);
  Answer stop_container(std::string_view payload);
  Answer state_change(std::string_view payload);
  Answer event(wire::Event event, std::string_view payload);
  Answer deliver(wire::Event event, const wire::PodSandbox& pod, const wire::Container& container);

  std::optional<bool> take_part(std::string_view payload);
  template <class Message>
  const Message* parse(std::string_view payload);
  template <class Request, class Response>
  Answer request(std::string_view payload,
                 Outcome (Handler::*method)(const Request& request, Response& response));
  Answer answer(const Outcome& outcome, const google::protobuf::MessageLite& response);

  std::string name_;
  std::size_t max_listed_bytes_;
  Handler& handler_;
  Counters& counters_;

  std::optional<RuntimeInfo> runtime_;
  bool synchronized_ = false;
  std::size_t listed_bytes_ = 0;  // of a Synchronize that is not complete

  std::vector<char> arena_block_;  // first block of the arena, so that most calls allocate none
  google::protobuf::Arena arena_;  // messages of the call being answered
};

}  // namespace pinion::nri
