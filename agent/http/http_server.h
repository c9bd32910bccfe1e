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

#include "agent/http/deadline_stream.h"
#include "agent/http/listen_address.h"
#include "agent/http/site.h"

namespace pinion::agent {

struct HttpOptions {
  std::string listen;          // see listen_address.h
  bool page_anywhere = false;  // serve the page and its JSON on other than loopback addresses too
  StreamLimits limits{};
};

class HttpServer {
 public:
  // Listens and answers from now on. Errors: as listen_on().
  static Result<std::unique_ptr<HttpServer>> start(const HttpOptions& options,
                                                   HttpHandlers handlers);

  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  // Closes all connections and waits for handlers that still run.
  ~HttpServer();

  // With the port that was chosen: "127.0.0.1:40123".
  [[nodiscard]] std::string address() const { return listener_.address.to_string(); }

 private:
  HttpServer(Listener listener, Fd wake, StreamLimits limits, HttpHandlers handlers,
             Site::Pages pages);

  void accept_all();
  bool accept_one();
  void answer_all();
  void answer(const Fd& socket);

  Listener listener_;
  Fd wake_;  // readable when it is time to stop
  StreamLimits limits_;
  Site site_;

  std::mutex mutex_;
  std::condition_variable work_;
  std::deque<Fd> waiting_;  // these three under mutex_
  std::set<int> active_;
  bool stopping_ = false;

  std::vector<std::thread> threads_;
};

}  // namespace pinion::agent
