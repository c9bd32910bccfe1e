#include "metrics/cgroup_mounts.h"

#include <array>

#include "metrics/text.h"

namespace pinion::metrics {
namespace {

bool is_octal(char c) {
  return c >= '0' && c <= '7';
}

// Undoes \040 and its kind.
std::string unescaped(std::string_view word) {
  std::string plain;
  plain.reserve(word.size());
  for (std::size_t i = 0; i < word.size(); ++i) {
    const bool escape = word[i] == '\\' && word.size() - i > 3 && word[i + 1] <= '3' &&
                        is_octal(word[i + 1]) && is_octal(word[i + 2]) && is_octal(word[i + 3]);
    if (!escape) {
      plain += word[i];
      continue;
    }
    const int code = (word[i + 1] - '0') * 64 + (word[i + 2] - '0') * 8 + (word[i + 3] - '0');
    plain += static_cast<char>(code);
    i += 3;
  }
  return plain;
}

bool lies_under(std::string_view path, std::string_view root) {
  while (!root.empty() && root.back() == '/') root.remove_suffix(1);
  const auto rest = text::after(path, root);
  return rest && !rest->empty() && rest->front() == '/';
}

// Is `name` one of the comma-separated words?
bool has_option(std::string_view options, std::string_view name) {
  for (;;) {
    const auto comma = options.find(',');
    if (options.substr(0, comma) == name) return true;
    if (comma == std::string_view::npos) return false;
    options.remove_prefix(comma + 1);
  }
}

struct Controller {
  std::string_view name;
  CgroupMount* mount;
};

// All but `unified`, by the names in a v1 mount's options.
std::array<Controller, 5> controllers_of(CgroupMounts& mounts) {
  return {Controller{"cpu", &mounts.cpu}, Controller{"cpuacct", &mounts.cpuacct},
          Controller{"memory", &mounts.memory}, Controller{"pids", &mounts.pids},
          Controller{"perf_event", &mounts.perf}};
}

void add_mount(std::string_view type, std::string_view options, const std::string& directory,
               CgroupMounts& mounts) {
  if (type == "cgroup2") {
    if (!mounts.unified.found()) mounts.unified = {.directory = directory, .version = 2};
    return;
  }
  for (const Controller& controller : controllers_of(mounts)) {
    if (!controller.mount->found() && has_option(options, controller.name)) {
      *controller.mount = {.directory = directory, .version = 1};
    }
  }
}

}  // namespace

Result<CgroupMounts> parse_cgroup_mounts(std::string_view proc_mounts, std::string_view under) {
  CgroupMounts mounts;
  bool any = false;
  while (!proc_mounts.empty()) {
    const std::string_view line = text::next_line(proc_mounts);
    if (text::trimmed(line).empty()) continue;
    std::string_view rest = line;
    text::next_word(rest);  // the device: any name
    const std::string_view directory = text::next_word(rest);
    const std::string_view type = text::next_word(rest);
    const std::string_view options = text::next_word(rest);
    if (options.empty()) return failure(Errc::kInvalid, "mounts: line " + text::quoted(line));
    if (type != "cgroup" && type != "cgroup2") continue;
    const std::string path = unescaped(directory);
    if (!lies_under(path, under)) continue;
    any = true;
    add_mount(type, options, path, mounts);
  }
  if (!any) {
    return failure(Errc::kNotFound,
                   "no cgroup file system is mounted under '" + std::string(under) + "'");
  }
  if (mounts.unified.found()) {
    for (const Controller& controller : controllers_of(mounts)) {
      if (!controller.mount->found()) *controller.mount = mounts.unified;
    }
  }
  return mounts;
}

}  // namespace pinion::metrics
