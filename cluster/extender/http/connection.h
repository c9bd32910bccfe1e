// One connection: reads requests one after another and answers them. A body is read when its
// headers have told that it is within the limits.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>

#include "base/net/deadline_stream.h"
#include "base/net/http.h"
#include "cluster/extender/http/connection_context.h"
#include "cluster/extender/wire/reader.h"

namespace pinion::cluster {

class Connection {
 public:
  struct Manner {
    // Asked with the first request; false: there are too many, which is said instead of an answer,
    // and the connection ends. Probes are answered all the same.
    std::function<bool()> admitted;
    // Whether this client may ask for more than probes and metrics; asked after the first bytes
    // have come. Without a function: everybody may.
    std::function<bool()> trusted;
    // Of one that is admitted: it waits for its client from now on, for a request, its body, or to
    // take the answer.
    std::function<void()> waits;
    // Its request is there as a whole, and is answered. False: while it waited, it was ended for
    // another one, so nothing must come of the request.
    std::function<bool()> works;
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
    std::optional<Allowance> bind;
  };

  bool serve_one();
  bool write(net::HttpAnswer answer, bool with_body);
  void keep_reader();
  void look_at(const net::HttpRequest& request);
  void look_at_call(const net::HttpRequest& request);

  // Nothing: there is nobody any more to answer.
  std::optional<net::HttpAnswer> answer_to(const net::HttpRequest& request);
  void read_body(const net::HttpRequest& request);
  void route(const net::HttpRequest& request, net::HttpAnswer& answer);
  void get(const net::HttpRequest& request, net::HttpAnswer& answer);
  void post(net::HttpAnswer& answer);
  void plan(net::HttpAnswer& answer);
  [[nodiscard]] Result<std::string> decide();
  void refuse(net::HttpAnswer& answer, int status, const std::string& text,
              ConnectionContext::Outcome outcome);
  [[nodiscard]] bool trusted() const { return !manner_.trusted || manner_.trusted(); }

  net::DeadlineStream& stream_;
  ConnectionContext& context_;
  std::atomic<bool>& busy_;
  const Manner manner_;
  wire::Reader reader_;
  std::optional<Allowance> kept_;  // of what all readers may keep
  Call call_;
  std::optional<BodyRoom::Share> share_;  // of what all bodies may take, while there is one
  std::string body_;
  bool unread_ = false;           // the request has a body that would be taken for the next one
  std::optional<bool> admitted_;  // nothing before the first request
};

}  // namespace pinion::cluster
