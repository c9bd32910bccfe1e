#include "nri-plugin/service.h"

#include <array>
#include <chrono>
#include <utility>

#include "base/utf8.h"
#include "nri-plugin/codec/fields.h"

namespace pinion::nri {
namespace {

constexpr std::string_view kServiceName = "nri.pkg.api.v1alpha1.Plugin";
constexpr std::size_t kMaxText = 4096;
constexpr std::size_t kArenaBlock = std::size_t{16} << 10;

google::protobuf::ArenaOptions arena_options(std::vector<char>& block) {
  google::protobuf::ArenaOptions options;
  options.initial_block = block.data();
  options.initial_block_size = block.size();
  return options;
}

Answer failed(StatusCode code, std::string_view text) {
  return Answer{.code = code, .text = clean_text(cut_utf8(text, kMaxText)), .payload = {}};
}

Answer undecodable() {
  return failed(StatusCode::kInvalidArgument, "the request's payload cannot be decoded");
}

Answer succeeded(const google::protobuf::MessageLite& response) {
  return Answer{.code = StatusCode::kOk, .text = {}, .payload = response.SerializeAsString()};
}

}  // namespace

Service::Service(std::string name, std::size_t max_listed_bytes, Handler& handler,
                 Counters& counters)
    : name_(std::move(name)),
      max_listed_bytes_(max_listed_bytes),
      handler_(handler),
      counters_(counters),
      arena_block_(kArenaBlock),
      arena_(arena_options(arena_block_)) {}

Answer Service::call(std::string_view service, std::string_view method, std::string_view payload) {
  const auto known = to_method(method);
  if (service != kServiceName || !known) {
    ++counters_.unknown_methods;
    return failed(StatusCode::kUnimplemented,
                  "no method " + std::string(service) + "/" + std::string(method));
  }
  const auto index = static_cast<std::size_t>(*known);
  ++counters_.calls[index];
  const auto begin = std::chrono::steady_clock::now();
  Answer answer = dispatch(*known, payload);
  if (answer.code != StatusCode::kOk) {
    ++counters_.errors[index];
    answer.text = name_ + ": " + answer.text;
  }
  arena_.Reset();
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  counters_.latency[index].observe(taken.count());
  return answer;
}

Answer Service::dispatch(Method method, std::string_view payload) {
  switch (method) {
    case Method::kConfigure:
      return configure(payload);
    case Method::kSynchronize:
      return synchronize(payload);
    case Method::kShutdown:
      return shutdown(payload);
    case Method::kCreateContainer:
      return create_container(payload);
    case Method::kUpdateContainer:
      return update_container(payload);
    case Method::kStopContainer:
      return stop_container(payload);
    case Method::kStateChange:
      return state_change(payload);
    case Method::kRunPodSandbox:
      return event(wire::RUN_POD_SANDBOX, payload);
    case Method::kStopPodSandbox:
      return event(wire::STOP_POD_SANDBOX, payload);
    case Method::kRemovePodSandbox:
      return event(wire::REMOVE_POD_SANDBOX, payload);
    case Method::kPostCreateContainer:
      return event(wire::POST_CREATE_CONTAINER, payload);
    case Method::kStartContainer:
      return event(wire::START_CONTAINER, payload);
    case Method::kPostStartContainer:
      return event(wire::POST_START_CONTAINER, payload);
    case Method::kPostUpdateContainer:
      return event(wire::POST_UPDATE_CONTAINER, payload);
    case Method::kRemoveContainer:
      return event(wire::REMOVE_CONTAINER, payload);
  }
  return failed(StatusCode::kUnimplemented, "no such method");
}

// The decoded message, valid until the call is answered; nullptr when it cannot be decoded.
template <class Message>
const Message* Service::parse(std::string_view payload) {
  auto* message = google::protobuf::Arena::CreateMessage<Message>(&arena_);
  const bool parsed = message->ParseFromArray(payload.data(), static_cast<int>(payload.size()));
  return parsed ? message : nullptr;
}

Answer Service::answer(const Outcome& outcome, const google::protobuf::MessageLite& response) {
  counters_.updates_out += outcome.updates.sent;
  counters_.updates_dropped += outcome.updates.dropped;
  switch (outcome.kind) {
    case Outcome::Kind::kAnswered:
      return succeeded(response);
    case Outcome::Kind::kIgnored:
      ++counters_.ignored_messages;
      return Answer{};
    case Outcome::Kind::kInvalid:
      return failed(StatusCode::kInvalidArgument, outcome.text);
    case Outcome::Kind::kRefused:
      break;
  }
  ++counters_.refusals;
  return failed(StatusCode::kFailedPrecondition, outcome.text);
}

Answer Service::configure(std::string_view payload) {
  const auto* request = parse<wire::ConfigureRequest>(payload);
  if (request == nullptr) return undecodable();
  runtime_ = RuntimeInfo{
      .name = request->runtime_name(),
      .version = request->runtime_version(),
      .nri_version = request->nri_version(),
      .config = request->config(),
      .registration_timeout = std::chrono::milliseconds(request->registration_timeout()),
      .request_timeout = std::chrono::milliseconds(request->request_timeout())};
  handler_.runtime_connected(*runtime_);
  wire::ConfigureResponse response;
  response.set_events(handler_.events());
  return succeeded(response);
}

// Lists the pods and containers of one SynchronizeRequest, decoding one at a time in the same
// memory. Gives its `more`; nothing when it cannot be decoded.
std::optional<bool> Service::take_part(std::string_view payload) {
  bool more = false;
  FieldReader reader(payload);
  while (const auto field = reader.next()) {
    const bool message = field->type == Field::Type::kBytes;
    if (field->number == wire::SynchronizeRequest::kPodsFieldNumber && message) {
      const auto* pod = parse<wire::PodSandbox>(field->bytes);
      if (pod == nullptr) return std::nullopt;
      listed_bytes_ += handler_.list_pod(*pod);
    } else if (field->number == wire::SynchronizeRequest::kContainersFieldNumber && message) {
      const auto* container = parse<wire::Container>(field->bytes);
      if (container == nullptr) return std::nullopt;
      listed_bytes_ += handler_.list_container(*container);
    } else if (field->number == wire::SynchronizeRequest::kMoreFieldNumber) {
      more = field->value != 0;
    }
    arena_.Reset();
  }
  if (reader.malformed()) return std::nullopt;
  return more;
}

Answer Service::synchronize(std::string_view payload) {
  if (listed_bytes_ == 0) handler_.forget_listed();  // of a session that broke off
  ++listed_bytes_;                                   // an empty part counts, too
  const auto more = take_part(payload);
  const bool too_large = listed_bytes_ > max_listed_bytes_;
  wire::SynchronizeResponse response;
  if (more && *more && !too_large) {
    response.set_more(true);
    return succeeded(response);
  }
  listed_bytes_ = 0;
  if (too_large || !more) handler_.forget_listed();
  if (too_large) {
    const std::string text = "the runtime lists pods and containers of which more than " +
                             std::to_string(max_listed_bytes_) + " bytes would have to be kept";
    handler_.warn(text);
    return failed(StatusCode::kResourceExhausted, text);
  }
  if (!more) return undecodable();
  const Outcome outcome = handler_.synchronize(response);
  if (outcome.kind == Outcome::Kind::kAnswered) {
    if (!synchronized_) ++counters_.synchronized;
    synchronized_ = true;
  }
  return answer(outcome, response);
}

Answer Service::shutdown(std::string_view payload) {
  if (parse<wire::Empty>(payload) == nullptr) return undecodable();
  handler_.warn("the runtime says that it is shutting down");
  return Answer{};
}

// Decodes, asks the handler, encodes: what the calls about one container have in common.
template <class Request, class Response>
Answer Service::request(std::string_view payload,
                        Outcome (Handler::*method)(const Request& request, Response& response)) {
  const auto* request = parse<Request>(payload);
  if (request == nullptr) return undecodable();
  auto* response = google::protobuf::Arena::CreateMessage<Response>(&arena_);
  return answer((handler_.*method)(*request, *response), *response);
}

Answer Service::create_container(std::string_view payload) {
  return request(payload, &Handler::create_container);
}

Answer Service::update_container(std::string_view payload) {
  return request(payload, &Handler::update_container);
}

Answer Service::stop_container(std::string_view payload) {
  return request(payload, &Handler::stop_container);
}

Answer Service::state_change(std::string_view payload) {
  const auto* request = parse<wire::StateChangeEvent>(payload);
  if (request == nullptr) return undecodable();
  return deliver(request->event(), request->pod(), request->container());
}

Answer Service::event(wire::Event event, std::string_view payload) {
  const auto* request = parse<wire::EventRequest>(payload);
  if (request == nullptr) return undecodable();
  return deliver(event, request->pod(), request->container());
}

// All these answers are messages without fields: nothing but a refusal can go back.
Answer Service::deliver(wire::Event event, const wire::PodSandbox& pod,
                        const wire::Container& container) {
  return answer(handler_.tell(event, pod, container), wire::Empty());
}

}  // namespace pinion::nri
