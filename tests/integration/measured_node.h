// A node whose agent measures as often as it can and serves /metrics.
#pragma once

#include <string>
#include <vector>

#include "tests/integration/node.h"
#include "tests/integration/scrape.h"

namespace pinion::integration {

class MeasuredNodeTest : public NodeTest {
 protected:
  Status start(const std::vector<std::string>& more = {}) {
    lab::AgentOptions options;
    options.more = {"--metrics-listen", "127.0.0.1:0", "--counters-interval", "100ms"};
    options.more.insert(options.more.end(), more.begin(), more.end());
    if (Status started = start_agent(options); !started) return started;
    const auto addresses = read_addresses(agent().ready_file());
    if (!addresses) return failure(addresses.error());
    address_ = addresses->at("metrics");
    return {};
  }

  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] Result<Series> now() const { return scrape(address_); }

 private:
  std::string address_;
};

}  // namespace pinion::integration
