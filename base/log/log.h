// The log of a daemon: one line per decision, as text or JSON, to standard error. Written by a
// thread of its own from a bounded queue: a blocked reader costs old lines, never an answer, and
// holds up the end by half a second at most. How many lines it cost is said in their place.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log/note.h"
#include "base/words.h"

namespace pinion {

enum class LogFormat { kText, kJson };
inline constexpr std::array kLogFormatWords{Word<LogFormat>{"text", LogFormat::kText},
                                            Word<LogFormat>{"json", LogFormat::kJson}};
inline constexpr std::array<std::string_view, 5> kLogLevels{"trace", "debug", "info", "warn",
                                                            "error"};

class StandardError;

class Log {
 public:
  // `level`: one of kLogLevels. There is one at a time.
  Log(const std::string& level, LogFormat format);
  ~Log();  // writes what is queued, as far as it is read within half a second
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  void set_level(const std::string& level);

  void write(const Note& note);
  void info(std::string text, std::vector<std::pair<std::string, std::string>> fields = {});
  void warn(std::string text, std::vector<std::pair<std::string, std::string>> fields = {});
  void error(std::string text, std::vector<std::pair<std::string, std::string>> fields = {});

 private:
  LogFormat format_;
  std::shared_ptr<StandardError> sink_;
};

// `text key=value key="value with blanks"`; control characters are escaped, so that a pod's name or
// annotation cannot forge a line, and of a text or value of more than 4 KiB the rest is left out.
[[nodiscard]] std::string text_line(const Note& note);
// The members of a JSON object, without the braces: "msg":"text","key":"value".
[[nodiscard]] std::string json_members(const Note& note);

}  // namespace pinion
