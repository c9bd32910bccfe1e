#include "tests/support/fake_runtime/fake_runtime.h"

#include "proto/ttrpc.pb.h"

namespace pinion::test_support {
namespace {

std::string big_endian(std::size_t value) {
  std::string out(4, '\0');
  for (std::size_t i = 0; i < 4; ++i) out[i] = static_cast<char>(value >> (24 - 8 * i) & 0xff);
  return out;
}

}  // namespace

std::string frame(std::uint32_t connection, std::string_view payload) {
  return big_endian(connection) + big_endian(payload.size()) + std::string(payload);
}

std::string frame_message(std::uint32_t connection, std::uint32_t stream, std::uint8_t type,
                          std::string_view body) {
  std::string message = big_endian(body.size()) + big_endian(stream);
  message += static_cast<char>(type);
  message += '\0';
  message += body;
  const std::string_view view = message;
  std::string out = frame(connection, view.substr(0, 4096));
  if (view.size() > 4096) out += frame(connection, view.substr(4096));
  return out;
}

std::string envelope(std::string_view service, std::string_view method, std::string_view payload) {
  ::ttrpc::Request request;
  request.set_service(service.data(), service.size());
  request.set_method(method.data(), method.size());
  request.set_payload(payload.data(), payload.size());
  request.set_timeout_nano(2'000'000'000);
  return request.SerializeAsString();
}

void FakeRuntime::receive(std::string_view bytes) {
  reader_.receive(bytes);
  for (const WireMessage& message : reader_.take_messages()) take(message);
}

void FakeRuntime::take(const WireMessage& message) {
  if (message.connection == 2 && message.type == 1) {
    ::ttrpc::Request request;
    wire::RegisterPluginRequest registration;
    if (!request.ParseFromString(message.body) || request.method() != "RegisterPlugin" ||
        request.service() != "nri.pkg.api.v1alpha1.Runtime" ||
        !registration.ParseFromString(request.payload())) {
      broken_ = "not a RegisterPlugin on connection 2";
      return;
    }
    register_stream_ = message.stream;
    registration_ = registration;
    return;
  }
  ::ttrpc::Response response;
  if (message.connection != 1 || message.type != 2 || !response.ParseFromString(message.body)) {
    broken_ = "not a response on connection 1";
    return;
  }
  results_[message.stream] = CallResult{.code = response.status().code(),
                                        .text = response.status().message(),
                                        .payload = response.payload()};
}

std::string FakeRuntime::register_answer(int code, const std::string& text) const {
  ::ttrpc::Response response;
  if (code != 0) {
    response.mutable_status()->set_code(code);
    response.mutable_status()->set_message(text);
  }
  return frame_message(2, register_stream_, 2, response.SerializeAsString());
}

std::string FakeRuntime::call_raw(std::string_view method, std::string_view payload,
                                  std::string_view service) {
  const std::uint32_t stream = next_stream_;
  next_stream_ += 2;
  return frame_message(1, stream, 1, envelope(service, method, payload));
}

std::string FakeRuntime::call(std::string_view method,
                              const google::protobuf::MessageLite& request) {
  return call_raw(method, request.SerializeAsString());
}

std::string FakeRuntime::configure(const std::string& version, int request_timeout_ms) {
  wire::ConfigureRequest request;
  request.set_runtime_name("containerd");
  request.set_runtime_version(version);
  request.set_request_timeout(request_timeout_ms);
  request.set_registration_timeout(request_timeout_ms == 0 ? 0 : 5000);
  return call("Configure", request);
}

std::string FakeRuntime::synchronize(const wire::SynchronizeRequest& request) {
  return call("Synchronize", request);
}

std::string FakeRuntime::handshake(const wire::SynchronizeRequest& request) {
  std::string bytes = register_answer();
  bytes += configure();
  bytes += synchronize(request);
  return bytes;
}

const CallResult* FakeRuntime::result(std::uint32_t stream) const {
  const auto found = results_.find(stream == 0 ? next_stream_ - 2 : stream);
  return found == results_.end() ? nullptr : &found->second;
}

const std::string& FakeRuntime::broken() const {
  return reader_.broken().empty() ? broken_ : reader_.broken();
}

}  // namespace pinion::test_support
