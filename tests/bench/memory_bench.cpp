// pinion-memory-bench: what memory and how many threads each of these agents has on an imagined
// machine, started as the chart does: with a probe listener, and an API over TCP that one extender
// watches. After its start, beside standing containers, once the extender comes anew, while
// /metrics is scraped and after that. Plays the runtime and the extender to one after the other and
// prints a row for each moment. Fails only where an agent's answers cannot be right or it does not
// answer; nothing is compared.
#include <httplib.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <optional>
#include <thread>

#include "agent/client/client.h"
#include "tests/bench/chart_agent.h"
#include "tests/support/eventually.h"
#include "tests/support/tree.h"

namespace pinion::bench {
namespace {

// The agent gives memory back once it has nothing to do; its threads come to rest.
constexpr std::chrono::milliseconds kRest{1000};

struct Options {
  std::vector<std::string> agents;
  std::vector<int> standing = {110, 500};
  int scrapes = 200;
};

double mib(std::int64_t kib) {
  return static_cast<double>(kib) / 1024;
}

// Watches as the extender does, until it is gone or the agent is.
class Reader {
 public:
  Reader(const std::string& address, const agent::api::TlsFiles& files)
      : thread_([this, address, files](const std::stop_token& stop) {
          auto client = agent::api::Client::connect(address, {.tls = files, .server_name = ""});
          if (!client) return;
          const agent::api::WatchOptions wish{
              .figures = true, .min_interval = std::chrono::milliseconds(0), .limit = std::nullopt};
          (void)client->watch(wish, [&](const v1::WatchNodeResponse&) {
            ++messages_;
            return !stop.stop_requested();
          });
        }) {}

  [[nodiscard]] bool has_read() const { return messages_ > 0; }

 private:
  std::atomic<int> messages_ = 0;
  std::jthread thread_;  // last: it uses the above
};

class Bench {
 public:
  Bench(std::string agent, const Options& options) : agent_(std::move(agent)), options_(options) {}

  Status run() {
    auto player = start();
    if (!player) return failure(player.error());
    if (!test_support::eventually([&] { return !address("api").empty(); })) {
      return failure(Errc::kUnavailable, "the agent is not ready");
    }
    print_now(*player, "no container");
    std::optional<Reader> reader(std::in_place, address("api"), client_);
    if (auto read = first_message(*reader); !read) return read;
    print_now(*player, "the same, watched");
    for (const int standing : options_.standing) {
      if (auto grown = player->grow_to(standing); !grown) return grown;
      print_now(*player, std::to_string(standing) + " containers");
    }
    reader.reset();  // ends with the next message, a heartbeat at the latest
    reader.emplace(address("api"), client_);
    if (auto read = first_message(*reader); !read) return read;
    print_now(*player, "the same, watched anew");
    if (auto scraped = scrape(*player); !scraped) return scraped;
    print_now(*player, "after these");
    for (const std::string& text : player->violations()) {
      return failure(Errc::kInternal, "the agent's answers contradict each other: " + text);
    }
    return player->end();
  }

 private:
  static Status first_message(const Reader& reader) {
    if (test_support::eventually([&] { return reader.has_read(); })) return {};
    return failure(Errc::kUnavailable, "nothing to be watched");
  }

  Result<Player> start() {
    auto agent = start_as_chart(agent_, place_.path());
    if (!agent) return failure(agent.error());
    client_ = agent->client;
    return std::move(agent->player);
  }

  [[nodiscard]] std::string address(const std::string& listener) const {
    return address_of(place_.path(), listener);
  }

  Status scrape(const Player& player) const {
    httplib::Client client("http://" + address("metrics"));
    std::size_t bytes = 0;
    for (int i = 0; i < options_.scrapes; ++i) {
      const auto answer = client.Get("/metrics");
      if (!answer || answer->status != 200) return failure(Errc::kUnavailable, "no /metrics");
      bytes = answer->body.size();
    }
    char moment[64];
    std::snprintf(moment, sizeof(moment), "%d scrapes of %zu KiB", options_.scrapes, bytes / 1024);
    print(player, moment);
    return {};
  }

  static void print_now(const Player& player, const std::string& moment) {
    std::this_thread::sleep_for(kRest);
    print(player, moment);
  }

  static void print(const Player& player, const std::string& moment) {
    const Memory memory = player.process().memory();
    std::printf("  %-28s %8.1f %9.1f %8.1f %8lld\n", moment.c_str(), mib(memory.rss_kib),
                mib(memory.anonymous_kib), mib(memory.peak_kib),
                static_cast<long long>(memory.threads));
  }

  std::string agent_;
  Options options_;
  test_support::TempDir place_;
  agent::api::TlsFiles client_;
};

int run(int argc, char** argv) {
  Options options;
  CLI::App app("Memory and threads of pinion-agent, in MiB");
  app.add_option("--agent", options.agents, "pinion-agent programs")->required();
  app.add_option("--standing", options.standing, "Containers, one number after another")
      ->capture_default_str();
  app.add_option("--scrapes", options.scrapes, "Of /metrics, one after another")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  for (const std::string& agent : options.agents) {
    std::printf("%s\n  %-28s %8s %9s %8s %8s\n", agent.c_str(), "MiB", "resident", "anonymous",
                "most", "threads");
    if (const auto done = Bench(agent, options).run(); !done) {
      std::fprintf(stderr, "%s: %s\n", agent.c_str(), done.error().text.c_str());
      return 1;
    }
  }
  return 0;
}

}  // namespace
}  // namespace pinion::bench

int main(int argc, char** argv) {
  return pinion::bench::run(argc, argv);
}
