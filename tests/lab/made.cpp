#include "tests/lab/made.h"

#include <unistd.h>

#include <filesystem>
#include <utility>

#include "tests/lab/process.h"
#include "tests/support/places.h"

namespace pinion::lab {

namespace fs = std::filesystem;

namespace {

constexpr Milliseconds kLimit{60'000};  // it reads a few files; the machine may be busy

}  // namespace

Result<std::string> made_by(const std::string& script, const std::vector<std::string>& options) {
  const std::string log =
      (fs::temp_directory_path() / ("pinion-where-" + std::to_string(::getpid()))).string();
  std::vector<std::string> argv = {test_support::in_checkout("scripts/" + script), "--where"};
  argv.insert(argv.end(), options.begin(), options.end());
  const auto said = run({.argv = std::move(argv), .env = {}, .log = log}, kLimit);
  std::error_code ignored;
  fs::remove(log, ignored);
  if (!said) return failure(Errc::kUnavailable, said.error().text);
  return said->substr(0, said->find('\n'));
}

}  // namespace pinion::lab
