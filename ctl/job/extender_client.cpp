#include "ctl/job/extender_client.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>

#include "base/cli/table.h"
#include "base/utf8.h"
#include "cluster/extender/kube/json_read.h"
#include "ctl/common/ask_http.h"
#include "ctl/common/http_address.h"

namespace pinion::ctl {
namespace {

using cluster::jobs::JobPlan;

constexpr std::size_t kMaxComplaint = 1000;  // of an answer that is no plan

Status check(const ExtenderOptions& options, const HttpAddress& address) {
  const bool tls = address.origin.rfind("https://", 0) == 0;
  const bool files = !options.ca.empty() || !options.certificate.empty() || !options.key.empty();
  if (!tls && files) return failure(Errc::kInvalid, "TLS files are given, and the URL is no https");
  if (options.certificate.empty() != options.key.empty()) {
    return failure(Errc::kInvalid, "a certificate and its key are given together or not at all");
  }
  return {};
}

Result<nlohmann::json> document_of(const HttpAnswer& answer) {
  if (answer.status != 200) {
    std::string text(cut_utf8(answer.body, kMaxComplaint));
    while (!text.empty() && text.back() == '\n') text.pop_back();
    const bool wrong = answer.status == 400 || answer.status == 413;
    return failure(wrong ? Errc::kInvalid : Errc::kUnavailable,
                   "HTTP status " + std::to_string(answer.status) + ": " + plain(text));
  }
  auto document = nlohmann::json::parse(answer.body, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) return failure(Errc::kUnavailable, "the answer is no JSON");
  return document;
}

// `path` stands behind that of the address; `posted`: JSON, or empty. Errors name the
// URL.
Result<nlohmann::json> ask(const ExtenderOptions& options, const std::string& path,
                           std::string posted = {}) {
  const auto address = parse_http_address(options.url);
  if (!address) return failure(address.error());
  const Status good = check(options, *address);
  if (!good) return failure(good.error().within(options.url));
  const auto answer =
      ask_http({.url = address->origin + address->path + path,
                .json = std::move(posted),
                .tls = {.ca = options.ca, .certificate = options.certificate, .key = options.key}});
  if (!answer) return failure(answer.error().within(options.url));
  auto document = document_of(*answer);
  if (!document) return failure(std::move(document.error()).within(options.url));
  return document;
}

// Whether it has the list, each row an object with a name.
bool has_rows(const nlohmann::json& document, const char* list) {
  const nlohmann::json& rows = kube::json_at(document, list);
  return rows.is_array() && std::all_of(rows.begin(), rows.end(), [](const nlohmann::json& row) {
           return kube::json_at(row, "name").is_string();
         });
}

}  // namespace

CLI::Option* add_extender_options(CLI::App& command, ExtenderOptions& options) {
  CLI::Option* url = command
                         .add_option("--extender", options.url,
                                     "A running extender, http://HOST:PORT or https://HOST:PORT")
                         ->type_name("URL");
  command.add_option("--ca", options.ca, "Who must have signed its certificate, PEM")
      ->type_name("FILE")
      ->needs(url);
  command.add_option("--cert", options.certificate, "Our certificate, where it wants one, PEM")
      ->type_name("FILE")
      ->needs(url);
  command.add_option("--key", options.key, "Its key, PEM")->type_name("FILE")->needs(url);
  return url;
}

Result<JobPlan> plan_at_extender(const ExtenderOptions& options, const nlohmann::json& job) {
  const auto document = ask(options, "/v1/plan", kube::json_dump(job));
  if (!document) return failure(document.error());
  auto plan = cluster::jobs::read_job_plan(*document);
  if (!plan) return failure(plan.error().within("the answer is no plan").within(options.url));
  return plan;
}

Result<nlohmann::json> jobs_at_extender(const ExtenderOptions& options,
                                        const std::string& name_space) {
  const std::string path = "/v1/jobs";
  auto document =
      ask(options, name_space.empty() ? path : with_query(path, {{"namespace", name_space}}));
  if (!document) return document;
  if (!has_rows(*document, "elastic") || !has_rows(*document, "profiles")) {
    return failure(Errc::kUnavailable,
                   options.url + ": the answer is not one of an extender's /v1/jobs");
  }
  return document;
}

}  // namespace pinion::ctl
