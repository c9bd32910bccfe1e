#include "tests/unit/kube/fake_api_server.h"
#include "tests/support/eventually.h"

#include <gtest/gtest.h>

#include <chrono>

namespace pinion::kube {
namespace {

using test_support::eventually;

constexpr std::size_t kThreads = 40;  // a kept connection holds one
constexpr std::chrono::seconds kPatience{30};

}  // namespace

void Stream::send_event(const std::string& type, const nlohmann::json& object) {
  send(nlohmann::json({{"type", type}, {"object", object}}).dump() + "\n");
}

void Stream::push(std::optional<std::string> step) {
  const std::lock_guard lock(mutex_);
  steps_.push_back(std::move(step));
  more_.notify_all();
}

void Stream::cut() {
  const std::lock_guard lock(mutex_);
  cut_ = true;
  more_.notify_all();
}

std::optional<std::string> Stream::next() {
  std::unique_lock lock(mutex_);
  more_.wait(lock, [this] { return cut_ || !steps_.empty(); });
  if (steps_.empty()) return "";
  auto step = std::move(steps_.front());
  steps_.pop_front();
  return step;
}

FakeApiServer::FakeApiServer(const std::optional<Files>& tls) : scheme_(tls ? "https" : "http") {
  if (tls) {
    const char* client_ca = tls->client_ca.empty() ? nullptr : tls->client_ca.c_str();
    server_ =
        std::make_unique<httplib::SSLServer>(tls->certificate.c_str(), tls->key.c_str(), client_ca);
  } else {
    server_ = std::make_unique<httplib::Server>();
  }
  server_->new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
  server_->set_keep_alive_max_count(1000);
  const auto handler = [this](const httplib::Request& request, httplib::Response& response) {
    answer(request, response);
  };
  server_->Get(".*", handler)
      .Post(".*", handler)
      .Put(".*", handler)
      .Patch(".*", handler)
      .Delete(".*", handler);
  port_ = server_->bind_to_any_port("127.0.0.1");
  thread_ = std::thread([this] { server_->listen_after_bind(); });
  EXPECT_TRUE(eventually([&] { return server_->is_running(); }));
}

FakeApiServer::~FakeApiServer() {
  {
    const std::lock_guard lock(mutex_);
    for (const auto& stream : streams_) stream->cut();
    for (const auto& gate : gates_) gate->open();
  }
  server_->stop();
  thread_.join();
}

Access FakeApiServer::access() const {
  Access access;
  access.source = "the test";
  access.endpoint.tls = scheme_ == "https";
  access.endpoint.host = "127.0.0.1";
  access.endpoint.port = port_;
  return access;
}

void FakeApiServer::on(const std::string& method_and_path, Handler handler) {
  const std::lock_guard lock(mutex_);
  handlers_[method_and_path].push_back(std::move(handler));
}

void FakeApiServer::on(const std::string& method_and_path, int status, const nlohmann::json& body) {
  on(method_and_path, [=](const httplib::Request&, httplib::Response& response) {
    response.status = status;
    response.set_content(body.dump(), "application/json");
  });
}

std::shared_ptr<Stream> FakeApiServer::stream_on(const std::string& method_and_path) {
  auto stream = std::make_shared<Stream>();
  {
    const std::lock_guard lock(mutex_);
    streams_.push_back(stream);
  }
  on(method_and_path, [stream](const httplib::Request&, httplib::Response& response) {
    response.status = 200;
    response.set_chunked_content_provider(
        "application/json", [stream](std::size_t, httplib::DataSink& sink) {
          const auto step = stream->next();
          if (!step) {
            sink.done();
            return true;
          }
          return !step->empty() && sink.write(step->data(), step->size());
        });
  });
  return stream;
}

std::shared_ptr<Gate> FakeApiServer::new_gate() {
  const std::lock_guard lock(mutex_);
  gates_.push_back(std::make_shared<Gate>());
  return gates_.back();
}

std::shared_ptr<Gate> FakeApiServer::gate_on(const std::string& method_and_path) {
  auto gate = new_gate();
  on(method_and_path, [gate](const httplib::Request&, httplib::Response& response) {
    gate->wait();
    response.set_content("{}", "application/json");
  });
  return gate;
}

std::vector<FakeApiServer::Seen> FakeApiServer::seen() {
  return wait_for(0);
}

std::vector<FakeApiServer::Seen> FakeApiServer::wait_for(std::size_t requests) {
  std::unique_lock lock(mutex_);
  EXPECT_TRUE(arrived_.wait_for(lock, kPatience, [&] { return seen_.size() >= requests; }))
      << "only " << seen_.size() << " of " << requests << " requests came";
  return seen_;
}

FakeApiServer::Handler FakeApiServer::take_handler(const std::string& method_and_path) {
  auto& waiting = handlers_[method_and_path];
  if (waiting.empty()) {
    return [](const httplib::Request&, httplib::Response& response) {
      response.status = 404;
      response.set_content(status_object(404, "NotFound", "not here").dump(), "application/json");
    };
  }
  Handler handler = waiting.front();
  if (waiting.size() > 1) waiting.pop_front();
  return handler;
}

void FakeApiServer::answer(const httplib::Request& request, httplib::Response& response) {
  Handler handler;
  {
    const std::lock_guard lock(mutex_);
    seen_.push_back({.method = request.method,
                     .target = request.target,
                     .body = request.body,
                     .content_type = request.get_header_value("Content-Type"),
                     .token = request.get_header_value("Authorization"),
                     .client_port = request.remote_port});
    handler =
        take_handler(request.method + " " + request.target.substr(0, request.target.find('?')));
    arrived_.notify_all();
  }
  handler(request, response);
}

nlohmann::json status_object(int code, const std::string& reason, const std::string& message) {
  return {{"kind", "Status"}, {"apiVersion", "v1"}, {"status", "Failure"},
          {"code", code},     {"reason", reason},   {"message", message}};
}

void Gate::open() {
  const std::lock_guard lock(mutex_);
  open_ = true;
  opened_.notify_all();
}

void Gate::wait() {
  std::unique_lock lock(mutex_);
  opened_.wait(lock, [this] { return open_; });
}

}  // namespace pinion::kube
