#include "tests/e2e/rights.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/lab/files.h"

namespace pinion::e2e {

using nlohmann::json;

namespace {

std::string right_of(const std::string& verb, const std::string& resource,
                     const std::string& group) {
  return verb + " " + resource + (group.empty() ? "" : "." + group);
}

std::string calls_of(const std::string& folder) {
  return folder + "/calls.jsonl";
}

}  // namespace

json granted(const json& rules) {
  const char* const without = std::getenv("PINION_E2E_WITHOUT_RIGHT");
  if (without == nullptr) return rules;
  json left = json::array();
  for (const json& rule : rules) {
    for (const json& group : rule.at("apiGroups")) {
      for (const json& resource : rule.at("resources")) {
        json one = rule;
        one["apiGroups"] = {group};
        one["resources"] = {resource};
        one["verbs"] = json::array();
        for (const json& verb : rule.at("verbs")) {
          if (right_of(verb, resource, group) != without) one["verbs"].push_back(verb);
        }
        if (!one["verbs"].empty()) left.push_back(std::move(one));
      }
    }
  }
  return left;
}

Result<std::vector<std::string>> flags_to_note_calls(const std::string& folder,
                                                     const std::string& user) {
  const json policy = {{"apiVersion", "audit.k8s.io/v1"},
                       {"kind", "Policy"},
                       {"omitStages", {"RequestReceived"}},
                       {"rules",
                        {{{"level", "Metadata"}, {"users", {user}}, {"omitManagedFields", true}},
                         {{"level", "None"}}}}};
  const std::string file = folder + "/audit.json";  // JSON is YAML
  if (Status written = lab::write_file(file, policy.dump(2)); !written) {
    return failure(written.error());
  }
  return std::vector<std::string>{"--audit-policy-file=" + file,
                                  "--audit-log-path=" + calls_of(folder)};
}

std::uintmax_t noted_calls(const std::string& folder) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(calls_of(folder), error);
  return error ? 0 : size;
}

std::set<std::string> denied(const std::string& folder,
                             const std::vector<std::pair<std::uintmax_t, std::uintmax_t>>& but) {
  std::set<std::string> rights;
  std::ifstream calls(calls_of(folder));
  std::uintmax_t at = 0;
  for (std::string line; std::getline(calls, line); at += line.size() + 1) {
    const bool left_out = std::any_of(but.begin(), but.end(), [&](const auto& span) {
      return at >= span.first && at < span.second;
    });
    if (left_out || line.find(R"("forbid")") == std::string::npos) continue;
    const json call = json::parse(line, nullptr, false);
    if (call.is_discarded()) continue;  // the API server was killed while it wrote
    const json what = call.value("objectRef", json::object());
    std::string resource = what.value("resource", call.value("requestURI", ""));
    if (what.contains("subresource")) resource += "/" + what.value("subresource", "");
    rights.insert(right_of(call.value("verb", ""), resource, what.value("apiGroup", "")));
  }
  return rights;
}

}  // namespace pinion::e2e
