// An HTTP or HTTPS listener of the extender: for kube-scheduler's calls, or for the webhook,
// probes, metrics and pages. A thread for each connection, so that calls which are held keep nobody
// else waiting.
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/fd.h"
#include "base/net/acceptor.h"
#include "base/net/peer_table.h"
#include "cluster/extender/http/connection_context.h"
#include "cluster/extender/http/thread_set.h"
#include "cluster/extender/http/tls_context.h"

namespace pinion::cluster {

struct ServerOptions {
  std::string listen;       // see base/net/listen_address.h
  std::string prefix = {};  // before /filter and the others: empty, or as in "/pinion"
  TlsFiles tls = {};        // without a certificate: plain HTTP
  Limits limits = {};
};

class Server {
 public:
  // Listens and answers from now on. Errors: as net::listen_on() and TlsContext::load(); kInvalid
  // for the prefix and the limits.
  static Result<std::unique_ptr<Server>> start(ServerOptions options, Served served);

  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  // Accepts no more, tells the callbacks, lets calls that run end within Limits::stop, then cuts
  // their connections and waits for the calls.
  ~Server();

  // With the port that was chosen: "127.0.0.1:40123".
  [[nodiscard]] std::string address() const { return acceptor_->address().to_string(); }
  [[nodiscard]] ServerFigures figures() const;

 private:
  struct Open {
    Fd socket;
    std::atomic<bool> busy = false;
  };
  using OpenList = std::list<Open>;

  Server(ServerOptions options, std::unique_ptr<TlsContext> tls, Served served);

  void take(Fd socket);
  void serve(OpenList::iterator open);
  void forget(OpenList::iterator open);
  void talk(Open& open);
  void end(std::optional<int> out);
  bool let_in(const Open& open, bool known);
  void refused(const Fd& socket, const std::string& why);
  void cut(bool busy_ones_too);

  ConnectionContext context_;
  std::unique_ptr<TlsContext> tls_;  // null: plain
  std::atomic<std::uint64_t> turned_away_ = 0;
  std::atomic<std::uint64_t> handshakes_refused_ = 0;
  std::atomic<std::int64_t> client_end_s_ = 0;
  mutable std::mutex mutex_;
  OpenList open_;  // these three under mutex_
  net::PeerTable peers_;
  std::chrono::steady_clock::time_point tell_refused_;  // not before
  ThreadSet threads_;
  std::unique_ptr<net::Acceptor> acceptor_;
};

}  // namespace pinion::cluster
