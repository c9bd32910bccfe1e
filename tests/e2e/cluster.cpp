#include "tests/e2e/cluster.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/fd.h"
#include "cluster/extender/kube/api.h"
#include "cluster/extender/kube/cancel.h"
#include "cluster/extender/kube/http.h"
#include "cluster/files/job_file.h"
#include "tests/e2e/rights.h"
#include "tests/lab/files.h"
#include "tests/lab/made.h"
#include "tests/support/places.h"

namespace pinion::e2e {

namespace fs = std::filesystem;
using lab::Milliseconds;
using nlohmann::json;

namespace {

constexpr Milliseconds kReadyLimit{120'000};
constexpr int kTries = 3;  // with other ports: somebody may take one before we do

const char* const kNativeGangs = "--feature-gates=GenericWorkload=true";
const char* const kSchedulerUser = "system:kube-scheduler";
const char* const kManagerUser = "system:kube-controller-manager";

// What follows the name in a line of the tokens' file: its own quotes hold a list.
std::string groups_of(const std::string& user) {
  return user == kAdmin || user == kManagerUser ? ",\"system:masters\"" : "";
}

std::string local(int port) {
  return "127.0.0.1:" + std::to_string(port);
}

std::string seconds(std::chrono::seconds time) {
  return std::to_string(time.count()) + "s";
}

bool taken(const std::string& log) {
  return lab::tail_of(log, 50).find("address already in use") != std::string::npos;
}

json extender_of(const ExtenderCall& call) {
  json extender = {{"urlPrefix", call.url},          {"filterVerb", "filter"},
                   {"prioritizeVerb", "prioritize"}, {"preemptVerb", "preempt"},
                   {"weight", call.weight},          {"nodeCacheCapable", call.node_cache_capable},
                   {"ignorable", call.ignorable},    {"httpTimeout", seconds(call.timeout)}};
  if (call.binds) extender["bindVerb"] = "bind";
  if (call.tls) {
    json& config = extender["tlsConfig"] = {{"caFile", call.tls->ca}};
    if (!call.tls->certificate.empty()) {
      config["certFile"] = call.tls->certificate;
      config["keyFile"] = call.tls->key;
    }
  }
  return extender;
}

json topology_profile(const std::string& strategy) {
  const json plugin = {{"name", "NodeResourceTopologyMatch"}};
  const json weighty = {{"name", "NodeResourceTopologyMatch"}, {"weight", 100}};
  const json args = {{"scoringStrategy", {{"type", strategy}}}};
  // As the plugin's own example: nothing is reserved where it keeps no cache.
  return {{"schedulerName", "default-scheduler"},
          {"plugins",
           {{"multiPoint", {{"enabled", json::array({weighty})}}},
            {"reserve", {{"disabled", json::array({plugin})}}}}},
          {"pluginConfig", json::array({{{"name", "NodeResourceTopologyMatch"}, {"args", args}}})}};
}

// The folder of scripts/kube.sh. Errors: kNotFound where that has not built what is needed,
// kUnavailable where it fails.
Result<std::string> kube_folder(const ClusterOptions& options) {
  const char* wanted = std::getenv("PINION_E2E_KUBE");
  const bool v137 = options.native_gangs || (wanted != nullptr && wanted == std::string("v137"));
  std::vector<std::string> flags;
  if (v137) flags.emplace_back("--v137");
  auto folder = lab::made_by("kube.sh", flags);
  if (!folder) return failure(folder.error());
  std::vector<std::string> programs = {"kube", "etcd"};
  if (options.controller_manager) {
    programs.emplace_back("kube-controller-manager");
    flags.emplace_back("--all");
  }
  std::string how = "scripts/kube.sh";
  for (const std::string& flag : flags) how += " " + flag;
  for (const std::string& program : programs) {
    const std::string file = *folder + "/" + program;
    if (::access(file.c_str(), X_OK) == 0) continue;
    return failure(Errc::kNotFound, "no " + file + ": run " + how);
  }
  return folder;
}

}  // namespace

Result<std::string> topology_folder() {
  auto folder = lab::made_by("kube.sh", {"--topology"});
  if (!folder) return failure(folder.error());
  if (::access((*folder + "/kube-scheduler").c_str(), X_OK) == 0) return folder;
  return failure(Errc::kNotFound, "no " + *folder + ": run scripts/kube.sh --topology");
}

int free_port() {
  const Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (::bind(socket.get(), any, size) != 0) return 0;
  if (::getsockname(socket.get(), any, &size) != 0) return 0;
  return ntohs(address.sin_port);
}

Result<lab::Process> start_mortal(std::vector<std::string> argv, const std::string& log,
                                  int standard_input) {
  argv.insert(argv.begin(), {"setpriv", "--pdeathsig", "KILL", "--"});
  return lab::Process::start({.argv = std::move(argv),
                              .env = {},
                              .log = log,
                              .mount_namespace = -1,
                              .standard_input = standard_input});
}

Result<std::unique_ptr<Cluster>> Cluster::start(const ClusterOptions& options) {
  auto kube = kube_folder(options);
  if (!kube) return failure(kube.error());
  std::unique_ptr<Cluster> cluster(new Cluster(*kube, options));
  Status done = cluster->make_files();
  for (int left = kTries; done && left > 0; --left) {
    done = cluster->start_etcd();
    if (done) done = cluster->start_api_server(free_port());
    if (done) break;
    const bool again = taken(cluster->log_of("etcd")) || taken(cluster->log_of("kube-apiserver"));
    cluster->api_server_.kill();
    cluster->etcd_.kill();
    if (!again || left == 1) break;
    std::error_code ignored;
    fs::remove_all(cluster->folder() + "/etcd", ignored);
    done = {};
  }
  if (done && options.controller_manager) done = cluster->start_controller_manager();
  if (!done) {
    return failure(Errc::kUnavailable, done.error().text + "\n" + cluster->logs());
  }
  return cluster;
}

// The scheduler first, the store last: nobody logs that he is alone.
Cluster::~Cluster() {
  scheduler_.kill();
  manager_.kill();
  api_server_.kill();
}

Result<lab::Process> Cluster::run(const std::string& part, std::vector<std::string> argv) {
  auto process = start_mortal(std::move(argv), log_of(part));
  if (!process) return failure(process.error().within(part));
  if (std::find(parts_.begin(), parts_.end(), part) == parts_.end()) parts_.push_back(part);
  return process;
}

// One self-signed certificate is server and authority at once; the service accounts' key signs
// their tokens; everybody else has a static token.
Status Cluster::make_files() {
  const std::string dir = folder();
  std::error_code error;
  fs::create_directories(dir + "/logs", error);
  const auto certificate = lab::run(
      {.argv = {"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                "-nodes", "-days", "2", "-subj", "/CN=pinion-e2e", "-addext",
                "subjectAltName=IP:127.0.0.1,IP:10.96.0.1,DNS:kubernetes.default.svc,DNS:localhost",
                "-keyout", dir + "/server.key", "-out", dir + "/server.crt"},
       .env = {},
       .log = log_of("openssl")},
      Milliseconds(20'000));
  if (!certificate) return failure(certificate.error());
  const auto key = lab::run({.argv = {"openssl", "ecparam", "-name", "prime256v1", "-genkey",
                                      "-noout", "-out", dir + "/accounts.key"},
                             .env = {},
                             .log = log_of("openssl")},
                            Milliseconds(20'000));
  if (!key) return failure(key.error());
  const auto ca = lab::read_file(dir + "/server.crt");
  if (!ca) return failure(ca.error());
  ca_ = *ca;
  std::string lines;
  for (const std::string user : {kAdmin, kNobody, kExtenderUser, kSchedulerUser, kManagerUser}) {
    tokens_[user] = "token-of-" + user.substr(user.rfind(':') + 1);
    lines += tokens_[user] + "," + user + "," + user + groups_of(user) + "\n";
  }
  return lab::write_file(dir + "/tokens.csv", lines);
}

Status Cluster::start_etcd() {
  etcd_port_ = free_port();
  const std::string client = "http://" + local(etcd_port_);
  const std::string peer = "http://" + local(free_port());
  auto etcd = run("etcd", {kube_ + "/etcd", "--data-dir", folder() + "/etcd", "--unsafe-no-fsync",
                           "--listen-client-urls", client, "--advertise-client-urls", client,
                           "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                           "--initial-cluster", "default=" + peer, "--log-level", "warn"});
  if (!etcd) return failure(etcd.error());
  etcd_ = *std::move(etcd);
  return {};
}

Status Cluster::start_api_server(int port) {
  api_port_ = port;
  for (const auto& [user, token] : tokens_) write_kubeconfig(user);
  const std::string dir = folder();
  std::vector<std::string> argv = {
      kube_ + "/kube", "kube-apiserver", "--etcd-servers=http://" + local(etcd_port_),
      "--bind-address=127.0.0.1", "--secure-port=" + std::to_string(api_port_),
      // Loopback cannot be an endpoint.
      "--endpoint-reconciler-type=none", "--service-cluster-ip-range=10.96.0.0/16",
      "--authorization-mode=RBAC", "--token-auth-file=" + dir + "/tokens.csv",
      "--tls-cert-file=" + dir + "/server.crt", "--tls-private-key-file=" + dir + "/server.key",
      "--service-account-issuer=https://kubernetes.default.svc",
      "--service-account-key-file=" + dir + "/accounts.key",
      "--service-account-signing-key-file=" + dir + "/accounts.key",
      "--etcd-compaction-interval=" + seconds(options_.compaction)};
  if (options_.notes_calls) {
    const auto noted = flags_to_note_calls(dir, kExtenderUser);
    if (!noted) return failure(noted.error());
    argv.insert(argv.end(), noted->begin(), noted->end());
  }
  // Service accounts are made by the controller manager; without one every pod would be refused.
  if (!options_.controller_manager) argv.emplace_back("--disable-admission-plugins=ServiceAccount");
  if (options_.native_gangs) {
    argv.emplace_back(kNativeGangs);
    argv.emplace_back("--runtime-config=scheduling.k8s.io/v1beta1=true");
  }
  const std::uintmax_t begin = noted_calls(dir);
  auto server = run("kube-apiserver", std::move(argv));
  if (!server) return failure(server.error());
  api_server_ = *std::move(server);
  Status ready = wait_for_api_server();
  starts_.emplace_back(begin, noted_calls(dir));
  return ready;
}

std::set<std::string> Cluster::denied() const {
  return e2e::denied(folder(), starts_);
}

Status Cluster::wait_for_api_server() {
  const auto http = kube::Http::create(access());
  if (!http) return failure(http.error());
  const kube::Cancel never;
  const kube::HttpRequest ready{
      .method = "GET", .target = "/readyz", .content_type = {}, .body = {}};
  bool answered = false;
  (void)lab::eventually(kReadyLimit, [&] {
    if (!api_server_.running() || !etcd_.running()) return true;
    const auto answer = (*http)->send(ready, {}, never);
    answered = answer && answer->status == 200;
    return answered;
  });
  if (!answered) return failure(Errc::kUnavailable, "the API server does not become ready");
  return {};
}

Status Cluster::start_controller_manager() {
  auto manager = run(
      "kube-controller-manager",
      {kube_ + "/kube-controller-manager", "--kubeconfig=" + kubeconfig(kManagerUser),
       "--leader-elect=false", "--secure-port=0", "--use-service-account-credentials=true",
       "--service-account-private-key-file=" + folder() + "/accounts.key",
       "--root-ca-file=" + folder() + "/server.crt", "--controllers=*,-node-lifecycle-controller"});
  if (!manager) return failure(manager.error());
  manager_ = *std::move(manager);
  // Before there is one, no pod is admitted.
  auto api = kube::Api::create(access());
  if (!api) return failure(api.error());
  const bool admits = lab::eventually(kReadyLimit, [&] {
    return (*api)->get("/api/v1/namespaces/default/serviceaccounts/default").has_value();
  });
  if (!admits) return failure(Errc::kUnavailable, "there is no service account");
  return {};
}

Status Cluster::start_scheduler(const SchedulerOptions& options) {
  json config = {{"apiVersion", "kubescheduler.config.k8s.io/v1"},
                 {"kind", "KubeSchedulerConfiguration"},
                 {"clientConnection",
                  {{"kubeconfig", kubeconfig(kSchedulerUser)},
                   {"qps", options.qps},
                   {"burst", 2 * options.qps}}},
                 {"leaderElection", {{"leaderElect", false}}},
                 {"podInitialBackoffSeconds", 1},
                 {"podMaxBackoffSeconds", options.max_backoff.count()}};
  if (options.percentage_of_nodes != 0) {
    config["percentageOfNodesToScore"] = options.percentage_of_nodes;
  }
  if (options.extender) config["extenders"] = json::array({extender_of(*options.extender)});
  std::vector<std::string> argv = {kube_ + "/kube", "kube-scheduler"};
  if (!options.topology_strategy.empty()) {
    const auto program = topology_folder();
    if (!program) return failure(program.error());
    argv = {*program + "/kube-scheduler"};
    config["profiles"] = json::array({topology_profile(options.topology_strategy)});
    // What that one may read is not what is tested.
    config["clientConnection"]["kubeconfig"] = kubeconfig(kAdmin);
  }
  const std::string path = folder() + "/scheduler.json";  // JSON is YAML
  if (Status written = lab::write_file(path, config.dump(2)); !written) return written;
  argv.insert(argv.end(), {"--config=" + path, "--secure-port=0", "-v=2"});
  if (options_.native_gangs) argv.emplace_back(kNativeGangs);
  auto scheduler = run("kube-scheduler", std::move(argv));
  if (!scheduler) return failure(scheduler.error());
  scheduler_ = *std::move(scheduler);
  return {};
}

void Cluster::write_kubeconfig(const std::string& user) const {
  const json config = {
      {"apiVersion", "v1"},
      {"kind", "Config"},
      {"current-context", "e2e"},
      {"contexts",
       json::array({{{"name", "e2e"},
                     {"context",
                      {{"cluster", "e2e"},
                       {"user", user},
                       {"namespace", user == kExtenderUser ? "kube-system" : "default"}}}}})},
      {"clusters", json::array({{{"name", "e2e"},
                                 {"cluster",
                                  {{"server", "https://" + local(api_port_)},
                                   {"certificate-authority", folder() + "/server.crt"}}}}})},
      {"users", json::array({{{"name", user}, {"user", {{"token", tokens_.at(user)}}}}})}};
  (void)lab::write_file(kubeconfig(user), config.dump(2));
}

Status Cluster::grant_rights_of_extender() {
  auto text = lab::read_file(test_support::in_checkout("deploy/base/pinion.yaml"));
  if (!text) return failure(text.error());
  // Ours is in a namespace that each cluster has.
  const std::string theirs = "pinion-system";
  for (auto at = text->find(theirs); at != std::string::npos; at = text->find(theirs)) {
    text->replace(at, theirs.size(), "kube-system");
  }
  const auto objects = cluster::parse_objects(*text);
  if (!objects) return failure(objects.error());
  const auto api = kube::Api::create(access());
  if (!api) return failure(api.error());
  for (json object : *objects) {
    const std::string kind = object.at("kind");
    std::string path = "/apis/rbac.authorization.k8s.io/v1/";
    if (kind == "Role" || kind == "RoleBinding") {
      path += "namespaces/kube-system/" + std::string(kind == "Role" ? "roles" : "rolebindings");
    } else if (kind == "ClusterRole" || kind == "ClusterRoleBinding") {
      path += kind == "ClusterRole" ? "clusterroles" : "clusterrolebindings";
    } else {
      continue;
    }
    if (object.contains("rules")) object["rules"] = granted(object["rules"]);
    const auto made = (*api)->create(path, object);
    if (!made && made.error().code != Errc::kConflict) return failure(made.error());
  }
  return {};
}

std::string Cluster::kubeconfig(const std::string& user) const {
  return folder() + "/" + user.substr(user.rfind(':') + 1) + ".kubeconfig";
}

kube::Access Cluster::access(const std::string& user) const {
  const auto access = kube::read_kubeconfig(kubeconfig(user));
  if (!access) throw std::runtime_error(access.error().text);  // we have written it ourselves
  return *access;
}

std::string Cluster::log_of(const std::string& part) const {
  return folder() + "/logs/" + part + ".log";
}

std::string Cluster::logs(int lines) const {
  std::string text;
  for (const std::string& part : parts_) {
    text += "-- " + part + "\n" + lab::tail_of(log_of(part), lines) + "\n";
  }
  return text;
}

}  // namespace pinion::e2e
