// Elastic jobs: what is shown of them, and how another size is asked for; what was learnt of jobs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "ctl/job/draw_elastic.h"
#include "ctl/job/draw_profiles.h"
#include "ctl/job/scale_command.h"

namespace pinion::ctl {
namespace {

using nlohmann::json;
using testing::ElementsAre;

TEST(DrawElastic, HasALineForEachJob) {
  const json document = json::parse(R"({"jobs":[],"elastic":[
      {"name":"hpc/wave","kind":"Job","change":"malleable","state":"shrinks","workers":8,
       "readyWorkers":8,"minWorkers":2,"maxWorkers":8,"wantedWorkers":4,"askedWorkers":4,
       "history":[{"at":"2026-11-25T15:22:48Z","step":"shrink","why":"from 8 to 4 workers, to make room for wind"},
                  {"at":"2026-11-25T15:00:00Z","step":"done","why":"it went from 0 to 8 workers"}]},
      {"name":"hpc/wind","kind":"MPIJob","change":"moldable","state":"waits","workers":0,
       "readyWorkers":0,"minWorkers":4,"maxWorkers":4,"requestedWorkers":4,
       "why":"needs 16 CPUs, 4 CPUs are free",
       "history":[{"at":"2026-11-25T15:00:00Z","step":"declined","why":"old"}]},
      {"name":"hpc/old","kind":"Job","change":"rigid","state":"waits","workers":0,
       "readyWorkers":0,"minWorkers":4,"maxWorkers":4,
       "history":[{"at":"2026-11-25T15:00:00Z","step":"declined","why":"old"}]},
      {"name":"hpc/two","kind":"Job","change":"malleable","state":"runs","workers":4,
       "readyWorkers":4,"minWorkers":1,"maxWorkers":8,"requestedWorkers":4,"askedWorkers":6}]})");
  EXPECT_EQ(
      draw_elastic(document),
      "JOB       KIND    CHANGE     STATE    WORKERS  READY  MIN  MAX  WANTED  ASKED"
      "                        WHY\n"
      "hpc/wave  Job     malleable  shrinks        8      8    2    8       4  4 by application"
      "             from 8 to 4 workers, to make room for wind\n"
      "hpc/wind  MPIJob  moldable   waits          0      0    4    4       -  4 by user"
      "                    needs 16 CPUs, 4 CPUs are free\n"
      "hpc/old   Job     rigid      waits          0      0    4    4       -  -"
      "                            -\n"
      "hpc/two   Job     malleable  runs           4      4    1    8       -  "
      "4 by user, 6 by application  -\n");
}

TEST(DrawHistory, HasALineForEachStep) {
  const json document = json::parse(R"({"elastic":[
      {"name":"hpc/wave","history":[{"at":"2026-11-25T15:22:48Z","step":"shrink","why":"from 8 to 4 workers"},
                                    {"at":"2026-11-25T15:00:00Z","step":"done","why":"it went"}]},
      {"name":"hpc/wind"},{"history":7},{"history":[7]}]})");
  EXPECT_EQ(draw_history(document),
            "JOB       AT                    STEP    WHY\n"
            "hpc/wave  2026-11-25T15:22:48Z  shrink  from 8 to 4 workers\n"
            "hpc/wave  2026-11-25T15:00:00Z  done    it went\n"
            "-         -                     -       -\n");
  EXPECT_EQ(draw_history(json::parse(R"({"elastic":[]})")), "no elastic job was changed\n");
}

TEST(DrawSpeeds, HasALineForEachJobOfWhichSomethingWasSeen) {
  const json document = json::parse(R"({"elastic":[
      {"name":"hpc/wave","speed":{"measure":"progress","shrinkSeconds":2.25,"expandSeconds":14,
        "rates":[{"workers":2,"perSecond":105.25},{"workers":4,"perSecond":190}]}},
      {"name":"hpc/wind"},
      {"name":"hpc/new","speed":{"shrinkSeconds":3}},
      {"name":"hpc/odd","speed":{"measure":7,"rates":[7,{"workers":"x"}]}},{"speed":7}]})");
  EXPECT_EQ(draw_speeds(document),
            "JOB       MEASURE   SHRINK [s]  EXPAND [s]  WORKERS: PER SECOND\n"
            "hpc/wave  progress        2.25          14  2: 105, 4: 190\n"
            "hpc/new   -                  3           -  -\n"
            "hpc/odd   -                  -           -  -: -, -: -\n");
  EXPECT_EQ(draw_speeds(json::parse(R"({"elastic":[]})")),
            "nothing was seen of an elastic job's speed\n");
}

TEST(DrawElastic, IsNotHurtByWhatAServerSays) {
  EXPECT_EQ(draw_elastic(json::parse(R"({"elastic":[]})")), "no elastic jobs\n");
  const std::string text =
      draw_elastic(json::parse(R"({"elastic":[{"name":"a\u001b[2J","min":[],"history":7},
                                               {"history":[7]}]})"));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(DrawElastic, SaysHowManyMoreThereAre) {
  const json document = json::parse(R"({"elastic":[{"name":"hpc/wave","history":[{}],"speed":{}}],
      "profiles":[{"name":"hpc/wave"}],"notShown":{"elastic":17,"profiles":2}})");
  for (const std::string& text :
       {draw_elastic(document), draw_history(document), draw_speeds(document)}) {
    EXPECT_THAT(text, testing::EndsWith("\n17 more not shown\n"));
  }
  EXPECT_THAT(draw_profiles(document), testing::EndsWith("\n2 more not shown\n"));
}

TEST(DrawProfiles, HasALineForEachJob) {
  const json document = json::parse(R"({"profiles":[
      {"name":"hpc/wave","runs":1,"last":"2026-11-19","why":"it was observed for 30 s"},
      {"name":"hpc/wind","profile":"memory","runs":12,"last":"2026-11-20",
       "why":"21 L3 misses per 1,000 instructions in 12 runs, last 2026-11-20"}]})");
  EXPECT_EQ(draw_profiles(document),
            "JOB       PROFILE  RUNS  LAST        WHY\n"
            "hpc/wave  -           1  2026-11-19  it was observed for 30 s\n"
            "hpc/wind  memory     12  2026-11-20  21 L3 misses per 1,000 instructions in 12 runs, "
            "last 2026-11-20\n");
}

TEST(DrawProfiles, IsNotHurtByWhatAServerSays) {
  EXPECT_EQ(draw_profiles(json::parse(R"({"profiles":[]})")), "no profiles learnt\n");
  EXPECT_EQ(draw_profiles(json::parse(R"({"profiles":[7,{"why":"a\u001b[2J"}]})")).find('\x1b'),
            std::string::npos);
}

TEST(Scale, AnnotatesThroughKubectl) {
  EXPECT_THAT(scale_arguments({.job = "wave", .workers = "4", .kind = "job", .name_space = {}}),
              ElementsAre("kubectl", "annotate", "--overwrite", "job", "wave",
                          "pinion.dev/requested-workers=4"));
  EXPECT_THAT(
      scale_arguments({.job = "wave", .workers = "auto", .kind = "mpijob", .name_space = "hpc"}),
      ElementsAre("kubectl", "annotate", "--namespace=hpc", "mpijob", "wave",
                  "pinion.dev/requested-workers-"));
}

}  // namespace
}  // namespace pinion::ctl
