#include "metrics/prometheus/writer.h"

#include <array>
#include <charconv>
#include <cmath>
#include <system_error>
#include <utility>

#include "base/utf8.h"
#include "metrics/prometheus/escape.h"

namespace pinion::prometheus {
namespace {

void append(std::string& text, std::uint64_t value) {
  std::array<char, 24> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  text.append(digits.data(), end.ptr);
}

// The shortest digits that give the same double again.
void append(std::string& text, double value) {
  if (std::isnan(value)) {
    text += "NaN";
    return;
  }
  if (std::isinf(value)) {
    text += value > 0 ? "+Inf" : "-Inf";
    return;
  }
  std::array<char, 40> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  text.append(digits.data(), end.ptr);
}

// A bucket's bound is a label, so it has to be spelt the same in both formats for the series to be
// the same, and as people would write it in a query: "0.0001" and, as OpenMetrics wants it, "1.0".
std::string bound_text(double bound) {
  std::array<char, 40> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), bound,
                                 std::chars_format::general);
  std::string text(digits.data(), end.ptr);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

// Help of 0.0.4 knows no escaped quote, OpenMetrics demands it.
void append_help(std::string& text, std::string_view help, Format format) {
  for (const char c : help) {
    if (c == '\\') {
      text += "\\\\";
    } else if (c == '\n') {
      text += "\\n";
    } else if (c == '"' && format == Format::kOpenMetrics) {
      text += "\\\"";
    } else {
      text += c;
    }
  }
}

bool unit_is_in_name(const Series& series) {
  const std::string_view name = family_name(series);
  return !series.unit.empty() && name.size() > series.unit.size() && name.ends_with(series.unit) &&
         name[name.size() - series.unit.size() - 1] == '_';
}

void append_label(std::string& text, const Label& label) {
  text.append(label.name).append("=\"");
  append_escaped(text, cut_utf8(label.value, kMaxLabelValue));
  text += '"';
}

}  // namespace

std::string_view content_type(Format format) {
  return format == Format::kText ? "text/plain; version=0.0.4; charset=utf-8"
                                 : "application/openmetrics-text; version=1.0.0; charset=utf-8";
}

void Labels::add(const Label& label) {
  if (!text_.empty()) text_ += ',';
  append_label(text_, label);
}

Writer::Writer(Format format, std::size_t expected_bytes) : format_(format) {
  text_.reserve(expected_bytes);
}

void Writer::family(const Series& series) {
  series_ = &series;
  head_due_ = true;
}

// OpenMetrics names the family, 0.0.4 the samples; 0.0.4 has no info. A UNIT that the name does not
// end in is an error in OpenMetrics, and so is one of an info.
void Writer::head() {
  if (!head_due_) return;
  head_due_ = false;
  const bool open_metrics = format_ == Format::kOpenMetrics;
  const std::string_view name = open_metrics ? family_name(*series_) : series_->name;
  Type type = series_->type;
  if (!open_metrics && type == Type::kInfo) type = Type::kGauge;
  text_.append("# HELP ").append(name).append(" ");
  append_help(text_, series_->help, format_);
  text_.append("\n# TYPE ").append(name).append(" ").append(to_string(type)).append("\n");
  if (open_metrics && series_->type != Type::kInfo && unit_is_in_name(*series_)) {
    text_.append("# UNIT ").append(name).append(" ").append(series_->unit).append("\n");
  }
}

void Writer::open(std::string_view suffix, const Labels& labels,
                  std::initializer_list<Label> more) {
  head();
  text_.append(series_->name).append(suffix);
  const bool any = !labels.text().empty() || more.size() != 0;
  if (any) {
    text_ += '{';
    text_ += labels.text();
    bool comma = !labels.text().empty();
    for (const Label& label : more) {
      if (comma) text_ += ',';
      comma = true;
      append_label(text_, label);
    }
    text_ += '}';
  }
  text_ += ' ';
}

void Writer::sample(const Labels& labels, std::initializer_list<Label> more, std::uint64_t value) {
  open("", labels, more);
  append(text_, value);
  text_ += '\n';
}

void Writer::sample(const Labels& labels, std::initializer_list<Label> more, double value) {
  open("", labels, more);
  append(text_, value);
  text_ += '\n';
}

void Writer::parts(const Series& series, std::string_view label,
                   std::initializer_list<Part> parts) {
  family(series);
  for (const Part& part : parts) sample({}, {{label, part.label_value}}, part.value);
}

void Writer::histogram(const Labels& labels, const Histogram& values) {
  for (std::size_t i = 0; i < values.bounds().size(); ++i) {
    open("_bucket", labels, {{"le", bound_text(values.bounds()[i])}});
    append(text_, values.cumulative(i));
    text_ += '\n';
  }
  open("_bucket", labels, {{"le", "+Inf"}});
  append(text_, values.count());
  text_ += '\n';
  open("_sum", labels, {});
  append(text_, values.sum());
  text_ += '\n';
  open("_count", labels, {});
  append(text_, values.count());
  text_ += '\n';
}

std::string Writer::finish() {
  if (format_ == Format::kOpenMetrics) text_ += "# EOF\n";
  return std::move(text_);
}

}  // namespace pinion::prometheus
