// A server with callbacks that a test plays, and a client that keeps its connection.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cluster/extender/http/server.h"
#include "tests/unit/http/raw_client.h"

namespace pinion::cluster {

// Takes each first node; holds binds while it is told to.
class PlayedCallbacks : public Callbacks {
 public:
  wire::FilterAnswer filter(const wire::FilterAsk& ask) override;
  wire::PrioritizeAnswer prioritize(const wire::FilterAsk& ask) override;
  wire::BindAnswer bind(const wire::BindAsk& ask) override;
  wire::PreemptAnswer preempt(const wire::PreemptAsk& ask) override;
  void stopping() override;

  void hold(bool held);
  // Waits until so many binds are held; false after 30 s.
  bool wait_for_held(std::size_t count);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool hold_ = false;
  bool stopping_ = false;
  std::size_t held_ = 0;
};

class PlayedPages : public Pages {
 public:
  std::string not_live() override { return ""; }
  std::string not_ready() override { return "no agent has been heard"; }
  std::string not_leading() override { return "another one leads"; }
  Page metrics(std::string_view accept) override {
    return {.status = 200, .type = "text/plain", .body = "accept " + std::string(accept)};
  }
  Page fleet() override { return {.body = "[]"}; }
  Page jobs(std::string_view name_space) override {
    return {.body = "{" + std::string(name_space) + "}"};
  }
  Page home() override { return {.type = "text/html", .body = "<!doctype html>"}; }
  // Answers with what it was sent; "malformed" is no job. Waits while it is told to.
  Page plan(std::string_view job) override;

  void hold_plans(bool held);
  // Waits until a plan is being made; false after 30 s.
  bool wait_for_plan();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool hold_ = false;
  bool planning_ = false;
};

// Answers with what it was sent; the text "malformed" is no review.
class PlayedAdmission : public Admission {
 public:
  Result<std::string> answer(std::string_view body) override;
};

// Why calls were refused.
class Refusals {
 public:
  void add(std::string_view why);
  std::vector<std::string> all();

 private:
  std::mutex mutex_;
  std::vector<std::string> texts_;
};

struct Playing {
  PlayedCallbacks callbacks;
  PlayedPages pages;
  PlayedAdmission admission;
  Refusals refusals;
  std::unique_ptr<Server> server;  // of all of them, on one port

  explicit Playing(ServerOptions options = {});
};

std::string filter_body();
std::string bind_body(int pod);
// A request as a scheduler sends it.
std::string post(const std::string& path, const std::string& body, const std::string& more = "");

// One answer from a connection that stays open.
struct Answer {
  int status = 0;
  std::string head;
  std::string body;
};
// Status 0: the connection ended before the answer did.
Answer read_answer(agent::RawClient& client);
Answer ask(agent::RawClient& client, const std::string& request);

}  // namespace pinion::cluster
