#include "tests/e2e/crowd.h"

#include <algorithm>
#include <cstdlib>

namespace pinion::e2e {

int number_from(const char* variable, int otherwise) {
  const char* value = std::getenv(variable);
  return value != nullptr ? std::atoi(value) : otherwise;
}

void Crowd::TearDown() {
  Scene::TearDown();
  if (HasFailure()) std::cerr << "PINION_E2E_SEED=" << seed_ << '\n';
}

Gang Crowd::some_gang(int cpus) {
  const std::string job = "job-" + std::to_string(next_++);
  const int size = roll(2) == 0 ? 1 : 2 + roll(5);
  return {.job = job, .size = size, .cpus = cpus, .groups = 1 + roll(std::min(size, 3))};
}

void Crowd::begin(const Gang& gang) {
  for (int i = 0; i < gang.size; ++i) {
    PodShape pod = member(gang, i);
    if (gang.size == 1) pod.annotations.erase("pinion.dev/gang-size");
    dress(pod);
    quota_ ? wanted_.push_back(std::move(pod)) : add(pod);
  }
  all_.push_back(gang);
  make_wanted();
}

void Crowd::end(std::size_t index) {
  std::vector<std::string> there = names(all_[index]);
  std::erase_if(there, [&](const std::string& name) {
    return std::erase_if(wanted_, [&](const PodShape& pod) { return pod.name == name; }) > 0;
  });
  take_away(there);
  all_.erase(all_.begin() + static_cast<std::ptrdiff_t>(index));
  make_wanted();
}

void Crowd::take_away(const std::vector<std::string>& names) {
  for (const std::string& name : names) ASSERT_TRUE(ok(admin().ask_pod_to_end(name))) << name;
}

void Crowd::limit(int pods) {
  auto quota = Quota::make(admin());
  ASSERT_TRUE(ok(quota));
  quota_ = *std::move(quota);
  limit_ = pods;
}

bool Crowd::exists(const Gang& gang) const {
  const auto names = Scene::names(gang);
  return std::none_of(wanted_.begin(), wanted_.end(), [&](const PodShape& pod) {
    return std::find(names.begin(), names.end(), pod.name) != names.end();
  });
}

// As many as the quota lets in, and more of them than that where else nobody could ever start.
void Crowd::make_wanted() {
  if (!quota_) return;
  int pods = -static_cast<int>(wanted_.size());
  for (const Gang& gang : all_) pods += gang.size;
  ASSERT_TRUE(ok(quota_->admit(limit_, pods)));
  while (!wanted_.empty()) {
    std::swap(wanted_[static_cast<std::size_t>(roll(static_cast<int>(wanted_.size())))],
              wanted_.back());
    const auto made = admin().add_pod(wanted_.back());
    if (made) {
      ++pods;
      wanted_.pop_back();
      continue;
    }
    ASSERT_TRUE(Quota::has_refused(made)) << made.error().text;
    ++refused_;
    if (std::any_of(all_.begin(), all_.end(), [&](const Gang& gang) { return exists(gang); })) {
      return;
    }
    ASSERT_TRUE(ok(quota_->admit(++limit_, pods)));
  }
}

Crowd::Standing Crowd::standing(const Gang& gang, const std::map<std::string, Nodes::Held>& held) {
  int some = 0;
  for (const std::string& name : names(gang)) some += held.contains(name) ? 1 : 0;
  if (some == 0) return Standing::kNone;
  return some == gang.size ? Standing::kWhole : Standing::kPart;
}

// Gangs that run in part get whole, without any more ado.
testing::AssertionResult Crowd::no_gang_in_part() {
  std::string part;
  const bool done = nodes().wait([&] {
    const auto held = nodes().held();
    for (const Gang& gang : all_) {
      part = gang.job;
      if (standing(gang, held) == Standing::kPart) return false;
    }
    return true;
  });
  if (done) return testing::AssertionSuccess();
  return testing::AssertionFailure() << part << " runs in part";
}

// How many run whole.
std::size_t Crowd::whole() {
  const auto held = nodes().held();
  return static_cast<std::size_t>(std::count_if(all_.begin(), all_.end(), [&](const Gang& gang) {
    return standing(gang, held) == Standing::kWhole;
  }));
}

void Crowd::come_and_go(int pods, int jobs, const std::function<int()>& cpus) {
  while (begun_ < pods) {
    begin(some_gang(cpus()));
    begun_ += all_.back().size;
    disturb();
    if (all_.size() > static_cast<std::size_t>(jobs)) {
      // Half of those that end may never have run.
      const bool patient = roll(2) == 0;
      ASSERT_TRUE(!patient || nodes().wait([&] { return whole() > 0; }));
      end(static_cast<std::size_t>(roll(static_cast<int>(all_.size()))));
    }
    ASSERT_TRUE(nodes().bounced().empty()) << nodes().bounced().front().text;
    most_whole_ = std::max(most_whole_, whole());
  }
}

void Crowd::finish() {
  while (!all_.empty()) {
    ASSERT_TRUE(nodes().wait([&] { return whole() > 0; })) << all_.size() << " wait";
    ASSERT_TRUE(no_gang_in_part());
    const auto held = nodes().held();
    for (std::size_t i = all_.size(); i-- > 0;) {
      if (standing(all_[i], held) == Standing::kWhole) end(i);
    }
  }
  EXPECT_TRUE(nodes().wait([&] { return nodes().held().empty(); }));
}

}  // namespace pinion::e2e
