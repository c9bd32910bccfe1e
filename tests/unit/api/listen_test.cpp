#include "agent/api/listen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <filesystem>
#include <fstream>

#include "base/fd.h"
#include "tests/support/tree.h"

namespace pinion::agent::api {
namespace {

using test_support::TempDir;
using testing::HasSubstr;

TEST(Endpoint, ReadsBothForms) {
  const auto path = Endpoint::parse("unix:/run/x.sock");
  ASSERT_TRUE(path);
  EXPECT_TRUE(path->is_unix());
  EXPECT_EQ(path->path, "/run/x.sock");
  EXPECT_EQ(path->to_string(), "unix:/run/x.sock");
  const auto four = Endpoint::parse("127.0.0.1:0");
  ASSERT_TRUE(four);
  EXPECT_FALSE(four->is_unix());
  EXPECT_EQ(four->host, "127.0.0.1");
  EXPECT_EQ(four->port, 0);
  const auto six = Endpoint::parse("[::1]:65535");
  ASSERT_TRUE(six);
  EXPECT_EQ(six->host, "[::1]");
  EXPECT_EQ(six->to_string(), "[::1]:65535");
  EXPECT_TRUE(Endpoint::parse("node-1.example:80"));
}

TEST(Endpoint, RefusesEverythingElse) {
  for (const char* text : {"", "unix:", "/run/x.sock", "host", ":80", "host:", "host:x", "host:1x",
                           "host:65536", "host:-1", "::1:80", "http://host:80", "a b:80"}) {
    const auto endpoint = Endpoint::parse(text);
    ASSERT_FALSE(endpoint) << text;
    EXPECT_EQ(endpoint.error().code, Errc::kInvalid);
    EXPECT_THAT(endpoint.error().text, HasSubstr("use unix:PATH or ADDR:PORT")) << text;
  }
  const auto longer = Endpoint::parse("unix:/" + std::string(107, 'x'));
  ASSERT_FALSE(longer);
  EXPECT_THAT(longer.error().text, HasSubstr("longer than 107 bytes"));
  const auto comma = Endpoint::parse("unix:/a,b/x.sock");
  ASSERT_FALSE(comma);
  EXPECT_EQ(comma.error().code, Errc::kInvalid);
  EXPECT_THAT(comma.error().text, HasSubstr("the path has a comma"));
}

TEST(Endpoint, IsEncodedForGrpc) {
  const auto endpoint = Endpoint::parse("unix:/run/a b%2#c?.sock");
  ASSERT_TRUE(endpoint);
  EXPECT_EQ(endpoint->grpc_uri(), "unix:/run/a%20b%252%23c%3F.sock");
}

// A socket at the path; one that is bound and not listened on is as good as a dead agent's.
Fd bound(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  Fd socket(::socket(AF_UNIX, SOCK_STREAM, 0));
  EXPECT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  return socket;
}

TEST(UnixSocket, OfADeadAgentIsRemoved) {
  const TempDir directory;
  const std::string path = directory.path() / "s";
  EXPECT_TRUE(clear_stale(path)) << "nothing there";
  bound(path);
  ASSERT_TRUE(std::filesystem::exists(path));
  EXPECT_TRUE(clear_stale(path));
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(UnixSocket, OfALivingAgentIsLeftAlone) {
  const TempDir directory;
  const std::string path = directory.path() / "s";
  const Fd socket = bound(path);
  ASSERT_EQ(::listen(socket.get(), 1), 0);
  const Status cleared = clear_stale(path);
  ASSERT_FALSE(cleared);
  EXPECT_EQ(cleared.error().code, Errc::kUnavailable);
  EXPECT_THAT(cleared.error().text, HasSubstr("listens at " + path + " already"));
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST(UnixSocket, DoesNotReplaceAFile) {
  const TempDir directory;
  const std::string path = directory.path() / "s";
  std::ofstream(path) << "precious";
  const Status cleared = clear_stale(path);
  ASSERT_FALSE(cleared);
  EXPECT_EQ(cleared.error().code, Errc::kInvalid);
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST(UnixSocket, WantsItsDirectory) {
  const TempDir directory;
  const Status cleared = clear_stale(directory.path() / "none" / "s");
  ASSERT_FALSE(cleared);
  EXPECT_EQ(cleared.error().code, Errc::kNotFound);
  EXPECT_THAT(cleared.error().text, HasSubstr("directory"));
}

}  // namespace
}  // namespace pinion::agent::api
