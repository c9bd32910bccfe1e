#include "base/net/http.h"

#include <algorithm>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/serializer.hpp>
#include <charconv>

namespace pinion::net {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;

constexpr std::size_t kMostOfLine = 8192;
constexpr std::ptrdiff_t kMostHeaders = 100;

tl::unexpected<HttpAnswer> refused(int status, std::string_view text) {
  HttpAnswer answer;
  answer.complain(status, text);
  return tl::unexpected(std::move(answer));
}

beast::string_view view(std::string_view text) {
  return {text.data(), text.size()};
}

std::string text(beast::string_view view) {
  return {view.data(), view.size()};
}

bool same_name(std::string_view a, std::string_view b) {
  return beast::iequals(view(a), view(b));
}

std::ptrdiff_t count(const HttpHeaders& headers, std::string_view name) {
  return std::count_if(headers.begin(), headers.end(),
                       [&](const auto& one) { return same_name(one.first, name); });
}

// "%2F" is a slash; what is no such code stays as it is.
std::string decoded(std::string_view encoded) {
  constexpr std::size_t code_size = 3;
  std::string plain;
  plain.reserve(encoded.size());
  while (!encoded.empty()) {
    unsigned char byte = 0;
    const char* const end = encoded.data() + std::min(code_size, encoded.size());
    if (encoded.front() == '%' && encoded.size() >= code_size &&
        std::from_chars(encoded.data() + 1, end, byte, 16).ptr == end) {
      plain += static_cast<char>(byte);
      encoded.remove_prefix(code_size);
    } else {
      plain += encoded.front();
      encoded.remove_prefix(1);
    }
  }
  return plain;
}

// What Beast lets pass, and another program on the way may read otherwise.
std::string_view contradiction(const HttpHeaders& headers) {
  if (count(headers, "Host") > 1) return "more than one Host";
  if (count(headers, "Content-Length") > 1) return "more than one Content-Length";
  if (count(headers, "Content-Length") > 0 && count(headers, "Transfer-Encoding") > 0) {
    return "a Content-Length beside a Transfer-Encoding";
  }
  return {};
}

HttpRequest request_of(const http::request<http::empty_body>& message) {
  HttpRequest request;
  request.method = text(message.method_string());
  const std::string target = text(message.target());
  const std::size_t mark = std::min(target.find('?'), target.size());
  request.path = decoded(std::string_view(target).substr(0, mark));
  request.query = target.substr(std::min(mark + 1, target.size()));
  for (const auto& field : message) {
    request.headers.emplace_back(text(field.name_string()), text(field.value()));
  }
  request.keep_alive = message.keep_alive();
  request.asks_to_send = beast::iequals(message[http::field::expect], "100-continue");
  return request;
}

}  // namespace

std::string_view HttpRequest::header(std::string_view name) const {
  const auto found = std::find_if(headers.begin(), headers.end(),
                                  [&](const auto& one) { return same_name(one.first, name); });
  return found == headers.end() ? std::string_view() : found->second;
}

bool HttpRequest::has(std::string_view name) const {
  return count(headers, name) > 0;
}

std::string HttpRequest::parameter(std::string_view name) const {
  std::string_view rest = query;
  while (!rest.empty()) {
    const std::string_view one = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
    const std::size_t equals = std::min(one.find('='), one.size());
    if (decoded(one.substr(0, equals)) != name) continue;
    std::string value(one.substr(std::min(equals + 1, one.size())));
    std::replace(value.begin(), value.end(), '+', ' ');
    return decoded(value);
  }
  return {};
}

std::optional<std::size_t> HttpRequest::body_length() const {
  const std::string_view digits = header("Content-Length");
  std::size_t length = 0;
  const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), length);
  if (end.ec != std::errc{} || end.ptr != digits.data() + digits.size()) return std::nullopt;
  return length;
}

bool HttpRequest::has_body() const {
  return has("Transfer-Encoding") || (has("Content-Length") && body_length() != 0U);
}

void HttpAnswer::set(std::string_view type, std::string content) {
  headers.emplace_back("Content-Type", type);
  body = std::move(content);
}

void HttpAnswer::complain(int error, std::string_view text) {
  status = error;
  set(kPlainText, std::string(text) + "\n");
}

tl::expected<HttpRequest, HttpAnswer> read_request(std::string_view head) {
  http::request_parser<http::empty_body> parser;
  parser.header_limit(static_cast<std::uint32_t>(head.size() + 1));  // the reader's is another
  parser.skip(true);                                                 // no body is read here
  beast::error_code error;
  parser.put(boost::asio::buffer(head.data(), head.size()), error);
  if (error) return refused(400, "no request: " + error.message());
  const auto& message = parser.get();
  if (message.method() == http::verb::unknown) return refused(400, "an unknown method");
  if (message.target().size() > kMostOfLine) return refused(414, "the target is too long");
  if (std::distance(message.begin(), message.end()) > kMostHeaders) {
    return refused(431, "too many headers");
  }
  for (const auto& field : message) {
    if (field.name_string().size() + field.value().size() > kMostOfLine) {
      return refused(400, "a header is too long");
    }
  }
  HttpRequest request = request_of(message);
  if (const auto why = contradiction(request.headers); !why.empty()) return refused(400, why);
  return request;
}

std::string head_of(const HttpAnswer& answer) {
  http::response<http::empty_body> message;
  message.version(11);
  message.result(static_cast<unsigned>(answer.status));
  for (const auto& [name, value] : answer.headers) message.insert(name, value);
  message.content_length(answer.body.size());
  if (answer.keep_alive) {
    // The first says so to clients of HTTP/1.0, to whom it is not understood.
    message.set(http::field::connection, "keep-alive");
    message.set(http::field::keep_alive, "timeout=" + std::to_string(answer.keep_alive->count()));
  } else {
    message.set(http::field::connection, "close");
  }
  http::response_serializer<http::empty_body> writer(message);
  std::string head;
  beast::error_code error;
  writer.next(error, [&](beast::error_code& /*error*/, const auto& parts) {
    for (const auto& part : beast::buffers_range_ref(parts)) {
      head.append(static_cast<const char*>(part.data()), part.size());
    }
  });
  return head;
}

}  // namespace pinion::net
