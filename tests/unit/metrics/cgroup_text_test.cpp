#include "metrics/cgroup_text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pinion::metrics {
namespace {

constexpr std::uint64_t kMax = 18446744073709551615U;

TEST(CpuStatText, ReadsEveryKernelsFile) {
  struct Case {
    std::string name, text;
    CpuStat want;
  };
  const std::vector<Case> cases{
      {"v1, Linux 6.18",
       "nr_periods 12\nnr_throttled 5\nthrottled_time 987654321\nnr_bursts 0\nburst_time 0\n",
       {.periods = 12, .throttled_periods = 5, .throttled_ns = 987654321}},
      {"v1 without a quota",
       "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n",
       {.periods = 0, .throttled_periods = 0, .throttled_ns = 0}},
      {"v2 with the cpu controller, Linux 6.12",
       "usage_usec 1235963\nuser_usec 1231788\nsystem_usec 4175\nnice_usec 0\n"
       "core_sched.force_idle_usec 0\nnr_periods 20\nnr_throttled 3\nthrottled_usec 150\n"
       "nr_bursts 0\nburst_usec 0\n",
       {.usage_ns = 1235963000,
        .user_ns = 1231788000,
        .system_ns = 4175000,
        .periods = 20,
        .throttled_periods = 3,
        .throttled_ns = 150000}},
      {"v2 without the controller, or hybrid",
       "usage_usec 7\nuser_usec 4\nsystem_usec 3\n",
       {.usage_ns = 7000, .user_ns = 4000, .system_ns = 3000}},
      {"no newline at the end", "nr_periods 3", {.periods = 3}},
      {"the largest number", "throttled_time 18446744073709551615\n", {.throttled_ns = kMax}},
      {"keys of later kernels", "nr_periods_total 4\nx\n\n", {}},
      {"empty", "", {}},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    const auto stat = parse_cpu_stat(test.text);
    ASSERT_TRUE(stat) << stat.error().text;
    EXPECT_EQ(*stat, test.want);
  }
}

TEST(CpuStatText, RefusesAndNamesTheLine) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"nr_periods\n", "cpu.stat: line 'nr_periods'"},
      {"nr_periods x\n", "cpu.stat: line 'nr_periods x'"},
      {"nr_periods 1 2\n", "cpu.stat: line 'nr_periods 1 2'"},
      {"user_usec -1\n", "cpu.stat: line 'user_usec -1'"},
      {"nr_periods 18446744073709551616\n", "cpu.stat: line 'nr_periods 18446744073709551616'"},
      // Fits in microseconds, not in nanoseconds.
      {"usage_usec 18446744073709552\n", "cpu.stat: line 'usage_usec 18446744073709552'"},
  };
  for (const auto& [text, error] : cases) {
    SCOPED_TRACE(text);
    const auto stat = parse_cpu_stat(text);
    ASSERT_FALSE(stat);
    EXPECT_EQ(stat.error().code, Errc::kInvalid);
    EXPECT_EQ(stat.error().text, error);
  }
}

TEST(CpuStatText, AnErrorShowsNoMoreThanAPieceOfABrokenFile) {
  const auto stat = parse_cpu_stat("nr_periods " + std::string(100000, '9'));
  ASSERT_FALSE(stat);
  EXPECT_LT(stat.error().text.size(), 100U);
}

TEST(CpuacctStatText, NeedsBothLines) {
  const auto stat = parse_cpuacct_stat("user 89447\nsystem 5920\n");
  ASSERT_TRUE(stat) << stat.error().text;
  EXPECT_EQ(*stat, (CpuacctStat{.user_ticks = 89447, .system_ticks = 5920}));
  EXPECT_EQ(parse_cpuacct_stat("user 1\n").error().text, "cpuacct.stat: no line 'system'");
  EXPECT_EQ(parse_cpuacct_stat("system 1\n").error().text, "cpuacct.stat: no line 'user'");
  EXPECT_EQ(parse_cpuacct_stat("user 1\nsystem x\n").error().text, "cpuacct.stat: line 'system x'");
}

TEST(SingleNumberText, IsOneNumberAndNothingElse) {
  EXPECT_EQ(parse_single_number("953678154586\n", "cpuacct.usage").value(), 953678154586U);
  EXPECT_EQ(parse_single_number("0", "pids.current").value(), 0U);
  EXPECT_EQ(parse_single_number("max\n", "pids.max").error().text, "pids.max: no number: 'max\n'");
  for (const char* text : {"", "\n", "1 2", "-1", "+1", "1.5", "0x10", "18446744073709551616"}) {
    SCOPED_TRACE(text);
    const auto number = parse_single_number(text, "pids.current");
    ASSERT_FALSE(number);
    EXPECT_EQ(number.error().code, Errc::kInvalid);
  }
}

TEST(UsagePercpuText, IsAListByCpu) {
  // The kernel ends the list with a blank.
  EXPECT_EQ(parse_usage_percpu("477927384815 475754744707 \n").value(),
            (std::vector<std::uint64_t>{477927384815, 475754744707}));
  EXPECT_EQ(parse_usage_percpu("0").value(), (std::vector<std::uint64_t>{0}));
  EXPECT_EQ(parse_usage_percpu("\n").error().text, "cpuacct.usage_percpu: no CPU");
  EXPECT_EQ(parse_usage_percpu("1 x 2").error().text, "cpuacct.usage_percpu: no number: 'x'");
  std::string many;
  for (int cpu = 0; cpu < topology::CpuSet::kCapacity; ++cpu) many += "1 ";
  EXPECT_EQ(parse_usage_percpu(many).value().size(), topology::CpuSet::kCapacity);
  EXPECT_EQ(parse_usage_percpu(many + "1").error().text, "cpuacct.usage_percpu: too many CPUs");
}

TEST(NumaStatV1, TakesTheGroupsOwnTotal) {
  // Linux 6.18, and the same of two nodes.
  EXPECT_EQ(parse_numa_stat_v1("total=6172 N0=6172\nfile=35 N0=35\nanon=374 N0=374\n"
                               "unevictable=5763 N0=5763\nhierarchical_total=18328 N0=18328\n"
                               "hierarchical_file=9885 N0=9885\n",
                               4096)
                .value(),
            (std::vector<NodeMemory>{{0, 6172 * 4096}}));
  EXPECT_EQ(parse_numa_stat_v1("total=300 N0=100 N1=200\nfile=1 N0=1 N1=0\n", 65536).value(),
            (std::vector<NodeMemory>{{0, 6553600}, {1, 13107200}}));
  EXPECT_EQ(parse_numa_stat_v1("total=0 N8=0\n", 4096).value(), (std::vector<NodeMemory>{{8, 0}}));
}

TEST(NumaStatV1, RefusesAndNamesTheLine) {
  EXPECT_EQ(parse_numa_stat_v1("", 4096).error().text, "memory.numa_stat: no line 'total='");
  EXPECT_EQ(parse_numa_stat_v1("hierarchical_total=1 N0=1\n", 4096).error().text,
            "memory.numa_stat: no line 'total='");
  for (const char* line : {"total=1 N0", "total=1 N0=", "total=1 N0=x", "total=1 Nx=1",
                           "total=1 N-1=1", "total=1 N1024=1", "total=1 N0=18446744073709551616",
                           "total=1 N0=4503599627370496"}) {  // 2^52 pages: 2^64 bytes
    SCOPED_TRACE(line);
    const auto memory = parse_numa_stat_v1(line, 4096);
    ASSERT_FALSE(memory);
    EXPECT_EQ(memory.error().code, Errc::kInvalid);
    EXPECT_EQ(memory.error().text, "memory.numa_stat: line '" + std::string(line) + "'");
  }
}

TEST(NumaStatV2, AddsAnonymousMemoryAndFiles) {
  const auto memory = parse_numa_stat_v2(
      "anon N0=1000 N1=20\nfile N0=300 N1=4\nkernel_stack N0=16384 N1=0\npagetables N0=8192 N1=0\n"
      "shmem N0=100 N1=0\nfile_mapped N0=50 N1=0\nanon_thp N0=0 N1=0\ninactive_anon N0=7 N1=0\n"
      "slab_reclaimable N0=9 N1=9\nworkingset_refault_anon N0=0 N1=0\n");
  ASSERT_TRUE(memory) << memory.error().text;
  EXPECT_EQ(*memory, (std::vector<NodeMemory>{{0, 1300}, {1, 24}}));
  EXPECT_EQ(parse_numa_stat_v2("anon N3=5\n").value(), (std::vector<NodeMemory>{{3, 5}}));
}

TEST(NumaStatV2, RefusesAndNamesTheLine) {
  EXPECT_EQ(parse_numa_stat_v2("slab N0=1\n").error().text,
            "memory.numa_stat: no line 'anon' or 'file'");
  EXPECT_EQ(parse_numa_stat_v2("anon N0=1\nfile N0=y\n").error().text,
            "memory.numa_stat: line 'file N0=y'");
  // Each fits, their sum does not.
  EXPECT_FALSE(parse_numa_stat_v2("anon N0=18446744073709551615\nfile N0=1\n"));
}

TEST(PressureText, ReadsTheTotals) {
  EXPECT_EQ(parse_pressure("some avg10=0.17 avg60=2.86 avg300=21.76 total=232519855\n"
                           "full avg10=0.00 avg60=0.00 avg300=0.00 total=17\n")
                .value(),
            (Pressure{.some_ns = 232519855000, .full_ns = 17000}));
  EXPECT_EQ(parse_pressure("some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n").value(),
            (Pressure{.some_ns = 0, .full_ns = std::nullopt}));
  EXPECT_EQ(parse_pressure("").value(), Pressure{});
}

TEST(PressureText, RefusesAndNamesTheLine) {
  for (const char* line : {"some", "some avg10=0.00", "full total=", "full total=1.5",
                           "some total=18446744073709552"}) {
    SCOPED_TRACE(line);
    const auto pressure = parse_pressure(line);
    ASSERT_FALSE(pressure);
    EXPECT_EQ(pressure.error().text, "pressure: line '" + std::string(line) + "'");
  }
}

}  // namespace
}  // namespace pinion::metrics
