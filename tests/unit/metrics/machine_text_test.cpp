#include "metrics/machine_text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pinion::metrics {
namespace {

TEST(CpuTimesText, ReadsTheLineOfEachCpu) {
  const auto times = parse_cpu_times(
      "cpu  89214 0 5823 108048 365 0 83 1781 0 0\n"
      "cpu0 44574 1 3035 53886 210 2 24 886 5 6\n"
      "cpu3 44639 0 2788 54162 155 0 59 894 0 0\n"  // 1 and 2 are offline
      "intr 489426 0 0 0\nctxt 620749\nbtime 1\nprocesses 1\n");
  ASSERT_TRUE(times) << times.error().text;
  const CpuTimes first{.cpu = 0,
                       .user = 44574,
                       .nice = 1,
                       .system = 3035,
                       .idle = 53886,
                       .iowait = 210,
                       .irq = 2,
                       .softirq = 24,
                       .steal = 886};
  ASSERT_EQ(times->size(), 2U);
  EXPECT_EQ(times->front(), first);
  EXPECT_EQ(times->back().cpu, 3);
  EXPECT_EQ(times->back().steal, 894U);
  EXPECT_EQ(busy_ticks(first), 44574U + 1 + 3035 + 2 + 24);
}

TEST(CpuTimesText, RefusesAndNamesTheLine) {
  EXPECT_EQ(parse_cpu_times("").error().text, "/proc/stat: no CPU");
  EXPECT_EQ(parse_cpu_times("cpu  1 2 3 4 5 6 7 8\n").error().text, "/proc/stat: no CPU");
  for (const char* line :
       {"cpu0", "cpu0 1 2 3 4 5 6 7", "cpu0 1 2 3 4 5 6 7 x", "cpux 1", "cpu-1 1 2 3 4 5 6 7 8",
        "cpu4096 1 2 3 4 5 6 7 8", "cpu0 18446744073709551616 2 3 4 5 6 7 8"}) {
    SCOPED_TRACE(line);
    const auto times = parse_cpu_times(line);
    ASSERT_FALSE(times);
    EXPECT_EQ(times.error().code, Errc::kInvalid);
    EXPECT_EQ(times.error().text, "/proc/stat: line '" + std::string(line) + "'");
  }
}

TEST(SchedStatText, IsThreeNumbers) {
  EXPECT_EQ(parse_sched_stat("101892022 4380640 366\n").value(),
            (SchedStat{.run_ns = 101892022, .wait_ns = 4380640, .slices = 366}));
  EXPECT_EQ(parse_sched_stat("0 0 0\n").value(), SchedStat{});
  for (const char* text :
       {"", "1 2\n", "1 2 x\n", "1 2 3 4\n", "-1 2 3\n", "1 2 18446744073709551616\n"}) {
    SCOPED_TRACE(text);
    const auto stat = parse_sched_stat(text);
    ASSERT_FALSE(stat);
    EXPECT_EQ(stat.error().code, Errc::kInvalid);
  }
}

TEST(StatusSwitches, ReadsItsTwoLinesAlone) {
  const auto switches = parse_status_switches(
      "Name:\tsh: voluntary_ctxt_switches\nCpus_allowed_list:\tnonsense\n"
      "voluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3456\n");
  ASSERT_TRUE(switches) << switches.error().text;
  EXPECT_EQ(*switches, (TaskSwitches{.voluntary = 12, .involuntary = 3456}));
  EXPECT_EQ(parse_status_switches("Name:\tx\n").value(), TaskSwitches{});
  EXPECT_EQ(parse_status_switches("voluntary_ctxt_switches:\t\n").error().text,
            "status: line 'voluntary_ctxt_switches:\t'");
}

TEST(SchedSwitches, ReadsAllThree) {
  // Linux 6.18, shortened.
  const auto switches = parse_sched_switches(
      "process_api (1, #threads: 12)\n"
      "-------------------------------------------------------------------\n"
      "se.exec_start                                :       1218210.275485\n"
      "se.nr_migrations                             :                   79\n"
      "nr_switches                                  :                  366\n"
      "nr_voluntary_switches                        :                  350\n"
      "nr_involuntary_switches                      :                   16\n"
      "mm->numa_scan_seq                            :                    0\n"
      "numa_faults node=0 task_private=0 task_shared=0 group_private=0 group_shared=0\n");
  ASSERT_TRUE(switches) << switches.error().text;
  EXPECT_EQ(*switches, (TaskSwitches{.voluntary = 350, .involuntary = 16, .migrations = 79}));
  EXPECT_EQ(parse_sched_switches("").value(), TaskSwitches{});
  EXPECT_EQ(parse_sched_switches("se.nr_migrations : 1.5\n").error().text,
            "sched: line 'se.nr_migrations : 1.5'");
}

TEST(TaskIdsText, AreSortedAndUnique) {
  EXPECT_EQ(parse_task_ids("107\n42\n42\n1\n").value(), (std::vector<int>{1, 42, 107}));
  EXPECT_EQ(parse_task_ids("").value(), std::vector<int>{});
  // A task of a pid namespace that the reader does not see.
  EXPECT_EQ(parse_task_ids("0\n5\n0\n").value(), std::vector<int>{5});
  for (const char* text : {"x\n", "-1\n", "1\n2147483648\n", "1.0"}) {
    SCOPED_TRACE(text);
    ASSERT_FALSE(parse_task_ids(text));
    EXPECT_EQ(parse_task_ids(text).error().code, Errc::kInvalid);
  }
}

}  // namespace
}  // namespace pinion::metrics
