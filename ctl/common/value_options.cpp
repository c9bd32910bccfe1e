#include "ctl/common/value_options.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "base/cli/table.h"
#include "base/duration.h"

namespace pinion::ctl {

void add_duration_option(CLI::App& command, const std::string& name,
                         std::chrono::milliseconds& value, const std::string& help) {
  const std::string initial = value.count() % 1000 == 0 ? std::to_string(value.count() / 1000) + "s"
                                                        : std::to_string(value.count()) + "ms";
  command
      .add_option_function<std::string>(
          name,
          [&value, name](const std::string& text) {
            const auto duration = parse_duration(text);
            if (!duration) throw CLI::ValidationError(name, duration.error().text);
            if (duration->count() == 0)
              throw CLI::ValidationError(name, "it has to be more than 0");
            value = *duration;
          },
          help + ", as 500ms, 2s or 10m; default: " + initial)
      ->type_name("TIME");
}

}  // namespace pinion::ctl
