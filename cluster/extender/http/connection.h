// One connection: reads requests one after another and answers them. cpp-httplib parses the request
// line and the headers and writes answers; the body is read here, so that limits are known before a
// byte of it is.
#pragma once

#include <httplib.h>

#include <atomic>
#include <functional>
#include <optional>
#include <string>

#include "base/net/deadline_stream.h"
#include "cluster/extender/http/connection_context.h"
#include "cluster/extender/wire/reader.h"

namespace pinion::cluster {

class Connection : private httplib::Server {
 public:
  struct Manner {
    // Asked with the first request; false: there are too many, which is said instead of an answer,
    // and the connection ends. Probes are answered all the same.
    std::function<bool()> admitted;
    // Whether this client may ask for more than probes and metrics; asked after the first bytes
    // have come. Without a function: everybody may.
    std::function<bool()> trusted;
  };

  // `busy` is true from the first byte of a request to the last one of its answer.
  Connection(net::DeadlineStream& stream, ConnectionContext& context, std::atomic<bool>& busy,
             Manner manner);

  // Until either side ends it.
  void serve();

 private:
  struct Refusal {
    int status = 0;
    std::string text;
  };
  // What a request with a body is about, told by its headers, and what it takes of what all share.
  struct Call {
    std::optional<Verb> verb;
    std::size_t length = 0;
    std::optional<Refusal> refusal;
    std::optional<Allowance> body;
    std::optional<Allowance> bind;
  };

  bool serve_one();
  void keep_reader();
  void look_at(httplib::Request& request);
  void look_at_call(const httplib::Request& request);
  [[nodiscard]] std::optional<Refusal> take_shares();

  void route(const httplib::Request& request, httplib::Response& response);
  void get(const httplib::Request& request, httplib::Response& response);
  void post(httplib::Response& response);
  void plan(const std::string& body, httplib::Response& response);
  [[nodiscard]] Result<std::string> read_body();
  [[nodiscard]] Result<std::string> answer(std::string body);
  void refuse(httplib::Response& response, int status, const std::string& text,
              ConnectionContext::Outcome outcome);
  [[nodiscard]] bool trusted() const { return !manner_.trusted || manner_.trusted(); }

  net::DeadlineStream& stream_;
  ConnectionContext& context_;
  std::atomic<bool>& busy_;
  const Manner manner_;
  wire::Reader reader_;
  std::optional<Allowance> kept_;  // of what all readers may keep
  Call call_;
  std::optional<bool> admitted_;  // nothing before the first request
  bool looked_ = false;           // this request's headers were sound
  bool last_ = false;             // the connection ends with this answer
};

}  // namespace pinion::cluster
