// The files of the CFS quota, in trees of plain files.
#include "agent/cgroup/quota_files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/xattr.h>

#include <cstring>
#include <fstream>

#include "base/cgroup/group_files.h"
#include "tests/support/own_process.h"
#include "tests/support/tree.h"

namespace pinion::cgroup {
namespace {

using engine::CpuQuota;
using engine::QuotaTarget;
using testing::HasSubstr;

TEST(QuotaFiles, CpuMax) {
  struct Case {
    const char* text;
    std::optional<CpuQuota> quota;
  };
  const Case cases[] = {{"max 100000\n", CpuQuota{}},
                        {"200000 100000\n", CpuQuota{200'000}},
                        {"1000 50000", CpuQuota{1000, 50'000}},
                        {"max", {}},
                        {"", {}},
                        {"max 0", {}},
                        {"max 1000001", {}},
                        {"-5 100000", {}},
                        {"x 100000", {}},
                        {"1 2 3", {}},
                        {"99999999999999999999 100000", {}}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    const auto quota = parse_cpu_max(c.text);
    ASSERT_EQ(quota.has_value(), c.quota.has_value());
    if (quota) {
      EXPECT_EQ(*quota, *c.quota);
    }
  }
}

struct QuotaCase {
  const char* name;
  CpuQuota pod_now;
  CpuQuota own_now;
  QuotaTarget wanted;
  CpuQuota pod;
  CpuQuota own;
  bool told;  // what the pod had
};

constexpr CpuQuota kNoLimit{};
constexpr CpuQuota kOne{100'000};
constexpr CpuQuota kTwo{200'000};

const QuotaCase kQuotaCases[] = {
    {"all of the pod is exclusive", kTwo, kTwo, {kNoLimit, {2, kTwo}}, kNoLimit, kNoLimit, true},
    {"and was so already", kNoLimit, kNoLimit, {kNoLimit, {2, kTwo}}, kNoLimit, kNoLimit, false},
    {"the kubelet wrote the pod's",
     kTwo,
     kNoLimit,
     {kNoLimit, {2, kTwo}},
     kNoLimit,
     kNoLimit,
     true},
    {"another container is shared", kTwo, kOne, {kNoLimit, {1, kTwo}}, kTwo, kNoLimit, false},
    {"one came that is shared", kNoLimit, kNoLimit, {kNoLimit, {1, kTwo}}, kTwo, kNoLimit, false},
    {"nobody knows what it was",
     kNoLimit,
     kNoLimit,
     {kNoLimit, {1, {}}},
     kNoLimit,
     kNoLimit,
     false},
    {"it gave up its cores", kNoLimit, kNoLimit, {kOne, {0, kTwo}}, kTwo, kOne, false},
    {"it borrows more than its limit",
     kTwo,
     kOne,
     {kNoLimit, {0, kTwo, true}},
     kNoLimit,
     kNoLimit,
     true},
    {"it borrows still",
     kNoLimit,
     kNoLimit,
     {kNoLimit, {0, kTwo, true}},
     kNoLimit,
     kNoLimit,
     false},
    {"the loan has ended", kNoLimit, kNoLimit, {kOne, {0, kTwo}}, kTwo, kOne, false},
    {"the pod never had a quota", kNoLimit, kNoLimit, {kOne, {0, kNoLimit}}, kNoLimit, kOne, false},
};

class QuotaTree {
 public:
  explicit QuotaTree(int version) : version_(version) {
    std::filesystem::create_directories(dir_.path() / "pod/c");
  }
  void write(const std::string& group, const CpuQuota& quota) const {
    const auto folder = dir_.path() / group;
    const bool none = quota.limit == CpuQuota::kNone;
    if (version_ == 2) {
      std::ofstream(folder / "cpu.max")
          << (none ? "max" : std::to_string(quota.limit)) << " " << quota.period << "\n";
    } else {
      std::ofstream(folder / "cpu.cfs_quota_us") << quota.limit << "\n";
      std::ofstream(folder / "cpu.cfs_period_us") << quota.period << "\n";
    }
  }
  [[nodiscard]] Fd open(const std::string& group) const {
    return open_directory(AT_FDCWD, (dir_.path() / group).c_str());
  }
  [[nodiscard]] std::filesystem::path path() const { return dir_.path(); }

 private:
  int version_;
  test_support::TempDir dir_;
};

TEST(QuotaFiles, Brings) {
  for (const int version : {1, 2}) {
    for (const QuotaCase& c : kQuotaCases) {
      SCOPED_TRACE(std::string(c.name) + ", v" + std::to_string(version));
      const QuotaTree tree(version);
      tree.write("pod", c.pod_now);
      tree.write("pod/c", c.own_now);
      const auto brought = bring_quota(tree.open("pod/c").get(), version, c.wanted);
      ASSERT_TRUE(brought) << brought.error().text;
      EXPECT_EQ(brought->found, c.own_now);
      EXPECT_EQ(brought->pod_before, c.told ? std::optional(c.pod_now) : std::nullopt);
      // A plain file keeps the end of a longer text: what is in front counts.
      const auto limit = [&](const std::string& group) {
        std::ifstream file(tree.path() / group / (version == 2 ? "cpu.max" : "cpu.cfs_quota_us"));
        std::string word;
        file >> word;
        return word.substr(0, word == "max" ? 3 : 6);
      };
      const auto word = [&](const CpuQuota& quota) {
        if (quota.limit != CpuQuota::kNone) return std::to_string(quota.limit);
        return std::string(version == 2 ? "max" : "-1");
      };
      EXPECT_TRUE(limit("pod").starts_with(word(c.pod))) << limit("pod");
      EXPECT_TRUE(limit("pod/c").starts_with(word(c.own))) << limit("pod/c");
    }
  }
}

class Restore : public testing::Test {
 protected:
  void SetUp() override {
    if (fsetxattr(tree_.open("pod").get(), "user.pinion.test", "1", 1, 0) != 0) {
      GTEST_SKIP() << "the file system of " << tree_.path() << " has no extended attributes";
    }
  }
  void now(const CpuQuota& pod, const CpuQuota& own) const {
    tree_.write("pod", pod);
    tree_.write("pod/c", own);
  }
  void bring(const QuotaTarget& wanted) const {
    ASSERT_TRUE(bring_quota(tree_.open("pod/c").get(), 2, wanted));
  }
  [[nodiscard]] RestoredQuotas restore() const {
    return restore_quotas({.mount = tree_.path().string(), .version = 2, .writable = true});
  }
  [[nodiscard]] std::string text(const std::string& group) const {
    std::ifstream file(tree_.path() / group / "cpu.max");
    std::string line;
    std::getline(file, line);
    return line;
  }

  QuotaTree tree_{2};
};

TEST_F(Restore, PutsBackWhatWasTakenAwayTheContainerBeforeItsPod) {
  struct Case {
    const char* name;
    CpuQuota pod_now;
    CpuQuota own_now;
    QuotaTarget wanted;
  };
  for (const Case& c : {
           Case{"both files had it", kTwo, kTwo, {kNoLimit, {2, kTwo}, kTwo}},
           Case{"the runtime was told of none", kTwo, kNoLimit, {kNoLimit, {2, kTwo}, kTwo}},
           Case{"an earlier agent", kNoLimit, kNoLimit, {kNoLimit, {2, kTwo}, kTwo}},
       }) {
    SCOPED_TRACE(c.name);
    now(c.pod_now, c.own_now);
    bring(c.wanted);
    now(kNoLimit, kNoLimit);
    EXPECT_THAT(restore().groups, testing::ElementsAre("/pod/c", "/pod"));
    EXPECT_EQ(text("pod"), "200000 100000");
    EXPECT_EQ(text("pod/c"), "200000 100000");
    now(kNoLimit, kNoLimit);
    EXPECT_THAT(restore().groups, testing::IsEmpty()) << "a second time there is nothing to do";
  }
}

// An agent that has started since knows less of the pod than the group itself.
TEST_F(Restore, APodsQuotaIsWhatItsGroupRemembers) {
  now(kTwo, kOne);
  bring({kNoLimit, {2, kTwo}, kOne});
  now(kNoLimit, kNoLimit);
  bring({kOne, {0, kOne}});
  EXPECT_EQ(text("pod"), "200000 100000");
  EXPECT_EQ(text("pod/c"), "100000 100000");
  now(kTwo, kOne);
  bring({kNoLimit, {2, kTwo}, kOne});
  now(kNoLimit, kNoLimit);
  bring({.own = kOne, .pod = {.exclusive = 0, .stated = CpuQuota{150'000}, .seen = true}});
  EXPECT_EQ(text("pod"), "150000 100000") << "what it saw last counts";
}

TEST_F(Restore, AForeignQuotaOfThePodIsNotRemembered) {
  now(kOne, kNoLimit);
  bring({.own = kNoLimit,
         .pod = {.exclusive = 2, .stated = kTwo, .seen = true, .trusted = true},
         .stated = kTwo});
  now(kNoLimit, kNoLimit);
  EXPECT_THAT(restore().groups, testing::ElementsAre("/pod/c", "/pod"));
  EXPECT_EQ(text("pod"), "200000 100000");
}

TEST_F(Restore, SaysWhichGroupsItCouldNotOpen) {
  const auto with_descriptors = [&](rlim_t spare) {
    return test_support::in_own_process([&]() -> std::string {
      const Fd next = open_directory(AT_FDCWD, "/");
      const rlimit limit{static_cast<rlim_t>(next.get()) + 1 + spare, 512};
      if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return "setrlimit";
      const RestoredQuotas restored = restore();
      return restored.failed.empty() ? "" : restored.failed.front();
    });
  };
  EXPECT_THAT(with_descriptors(1), testing::MatchesRegex("/: .*Too many open files.*"));
  EXPECT_THAT(with_descriptors(2), testing::MatchesRegex("/pod: .*Too many open files.*"));
  EXPECT_EQ(with_descriptors(16), "");
}

TEST_F(Restore, LeavesAloneWhatItsOwnerHasSet) {
  now(kTwo, kTwo);
  bring({kNoLimit, {2, kTwo}, kTwo});
  now(kOne, kOne);  // somebody else's limits since
  EXPECT_THAT(restore().groups, testing::IsEmpty());
  EXPECT_EQ(text("pod"), "100000 100000");

  now(kTwo, kTwo);
  bring({kNoLimit, {2, kTwo}, kTwo});
  now(kNoLimit, kNoLimit);
  bring({kOne, {0, kTwo}});  // it gave up its cores
  now(kNoLimit, kNoLimit);
  EXPECT_THAT(restore().groups, testing::IsEmpty());
}

TEST_F(Restore, TakesNoTextThatTheKernelWouldRefuse) {
  now(kNoLimit, kNoLimit);
  const Fd pod = tree_.open("pod");
  for (const char* text : {"1 100000", "999 100000", "100000 999", "100000 1000001", "max 100000",
                           "many", "-100000 100000"}) {
    ASSERT_EQ(fsetxattr(pod.get(), "user.pinion.quota", text, std::strlen(text), 0), 0);
    const RestoredQuotas restored = restore();
    EXPECT_THAT(restored.groups, testing::IsEmpty()) << text;
    EXPECT_THAT(restored.failed, testing::IsEmpty()) << text;
  }
  ASSERT_EQ(fsetxattr(pod.get(), "user.pinion.quota", "1000 1000000", 12, 0), 0);
  EXPECT_THAT(restore().groups, testing::ElementsAre("/pod"));
}

TEST_F(Restore, OfAPodThatKeepsItsQuotaOnlyTheContainers) {
  now(kTwo, kOne);
  bring({kNoLimit, {1, kTwo}, kOne});
  now(kTwo, kNoLimit);
  EXPECT_THAT(restore().groups, testing::ElementsAre("/pod/c"));
  EXPECT_EQ(text("pod/c"), "100000 100000");
  EXPECT_EQ(text("pod"), "200000 100000");
}

TEST(QuotaFiles, MissingOrBrokenFilesAreErrors) {
  const QuotaTree tree(2);
  const auto missing = bring_quota(tree.open("pod/c").get(), 2, {});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().sys_errno, ENOENT);
  tree.write("pod/c", kOne);
  std::ofstream(tree.path() / "pod/cpu.max") << "lots";
  const auto broken = bring_quota(tree.open("pod/c").get(), 2, {});
  ASSERT_FALSE(broken);
  EXPECT_THAT(broken.error().text, HasSubstr("the pod's cgroup"));
}

}  // namespace
}  // namespace pinion::cgroup
