// A session, with the agent's translation behind it, fed with any bytes. Whatever they are: it must
// not crash, what it sends must be readable for a runtime, every answer must belong to a call, and
// an error must be the end of it. The first byte is the length of the pieces, the second says what
// the engine replies.
#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>

#include "agent/nri/engine_handler.h"
#include "nri-plugin/session.h"
#include "tests/fuzz/target.h"
#include "tests/support/fake_runtime/fake_runtime.h"

namespace pinion::fuzz::nri_session {
using namespace pinion::nri;

namespace {

class FuzzHandler : public agent::EngineHandler {
 public:
  explicit FuzzHandler(unsigned mood) : mood_(mood) {}
  engine::Reply handle(engine::Event event) override {
    engine::Reply reply;
    if ((mood_ & 1U) != 0) reply.own = engine::Cpuset{.cpus = {1, 2}, .mems = {0}};
    if ((mood_ & 2U) != 0)
      reply.updates.push_back({.id = "a", .cpuset = {.cpus = {0}, .mems = {}}});
    if ((mood_ & 4U) != 0) reply.updates.push_back({.id = "b", .cpuset = {}});
    if ((mood_ & 8U) != 0) reply.refusal = "no \xff";
    if (const auto* all = std::get_if<engine::Synchronize>(&event)) {
      for (const auto& container : all->containers) {
        reply.updates.push_back({.id = container.id, .cpuset = {.cpus = {0}, .mems = {}}});
      }
    }
    return reply;
  }

 private:
  unsigned mood_;
};

void run(ByteSpan input) {
  if (input.size() < 2) return;
  const std::size_t step = 1 + std::to_integer<std::size_t>(input[0]) * 16;
  FuzzHandler handler(std::to_integer<unsigned>(input[1]));
  Counters counters;
  Session session({}, handler, counters);
  test_support::FakeRuntime runtime;
  TimePoint now{std::chrono::hours(1)};
  const auto hear = [&] {
    runtime.receive(session.output());
    require(runtime.broken().empty());
    session.consume_output(session.output().size());
  };
  session.start(now);
  hear();
  const ByteSpan bytes = input.subspan(2);
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    const ByteSpan piece = bytes.subspan(at, std::min(step, bytes.size() - at));
    const bool good = session.receive(piece, now).has_value();
    hear();
    if (!good) break;
    now += std::chrono::milliseconds(1);
    if (!session.tick(now)) break;
  }
  require(runtime.registration().has_value());
  require(counters.bytes_in <= bytes.size());
}

}  // namespace

PINION_FUZZ_TARGET(nri_session) {
  [[maybe_unused]] static auto* const silence = google::protobuf::SetLogHandler(nullptr);
  run(std::as_bytes(std::span(data, size)));
  return 0;
}

}  // namespace pinion::fuzz::nri_session
