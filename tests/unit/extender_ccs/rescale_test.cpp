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
  Result<int> ask(const CharmProgram& program, const Change& change,
                  std::chrono::milliseconds patience = kPatience) {
    return rescale(program.address(), change, std::chrono::steady_clock::now() + patience, cancel_,
                   [this](int pes) {
                     noted_.push_back(pes);
                     return may_send_;
                   },
                   kept_, {.look = 1ms, .call = patience});
  }

  kube::Cancel cancel_;
  Fd kept_;
  std::vector<int> noted_;  // the PEs that there were, before each request
  Status may_send_;
};

TEST_F(Rescale, BringsAProgramToAnotherSize) {
  struct Case {
    const char* name;
    int before;
    int wanted;
    CharmManners manners;
  };
  for (const Case& c : {Case{"shrink", 8, 4, {}}, Case{"expand", 4, 8, {}},
                        Case{"late", 8, 4, {.looks_before_step = 20}},
                        Case{"away while it restarts", 8, 4, {.looks_while_restart = 10}}}) {
    SCOPED_TRACE(c.name);
    noted_.clear();
    CharmProgram program(c.before, c.manners);
    const auto done = ask(program, {.wanted = c.wanted});
    ASSERT_TRUE(done) << done.error().text;
    EXPECT_EQ(*done, c.wanted);
    EXPECT_EQ(program.pes(), c.wanted);
    EXPECT_THAT(program.asked(), ElementsAre(bitmap(c.before, c.wanted))) << "once";
    EXPECT_THAT(noted_, ElementsAre(c.before));
  }
}

TEST_F(Rescale, AsksNobodyWhoIsThereAlready) {
  CharmProgram program(4);
  EXPECT_TRUE(ask(program, {.wanted = 4}));
  EXPECT_THAT(program.asked(), IsEmpty());
  EXPECT_THAT(noted_, IsEmpty());
}

TEST_F(Rescale, DoesNotSendASecondTime) {
  CharmProgram program(8);
  const auto done = ask(program, {.wanted = 4, .sent_with = 8}, kImpatience);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().text, HasSubstr("still runs with 8 PEs"));
  EXPECT_THAT(program.asked(), IsEmpty());
}

TEST_F(Rescale, SendsOnceMoreWhatMayBeLost) {
  CharmProgram program(8);
  EXPECT_TRUE(ask(program, {.wanted = 4, .sent_with = 8, .again = true}));
  EXPECT_THAT(program.asked(), ElementsAre(bitmap(8, 4)));

  CharmProgram has_acted(4);
  EXPECT_TRUE(ask(has_acted, {.wanted = 4, .sent_with = 8, .again = true}));
  EXPECT_THAT(has_acted.asked(), IsEmpty());
}

TEST_F(Rescale, BelievesNoAnswerButTheNumberOfPes) {
  CharmProgram liar(8, {.acts = false});
  const auto lied = ask(liar, {.wanted = 4}, kImpatience);
  ASSERT_FALSE(lied);
  EXPECT_THAT(lied.error().text, HasSubstr("still runs with 8 PEs"));
  EXPECT_THAT(liar.asked(), ElementsAre(bitmap(8, 4)));
}

TEST_F(Rescale, SaysToWhichOtherNumberAProgramHasCome) {
  CharmProgram other(8, {.ends_with = 6});
  const auto now = ask(other, {.wanted = 4});
  ASSERT_TRUE(now) << now.error().text;
  EXPECT_EQ(*now, 6);

  CharmProgram late(4);
  EXPECT_EQ(*ask(late, {.wanted = 6, .sent_with = 8}), 4);
  EXPECT_THAT(late.asked(), IsEmpty());
}

TEST_F(Rescale, AProgramThatDiesOfItsRestartHasNotCome) {
  CharmProgram program(8, {.looks_until_it_dies = 1});
  const auto done = ask(program, {.wanted = 4}, kImpatience);
  ASSERT_FALSE(done);
  EXPECT_EQ(program.pes(), 4);
}

TEST_F(Rescale, TheSecondLookHasTimeOfItsOwn) {
  CharmProgram program(4);
  const auto done = rescale(
      program.address(), {.wanted = 4}, std::chrono::steady_clock::now() + kImpatience, cancel_,
      [](int) { return Status(); }, kept_, {.look = kImpatience + 100ms, .call = kPatience});
  EXPECT_TRUE(done) << done.error().text;
}

TEST_F(Rescale, GivesUpOneThatSaysNothing) {
  CharmProgram silent(8, {.answers = false});
  const auto done = ask(silent, {.wanted = 4}, kImpatience);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::kUnavailable);
  EXPECT_THAT(done.error().text, HasSubstr("nothing was sent"));
  EXPECT_THAT(noted_, IsEmpty());

  CharmProgram dead(8, {.looks_while_restart = 1'000'000});
  const auto gone = ask(dead, {.wanted = 4}, kImpatience);
  ASSERT_FALSE(gone);
  EXPECT_THAT(gone.error().text, HasSubstr("does not say"));
}

TEST_F(Rescale, RefusesWhatIsNoCcs) {
  CharmProgram web(8, {.garbage = "HTTP/1.1 400 Bad Request\r\n\r\n"});
  const auto done = ask(web, {.wanted = 4});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::kInvalid);
  EXPECT_EQ(ask(CharmProgram(0), {.wanted = 4}).error().code, Errc::kInvalid);
  EXPECT_EQ(rescale(
                {.host = "not.an.address", .port = 1}, {.wanted = 4},
                std::chrono::steady_clock::now() + kPatience, cancel_, [](int) { return Status(); },
                kept_)
                .error()
                .code,
            Errc::kInvalid);
}

TEST_F(Rescale, SendsNothingThatIsNotWrittenDownBefore) {
  CharmProgram program(8);
  may_send_ = failure(Errc::kConflict, "somebody was first");
  const auto done = ask(program, {.wanted = 4});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::kConflict);
  EXPECT_THAT(program.asked(), IsEmpty());
}

TEST_F(Rescale, EndsWhenItIsCancelled) {
  CharmProgram silent(8, {.answers = false});
  std::thread other([this] { cancel_.cancel(); });
  EXPECT_FALSE(ask(silent, {.wanted = 4}));
  other.join();
}

}  // namespace
}  // namespace pinion::cluster::ccs
