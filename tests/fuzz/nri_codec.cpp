// The mux and ttrpc decoders over any bytes: what comes out must not depend on how the input was
// cut, must be bounded, and FieldReader must read what protobuf reads. The first byte is the length
// of the pieces.
#include <google/protobuf/stubs/logging.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "nri-plugin/codec/fields.h"
#include "nri-plugin/codec/mux.h"
#include "nri-plugin/codec/ttrpc.h"
#include "proto/ttrpc.pb.h"
#include "tests/fuzz/target.h"

namespace pinion::fuzz::nri_codec {
using namespace pinion::nri;

namespace {

struct Decoded {
  std::vector<std::string> messages;
  bool failed = false;

  bool operator==(const Decoded&) const = default;
};

bool decode_chunk(TtrpcDecoder& decoder, ByteSpan bytes, std::uint32_t connection, Decoded& out) {
  while (true) {
    const auto message = decoder.next(bytes);
    if (!message) return false;
    require(decoder.buffered() <= kTtrpcHeaderSize + kMaxReceivedBody);
    if (!*message) return true;
    std::string text = std::to_string(connection) + ':';
    append_header(text, (*message)->header, (*message)->body.size());
    text.append(reinterpret_cast<const char*>((*message)->body.data()), (*message)->body.size());
    out.messages.push_back(std::move(text));
  }
}

Decoded decode(ByteSpan bytes, std::size_t step) {
  MuxDecoder mux;
  TtrpcDecoder streams[2];
  Decoded out;
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    ByteSpan input = bytes.subspan(at, std::min(step, bytes.size() - at));
    while (!out.failed) {
      const auto chunk = mux.next(input);
      if (!chunk) out.failed = true;
      if (!chunk || !*chunk) break;
      const std::uint32_t connection = (*chunk)->connection;
      out.failed = !decode_chunk(streams[connection & 1], (*chunk)->bytes, connection & 1, out);
    }
    if (out.failed) break;
  }
  return out;
}

void compare_fields(std::string_view text) {
  ::ttrpc::Request request;
  const bool parsed = request.ParseFromArray(text.data(), static_cast<int>(text.size()));
  FieldReader reader(text);
  std::string_view service;
  std::string_view method;
  std::string_view payload;
  while (const auto field = reader.next()) {
    if (field->type != Field::Type::kBytes) continue;
    if (field->number == 1) service = field->bytes;
    if (field->number == 2) method = field->bytes;
    if (field->number == 3) payload = field->bytes;
  }
  if (!parsed || reader.malformed()) return;
  require(service == request.service() && method == request.method());
  require(payload == request.payload());
}

void run(ByteSpan input) {
  if (input.empty()) return;
  const std::size_t step = 1 + std::to_integer<std::size_t>(input[0]);
  const ByteSpan bytes = input.subspan(1);
  require(decode(bytes, step) == decode(bytes, bytes.size() + 1));
  compare_fields({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace

PINION_FUZZ_TARGET(nri_codec) {
  [[maybe_unused]] static auto* const silence = google::protobuf::SetLogHandler(nullptr);
  run(std::as_bytes(std::span(data, size)));
  return 0;
}

}  // namespace pinion::fuzz::nri_codec
