// What pods keep, as the text of a file.
#include "agent/kept_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "tests/support/tree.h"

namespace pinion::agent {
namespace {

using engine::KeptCores;
using topology::CpuSet;

const std::vector<KeptCores> kSome = {
    {.pod_id = "4f1d02",
     .container = "main",
     .cpus = CpuSet{2, 3, 8},
     .count = 3,
     .memory = 1 << 30},
    {.pod_id = "4f1d02", .container = "", .cpus = CpuSet{9, 57}, .count = 1, .part = 2},
    {.pod_id = "77", .container = "a name with blanks", .cpus = CpuSet{255}, .count = 1},
};

TEST(KeptFile, SaysTheSameAgain) {
  for (const auto& kept : {kSome, std::vector<KeptCores>()}) {
    const auto again = decode(encode(kept));
    ASSERT_TRUE(again) << again.error().text;
    EXPECT_EQ(*again, kept);
  }
  EXPECT_EQ(encode({kSome[1]}), "pinion-kept-cores 2\n4f1d02 9,57 1 0 2 \nend\n");
}

TEST(KeptFile, WhatNoLineCanHoldIsLeftOut) {
  for (const KeptCores& one :
       {KeptCores{"", "main", CpuSet{1}, 1}, KeptCores{"a b", "main", CpuSet{1}, 1},
        KeptCores{"a\nb", "main", CpuSet{1}, 1}, KeptCores{"a", "ma\nin", CpuSet{1}, 1}}) {
    EXPECT_EQ(encode({one}), encode({}));
  }
}

TEST(KeptFile, AnythingElseIsAnError) {
  const std::string begin = "pinion-kept-cores 2\n";
  for (const std::string& text :
       {std::string(), std::string("pinion-kept-cores 1\npod 1-2 4096 0 main\nend\n"),
        std::string("pinion-kept-cores 3\nend\n"), begin, begin + "end", begin + "end\nend\n",
        begin + "pod 1 1 0 0 main\n", begin + "pod 1 1 0 0\nend\n",
        begin + "pod  1 0 0 main\nend\n", begin + " 1 1 0 0 main\nend\n",
        begin + "pod x 1 0 0 main\nend\n", begin + "pod 1 0 0 0 main\nend\n",
        begin + "pod 1 2 0 0 main\nend\n", begin + "pod 1 -1 0 0 main\nend\n",
        begin + "pod 1 1 -1 0 main\nend\n", begin + "pod 1 1 0 -1 main\nend\n",
        begin + "pod 1 1 1k 0 main\nend\n", begin + "pod 1 1 0 0 \nend\n"}) {
    EXPECT_FALSE(decode(text)) << text;
  }
}

TEST(KeptFile, IsReplacedAndTakenAway) {
  const test_support::TempDir dir;
  const std::string path = dir.path() / kKeptFile;
  EXPECT_EQ(load_kept(path).value(), std::vector<KeptCores>()) << "there is none yet";
  EXPECT_TRUE(save_kept(path, {kSome[0]}));
  EXPECT_TRUE(save_kept(path, kSome));
  EXPECT_EQ(load_kept(path).value(), kSome);
  EXPECT_TRUE(save_kept(path, {}));
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE(save_kept(path, {})) << "a second time";
  std::ofstream(path) << "pinion-kept-cores 2\npod";
  EXPECT_EQ(load_kept(path).error().code, Errc::kInvalid);
  EXPECT_FALSE(save_kept(path + "/none/kept", kSome));
}

TEST(KeptFile, APipeInItsPlaceDoesNotHoldUpTheStart) {
  const test_support::TempDir dir;
  const std::string path = dir.path() / kKeptFile;
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(load_kept(path).error().text, path + " is no plain file");
  EXPECT_TRUE(save_kept(path, kSome));
  EXPECT_EQ(load_kept(path).value(), kSome);
}

TEST(KeptFile, WhereItCannotBeReplacedTheOldOneIsTakenAway) {
  const test_support::TempDir dir;
  const std::string path = dir.path() / kKeptFile;
  EXPECT_TRUE(save_kept(path, kSome));
  std::filesystem::create_directory(path + ".new");  // in the way
  EXPECT_FALSE(save_kept(path, {kSome[0]}));
  EXPECT_EQ(load_kept(path).value(), std::vector<KeptCores>());
}

}  // namespace
}  // namespace pinion::agent
