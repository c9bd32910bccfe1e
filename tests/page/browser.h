// Chromium without a window, started for one page and ended with it.
#pragma once

#include <string>

#include "base/error.h"

namespace pinion::page_test {

// The browser's path, or empty when none is installed (Debian's package chromium).
std::string find_browser();

struct View {
  int width = 1280;  // of the window, in CSS pixels; at least 500
  int height = 800;
  bool dark = false;       // what prefers-color-scheme says
  int virtual_ms = 6000;   // the page's clock runs this far, as fast as it can
  std::string screenshot;  // a file to write; empty: none
};

// The page's document at the end, as HTML. Errors: kNotFound without a browser; kUnavailable when
// it did not end in three minutes; kInternal when it failed, with its last words.
Result<std::string> open_page(const std::string& url, const View& view);

}  // namespace pinion::page_test
