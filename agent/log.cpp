#include "agent/log.h"

#include <spdlog/async.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace pinion::agent {
namespace {

constexpr std::size_t kQueuedLines = 1024;

// JSON's rules of escaping; bytes that are not UTF-8 are replaced.
std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

bool is_plain(const std::string& value) {
  const auto plain = [](unsigned char c) { return c > ' ' && c < 0x7f && c != '"' && c != '\\'; };
  return !value.empty() && std::all_of(value.begin(), value.end(), plain);
}

spdlog::level::level_enum level_of(engine::Note::Level level) {
  switch (level) {
    case engine::Note::Level::kDebug:
      return spdlog::level::debug;
    case engine::Note::Level::kInfo:
      return spdlog::level::info;
    case engine::Note::Level::kWarn:
      return spdlog::level::warn;
    case engine::Note::Level::kError:
      break;
  }
  return spdlog::level::err;
}

}  // namespace

std::string text_line(const engine::Note& note) {
  std::string line = note.text;
  for (const auto& [key, value] : note.fields) {
    line += ' ' + key + '=' + (is_plain(value) ? value : quoted(value));
  }
  return line;
}

std::string json_members(const engine::Note& note) {
  std::string members = "\"msg\":" + quoted(note.text);
  for (const auto& [key, value] : note.fields) members += ',' + quoted(key) + ':' + quoted(value);
  return members;
}

Log::Log(const std::string& level, LogFormat format) : format_(format) {
  spdlog::init_thread_pool(kQueuedLines, 1);
  auto logger = spdlog::create_async_nb<spdlog::sinks::stderr_sink_mt>("pinion");
  spdlog::set_default_logger(logger);
  logger->set_level(spdlog::level::from_str(level));
  logger->flush_on(spdlog::level::info);
  logger->set_pattern(format == LogFormat::kJson
                          ? R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l",%v})"
                          : "%Y-%m-%d %H:%M:%S.%e %L %v");
}

Log::~Log() {
  spdlog::shutdown();
}

void Log::write(const engine::Note& note) {
  const auto level = level_of(note.level);
  if (!spdlog::should_log(level)) return;
  spdlog::log(level, "{}", format_ == LogFormat::kJson ? json_members(note) : text_line(note));
}

void Log::info(std::string text, std::vector<std::pair<std::string, std::string>> fields) {
  write(
      {.level = engine::Note::Level::kInfo, .text = std::move(text), .fields = std::move(fields)});
}

void Log::warn(std::string text, std::vector<std::pair<std::string, std::string>> fields) {
  write(
      {.level = engine::Note::Level::kWarn, .text = std::move(text), .fields = std::move(fields)});
}

void Log::error(std::string text, std::vector<std::pair<std::string, std::string>> fields) {
  write(
      {.level = engine::Note::Level::kError, .text = std::move(text), .fields = std::move(fields)});
}

}  // namespace pinion::agent
