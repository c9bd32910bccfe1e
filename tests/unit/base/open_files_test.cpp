#include "base/open_files.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/support/own_process.h"

namespace pinion {
namespace {

struct LimitCase {
  const char* name;
  rlim_t soft;  // of 512
  std::uint64_t wanted;
  std::uint64_t soft_after;
};

TEST(OpenFiles, TheSoftLimitIsRaisedWhereItIsTooSmall) {
  constexpr auto all = std::numeric_limits<std::uint64_t>::max();
  const LimitCase cases[] = {
      {"enough", 64, 64, 64},
      {"one too few", 64, 65, 512},
      {"more than there are", 64, 513, 512},
      {"as many as there are", 64, all, 512},
      {"nothing to raise", 512, all, 512},
  };
  for (const auto& test : cases) {
    const auto check = [&]() -> std::string {
      const rlimit limit{test.soft, 512};
      if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return "setrlimit";
      const auto said = allow_open_files(test.wanted);
      if (!said) return said.error().text;
      const auto holds = open_files();
      if (said->soft != holds->soft || said->hard != holds->hard) return "says what does not hold";
      return "soft " + std::to_string(holds->soft) + ", hard " + std::to_string(holds->hard);
    };
    EXPECT_EQ(test_support::in_own_process(check),
              "soft " + std::to_string(test.soft_after) + ", hard 512")
        << test.name;
  }
}

}  // namespace
}  // namespace pinion
