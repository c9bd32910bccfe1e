// A question to an HTTP server. Its answer is bounded in time and size, whatever it sends.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace pinion::ctl {

// PEM files; each may be empty.
struct HttpTls {
  std::string ca;           // who must have signed the server's certificate; empty: the system's
  std::string certificate;  // ours; its key goes with it
  std::string key;
};

struct HttpQuestion {
  std::string url;        // http or https
  std::string json = {};  // is posted; empty: GET
  HttpTls tls = {};
};

struct HttpLimits {
  std::chrono::milliseconds time{30'000};  // from looking up the name to the last byte
  std::size_t body_bytes = std::size_t{64} << 20;
};

struct HttpAnswer {
  int status = 0;
  std::string body;
};

// Connects, asks once and closes; no redirect is followed, and no proxy of the environment asked.
// Errors, which do not name the server: kInvalid for the URL and the TLS files, kUnavailable for
// all else, as no connection in 5 s, no whole answer in time, or one that is too large.
Result<HttpAnswer> ask_http(const HttpQuestion& question, const HttpLimits& limits = {});

// The URL with these fields, encoded, behind it.
std::string with_query(std::string url,
                       const std::vector<std::pair<std::string, std::string>>& fields);

}  // namespace pinion::ctl
