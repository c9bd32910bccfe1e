#include "tests/unit/http/text_check.h"

#include <re2/re2.h>

#include <set>
#include <sstream>

namespace pinion::agent {
namespace {

using prometheus::Format;

class Check {
 public:
  explicit Check(Format format) : format_(format) {}

  void line(const std::string& line) {
    if (ended_) fault("after # EOF", line);
    if (line == "# EOF") {
      ended_ = true;
    } else if (line.starts_with("# ")) {
      comment(line);
    } else {
      sample(line);
    }
  }

  std::vector<std::string> finish() {
    if (ended_ != (format_ == Format::kOpenMetrics)) fault("# EOF", "at the end");
    return faults_;
  }

 private:
  void fault(const std::string& what, const std::string& where) {
    faults_.push_back(what + ": " + where);
  }

  void comment(const std::string& line) {
    static const RE2 kForm("# (HELP|TYPE|UNIT) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)");
    std::string keyword;
    std::string name;
    std::string text;
    if (!RE2::FullMatch(line, kForm, &keyword, &name, &text)) {
      fault("no comment", line);
      return;
    }
    if (keyword == "HELP") {
      if (!families_.insert(name).second) fault("family twice", line);
      family_ = name;
      type_.clear();
    }
    if (name != family_) fault("comment of another family", line);
    if (keyword == "TYPE") type_ = text;
    if (keyword == "UNIT" && (type_ == "info" || !name.ends_with("_" + text))) {
      fault("unit not in the name", line);
    }
  }

  [[nodiscard]] bool belongs(const std::string& name) const {
    if (type_ == "histogram") {
      return name == family_ + "_bucket" || name == family_ + "_sum" || name == family_ + "_count";
    }
    if (format_ == Format::kOpenMetrics && type_ == "counter") return name == family_ + "_total";
    if (format_ == Format::kOpenMetrics && type_ == "info") return name == family_ + "_info";
    return !type_.empty() && name == family_;
  }

  void sample(const std::string& line) {
    static const RE2 kForm(
        R"re(([a-zA-Z_:][a-zA-Z0-9_:]*)(\{.*\})? ([-+]?(?:[0-9.]+(?:e[-+]?[0-9]+)?|Inf)|NaN))re");
    std::string name;
    std::string set;
    if (!RE2::FullMatch(line, kForm, &name, &set)) {
      fault("no sample", line);
      return;
    }
    if (!belongs(name)) fault("sample outside of its family", line);
    if (!labels(set)) fault("labels", line);
    if (!series_.insert(name + set).second) fault("series twice", line);
  }

  // {a="x",b="y"}, by hand: values may be long.
  static bool labels(const std::string& text) {
    if (text.empty()) return true;
    std::set<std::string> names;
    std::size_t i = 1;
    while (true) {
      const std::size_t equals = text.find("=\"", i);
      if (equals == std::string::npos) return false;
      const std::string name = text.substr(i, equals - i);
      static const RE2 kName("[a-zA-Z_][a-zA-Z0-9_]*");
      if (!RE2::FullMatch(name, kName) || !names.insert(name).second) return false;
      i = equals + 2;
      while (i < text.size() && text[i] != '"') {
        if (text[i] == '\\' && std::string_view("\\n\"").find(text[++i]) == std::string_view::npos)
          return false;
        ++i;
      }
      if (++i >= text.size()) return false;
      if (text[i] == '}') return i + 1 == text.size();
      if (text[i++] != ',') return false;
    }
  }

  Format format_;
  bool ended_ = false;
  std::string family_;
  std::string type_;
  std::set<std::string> families_;
  std::set<std::string> series_;
  std::vector<std::string> faults_;
};

}  // namespace

std::vector<std::string> faults_of(std::string_view text, Format format) {
  Check check(format);
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) check.line(line);
  std::vector<std::string> faults = check.finish();
  if (!text.ends_with('\n')) faults.emplace_back("no line feed at the end");
  return faults;
}

std::map<std::string, std::string> samples_of(std::string_view text) {
  std::map<std::string, std::string> samples;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#")) continue;
    const std::size_t blank = line.rfind(' ');
    samples[line.substr(0, blank)] = line.substr(blank + 1);
  }
  return samples;
}

}  // namespace pinion::agent
