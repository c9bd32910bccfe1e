#include "cluster/extender/http/connection.h"

#include <exception>
#include <utility>

namespace pinion::cluster {
namespace {

using net::HttpAnswer;
using net::HttpRequest;

constexpr std::string_view kJson = "application/json";
// Nothing from elsewhere, no markup made of text.
constexpr std::string_view kPagePolicy =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src "
    "'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'";
constexpr std::size_t kPadding = 64;  // what the parser wants behind a body, to spare it a copy
// An answer up to this is sent in one piece with its head: copying it costs less than a call.
constexpr std::size_t kOnePiece = 16384;

HttpAnswer new_answer() {
  return {.headers = {{"Cache-Control", "no-store"}, {"X-Content-Type-Options", "nosniff"}}};
}

void show(HttpAnswer& answer, Page page) {
  answer.status = page.status;
  answer.set(page.type, std::move(page.body));
}

void health(HttpAnswer& answer, const std::string& reason) {
  if (!reason.empty()) return answer.complain(503, reason);
  answer.set(net::kPlainText, "ok\n");
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
    : stream_(stream), context_(context), busy_(busy), manner_(std::move(manner)) {}

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
  if (admitted_) manner_.waits();
  const auto head = stream_.read_head();
  if (!head) {
    if (head.error().code != Errc::kExhausted) return false;
    HttpAnswer too_long;
    too_long.complain(431, head.error().text);
    return write(std::move(too_long), true);
  }
  const auto request = net::read_request(*head);
  if (!request) return write(request.error(), true);
  auto answer = answer_to(*request);
  const bool more = answer && write(*std::move(answer), request->method != "HEAD");
  call_ = {};
  keep_reader();
  return more;
}

// False: the connection ends with this answer.
bool Connection::write(HttpAnswer answer, bool with_body) {
  std::string first = net::head_of(answer);
  if (!with_body) answer.body.clear();
  if (answer.body.size() <= kOnePiece) first += std::exchange(answer.body, {});
  return stream_.write(first) && stream_.write(answer.body) && answer.keep_alive.has_value();
}

// Its memory spares the next request the time to ask for it, within what all may keep.
void Connection::keep_reader() {
  kept_.reset();
  kept_.emplace(context_.take_kept(reader_.kept_bytes()));
  if (!kept_->valid()) reader_ = wire::Reader();
}

std::optional<HttpAnswer> Connection::answer_to(const HttpRequest& request) {
  HttpAnswer answer = new_answer();
  try {
    look_at(request);
    if (request.method == "POST" && !call_.refusal) read_body(request);
    if (*admitted_ && !manner_.works()) return std::nullopt;
    route(request, answer);
  } catch (const std::exception&) {
    answer = new_answer();
    refuse(answer, 500, "internal error", ConnectionContext::Outcome::kFailed);
  }
  share_.reset();  // its client may take its time for the answer
  if (*admitted_) manner_.waits();
  if (request.keep_alive && !unread_ && *admitted_ && !context_.stopping) {
    answer.keep_alive = std::chrono::ceil<std::chrono::seconds>(context_.limits.idle);
  }
  return answer;
}

void Connection::look_at(const HttpRequest& request) {
  unread_ = request.has_body();
  if (!admitted_) admitted_ = manner_.admitted();
  if (request.method == "POST") look_at_call(request);
}

void Connection::look_at_call(const HttpRequest& request) {
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
  if (request.has("Content-Encoding")) return refuse_with(415, "the body is packed");
  const auto length = request.body_length();
  if (!length) return refuse_with(411, "this needs one Content-Length");
  call_.length = *length;
  const std::size_t most = context_.body_limit(*call_.verb);
  if (*length > most) {
    return refuse_with(413, "a body of " + std::to_string(*length) + " bytes; at most " +
                                std::to_string(most) + " are taken");
  }
  if (call_.verb != Verb::kBind) return;
  call_.bind.emplace(context_.take_bind());
  if (!call_.bind->valid()) refuse_with(503, "too many binds are held");
}

void Connection::read_body(const HttpRequest& request) {
  BodyRoom::Share& share = share_.emplace(context_.bodies, [this] { stream_.stop_reading(); });
  if (request.asks_to_send && !stream_.write(net::kContinue)) return;
  auto body = stream_.read_body(call_.length, context_.limits.body, kPadding,
                                [&](std::size_t bytes) { return share.grow(bytes); });
  const bool room = share.arrived() && (body || body.error().code != Errc::kExhausted);
  if (room && body) {
    body_ = *std::move(body);
    unread_ = false;
  } else if (room) {
    call_.refusal = Refusal{.status = 408, .text = body.error().text};
  } else {
    call_.refusal =
        Refusal{.status = 503, .text = "the bodies of other calls take all the room there is"};
  }
}

void Connection::route(const HttpRequest& request, HttpAnswer& answer) {
  if (call_.refusal) {
    refuse(answer, call_.refusal->status, call_.refusal->text,
           ConnectionContext::Outcome::kRefused);
  } else if (request.method == "POST") {
    post(answer);
  } else if (request.method == "GET" || request.method == "HEAD") {
    get(request, answer);
  } else {
    answer.headers.emplace_back("Allow", "GET, HEAD, POST");
    answer.complain(405, "only GET, HEAD and POST");
  }
}

void Connection::get(const HttpRequest& request, HttpAnswer& answer) {
  if (context_.served.pages == nullptr) {
    return answer.complain(404, "not here: this is for the scheduler's calls alone");
  }
  Pages& pages = *context_.served.pages;
  if (request.path == "/livez") return health(answer, pages.not_live());
  if (request.path == "/readyz") return health(answer, pages.not_ready());
  if (request.path == "/leadz") return health(answer, pages.not_leading());
  if (request.path == "/metrics") return show(answer, pages.metrics(request.header("Accept")));
  const bool fleet = request.path == "/v1/fleet";
  const bool jobs = request.path == "/v1/jobs";
  if (!fleet && !jobs && request.path != "/") {
    return answer.complain(
        404, "not here; there are /, /livez, /readyz, /leadz, /metrics, /v1/fleet and /v1/jobs");
  }
  if (!trusted()) return answer.complain(403, "this needs a client certificate");
  if (fleet) return show(answer, pages.fleet());
  if (jobs) return show(answer, pages.jobs(request.parameter("namespace")));
  answer.headers.emplace_back("Content-Security-Policy", kPagePolicy);
  show(answer, pages.home());
}

void Connection::post(HttpAnswer& answer) {
  if (call_.verb == Verb::kPlan) return plan(answer);
  auto json = decide();
  if (!json) return refuse(answer, 400, json.error().text, ConnectionContext::Outcome::kMalformed);
  answer.set(kJson, *std::move(json));
  context_.count(*call_.verb, ConnectionContext::Outcome::kAnswered);
}

void Connection::plan(HttpAnswer& answer) {
  const Allowance turn = context_.take_plan();
  if (!turn.valid()) {
    return refuse(answer, 503, "another one is being made: try again",
                  ConnectionContext::Outcome::kRefused);
  }
  const Running running(context_.now[static_cast<std::size_t>(Verb::kPlan)]);
  show(answer, context_.served.pages->plan(std::exchange(body_, {})));
  const auto bad = answer.status == 503 ? ConnectionContext::Outcome::kRefused
                                        : ConnectionContext::Outcome::kMalformed;
  context_.count(Verb::kPlan, answer.status == 200 ? ConnectionContext::Outcome::kAnswered : bad);
}

Result<std::string> Connection::decide() {
  std::string body = std::exchange(body_, {});
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
void Connection::refuse(HttpAnswer& answer, int status, const std::string& text,
                        ConnectionContext::Outcome outcome) {
  std::string shown = "pinion-extender: ";
  if (call_.verb) {
    shown += kVerbNames[static_cast<std::size_t>(*call_.verb)];
    shown += ": ";
    context_.count(*call_.verb, outcome);
  }
  shown += text;
  if (context_.served.refused) context_.served.refused(shown);
  answer.complain(status, shown);
}

}  // namespace pinion::cluster
