// The pages of the agent: which path gives what. The connection is http_server's.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "agent/http/expose.h"
#include "base/net/http.h"

namespace pinion::agent {

// Each is called on the server's thread and must not wait for long.
struct HttpHandlers {
  // The text of /metrics; what the scrape before has cost is for the figures in it. Without a
  // function: not there.
  std::function<std::string(prometheus::Format, const ScrapeCost&)> metrics;
  // Why not, in a few words; empty: it is. Without a function: always.
  std::function<std::string()> not_live;
  std::function<std::string()> not_ready;
  // The page at / (HTML) and what it shows, /api/v1/node (JSON). Without a function: not there.
  std::function<std::string()> page;
  std::function<std::string()> node_json;
};

class Site {
 public:
  // Who may see the page and its JSON.
  enum class Pages {
    kNobody,
    kThisMachine,  // nobody else can connect; only those who ask for an address or "localhost"
    kEverybody,    // who can connect
  };

  Site(HttpHandlers handlers, Pages pages);

  // The answer to a request, told by its line and headers; its connection ends with it. Not by
  // several threads at once.
  net::HttpAnswer answer(const net::HttpRequest& request);

 private:
  void route(const net::HttpRequest& request, net::HttpAnswer& answer);
  void metrics(const net::HttpRequest& request, net::HttpAnswer& answer);
  static void health(net::HttpAnswer& answer, const std::function<std::string()>& not_well);
  void page(const net::HttpRequest& request, net::HttpAnswer& answer,
            const std::function<std::string()>& content, std::string_view type) const;

  HttpHandlers handlers_;
  Pages pages_;
  ScrapeCost cost_;
};

}  // namespace pinion::agent
