#include "tests/e2e/extender_process.h"

#include <algorithm>
#include <filesystem>

#include "cluster/extender/kube/api.h"
#include "cluster/extender/kube/http.h"
#include "tests/lab/files.h"
#include "tests/unit/api/certificates.h"

namespace pinion::e2e {

using lab::Milliseconds;

namespace {

constexpr const char* kName = "pinion-extender";
constexpr Milliseconds kReadyLimit{120'000};
constexpr int kTries = 3;  // with other ports: somebody may take one before we do

// Of a line of the ready file.
std::string value_of(const std::string& file, const std::string& key) {
  const auto from = file.find(key) + key.size();
  return file.substr(from, file.find('\n', from) - from);
}

}  // namespace

Result<ExtenderTls> make_extender_tls(const std::string& folder) {
  if (!agent::api::has_openssl()) return failure(Errc::kNotFound, "there is no openssl");
  if (!agent::api::make_certificates(folder, "tls")) {
    return failure(Errc::kUnavailable, "openssl makes no certificates");
  }
  const auto own = agent::api::files_of(folder, "tls", "server");
  const auto client = agent::api::files_of(folder, "tls", "client");
  return ExtenderTls{
      .flags = {"--tls-cert", own.certificate, "--tls-key", own.key, "--tls-client-ca", own.ca},
      .client = {.ca = own.ca, .certificate = client.certificate, .key = client.key}};
}

Status ExtenderProcess::prepare(Cluster& cluster, const std::string& name,
                                const std::string& agents_file,
                                const std::vector<std::string>& more) {
  const std::string base = cluster.folder() + "/" + name;
  ready_file_ = base + ".ready";
  log_ = cluster.log_of(name);
  cluster.has_log(name);
  if (Status granted = cluster.grant_rights_of_extender(); !granted) return granted;
  flags_ = more;
  if (std::find(more.begin(), more.end(), "--kubeconfig") == more.end()) {
    flags_.insert(flags_.end(), {"--kubeconfig", cluster.kubeconfig(kExtenderUser)});
  }
  if (agents_file.empty()) return {};
  const std::string agents = base + ".agents.yaml";
  flags_.insert(flags_.end(), {"--agents", agents});
  return lab::write_file(agents, agents_file);
}

Result<ExtenderProcess> ExtenderProcess::start(Cluster& cluster, const std::string& agents_file,
                                               const std::vector<std::string>& more) {
  ExtenderProcess extender;
  Status done = extender.prepare(cluster, kName, agents_file, more);
  extender.flags_.insert(extender.flags_.end(), {"--leader-elect", "false"});
  if (done) done = extender.run();
  if (!done) return failure(done.error());
  if (!extender.wait_ready()) {
    return failure(Errc::kUnavailable,
                   "pinion-extender is not ready:\n" + lab::tail_of(extender.log_, 20));
  }
  const auto ready = lab::read_file(extender.ready_file_);
  if (!ready) return failure(ready.error());
  extender.address_ = value_of(*ready, "scheduler=");
  extender.web_address_ = value_of(*ready, "http=");
  return extender;
}

Result<ExtenderProcess> ExtenderProcess::start_replica(Cluster& cluster,
                                                       const std::string& agents_file,
                                                       const std::string& name,
                                                       const std::vector<std::string>& more) {
  ExtenderProcess extender;
  Status done = extender.prepare(cluster, name, agents_file, more);
  if (!done) return failure(done.error());
  for (int left = kTries;; --left) {
    for (std::string* address : {&extender.address_, &extender.web_address_}) {
      *address = "127.0.0.1:" + std::to_string(free_port());
    }
    done = extender.run();
    if (!done) return failure(done.error());
    const bool listens = lab::eventually(kReadyLimit, [&] {
      return !extender.process_.running() || extender.page("/v1/fleet").has_value();
    });
    if (listens && extender.process_.running()) return extender;
    const std::string log = lab::tail_of(extender.log_, 20);
    if (left == 1 || log.find("ddress already in use") == std::string::npos) {
      return failure(Errc::kUnavailable, name + " does not listen:\n" + log);
    }
  }
}

Status ExtenderProcess::run() {
  std::error_code ignored;
  std::filesystem::remove(ready_file_, ignored);
  std::vector<std::string> argv = {lab::program_folder() + "/pinion-extender",
                                   "--listen",
                                   address_,
                                   "--web-listen",
                                   web_address_,
                                   "--ready-file",
                                   ready_file_};
  argv.insert(argv.end(), flags_.begin(), flags_.end());
  auto process = start_mortal(std::move(argv), log_);
  if (!process) return failure(process.error());
  process_ = *std::move(process);
  return {};
}

bool ExtenderProcess::wait_ready() {
  return lab::eventually(
             kReadyLimit,
             [&] { return !process_.running() || std::filesystem::exists(ready_file_); }) &&
         process_.running();
}

Status ExtenderProcess::restart(bool wait) {
  if (Status started = run(); !started) return started;
  if (!wait || wait_ready()) return {};
  return failure(Errc::kUnavailable, "pinion-extender is not ready again");
}

Result<kube::Access> ExtenderProcess::access() const {
  const auto endpoint = kube::parse_endpoint(web_url());
  if (!endpoint) return failure(endpoint.error());
  kube::Access access;
  access.endpoint = *endpoint;
  for (const auto& [to, file] : {std::pair{&access.ca, tls_.ca},
                                 {&access.certificate, tls_.certificate},
                                 {&access.key, tls_.key}}) {
    if (file.empty()) continue;
    auto pem = lab::read_file(file);
    if (!pem) return failure(pem.error());
    *to = *std::move(pem);
  }
  return access;
}

Result<nlohmann::json> ExtenderProcess::page(const std::string& path) const {
  auto access = this->access();
  if (!access) return failure(access.error());
  const auto api = kube::Api::create(*std::move(access));
  if (!api) return failure(api.error());
  return (*api)->get(path);
}

double ExtenderProcess::figure(const std::string& series) const {
  auto access = this->access();
  if (!access) return -1;
  const auto http = kube::Http::create(*std::move(access));
  if (!http) return -1;
  const kube::Cancel never;
  const auto answer = (*http)->send(
      {.method = "GET", .target = "/metrics", .content_type = {}, .body = {}}, {}, never);
  if (!answer) return -1;
  const auto at = answer->body.find("\n" + series + " ");
  return at == std::string::npos ? -1 : std::stod(answer->body.substr(at + series.size() + 2));
}

}  // namespace pinion::e2e
