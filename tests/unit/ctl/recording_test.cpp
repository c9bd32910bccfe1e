#include "ctl/source/recording.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "ctl/compare/compare_sources.h"
#include "tests/support/tree.h"
#include "tests/unit/ctl/sample.h"

namespace pinion::ctl {
namespace {

using google::protobuf::util::MessageDifferencer;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

class RecordingFile : public testing::Test {
 protected:
  [[nodiscard]] std::string path() const { return (dir_.path() / "run.jsonl").string(); }
  void write(const std::string& text) const { std::ofstream(path(), std::ios::binary) << text; }

  // Snapshots from 1000000 ms on, one a second, with this many migrations per second.
  void write_run(const std::vector<double>& migrations) const {
    std::string text;
    RecordingWriter writer;
    std::int64_t time = 1000000;
    for (const double rate : migrations) {
      Moment moment;
      moment.unix_ms = time;
      moment.snapshot = small_sample();
      v1::Container& rank = *moment.snapshot.mutable_containers(2);
      rank.mutable_rates()->set_migrations_per_second(rate);
      rank.mutable_figures()->set_migrations(static_cast<std::uint64_t>(time));  // a new pass
      text += *writer.line_of(moment);
      time += 1000;
    }
    write(text);
  }

 private:
  test_support::TempDir dir_;
};

TEST(RecordedLine, ComesBackWhole) {
  Moment moment;
  moment.unix_ms = 1767225600123;
  moment.snapshot = large_sample();
  const auto line = recorded_line(moment);
  ASSERT_TRUE(line);
  EXPECT_THAT(*line, StartsWith("{\"unix_ms\":1767225600123,\"node\":{"));
  EXPECT_EQ(line->find('\n'), line->size() - 1);
  EXPECT_THAT(*line, HasSubstr("\"task_group\":"));
  const auto back = parse_recorded(*line);
  ASSERT_TRUE(back) << back.error().text;
  EXPECT_EQ(back->unix_ms, moment.unix_ms);
  EXPECT_TRUE(MessageDifferencer::Equals(back->snapshot, moment.snapshot));
}

TEST(RecordedLine, OfNothingComesBack) {
  const auto line = recorded_line({});
  ASSERT_TRUE(line);
  EXPECT_EQ(*line, "{\"unix_ms\":0}\n");
  EXPECT_TRUE(parse_recorded(*line));
}

TEST(ParseRecorded, SkipsWhatANewerProgramWrote) {
  const auto moment = parse_recorded(
      R"({"later":{"unix_ms":"x"},"node":{"name":"n","later":[1]},"unix_ms":7,"containers":[]})");
  ASSERT_TRUE(moment) << moment.error().text;
  EXPECT_EQ(moment->unix_ms, 7);
  EXPECT_EQ(moment->snapshot.node().name(), "n");
}

TEST(ParseRecorded, SaysWhatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "not a JSON object"},
      {"{", "not a JSON object"},
      {"[]", "not a JSON object"},
      {"{} {}", "not a JSON object"},
      {R"({"unix_ms":"1"})", "unix_ms is not a whole number"},
      {R"({"unix_ms":1.5})", "unix_ms is not a whole number"},
      {R"({"unix_ms":-1})", "unix_ms is no time between 1970 and 9999"},
      {R"({"unix_ms":9223372036854775808})", "unix_ms is no time between 1970 and 9999"},
      {R"({"unix_ms":1,"node":1})", "not a snapshot: "},
      {R"({"unix_ms":1,"node":{"generation":"x"}})", "not a snapshot: "},
      {"{\"node\":{\"generation\":\"\u00e9\"}}", "??"},  // no terminal gets it as it is
  };
  for (const auto& [text, message] : cases) {
    const auto moment = parse_recorded(text);
    ASSERT_FALSE(moment) << text;
    EXPECT_THAT(moment.error().text, HasSubstr(message)) << text;
    EXPECT_THAT(moment.error().text, Not(HasSubstr("\n"))) << text;
  }
}

TEST_F(RecordingFile, CarriesTheMachineOverItsLines) {
  write_run({1, 2});
  auto recording = Recording::open(path());
  ASSERT_TRUE(recording) << recording.error().text;
  for (int i = 0; i < 2; ++i) {
    const auto moment = (*recording)->next();
    ASSERT_TRUE(moment) << moment.error().text;
    ASSERT_TRUE(moment->has_value());
    EXPECT_EQ((*moment)->snapshot.node().machine().cpus_size(), 2);
  }
  const auto end = (*recording)->next();
  ASSERT_TRUE(end);
  EXPECT_FALSE(end->has_value());
  std::ifstream file(path());
  std::string line;
  std::getline(file, line);
  EXPECT_THAT(line, HasSubstr("\"machine\""));
  std::getline(file, line);
  EXPECT_THAT(line, Not(HasSubstr("\"machine\"")));
}

TEST_F(RecordingFile, NamesTheBrokenLine) {
  write("{\"unix_ms\":1}\n\n  \n{\"unix_ms\":2}\n{\"unix_ms\":3,\"node\":{\"na");
  auto recording = Recording::open(path());
  ASSERT_TRUE(recording);
  EXPECT_TRUE((*recording)->next());
  EXPECT_TRUE((*recording)->next());
  const auto broken = (*recording)->next();
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().text, path() + ": line 5: not a JSON object");
}

TEST_F(RecordingFile, ReadsNoEndlessLine) {
  auto recording = Recording::open("/dev/zero");
  ASSERT_TRUE(recording);
  const auto moment = (*recording)->next();
  ASSERT_FALSE(moment);
  EXPECT_THAT(moment.error().text, StartsWith("/dev/zero: line 1: longer than"));
}

TEST_F(RecordingFile, MustBeThere) {
  const auto recording = Recording::open(path());
  ASSERT_FALSE(recording);
  EXPECT_EQ(recording.error().code, Errc::kNotFound);
}

TEST_F(RecordingFile, LatestIsItsLastLine) {
  write("{\"unix_ms\":1}\n{\"unix_ms\":2}\n");
  auto recording = Recording::open(path());
  ASSERT_TRUE(recording);
  const auto last = latest(**recording);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->unix_ms, 2);
  write("");
  auto empty = Recording::open(path());
  ASSERT_TRUE(empty);
  const auto nothing = latest(**empty);
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code, Errc::kNotFound);
}

std::vector<double> migrations_in(const Result<Series>& series) {
  if (!series) {
    ADD_FAILURE() << series.error().text;
    return {};
  }
  return (*series)[static_cast<std::size_t>(Quantity::kMigrations)];
}

TEST_F(RecordingFile, IsCutToAnInterval) {
  write_run({10, 11, 12, 13, 14});
  const Selection wind{.job = "wind", .match = ""};
  const auto cut = [&](std::optional<double> from, std::optional<double> to) {
    return migrations_in(series_of_recording({path(), from, to}, wind));
  };
  EXPECT_THAT(cut({}, {}), ElementsAre(10, 11, 12, 13, 14));
  EXPECT_THAT(cut(1, 3), ElementsAre(11, 12, 13));
  EXPECT_THAT(cut(0.5, 2.5), ElementsAre(11, 12));
  EXPECT_THAT(cut({}, 0), ElementsAre(10));
  EXPECT_THAT(cut(4, {}), ElementsAre(14));
  const auto beyond = series_of_recording({path(), 5, {}}, wind);
  ASSERT_FALSE(beyond);
  EXPECT_THAT(beyond.error().text, HasSubstr("no snapshot in that interval"));
}

TEST_F(RecordingFile, WithoutTimesHasNoIntervals) {
  write("{}\n{}\n");
  const auto series = series_of_recording({path(), 1, {}}, {});
  ASSERT_FALSE(series);
  EXPECT_THAT(series.error().text, HasSubstr("unix_ms"));
}

TEST_F(RecordingFile, WithoutTheJobSaysSo) {
  write_run({1});
  const auto series = series_of_recording({path(), {}, {}}, {.job = "rain", .match = "x"});
  ASSERT_FALSE(series);
  EXPECT_EQ(series.error().code, Errc::kNotFound);
  EXPECT_THAT(series.error().text, HasSubstr("no container of job 'rain' like 'x' in it"));
}

}  // namespace
}  // namespace pinion::ctl
