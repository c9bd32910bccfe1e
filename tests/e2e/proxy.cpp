#include "tests/e2e/proxy.h"

#include <httplib.h>
#include <sys/socket.h>

#include <optional>
#include <utility>

#include "base/net/deadline_stream.h"
#include "base/net/http.h"

namespace pinion::e2e {
namespace {

constexpr std::size_t kConnections = 512;
constexpr std::size_t kStack = std::size_t{512} << 10;
constexpr std::chrono::minutes kIdle{10};  // it is the scheduler that closes connections
constexpr std::chrono::seconds kPart{10};  // headers, a body, an answer
constexpr net::StreamLimits kLimits{.head = kPart, .write = kPart};
constexpr std::chrono::seconds kHeldCall{60};  // with an extender that holds a call

constexpr const char* kJson = "application/json";

}  // namespace

// One connection of the scheduler.
class Proxy::Talk {
 public:
  Talk(Proxy& proxy, int socket) : proxy_(proxy), stream_(socket, kLimits) {}

  void serve() {
    while (stream_.next_request(kIdle) && serve_one()) continue;
  }

 private:
  // False: the connection is at its end.
  bool serve_one() {
    const auto head = stream_.read_head();
    if (!head) return false;
    const auto request = net::read_request(*head);
    const auto length = request ? request->body_length() : std::nullopt;
    if (!length) return false;
    const auto body = stream_.read_body(*length, kPart);
    if (!body) return false;
    auto answer = pass(request->path, *body);
    if (!answer) return false;
    answer->keep_alive = kIdle;
    return stream_.write(net::head_of(*answer) + answer->body);
  }

  // Nothing: the connection is cut instead of an answer.
  std::optional<net::HttpAnswer> pass(const std::string& path, const std::string& body) {
    const Fate fate = proxy_.fate_of(path.substr(path.rfind('/') + 1));
    proxy_.wait(fate.before);
    auto answer = fate.heard ? hear(path, body) : net::HttpAnswer();
    proxy_.wait(fate.after);
    if (!answer || fate.reply == Fate::Reply::kCut) return std::nullopt;
    if (fate.reply == Fate::Reply::kError) {
      answer.emplace();
      answer->complain(500, "by the test's rule");
    }
    return answer;
  }

  std::optional<net::HttpAnswer> hear(const std::string& path, const std::string& body) {
    const std::string target = proxy_.target_();
    if (target.empty()) return std::nullopt;
    httplib::Client extender("http://" + target);
    extender.set_read_timeout(kHeldCall);
    const auto heard = extender.Post(path, body, kJson);
    if (!heard) return std::nullopt;
    net::HttpAnswer answer{.status = heard->status};
    answer.set(heard->get_header_value("Content-Type"), heard->body);
    return answer;
  }

  Proxy& proxy_;
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
