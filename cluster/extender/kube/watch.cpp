#include "cluster/extender/kube/watch.h"

#include <thread>
#include <utility>

#include "base/backoff.h"
#include "base/utf8.h"
#include "cluster/extender/kube/answer.h"
#include "cluster/extender/kube/json_read.h"
#include "cluster/extender/kube/known_objects.h"
#include "cluster/extender/kube/path.h"
#include "cluster/extender/kube/watch_decoder.h"

namespace pinion::kube {
namespace {

using nlohmann::json;
using std::chrono::steady_clock;

// A watch that ends sooner without an event is a failure: else a server that closes each at once
// would be asked without a pause.
constexpr std::chrono::seconds kShortest{1};
// So many failures in a row, and the version itself may be what the server cannot serve (it was set
// up anew from an old backup): the collection is listed again.
constexpr int kFailuresBeforeList = 5;

}  // namespace

Status WatchHandler::on_raw(Change change, const RawObject& object) {
  const json parsed = json::parse(object.json, nullptr, false);
  if (parsed.is_discarded()) {
    return failure(Errc::kInvalid, "object " + quoted_value(object.name) + " is no JSON");
  }
  on_object(change, parsed);
  return {};
}

class Watch::Loop {
 public:
  Loop(Api& api, WatchOptions options, WatchHandler& handler)
      : api_(api),
        options_(std::move(options)),
        handler_(handler),
        backoff_(options_.backoff_first, options_.backoff_longest),
        thread_([this] { run(); }) {}
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  ~Loop() { stop(); }

  void stop() {
    cancel_.cancel();
    if (thread_.joinable()) thread_.join();
  }

 private:
  void run();
  Status list();
  Result<std::string> list_page(const std::string& token);
  Status watch();
  Status take(const WatchEvent& event);
  Status tell(const RawObject& object);
  Status tell_gone(const KnownObjects::Gone& gone);
  void pause(const Error& error, bool listing);

  [[nodiscard]] std::string list_path(const std::string& token) const;
  [[nodiscard]] std::string watch_path();

  Api& api_;
  WatchOptions options_;
  WatchHandler& handler_;
  Cancel cancel_;
  Backoff backoff_;
  KnownObjects known_;
  std::string version_;  // of the collection, where the next watch begins; empty: list first
  std::uint64_t generation_ = 0;
  std::optional<Error> refused_;  // what an ERROR event of this watch said
  std::size_t events_ = 0;        // of this watch
  int failures_ = 0;              // in a row
  std::thread thread_;            // the last: it uses all the others
};

void Watch::Loop::run() {
  while (!cancel_.cancelled()) {
    const bool listing = version_.empty();
    const Status done = listing ? list() : watch();
    if (cancel_.cancelled()) return;
    if (done) {
      failures_ = 0;
      // A list alone is no reason to be quick again: the watch after it may fail as before.
      if (!listing) backoff_.reset();
      continue;
    }
    const Errc code = done.error().code;
    ++failures_;
    if (code == Errc::kGone || code == Errc::kInvalid || failures_ >= kFailuresBeforeList) {
      version_.clear();
    }
    pause(done.error(), listing);
  }
}

void Watch::Loop::pause(const Error& error, bool listing) {
  const auto pause = jittered(backoff_.next(), options_.random());
  handler_.on_trouble(error, pause);
  if (listing) handler_.on_list_failed(error);
  (void)cancel_.wait_for(pause);
}

// All pages, or none: a list that was given up is begun anew.
Status Watch::Loop::list() {
  known_.begin_list();
  std::string token;
  do {
    auto next = list_page(token);
    if (!next) return failure(std::move(next.error()));
    if (cancel_.cancelled()) return {};
    token = *std::move(next);
  } while (!token.empty());
  for (const auto& gone : known_.end_list()) {
    if (Status told = tell_gone(gone); !told) return told;
  }
  handler_.on_synced(++generation_);
  return {};
}

// The token of the next page; empty: that was the last, and the list's version is known.
Result<std::string> Watch::Loop::list_page(const std::string& token) {
  auto page = api_.list_raw(list_path(token), {.cancel = &cancel_, .whole = {}});
  if (!page) return failure(page.error());
  auto read = read_list_page(*std::move(page));
  if (!read) return failure(read.error().within(options_.path));
  for (const RawObject& item : read->items) {
    if (cancel_.cancelled()) return std::string();
    if (Status told = tell(item); !told) return failure(told.error().within(options_.path));
  }
  if (read->next.empty()) version_ = read->version;
  return std::move(read->next);
}

Status Watch::Loop::watch() {
  WatchDecoder decoder;
  Status decoded;
  refused_.reset();
  events_ = 0;
  const auto began = steady_clock::now();
  Status streamed = api_.stream(watch_path(), options_.idle, cancel_, [&](std::string_view bytes) {
    decoded = decoder.feed(bytes, [this](const WatchEvent& event) { return take(event); });
    return decoded && !refused_ && !cancel_.cancelled();
  });
  if (refused_) return failure(refused_->within(options_.path));
  if (!decoded) return failure(decoded.error().within(options_.path));
  if (streamed && decoder.within_line()) {
    return failure(Errc::kUnavailable, options_.path + ": the watch ended within a line");
  }
  if (streamed && events_ == 0 && steady_clock::now() - began < kShortest) {
    return failure(Errc::kUnavailable, options_.path + ": the watch was ended at once");
  }
  return streamed;
}

Status Watch::Loop::take(const WatchEvent& event) {
  if (refused_ || cancel_.cancelled()) return {};
  const RawObject& object = event.object;
  if (event.kind == WatchEvent::Kind::kError) {
    refused_ = error_of(json::parse(object.json, nullptr, false));
    return {};
  }
  Status told;
  if (event.kind == WatchEvent::Kind::kDeleted) {
    if (known_.deleted(object)) told = handler_.on_raw(Change::kDeleted, object);
  } else if (event.kind != WatchEvent::Kind::kBookmark) {
    told = tell(object);
  }
  if (!told) return told;
  if (!object.version.empty()) version_ = object.version;
  ++events_;
  failures_ = 0;
  backoff_.reset();
  return {};
}

Status Watch::Loop::tell(const RawObject& object) {
  const KnownObjects::News news = known_.seen(object);
  Status told = news.gone ? tell_gone(*news.gone) : Status();
  if (told && news.change) told = handler_.on_raw(*news.change, object);
  return told;
}

Status Watch::Loop::tell_gone(const KnownObjects::Gone& gone) {
  json metadata = {{"name", gone.name}, {"uid", gone.uid}};
  if (!gone.name_space.empty()) metadata["namespace"] = gone.name_space;
  const std::string text = json_dump({{"metadata", std::move(metadata)}});
  return handler_.on_raw(Change::kDeleted, {.name_space = gone.name_space,
                                            .name = gone.name,
                                            .uid = gone.uid,
                                            .version = {},
                                            .json = text});
}

std::string Watch::Loop::list_path(const std::string& token) const {
  return with_query(options_.path, {{"labelSelector", options_.label_selector},
                                    {"fieldSelector", options_.field_selector},
                                    {"limit", std::to_string(options_.page)},
                                    {"continue", token}});
}

std::string Watch::Loop::watch_path() {
  const auto spread = static_cast<double>((options_.watch_most - options_.watch_least).count());
  const auto seconds = options_.watch_least.count() + static_cast<long>(spread * options_.random());
  return with_query(options_.path, {{"labelSelector", options_.label_selector},
                                    {"fieldSelector", options_.field_selector},
                                    {"watch", "true"},
                                    {"allowWatchBookmarks", "true"},
                                    {"resourceVersion", version_},
                                    {"timeoutSeconds", std::to_string(seconds)}});
}

Watch::Watch(Api& api, WatchOptions options, WatchHandler& handler)
    : loop_(std::make_unique<Loop>(api, std::move(options), handler)) {}
Watch::~Watch() = default;

void Watch::stop() {
  loop_->stop();
}

}  // namespace pinion::kube
