#include "tests/e2e/proxy.h"

#include <httplib.h>

#include <utility>

#include "base/net/deadline_stream.h"

namespace pinion::e2e {
namespace {

constexpr std::size_t kConnections = 512;
constexpr std::size_t kStack = std::size_t{512} << 10;
constexpr std::chrono::minutes kIdle{10};  // it is the scheduler that closes connections
constexpr net::StreamLimits kLimits{.read = std::chrono::seconds(10),
                                    .write = std::chrono::seconds(10),
                                    .request_bytes = std::size_t{16} << 20};
constexpr std::chrono::seconds kHeldCall{60};  // with an extender that holds a call

constexpr const char* kJson = "application/json";

}  // namespace

// One connection of the scheduler.
class Proxy::Talk : private httplib::Server {
 public:
  Talk(Proxy& proxy, int socket) : proxy_(proxy), socket_(socket), stream_(socket, kLimits) {
    Post(".*", [this](const auto& request, auto& response) { pass(request, response); });
  }

  void serve() {
    bool closed = false;
    while (!closed && stream_.next_request(kIdle)) {
      if (!process_request(stream_, false, closed, nullptr)) return;
    }
  }

 private:
  void pass(const httplib::Request& request, httplib::Response& response) {
    const Fate fate = proxy_.fate_of(request.path.substr(request.path.rfind('/') + 1));
    proxy_.wait(fate.before);
    const bool answered = !fate.heard || hear(request, response);
    proxy_.wait(fate.after);
    if (fate.reply == Fate::Reply::kError) {
      response.status = 500;
      response.set_content("by the test's rule", "text/plain");
    }
    // What httplib writes now goes nowhere.
    if (!answered || fate.reply == Fate::Reply::kCut) ::shutdown(socket_, SHUT_RDWR);
  }

  bool hear(const httplib::Request& request, httplib::Response& response) {
    const std::string target = proxy_.target_();
    if (target.empty()) return false;
    httplib::Client extender("http://" + target);
    extender.set_read_timeout(kHeldCall);
    const auto answer = extender.Post(request.path, request.body, kJson);
    if (!answer) return false;
    response.status = answer->status;
    response.set_content(answer->body, answer->get_header_value("Content-Type"));
    return true;
  }

  Proxy& proxy_;
  const int socket_;
  net::DeadlineStream stream_;
};

Proxy::Proxy(Target target) : target_(std::move(target)), threads_(kConnections, kStack) {}

Result<std::unique_ptr<Proxy>> Proxy::start(Target target) {
  auto listener = net::listen_on("127.0.0.1:0");
  if (!listener) return failure(listener.error());
  std::unique_ptr<Proxy> proxy(new Proxy(std::move(target)));
  auto acceptor = net::Acceptor::start(*std::move(listener), [all = proxy.get()](Fd socket) {
    // A function of the standard library must be one that can be copied.
    auto shared = std::make_shared<Fd>(std::move(socket));
    all->threads_.run([all, shared] { all->serve(std::move(*shared)); });
  });
  if (!acceptor) return failure(acceptor.error());
  proxy->acceptor_ = *std::move(acceptor);
  return proxy;
}

Proxy::~Proxy() {
  acceptor_.reset();
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    for (const int socket : open_) ::shutdown(socket, SHUT_RDWR);
  }
  ends_.notify_all();
}

void Proxy::serve(Fd socket) {
  {
    const std::lock_guard lock(mutex_);
    if (ending_) return;
    open_.insert(socket.get());
  }
  Talk(*this, socket.get()).serve();
  const std::lock_guard lock(mutex_);
  open_.erase(socket.get());
}

void Proxy::obey(Rule rule) {
  const std::lock_guard lock(mutex_);
  rule_ = std::move(rule);
}

Fate Proxy::fate_of(const std::string& verb) const {
  Rule rule;
  {
    const std::lock_guard lock(mutex_);
    rule = rule_;
  }
  return rule ? rule(verb) : Fate();
}

void Proxy::wait(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  ends_.wait_for(lock, time, [&] { return ending_; });
}

}  // namespace pinion::e2e
