// The server's door over real sockets: who may stay, and who makes room.
#include "agent/api/door.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "agent/api/client_hello.h"
#include "base/net/listen_address.h"
#include "tests/unit/api/certificates.h"
#include "tests/unit/api/serving.h"

namespace pinion::agent::api {
namespace {

using std::chrono::milliseconds;

// A connection to a TCP address on which nothing is said.
Fd connected(const std::string& address) {
  const auto to = net::parse_listen_address(address);
  Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto* generic = reinterpret_cast<const sockaddr*>(&to->address);
  EXPECT_EQ(connect(socket.get(), generic, to->size), 0);
  return socket;
}

// Whether the other side closes within half a minute.
bool closed(const Fd& socket) {
  const timeval patience{30, 0};
  setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  char byte = 0;
  ssize_t n = 1;
  while (n > 0) n = recv(socket.get(), &byte, 1, 0);  // gRPC may say something before
  return n == 0 || errno == ECONNRESET;
}

class ServedByTheDoor : public Serving {
 protected:
  void SetUp() override {
    if (!has_openssl()) GTEST_SKIP() << "there is no openssl command";
    ASSERT_TRUE(make_certificates(directory_.path(), "one"));
    options_.listen = "127.0.0.1:0";
    options_.tls = files_of(directory_.path(), "one", "server");
    publish(empty_view());
  }
  [[nodiscard]] const net::ConnectionFigures& figures() const {
    return server_->figures().connections;
  }
  Client certified() {
    return client({.tls = files_of(directory_.path(), "one", "client"), .server_name = ""});
  }
};

TEST_F(ServedByTheDoor, ManySilentOnesMakeRoomAndNobodyIsKeptOut) {
  options_.door.prove = std::chrono::hours(1);
  start();
  Client before = certified();
  ASSERT_TRUE(before.get_node());
  std::vector<Fd> silent;
  for (int i = 0; i < 200; ++i) silent.push_back(connected(server_->address()));
  EXPECT_TRUE(closed(silent.front()));
  Client after = certified();
  const auto node = after.get_node();
  EXPECT_TRUE(node) << node.error().text;
  EXPECT_TRUE(before.get_node()) << "who has made a call stays";
  EXPECT_TRUE(eventually([&] {
    return figures().accepted >= 202 && figures().open <= options_.door.waiting.most_of_peer + 2;
  })) << figures().open;
  EXPECT_GE(figures().closed_for_room, 200 - options_.door.waiting.most_of_peer);
  silent.clear();
  EXPECT_TRUE(eventually([&] { return figures().open == 2; })) << figures().open;
}

// The first record of a handshake that will not go on: type, version, length, ClientHello.
const std::string kHello = std::string("\x16\x03\x01\x00\x04\x01\x00\x00\x00", 9);

// What gRPC and the door had of them is closed.
TEST_F(ServedByTheDoor, ManyThatBeginAHandshakeMakeRoomToo) {
  options_.door.prove = std::chrono::hours(1);
  start();
  std::vector<Fd> halves;
  for (int i = 0; i < 200; ++i) {
    halves.push_back(connected(server_->address()));
    ASSERT_EQ(send(halves.back().get(), kHello.data(), kHello.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(kHello.size()));
  }
  Client after = certified();
  const auto node = after.get_node();
  EXPECT_TRUE(node) << node.error().text;
  halves.clear();
  EXPECT_TRUE(eventually([&] { return figures().open == 1; })) << figures().open;
}

TEST_F(ServedByTheDoor, GarbageIsClosedAtOnce) {
  options_.door.prove = std::chrono::hours(1);
  start();
  const Fd plain = connected(server_->address());
  ASSERT_GT(send(plain.get(), "GET / HTTP/1.1\r\n\r\n", 18, MSG_NOSIGNAL), 0);
  EXPECT_TRUE(closed(plain));
  EXPECT_EQ(figures().closed_as_garbage, 1U);
}

// In pieces, as a slow network brings it.
TEST_F(ServedByTheDoor, AHandshakeMayComeByteByByte) {
  options_.door.prove = std::chrono::hours(1);
  start();
  const Fd slow = connected(server_->address());
  for (const char byte : kHello.substr(0, 8)) {
    ASSERT_EQ(send(slow.get(), &byte, 1, MSG_NOSIGNAL), 1);
    ASSERT_TRUE(certified().get_node()) << "the door has had its turn";
  }
  char byte = 0;
  EXPECT_EQ(recv(slow.get(), &byte, 1, MSG_DONTWAIT), -1) << "open, nothing said";
  ASSERT_EQ(send(slow.get(), &kHello.back(), 1, MSG_NOSIGNAL), 1);
  EXPECT_TRUE(closed(slow)) << "by gRPC: it is too short for a ClientHello";
  const Fd cut = connected(server_->address());
  ASSERT_EQ(send(cut.get(), kHello.data(), 7, MSG_NOSIGNAL), 7);
  shutdown(cut.get(), SHUT_WR);
  EXPECT_TRUE(closed(cut)) << "no more will come";
}

TEST(ClientHello, SaysHowMuchHasToBeThere) {
  const auto size = [](std::initializer_list<std::uint8_t> bytes) {
    return client_hello_size({bytes.begin(), bytes.size()});
  };
  EXPECT_EQ(size({}), kRecordHeader);
  EXPECT_EQ(size({22}), kRecordHeader);
  EXPECT_EQ(size({22, 3, 1, 2, 0}), kRecordHeader);
  EXPECT_EQ(size({22, 3, 1, 2, 0, 1}), 5U + 512U);
  EXPECT_EQ(size({22, 3, 3, 64, 0, 1}), 5U + 16384U);
  EXPECT_FALSE(size({22, 3, 3, 64, 1, 1})) << "too long";
  EXPECT_FALSE(size({22, 3, 3, 0, 0, 1})) << "empty";
  EXPECT_FALSE(size({22, 3, 3, 2, 0, 2})) << "a ServerHello";
  EXPECT_FALSE(size({22, 2}));
  EXPECT_FALSE(size({'G'}));
}

TEST_F(ServedByTheDoor, WhoMakesNoCallIsClosed) {
  options_.door.prove = milliseconds(50);
  start();
  const Fd silent = connected(server_->address());
  EXPECT_TRUE(closed(silent));
  EXPECT_TRUE(eventually([&] { return figures().open == 0; }));
  EXPECT_EQ(figures().closed_as_slow, 1U);
}

TEST_F(ServedByTheDoor, WhoHasMadeACallStays) {
  options_.door.prove = milliseconds(3000);
  start();
  Client caller = certified();
  ASSERT_TRUE(caller.get_node());
  const Fd silent = connected(server_->address());
  EXPECT_TRUE(closed(silent)) << "later than the caller would be";
  EXPECT_TRUE(caller.get_node());
  EXPECT_EQ(figures().accepted, 2U) << "the same connection";
}

TEST_F(ServedByTheDoor, OnlySoManyMayStay) {
  options_.door.peers.most_proved = 1;
  start();
  Client first = certified();
  ASSERT_TRUE(first.get_node());
  EXPECT_FALSE(certified().get_node());
  EXPECT_TRUE(first.get_node());
}

// gRPC's own listener would not take anybody any more.
TEST_F(ServedByTheDoor, IsBackAfterDescriptorsRanOut) {
  start();
  std::vector<Fd> clients;  // of the same process, so before there are none
  for (int i = 0; i < 3; ++i) {
    clients.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  }
  const auto to = net::parse_listen_address(server_->address());
  // No member function is called without descriptors: UBSan needs one to look at an object.
  const net::ConnectionFigures& seen = figures();
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = 256;
  setrlimit(RLIMIT_NOFILE, &limit);
  std::vector<Fd> all;
  do {
    all.emplace_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
  } while (all.back().valid());
  for (const Fd& socket : clients) {
    const auto* generic = reinterpret_cast<const sockaddr*>(&to->address);
    EXPECT_EQ(connect(socket.get(), generic, to->size), 0);
  }
  EXPECT_TRUE(eventually([&] { return seen.shortages > 0; }));
  all.clear();
  limit.rlim_cur = before;
  setrlimit(RLIMIT_NOFILE, &limit);
  const auto node = certified().get_node();
  EXPECT_TRUE(node) << node.error().text;
}

TEST_F(Serving, ARemovedStateDirectoryIsMadeAgainWithItsSocket) {
  const auto state = directory_.path() / "state";
  std::filesystem::create_directory(state);
  options_.listen = "unix:" + (state / "agent.sock").string();
  publish(empty_view());
  start();
  ASSERT_TRUE(client().get_node());
  std::filesystem::remove_all(state);
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(state / "agent.sock"); }));
  EXPECT_TRUE(eventually([&] {  // it is bound a moment before it listens
    auto client = Client::connect(server_->address(), {});
    return client && client->get_node();
  }));
  struct stat found {};
  ASSERT_EQ(stat((state / "agent.sock").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777U, 0600U);
}

TEST(PeerText, IsWhatGrpcWrites) {
  const auto text = [](const std::string& address) {
    return peer_text(net::parse_listen_address(address)->address);
  };
  EXPECT_EQ(text("10.0.0.7:40123"), plain_peer("ipv4:10.0.0.7:40123"));
  EXPECT_EQ(text("[2001:db8::1]:443"), plain_peer("ipv6:%5B2001:db8::1%5D:443"));
  EXPECT_EQ(text("[fe80::1]:443"), plain_peer("ipv6:%5Bfe80::1%252%5D:443"));
  EXPECT_EQ(text("[::ffff:10.0.0.7]:443"), "ipv4:10.0.0.7:443");
  for (const char* odd : {"", "%", "]%", "%5D%5B", "unix:"}) (void)plain_peer(odd);
}

}  // namespace
}  // namespace pinion::agent::api
