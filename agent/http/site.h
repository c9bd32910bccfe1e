// The pages of the agent: which path gives what. cpp-httplib parses the request and writes the
// answer; the connection itself is http_server's.
#pragma once

#include <httplib.h>

#include <functional>
#include <string>

#include "agent/http/expose.h"

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

class Site : private httplib::Server {
 public:
  // Who may see the page and its JSON.
  enum class Pages {
    kNobody,
    kThisMachine,  // nobody else can connect; only those who ask for an address or "localhost"
    kEverybody,    // who can connect
  };

  Site(HttpHandlers handlers, Pages pages);

  // Reads one request and answers it. False: there was none. Not by several threads at once.
  bool serve_one(httplib::Stream& stream);

 private:
  HandlerResponse route(const httplib::Request& request, httplib::Response& response);
  void metrics(const httplib::Request& request, httplib::Response& response);
  static void health(httplib::Response& response, const std::function<std::string()>& not_well);
  void page(const httplib::Request& request, httplib::Response& response,
            const std::function<std::string()>& content, const char* type) const;

  HttpHandlers handlers_;
  Pages pages_;
  ScrapeCost cost_;
};

}  // namespace pinion::agent
