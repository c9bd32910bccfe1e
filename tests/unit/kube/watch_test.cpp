#include "cluster/extender/kube/watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/eventually.h"
#include "tests/unit/kube/fake_api_server.h"
#include "tests/unit/kube/raw_server.h"

namespace pinion::kube {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using test_support::eventually;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kGet = "GET /api/v1/nodes";
constexpr std::chrono::seconds kWatchPatience{30};

json node(const std::string& name, const std::string& version) {
  return {{"metadata", {{"name", name}, {"uid", "uid-" + name}, {"resourceVersion", version}}}};
}

json list_of(const std::vector<json>& items, const std::string& version,
             const std::string& next = "") {
  json metadata = {{"resourceVersion", version}};
  if (!next.empty()) metadata["continue"] = next;
  return {{"kind", "NodeList"}, {"metadata", metadata}, {"items", items}};
}

// Writes down what it is told: "+a@1", "~a@2", "-a", "synced 1", and the texts of trouble apart.
class Diary : public WatchHandler {
 public:
  void on_object(Change change, const json& object) override {
    const json& metadata = object.at("metadata");
    const auto name = metadata.at("name").get<std::string>();
    const std::string version = metadata.value("resourceVersion", "");
    if (change == Change::kDeleted) return write("-" + name);
    write((change == Change::kAdded ? "+" : "~") + name + "@" + version);
  }
  void on_synced(std::uint64_t generation) override {
    write("synced " + std::to_string(generation));
  }
  void on_trouble(const Error& error, milliseconds /*pause*/) override {
    const std::lock_guard lock(mutex_);
    trouble_.push_back(error.text);
    changed_.notify_all();
  }
  void on_list_failed(const Error& error) override {
    const std::lock_guard lock(mutex_);
    EXPECT_EQ(trouble_.back(), error.text);
    ++failed_lists_;
  }

  std::vector<std::string> wait_for(std::size_t lines) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, kWatchPatience, [&] { return lines_.size() >= lines; }));
    return lines_;
  }
  std::vector<std::string> wait_for_trouble(std::size_t times) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, kWatchPatience, [&] { return trouble_.size() >= times; }));
    return trouble_;
  }
  int failed_lists() {
    const std::lock_guard lock(mutex_);
    return failed_lists_;
  }

 private:
  void write(const std::string& line) {
    const std::lock_guard lock(mutex_);
    lines_.push_back(line);
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> lines_;
  std::vector<std::string> trouble_;
  int failed_lists_ = 0;
};

class Watches : public testing::Test {
 protected:
  Watches() {
    options_.path = "/api/v1/nodes";
    options_.backoff_first = milliseconds(2);
    options_.backoff_longest = milliseconds(10);
    options_.random = [] { return 0.5; };
  }

  void start() { watch_.emplace(*api_, options_, diary_); }
  std::string target(std::size_t request) { return server_.wait_for(request + 1)[request].target; }
  // A list of a@1 and b@2 at version 5, and the stream that follows it.
  std::shared_ptr<Stream> list_and_stream() {
    server_.on(kGet, 200, list_of({node("a", "1"), node("b", "2")}, "5"));
    return server_.stream_on(kGet);
  }

  FakeApiServer server_;
  std::unique_ptr<Api> api_ = *Api::create(server_.access());
  WatchOptions options_;
  Diary diary_;
  std::optional<Watch> watch_;  // the last: it uses the others
};

TEST_F(Watches, ListByPagesAndThenWatchFromThere) {
  options_.page = 1;
  options_.label_selector = "a in (b,c)";
  options_.field_selector = "spec.x!=";
  server_.on(kGet, 200, list_of({node("a", "1")}, "5", "to/ken"));
  server_.on(kGet, 200, list_of({node("b", "2")}, "5"));
  const auto stream = server_.stream_on(kGet);
  start();
  stream->send_event("ADDED", node("c", "6"));
  stream->send_event("MODIFIED", node("a", "7"));
  stream->send_event("DELETED", node("b", "8"));
  EXPECT_THAT(diary_.wait_for(6), ElementsAre("+a@1", "+b@2", "synced 1", "+c@6", "~a@7", "-b"));
  const std::string selectors = "labelSelector=a%20in%20%28b%2Cc%29&fieldSelector=spec.x%21%3D";
  EXPECT_EQ(target(0), "/api/v1/nodes?" + selectors + "&limit=1");
  EXPECT_EQ(target(1), "/api/v1/nodes?" + selectors + "&limit=1&continue=to%2Fken");
  EXPECT_EQ(target(2), "/api/v1/nodes?" + selectors +
                           "&watch=true&allowWatchBookmarks=true&resourceVersion=5"
                           "&timeoutSeconds=360");
}

TEST_F(Watches, TakeAnEmptyCollection) {
  server_.on(kGet, 200,
             {{"kind", "NodeList"}, {"metadata", {{"resourceVersion", "5"}}}, {"items", nullptr}});
  const auto stream = server_.stream_on(kGet);
  start();
  stream->send_event("ADDED", node("c", "6"));
  EXPECT_THAT(diary_.wait_for(2), ElementsAre("synced 1", "+c@6"));
}

TEST_F(Watches, BeginTheListAnewWhenItsTokenIsTooOld) {
  server_.on(kGet, 200, list_of({node("a", "1")}, "5", "token"));
  server_.on(kGet, 410,
             status_object(410, "Expired", "the provided continue parameter is too old"));
  server_.on(kGet, 200, list_of({node("a", "1"), node("b", "6")}, "7"));
  server_.stream_on(kGet);
  start();
  EXPECT_THAT(target(3), HasSubstr("resourceVersion=7"));
  EXPECT_THAT(diary_.wait_for(3), ElementsAre("+a@1", "+b@6", "synced 1"));
  EXPECT_EQ(diary_.failed_lists(), 1);
  EXPECT_THAT(target(2), Not(HasSubstr("continue")));
}

TEST_F(Watches, ListAnewAfterAnError410AndTellWhatWasMissed) {
  const auto stream = list_and_stream();
  server_.on(kGet, 200, list_of({node("b", "9"), node("c", "8")}, "10"));
  server_.stream_on(kGet);
  start();
  diary_.wait_for(3);
  stream->send_event("ERROR", status_object(410, "Expired", "too old resource version"));
  const auto lines = diary_.wait_for(7);
  EXPECT_THAT(lines, ElementsAre("+a@1", "+b@2", "synced 1", "~b@9", "+c@8", "-a", "synced 2"));
  EXPECT_THAT(target(3), HasSubstr("resourceVersion=10"));
}

TEST_F(Watches, ListAnewAfterAnHttpStatus410) {
  server_.on(kGet, 200, list_of({node("a", "1")}, "5"));
  server_.on(kGet, 410, status_object(410, "Gone", "too old"));
  server_.on(kGet, 200, list_of({node("a", "1")}, "10"));
  server_.stream_on(kGet);
  start();
  EXPECT_THAT(diary_.wait_for(3), ElementsAre("+a@1", "synced 1", "synced 2"));
}

TEST_F(Watches, GoOnWhereALineWasCut) {
  const auto stream = list_and_stream();
  const auto second = server_.stream_on(kGet);
  start();
  stream->send_event("MODIFIED", node("a", "6"));
  stream->send("{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"c\"");
  diary_.wait_for(4);
  stream->cut();
  EXPECT_THAT(target(2), HasSubstr("resourceVersion=6"));
  second->send_event("ADDED", node("c", "7"));
  EXPECT_THAT(diary_.wait_for(5), ElementsAre("+a@1", "+b@2", "synced 1", "~a@6", "+c@7"));
  EXPECT_EQ(diary_.wait_for_trouble(1).size(), 1U);
}

TEST_F(Watches, GoOnAfterAnEndInGoodOrderWithoutTrouble) {
  const auto stream = list_and_stream();
  const auto second = server_.stream_on(kGet);
  start();
  stream->send_event("MODIFIED", node("a", "6"));
  stream->end();
  second->send_event("MODIFIED", node("a", "7"));
  EXPECT_THAT(diary_.wait_for(5), ElementsAre("+a@1", "+b@2", "synced 1", "~a@6", "~a@7"));
  EXPECT_TRUE(diary_.wait_for_trouble(0).empty());
}

TEST_F(Watches, TakeAnEndWithinALineForTrouble) {
  const auto stream = list_and_stream();
  server_.stream_on(kGet);
  start();
  stream->send_event("MODIFIED", node("a", "6"));
  stream->send("{\"type\":");
  stream->end();
  EXPECT_THAT(diary_.wait_for_trouble(1)[0], HasSubstr("ended within a line"));
  EXPECT_THAT(target(2), HasSubstr("resourceVersion=6"));
}

TEST_F(Watches, DoNotTellTheSameVersionTwice) {
  const auto stream = list_and_stream();
  start();
  stream->send_event("ADDED", node("a", "1"));
  stream->send_event("DELETED", node("never-seen", "4"));
  stream->send_event("MODIFIED", node("b", "6"));
  EXPECT_THAT(diary_.wait_for(4), ElementsAre("+a@1", "+b@2", "synced 1", "~b@6"));
}

TEST_F(Watches, MoveOnWithABookmark) {
  const auto stream = list_and_stream();
  server_.stream_on(kGet);
  start();
  stream->send_event("BOOKMARK", {{"metadata", {{"resourceVersion", "77"}}}});
  stream->end();
  EXPECT_THAT(target(2), HasSubstr("resourceVersion=77"));
  EXPECT_EQ(diary_.wait_for(3).size(), 3U) << "nothing else is told";
}

TEST_F(Watches, ListAnewAfterALineThatIsNoEvent) {
  const auto stream = list_and_stream();
  server_.on(kGet, 200, list_of({node("a", "1"), node("b", "2")}, "9"));
  server_.stream_on(kGet);
  start();
  stream->send("{\"type\":\"ADDED\",\"obj\n");
  EXPECT_EQ(diary_.wait_for(4).back(), "synced 2");
  EXPECT_THAT(diary_.wait_for_trouble(1)[0], HasSubstr("broken JSON"));
}

TEST_F(Watches, ListAnewAfterAnObjectThatIsBrokenWithin) {
  const auto stream = list_and_stream();
  server_.on(kGet, 200, list_of({node("a", "1"), node("b", "3")}, "9"));
  server_.stream_on(kGet);
  start();
  stream->send("{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"c\"},\"spec\":tru}}\n");
  EXPECT_THAT(diary_.wait_for(6),
              ElementsAre("+a@1", "+b@2", "synced 1", "~b@3", "-c", "synced 2"));
  EXPECT_THAT(diary_.wait_for_trouble(1)[0], HasSubstr("object 'c' is no JSON"));
}

TEST_F(Watches, TryAgainWhatTheServerCannotDoNow) {
  server_.on(kGet, 500, status_object(500, "InternalError", "etcd"));
  server_.on(kGet, [](const httplib::Request&, httplib::Response& response) {
    response.set_content("{\"items\": [", "application/json");
  });
  server_.on(kGet, 200, {{"kind", "NodeList"}, {"items", json::array()}});
  server_.on(kGet, 200, list_of({node("a", "1")}, "5"));
  server_.on(kGet, 500, status_object(500, "InternalError", "etcd"));
  const auto stream = server_.stream_on(kGet);
  start();
  stream->send_event("MODIFIED", node("a", "6"));
  EXPECT_THAT(diary_.wait_for(3), ElementsAre("+a@1", "synced 1", "~a@6"));
  EXPECT_THAT(diary_.wait_for_trouble(4),
              ElementsAre(HasSubstr("500 InternalError: etcd"), HasSubstr("broken JSON"),
                          HasSubstr("no resourceVersion"), HasSubstr("500")));
}

TEST_F(Watches, PauseWhenTheServerEndsThemAtOnce) {
  server_.on(kGet, 200, list_of({node("a", "1")}, "5"));
  server_.on(kGet, [](const httplib::Request&, httplib::Response& response) {
    response.set_content("", "application/json");  // each of them, as one may take a second
  });
  start();
  EXPECT_THAT(diary_.wait_for_trouble(1)[0], HasSubstr("ended at once"));
}

TEST_F(Watches, ListAnewAfterManyFailures) {
  server_.on(kGet, 200, list_of({node("a", "1")}, "500"));
  for (int i = 0; i < 5; ++i) {
    server_.on(kGet, 504, status_object(504, "Timeout", "Too large resource version: 500"));
  }
  server_.on(kGet, 200, list_of({node("a", "1")}, "3"));
  server_.stream_on(kGet);
  start();
  EXPECT_THAT(diary_.wait_for(3), ElementsAre("+a@1", "synced 1", "synced 2"));
  EXPECT_THAT(target(7), HasSubstr("resourceVersion=3"));
}

TEST_F(Watches, ThatAreForbiddenDoNotListEachTime) {
  server_.on(kGet, [](const httplib::Request& request, httplib::Response& response) {
    const bool watch = request.has_param("watch");
    response.status = watch ? 403 : 200;
    response.set_content((watch ? status_object(403, "Forbidden", "no watch for you")
                                : list_of({node("a", "1")}, "5"))
                             .dump(),
                         "application/json");
  });
  start();
  const auto requests = server_.wait_for(13);
  for (std::size_t i = 0; i < 13; ++i) {
    EXPECT_EQ(requests[i].target.find("watch=true") == std::string::npos, i % 6 == 0) << i;
  }
  EXPECT_THAT(diary_.wait_for_trouble(1)[0], HasSubstr("no watch for you"));
  EXPECT_EQ(diary_.failed_lists(), 0) << "it may be listed";
}

TEST_F(Watches, ConnectAgainWhenNothingArrives) {
  options_.idle = milliseconds(200);
  list_and_stream();
  // All that follow say the same at once, as on a busy machine any of them may be idle as long.
  server_.on(kGet, [](const httplib::Request&, httplib::Response& response) {
    const json event = {{"type", "MODIFIED"}, {"object", node("a", "6")}};
    response.set_content(event.dump() + "\n", "application/json");
  });
  start();
  EXPECT_EQ(diary_.wait_for(4).back(), "~a@6");
  EXPECT_THAT(diary_.wait_for_trouble(1)[0], HasSubstr("took too long"));
}

// stop() while the watch waits for something, by name. What it waits for takes longer than the
// limit here, which is for a busy machine.
class Stops : public Watches {
 protected:
  void expect_quick_stop() {
    const auto began = steady_clock::now();
    watch_->stop();
    EXPECT_LT(steady_clock::now() - began, std::chrono::seconds(20));
  }
};

TEST_F(Stops, AtOnceInASilentStream) {
  list_and_stream();
  start();
  server_.wait_for(2);
  expect_quick_stop();
  watch_->stop();  // again
}

TEST_F(Stops, AtOnceInAListThatHangs) {
  server_.gate_on(kGet);
  start();
  server_.wait_for(1);
  expect_quick_stop();
  EXPECT_TRUE(diary_.wait_for_trouble(0).empty());
}

TEST_F(Stops, AtOnceInAnHourOfBackOff) {
  options_.backoff_first = std::chrono::hours(1);
  start();  // a 404
  diary_.wait_for_trouble(1);
  expect_quick_stop();
}

TEST_F(Stops, AtOnceInAHandshake) {
  const RawServer silent("", RawServer::Then::kKeepOpen);
  Access access = silent.access();
  access.endpoint.tls = true;
  ApiOptions patient;
  patient.connect = std::chrono::hours(1);
  patient.list = std::chrono::hours(1);
  api_ = *Api::create(access, patient);
  start();
  EXPECT_TRUE(eventually([&] { return silent.connections() != 0; }));
  expect_quick_stop();
  watch_.reset();
}

}  // namespace
}  // namespace pinion::kube
