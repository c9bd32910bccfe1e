#include "nri-plugin/session.h"

#include <algorithm>
#include <utility>

#include "nri-plugin/codec/fields.h"
#include "proto/ttrpc.pb.h"

namespace pinion::nri {
namespace {

using std::chrono::milliseconds;

constexpr std::uint32_t kRegisterStream = 1;  // of our only call
constexpr milliseconds kDefaultRequestTimeout{2000};
constexpr std::size_t kKeptCapacity = std::size_t{64} << 10;  // of buffers between messages

void clear_buffer(std::string& buffer) {
  buffer.clear();
  if (buffer.capacity() > kKeptCapacity) buffer.shrink_to_fit();
}

// A ttrpc Request, as far as it matters here.
struct Envelope {
  std::string_view service;
  std::string_view method;
  std::string_view payload;
};

std::optional<Envelope> read_envelope(ByteSpan body) {
  Envelope envelope;
  FieldReader reader({reinterpret_cast<const char*>(body.data()), body.size()});
  while (const auto field = reader.next()) {
    if (field->type != Field::Type::kBytes) continue;
    if (field->number == ::ttrpc::Request::kServiceFieldNumber) envelope.service = field->bytes;
    if (field->number == ::ttrpc::Request::kMethodFieldNumber) envelope.method = field->bytes;
    if (field->number == ::ttrpc::Request::kPayloadFieldNumber) envelope.payload = field->bytes;
  }
  if (reader.malformed()) return std::nullopt;
  return envelope;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_name_char(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_' ||
         c == '.' || c == '+';
}

milliseconds between(TimePoint from, TimePoint to) {
  return std::chrono::duration_cast<milliseconds>(to - from);
}

}  // namespace

Status validate(const SessionOptions& options) {
  const std::string& name = options.name;
  if (name.empty() || !std::all_of(name.begin(), name.end(), is_name_char)) {
    return failure(Errc::kInvalid,
                   "NRI plugin name '" + name + "': must be letters, digits and '-_.+'");
  }
  const std::string& index = options.index;
  if (index.size() != 2 || !is_digit(index[0]) || !is_digit(index[1])) {
    return failure(Errc::kInvalid, "NRI plugin index '" + index + "': must be two digits");
  }
  return {};
}

std::string_view to_string(Phase phase) {
  switch (phase) {
    case Phase::kNew:
      return "new";
    case Phase::kRegistering:
      return "registering";
    case Phase::kRegistered:
      return "registered";
    case Phase::kConfigured:
      return "configured";
    case Phase::kSynchronized:
      return "synchronized";
  }
  return "unknown";
}

Session::Session(const SessionOptions& options, Handler& handler, Counters& counters)
    : options_(options),
      handler_(handler),
      counters_(counters),
      service_(options.name, options.max_listed_bytes, handler, counters) {}

void Session::start(TimePoint now) {
  started_ = true;
  last_progress_ = now;
  wire::RegisterPluginRequest registration;
  registration.set_plugin_name(options_.name);
  registration.set_plugin_idx(options_.index);
  ::ttrpc::Request request;
  request.set_service("nri.pkg.api.v1alpha1.Runtime");
  request.set_method("RegisterPlugin");
  request.set_payload(registration.SerializeAsString());
  request.set_timeout_nano(std::chrono::nanoseconds(options_.handshake_timeout).count());
  send(kRuntimeConnection, {.stream = kRegisterStream, .type = MessageType::kRequest, .flags = 0},
       request);
}

Status Session::receive(ByteSpan bytes, TimePoint now) {
  counters_.bytes_in += bytes.size();
  while (true) {
    const std::uint64_t frames = mux_.frames();
    const auto chunk = mux_.next(bytes);
    counters_.frames_in += mux_.frames() - frames;
    if (!chunk) return failure(chunk.error());
    if (!*chunk) return {};
    if (auto status = take_chunk(**chunk, now); !status) return status;
  }
}

Status Session::take_chunk(MuxChunk chunk, TimePoint now) {
  const bool calls = chunk.connection == kPluginConnection;
  if (!calls && chunk.connection != kRuntimeConnection) {
    ++counters_.ignored_messages;
    return {};
  }
  TtrpcDecoder& decoder = calls ? plugin_stream_ : runtime_stream_;
  while (true) {
    const auto message = decoder.next(chunk.bytes);
    if (!message) return failure(message.error());
    if (!*message) return {};
    const MessageType type = (*message)->header.type;
    if (calls && type == MessageType::kRequest) {
      on_call(**message, now);
      if (auto status = check_output(); !status) return status;
    } else if (!calls && type == MessageType::kResponse) {
      if (auto status = on_registered(**message, now); !status) return status;
    } else {
      ++counters_.ignored_messages;
    }
  }
}

void Session::on_call(const Message& message, TimePoint now) {
  const std::uint32_t stream = message.header.stream;
  if (stream % 2 == 0 || stream <= last_stream_) {
    send_answer(stream, {.code = StatusCode::kInvalidArgument,
                         .text = "a call's stream id must be odd and above the last one",
                         .payload = {}});
    return;
  }
  last_stream_ = stream;
  const auto envelope = read_envelope(message.body);
  if (!envelope) {
    send_answer(stream, {.code = StatusCode::kInvalidArgument,
                         .text = "the request's envelope cannot be decoded",
                         .payload = {}});
    return;
  }
  const bool configured = service_.runtime().has_value();
  const bool synchronized = service_.synchronized();
  Answer answer = service_.call(envelope->service, envelope->method, envelope->payload);
  send_answer(stream, std::move(answer));
  if (service_.runtime().has_value() != configured) last_progress_ = now;
  if (service_.synchronizing() || service_.synchronized() != synchronized) {
    last_progress_ = now;
    if (!synchronizing_since_) synchronizing_since_ = now;
  }
}

Status Session::check_output() const {
  const std::size_t pending = output().size();
  if (pending <= options_.max_pending_output) return {};
  return failure(Errc::kExhausted,
                 "the runtime does not read its answers: " + std::to_string(pending) +
                     " bytes wait, the limit is " + std::to_string(options_.max_pending_output));
}

Status Session::on_registered(const Message& message, TimePoint now) {
  if (!started_ || registered_ || message.header.stream != kRegisterStream) {
    ++counters_.ignored_messages;
    return {};
  }
  ::ttrpc::Response response;
  if (!response.ParseFromArray(message.body.data(), static_cast<int>(message.body.size()))) {
    return failure(Errc::kInvalid, "the answer to RegisterPlugin cannot be decoded");
  }
  if (response.status().code() != 0) {
    return failure(Errc::kDenied, "the runtime refuses the plugin " + options_.index + "-" +
                                      options_.name + ": " + response.status().message());
  }
  registered_ = true;
  last_progress_ = now;
  return {};
}

void Session::send_answer(std::uint32_t stream, Answer answer) {
  ::ttrpc::Response response;
  if (answer.code == StatusCode::kOk) {
    response.set_payload(std::move(answer.payload));
    if (response.ByteSizeLong() > kMaxTtrpcBody) {
      answer.code = StatusCode::kResourceExhausted;
      answer.text = "the answer of " + std::to_string(response.ByteSizeLong()) +
                    " bytes is above the protocol's limit of " + std::to_string(kMaxTtrpcBody);
      handler_.warn(answer.text);
      response.Clear();
    }
  }
  if (answer.code != StatusCode::kOk) {
    response.mutable_status()->set_code(static_cast<std::int32_t>(answer.code));
    response.mutable_status()->set_message(std::move(answer.text));
  }
  send(kPluginConnection, {.stream = stream, .type = MessageType::kResponse, .flags = 0}, response);
}

// Precondition: the body is at most kMaxTtrpcBody large.
void Session::send(std::uint32_t connection, const MessageHeader& header,
                   const google::protobuf::MessageLite& body) {
  const std::size_t size = body.ByteSizeLong();
  scratch_.reserve(kTtrpcHeaderSize + size);
  append_header(scratch_, header, size);
  body.AppendToString(&scratch_);
  const std::size_t before = out_.size();
  counters_.frames_out += append_frames(out_, connection, scratch_);
  counters_.bytes_out += out_.size() - before;
  clear_buffer(scratch_);
}

Status Session::tick(TimePoint now) {
  if (service_.synchronized() && synchronizing_since_) {
    const milliseconds told =
        service_.runtime() ? service_.runtime()->request_timeout : milliseconds(0);
    const milliseconds limit = told.count() > 0 ? told : kDefaultRequestTimeout;
    const milliseconds took = between(*synchronizing_since_, now);
    synchronizing_since_.reset();
    if (took > limit) {
      return failure(Errc::kUnavailable,
                     "Synchronize was answered after " + std::to_string(took.count()) +
                         " ms, the runtime waits only " + std::to_string(limit.count()));
    }
  }
  const auto until = deadline();
  if (until && now >= *until) {
    return failure(Errc::kUnavailable, "the runtime was silent for " +
                                           std::to_string(options_.handshake_timeout.count()) +
                                           " ms during the handshake (" +
                                           std::string(to_string(phase())) + ")");
  }
  return {};
}

std::optional<TimePoint> Session::deadline() const {
  if (!started_ || (registered_ && service_.synchronized())) return std::nullopt;
  return last_progress_ + options_.handshake_timeout;
}

std::string_view Session::output() const {
  return std::string_view(out_).substr(out_done_);
}

void Session::consume_output(std::size_t bytes) {
  out_done_ += bytes;
  if (out_done_ == out_.size()) {
    clear_buffer(out_);
    out_done_ = 0;
  } else if (out_done_ > kKeptCapacity && out_done_ > out_.size() / 2) {
    out_.erase(0, out_done_);  // at most once per doubling of what was taken: linear in all
    out_done_ = 0;
  }
}

Phase Session::phase() const {
  if (!started_) return Phase::kNew;
  if (service_.synchronized()) return Phase::kSynchronized;
  if (service_.runtime()) return Phase::kConfigured;
  return registered_ ? Phase::kRegistered : Phase::kRegistering;
}

}  // namespace pinion::nri
