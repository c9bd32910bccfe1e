// A Kubernetes control plane of its own for tests: real etcd, kube-apiserver and kube-scheduler,
// and kube-controller-manager where asked for. No kubelet: nodes are objects. Folder and ports are
// its own; everything ends with it, and with the test's process in whatever way that ends.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "cluster/extender/kube/access.h"
#include "tests/lab/process.h"
#include "tests/support/tree.h"

namespace pinion::e2e {

// Users that the API server knows, each by a token of its own and with a kubeconfig.
inline constexpr const char* kAdmin = "admin";
inline constexpr const char* kNobody = "nobody";  // with a token and no rights
// As the chart runs it; what it may do is granted with the rules of deploy/base.
inline constexpr const char* kExtenderUser = "system:serviceaccount:kube-system:pinion-extender";

struct ClusterOptions {
  bool controller_manager = false;
  bool native_gangs = false;             // Kubernetes 1.37, with the feature gate GenericWorkload
  std::chrono::seconds compaction{300};  // the API server forgets history that old
  bool notes_calls = true;  // writes down what the extender calls, which takes CPU: for denied()
};

// Files in PEM of somebody who speaks TLS.
struct TlsClient {
  std::string ca;           // the server's certificate is signed by it
  std::string certificate;  // the client's own, and its key; empty: none
  std::string key;
};

// How kube-scheduler is to call an extender.
struct ExtenderCall {
  std::string url;  // with the prefix, without the verb
  int weight = 10;
  bool node_cache_capable = true;
  bool ignorable = false;
  bool binds = true;
  std::chrono::seconds timeout{30};  // of each call
  std::optional<TlsClient> tls = {};
};

struct SchedulerOptions {
  std::optional<ExtenderCall> extender;
  int percentage_of_nodes = 0;          // to score; 0: the scheduler's own choice
  int qps = 1000;                       // of its bindings, and of its events
  std::chrono::seconds max_backoff{2};  // after an attempt that failed; 1 s at first
  // The program of scripts/kube.sh --topology, with NodeResourceTopologyMatch, which scores by this
  // strategy and counts more than all others. Empty: the plain one.
  std::string topology_strategy = {};
};

// The folder of scripts/kube.sh --topology. Errors: kNotFound where that has not built it,
// kUnavailable where it fails.
Result<std::string> topology_folder();

class Cluster {
 public:
  // With etcd and the API server, which answers. Errors: kNotFound where scripts/kube.sh
  // has not built what is needed, kUnavailable where it fails or with the end of the logs.
  static Result<std::unique_ptr<Cluster>> start(const ClusterOptions& options = {});
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;
  ~Cluster();

  // Does not wait: pods wait for it.
  Status start_scheduler(const SchedulerOptions& options);
  void kill_scheduler() { scheduler_.kill(); }

  // SIGKILL; and again with the same store, at the same address or at another one: who goes to the
  // old one finds nobody. Kubeconfigs are written anew.
  void kill_api_server() { api_server_.kill(); }
  Status restart_api_server() { return start_api_server(api_port_); }
  Status restart_api_server_at(int port) { return start_api_server(port); }
  [[nodiscard]] int api_port() const { return api_port_; }

  // Grants what deploy/base does; a second time changes nothing.
  Status grant_rights_of_extender();
  // The rights that it lacked for a call that was therefore denied, as rights.h names them.
  [[nodiscard]] std::set<std::string> denied() const;

  [[nodiscard]] std::string kubeconfig(const std::string& user = kAdmin) const;  // path
  [[nodiscard]] kube::Access access(const std::string& user = kAdmin) const;
  [[nodiscard]] const std::string& ca() const { return ca_; }  // PEM
  [[nodiscard]] std::string folder() const { return dir_.path(); }
  [[nodiscard]] std::string log_of(const std::string& part) const;  // path
  // What another part of the test logs to.
  void has_log(const std::string& part) { parts_.push_back(part); }
  // The last lines of every part's log.
  [[nodiscard]] std::string logs(int lines = 30) const;

 private:
  Cluster(std::string kube, const ClusterOptions& options)
      : kube_(std::move(kube)), options_(options) {}

  Status make_files();
  Status start_etcd();
  Status start_api_server(int port);
  Status wait_for_api_server();
  Status start_controller_manager();
  void write_kubeconfig(const std::string& user) const;
  Result<lab::Process> run(const std::string& part, std::vector<std::string> argv);

  const std::string kube_;  // the folder of the programs
  const ClusterOptions options_;
  test_support::TempDir dir_;
  std::string ca_;
  std::map<std::string, std::string> tokens_;  // by user
  int etcd_port_ = 0;
  int api_port_ = 0;
  std::vector<std::string> parts_;  // that have a log
  // Of the API server: what it had written of the extender's calls at each start, and when ready.
  std::vector<std::pair<std::uintmax_t, std::uintmax_t>> starts_;
  lab::Process etcd_;
  lab::Process api_server_;
  lab::Process manager_;
  lab::Process scheduler_;
};

// Ends with the thread that starts it, by SIGKILL; log as given. `standard_input`: fd; -1: nothing.
Result<lab::Process> start_mortal(std::vector<std::string> argv, const std::string& log,
                                  int standard_input = -1);

// A TCP port of 127.0.0.1 that nobody has at this moment.
int free_port();

}  // namespace pinion::e2e
