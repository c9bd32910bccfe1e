#include "cluster/extender/ccs/rescale.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/extender/ccs/codec.h"
#include "tests/unit/extender_ccs/charm_program.h"

namespace pinion::cluster::ccs {
namespace {

using namespace std::chrono_literals;
using test_support::CharmManners;
using test_support::CharmProgram;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr auto kPatience = 20s;
constexpr auto kImpatience = 2s;  // of a program that is to be given up

class Rescale : public testing::Test {
 protected:
  Status ask(const CharmProgram& program, const Change& change,
             std::chrono::milliseconds patience = kPatience) {
    return rescale(program.address(), change, std::chrono::steady_clock::now() + patience, cancel_,
                   [this] {
                     ++sent_;
                     return may_send_;
                   },
                   kept_, {.look = 1ms, .call = patience});
  }

  kube::Cancel cancel_;
  Fd kept_;
  int sent_ = 0;
  Status may_send_;
};

TEST_F(Rescale, BringsAProgramToAnotherSize) {
  struct Case {
    const char* name;
    Change change;
    CharmManners manners;
  };
  for (const Case& c :
       {Case{"shrink", {.before = 8, .wanted = 4}, {}},
        Case{"expand", {.before = 4, .wanted = 8}, {}},
        Case{"late", {.before = 8, .wanted = 4}, {.looks_before_step = 20}},
        Case{"away while it restarts", {.before = 8, .wanted = 4}, {.looks_while_restart = 10}}}) {
    SCOPED_TRACE(c.name);
    CharmProgram program(c.change.before, c.manners);
    const Status done = ask(program, c.change);
    EXPECT_TRUE(done) << done.error().text;
    EXPECT_EQ(program.pes(), c.change.wanted);
    EXPECT_THAT(program.asked(), ElementsAre(bitmap(c.change.before, c.change.wanted))) << "once";
  }
  EXPECT_EQ(sent_, 4);
}

TEST_F(Rescale, AsksNobodyWhoIsThereAlready) {
  CharmProgram program(4);
  EXPECT_TRUE(ask(program, {.before = 8, .wanted = 4}));
  EXPECT_THAT(program.asked(), IsEmpty());
  EXPECT_EQ(sent_, 0);
}

TEST_F(Rescale, DoesNotSendASecondTime) {
  CharmProgram program(8);
  const Status done = ask(program, {.before = 8, .wanted = 4, .sent = true}, kImpatience);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().text, HasSubstr("still runs with 8 PEs"));
  EXPECT_THAT(program.asked(), IsEmpty());
}

TEST_F(Rescale, BelievesNoAnswerButTheNumberOfPes) {
  CharmProgram liar(8, {.acts = false});
  const Status lied = ask(liar, {.before = 8, .wanted = 4}, kImpatience);
  ASSERT_FALSE(lied);
  EXPECT_THAT(lied.error().text, HasSubstr("still runs with 8 PEs"));
  EXPECT_THAT(liar.asked(), ElementsAre(bitmap(8, 4)));

  CharmProgram other(8, {.ends_with = 6});
  const Status wrong = ask(other, {.before = 8, .wanted = 4});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, Errc::kInvalid);
  EXPECT_THAT(wrong.error().text, HasSubstr("runs with 6 PEs, neither 8 nor 4"));
}

TEST_F(Rescale, GivesUpOneThatSaysNothing) {
  CharmProgram silent(8, {.answers = false});
  const Status done = ask(silent, {.before = 8, .wanted = 4}, kImpatience);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::kUnavailable);
  EXPECT_THAT(done.error().text, HasSubstr("nothing was sent"));
  EXPECT_EQ(sent_, 0);

  CharmProgram dead(8, {.looks_while_restart = 1'000'000});
  const Status gone = ask(dead, {.before = 8, .wanted = 4}, kImpatience);
  ASSERT_FALSE(gone);
  EXPECT_THAT(gone.error().text, HasSubstr("does not say"));
}

TEST_F(Rescale, RefusesWhatIsNoCcs) {
  CharmProgram web(8, {.garbage = "HTTP/1.1 400 Bad Request\r\n\r\n"});
  const Status done = ask(web, {.before = 8, .wanted = 4});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::kInvalid);
  EXPECT_EQ(
      rescale(
          {.host = "not.an.address", .port = 1}, {.before = 8, .wanted = 4},
          std::chrono::steady_clock::now() + kPatience, cancel_, [] { return Status(); }, kept_)
          .error()
          .code,
      Errc::kInvalid);
}

TEST_F(Rescale, SendsNothingThatIsNotWrittenDownBefore) {
  CharmProgram program(8);
  may_send_ = failure(Errc::kConflict, "somebody was first");
  const Status done = ask(program, {.before = 8, .wanted = 4});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::kConflict);
  EXPECT_THAT(program.asked(), IsEmpty());
}

TEST_F(Rescale, EndsWhenItIsCancelled) {
  CharmProgram silent(8, {.answers = false});
  std::thread other([this] { cancel_.cancel(); });
  EXPECT_FALSE(ask(silent, {.before = 8, .wanted = 4}));
  other.join();
}

}  // namespace
}  // namespace pinion::cluster::ccs
