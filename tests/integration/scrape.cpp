#include "tests/integration/scrape.h"

#include <httplib.h>

#include <fstream>
#include <sstream>

namespace pinion::integration {

Result<Series> parse_series(const std::string& text) {
  Series series;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.front() == '#') continue;
    const auto blank = line.rfind(' ');
    std::size_t read = 0;
    double value = 0;
    try {
      value = std::stod(line.substr(blank + 1), &read);
    } catch (const std::exception&) {
      read = std::string::npos;
    }
    if (blank == std::string::npos || blank + 1 + read != line.size()) {
      return failure(Errc::kInvalid, "not a sample: '" + line + "'");
    }
    if (!series.emplace(line.substr(0, blank), value).second) {
      return failure(Errc::kInvalid, "twice: '" + line + "'");
    }
  }
  return series;
}

Result<std::map<std::string, std::string>> read_addresses(const std::string& ready_file) {
  std::map<std::string, std::string> addresses;
  std::ifstream file(ready_file);
  if (!file) return sys_failure("open " + ready_file);
  for (std::string line; std::getline(file, line);) {
    const auto equals = line.find('=');
    if (equals != std::string::npos) {
      addresses.emplace(line.substr(0, equals), line.substr(equals + 1));
    }
  }
  return addresses;
}

Result<std::string> fetch(const std::string& address, const std::string& path) {
  httplib::Client client("http://" + address);
  client.set_read_timeout(lab::patient(Milliseconds(10'000)));
  const auto answer = client.Get(path);
  if (!answer) {
    return failure(Errc::kUnavailable, path + ": " + httplib::to_string(answer.error()));
  }
  if (answer->status != 200) {
    return failure(Errc::kUnavailable,
                   path + ": " + std::to_string(answer->status) + " " + answer->body);
  }
  return answer->body;
}

Result<Series> scrape(const std::string& address) {
  auto text = fetch(address, "/metrics");
  if (!text) return failure(text.error());
  return parse_series(*text);
}

std::optional<double> of_pod(const Series& series, const std::string& name, const std::string& pod,
                             const std::string& more) {
  const auto found =
      series.find(name + "{namespace=\"lab\",pod=\"" + pod + "\",container=\"main\"" + more + "}");
  return found == series.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace pinion::integration
