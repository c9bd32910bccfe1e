// A served node for one test: what is published, the server, and patience.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "agent/api/server.h"
#include "agent/client/client.h"
#include "tests/support/eventually.h"
#include "tests/support/tree.h"
#include "tests/unit/api/samples.h"

namespace pinion::agent::api {

using test_support::eventually;

class Serving : public testing::Test {
 protected:
  Serving() {
    options_.listen = "unix:" + socket();
    options_.name = {"host", "1.0", "instance"};
    options_.tls_reload = std::chrono::seconds(1);
  }

  [[nodiscard]] std::string socket() const { return directory_.path() / "agent.sock"; }

  void start() {
    auto server = ApiServer::start(options_, views_, samples_);
    ASSERT_TRUE(server) << server.error().text;
    server_ = *std::move(server);
  }

  void publish(const NodeView& view) { views_.publish(std::make_shared<const NodeView>(view)); }

  Client client(const ClientOptions& options = {}) {
    auto client = Client::connect(server_->address(), options);
    if (!client) throw std::runtime_error(client.error().text);
    return *std::move(client);
  }

  test_support::TempDir directory_;
  Published<NodeView> views_;
  Published<metrics::Sample> samples_;
  ApiOptions options_;
  std::unique_ptr<ApiServer> server_;
};

}  // namespace pinion::agent::api
