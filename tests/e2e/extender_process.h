// pinion-extender as a process beside a cluster.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "tests/e2e/cluster.h"
#include "tests/e2e/collection.h"

namespace pinion::e2e {

// What the extender and who calls it speak TLS with, of one authority. It takes the openssl
// command.
struct ExtenderTls {
  std::vector<std::string> flags;  // of the extender
  TlsClient client;
};
// Written into `folder`. Errors: kNotFound without that command, kUnavailable.
Result<ExtenderTls> make_extender_tls(const std::string& folder);

class ExtenderProcess {
 public:
  ExtenderProcess() = default;

  // The only replica, with a fixed list of agents, as Nodes::agents_file() gives it, or "": it
  // looks for their pods; `more`: further flags, or another --kubeconfig. Waits until it answers
  // questions. Errors: kUnavailable with its log's end.
  static Result<ExtenderProcess> start(Cluster& cluster, const std::string& agents_file,
                                       const std::vector<std::string>& more = {});

  // One of several, which choose a leader, with a log of that name. Waits until it listens: it
  // answers questions once it leads.
  static Result<ExtenderProcess> start_replica(Cluster& cluster, const std::string& agents_file,
                                               const std::string& name,
                                               const std::vector<std::string>& more = {});

  void kill() { process_.kill(); }  // SIGKILL
  void signal(int number) const { process_.signal(number); }
  // The exit status; none: it goes on.
  std::optional<int> wait_for_end() { return process_.wait(lab::Milliseconds(kPatience)); }
  // At the same address; does not wait when `wait` is false.
  Status restart(bool wait = true);
  bool wait_ready();

  // Where it takes the scheduler's calls, and all others.
  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] const std::string& web_address() const { return web_address_; }
  [[nodiscard]] std::string url() const { return scheme() + address_; }
  [[nodiscard]] std::string web_url() const { return scheme() + web_address_; }
  // It was started with TLS: so pages are asked for.
  void speak_tls(TlsClient client) { tls_ = std::move(client); }
  // "/v1/fleet", "/v1/jobs".
  [[nodiscard]] Result<nlohmann::json> page(const std::string& path) const;
  // A series of /metrics without labels; -1 when it is not there.
  [[nodiscard]] double figure(const std::string& series) const;

 private:
  Status prepare(Cluster& cluster, const std::string& name, const std::string& agents_file,
                 const std::vector<std::string>& more);
  Status run();
  [[nodiscard]] std::string scheme() const { return tls_.ca.empty() ? "http://" : "https://"; }
  [[nodiscard]] Result<kube::Access> access() const;

  std::vector<std::string> flags_;
  std::string ready_file_;
  std::string log_;
  std::string address_ = "127.0.0.1:0";
  std::string web_address_ = "127.0.0.1:0";
  TlsClient tls_;  // without a CA: plain
  lab::Process process_;
};

}  // namespace pinion::e2e
