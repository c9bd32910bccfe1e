#include "ctl/top/top_command.h"

#include <signal.h>
#include <unistd.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>

#include "ctl/common/report.h"
#include "ctl/common/terminal.h"
#include "ctl/common/times.h"
#include "ctl/common/value_options.h"
#include "ctl/node/draw_node.h"
#include "ctl/source/recording.h"
#include "ctl/source/source_options.h"
#include "ctl/top/top_view.h"

namespace pinion::ctl {
namespace {

using std::chrono::steady_clock;

struct TopOptions {
  SourceOptions source;
  std::chrono::milliseconds interval{1000};
  SortKey sort = SortKey::kCpu;
  std::string color = "auto";
  std::size_t count = 0;  // tables over a pipe; 0: no end
  bool once = false;
  bool json = false;
};

std::optional<SortKey> sort_of(char key) {
  switch (key) {
    case 'c':
      return SortKey::kCpu;
    case 'm':
      return SortKey::kMigrations;
    case 'i':
      return SortKey::kIntrusion;
    case 'l':
      return SortKey::kMpki;
    case 'n':
      return SortKey::kName;
    default:
      return std::nullopt;
  }
}

// What is shown, and the source that it comes from.
class Top {
 public:
  Top(const TopOptions& options, NodeSource& source, const Signals& signals)
      : options_(options), source_(source), signals_(signals) {
    view_.sort = options.sort;
    view_.color = wants_color(options.color, STDOUT_FILENO);
  }

  // One table for each interval, below each other. A terminal is as wide as it is, a file has room.
  Status print_tables() {
    if (::isatty(STDOUT_FILENO) == 1) view_.width = terminal_size(STDOUT_FILENO).width;
    auto deadline = steady_clock::now();
    for (std::size_t done = 0; options_.count == 0 || done < options_.count; ++done) {
      if (auto read = advance(); !read) return read;
      if (over_) return {};
      std::string text = options_.json ? "" : (done > 0 ? "\n" : "") + page();
      if (options_.json) {
        auto line = recorded_line(moment_);
        if (!line) return failure(std::move(line.error()));
        text = std::move(*line);
      }
      const auto printed = print_to_reader(text);
      if (!printed) return failure(printed.error());
      if (!*printed || done + 1 == options_.count) return {};
      deadline += options_.interval;
      if (source_.live() && wait_until(deadline, signals_, -1).signal != 0) return {};
    }
    return {};
  }

  Status print_once() {
    auto moment = latest(source_);
    if (!moment) return failure(std::move(moment.error()));
    moment_ = std::move(*moment);
    if (options_.json) {
      auto line = recorded_line(moment_);
      if (!line) return failure(std::move(line.error()));
      return print(*line);
    }
    if (::isatty(STDOUT_FILENO) == 1) view_.width = terminal_size(STDOUT_FILENO).width;
    return print(page());
  }

  // Until q or a signal.
  Status show_live() {
    if (auto read = advance(); !read) return read;  // no screen for what cannot be shown at all
    LiveScreen screen(STDIN_FILENO, STDOUT_FILENO);
    if (auto entered = screen.enter(); !entered) return entered;
    view_.keys = true;
    while (true) {
      auto deadline = steady_clock::now() + options_.interval;
      while (true) {
        if (auto shown = show(screen); !shown) return shown;
        const Wake wake = wait_until(deadline, signals_, STDIN_FILENO);
        if (wake.signal == 0 && wake.keys.empty() && !wake.input_over) break;  // time for the next
        if (wake.input_over || ends(wake, screen)) return {};
      }
      if (auto read = advance(); !read) return read;
    }
  }

 private:
  // An agent that stops answering is no end: the last figures stay, with the reason above them.
  Status advance() {
    auto moment = source_.next();
    if (!moment) {
      const bool first = moment_.unix_ms == 0;
      if (first || !source_.live()) return failure(std::move(moment.error()));
      view_.message = moment.error().text;
      return {};
    }
    view_.message.clear();
    if (!moment->has_value()) {
      over_ = true;
      view_.message = "the recording ends here";
      return {};
    }
    moment_ = std::move(**moment);
    return {};
  }

  std::string page() {
    view_.clock = moment_.unix_ms == 0 ? "" : utc_text(moment_.unix_ms);
    return render_top(moment_.snapshot, view_);
  }

  Status show(const LiveScreen& screen) {
    const TerminalSize size = terminal_size(STDOUT_FILENO);
    view_.width = size.width;
    view_.height = size.height;
    return screen.show(page());
  }

  // Whether the keys or the signal say so; all others are acted on.
  bool ends(const Wake& wake, LiveScreen& screen) {
    if (wake.signal == SIGTSTP) {
      screen.leave();
      ::raise(SIGSTOP);
      return !screen.enter();
    }
    if (wake.signal != 0 && wake.signal != SIGWINCH) return true;
    for (const char key : wake.keys) {
      if (key == 'q' || key == 'Q') return true;
      view_.sort = sort_of(key).value_or(view_.sort);
    }
    return false;
  }

  const TopOptions& options_;
  NodeSource& source_;
  const Signals& signals_;
  TopView view_;
  Moment moment_;
  bool over_ = false;  // the recording
};

bool is_live_screen(const TopOptions& options) {
  const char* type = std::getenv("TERM");
  const bool dumb = type == nullptr || std::string_view(type) == "dumb";
  return !options.json && options.count == 0 && !dumb && ::isatty(STDIN_FILENO) == 1 &&
         ::isatty(STDOUT_FILENO) == 1;
}

int run(const TopOptions& options) {
  // Before the source: its threads must not take the signals.
  const auto signals = Signals::watch({SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGTSTP});
  if (!signals) return report(signals.error());
  const auto source = open_source(options.source);
  if (!source) return report(source.error());
  Top top(options, **source, *signals);
  Status done;
  if (options.once) {
    done = top.print_once();
  } else {
    done = is_live_screen(options) ? top.show_live() : top.print_tables();
  }
  return done ? kExitOk : report(done.error());
}

}  // namespace

void add_top_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand(
      "top", "Show what the containers of a node do, live; over a pipe one table after another");
  auto options = std::make_shared<TopOptions>();  // lives as long as the callback below
  add_source_options(*command, options->source);
  add_duration_option(*command, "--interval", options->interval, "Time between two looks");
  command
      ->add_option_function<std::string>(
          "--sort",
          [options](const std::string& word) {
            const auto key = sort_key_of(word);
            if (!key) throw CLI::ValidationError("--sort", "'" + word + "' is no column");
            options->sort = *key;
          },
          "cpu, mpki, l3-misses, ipc, migrations, switches, remote, intrusion or name; default: "
          "cpu")
      ->type_name("COLUMN");
  command->add_option("--color", options->color, "auto, always or never; default: auto")
      ->type_name("WHEN")
      ->check(CLI::IsMember({"auto", "always", "never"}));
  command->add_option("--count", options->count, "So many tables, below each other")
      ->type_name("N")
      ->check([](const std::string& text) {
        const bool whole = text.find_first_not_of("0123456789") == std::string::npos;
        const bool some = text.find_first_not_of('0') != std::string::npos;
        return whole && some ? std::string() : "'" + text + "' is not a whole number from 1";
      });
  command->add_flag("--once", options->once, "One table; of a recording its last snapshot");
  command->add_flag("--json", options->json,
                    "A line of JSON for each look, as `pinionctl record` writes it");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace pinion::ctl
