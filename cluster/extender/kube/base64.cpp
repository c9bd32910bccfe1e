#include "cluster/extender/kube/base64.h"

#include <openssl/evp.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace pinion::kube {

Result<std::string> decode_base64(std::string_view text) {
  std::vector<unsigned char> packed;
  std::copy_if(text.begin(), text.end(), std::back_inserter(packed),
               [](char c) { return c != ' ' && c != '\n' && c != '\r' && c != '\t'; });
  const auto padding = std::count(packed.begin(), packed.end(), '=');
  if (packed.size() % 4 != 0 || padding > 2 || packed.size() > std::numeric_limits<int>::max() ||
      !std::all_of(packed.end() - padding, packed.end(), [](auto c) { return c == '='; })) {
    return failure(Errc::kInvalid, "no base64");
  }
  if (packed.empty()) return std::string();
  std::vector<unsigned char> bytes(packed.size() / 4 * 3);
  const int length = EVP_DecodeBlock(bytes.data(), packed.data(), static_cast<int>(packed.size()));
  if (length < 0) return failure(Errc::kInvalid, "no base64");
  return std::string(bytes.begin(), bytes.begin() + (length - padding));
}

std::string encode_base64(std::string_view bytes) {
  std::string packed((bytes.size() + 2) / 3 * 4 + 1, '\0');  // with the end that is written behind
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(packed.data()),
                                   reinterpret_cast<const unsigned char*>(bytes.data()),
                                   static_cast<int>(bytes.size()));
  packed.resize(static_cast<std::size_t>(size));
  return packed;
}

}  // namespace pinion::kube
