// Texts as bytes and back.
#pragma once

#include <string>
#include <string_view>

#include "nri-plugin/codec/mux.h"

namespace pinion::nri {

inline ByteSpan as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

inline std::string as_text(ByteSpan bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace pinion::nri
