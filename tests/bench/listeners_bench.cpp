// pinion-listeners-bench: what idle, slow and garbage connections to the agent's listeners do to
// the path that pins. Plays the runtime to pinion-agent on an imagined machine, before, during and
// after each kind; prints CreateContainer's answer times, those of the kubelet's probe and of the
// API, and the agent's memory and descriptors. Loopback only. Fails where a probe or a call of the
// API is not answered, half of the probes are late, or descriptors leave their bound; and where
// CreateContainer or memory is not as in the same run's quiet phases.
#include <CLI/CLI.hpp>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>

#include "agent/client/client.h"
#include "base/net/listen_address.h"
#include "base/open_files.h"
#include "tests/bench/chart_agent.h"
#include "tests/bench/crowd.h"
#include "tests/bench/measurements.h"
#include "tests/bench/nri_bench_report.h"
#include "tests/support/tree.h"

namespace pinion::bench {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr double kMoreMib = 8;  // than before: of 30,000 connections 280 bytes each
constexpr std::size_t kMostDescriptors = 512;
// Of CreateContainer's answer beside the quiet phases before and after: so many times, and beyond
// that so many milliseconds. Others use the machine, too: what is slower three times is slower.
struct Slack {
  double quantile;
  double times;
  double more_ms;
};
constexpr Slack kSlacks[] = {{0.5, 2, 0.1}, {0.99, 3, 1}};
constexpr int kTurns = 3;
constexpr double kProbeMs = 1000;  // the kubelet's patience: of the median, as others run beside

struct Options {
  std::string agent;
  std::size_t connections = 10'000;
  int standing = 200;
  int lives = 960;  // the slowest hundredth is ten of them
  std::string json;
};

// What was seen in one phase.
struct Phase {
  Tally tally;
  std::vector<double> probe_ms;
  std::vector<double> api_ms;
  std::size_t failed = 0;  // probes and calls without an answer in time
  std::size_t descriptors = 0;
  std::string why;

  void fail(const std::string& what) {
    ++failed;
    why = what;
  }
};

double milliseconds_since(steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(steady_clock::now() - begin).count();
}

// As the kubelet asks; httplib's client cannot beyond 1,024 descriptors. Empty: no answer.
std::string probe(const std::string& address) {
  const auto to = net::parse_listen_address(address);
  const Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval patience{.tv_sec = 10, .tv_usec = 0};
  for (const int time : {SO_RCVTIMEO, SO_SNDTIMEO}) {
    ::setsockopt(socket.get(), SOL_SOCKET, time, &patience, sizeof(patience));
  }
  const auto* target = reinterpret_cast<const sockaddr*>(&to->address);
  constexpr std::string_view request = "GET /livez HTTP/1.1\r\nHost: node\r\n\r\n";
  std::array<char, 512> answer{};
  if (::connect(socket.get(), target, to->size) != 0 ||
      ::send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL) < 0) {
    return {};
  }
  const ssize_t n = ::recv(socket.get(), answer.data(), answer.size(), 0);
  return {answer.data(), n > 0 ? static_cast<std::size_t>(n) : 0};
}

class Bench {
 public:
  explicit Bench(const Options& options) : options_(options) {}
  Status run();

 private:
  Result<Player> start();
  Status read_addresses();
  Result<Phase> phase(Player& player, const Crowd* crowd);
  void ask(Phase& seen);
  Status show(const std::string& name, const Phase& seen);
  // What the crowd does, and the quiet phase after it: how much slower it made creations. Empty: no
  // more than it may.
  Result<std::string> beside(Player& player, const std::string& name, Manner manner);

  Options options_;
  test_support::TempDir place_;
  std::map<std::string, std::string> addresses_;  // by listener
  agent::api::TlsFiles client_;
  std::string pid_;
  Tally quiet_;          // of all such phases until now
  double at_first_ = 0;  // MiB, anonymous
  Measurements measured_;
};

Result<Player> Bench::start() {
  auto agent = start_as_chart(options_.agent, place_.path());
  if (!agent) return failure(agent.error());
  pid_ = std::to_string(agent->pid);
  client_ = agent->client;
  return std::move(agent->player);
}

Status Bench::read_addresses() {
  const auto until = steady_clock::now() + seconds(10);
  for (const char* listener : {"api", "metrics", "probe"}) {
    std::string& address = addresses_[listener];
    while ((address = address_of(place_.path(), listener)).empty()) {
      if (steady_clock::now() >= until) {
        return failure(Errc::kUnavailable, "the agent is not ready");
      }
      std::this_thread::sleep_for(milliseconds(10));  // until the agent has written it
    }
  }
  return {};
}

// A probe as the kubelet's and a call as the extender's first one, each over a new connection.
void Bench::ask(Phase& seen) {
  auto begin = steady_clock::now();
  const std::string alive = probe(addresses_["probe"]);
  seen.probe_ms.push_back(milliseconds_since(begin));
  if (!alive.starts_with("HTTP/1.1 200")) seen.fail("/livez");
  begin = steady_clock::now();
  auto client = agent::api::Client::connect(addresses_["api"], {.tls = client_, .server_name = ""});
  const auto node = client ? client->get_node() : failure(client.error());
  seen.api_ms.push_back(milliseconds_since(begin));
  if (!node) seen.fail(node.error().text);
}

// Lives of pods, probes and calls in turn, as long as the crowd grows and for a number of lives.
Result<Phase> Bench::phase(Player& player, const Crowd* crowd) {
  Phase seen;
  constexpr int kBlock = Player::kKinds;
  while (seen.tally.lives < options_.lives || (crowd != nullptr && !crowd->done())) {
    Tally block;
    if (auto lived = player.live(kBlock, block); !lived) return failure(lived.error());
    seen.tally.add(block);
    ask(seen);
    std::error_code ignored;
    const std::filesystem::directory_iterator open("/proc/" + pid_ + "/fd", ignored);
    const auto count = static_cast<std::size_t>(std::distance(begin(open), end(open)));
    seen.descriptors = std::max(seen.descriptors, count);
  }
  return seen;
}

Status Bench::show(const std::string& name, const Phase& seen) {
  const double mib = static_cast<double>(seen.tally.memory.rss_kib) / 1024;
  const double peak = static_cast<double>(seen.tally.memory.peak_kib) / 1024;
  std::printf("%-16s %6d %7.3f %7.3f %8.1f %8.1f %7.1f %7.1f %7.1f %7.1f %5zu %4zu\n", name.c_str(),
              seen.tally.lives, quantile(seen.tally.creates, 0.5),
              quantile(seen.tally.creates, 0.99), quantile(seen.probe_ms, 0.5),
              quantile(seen.probe_ms, 1), quantile(seen.api_ms, 0.5), quantile(seen.api_ms, 1), mib,
              peak, seen.descriptors, seen.failed);
  measured_.add(name, {{"create_p50_ms", quantile(seen.tally.creates, 0.5)},
                       {"create_p99_ms", quantile(seen.tally.creates, 0.99)},
                       {"probe_most_ms", quantile(seen.probe_ms, 1)},
                       {"api_most_ms", quantile(seen.api_ms, 1)},
                       {"rss_mib", mib},
                       {"descriptors", static_cast<double>(seen.descriptors)}});
  if (seen.failed > 0) return failure(Errc::kInternal, name + ": no answer: " + seen.why);
  if (quantile(seen.probe_ms, 0.5) > kProbeMs) {
    return failure(Errc::kInternal, name + ": half of the probes take more than a second");
  }
  // Pages of its program come and go: it gives them back.
  const double anonymous = static_cast<double>(seen.tally.memory.anonymous_kib) / 1024;
  if (at_first_ == 0) at_first_ = anonymous;
  if (anonymous > at_first_ + kMoreMib) {
    return failure(Errc::kInternal,
                   name + ": more than 8 MiB of anonymous memory beyond what it had before");
  }
  if (seen.descriptors > kMostDescriptors) {
    return failure(Errc::kInternal, name + ": more than 512 descriptors");
  }
  return {};
}

Result<std::string> Bench::beside(Player& player, const std::string& name, Manner manner) {
  const std::vector<std::string> targets{addresses_["api"], addresses_["metrics"],
                                         addresses_["probe"]};
  std::optional<Crowd> crowd(std::in_place, targets, manner, options_.connections);
  const auto during = phase(player, &*crowd);
  if (!during) return failure(during.error());
  if (auto shown = show(name, *during); !shown) return failure(shown.error());
  if (crowd->connected() < options_.connections * 9 / 10) {
    return failure(Errc::kInternal, "only " + std::to_string(crowd->connected()) + " connected");
  }
  crowd.reset();
  const auto after = phase(player, nullptr);
  if (!after) return failure(after.error());
  if (auto shown = show("after " + name, *after); !shown) return failure(shown.error());
  quiet_.add(after->tally);
  for (const Slack& slack : kSlacks) {
    const double quiet = quantile(quiet_.creates, slack.quantile);
    const double took = quantile(during->tally.creates, slack.quantile);
    if (took <= slack.times * quiet + slack.more_ms) continue;
    std::array<char, 160> text{};
    std::snprintf(text.data(), text.size(),
                  "%s: CreateContainer's quantile %.2f is %.3f ms, without them %.3f ms",
                  name.c_str(), slack.quantile, took, quiet);
    return std::string(text.data());
  }
  return std::string();
}

Status Bench::run() {
  if (const auto limit = allow_open_files(options_.connections + 256);
      !limit || limit->soft < options_.connections + 256) {
    return failure(Errc::kExhausted, "the limit on open files is too low for the connections");
  }
  auto player = start();
  if (!player) return failure(player.error());
  if (auto ready = read_addresses(); !ready) return ready;
  if (auto grown = player->grow_to(options_.standing); !grown) return grown;
  std::printf("%zu connections of each kind to three listeners, %d standing containers\n\n",
              options_.connections, options_.standing);
  std::printf("%-16s %6s %7s %7s %8s %8s %7s %7s %7s %7s %5s %4s\n", "", "lives", "create", "p99",
              "probe", "most", "API", "most", "MiB", "peak", "fds", "lost");
  auto before = phase(*player, nullptr);
  if (!before) return failure(before.error());
  if (auto shown = show("before", *before); !shown) return shown;
  quiet_ = before->tally;
  for (const auto& [name, manner] :
       {std::pair{"idle", Manner::kIdle}, {"slow", Manner::kSlow}, {"garbage", Manner::kGarbage}}) {
    std::string slower = "?";
    for (int turn = 0; turn < kTurns && !slower.empty(); ++turn) {
      auto seen = beside(*player, name, manner);
      if (!seen) return failure(seen.error());
      slower = *std::move(seen);
    }
    if (!slower.empty()) return failure(Errc::kInternal, slower);
  }
  if (auto ended = player->end(); !ended) return ended;
  if (!player->violations().empty()) return failure(Errc::kInternal, player->violations().front());
  return measured_.write(options_.json);
}

}  // namespace
}  // namespace pinion::bench

int main(int argc, char** argv) {
  using namespace pinion::bench;
  Options options;
  std::error_code error;
  options.agent =
      std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / "pinion-agent";
  CLI::App app(
      "Measures what idle, slow and garbage connections do to pinion-agent. Milliseconds.");
  app.add_option("--agent", options.agent, "The agent's program")->capture_default_str();
  app.add_option("--connections", options.connections, "Of each kind")
      ->check(CLI::Range(1, 20'000))
      ->capture_default_str();
  app.add_option("--standing", options.standing, "Standing containers")->capture_default_str();
  app.add_option("--lives", options.lives, "Pod lives in each phase")->capture_default_str();
  app.add_option("--json", options.json, "Where the measurements go, for tests/bench/gate");
  CLI11_PARSE(app, argc, argv);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  if (const auto done = Bench(options).run(); !done) {
    std::fprintf(stderr, "pinion-listeners-bench: %s\n", done.error().text.c_str());
    return 1;
  }
  return 0;
}
