// What /metrics says, as values.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/error.h"

namespace pinion::integration {

// "name{a="1",b="2"}" as the agent writes it -> value. Labels are in the agent's own order.
using Series = std::map<std::string, double>;

// Errors: kInvalid, naming the line.
Result<Series> parse_series(const std::string& text);

// The lines of the ready file: "metrics" -> "127.0.0.1:40123".
Result<std::map<std::string, std::string>> read_addresses(const std::string& ready_file);

// One scrape of http://ADDRESS/metrics. Errors: kUnavailable; as parse_series().
Result<Series> scrape(const std::string& address);

// GET http://ADDRESS/PATH; the body of a 200. Errors: kUnavailable with the status.
Result<std::string> fetch(const std::string& address, const std::string& path);

// Of the container named `pod`/"main" in the lab's namespace, with further labels as written:
// `,mode="user"`.
std::optional<double> of_pod(const Series& series, const std::string& name, const std::string& pod,
                             const std::string& more = "");

}  // namespace pinion::integration
