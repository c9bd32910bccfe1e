// What stands on elastic jobs, which their users may write: sizes, speeds, history, what a program
// was sent; and what an application answers. It is read or refused, and what is read is written so
// that it is read again.
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "cluster/extender/elastic/elastic_job.h"
#include "cluster/extender/elastic/history.h"
#include "cluster/extender/elastic/sent.h"
#include "cluster/extender/elastic/speed_seen.h"
#include "cluster/extender/elastic/telling.h"
#include "tests/fuzz/target.h"

namespace pinion::fuzz::extender_elastic {
using namespace pinion::cluster::elastic;

namespace {

template <class Write, class Read>
void check_again(const std::string& text, const Write& write, const Read& read) {
  require(write(read(text)) == text);
}

}  // namespace

PINION_FUZZ_TARGET(extender_elastic) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_again(speed_seen_text(read_speed_seen(text)), speed_seen_text, read_speed_seen);
  check_again(history_text(read_history(text)), history_text, read_history);
  if (const auto sent = read_sent(text)) require(read_sent(sent_text(*sent)) == sent);
  if (const auto rates = read_speed_up(text)) {
    const auto scaled = scaled_speed_up(*rates, read_speed_seen(text));
    for (const int workers : {1, 7, kLargestSize}) require(scaled.speed_up.rate(workers) > 0);
  }
  if (const auto progress = read_progress(text)) require(progress->done >= 0);
  if (const auto channel = read_channel(text)) require(channel->port >= 0);
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (const auto said = said_in(json)) {
    require(said->progress || said->workers);
    if (said->progress) require(said->progress->done >= 0);
    if (said->workers) require(*said->workers >= 1 && *said->workers <= kLargestSize);
  }
  if (!json.is_object()) return 0;
  if (const auto job = read_elastic(json, {})) require(job->min_workers <= job->max_workers);
  return 0;
}

}  // namespace pinion::fuzz::extender_elastic
