#include "cluster/extender/elastic/telling.h"
#include "policy/annotations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/extender_elastic/sample_job.h"

namespace pinion::cluster::elastic {
namespace {

using nlohmann::json;
using test_support::make_job;
using testing::HasSubstr;

// In the middle of a rescale, with so many pods that are ready.
json rescaling(int before, int wanted, int stated, int ready) {
  json job = make_job({.workers = stated});
  job["metadata"]["annotations"][annotation::kPreviousWorkers] = std::to_string(before);
  job["metadata"]["annotations"][annotation::kWantedWorkers] = std::to_string(wanted);
  job["status"] = {{"active", ready}, {"ready", ready}};
  return job;
}

ElasticObject seen(const json& job) {
  const auto read = read_elastic(job, {});
  EXPECT_TRUE(read) << read.error().text;
  return read ? *read : ElasticObject();
}

TEST(ElasticTelling, FewerAreToldAtOnceAndMoreWhenTheyAreThere) {
  struct Case {
    const char* name;
    json job;
    int told;
    bool asked;
  };
  const Case cases[] = {
      {"nothing is under way", make_job({.workers = 4}), 4, false},
      {"a shrink is decided", rescaling(8, 4, 8, 8), 4, true},
      {"a shrink is under way", rescaling(8, 4, 4, 8), 4, false},
      {"an expand waits for pods", rescaling(4, 8, 8, 5), 4, false},
      {"its pods are there", rescaling(4, 8, 8, 8), 8, true},
      {"it starts", rescaling(0, 6, 6, 0), 6, false},
      {"it has started", rescaling(0, 6, 6, 6), 6, false},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    json job = c.job;
    EXPECT_EQ(size_to_tell(seen(job)), c.told);
    EXPECT_FALSE(is_to_be_asked(seen(job))) << "nobody wants it";
    job["metadata"]["annotations"][annotation::kAcknowledge] = "http:8080";
    EXPECT_EQ(is_to_be_asked(seen(job)), c.asked);
    if (!c.asked) continue;
    for (const char* number : {annotation::kWantedWorkers, annotation::kPreviousWorkers}) {
      job["metadata"]["annotations"][annotation::kAcknowledgedWorkers] =
          job["metadata"]["annotations"][number];
      EXPECT_FALSE(is_to_be_asked(seen(job))) << "answered";
    }
  }
}

TEST(ElasticTelling, ACharmProgramIsLookedAtForWhatItWasSent) {
  struct Case {
    const char* name;
    json job;
    const char* channel;
    const char* acknowledged;
    bool asked;
  };
  const Case cases[] = {
      {"its rescale was given up", make_job({.workers = 8}), "ccs:1234", nullptr, true},
      {"it is not asked over CCS any more", make_job({.workers = 8}), "http:80", nullptr, false},
      {"it has acted", make_job({.workers = 8}), "ccs:1234", "4", false},
      {"one of its new workers is away", rescaling(4, 8, 8, 7), "ccs:1234", nullptr, true},
      {"it has come to another size", rescaling(8, 4, 8, 8), "ccs:1234", "6", false},
      {"it is suspended", make_job({.workers = 8, .suspended = true}), "ccs:1234", nullptr, false},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    json job = c.job;
    json& annotations = job["metadata"]["annotations"];
    annotations[annotation::kAcknowledge] = c.channel;
    annotations[annotation::kRescaleSent] = "8 4 7 u/0";
    if (c.acknowledged != nullptr) annotations[annotation::kAcknowledgedWorkers] = c.acknowledged;
    EXPECT_EQ(is_to_be_asked(seen(job)), c.asked);
  }
}

TEST(ElasticTelling, TheConfigMapIsMadeForWhoMountsIt) {
  json job = rescaling(3, 2, 3, 3);
  EXPECT_FALSE(seen(job).is_told);
  job["spec"]["template"]["spec"]["volumes"] = {
      {{"name", "size"}, {"configMap", {{"name", "wave-elastic"}}}}};
  job["spec"]["template"]["spec"]["subdomain"] = "wave";
  job["metadata"]["annotations"][annotation::kMaxWorkers] = "3";
  job["metadata"]["annotations"][annotation::kPesPerWorker] = "2";
  const auto told = seen(job);
  ASSERT_TRUE(told.is_told);
  const json map = size_map(told);
  EXPECT_EQ(map["metadata"]["name"], "wave-elastic");
  EXPECT_EQ(
      map["metadata"]["ownerReferences"],
      json::parse(R"([{"apiVersion":"batch/v1","kind":"Job","name":"wave","uid":"uid-wave"}])"));
  EXPECT_EQ(map["data"]["wanted-workers"], "2\n");
  EXPECT_EQ(map["data"]["hosts"], "wave-0.wave\nwave-1.wave\n");
  EXPECT_EQ(map["data"]["nodelist"],
            "group main\nhost wave-0.wave ++cpus 2\nhost wave-1.wave ++cpus 2\n"
            "host wave-2.wave ++cpus 2\n");
  json lowered = job;
  lowered["metadata"]["annotations"][annotation::kMaxWorkers] = "2";
  lowered["metadata"]["annotations"].erase(annotation::kWantedWorkers);
  EXPECT_EQ(size_map(seen(lowered))["data"]["hosts"], "wave-0.wave\nwave-1.wave\nwave-2.wave\n")
      << "all that run";
  job["spec"]["template"]["spec"].erase("subdomain");
  EXPECT_FALSE(size_map(seen(job))["data"].contains("hosts")) << "nothing resolves";
}

TEST(ElasticTelling, WhatIsWrittenDownIsForTheVersionSeen) {
  const auto job = seen(rescaling(8, 4, 8, 8));
  EXPECT_EQ(
      acknowledged(job, 4).dump(),
      R"({"metadata":{"annotations":{"pinion.dev/acknowledged-workers":"4"},"resourceVersion":"7"}})");
  EXPECT_THAT(note_sent(job, {.before = 8, .wanted = 4, .at_ms = 7, .head = "u/0"}).dump(),
              HasSubstr(R"("pinion.dev/rescale-sent":"8 4 7 u/0")"));
  EXPECT_THAT(nothing_sent(job, 7).dump(), HasSubstr(R"("pinion.dev/rescale-sent":null)"));
  EXPECT_EQ(question(job).dump(),
            R"({"job":"wave","namespace":"default","wantedWorkers":4,"workers":8})");
}

TEST(ElasticTelling, ChannelsAreRead) {
  using How = Channel::Kind;
  struct Case {
    const char* word;
    std::optional<Channel> channel;
  };
  for (const Case& c :
       {Case{"", Channel()}, Case{"annotation", Channel{How::kAnnotation, 0}},
        Case{"http:8080", Channel{How::kHttp, 8080}}, Case{"ccs:65535", Channel{How::kCcs, 65535}},
        Case{"true", std::nullopt}, Case{"http", std::nullopt}, Case{"http:", std::nullopt},
        Case{"http:0", std::nullopt}, Case{"http:65536", std::nullopt},
        Case{"http:80x", std::nullopt}, Case{"ftp:21", std::nullopt}, Case{":80", std::nullopt}}) {
    EXPECT_EQ(read_channel(c.word), c.channel) << c.word;
  }
}

}  // namespace
}  // namespace pinion::cluster::elastic
