#include "metrics/proc.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pinion::metrics {
namespace {

// A stat line: the text up to the state, and fields 4 to 52 with recognisable numbers.
std::string stat_line(const std::string& head, const std::string& last_cpu = "7") {
  std::string line = head;
  for (int field = 4; field <= 52; ++field) {
    line += " " + (field == 39 ? last_cpu : field == 8 ? "-1" : std::to_string(field * 10));
  }
  return line + "\n";
}

TEST(TaskStat, ReadsEveryKindOfComm) {
  struct Case {
    std::string name, head, comm;
    int id;
    char state;
  };
  const std::vector<Case> cases{
      {"plain", "42 (busybox) R", "busybox", 42, 'R'},
      {"blanks", "42 (Web Content 3) S", "Web Content 3", 42, 'S'},
      {"closing parenthesis inside", "1 (a) R 3) Z", "a) R 3", 1, 'Z'},
      {"opening parenthesis inside", "1 (((x) D", "((x", 1, 'D'},
      {"empty", "9 () I", "", 9, 'I'},
      {"newline inside", "9 (a\nb) R", "a\nb", 9, 'R'},
      {"runc before its exec", "77 (runc:[2:INIT]) S", "runc:[2:INIT]", 77, 'S'},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    const auto stat = parse_task_stat(stat_line(test.head));
    ASSERT_TRUE(stat) << stat.error().text;
    const TaskStat want{.id = test.id,
                        .comm = test.comm,
                        .state = test.state,
                        .minor_faults = 100,
                        .major_faults = 120,
                        .user_ticks = 140,
                        .system_ticks = 150,
                        .start_ticks = 220,
                        .last_cpu = 7};
    EXPECT_EQ(*stat, want);
  }
}

TEST(TaskStat, RefusesWhatIsNoStatLine) {
  const std::string cut = "1 (x) R 1 2 3 4 5 6";
  const std::vector<std::pair<std::string, std::string>> cases{
      {"empty", ""},
      {"no comm", "1 x R 1 2"},
      {"parentheses the wrong way round", "1 )x( R"},
      {"no id", stat_line("(x) R")},
      {"id is a word", stat_line("one (x) R")},
      {"negative id", stat_line("-1 (x) R")},
      {"state of two letters", stat_line("1 (x) RR")},
      {"cut short", cut},
      {"no CPU", "1 (x) R"},
      {"CPU past what a set can hold", stat_line("1 (x) R", "4096")},
      {"negative CPU", stat_line("1 (x) R", "-1")},
      {"CPU is a word", stat_line("1 (x) R", "7x")},
  };
  for (const auto& [name, text] : cases) {
    SCOPED_TRACE(name);
    const auto stat = parse_task_stat(text);
    ASSERT_FALSE(stat);
    EXPECT_EQ(stat.error().code, Errc::kInvalid);
  }
}

TEST(TaskStat, NamesTheFieldAtFault) {
  const auto stat = parse_task_stat(stat_line("1 (x) R", "no"));
  ASSERT_FALSE(stat);
  EXPECT_EQ(stat.error().text, "stat: field 39 is 'no'");
}

TEST(TaskStatus, ReadsWhatThereIs) {
  const auto status = parse_task_status(
      "Name:\tsh\nUmask:\t0022\nState:\tR (running)\nThreads:\t3\n"
      "Cpus_allowed:\tff\nCpus_allowed_list:\t0-3,6\nMems_allowed_list:\t1\n"
      "voluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3456\n");
  ASSERT_TRUE(status) << status.error().text;
  EXPECT_EQ(status->cpus_allowed, (topology::CpuSet{0, 1, 2, 3, 6}));
  EXPECT_EQ(status->mems_allowed, (topology::NodeSet{1}));
  EXPECT_EQ(status->threads, 3U);
  EXPECT_EQ(status->voluntary_switches, 12U);
  EXPECT_EQ(status->involuntary_switches, 3456U);
}

TEST(TaskStatus, LeavesOutWhatTheKernelDidNotWrite) {
  const auto status = parse_task_status("Name:\tkthreadd\nThreads:\t1\n");
  ASSERT_TRUE(status) << status.error().text;
  EXPECT_EQ(status->threads, 1U);
  EXPECT_FALSE(status->cpus_allowed);
  EXPECT_FALSE(status->mems_allowed);
  EXPECT_FALSE(status->voluntary_switches);
}

TEST(TaskStatus, RefusesUnreadableValues) {
  for (const char* text :
       {"Cpus_allowed_list:\t3-1\n", "Cpus_allowed_list:\tx\n", "Mems_allowed_list:\t99999\n",
        "Threads:\tmany\n", "Threads:\n", "nonvoluntary_ctxt_switches:\t-4\n"}) {
    SCOPED_TRACE(text);
    const auto status = parse_task_status(text);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, Errc::kInvalid);
  }
}

TEST(Migrations, ReadsTheCounterOrNothing) {
  const std::string head = "sh (42, #threads: 1)\n---------------------------\n";
  struct Case {
    std::string name, text;
    std::optional<std::uint64_t> want;
  };
  const std::vector<Case> cases{
      {"present", head + "se.exec_start  :  1.5\nse.nr_migrations     :         17\n", 17},
      {"last line without newline", head + "se.nr_migrations : 3", 3},
      {"absent", head + "nr_switches : 9\n", std::nullopt},
      {"another name that ends alike", head + "xse.nr_migrations : 9\n", std::nullopt},
      {"no number", head + "se.nr_migrations : -\n", std::nullopt},
      {"no colon", head + "se.nr_migrations 9\n", std::nullopt},
      {"empty", "", std::nullopt},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    EXPECT_EQ(parse_migrations(test.text), test.want);
  }
}

}  // namespace
}  // namespace pinion::metrics
