// pinion-nri-bench: plays the runtime to pinion-agent and, in the same run and in turns, to one or
// more plugins that do nothing, so that what the machine does besides falls on all; prints a table.
// Fails only for answers that cannot be right and for programs that do not end cleanly.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "tests/bench/measurements.h"
#include "tests/bench/nri_bench_report.h"

namespace pinion::bench {
namespace {

constexpr int kCpus = 256;
constexpr const char* kMachine =
    "synthetic:package:2 group:4 [numa(memory=64GiB)] l3:4 core:4 pu:2";
// A session that lives shorter makes a plugin that comes back careful.
constexpr std::chrono::milliseconds kStable{1100};
constexpr int kBlock = 2 * Player::kKinds;  // lives in a turn: each kind as often as the others

struct Options {
  std::string agent;
  std::vector<std::string> floors;
  std::string log_level = "info";
  std::vector<int> standing{0, 50, 200, 500};
  int lives = 40 * kBlock;
  int drops = 10;
  bool quick = false;
  std::string json;
};

class Workplace {
 public:
  Workplace() {
    std::string name = std::filesystem::temp_directory_path() / "pinion-nri-bench-XXXXXX";
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;
  ~Workplace() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] bool exists() const { return !path_.empty(); }
  [[nodiscard]] std::string file(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

class Bench {
 public:
  explicit Bench(const Options& options) : options_(options) {}

  Status run();

 private:
  Result<Player> player(const std::string& name, const std::vector<std::string>& program,
                        Role role);
  Result<Player> agent(const std::string& name, const std::string& log_level);
  Status level(int standing);
  Status drops();
  Status writes();
  Status finish(Player& player, const std::string& name);

  // Of the players, as the measurements call them.
  [[nodiscard]] std::string name(std::size_t player) const;

  Options options_;
  Workplace place_;
  std::vector<Player> players_;  // the agent, the floors
  Measurements measured_;
};

std::string Bench::name(std::size_t player) const {
  if (player == 0) return "agent";
  return std::filesystem::path(options_.floors[player - 1]).filename();
}

Result<Player> Bench::player(const std::string& name, const std::vector<std::string>& program,
                             Role role) {
  // An agent lets no other one work beside it, which it tells by the socket's folder.
  const std::string folder = place_.file(name + ".run");
  std::error_code error;
  if (!std::filesystem::create_directory(folder, error)) {
    return failure(Errc::kInternal, "make " + folder + ": " + error.message());
  }
  const std::string socket = folder + "/nri.sock";
  auto runtime = BenchRuntime::listen(socket);
  if (!runtime) return failure(runtime.error());
  auto arguments = program;
  arguments.insert(arguments.end(), {"--nri-socket", socket});
  auto process = PluginProcess::start(arguments, place_.file(name + ".log"));
  if (!process) return failure(process.error());
  Player player(std::move(*runtime), std::move(*process), role, kCpus);
  if (auto begun = player.begin(); !begun) return failure(begun.error().within("start " + name));
  return player;
}

Result<Player> Bench::agent(const std::string& name, const std::string& log_level) {
  return player(name,
                {options_.agent, "--topology", kMachine, "--state-dir", place_.file(name),
                 "--host-root", "/nonexistent", "--log-level", log_level},
                Role::kPins);
}

Status Bench::level(int standing) {
  const std::string at = "/" + std::to_string(standing);
  std::vector<Tally> tallies(players_.size());
  for (Player& player : players_) {
    if (auto grown = player.grow_to(standing); !grown) return grown;
  }
  for (int done = 0; done < options_.lives; done += kBlock) {
    for (std::size_t i = 0; i < players_.size(); ++i) {
      Tally block;
      if (auto lived = players_[i].live(kBlock, block); !lived) return lived;
      measured_.add(name(i) + at, {{"create_p50_ms", quantile(block.creates, 0.5)},
                                   {"stop_p50_ms", quantile(block.stops, 0.5)},
                                   {"life_cpu_ms", block.cpu_ms / kBlock},
                                   {"rss_mib", static_cast<double>(block.memory.rss_kib) / 1024}});
      tallies[i].add(block);
    }
  }
  for (std::size_t floor = 1; floor < players_.size(); ++floor) {
    print_title(std::to_string(standing) + " standing (" + std::to_string(players_[0].exclusive()) +
                    " exclusive), " + std::to_string(tallies[0].lives) + " lives",
                name(floor));
    print_level(tallies[0], tallies[floor]);
  }
  return {};
}

Status Bench::drops() {
  std::vector<std::vector<double>> call_ms(players_.size());
  std::vector<std::vector<double>> total_ms(players_.size());
  std::size_t updates = 0;
  const std::string at = "/" + std::to_string(players_[0].standing());
  for (int i = 0; i < options_.drops; ++i) {
    std::this_thread::sleep_for(kStable);
    for (std::size_t p = 0; p < players_.size(); ++p) {
      const double cpu_before = players_[p].process().cpu_ms();
      const auto done = players_[p].drop();
      if (!done) return failure(done.error().within("drop the connection"));
      const double cpu_ms = players_[p].process().cpu_ms() - cpu_before;
      call_ms[p].push_back(done->call_ms);
      total_ms[p].push_back(done->total_ms);
      measured_.add(name(p) + at + "/dropped", {{"cpu_ms", cpu_ms}});
      if (p == 0) updates += static_cast<std::size_t>(done->response.update_size());
    }
  }
  const auto mib = [](std::int64_t kib) { return static_cast<double>(kib) / 1024; };
  const Memory memory = players_[0].process().memory();
  for (std::size_t p = 1; p < players_.size(); ++p) {
    const Memory floor = players_[p].process().memory();
    print_title("connection dropped " + std::to_string(options_.drops) + " times at " +
                    std::to_string(players_[0].standing()),
                name(p));
    print_row("Synchronize p50, ms", quantile(call_ms[0], 0.5), quantile(call_ms[p], 0.5), 1);
    print_row("Synchronize most, ms", quantile(call_ms[0], 1), quantile(call_ms[p], 1), 1);
    print_row("back after the drop p50, ms", quantile(total_ms[0], 0.5), quantile(total_ms[p], 0.5),
              1);
    print_row("back after the drop most, ms", quantile(total_ms[0], 1), quantile(total_ms[p], 1),
              1);
    print_row("updates in all those answers", static_cast<double>(updates), 0, 0);
    print_row("RSS after them, MiB", mib(memory.rss_kib), mib(floor.rss_kib), 1);
    print_row("RSS at most so far, MiB", mib(memory.peak_kib), mib(floor.peak_kib), 1);
  }
  return {};
}

// Of a second agent whose log is off: then whatever is written is a file of its own.
Status Bench::writes() {
  const int lives = std::min(options_.lives, 500);
  auto quiet = agent("quiet", "error");
  if (!quiet) return failure(quiet.error());
  if (auto grown = quiet->grow_to(200); !grown) return grown;
  const Writes before = quiet->process().writes();
  Tally tally;
  if (auto lived = quiet->live(lives, tally); !lived) return lived;
  const Writes after = quiet->process().writes();
  std::printf(
      "\nlog off, 200 standing, %d lives: %lld write calls, %lld bytes to storage\n"
      "(/proc/PID/io; answers go through send, which is not counted)\n",
      lives, static_cast<long long>(after.calls - before.calls),
      static_cast<long long>(after.bytes - before.bytes));
  return finish(*quiet, "quiet agent");
}

Status Bench::finish(Player& player, const std::string& name) {
  if (auto ended = player.end(); !ended) return failure(ended.error().within("end " + name));
  if (player.refused() > 0)
    std::printf("%s refused %d containers: %s\n", name.c_str(), player.refused(),
                player.last_refusal().c_str());
  for (const std::string& text : player.violations()) {
    std::printf("VIOLATION by %s: %s\n", name.c_str(), text.c_str());
  }
  if (!player.violations().empty()) return failure(Errc::kInternal, name + " gave wrong answers");
  return {};
}

Status Bench::run() {
  if (!place_.exists()) return sys_failure("make a temporary directory");
  auto pinion = agent("agent", options_.log_level);
  if (!pinion) return failure(pinion.error());
  players_.push_back(std::move(*pinion));
  std::printf("agent: %s, log level %s\nmachine: %s\nsubscribed: %x\n", options_.agent.c_str(),
              options_.log_level.c_str(), kMachine, players_[0].runtime().events());
  for (const std::string& program : options_.floors) {
    auto floor = player("floor-" + std::to_string(players_.size()), {program}, Role::kFloor);
    if (!floor) return failure(floor.error());
    players_.push_back(std::move(*floor));
    std::printf("floor: %s, subscribed: %x\n", program.c_str(), players_.back().runtime().events());
  }
  for (const int standing : options_.standing) {
    if (auto done = level(standing); !done) return done;
  }
  if (auto done = drops(); !done) return done;
  if (auto done = writes(); !done) return done;
  for (std::size_t i = 0; i < players_.size(); ++i) {
    if (auto done = finish(players_[i], name(i)); !done) return done;
  }
  return measured_.write(options_.json);
}

}  // namespace
}  // namespace pinion::bench

int main(int argc, char** argv) {
  using namespace pinion::bench;
  Options options;
  std::error_code error;
  const auto here = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  options.agent = here / "pinion-agent";
  options.floors = {(here / "pinion-nri-floor").string()};
  CLI::App app("Measures pinion-agent's answers to a runtime against those of do-nothing plugins.");
  app.add_option("--agent", options.agent, "The agent's program")->capture_default_str();
  app.add_option("--floor", options.floors, "The programs of do-nothing plugins")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--log-level", options.log_level, "The agent's; its log goes to a file")
      ->capture_default_str();
  app.add_option("--standing", options.standing, "Numbers of standing containers, growing")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--lives", options.lives, "Pod lives at each of them, rounded up to whole turns")
      ->capture_default_str();
  app.add_option("--drops", options.drops, "Dropped connections")->capture_default_str();
  app.add_flag("--quick", options.quick, "Few lives, 2 drops: checks the answers, not the times");
  app.add_option("--json", options.json, "Where the measurements go, for tests/bench/gate");
  CLI11_PARSE(app, argc, argv);
  if (options.quick) {
    options.lives = 4 * kBlock;
    options.drops = 2;
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  if (const auto done = Bench(options).run(); !done) {
    std::fprintf(stderr, "pinion-nri-bench: %s\n", done.error().text.c_str());
    return 1;
  }
  return 0;
}
