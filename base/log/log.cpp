#include "base/log/log.h"

#include <poll.h>
#include <spdlog/async.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <mutex>
#include <nlohmann/json.hpp>

namespace pinion {
namespace {

constexpr std::size_t kQueuedLines = 1024;
constexpr std::size_t kMostShown = 4096;  // bytes of a text or value
constexpr std::string_view kCut = "... (cut)";
constexpr std::chrono::milliseconds kLastWords{500};

// JSON's rules of escaping; bytes that are not UTF-8 are replaced.
std::string quoted(const std::string& text) {
  if (text.size() > kMostShown) {
    return quoted(text.substr(0, kMostShown - kCut.size()) + std::string(kCut));
  }
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

bool is_one_line(const std::string& text) {
  return text.size() <= kMostShown && std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return c >= ' ' && c < 0x7f;
         });
}

bool is_plain(const std::string& value) {
  const auto plain = [](unsigned char c) { return c > ' ' && c < 0x7f && c != '"' && c != '\\'; };
  return !value.empty() && value.size() <= kMostShown &&
         std::all_of(value.begin(), value.end(), plain);
}

spdlog::level::level_enum level_of(Note::Level level) {
  switch (level) {
    case Note::Level::kDebug:
      return spdlog::level::debug;
    case Note::Level::kInfo:
      return spdlog::level::info;
    case Note::Level::kWarn:
      return spdlog::level::warn;
    case Note::Level::kError:
      break;
  }
  return spdlog::level::err;
}

}  // namespace

// Writes only what fits without waiting, so that it can give up at the end. It also says how many
// lines the queue has lost: a line in that queue would be lost with them.
class StandardError : public spdlog::sinks::base_sink<std::mutex> {
 public:
  // `queue`: whose losses it tells; must live as long as lines come from there.
  StandardError(std::string (*text)(const Note&), spdlog::details::thread_pool* queue)
      : text_(text), queue_(queue) {}
  // From now on what is not read within this time is lost.
  void give_up_after(std::chrono::milliseconds time) {
    deadline_ = (Clock::now() + time).time_since_epoch();
  }

 private:
  using Clock = std::chrono::steady_clock;

  void sink_it_(const spdlog::details::log_msg& message) override {
    const std::size_t dropped = queue_->overrun_counter();
    if (const std::size_t said = std::exchange(dropped_, dropped); dropped > said) {
      const std::string text =
          text_({.level = Note::Level::kWarn,
                 .text = "lines of the log were dropped: nobody reads them fast enough",
                 .fields = {{"dropped", std::to_string(dropped - said)}}});
      write_line(spdlog::details::log_msg(message.logger_name, spdlog::level::warn, text));
    }
    write_line(message);
  }

  void write_line(const spdlog::details::log_msg& message) {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    std::string_view rest(line.data(), line.size());
    while (!rest.empty() && may_write()) {
      // A pipe that is ready takes so much at once.
      const ssize_t n =
          ::write(STDERR_FILENO, rest.data(), std::min<std::size_t>(rest.size(), PIPE_BUF));
      if (n < 0 && errno != EINTR && errno != EAGAIN) return;
      if (n > 0) rest.remove_prefix(static_cast<std::size_t>(n));
    }
  }
  void flush_() override {}

  // Waits until it can be written; false: given up. Of the lines after that none waits.
  bool may_write() const {
    constexpr std::chrono::milliseconds look_again{100};
    while (true) {
      const Clock::duration deadline = deadline_;
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now().time_since_epoch());
      const bool ends = deadline.count() != 0;
      const auto wait =
          ends ? std::clamp(left, std::chrono::milliseconds(0), look_again) : look_again;
      pollfd ready{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
      const int n = ::poll(&ready, 1, static_cast<int>(wait.count()));
      if (n > 0) return true;
      if ((n < 0 && errno != EINTR) || (ends && left <= wait)) return false;
    }
  }

  std::string (*text_)(const Note&);
  spdlog::details::thread_pool* queue_;
  std::size_t dropped_ = 0;                                    // lines, as said last
  std::atomic<Clock::duration> deadline_{Clock::duration(0)};  // 0: none
};

std::string text_line(const Note& note) {
  std::string line = is_one_line(note.text) ? note.text : quoted(note.text);
  for (const auto& [key, value] : note.fields) {
    line += ' ' + key + '=' + (is_plain(value) ? value : quoted(value));
  }
  return line;
}

std::string json_members(const Note& note) {
  std::string members = "\"msg\":" + quoted(note.text);
  for (const auto& [key, value] : note.fields) members += ',' + quoted(key) + ':' + quoted(value);
  return members;
}

Log::Log(const std::string& level, LogFormat format) : format_(format) {
  spdlog::init_thread_pool(kQueuedLines, 1);
  sink_ = std::make_shared<StandardError>(format == LogFormat::kJson ? json_members : text_line,
                                          spdlog::thread_pool().get());
  auto logger = std::make_shared<spdlog::async_logger>(
      "pinion", sink_, spdlog::thread_pool(), spdlog::async_overflow_policy::overrun_oldest);
  spdlog::set_default_logger(logger);
  logger->set_level(spdlog::level::from_str(level));
  logger->flush_on(spdlog::level::info);
  logger->set_pattern(format == LogFormat::kJson
                          ? R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l",%v})"
                          : "%Y-%m-%d %H:%M:%S.%e %L %v");
}

Log::~Log() {
  sink_->give_up_after(kLastWords);
  spdlog::shutdown();
}

void Log::set_level(const std::string& level) {
  spdlog::set_level(spdlog::level::from_str(level));
}

void Log::write(const Note& note) {
  const auto level = level_of(note.level);
  if (!spdlog::should_log(level)) return;
  spdlog::log(level, "{}", format_ == LogFormat::kJson ? json_members(note) : text_line(note));
}

void Log::info(std::string text, std::vector<std::pair<std::string, std::string>> fields) {
  write({.level = Note::Level::kInfo, .text = std::move(text), .fields = std::move(fields)});
}

void Log::warn(std::string text, std::vector<std::pair<std::string, std::string>> fields) {
  write({.level = Note::Level::kWarn, .text = std::move(text), .fields = std::move(fields)});
}

void Log::error(std::string text, std::vector<std::pair<std::string, std::string>> fields) {
  write({.level = Note::Level::kError, .text = std::move(text), .fields = std::move(fields)});
}

}  // namespace pinion
