// A page seen: what most tests want of a server and a browser.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tests/page/browser.h"
#include "tests/page/scene.h"
#include "tests/page/server.h"

namespace pinion::page_test {

struct Seen {
  nlohmann::json report;  // of the probe; null when there was none
  std::string document;   // as HTML; empty when the page was in a frame
  int requests = 0;
};

inline std::string skip_reason() {
  return find_browser().empty() ? "no chromium is installed (Debian's package chromium)" : "";
}

inline Answer answer_of(const Scene& scene, int tick) {
  return {.status = 200, .body = scene.snapshot(tick).dump()};
}

// Opens the page for as long as the report takes. A narrow view is a frame in a wider window.
inline Seen look(std::function<Answer(int)> answer, nlohmann::json scenario, View view = {}) {
  constexpr int kNarrowestWindow = 500;
  const int report_ms = scenario.at("report_ms");
  view.virtual_ms = report_ms + 1500;
  PageServer server(std::move(answer), std::move(scenario));
  const bool framed = view.width < kNarrowestWindow;
  const std::string url = framed ? server.framed_url(view.width, view.height) : server.url();
  if (framed) view.width = kNarrowestWindow;
  auto document = open_page(url, view);
  if (!document) {
    ADD_FAILURE() << document.error().text;
    return {};
  }
  auto report = server.report();
  EXPECT_TRUE(report) << "the page did not report";
  return {.report = report.value_or(nlohmann::json::object()),
          .document = framed ? "" : *document,
          .requests = server.requests()};
}

inline Seen look(const Scene& scene, nlohmann::json scenario, const View& view = {}) {
  return look([&scene](int tick) { return answer_of(scene, tick); }, std::move(scenario), view);
}

}  // namespace pinion::page_test
