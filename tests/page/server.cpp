#include "tests/page/server.h"

#include <httplib.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <utility>

#include "tests/support/places.h"

namespace pinion::page_test {
namespace {

// Nothing from elsewhere, and a browser that throws at the page when it makes markup out of text.
constexpr const char* kPolicy =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src "
    "'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'; "
    "require-trusted-types-for 'script'; trusted-types 'none'";

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "cannot read %s\n", path.c_str());
    std::abort();
  }
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

PageServer::PageServer(std::function<Answer(int)> answer, nlohmann::json scenario)
    : answer_(std::move(answer)),
      scenario_(std::move(scenario)),
      server_(std::make_unique<httplib::Server>()) {
  server_->Get("/", [this](const httplib::Request&, httplib::Response& r) { serve_page(r); });
  server_->Get("/api/v1/node", [this](const httplib::Request&, httplib::Response& response) {
    const Answer given = answer_(requests_++);
    response.status = given.status;
    response.set_content(given.body, "application/json");
  });
  server_->Post("/report", [this](const httplib::Request& request, httplib::Response&) {
    const std::lock_guard lock(mutex_);
    report_ = request.body;
  });
  server_->Get("/frame", [](const httplib::Request& request, httplib::Response& response) {
    response.set_content("<!doctype html><style>body{margin:0}</style><iframe src=\"/\" width=" +
                             request.get_param_value("width") +
                             " height=" + request.get_param_value("height") +
                             " style=\"border:0;display:block\"></iframe>",
                         "text/html; charset=utf-8");
  });
  port_ = server_->bind_to_any_port("127.0.0.1");
  if (port_ <= 0) {
    std::fprintf(stderr, "cannot listen on 127.0.0.1\n");
    std::abort();
  }
  thread_ = std::thread([this] { server_->listen_after_bind(); });
}

PageServer::~PageServer() {
  // stop() before the thread serves would be lost.
  while (!server_->is_running()) std::this_thread::yield();
  server_->stop();
  thread_.join();
}

void PageServer::serve_page(httplib::Response& response) const {
  std::string page = read(test_support::in_checkout("agent/http/page.html"));
  const std::string probe = "<script>window.scenario=" + scenario_.dump() + ";\n" +
                            read(test_support::in_checkout("tests/page/probe.js")) + "</script>";
  const auto head = page.find("<head>");
  if (head != std::string::npos) page.insert(head + 6, probe);
  response.set_header("Content-Security-Policy", kPolicy);
  response.set_header("X-Content-Type-Options", "nosniff");
  response.set_content(page, "text/html; charset=utf-8");
}

std::string PageServer::url() const {
  return "http://127.0.0.1:" + std::to_string(port_) + "/";
}

std::string PageServer::framed_url(int width, int height) const {
  return url() + "frame?width=" + std::to_string(width) + "&height=" + std::to_string(height);
}

std::optional<nlohmann::json> PageServer::report() const {
  const std::lock_guard lock(mutex_);
  auto report = nlohmann::json::parse(report_, nullptr, false);
  if (report.is_discarded()) return std::nullopt;
  return report;
}

}  // namespace pinion::page_test
