#include "metrics/prometheus/negotiate.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

namespace pinion::prometheus {
namespace {

constexpr std::string_view kBlank = " \t";

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool same(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

// Takes the part before `separator` off the front.
std::string_view next(std::string_view& rest, char separator) {
  const std::size_t end = rest.find(separator);
  const std::string_view part = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  return trim(part);
}

// "0.5", "1", "0.333" in thousandths; what makes no sense is 0.
int thousandths(std::string_view text) {
  constexpr int one = 1000;
  if (text.empty() || (text[0] != '0' && text[0] != '1')) return 0;
  if (text.size() == 1) return text[0] == '1' ? one : 0;
  if (text[1] != '.' || text.size() > 5) return 0;
  if (text[0] == '1') return one;
  std::string digits(text.substr(2));
  digits.resize(3, '0');
  int value = 0;
  const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return end.ec == std::errc{} && end.ptr == digits.data() + digits.size() ? value : 0;
}

// One entry of a list header: "text/plain;version=0.0.4;q=0.5".
struct Entry {
  std::string_view name;
  std::string_view version;
  int weight = 1000;  // 0: not wanted
};

Entry entry_of(std::string_view text) {
  Entry entry;
  entry.name = next(text, ';');
  while (!text.empty()) {
    std::string_view parameter = next(text, ';');
    const std::string_view key = next(parameter, '=');
    if (same(key, "q")) entry.weight = thousandths(trim(parameter));
    if (same(key, "version")) {
      entry.version = trim(parameter);
      if (entry.version.size() >= 2 && entry.version.front() == '"')
        entry.version = entry.version.substr(1, entry.version.size() - 2);
    }
  }
  return entry;
}

}  // namespace

Format negotiate_format(std::string_view accept) {
  int open_metrics = 0;
  int text = 0;
  while (!accept.empty()) {
    const Entry entry = entry_of(next(accept, ','));
    if (same(entry.name, "application/openmetrics-text")) {
      const bool known = entry.version.empty() || entry.version == "1.0.0";
      if (known) open_metrics = std::max(open_metrics, entry.weight);
    } else if (same(entry.name, "text/plain") || same(entry.name, "text/*") ||
               same(entry.name, "*/*")) {
      text = std::max(text, entry.weight);
    }
  }
  return open_metrics > 0 && open_metrics >= text ? Format::kOpenMetrics : Format::kText;
}

bool wants_gzip(std::string_view accept_encoding) {
  std::optional<int> gzip;
  std::optional<int> any;
  while (!accept_encoding.empty()) {
    const Entry entry = entry_of(next(accept_encoding, ','));
    if (same(entry.name, "gzip") || same(entry.name, "x-gzip")) gzip = entry.weight;
    if (entry.name == "*") any = entry.weight;
  }
  return gzip.value_or(any.value_or(0)) > 0;
}

bool host_is_plain(std::string_view host) {
  if (host.empty()) return true;  // HTTP/1.0
  if (host.front() == '[') return host.find(']') != std::string_view::npos;
  host = host.substr(0, host.find(':'));
  return same(host, "localhost") || host.find_first_not_of("0123456789.") == std::string_view::npos;
}

}  // namespace pinion::prometheus
