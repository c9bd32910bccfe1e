// Random pods and gangs that come and go, also under a quota that admits gangs in part.
// $PINION_E2E_PODS: how many; $PINION_E2E_CROWD: jobs there at a time; $PINION_E2E_SEED.
#pragma once

#include <functional>
#include <optional>
#include <random>

#include "tests/e2e/quota.h"
#include "tests/e2e/scene.h"

namespace pinion::e2e {

int number_from(const char* variable, int otherwise);

class Crowd : public Scene {
 protected:
  void TearDown() override;  // names the seed with a failure

  [[nodiscard]] int seed() const { return seed_; }
  int roll(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }

  // A pod alone is a gang of one. Six nodes without anybody else have room for each of these.
  Gang some_gang(int cpus);
  void begin(const Gang& gang);

  // Until `pods` have been begun, with at most `jobs` there at a time. `cpus()`: of each member of
  // the next gang. Nobody may bounce.
  void come_and_go(int pods, int jobs, const std::function<int()>& cpus);
  // Those that run end, and those that wait come after them, until all have run, none of them in
  // part, and all have ended.
  void finish();

  // From now on at most so many pods exist, and which of those that are wanted is random. When no
  // gang is there whole, more may exist.
  void limit(int pods);
  [[nodiscard]] int refused_by_quota() const { return refused_; }
  // Done after each gang that come_and_go() begins; and to each of its pods before.
  virtual void disturb() {}
  virtual void dress(PodShape& /*pod*/) {}
  // How pods are deleted: as users do, with time to end. The CPUs of one that is gone at once are
  // planned for others, while its node may be about to begin it.
  virtual void take_away(const std::vector<std::string>& names);

  // The most gangs that come_and_go() saw running whole.
  [[nodiscard]] std::size_t most_whole() const { return most_whole_; }
  // Pods that come_and_go() has begun; their jobs have six at most.
  [[nodiscard]] int begun() const { return begun_; }

 private:
  enum class Standing { kNone, kPart, kWhole };
  static Standing standing(const Gang& gang, const std::map<std::string, Nodes::Held>& held);
  testing::AssertionResult no_gang_in_part();
  std::size_t whole();
  void end(std::size_t index);
  void make_wanted();
  bool exists(const Gang& gang) const;  // with all of its pods

  const int seed_ = number_from("PINION_E2E_SEED", 1);
  std::mt19937 random_{static_cast<unsigned>(seed_)};
  int next_ = 0;
  std::vector<Gang> all_;  // that were begun and not ended
  std::size_t most_whole_ = 0;
  int begun_ = 0;
  std::optional<Quota> quota_;
  int limit_ = 0;
  std::vector<PodShape> wanted_;  // that the quota has not let in
  int refused_ = 0;               // times that it has not
};

}  // namespace pinion::e2e
