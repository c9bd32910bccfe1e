// Families and samples as the text that Prometheus reads: text format 0.0.4, and OpenMetrics 1.0.
// Written here and not by prometheus-cpp (Debian 12 has its 1.0.1): its TextSerializer knows the
// first of the two alone, has every value as a double, and wants each sample with its labels as an
// object of its own. A scrape of 200 containers takes it ten times this one's CPU time, and seven
// times its allocations with the families that it is made of: tests/bench/exposition_bench.cpp.
//
// Formats: https://prometheus.io/docs/instrumenting/exposition_formats/ and
// https://prometheus.io/docs/specs/om/open_metrics_spec/
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "metrics/prometheus/histogram.h"
#include "metrics/prometheus/series.h"

namespace pinion::prometheus {

enum class Format { kText, kOpenMetrics };
// The value of Content-Type.
[[nodiscard]] std::string_view content_type(Format format);

// A label value longer than this is cut: pod names are at most 253 bytes, but an annotation that
// becomes a label may have 256 KiB.
inline constexpr std::size_t kMaxLabelValue = 1024;

struct Label {
  std::string_view name;   // [a-zA-Z_][a-zA-Z0-9_]*
  std::string_view value;  // any bytes
};

// Labels as they stand in the text, escaped once and used for many samples. What is not UTF-8, and
// control characters other than newline and tab, become U+FFFD: Prometheus would refuse the whole
// scrape for one of them.
class Labels {
 public:
  Labels() = default;
  Labels(std::initializer_list<Label> labels) {
    for (const Label& label : labels) add(label);
  }
  void add(const Label& label);
  [[nodiscard]] const std::string& text() const { return text_; }  // a="b",c="d"

 private:
  std::string text_;
};

class Writer {
 public:
  // `expected_bytes`: room made at once.
  explicit Writer(Format format, std::size_t expected_bytes = 0);

  // The samples that follow are of this family. All of one family come together, in one call of
  // family(); a family without samples leaves nothing in the text.
  void family(const Series& series);

  // `more` comes after `labels`, both may be empty.
  void sample(const Labels& labels, std::initializer_list<Label> more, std::uint64_t value);
  void sample(const Labels& labels, std::initializer_list<Label> more, double value);
  void sample(const Labels& labels, std::uint64_t value) { sample(labels, {}, value); }
  void sample(const Labels& labels, double value) { sample(labels, {}, value); }
  void histogram(const Labels& labels, const Histogram& values);

  // A family of one sample without labels.
  template <class T>
  void single(const Series& series, T value) {
    family(series);
    sample({}, value);
  }
  // A family with a sample for each value of one label.
  struct Part {
    std::string_view label_value;
    std::uint64_t value;
  };
  void parts(const Series& series, std::string_view label, std::initializer_list<Part> parts);

  // The text, with the end that the format asks for. The writer is used up.
  [[nodiscard]] std::string finish();

 private:
  void head();
  void open(std::string_view suffix, const Labels& labels, std::initializer_list<Label> more);

  Format format_;
  const Series* series_ = nullptr;
  bool head_due_ = false;
  std::string text_;
};

}  // namespace pinion::prometheus
