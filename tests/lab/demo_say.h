// The demo's words, line by line as they come.
#pragma once

#include <cstdio>
#include <string>

namespace pinion::lab {

inline void say(const std::string& text) {
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
}

}  // namespace pinion::lab
