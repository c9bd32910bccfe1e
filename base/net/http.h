// Requests and answers of HTTP/1.0 and 1.1 as values. Boost.Beast reads the one and writes the
// other, in the source file alone, as it takes long to compile. Bodies are the servers' own: they
// know their limits before a byte of one is read.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

namespace pinion::net {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method;         // "GET"; one that is known
  std::string path;           // decoded, without the query
  std::string query;          // as sent, without its question mark
  HttpHeaders headers;        // in their order
  bool keep_alive = false;    // the client may ask again on this connection
  bool asks_to_send = false;  // it sends the body after "100 Continue"

  // The first one of that name, in letters of either case; empty: there is none.
  [[nodiscard]] std::string_view header(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const;
  // Decoded, of the query's first parameter of that name; empty: there is none.
  [[nodiscard]] std::string parameter(std::string_view name) const;
  // Of the body, by the one Content-Length. Nothing: there is none, or several, or a coding that
  // has its own end.
  [[nodiscard]] std::optional<std::size_t> body_length() const;
  [[nodiscard]] bool has_body() const;
};

struct HttpAnswer {
  int status = 200;
  HttpHeaders headers = {};  // beside Content-Length and those of the connection
  std::string body = {};
  // For so long the server waits for another request. Nothing: it closes the connection.
  std::optional<std::chrono::seconds> keep_alive = {};

  // The body is `content`, a text of this type.
  void set(std::string_view type, std::string content);
  // A status that is an error's, with the reason as the body and an end of line.
  void complain(int error, std::string_view text);
};

inline constexpr std::string_view kPlainText = "text/plain; charset=utf-8";
inline constexpr std::string_view kHeadEnd = "\r\n\r\n";
inline constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

// From the request line to the empty line behind the headers, with it. Otherwise the answer: to
// what is no request, has a target or a header of more than 8 KiB or more than 100 headers, or
// says two different things of where its body ends.
tl::expected<HttpRequest, HttpAnswer> read_request(std::string_view head);

// What goes before the body of an answer, that to HEAD included, which has none.
[[nodiscard]] std::string head_of(const HttpAnswer& answer);

}  // namespace pinion::net
