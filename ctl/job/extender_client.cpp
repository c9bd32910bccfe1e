#include "ctl/job/extender_client.h"

#include <httplib.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "base/cli/table.h"
#include "base/utf8.h"
#include "cluster/extender/kube/json_read.h"
#include "ctl/common/http_address.h"

namespace pinion::ctl {
namespace {

using cluster::jobs::JobPlan;

constexpr time_t kConnectSeconds = 5;
constexpr time_t kReadSeconds = 30;
constexpr std::size_t kMaxAnswer = std::size_t{64} << 20;
constexpr std::size_t kMaxComplaint = 1000;  // of an answer that is no plan

struct Answer {
  int status = 0;
  std::string body;
};

std::string words_of(httplib::Error error) {
  switch (error) {
    case httplib::Error::Connection:
      return "nobody can be reached there";
    case httplib::Error::Read:
      return "no answer in " + std::to_string(kReadSeconds) + " s, or it was cut off";
    case httplib::Error::Canceled:
      return "an answer above " + std::to_string(kMaxAnswer >> 20U) + " MiB";
    case httplib::Error::SSLLoadingCerts:
      return "the file of --ca is no certificate in PEM";
    case httplib::Error::SSLServerVerification:
      return "its certificate is for another name, or --ca has not signed it";
    default:
      return "asking it failed: " + httplib::to_string(error);
  }
}

Status check(const ExtenderOptions& options, const HttpAddress& address) {
  const bool tls = address.origin.rfind("https://", 0) == 0;
  const bool files = !options.ca.empty() || !options.certificate.empty() || !options.key.empty();
  if (!tls && files) return failure(Errc::kInvalid, "TLS files are given, and the URL is no https");
  if (options.certificate.empty() != options.key.empty()) {
    return failure(Errc::kInvalid, "a certificate and its key are given together or not at all");
  }
  return {};
}

struct Question {
  std::string method;
  std::string path;  // behind that of the address
  std::string body = {};
};

Result<Answer> send(const ExtenderOptions& options, const HttpAddress& address, Question question) {
  httplib::Client http(address.origin, options.certificate, options.key);
  if (!http.is_valid()) {
    return failure(Errc::kInvalid, "the address or the TLS files cannot be used");
  }
  http.set_connection_timeout(kConnectSeconds);
  http.set_read_timeout(kReadSeconds);
  if (!options.ca.empty()) http.set_ca_cert_path(options.ca);
  Answer answer;
  httplib::Request request;
  request.method = question.method;
  request.path = address.path + question.path;
  if (!question.body.empty()) {
    request.headers.emplace("Content-Type", "application/json");
    request.body = std::move(question.body);
  }
  request.content_receiver = [&](const char* data, std::size_t length, std::uint64_t /*offset*/,
                                 std::uint64_t /*total*/) {
    if (answer.body.size() + length > kMaxAnswer) return false;
    answer.body.append(data, length);
    return true;
  };
  const auto response = http.send(request);
  if (!response) return failure(Errc::kUnavailable, words_of(response.error()));
  answer.status = response->status;
  return answer;
}

Result<nlohmann::json> document_of(const Answer& answer) {
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

// Errors name the URL.
Result<nlohmann::json> ask(const ExtenderOptions& options, Question question) {
  const auto address = parse_http_address(options.url);
  if (!address) return failure(address.error());
  const Status good = check(options, *address);
  if (!good) return failure(good.error().within(options.url));
  const auto answer = send(options, *address, std::move(question));
  if (!answer) return failure(answer.error().within(options.url));
  auto document = document_of(*answer);
  if (!document) return failure(std::move(document.error()).within(options.url));
  return document;
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
  const auto document =
      ask(options, {.method = "POST", .path = "/v1/plan", .body = kube::json_dump(job)});
  if (!document) return failure(document.error());
  auto plan = cluster::jobs::read_job_plan(*document);
  if (!plan) return failure(plan.error().within("the answer is no plan").within(options.url));
  return plan;
}

Result<nlohmann::json> jobs_at_extender(const ExtenderOptions& options,
                                        const std::string& name_space) {
  Question question{.method = "GET", .path = "/v1/jobs"};
  if (!name_space.empty()) {
    question.path = httplib::append_query_params(question.path, {{"namespace", name_space}});
  }
  return ask(options, std::move(question));
}

}  // namespace pinion::ctl
