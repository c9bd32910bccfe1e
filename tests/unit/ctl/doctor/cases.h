// What the tests of checks share.
#pragma once

#include <gmock/gmock.h>

#include <fstream>
#include <functional>
#include <ostream>
#include <set>
#include <string>

#include "ctl/doctor/finding.h"
#include "tests/support/places.h"
#include "topology/cpuset.h"

namespace pinion::ctl::doctor {

inline topology::CpuSet cpus(const char* list) {
  return topology::CpuSet::parse(list).value();
}

// A finding of that severity whose text and advice have these words.
inline auto finding(Severity severity, const std::string& id, const std::string& what,
                    const std::string& advice) {
  return testing::AllOf(testing::Field("severity", &Finding::severity, severity),
                        testing::Field("id", &Finding::id, id),
                        testing::Field("what", &Finding::what, testing::HasSubstr(what)),
                        testing::Field("advice", &Finding::advice, testing::HasSubstr(advice)));
}

// One thing that is spoiled in facts that are good, and what is found of it.
template <class Facts>
struct Spoiled {
  const char* name;
  std::function<void(Facts&)> spoil;
  Severity severity;
  const char* id;
  const char* what;
  const char* advice;

  friend std::ostream& operator<<(std::ostream& out, const Spoiled& one) { return out << one.name; }
};

// What a check finds once the facts, good before, are spoiled: that alone.
template <class Facts, class Check>
void expect_found(const Spoiled<Facts>& one, Facts facts, const Check& check) {
  one.spoil(facts);
  Findings bad = check(facts);
  std::erase_if(bad, [](const Finding& each) { return each.severity == Severity::kGood; });
  EXPECT_THAT(bad, testing::ElementsAre(finding(one.severity, one.id, one.what, one.advice)));
}

// The ids in docs/doctor.md between "<!-- checks of WHAT: begin -->" and its end.
inline std::set<std::string> documented_ids(const std::string& what) {
  std::ifstream file(test_support::in_checkout("docs/doctor.md"));
  std::set<std::string> ids;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line == "<!-- checks of " + what + ": begin -->") inside = true;
    if (line == "<!-- checks of " + what + ": end -->") inside = false;
    if (!inside || !line.starts_with("| `")) continue;
    ids.insert(line.substr(3, line.find('`', 3) - 3));
  }
  return ids;
}

}  // namespace pinion::ctl::doctor
