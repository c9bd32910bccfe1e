#include "tests/e2e/extender_process.h"

#include <filesystem>

#include "extender/kube/api.h"
#include "tests/lab/files.h"

namespace pinion::e2e {

using lab::Milliseconds;

namespace {

constexpr const char* kName = "pinion-extender";
constexpr Milliseconds kReadyLimit{30'000};

}  // namespace

Result<ExtenderProcess> ExtenderProcess::start(Cluster& cluster, const std::string& agents_file,
                                               const std::vector<std::string>& more) {
  ExtenderProcess extender;
  extender.folder_ = cluster.folder();
  extender.log_ = cluster.log_of(kName);
  cluster.has_log(kName);
  const std::string agents = extender.folder_ + "/agents.yaml";
  if (Status written = lab::write_file(agents, agents_file); !written) {
    return failure(written.error());
  }
  extender.flags_ = {"--kubeconfig", cluster.kubeconfig(), "--agents",
                     agents,         "--leader-elect",     "false"};
  extender.flags_.insert(extender.flags_.end(), more.begin(), more.end());
  if (Status run = extender.run("127.0.0.1:0"); !run) return failure(run.error());
  if (!extender.wait_ready()) {
    return failure(Errc::kUnavailable,
                   "pinion-extender is not ready:\n" + lab::tail_of(extender.log_, 20));
  }
  const auto ready = lab::read_file(extender.folder_ + "/extender.ready");
  if (!ready) return failure(ready.error());
  const auto from = ready->find("http=") + 5;
  extender.address_ = ready->substr(from, ready->find('\n', from) - from);
  return extender;
}

Status ExtenderProcess::run(const std::string& listen) {
  std::error_code ignored;
  std::filesystem::remove(folder_ + "/extender.ready", ignored);
  std::vector<std::string> argv = {lab::program_folder() + "/pinion-extender", "--listen", listen,
                                   "--ready-file", folder_ + "/extender.ready"};
  argv.insert(argv.end(), flags_.begin(), flags_.end());
  auto process = start_mortal(std::move(argv), log_);
  if (!process) return failure(process.error());
  process_ = *std::move(process);
  return {};
}

bool ExtenderProcess::wait_ready() {
  return lab::eventually(kReadyLimit,
                         [&] {
                           return !process_.running() ||
                                  std::filesystem::exists(folder_ + "/extender.ready");
                         }) &&
         process_.running();
}

Status ExtenderProcess::restart(bool wait) {
  if (Status started = run(address_); !started) return started;
  if (!wait || wait_ready()) return {};
  return failure(Errc::kUnavailable, "pinion-extender is not ready again");
}

Result<nlohmann::json> ExtenderProcess::page(const std::string& path) const {
  const auto endpoint = kube::parse_endpoint(url());
  if (!endpoint) return failure(endpoint.error());
  kube::Access access;
  access.endpoint = *endpoint;
  const auto api = kube::Api::create(std::move(access));
  if (!api) return failure(api.error());
  return (*api)->get(path);
}

}  // namespace pinion::e2e
