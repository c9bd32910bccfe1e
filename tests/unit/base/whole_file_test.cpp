#include "base/whole_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "tests/support/tree.h"

namespace pinion {
namespace {

TEST(WholeFile, IsReadUpToALimit) {
  const test_support::TempDir dir;
  const std::string path = dir.path() / "file";
  EXPECT_EQ(read_file(path, 1).error().code, Errc::kNotFound);
  std::string text(std::size_t{1} << 20U, 'x');
  ASSERT_TRUE(replace_file(path, text, false));
  EXPECT_EQ(read_file(path, 1).value(), text);
  ASSERT_TRUE(replace_file(path, text += 'y', false));
  EXPECT_EQ(read_file(path, 1).error().text, path + " is larger than 1 MiB");
  EXPECT_EQ(read_file(path, 2).value(), text);
}

TEST(WholeFile, IsReplacedAsAWholeOrNotAtAll) {
  const test_support::TempDir dir;
  const std::string path = dir.path() / "file";
  for (const char* text : {"a longer text", "a text", ""}) {
    EXPECT_TRUE(replace_file(path, text, true)) << text;
    EXPECT_EQ(read_file(path, 1).value(), text);
  }
  ASSERT_TRUE(replace_file(path, "old", false));
  std::filesystem::create_directory(path + ".new");  // in the way
  EXPECT_FALSE(replace_file(path, "new", false));
  EXPECT_EQ(read_file(path, 1).value(), "old");
  EXPECT_EQ(replace_file(path + "/none/file", "new", false).error().text,
            "open " + path + "/none/file.new: Not a directory");
}

TEST(WholeFile, ALinkInTheWayLeadsNowhere) {
  const test_support::TempDir dir;
  const std::string path = dir.path() / "file";
  const std::string victim = dir.path() / "victim";
  ASSERT_TRUE(replace_file(victim, "its text", false));
  std::filesystem::create_symlink(victim, path + ".new");
  EXPECT_TRUE(replace_file(path, "new", false));
  EXPECT_EQ(read_file(path, 1).value(), "new");
  EXPECT_EQ(read_file(victim, 1).value(), "its text");
}

// Nobody writes into the pipe: an ordinary open would wait for ever.
TEST(WholeFile, APipeInItsPlaceIsAnErrorAndNotWaitedFor) {
  const test_support::TempDir dir;
  const std::string path = dir.path() / "file";
  EXPECT_EQ(read_plain_file(path, 1).error().code, Errc::kNotFound);
  ASSERT_TRUE(replace_file(path, "text", false));
  EXPECT_EQ(read_plain_file(path, 1).value(), "text");
  ASSERT_EQ(mkfifo((path + ".new").c_str(), 0600), 0);
  EXPECT_TRUE(replace_file(path, "new", false)) << "what is in the way of its own file goes";
  EXPECT_EQ(read_plain_file(path, 1).value(), "new");
  std::filesystem::remove(path);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(read_plain_file(path, 1).error().text, path + " is no plain file");
  EXPECT_EQ(read_plain_file(dir.path(), 1).error().code, Errc::kInvalid);
}

TEST(WholeFile, IsWrittenOnlyWhereThereIsOne) {
  const test_support::TempDir dir;
  const std::string path = dir.path() / "file";
  EXPECT_EQ(write_file(AT_FDCWD, path.c_str(), "1").error().code, Errc::kNotFound);
  ASSERT_TRUE(replace_file(path, "0-3", false));
  EXPECT_TRUE(write_file(AT_FDCWD, path.c_str(), "1"));
  EXPECT_EQ(read_file(path, 1).value(), "1-3") << "what the kernel makes of it is up to its file";
}

}  // namespace
}  // namespace pinion
