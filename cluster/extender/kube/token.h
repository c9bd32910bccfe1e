// The bearer token, from a file that is replaced now and then (a pod's lives for an hour).
#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <string>

#include "base/error.h"

namespace pinion::kube {

// Printable ASCII without blanks: what an HTTP header can carry. The empty text is none.
bool is_token(const std::string& text);

// Any thread may call it.
class Token {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::seconds kMaxAge{60};

  // `file` wins over `fixed`; both empty: no token.
  Token(std::string fixed, std::string file);

  // The token, empty for none; the file is read when what was read last is older than kMaxAge at
  // `now`. A file that cannot be read at the moment leaves the token that was read before. Errors:
  // as read_file() when there is none before; kInvalid for an empty file or one that holds
  // more than a token.
  Result<std::string> get(TimePoint now);
  // The server did not accept `token`: the file is read by the next get(). False: there is nothing
  // to read, the answer will be the same.
  bool refused(const std::string& token);

 private:
  std::string fixed_;
  std::string file_;
  std::mutex mutex_;
  std::string text_;  // these under mutex_
  std::optional<TimePoint> read_at_;
};

}  // namespace pinion::kube
