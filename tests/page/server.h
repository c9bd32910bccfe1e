// Serves the page as the agent does, at `/`, with the strictest Content-Security-Policy that it can
// live with, and at `/api/v1/node` what a test wants it to see. Into the page goes
// tests/page/probe.js, which acts as a reader would and reports what it sees.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>

namespace httplib {
class Server;
struct Response;
}  // namespace httplib

namespace pinion::page_test {

struct Answer {
  int status = 200;
  std::string body;
};

class PageServer {
 public:
  // `answer(n)` is what request number n (from 0) for the node gets. `scenario` is the probe's:
  // see probe.js.
  PageServer(std::function<Answer(int)> answer, nlohmann::json scenario);
  PageServer(const PageServer&) = delete;
  PageServer& operator=(const PageServer&) = delete;
  ~PageServer();

  [[nodiscard]] std::string url() const;
  // The page in a frame of that many CSS pixels: the browser's window cannot be narrower than 500.
  [[nodiscard]] std::string framed_url(int width, int height) const;
  [[nodiscard]] int requests() const { return requests_; }
  // What the probe reported; not set when it did not.
  [[nodiscard]] std::optional<nlohmann::json> report() const;

 private:
  void serve_page(httplib::Response& response) const;

  std::function<Answer(int)> answer_;
  nlohmann::json scenario_;
  std::unique_ptr<httplib::Server> server_;
  int port_ = 0;
  std::atomic<int> requests_ = 0;
  mutable std::mutex mutex_;
  std::string report_;
  std::thread thread_;
};

}  // namespace pinion::page_test
