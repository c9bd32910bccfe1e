#include "tests/fuzz/target.h"

#include <cstdio>
#include <map>
#include <string>

namespace pinion::fuzz {
namespace {

std::map<std::string, Target, std::less<>>& targets() {
  static std::map<std::string, Target, std::less<>> all;
  return all;
}

}  // namespace

Listed::Listed(std::string_view name, Target target) {
  targets().emplace(name, target);
}

Target chosen(std::string_view program) {
  constexpr std::string_view kEnd = "_fuzz";
  std::string_view name = program.substr(program.rfind('/') + 1);  // of npos: all of it
  if (name.ends_with(kEnd)) name.remove_suffix(kEnd.size());
  const auto found = targets().find(name);
  if (found != targets().end()) return found->second;
  std::fprintf(
      stderr,
      "start this program by the name of a target and _fuzz, by one of these links to it:\n");
  for (const auto& [known, target] : targets()) std::fprintf(stderr, "  %s_fuzz\n", known.c_str());
  std::exit(2);
}

}  // namespace pinion::fuzz
