#include "cluster/sim/malleable.h"

#include <gmock/gmock.h>

#include "tests/unit/sim/play.h"

namespace pinion::sim {
namespace {

using testing::HasSubstr;

TEST(Malleable, SizesLieWithinTheFactorsAndTheMachine) {
  struct Case {
    int tasks;
    const char* how;
    int min;
    int max;
  };
  for (const Case& c :
       {Case{8, "0.5:2", 4, 16}, Case{3, "0.5:1.5", 2, 4}, Case{1, "0.1:1", 1, 1},
        Case{100, "0.07:1.1", 7, 110}, Case{100, "1:10", 100, 128}, Case{200, "0.5:4", 100, 200}}) {
    Job job = job_of(1, 0, 100, c.tasks);
    const auto how = parse_malleable(c.how);
    ASSERT_TRUE(how) << c.how;
    make_malleable(job, *how, 128);
    ASSERT_NE(job.elastic, nullptr);
    EXPECT_EQ(job.elastic->min, c.min) << c.tasks << " by " << c.how;
    EXPECT_EQ(job.elastic->max, c.max) << c.tasks << " by " << c.how;
    EXPECT_EQ(job.shape.tasks, c.tasks);
    EXPECT_DOUBLE_EQ(job.elastic->speed_up.rate(c.tasks), 1);
  }
}

TEST(Malleable, TheSerialShareIsAmdahls) {
  Job job = job_of(1, 0, 100, 4);
  make_malleable(job, *parse_malleable("1:2:0"), 128);
  EXPECT_DOUBLE_EQ(job.elastic->speed_up.rate(8), 2);
  make_malleable(job, *parse_malleable("1:2:1"), 128);
  EXPECT_DOUBLE_EQ(job.elastic->speed_up.rate(8), 1);
}

TEST(Malleable, SaysWhatIsWrong) {
  for (const auto& [text, error] :
       std::vector<std::pair<std::string, std::string>>{{"", "LEAST:MOST"},
                                                        {"0.5", "MOST is missing"},
                                                        {"a:2", "three numbers"},
                                                        {"0.5:", "three numbers"},
                                                        {"0.5:2x", "three numbers"},
                                                        {"0.5:2:0.1:1", "more than"},
                                                        {"0:2", "LEAST must be"},
                                                        {"1.5:2", "LEAST must be"},
                                                        {"nan:2", "LEAST must be"},
                                                        {"0.5:0.9", "MOST must be"},
                                                        {"0.5:inf", "MOST must be"},
                                                        {"0.5:2:1.1", "SERIAL must be"}}) {
    const auto how = parse_malleable(text);
    ASSERT_FALSE(how) << text;
    EXPECT_THAT(how.error().text, HasSubstr(error)) << text;
  }
}

}  // namespace
}  // namespace pinion::sim
