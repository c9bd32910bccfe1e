#include "ctl/compare/record_command.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string_view>
#include <utility>

#include "base/fd.h"
#include "base/quantity.h"
#include "base/whole_file.h"
#include "ctl/common/report.h"
#include "ctl/common/terminal.h"
#include "ctl/common/value_options.h"
#include "ctl/source/recording.h"
#include "ctl/source/source_options.h"

namespace pinion::ctl {
namespace {

using std::chrono::steady_clock;

struct RecordOptions {
  SourceOptions source;
  std::string out;
  std::chrono::milliseconds interval{1000};
  std::chrono::milliseconds length{60000};
  std::uint64_t max_size = std::uint64_t{1} << 30;  // bytes
  bool force = false;
};

Result<Fd> create(const std::string& path, bool force) {
  Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | (force ? O_TRUNC : O_EXCL), 0644));
  if (file.valid()) return file;
  if (errno == EEXIST) {
    return failure(Errc::kInvalid, path + " is there already; --force overwrites it");
  }
  return sys_failure("write " + path);
}

Status write_line(const Fd& file, std::string_view text) {
  if (!write_all(file.get(), text)) return sys_failure("write to the recording");
  return {};
}

struct Tally {
  std::size_t written = 0;
  std::uint64_t bytes = 0;
  std::size_t missed = 0;  // looks that the agent did not answer
  std::string last_miss;
  std::string end;  // why it ended, where that is not the time
};

// One look. False: it is enough.
Result<bool> record_one(NodeSource& source, RecordingWriter& writer, const Fd& file,
                        const RecordOptions& options, Tally& tally) {
  auto moment = source.next();
  if (!moment) {
    ++tally.missed;
    tally.last_miss = moment.error().text;
    return true;
  }
  if (!moment->has_value()) return false;
  const auto line = writer.line_of(std::move(**moment));
  if (!line) return failure(line.error());
  if (tally.bytes + line->size() > options.max_size) {
    tally.end = "--max-size is reached";
    return false;
  }
  if (auto written = write_line(file, *line); !written) return failure(std::move(written.error()));
  ++tally.written;
  tally.bytes += line->size();
  return true;
}

Result<Tally> record(NodeSource& source, const Fd& file, const RecordOptions& options,
                     const Signals& signals) {
  Tally tally;
  RecordingWriter writer;
  auto next = steady_clock::now();
  const auto end = next + options.length;
  while (true) {
    const auto more = record_one(source, writer, file, options, tally);
    if (!more) return failure(more.error());
    if (!*more) return tally;
    // The next whole interval that is still to come: an agent that was slow leaves a gap.
    while (next <= steady_clock::now()) next += options.interval;
    if (next >= end) return tally;
    if (wait_until(next, signals, -1).signal != 0) {
      tally.end = "stopped by a signal";
      return tally;
    }
  }
}

int run(const RecordOptions& options) {
  const auto signals = Signals::watch({SIGINT, SIGTERM, SIGHUP});
  if (!signals) return report(signals.error());
  const auto source = open_source(options.source);
  if (!source) return report(source.error());
  const auto first = (*source)->next();  // no file for an agent that does not answer
  if (!first) return report(first.error());
  const auto file = create(options.out, options.force);
  if (!file) return report(file.error());
  const auto tally = record(**source, *file, options, *signals);
  if (!tally) return report(tally.error());
  std::string text = options.out + ": " + std::to_string(tally->written) + " snapshots, " +
                     std::to_string(tally->bytes) + " bytes";
  if (!tally->end.empty()) text += "; " + tally->end;
  if (tally->missed > 0) {
    text += "; no answer " + std::to_string(tally->missed) + " times: " + tally->last_miss;
  }
  std::fprintf(stderr, "pinionctl: %s\n", text.c_str());
  return kExitOk;
}

}  // namespace

void add_record_command(CLI::App& app, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("record", "Write a node's snapshots into a file, one on each line");
  auto options = std::make_shared<RecordOptions>();  // lives as long as the callback below
  add_agent_options(*command, options->source);
  command->add_option("--out", options->out, "The file; not overwritten without --force")
      ->type_name("FILE")
      ->required();
  add_duration_option(*command, "--interval", options->interval, "Time between two snapshots");
  add_duration_option(*command, "--for", options->length, "How long");
  command
      ->add_option_function<std::string>(
          "--max-size",
          [options](const std::string& text) {
            const auto bytes = byte_quantity(text);
            if (!bytes) throw CLI::ValidationError("--max-size", bytes.error().text);
            options->max_size = *bytes;
          },
          "Ends before the file is larger, as 100Mi; default: 1Gi")
      ->type_name("BYTES");
  command->add_flag("--force", options->force, "Overwrite the file");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace pinion::ctl
