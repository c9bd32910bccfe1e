#include "base/log/ready_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/support/own_process.h"
#include "tests/support/tree.h"

namespace pinion::agent {
namespace {

constexpr std::chrono::steady_clock::time_point kNow{};

std::string text_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(ReadyFile, IsThereWhileReadyAndNamesTheAddresses) {
  const test_support::TempDir dir;
  const std::filesystem::path path = dir.path() / "ready";
  std::ofstream(path) << "left by a kill -9";
  Log log("error", LogFormat::kText);
  {
    ReadyFile ready(path.string(), {{"api", "unix:/a"}, {"metrics", "127.0.0.1:1"}}, log);
    EXPECT_FALSE(std::filesystem::exists(path)) << "the old one is gone at once";
    ready.make(kNow);
    EXPECT_EQ(text_of(path), "ready\napi=unix:/a\nmetrics=127.0.0.1:1\n");
  }
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

TEST(ReadyFile, ThatSomebodyHasRemovedIsMadeAgainASecondLater) {
  const test_support::TempDir dir;
  const std::filesystem::path path = dir.path() / "ready";
  testing::internal::CaptureStderr();
  {
    Log log("warn", LogFormat::kText);
    ReadyFile ready(path.string(), {}, log);
    ready.make(kNow);
    std::filesystem::remove(path);
    ready.make(kNow + std::chrono::milliseconds(999));
    EXPECT_FALSE(std::filesystem::exists(path)) << "not looked for with every turn of the loop";
    ready.make(kNow + std::chrono::seconds(1));
    EXPECT_EQ(text_of(path), "ready\n");
    ready.make(kNow + std::chrono::seconds(2));
  }
  const std::string said = testing::internal::GetCapturedStderr();
  const std::string warning = "the ready file was gone, it is made again";
  EXPECT_NE(said.find(warning), std::string::npos);
  EXPECT_EQ(said.find(warning), said.rfind(warning));
}

// A folder that is not there stands for a disk that is full.
TEST(ReadyFile, IsTriedAgainASecondLaterAndTheTroubleSaidOnce) {
  const test_support::TempDir dir;
  const std::filesystem::path path = dir.path() / "later" / "ready";
  testing::internal::CaptureStderr();
  {
    Log log("warn", LogFormat::kText);
    ReadyFile ready(path.string(), {}, log);
    ready.make(kNow);
    ready.make(kNow + std::chrono::seconds(1));
    std::filesystem::create_directory(path.parent_path());
    ready.make(kNow + std::chrono::milliseconds(1500));
    EXPECT_FALSE(std::filesystem::exists(path)) << "not with every turn of the loop";
    ready.make(kNow + std::chrono::seconds(2));
    EXPECT_EQ(text_of(path), "ready\n");
  }
  const std::string said = testing::internal::GetCapturedStderr();
  const std::string warning = "cannot write the ready file";
  EXPECT_NE(said.find("No such file or directory"), std::string::npos) << said;
  EXPECT_NE(said.find(warning), std::string::npos);
  EXPECT_EQ(said.find(warning), said.rfind(warning));
}

// An empty path must not become a file of the directory that the agent was started in.
TEST(ReadyFile, WithoutAPathThereIsNone) {
  const test_support::TempDir dir;
  const auto check = [&]() -> std::string {
    std::filesystem::current_path(dir.path());
    testing::internal::CaptureStderr();
    {
      Log log("warn", LogFormat::kText);
      ReadyFile ready("", {}, log);
      ready.make(kNow);
    }
    const std::string said = testing::internal::GetCapturedStderr();
    return std::filesystem::is_empty(dir.path()) ? said : "it made a file";
  };
  EXPECT_EQ(test_support::in_own_process(check), "");
}

}  // namespace
}  // namespace pinion::agent
