#include "base/settings/daemon.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pinion::settings {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

struct Ended {
  int code = -1;
  std::string out;
  std::string errors;
  int runs = 0;
};

Ended run(const std::vector<const char*>& argv, const Status& done = {}) {
  Ended ended;
  int port = 80;
  std::string place;
  std::string name = "p";
  const Daemon daemon{
      .program = {.name = "p", .about = "A daemon.", .version = "7.1"},
      .settings = {number("port", "A port [80]", port, 1, 65535),
                   text("place", "Where [none]", place), text("name", "Whose [p]", name)},
      .run =
          [&] {
            ++ended.runs;
            return done;
          },
      .check = [&]() -> Status {
        if (port == 81) return failure(Errc::kInvalid, "port: 81 is not for us");
        return {};
      }};
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  ended.code = run_daemon(static_cast<int>(argv.size()), argv.data(), daemon);
  ended.out = testing::internal::GetCapturedStdout();
  ended.errors = testing::internal::GetCapturedStderr();
  return ended;
}

TEST(Daemon, RunsAndItsExitCodeSaysHowItEnded) {
  const Ended good = run({"p", "--port", "82"});
  EXPECT_EQ(good.code, 0);
  EXPECT_EQ(good.runs, 1);
  EXPECT_EQ(good.out + good.errors, "");
  const Ended bad = run({"p"}, failure(Errc::kUnavailable, "the port is taken"));
  EXPECT_EQ(bad.code, 1);
  EXPECT_EQ(bad.errors, "p: the port is taken\n");
}

TEST(Daemon, WrongSettingsAreSaidAndNothingRuns) {
  const Ended flag = run({"p", "--port", "0"});
  EXPECT_EQ(flag.code, 2);
  EXPECT_THAT(flag.errors, StartsWith("p: --port"));
  const Ended together = run({"p", "--port", "81"});
  EXPECT_EQ(together.code, 2);
  EXPECT_EQ(together.errors, "p: port: 81 is not for us\n");
  const Ended checked = run({"p", "--port", "81", "--check-config"});
  EXPECT_EQ(checked.code, 2);
  const Ended unknown = run({"p", "--prot", "81"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_TRUE(unknown.errors.starts_with("p: ")) << unknown.errors;
  EXPECT_THAT(unknown.errors, HasSubstr("--prot"));
  EXPECT_EQ(flag.runs + together.runs + checked.runs + unknown.runs, 0);
}

TEST(Daemon, SaysNothingOfWhatIsNotSet) {
  const Ended unset = run({"p", "--check-config"});
  EXPECT_EQ(unset.out, "port: '80'\nname: 'p'\n");
  const Ended set = run({"p", "--place", "here", "--name", "", "--check-config"});
  EXPECT_EQ(set.out, "port: '80'\nplace: 'here'\nname: ''\n");
}

TEST(Daemon, SaysWhatItIsAndWhatItWouldUseWithoutRunning) {
  const Ended version = run({"p", "--version"});
  EXPECT_EQ(version.code, 0);
  EXPECT_THAT(version.out, HasSubstr("7.1"));
  const Ended check = run({"p", "--port", "82", "--check-config"});
  EXPECT_EQ(check.code, 0);
  EXPECT_THAT(check.out, HasSubstr("port: '82'"));
  EXPECT_EQ(version.runs + check.runs, 0);
}

}  // namespace
}  // namespace pinion::settings
