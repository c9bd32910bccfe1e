#include "agent/http/gzip.h"

#define ZLIB_CONST  // next_in is only read
#include <zlib.h>

namespace pinion::agent {

std::optional<std::string> gzip(std::string_view text) {
  constexpr int gzip_window = MAX_WBITS + 16;  // with the header of gzip, not of zlib
  constexpr int memory = 8;                    // zlib's default
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, gzip_window, memory, Z_DEFAULT_STRATEGY) !=
      Z_OK) {
    return std::nullopt;
  }
  // deflateBound is enough for all of it in one call.
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<const Bytef*>(text.data());
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int result = deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  if (result != Z_STREAM_END) return std::nullopt;
  return packed;
}

}  // namespace pinion::agent
