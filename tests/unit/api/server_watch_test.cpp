#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <latch>

#include "agent/client/mirror.h"
#include "proto/pinion/v1/node.grpc.pb.h"
#include "tests/unit/api/serving.h"

namespace pinion::agent::api {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

// Resident memory of this process, in bytes.
std::size_t resident() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> pages;
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

class WatchServed : public Serving {
 protected:
  WatchServed() {
    options_.watch.times.least = milliseconds(1);
    publish(view_);
  }

  void change() {
    ++view_.generation;
    publish(view_);
  }

  // `count` containers with so much text that a message of them all does not fit into what a
  // connection holds for a reader that does not read.
  void grow(int count) {
    for (int i = 0; i < count; ++i) {
      ContainerView container = shared_container("c" + std::to_string(1000 + i));
      container.why = std::string(20'000, 'x');
      add(view_, std::move(container));
    }
    change();
  }

  // All containers are another text.
  void stir(int round) {
    for (ContainerView& container : view_.containers) {
      container.trouble = "round " + std::to_string(round);
    }
    change();
  }

  NodeView view_ = empty_view();
};

TEST_F(WatchServed, SnapshotThenChangesThenHeartbeats) {
  options_.watch.times.heartbeat = milliseconds(100);
  start();
  Mirror mirror;
  std::vector<std::string> kinds;
  const Status watched =
      client().watch({.figures = true, .min_interval = {}, .limit = seconds(30)},
                     [&](const v1::WatchNodeResponse& message) {
                       EXPECT_TRUE(mirror.apply(message));
                       if (message.has_heartbeat()) {
                         EXPECT_EQ(message.heartbeat().generation(), mirror.node().generation());
                         // On a busy machine there are more before the change.
                         if (!kinds.empty() && kinds.back() == "heartbeat") return true;
                         kinds.emplace_back("heartbeat");
                         if (mirror.containers().size() == 1) return false;
                         // Now something happens.
                         EXPECT_TRUE(place(view_, request("a", 2)));
                         change();
                       } else {
                         kinds.emplace_back(message.has_snapshot() ? "snapshot" : "change");
                       }
                       return true;
                     });
  EXPECT_TRUE(watched) << watched.error().text;
  EXPECT_THAT(kinds, testing::ElementsAre("snapshot", "heartbeat", "change", "heartbeat"));
  EXPECT_EQ(mirror.node().generation(), view_.generation);
  EXPECT_EQ(mirror.node().sets().exclusive(), view_.ledger.exclusive().to_string());
  EXPECT_EQ(mirror.node().machine().cpus_size(), 8);
  EXPECT_TRUE(eventually([this] { return server_->figures().watchers == 0; }))
      << "a reader that left is forgotten";
}

TEST_F(WatchServed, NewFiguresAreSentAtOnce) {
  add(view_, shared_container("a"));
  change();
  start();
  std::uint64_t number = 0;
  std::vector<std::uint64_t> threads;
  const Status watched = client().watch(
      {.figures = true, .min_interval = {}, .limit = seconds(30)},
      [&](const v1::WatchNodeResponse& message) {
        if (message.has_change()) {
          threads.push_back(message.change().containers(0).figures().threads());
          if (threads.size() == 3) return false;
        }
        metrics::ContainerFigures measured = figures("a");
        measured.threads = ++number;
        samples_.publish(std::make_shared<metrics::Sample>(sample(number, {measured})));
        return true;
      });
  EXPECT_TRUE(watched) << watched.error().text;
  EXPECT_THAT(threads, testing::ElementsAre(1, 2, 3));
}

TEST_F(WatchServed, BeginsWhenTheFirstViewIsThere) {
  views_.publish(nullptr);
  start();
  std::thread later([this] {
    EXPECT_TRUE(eventually([this] { return server_->figures().watchers == 1; }));
    change();
  });
  const auto snapshot = client().snapshot();
  later.join();
  ASSERT_TRUE(snapshot) << snapshot.error().text;
  EXPECT_EQ(snapshot->node().generation(), view_.generation);
}

TEST_F(WatchServed, SlowReaderGetsFewMessagesAndTheNewestState) {
  grow(50);
  start();
  std::latch reading(1);
  std::latch published(1);
  Mirror mirror;
  int messages = 0;
  constexpr int kGenerations = 2'000;
  std::uint64_t last = 0;
  std::thread reader([&] {
    const Status watched =
        client().watch({.figures = true, .min_interval = {}, .limit = seconds(100)},
                       [&](const v1::WatchNodeResponse& message) {
                         ++messages;
                         if (messages == 1) {
                           reading.count_down();
                           published.wait();
                         }
                         EXPECT_TRUE(mirror.apply(message));
                         return mirror.node().generation() < last;
                       });
    EXPECT_TRUE(watched) << watched.error().text;
  });
  reading.wait();
  const std::size_t before = resident();
  for (int i = 0; i < kGenerations; ++i) stir(i);
  const std::size_t after = resident();
  last = view_.generation;
  published.count_down();
  reader.join();
  EXPECT_EQ(mirror.node().generation(), last);
  EXPECT_EQ(mirror.containers().at("c1000").trouble(), "round 1999");
  EXPECT_LT(messages, 100) << "of 2,000 generations";
  // Every message is 1 MB: kept, they would be 2 GB. AddressSanitizer keeps 256 MiB of what was
  // freed.
  EXPECT_LT(after, before + (512U << 20U));
}

TEST_F(WatchServed, ReaderThatReadsNothingIsCutOff) {
  // Long enough for the first message to be read on a machine that has other things to do.
  options_.watch.times.patience = milliseconds(3000);
  grow(500);  // 10 MB
  start();
  std::latch reading(1);
  std::latch cut_off(1);
  Status watched;
  bool first = true;
  std::thread reader([&] {
    watched = client().watch({.figures = false, .min_interval = {}, .limit = seconds(100)},
                             [&](const v1::WatchNodeResponse&) {
                               if (std::exchange(first, false)) {
                                 reading.count_down();
                                 cut_off.wait();
                               }
                               return true;
                             });
    if (first) reading.count_down();
  });
  reading.wait();
  int round = 0;
  EXPECT_TRUE(eventually([&] {
    stir(++round);
    return server_->figures().watchers_cut_off == 1;
  }));
  EXPECT_TRUE(eventually([&] { return server_->figures().watchers == 0; }))
      << "its place is free, although it still reads nothing";
  cut_off.count_down();
  reader.join();
  ASSERT_FALSE(watched);
  EXPECT_EQ(watched.error().code, Errc::kUnavailable);
  EXPECT_THAT(watched.error().text, HasSubstr("has read nothing for too long"));
}

// Many watches of one connection, opened without waiting.
class Watches {
 public:
  Watches(const std::string& address, int count)
      : stub_(v1::Node::NewStub(
            grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), any_size()))) {
    for (int i = 0; i < count; ++i) {
      contexts_.push_back(std::make_unique<grpc::ClientContext>());
      streams_.push_back(stub_->WatchNode(contexts_.back().get(), v1::WatchNodeRequest()));
    }
  }
  ~Watches() {
    for (const auto& context : contexts_) context->TryCancel();
  }
  Watches(const Watches&) = delete;
  Watches& operator=(const Watches&) = delete;

  // Whether each has got a message.
  bool read() {
    bool all = true;
    v1::WatchNodeResponse message;
    for (const auto& stream : streams_) all = stream->Read(&message) && all;
    return all;
  }
  void cancel_first() { contexts_.front()->TryCancel(); }

 private:
  // gRPC's own limit is 4 MiB.
  static grpc::ChannelArguments any_size() {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    return arguments;
  }

  std::unique_ptr<v1::Node::Stub> stub_;
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts_;
  std::vector<std::unique_ptr<grpc::ClientReader<v1::WatchNodeResponse>>> streams_;
};

TEST_F(WatchServed, OneTooManyIsRefused) {
  start();
  Watches watches(server_->address(), 64);
  ASSERT_TRUE(watches.read());
  EXPECT_EQ(server_->figures().watchers, 64U);
  const auto refused = client().snapshot();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kExhausted);
  EXPECT_THAT(refused.error().text, HasSubstr("64 watch already"));
  EXPECT_EQ(server_->figures().watchers_refused, 1U);
  EXPECT_TRUE(client().get_node()) << "others are served";
  watches.cancel_first();
  EXPECT_TRUE(eventually([this] { return server_->figures().watchers == 63; }));
  EXPECT_TRUE(client().snapshot()) << "a place is free again";
}

TEST_F(WatchServed, IntervalIsBounded) {
  start();
  const Status watched =
      client().watch({.figures = false, .min_interval = milliseconds(60'001), .limit = seconds(30)},
                     [](const v1::WatchNodeResponse&) { return true; });
  ASSERT_FALSE(watched);
  EXPECT_EQ(watched.error().code, Errc::kInvalid);
  EXPECT_THAT(watched.error().text, HasSubstr("min_interval_ms"));
}

TEST_F(WatchServed, StopIsPromptWhoeverWatches) {
  grow(500);
  start();
  Watches watches(server_->address(), 20);
  EXPECT_TRUE(eventually([this] { return server_->figures().watchers == 20; }));
  Watches slow(server_->address(), 1);
  ASSERT_TRUE(slow.read());  // one message, and no more
  for (int i = 0; i < 5; ++i) stir(i);
  std::latch reading(1);
  Status watched;
  std::thread reader([&] {
    watched = client().watch({.figures = false, .min_interval = {}, .limit = seconds(100)},
                             [&, first = true](const v1::WatchNodeResponse&) mutable {
                               if (std::exchange(first, false)) reading.count_down();
                               return true;
                             });
  });
  reading.wait();
  const auto begin = std::chrono::steady_clock::now();
  server_->stop();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(30));
  reader.join();
  ASSERT_FALSE(watched);
  EXPECT_EQ(watched.error().code, Errc::kUnavailable);
  EXPECT_FALSE(std::filesystem::exists(socket()));
}

TEST_F(WatchServed, ManyComeAndGoWhileMuchHappens) {
  start();
  std::atomic<bool> done = false;
  std::thread publisher([&] {
    while (!done) stir(1);
  });
  std::vector<std::thread> readers;
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back([this] {
      for (int j = 0; j < 20; ++j) {
        int left = j % 4;
        const Status watched =
            client().watch({.figures = true, .min_interval = {}, .limit = seconds(60)},
                           [&](const v1::WatchNodeResponse&) { return left-- > 0; });
        EXPECT_TRUE(watched) << watched.error().text;
      }
    });
  }
  for (std::thread& reader : readers) reader.join();
  done = true;
  publisher.join();
  EXPECT_TRUE(eventually([this] { return server_->figures().watchers == 0; }));
}

}  // namespace
}  // namespace pinion::agent::api
