#include "ctl/source/recording.h"

#include <google/protobuf/util/json_util.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/cli/table.h"

namespace pinion::ctl {
namespace {

constexpr std::string_view kTime = "unix_ms";

// The number behind `kTime` in the outermost object; 0 where there is none. The rest is skipped
// without being built up. Error: not a JSON object, or not such a number.
Result<std::int64_t> time_of(std::string_view line) {
  using nlohmann::json;
  const json::parser_callback_t only_the_time = [](int depth, json::parse_event_t event,
                                                   json& parsed) {
    return event != json::parse_event_t::key || depth != 1 || parsed == std::string(kTime);
  };
  const json object = json::parse(line, only_the_time, false);
  if (!object.is_object()) return failure(Errc::kInvalid, "not a JSON object");
  const auto time = object.find(kTime);
  if (time == object.end()) return 0;
  if (!time->is_number_integer()) {
    return failure(Errc::kInvalid, std::string(kTime) + " is not a whole number");
  }
  // The difference of two times must not overflow. What is negative is too large without its sign.
  if (time->get<std::uint64_t>() > std::uint64_t{kMaxUnixMs}) {
    return failure(Errc::kInvalid, std::string(kTime) + " is no time between 1970 and 9999");
  }
  return time->get<std::int64_t>();
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

}  // namespace

Result<std::string> recorded_line(const Moment& moment) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string fields;
  const auto written =
      google::protobuf::util::MessageToJsonString(moment.snapshot, &fields, options);
  if (!written.ok()) {
    return failure(Errc::kInternal, "write a snapshot as JSON: " + written.ToString());
  }
  std::string line = "{\"" + std::string(kTime) + "\":" + std::to_string(moment.unix_ms);
  if (fields.size() > 2) line += ",";  // more than "{}"
  return line.append(fields, 1) + "\n";
}

Result<Moment> parse_recorded(std::string_view line) {
  const auto time = time_of(line);
  if (!time) return failure(time.error());
  Moment moment;
  moment.unix_ms = *time;
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  const auto read = google::protobuf::util::JsonStringToMessage({line.data(), line.size()},
                                                                &moment.snapshot, options);
  if (!read.ok()) {
    std::string cause(read.message());
    cause = cause.substr(0, cause.find('\n'));
    return failure(Errc::kInvalid, "not a snapshot: " + plain(cause));  // it quotes the line
  }
  return moment;
}

Result<std::string> RecordingWriter::line_of(Moment moment) {
  std::string machine = moment.snapshot.node().machine().SerializeAsString();
  if (machine == machine_) {
    moment.snapshot.mutable_node()->clear_machine();
  } else {
    machine_ = std::move(machine);
  }
  return recorded_line(moment);
}

Result<std::unique_ptr<Recording>> Recording::open(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rbe");
  if (file == nullptr) return sys_failure("read " + path);
  return std::unique_ptr<Recording>(new Recording(path, file));
}

Result<bool> Recording::read_line(std::string& line) {
  line.clear();
  // The file is ours alone: no lock for each character.
  for (int c = getc_unlocked(file_.get()); c != EOF; c = getc_unlocked(file_.get())) {
    line.push_back(static_cast<char>(c));
    if (c == '\n') return true;
    if (line.size() > kMaxLine) {
      return failure(Errc::kInvalid, path_ + ": line " + std::to_string(line_number_ + 1) +
                                         ": longer than " + std::to_string(kMaxLine) + " bytes");
    }
  }
  if (std::ferror(file_.get()) != 0) return sys_failure("read " + path_);
  return !line.empty();
}

Result<std::optional<Moment>> Recording::next() {
  std::string line;
  while (true) {
    const auto more = read_line(line);
    if (!more) return failure(more.error());
    if (!*more) return std::optional<Moment>();
    ++line_number_;
    if (!is_blank(line)) break;
  }
  auto moment = parse_recorded(line);
  if (!moment) {
    return failure(
        std::move(moment.error()).within(path_ + ": line " + std::to_string(line_number_)));
  }
  v1::NodeState& node = *moment->snapshot.mutable_node();
  if (node.has_machine()) {
    machine_ = node.machine();
  } else {
    *node.mutable_machine() = machine_;
  }
  return std::optional<Moment>(std::move(*moment));
}

}  // namespace pinion::ctl
