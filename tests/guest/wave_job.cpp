#include "tests/guest/wave_job.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "cluster/extender/elastic/telling.h"
#include "cluster/extender/program/clocks.h"
#include "policy/annotations.h"
#include "tests/lab/files.h"
#include "tests/unit/extender_elastic/sample_job.h"

namespace pinion::guest {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int kPort = 8080;
constexpr std::int64_t kMemory = 200LL << 20;
constexpr lab::Milliseconds kAnswered{30000};
constexpr const char* kJob = "/apis/batch/v1/namespaces/default/jobs/wave";

// The stand-in for ssh: "remote HOST COMMAND", as mpirun calls it.
constexpr const char* kRemote = R"(#!/bin/busybox sh
host=$1
shift
[ "$host" = "$HOST" ] && exec sh -c "$*"
echo "$*" >"/job/$host/command"
read -r status <"/job/$host/status"
exit "$status"
)";

// And for sshd. On SIGTERM it only says so.
constexpr const char* kWorker = R"(
cd "/job/$HOST"
trap '/bin/busybox touch sigterm' TERM
exec 3<>command
while :; do
  read -r line <&3 || continue
  sh -c "$line"
  echo $? >status
done
)";

std::string host(int index) {
  return "wave-" + std::to_string(index) + ".wave";
}

// What a user of Open MPI says in the pods' environment.
std::map<std::string, std::string> environment(int index) {
  return {{"PATH", "/usr/bin:/bin"},
          {"HOST", host(index)},
          {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
          {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
          {"OMPI_MCA_orte_keep_fqdn_hostnames", "1"},
          {"OMPI_MCA_hwloc_base_binding_policy", "none"},  // Pinion binds
          // Of the lab: the pods have the machine's network, which may be its loopback alone.
          {"OMPI_MCA_plm_rsh_agent", "/job/remote"},
          {"OMPI_MCA_oob_tcp_if_include", "lo"},
          {"OMPI_MCA_btl_tcp_if_include", "lo"},
          // What else there is would only be loaded, which takes an emulated machine long.
          {"OMPI_MCA_pml", "ob1"},
          {"OMPI_MCA_btl", "self,tcp"},
          {"HWLOC_PLUGINS_PATH", "/job"}};
}

}  // namespace

WaveJob::WaveJob(std::string folder, int cpus) : folder_(std::move(folder)), cpus_(cpus) {
  for (const char* part : {"/elastic", "/run"}) fs::create_directories(folder_ + part);
  std::ofstream(folder_ + "/remote") << kRemote;
  fs::permissions(folder_ + "/remote", fs::perms::owner_all);
  for (int i = 0; i < kMaxWorkers; ++i) {
    fs::create_directories(host_folder(i));
    for (const char* pipe : {"/command", "/status"}) {
      ::mkfifo((host_folder(i) + pipe).c_str(), 0600);
    }
  }

  job_ = test_support::make_job(
      {.cpus = cpus,
       .annotations = {{annotation::kMinWorkers, "2"},
                       {annotation::kMaxWorkers, std::to_string(kMaxWorkers)},
                       {annotation::kAcknowledge, "http:" + std::to_string(kPort)}}});
  json& pod = job_["spec"]["template"]["spec"];
  pod["subdomain"] = "wave";
  pod["volumes"] = {{{"name", "size"}, {"configMap", {{"name", "wave-elastic"}}}}};
  server_.on(
      "GET /api/v1/namespaces/default/pods", 200,
      {{"items",
        {{{"metadata",
           {{"uid", "uid-wave-0"}, {"ownerReferences", {{{"uid", job_["metadata"]["uid"]}}}}}},
          {"status", {{"phase", "Running"}, {"podIP", "127.0.0.1"}}}}}}});
  server_.on(std::string("GET ") + kJob, [this](const auto&, auto& response) {
    const std::lock_guard lock(mutex_);
    response.set_content(job_.dump(), "application/json");
  });
  server_.on(std::string("PATCH ") + kJob, [this](const auto& request, auto& response) {
    const std::lock_guard lock(mutex_);
    job_.merge_patch(json::parse(request.body));
    response.set_content(job_.dump(), "application/json");
  });
  api_ = *kube::Api::create(server_.access());
  asks_ = std::make_unique<cluster::ElasticAsks>(
      *api_, log_, defaults_, cluster::elastic::ControllerLimits{}, [] { return true; });
}

std::string WaveJob::host_folder(int index) const {
  return folder_ + "/" + host(index);
}

lab::PodSpec WaveJob::worker(int index) const {
  std::string script = kWorker;
  if (index == 0) {
    // Without an end, and with rests: the emulated CPUs are more than the real ones.
    script = "exec /app/elastic-launcher " + std::to_string(kPort) + " /etc/elastic/hosts " +
             std::to_string(object().stated) +
             " /job/run mpirun.openmpi /app/elastic-wave /job/run " + std::to_string(kPoints) +
             " 1000000000 100 >/job/output 2>&1";
  }
  auto pod = lab::guaranteed_pod("wave-" + std::to_string(index), cpus_,
                                 {"/bin/busybox", "sh", "-c", script});
  pod.annotations["pinion.dev/job"] = "wave";
  auto& container = pod.containers.front();
  container.memory_request = container.memory_limit = kMemory;
  container.env = environment(index);
  container.mounts = {{.host = "/usr", .container = "/usr"},
                      {.host = "/etc/passwd", .container = "/etc/passwd"},
                      {.host = "/etc/openmpi", .container = "/etc/openmpi"},
                      {.host = lab::program_folder(), .container = "/app"},
                      {.host = folder_, .container = "/job", .read_only = false},
                      {.host = folder_ + "/elastic", .container = "/etc/elastic"}};
  return pod;
}

bool WaveJob::has_sigterm(int index) const {
  return fs::exists(host_folder(index) + "/sigterm");
}

void WaveJob::has(int stated, int ready) {
  const std::lock_guard lock(mutex_);
  job_["spec"]["parallelism"] = job_["spec"]["completions"] = stated;
  job_["status"] = {{"active", stated}, {"ready", ready}};
}

void WaveJob::is_resized(int before, int wanted) {
  const std::lock_guard lock(mutex_);
  json& annotations = job_["metadata"]["annotations"];
  annotations[annotation::kPreviousWorkers] = std::to_string(before);
  annotations[annotation::kWantedWorkers] = std::to_string(wanted);
  annotations[annotation::kRescaledAt] = std::to_string(cluster::unix_ms());
}

void WaveJob::is_done() {
  const std::lock_guard lock(mutex_);
  for (const char* name : {annotation::kPreviousWorkers, annotation::kWantedWorkers,
                           annotation::kAcknowledgedWorkers}) {
    job_["metadata"]["annotations"].erase(name);
  }
}

cluster::elastic::ElasticObject WaveJob::object() const {
  const std::lock_guard lock(mutex_);
  return *cluster::elastic::read_elastic(job_, defaults_);
}

void WaveJob::tell() {
  const json files = cluster::elastic::size_map(object()).at("data");
  for (const auto& [name, text] : files.items()) {
    const std::string file = folder_ + "/elastic/" + name;
    std::ofstream(file + ".new") << text.get<std::string>();
    fs::rename(file + ".new", file);
  }
}

std::string WaveJob::told(const std::string& file) const {
  const auto text = lab::read_file(folder_ + "/elastic/" + file);
  return text ? *text : "";
}

std::string WaveJob::output() const {
  return lab::tail_of(folder_ + "/output", 40);
}

bool WaveJob::is_to_be_asked() const {
  return cluster::elastic::is_to_be_asked(object());
}

std::optional<int> WaveJob::ask() {
  lab::eventually(kAnswered, [&] {
    const auto now = object();
    if (now.acknowledged) return true;
    if (cluster::elastic::is_to_be_asked(now)) asks_->ask(now);
    return false;
  });
  return object().acknowledged;
}

std::optional<WaveJob::Progress> WaveJob::progress() const {
  Progress progress;
  std::ifstream file(folder_ + "/run/progress");
  if (!(file >> progress.step >> progress.ranks)) return std::nullopt;
  return progress;
}

std::optional<test_support::WaveSheet> WaveJob::result() const {
  return test_support::read_wave(folder_ + "/run/checkpoint", kPoints);
}

}  // namespace pinion::guest
