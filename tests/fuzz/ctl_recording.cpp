// A line of a recording takes any bytes; what it accepts is written and read back the same.
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/util/field_comparator.h>
#include <google/protobuf/util/message_differencer.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "ctl/source/recording.h"
#include "tests/fuzz/target.h"

namespace pinion::fuzz::ctl_recording {
namespace {

using namespace pinion;

// JSON knows "NaN" too.
bool same(const v1::Snapshot& a, const v1::Snapshot& b) {
  google::protobuf::util::DefaultFieldComparator comparator;
  comparator.set_treat_nan_as_equal(true);
  google::protobuf::util::MessageDifferencer differencer;
  differencer.set_field_comparator(&comparator);
  return differencer.Compare(a, b);
}

}  // namespace

PINION_FUZZ_TARGET(ctl_recording) {
  google::protobuf::SetLogHandler(nullptr);
  const auto moment = ctl::parse_recorded({reinterpret_cast<const char*>(data), size});
  if (!moment) {
    const Error& error = moment.error();
    require(error.code == Errc::kInvalid && !error.text.empty());
    for (const char c : error.text) require(c >= ' ' && c <= '~');  // it goes to a terminal
    return 0;
  }
  require(moment->unix_ms >= 0 && moment->unix_ms <= ctl::kMaxUnixMs);
  const auto line = ctl::recorded_line(*moment);
  require(line && line->find('\n') == line->size() - 1);
  const auto back = ctl::parse_recorded(*line);
  require(back && back->unix_ms == moment->unix_ms && same(back->snapshot, moment->snapshot));
  return 0;
}

}  // namespace pinion::fuzz::ctl_recording
