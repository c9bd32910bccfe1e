// Serves the agent's pages. Two threads answer, one request for each connection; a client that is
// slow or silent loses its connection after a few seconds, and too many at once are turned away.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "agent/http/site.h"
#include "base/net/acceptor.h"
#include "base/net/deadline_stream.h"

namespace pinion::agent {

struct HttpOptions {
  std::string listen;          // see base/net/listen_address.h
  bool page_anywhere = false;  // serve the page and its JSON on other than loopback addresses too
  net::StreamLimits limits{};
};

class HttpServer {
 public:
  // Listens and answers from now on. Errors: as net::listen_on().
  static Result<std::unique_ptr<HttpServer>> start(const HttpOptions& options,
                                                   HttpHandlers handlers);

  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  // Closes all connections and waits for handlers that still run.
  ~HttpServer();

  // With the port that was chosen: "127.0.0.1:40123".
  [[nodiscard]] std::string address() const { return acceptor_->address().to_string(); }

 private:
  HttpServer(net::StreamLimits limits, HttpHandlers handlers, Site::Pages pages);

  void take(Fd socket);
  void answer_all();
  void answer(const Fd& socket);

  net::StreamLimits limits_;
  Site site_;

  std::mutex mutex_;
  std::condition_variable work_;
  std::deque<Fd> waiting_;  // these three under mutex_
  std::set<int> active_;
  bool stopping_ = false;

  std::vector<std::thread> threads_;
  std::unique_ptr<net::Acceptor> acceptor_;
};

}  // namespace pinion::agent
