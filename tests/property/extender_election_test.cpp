// Three candidates and one record, under everything that the rules of
// cluster/extender/kube/election.h allow: clocks of different rates that show different times,
// messages that take long, are carried out late or lose their answer, processes that stand still or
// are started anew. At no moment two of them believe that they lead.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <memory>
#include <random>

#include "cluster/extender/kube/election.h"

namespace pinion::kube {
namespace {

using std::chrono::milliseconds;

// Real time, which no candidate knows.
using Real = long;  // ms

// As an API server keeps it.
struct Server {
  std::optional<LeaseRecord> record;
  long version = 0;

  // What replaces a record names its version; creating needs that there is none.
  std::optional<LeaseRecord> write(LeaseRecord wanted) {
    const bool fits = record ? wanted.version == record->version : wanted.version.empty();
    if (!fits) return std::nullopt;
    wanted.version = std::to_string(++version);
    record = wanted;
    return record;
  }
};

// One message on its way: carried out at one moment, answered at a later one or never.
struct Message {
  Real done = 0;
  Real answered = 0;
  bool lost = false;
  std::optional<LeaseRecord> wanted;  // none: a look
  bool accepted = false;
  std::optional<LeaseRecord> result;
  Election::TimePoint sent;
};

class Candidate {
 public:
  Candidate(const std::string& name, const LeaseTiming& timing, double rate, Real offset)
      : name_(name), timing_(timing), rate_(rate), offset_(offset) {
    restart();
  }

  // A new process is another candidate.
  void restart() {
    election_ = std::make_unique<Election>(name_ + std::to_string(++starts_), timing_);
    message_.reset();  // it may still be carried out, like any that was sent
  }

  [[nodiscard]] Election::TimePoint clock(Real now) const {
    const auto shown = static_cast<double>(now) * rate_;
    return Election::TimePoint(milliseconds(static_cast<long>(shown) + offset_));
  }
  [[nodiscard]] bool leading(Real now) const { return election_->leading(clock(now)); }
  [[nodiscard]] bool busy() const { return message_ != nullptr; }

  std::shared_ptr<Message> look(Real now) { return begin(now, std::nullopt); }
  std::shared_ptr<Message> act(Real now) {
    const auto action = election_->decide(clock(now));
    if (action == Election::Action::kWait) return nullptr;
    return begin(now, election_->proposal(action, "T"));
  }
  std::shared_ptr<Message> resign(Real now) {
    const auto record = election_->resignation("T");
    return record ? begin(now, *record) : nullptr;
  }

  void answer(Real now) {
    const std::shared_ptr<Message> message = std::move(message_);
    message_.reset();
    if (message->lost) return;  // its time ran out
    if (!message->wanted) {
      election_->observe(message->result, clock(now));
    } else if (message->accepted) {
      election_->confirmed(*message->result, message->sent, clock(now));
    }
  }
  [[nodiscard]] const Message* message() const { return message_.get(); }

 private:
  std::shared_ptr<Message> begin(Real now, std::optional<LeaseRecord> wanted) {
    message_ = std::make_shared<Message>();
    message_->wanted = std::move(wanted);
    message_->sent = clock(now);
    return message_;
  }

  std::string name_;
  LeaseTiming timing_;
  double rate_;
  Real offset_;
  int starts_ = 0;
  std::unique_ptr<Election> election_;
  std::shared_ptr<Message> message_;
};

// Chance from a seed: a life has thousands of draws, too many to be drawn one by one by rapidcheck.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}

  Real between(Real least, Real most) {
    return std::uniform_int_distribution<Real>(least, most)(engine_);
  }
  bool one_in(Real times) { return between(1, times) == 1; }

 private:
  std::mt19937_64 engine_;
};

class World {
 public:
  // Clocks run at rates from 1 to `fastest`.
  World(std::uint64_t seed, double fastest) : dice_(seed) {
    for (const char* name : {"a", "b", "c"}) {
      const double rate = 1 + (fastest - 1) * static_cast<double>(dice_.between(0, 100)) / 100;
      candidates_.push_back(
          std::make_unique<Candidate>(name, LeaseTiming{}, rate, dice_.between(0, 1'000'000'000)));
    }
  }

  // How many lead now, with everything of this moment carried out.
  int step() {
    now_ += dice_.one_in(100) ? dice_.between(1000, 20'000) : dice_.between(0, 800);
    carry_out();
    for (auto& candidate : candidates_) {
      const Message* message = candidate->message();
      if (message != nullptr && message->answered <= now_) candidate->answer(now_);
    }
    auto& one = *candidates_[static_cast<std::size_t>(dice_.between(0, 2))];
    if (dice_.one_in(300)) {
      one.restart();
    } else if (!one.busy()) {
      send(one);
    }
    return leaders();
  }

 private:
  [[nodiscard]] int leaders() const {
    int count = 0;
    for (const auto& candidate : candidates_) count += candidate->leading(now_) ? 1 : 0;
    return count;
  }

  void send(Candidate& one) {
    const auto message = dice_.one_in(150) ? one.resign(now_)
                         : dice_.one_in(2) ? one.look(now_)
                                           : one.act(now_);
    if (!message) return;
    message->done = now_ + delay();
    message->answered = message->done + delay();
    message->lost = dice_.one_in(10);
    if (message->lost) message->answered = now_ + dice_.between(0, 5000);
    on_the_way_.emplace(message->done, message);
  }
  Real delay() { return dice_.one_in(20) ? dice_.between(300, 30'000) : dice_.between(0, 300); }

  // In the order of real time; also what nobody waits for any more.
  void carry_out() {
    while (!on_the_way_.empty() && on_the_way_.begin()->first <= now_) {
      Message& message = *on_the_way_.begin()->second;
      message.result = message.wanted ? server_.write(*message.wanted) : server_.record;
      message.accepted = message.result.has_value();
      on_the_way_.erase(on_the_way_.begin());
    }
  }

  Dice dice_;
  Real now_ = 0;
  Server server_;
  std::vector<std::unique_ptr<Candidate>> candidates_;
  std::multimap<Real, std::shared_ptr<Message>> on_the_way_;
};

// How many moments of a random life had one leader, and how many had more.
struct Life {
  int led = 0;
  int led_by_two = 0;
};

constexpr int kSteps = 2000;

Life live(std::uint64_t seed, double fastest) {
  World world(seed, fastest);
  Life life;
  for (int i = 0; i < kSteps; ++i) {
    const int leaders = world.step();
    life.led += leaders == 1 ? 1 : 0;
    life.led_by_two += leaders > 1 ? 1 : 0;
  }
  return life;
}

// 1.5 is duration / renew_deadline.
RC_GTEST_PROP(Election, NeverLetsTwoLeadAtOnce, (std::uint64_t seed)) {
  const Life life = live(seed, 1.49);
  RC_ASSERT(life.led_by_two == 0);
  RC_ASSERT(life.led > kSteps / 10);
}

// The same world with clocks beyond the bound: so it would be seen.
TEST(Election, LetsTwoLeadWhenClocksDifferTooMuch) {
  int led_by_two = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) led_by_two += live(seed, 4).led_by_two;
  EXPECT_GT(led_by_two, 0);
}

}  // namespace
}  // namespace pinion::kube
