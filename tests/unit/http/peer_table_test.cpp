#include "base/net/peer_table.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <list>
#include <string>

#include "base/net/listen_address.h"

namespace pinion::net {
namespace {

std::string peer(const std::string& text) {
  const auto address = parse_listen_address(text);
  return address ? peer_of(address->address) : address.error().text;
}

TEST(PeerOf, IsAnAddressOrANetworkThatOneMachineHas) {
  EXPECT_EQ(peer("10.1.2.3:80"), "10.1.2.3");
  EXPECT_EQ(peer("[::ffff:10.1.2.3]:80"), "10.1.2.3");
  EXPECT_EQ(peer("[2001:db8:1:2:3:4:5:6]:80"), "2001:db8:1:2::/64");
  sockaddr_storage unix_socket{};
  unix_socket.ss_family = AF_UNIX;
  EXPECT_EQ(peer_of(unix_socket), "unix");
}

TEST(PeerTable, TheOldestOfAPeerMakesRoomForItsNewest) {
  PeerTable table({.most = 4, .most_of_peer = 2, .most_proved = 1});
  EXPECT_FALSE(table.add(10, "a"));
  EXPECT_FALSE(table.add(11, "a"));
  EXPECT_EQ(table.add(12, "a"), 10);
  EXPECT_EQ(table.size(), 2U);
}

TEST(PeerTable, WhoHasMostMakesRoomForOthers) {
  PeerTable table({.most = 3, .most_of_peer = 3, .most_proved = 1});
  EXPECT_FALSE(table.add(10, "one"));
  EXPECT_FALSE(table.add(11, "many"));
  EXPECT_FALSE(table.add(12, "many"));
  EXPECT_EQ(table.add(13, "new"), 11);
}

TEST(PeerTable, OfManyWithOneEachTheOldestMakesRoom) {
  PeerTable table({.most = 2, .most_of_peer = 2, .most_proved = 1});
  EXPECT_FALSE(table.add(12, "z"));
  EXPECT_FALSE(table.add(11, "a"));
  EXPECT_EQ(table.add(10, "b"), 12);
}

TEST(PeerTable, WhoHasProvedItselfStays) {
  PeerTable table({.most = 1, .most_of_peer = 1, .most_proved = 1});
  EXPECT_FALSE(table.add(10, "a"));
  EXPECT_EQ(table.prove(10), std::nullopt);
  EXPECT_EQ(table.prove(10), std::nullopt) << "a second call";
  EXPECT_FALSE(table.add(11, "a"));
  EXPECT_EQ(table.add(12, "b"), 11);
  EXPECT_EQ(table.prove(12), 12) << "there is one";
  EXPECT_FALSE(table.contains(12));
  EXPECT_TRUE(table.contains(10));
  table.remove(10);
  EXPECT_FALSE(table.add(13, "b"));
  EXPECT_EQ(table.prove(13), std::nullopt);
}

// As a listener of ours has it: what comes has proved itself at once.
std::optional<int> enter(PeerTable& table, int key, bool known = false) {
  EXPECT_FALSE(table.add(key, "a"));
  const auto out = table.prove(key, known);
  table.waits(key);
  return out;
}

TEST(PeerTable, OfThoseThatHaveProvedThemselvesTheLongestWaitingMakesRoom) {
  PeerTable table({.most = 2, .most_of_peer = 2, .most_proved = 3});
  for (const int key : {12, 11, 10}) EXPECT_EQ(enter(table, key), std::nullopt);
  EXPECT_TRUE(table.works(12));
  EXPECT_EQ(enter(table, 13), 11);
  EXPECT_FALSE(table.works(11)) << "it is out";
  table.waits(12);
  EXPECT_EQ(enter(table, 14), 10);
  EXPECT_EQ(enter(table, 15), 13);
  EXPECT_EQ(enter(table, 16), 12) << "which has waited since it had worked";
  for (const int key : {14, 15, 16}) EXPECT_TRUE(table.works(key));
  EXPECT_EQ(enter(table, 17), 17) << "all work";
  EXPECT_EQ(table.size(), 3U);
}

TEST(PeerTable, WhoHasNotProvedItselfEndsNobodyThatHas) {
  PeerTable table({.most = 1, .most_of_peer = 1, .most_proved = 1});
  EXPECT_EQ(enter(table, 10), std::nullopt);
  EXPECT_FALSE(table.add(11, "b"));
  EXPECT_FALSE(table.works(11));
  EXPECT_EQ(table.add(12, "c"), 11);
  EXPECT_TRUE(table.works(10));
}

TEST(PeerTable, WhoIsKnownIsNotClosedForWhoIsNot) {
  PeerTable table({.most = 1, .most_of_peer = 1, .most_proved = 2});
  EXPECT_EQ(enter(table, 10, true), std::nullopt);
  EXPECT_EQ(enter(table, 11, false), std::nullopt);
  EXPECT_EQ(enter(table, 12, false), 11);
  EXPECT_EQ(enter(table, 13, true), 12) << "before the known one, which waits longer";
  EXPECT_EQ(enter(table, 14, false), 14);
  EXPECT_EQ(enter(table, 15, true), 10);
}

TEST(PeerTable, WhoIsSparedIsNeverTheOne) {
  PeerTable table({.most = 8, .most_of_peer = 8, .most_proved = 1});
  EXPECT_EQ(table.dispensable(1), std::nullopt);
  EXPECT_FALSE(table.add(1, "a"));
  EXPECT_EQ(table.dispensable(1), std::nullopt);
  EXPECT_FALSE(table.add(2, "b"));
  EXPECT_EQ(table.dispensable(1), 2);
}

// The same by a list that is searched through.
struct Model {
  struct One {
    int key;
    std::string peer;
    bool proved = false;
    int waits_since = -1;  // the step; -1: it does not
  };
  std::list<One> all;  // oldest first

  [[nodiscard]] std::size_t of(const std::string& name, int spare) const {
    std::size_t n = 0;
    for (const One& one : all) n += !one.proved && one.peer == name && one.key != spare ? 1U : 0U;
    return n;
  }
  [[nodiscard]] std::size_t unproved() const {
    std::size_t n = 0;
    for (const One& one : all) n += one.proved ? 0U : 1U;
    return n;
  }
  [[nodiscard]] int longest() const {  // -1: nobody waits
    const One* found = nullptr;
    for (const One& one : all) {
      if (one.waits_since < 0) continue;
      if (found == nullptr || one.waits_since < found->waits_since) found = &one;
    }
    return found == nullptr ? -1 : found->key;
  }
};

RC_GTEST_PROP(PeerTableProperties, BoundsHoldAndNobodyIsKeptOutByMany, ()) {
  const PeerLimits limits{.most = *rc::gen::inRange<std::size_t>(1, 6),
                          .most_of_peer = *rc::gen::inRange<std::size_t>(1, 4),
                          .most_proved = *rc::gen::inRange<std::size_t>(0, 3)};
  PeerTable table(limits);
  Model model;
  const int steps = *rc::gen::inRange(0, 80);
  for (int key = 0; key < steps; ++key) {
    const int what = *rc::gen::inRange(0, 6);
    if (what < 2 || model.all.empty()) {
      const std::string name(1, *rc::gen::element('a', 'b', 'c', 'd'));
      const std::size_t most =
          std::max({model.of("a", -1), model.of("b", -1), model.of("c", -1), model.of("d", -1)});
      const auto out = table.add(key, name);
      model.all.push_back({key, name, false});
      if (out) {
        RC_ASSERT(*out != key);
        const auto at = std::find_if(model.all.begin(), model.all.end(),
                                     [&](const auto& one) { return one.key == *out; });
        RC_ASSERT(at != model.all.end() && !at->proved);
        // Its own, or of one with most.
        RC_ASSERT(at->peer == name || model.of(at->peer, key) == most);
        for (const auto& one : model.all) {
          if (&one == &*at) break;  // older ones are of others
          RC_ASSERT(one.proved || one.peer != at->peer);
        }
        model.all.erase(at);
      }
    } else {
      auto at =
          std::next(model.all.begin(), *rc::gen::inRange(0, static_cast<int>(model.all.size())));
      if (what == 2) {
        table.remove(at->key);
        model.all.erase(at);
      } else if (what == 3) {
        RC_ASSERT(table.works(at->key) == at->proved);
        at->waits_since = -1;
      } else if (what == 4) {
        table.waits(at->key);
        if (at->proved) at->waits_since = key;
      } else {
        const std::size_t proved = model.all.size() - model.unproved();
        const int longest = model.longest();
        const auto out = table.prove(at->key);
        RC_ASSERT(out.has_value() == (!at->proved && proved == limits.most_proved));
        if (out) RC_ASSERT(*out == (longest < 0 ? at->key : longest));
        if (out != at->key) at->proved = true;
        if (out) model.all.remove_if([&](const auto& one) { return one.key == *out; });
      }
    }
    RC_ASSERT(table.size() == model.all.size());
    RC_ASSERT(table.unproved() == model.unproved());
    RC_ASSERT(table.unproved() <= limits.most);
    RC_ASSERT(table.size() - table.unproved() <= limits.most_proved);
    for (const auto& one : model.all) {
      RC_ASSERT(table.contains(one.key));
      RC_ASSERT(model.of(one.peer, -1) <= limits.most_of_peer);
    }
  }
}

}  // namespace
}  // namespace pinion::net
