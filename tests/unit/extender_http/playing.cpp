#include "tests/unit/extender_http/playing.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <stdexcept>

namespace pinion::cluster {

wire::FilterAnswer PlayedCallbacks::filter(const wire::FilterAsk& ask) {
  if (ask.pod.name == "throw") throw std::runtime_error("secret");
  wire::FilterAnswer answer;
  if (!ask.names.empty()) answer.nodes = {0};
  return answer;
}

wire::PrioritizeAnswer PlayedCallbacks::prioritize(const wire::FilterAsk& /*ask*/) {
  return {{7}};
}

wire::BindAnswer PlayedCallbacks::bind(const wire::BindAsk& ask) {
  std::unique_lock lock(mutex_);
  ++held_;
  changed_.notify_all();
  changed_.wait(lock, [this] { return !hold_ || stopping_; });
  --held_;
  return {stopping_ ? "stopping" : "bound " + ask.pod_name};
}

wire::PreemptAnswer PlayedCallbacks::preempt(const wire::PreemptAsk& ask) {
  return {ask.nodes};
}

void Refusals::add(std::string_view why) {
  const std::lock_guard lock(mutex_);
  texts_.emplace_back(why);
}

std::vector<std::string> Refusals::all() {
  const std::lock_guard lock(mutex_);
  return texts_;
}

void PlayedCallbacks::stopping() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  changed_.notify_all();
}

void PlayedCallbacks::hold(bool held) {
  const std::lock_guard lock(mutex_);
  hold_ = held;
  changed_.notify_all();
}

bool PlayedCallbacks::wait_for_held(std::size_t count) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::seconds(120), [&] { return held_ == count; });
}

Page PlayedPages::plan(std::string_view job) {
  if (job == "malformed") return {.status = 400, .type = "text/plain", .body = "body: no JSON\n"};
  std::unique_lock lock(mutex_);
  planning_ = true;
  changed_.notify_all();
  changed_.wait(lock, [&] { return !hold_; });
  planning_ = false;
  return {.body = R"({"planned":)" + std::string(job) + "}"};
}

void PlayedPages::hold_plans(bool held) {
  const std::lock_guard lock(mutex_);
  hold_ = held;
  changed_.notify_all();
}

bool PlayedPages::wait_for_plan() {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::seconds(30), [&] { return planning_; });
}

Result<std::string> PlayedAdmission::answer(std::string_view body) {
  if (body == "malformed") return failure(Errc::kInvalid, "request: missing");
  return R"({"seen":)" + std::string(body) + "}";
}

Playing::Playing(ServerOptions options) {
  if (options.listen.empty()) options.listen = "127.0.0.1:0";
  auto started = Server::start(std::move(options),
                               {.scheduler = &callbacks,
                                .pages = &pages,
                                .admission = &admission,
                                .refused = [this](std::string_view why) { refusals.add(why); }});
  EXPECT_TRUE(started) << (started ? "" : started.error().text);
  if (started) server = std::move(*started);
}

std::string filter_body() {
  return R"({"Pod":{"metadata":{"name":"p","namespace":"n","uid":"u"}},"NodeNames":["a","b"]})";
}

std::string bind_body(int pod) {
  return R"({"PodName":"p)" + std::to_string(pod) +
         R"(","PodNamespace":"n","PodUID":"u","Node":"a"})";
}

std::string post(const std::string& path, const std::string& body, const std::string& more) {
  return "POST " + path + " HTTP/1.1\r\nHost: x\r\nUser-Agent: Go-http-client/1.1\r\n" +
         "Content-Length: " + std::to_string(body.size()) +
         "\r\nContent-Type: application/json\r\nAccept-Encoding: gzip\r\n" + more + "\r\n" + body;
}

namespace {

bool read_byte(agent::RawClient& client, std::string& to) {
  char byte = 0;
  if (recv(client.fd(), &byte, 1, 0) != 1) return false;
  to += byte;
  return true;
}

std::size_t length_in(const std::string& head) {
  const std::string name = "Content-Length: ";
  const std::size_t at = head.find(name);
  return at == std::string::npos ? 0 : std::stoul(head.substr(at + name.size()));
}

}  // namespace

Answer read_answer(agent::RawClient& client) {
  Answer answer;
  while (!answer.head.ends_with("\r\n\r\n")) {
    if (!read_byte(client, answer.head)) return {};
  }
  const std::size_t length = length_in(answer.head);
  while (answer.body.size() < length) {
    if (!read_byte(client, answer.body)) return {};
  }
  answer.status = std::stoi(answer.head.substr(std::string("HTTP/1.1 ").size()));
  return answer;
}

Answer ask(agent::RawClient& client, const std::string& request) {
  client.send(request);
  return read_answer(client);
}

}  // namespace pinion::cluster
