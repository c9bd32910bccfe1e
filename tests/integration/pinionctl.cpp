#include "tests/integration/pinionctl.h"

#include <nlohmann/json.hpp>

namespace pinion::integration {
namespace {

using nlohmann::json;

constexpr lab::Milliseconds kLimit{30'000};

}  // namespace

Result<std::string> pinionctl(const lab::ContainerdLab& node, std::vector<std::string> arguments) {
  const std::string log = node.logs() + "/pinionctl.log";
  if (Status emptied = lab::write_file(log, ""); !emptied) return failure(emptied.error());
  arguments.insert(arguments.begin(), lab::program_folder() + "/pinionctl");
  return lab::run({.argv = std::move(arguments), .env = node.environment(), .log = log}, kLimit);
}

Result<Compared> compared(const std::string& output, const std::string& measure) {
  const json document = json::parse(output, nullptr, false);
  if (!document.is_object()) return failure(Errc::kInvalid, "no JSON object: " + output);
  for (const json& one : document.value("measures", json::array())) {
    if (one["name"] != measure || one["a"].is_null() || one["b"].is_null()) continue;
    return Compared{.a = one["a"]["median"], .b = one["b"]["median"], .verdict = one["verdict"]};
  }
  return failure(Errc::kNotFound, "no " + measure + " of both in " + output);
}

}  // namespace pinion::integration
