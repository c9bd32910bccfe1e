// An API server of a test's own, on 127.0.0.1: answers what it is told to, also badly.
#pragma once

#include <httplib.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cluster/extender/kube/access.h"

namespace pinion::kube {

// An answer without end, written step by step.
class Stream {
 public:
  void send(const std::string& bytes) { push(bytes); }
  void send_event(const std::string& type, const nlohmann::json& object);
  void end() { push(std::nullopt); }  // in good order
  void cut();                         // in the middle

  // For the server: what comes next, "" for a cut, none for the end; waits for it.
  std::optional<std::string> next();

 private:
  void push(std::optional<std::string> step);

  std::mutex mutex_;
  std::condition_variable more_;
  std::deque<std::optional<std::string>> steps_;  // these two under mutex_
  bool cut_ = false;
};

// Keeps whoever waits until it is opened.
class Gate {
 public:
  void open();
  void wait();

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
};

class FakeApiServer {
 public:
  using Handler = std::function<void(const httplib::Request&, httplib::Response&)>;
  struct Files {  // PEM
    std::string certificate;
    std::string key;
    std::string client_ca;  // empty: clients need no certificate
  };
  struct Seen {
    std::string method;
    std::string target;
    std::string body;
    std::string content_type;
    std::string token;
    int client_port = 0;

    [[nodiscard]] nlohmann::json json() const { return nlohmann::json::parse(body); }
  };

  explicit FakeApiServer(const std::optional<Files>& tls = std::nullopt);
  FakeApiServer(const FakeApiServer&) = delete;
  FakeApiServer& operator=(const FakeApiServer&) = delete;
  ~FakeApiServer();

  // How it is reached; without a token and, with TLS, without a CA.
  [[nodiscard]] Access access() const;

  // For "GET /path", without query; several for the same are used in turn, the last one for ever.
  // What has none is answered with 404.
  void on(const std::string& method_and_path, Handler handler);
  void on(const std::string& method_and_path, int status, const nlohmann::json& body);
  // A stream for the next such request.
  std::shared_ptr<Stream> stream_on(const std::string& method_and_path);

  // For handlers that hang; opened at the server's end at the latest.
  std::shared_ptr<Gate> new_gate();
  // Such a handler; its answer is an empty object.
  std::shared_ptr<Gate> gate_on(const std::string& method_and_path);

  // All requests so far; and once there are so many (the test fails when they do not come).
  std::vector<Seen> seen();
  std::vector<Seen> wait_for(std::size_t requests);

 private:
  void answer(const httplib::Request& request, httplib::Response& response);
  Handler take_handler(const std::string& method_and_path);

  std::string scheme_;
  std::unique_ptr<httplib::Server> server_;
  int port_ = 0;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<Seen> seen_;  // these four under mutex_
  std::map<std::string, std::deque<Handler>> handlers_;
  std::vector<std::shared_ptr<Stream>> streams_;
  std::vector<std::shared_ptr<Gate>> gates_;
  std::thread thread_;
};

// A Status object, as the server sends with an error.
nlohmann::json status_object(int code, const std::string& reason, const std::string& message);

}  // namespace pinion::kube
