#include "cluster/extender/http/connection.h"

#include <charconv>
#include <exception>
#include <utility>

namespace pinion::cluster {
namespace {

constexpr const char* kPlain = "text/plain; charset=utf-8";
constexpr const char* kJson = "application/json";
// Nothing from elsewhere, no markup made of text.
constexpr const char* kPagePolicy =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src "
    "'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'";
constexpr std::size_t kPadding = 64;  // what the parser wants behind a body, to spare it a copy

void complain(httplib::Response& response, int status, const std::string& text) {
  response.status = status;
  response.set_content(text + "\n", kPlain);
}

void show(httplib::Response& response, const Page& page) {
  response.status = page.status;
  response.set_content(page.body, page.type);
}

void health(httplib::Response& response, const std::string& reason) {
  if (reason.empty()) {
    response.set_content("ok\n", kPlain);
  } else {
    complain(response, 503, reason);
  }
}

// Nothing: no length, or none that makes sense.
std::optional<std::size_t> length_of(const httplib::Request& request) {
  if (request.get_header_value_count("Content-Length") != 1) return std::nullopt;
  const std::string text = request.get_header_value("Content-Length");
  std::size_t length = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), length);
  if (end.ec != std::errc{} || end.ptr != text.data() + text.size()) return std::nullopt;
  return length;
}

bool has_body(const httplib::Request& request) {
  return request.has_header("Transfer-Encoding") ||
         (request.has_header("Content-Length") && length_of(request) != 0U);
}

// Counts a call for as long as it runs.
class Running {
 public:
  explicit Running(std::atomic<std::size_t>& now) : now_(now) { ++now_; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() { --now_; }

 private:
  std::atomic<std::size_t>& now_;
};

// The JSON of what `callback` answers to what was read.
template <class Ask, class Callback>
Result<std::string> answered(Result<Ask> ask, std::atomic<std::size_t>& now,
                             const Callback& callback) {
  if (!ask) return failure(std::move(ask.error()));
  const Running running(now);
  return callback(*ask);
}

}  // namespace

Connection::Connection(net::DeadlineStream& stream, ConnectionContext& context,
                       std::atomic<bool>& busy, Manner manner)
    : stream_(stream), context_(context), busy_(busy), manner_(std::move(manner)) {
  // What its header says of the connection.
  set_keep_alive_timeout(std::chrono::ceil<std::chrono::seconds>(context.limits.idle).count());
  set_keep_alive_max_count(1'000'000);
  // Paths are compared here and not by httplib, which matches regular expressions, deep in the
  // stack.
  set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
    route(request, response);
    return HandlerResponse::Handled;
  });
  set_exception_handler([this](const httplib::Request& /*request*/, httplib::Response& response,
                               const std::exception_ptr& /*what*/) {
    refuse(response, 500, "internal error", ConnectionContext::Outcome::kFailed);
  });
}

void Connection::serve() {
  bool more = true;
  while (more && !context_.stopping &&
         stream_.next_request(admitted_ ? context_.limits.idle : context_.limits.first)) {
    busy_ = true;
    more = serve_one();
    busy_ = false;
  }
}

bool Connection::serve_one() {
  looked_ = false;
  last_ = false;
  bool closed = false;
  const bool good = process_request(stream_, /*close_connection=*/false, closed,
                                    [this](httplib::Request& request) { look_at(request); });
  call_ = {};
  keep_reader();
  return good && looked_ && !last_ && !closed;
}

// Its memory spares the next request the time to ask for it, within what all may keep.
void Connection::keep_reader() {
  kept_.reset();
  kept_.emplace(context_.take_kept(reader_.kept_bytes()));
  if (!kept_->valid()) reader_ = wire::Reader();
}

// Before httplib looks at them. It would pack answers, for a client next door, and serve ranges.
void Connection::look_at(httplib::Request& request) {
  looked_ = true;
  if (!admitted_) admitted_ = manner_.admitted();
  request.ranges.clear();
  request.headers.erase("Accept-Encoding");
  if (request.method == "POST") look_at_call(request);
  // A body that is not read would be taken for the next request.
  const bool unread = has_body(request) && (request.method != "POST" || call_.refusal);
  last_ = unread || !*admitted_ || context_.stopping;
  if (!last_) return;
  request.headers.erase("Connection");
  request.headers.emplace("Connection", "close");
}

void Connection::look_at_call(const httplib::Request& request) {
  const auto refuse_with = [this](int status, std::string text) {
    call_.refusal = Refusal{.status = status, .text = std::move(text)};
  };
  call_.verb = context_.verb_of(request.path);
  if (!call_.verb) {
    return refuse_with(404, "no such call; there are " + context_.calls());
  }
  // The API server shows webhooks no certificate unless it is set up to; and what it asks changes
  // nothing.
  if (call_.verb != Verb::kMutate && !trusted()) {
    return refuse_with(403, "this needs a client certificate");
  }
  if (!*admitted_) {
    return refuse_with(
        503, "too many connections: " + std::to_string(context_.limits.connections) + " are open");
  }
  if (request.has_header("Content-Encoding")) return refuse_with(415, "the body is packed");
  const auto length = length_of(request);
  if (!length) return refuse_with(411, "this needs one Content-Length");
  call_.length = *length;
  const std::size_t most = context_.body_limit(*call_.verb);
  if (*length > most) {
    return refuse_with(413, "a body of " + std::to_string(*length) + " bytes; at most " +
                                std::to_string(most) + " are taken");
  }
  call_.refusal = take_shares();
}

std::optional<Connection::Refusal> Connection::take_shares() {
  call_.body.emplace(context_.take_body(call_.length));
  if (!call_.body->valid()) {
    return Refusal{.status = 503, .text = "the bodies of other calls take all the room there is"};
  }
  if (call_.verb != Verb::kBind) return std::nullopt;
  call_.bind.emplace(context_.take_bind());
  if (call_.bind->valid()) return std::nullopt;
  return Refusal{.status = 503, .text = "too many binds are held"};
}

void Connection::route(const httplib::Request& request, httplib::Response& response) {
  response.status = 200;
  response.set_header("Cache-Control", "no-store");
  response.set_header("X-Content-Type-Options", "nosniff");
  if (call_.refusal) {
    refuse(response, call_.refusal->status, call_.refusal->text,
           ConnectionContext::Outcome::kRefused);
  } else if (request.method == "POST") {
    post(response);
  } else if (request.method == "GET" || request.method == "HEAD") {
    get(request, response);
  } else {
    response.set_header("Allow", "GET, HEAD, POST");
    complain(response, 405, "only GET, HEAD and POST");
  }
}

void Connection::get(const httplib::Request& request, httplib::Response& response) {
  if (context_.served.pages == nullptr) {
    return complain(response, 404, "not here: this is for the scheduler's calls alone");
  }
  Pages& pages = *context_.served.pages;
  if (request.path == "/livez") return health(response, pages.not_live());
  if (request.path == "/readyz") return health(response, pages.not_ready());
  if (request.path == "/leadz") return health(response, pages.not_leading());
  if (request.path == "/metrics") {
    return show(response, pages.metrics(request.get_header_value("Accept")));
  }
  const bool fleet = request.path == "/v1/fleet";
  const bool jobs = request.path == "/v1/jobs";
  if (!fleet && !jobs && request.path != "/") {
    return complain(
        response, 404,
        "not here; there are /, /livez, /readyz, /leadz, /metrics, /v1/fleet and /v1/jobs");
  }
  if (!trusted()) return complain(response, 403, "this needs a client certificate");
  if (fleet) return show(response, pages.fleet());
  if (jobs) return show(response, pages.jobs(request.get_param_value("namespace")));
  response.set_header("Content-Security-Policy", kPagePolicy);
  show(response, pages.home());
}

void Connection::post(httplib::Response& response) {
  auto body = read_body();
  if (!body) {
    last_ = true;
    return refuse(response, 408, body.error().text, ConnectionContext::Outcome::kRefused);
  }
  if (call_.verb == Verb::kPlan) return plan(*body, response);
  auto json = answer(std::move(*body));
  if (!json)
    return refuse(response, 400, json.error().text, ConnectionContext::Outcome::kMalformed);
  response.body = std::move(*json);
  response.set_header("Content-Type", kJson);
  context_.count(*call_.verb, ConnectionContext::Outcome::kAnswered);
}

void Connection::plan(const std::string& body, httplib::Response& response) {
  const Allowance turn = context_.take_plan();
  if (!turn.valid()) {
    return refuse(response, 503, "another one is being made: try again",
                  ConnectionContext::Outcome::kRefused);
  }
  const Running running(context_.now[static_cast<std::size_t>(Verb::kPlan)]);
  const Page page = context_.served.pages->plan(body);
  show(response, page);
  const auto bad = page.status == 503 ? ConnectionContext::Outcome::kRefused
                                      : ConnectionContext::Outcome::kMalformed;
  context_.count(Verb::kPlan, page.status == 200 ? ConnectionContext::Outcome::kAnswered : bad);
}

Result<std::string> Connection::read_body() {
  stream_.expect(call_.length, context_.limits.body);
  std::string body;
  body.reserve(call_.length + kPadding);
  body.resize(call_.length);
  for (std::size_t have = 0; have < body.size();) {
    const ssize_t n = stream_.read(body.data() + have, body.size() - have);
    if (n <= 0) {
      return failure(Errc::kUnavailable, "the body ended after " + std::to_string(have) + " of " +
                                             std::to_string(body.size()) + " bytes");
    }
    have += static_cast<std::size_t>(n);
  }
  return body;
}

Result<std::string> Connection::answer(std::string body) {
  const Served& served = context_.served;
  const Verb verb = *call_.verb;
  std::atomic<std::size_t>& now = context_.now[static_cast<std::size_t>(verb)];
  switch (verb) {
    case Verb::kFilter:
      return answered(reader_.filter(std::move(body)), now, [&](const wire::FilterAsk& ask) {
        return to_json(served.scheduler->filter(ask), ask);
      });
    case Verb::kPrioritize:
      return answered(reader_.filter(std::move(body)), now, [&](const wire::FilterAsk& ask) {
        return to_json(served.scheduler->prioritize(ask), ask);
      });
    case Verb::kBind:
      return answered(reader_.bind(std::move(body)), now, [&](const wire::BindAsk& ask) {
        return to_json(served.scheduler->bind(ask));
      });
    case Verb::kPreempt:
      return answered(reader_.preempt(std::move(body)), now, [&](const wire::PreemptAsk& ask) {
        return to_json(served.scheduler->preempt(ask));
      });
    case Verb::kMutate: {
      const Running running(now);
      return served.admission->answer(body);
    }
    case Verb::kPlan:
      break;  // answered by plan()
  }
  return failure(Errc::kInternal, "no such call");
}

// The scheduler says no more than the status, so the text goes to our own log as well.
void Connection::refuse(httplib::Response& response, int status, const std::string& text,
                        ConnectionContext::Outcome outcome) {
  std::string shown = "pinion-extender: ";
  if (call_.verb) {
    shown += kVerbNames[static_cast<std::size_t>(*call_.verb)];
    shown += ": ";
    context_.count(*call_.verb, outcome);
  }
  shown += text;
  if (context_.served.refused) context_.served.refused(shown);
  complain(response, status, shown);
}

}  // namespace pinion::cluster
