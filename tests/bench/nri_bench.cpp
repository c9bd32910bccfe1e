// pinion-nri-bench: plays the runtime to pinion-agent and, in the same run and in turns, to a
// plugin that does nothing, so that what the machine does besides falls on both; prints a table.
// Fails only for answers that cannot be right and for programs that do not end cleanly.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "tests/bench/nri_bench_report.h"

namespace pinion::bench {
namespace {

constexpr int kCpus = 256;
constexpr const char* kMachine =
    "synthetic:package:2 group:4 [numa(memory=64GiB)] l3:4 core:4 pu:2";
// A session that lives shorter makes a plugin that comes back careful.
constexpr std::chrono::milliseconds kStable{1100};

struct Options {
  std::string agent;
  std::string floor;
  std::string log_level = "info";
  int lives = 2000;
  int drops = 10;
  bool quick = false;
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

// One run: the two plugins, and what the aims are judged by.
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

  Options options_;
  Workplace place_;
  std::vector<Player> players_;  // the agent, the floor
  Tally at_200_;
  Tally at_500_;
  double synchronize_ms_ = 0;
  double back_ms_ = 0;
};

Result<Player> Bench::player(const std::string& name, const std::vector<std::string>& program,
                             Role role) {
  auto runtime = BenchRuntime::listen(place_.file(name + ".sock"));
  if (!runtime) return failure(runtime.error());
  auto arguments = program;
  arguments.insert(arguments.end(), {"--nri-socket", place_.file(name + ".sock")});
  auto process = PluginProcess::start(arguments, place_.file(name + ".log"));
  if (!process) return failure(process.error());
  Player player(std::move(*runtime), std::move(*process), role, kCpus);
  if (auto begun = player.begin(); !begun) return failure(begun.error().within("start " + name));
  return player;
}

Result<Player> Bench::agent(const std::string& name, const std::string& log_level) {
  return player(name,
                {options_.agent, "--topology", kMachine, "--state-dir", place_.file(name),
                 "--kubelet-dir", "/nonexistent", "--log-level", log_level},
                Role::kPins);
}

Status Bench::level(int standing) {
  constexpr int kBlock = 50;
  Tally tallies[2];
  for (Player& player : players_) {
    if (auto grown = player.grow_to(standing); !grown) return grown;
  }
  for (int done = 0; done < options_.lives; done += kBlock) {
    for (std::size_t i = 0; i < 2; ++i) {
      const int lives = std::min(kBlock, options_.lives - done);
      if (auto lived = players_[i].live(lives, tallies[i]); !lived) return lived;
    }
  }
  print_title(std::to_string(standing) + " standing (" + std::to_string(players_[0].exclusive()) +
              " exclusive), " + std::to_string(options_.lives) + " lives");
  print_level(tallies[0], tallies[1]);
  if (standing == 200) at_200_ = std::move(tallies[0]);
  if (standing == 500) at_500_ = std::move(tallies[0]);
  return {};
}

Status Bench::drops() {
  std::vector<double> call_ms[2];
  std::vector<double> total_ms[2];
  std::size_t updates = 0;
  for (int i = 0; i < options_.drops; ++i) {
    std::this_thread::sleep_for(kStable);
    for (std::size_t p = 0; p < 2; ++p) {
      const auto done = players_[p].drop();
      if (!done) return failure(done.error().within("drop the connection"));
      call_ms[p].push_back(done->call_ms);
      total_ms[p].push_back(done->total_ms);
      if (p == 0) updates += static_cast<std::size_t>(done->response.update_size());
    }
  }
  print_title("connection dropped " + std::to_string(options_.drops) + " times at " +
              std::to_string(players_[0].standing()));
  synchronize_ms_ = quantile(call_ms[0], 0.5);
  back_ms_ = quantile(total_ms[0], 1);
  print_row("Synchronize p50, ms", synchronize_ms_, quantile(call_ms[1], 0.5), 1);
  print_row("Synchronize most, ms", quantile(call_ms[0], 1), quantile(call_ms[1], 1), 1);
  print_row("back after the drop p50, ms", quantile(total_ms[0], 0.5), quantile(total_ms[1], 0.5),
            1);
  print_row("back after the drop most, ms", back_ms_, quantile(total_ms[1], 1), 1);
  print_row("updates in all those answers", static_cast<double>(updates), 0, 0);
  const auto rss = [this](std::size_t p) {
    return static_cast<double>(players_[p].process().memory().rss_kib) / 1024;
  };
  const auto peak = [this](std::size_t p) {
    return static_cast<double>(players_[p].process().memory().peak_kib) / 1024;
  };
  print_row("RSS after them, MiB", rss(0), rss(1), 1);
  print_row("RSS at most so far, MiB", peak(0), peak(1), 1);
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
  auto floor = player("floor", {options_.floor}, Role::kFloor);
  if (!floor) return failure(floor.error());
  players_.push_back(std::move(*pinion));
  players_.push_back(std::move(*floor));
  std::printf("agent: %s, log level %s\nfloor: %s\nmachine: %s\nsubscribed: %x, %x\n",
              options_.agent.c_str(), options_.log_level.c_str(), options_.floor.c_str(), kMachine,
              players_[0].runtime().events(), players_[1].runtime().events());
  for (const int standing : {0, 50, 200, 500}) {
    if (auto done = level(standing); !done) return done;
  }
  if (auto done = drops(); !done) return done;
  if (auto done = writes(); !done) return done;
  if (auto done = finish(players_[0], "agent"); !done) return done;
  if (auto done = finish(players_[1], "floor"); !done) return done;
  if (options_.quick) return {};
  std::printf("\naims\n");
  print_aim("CreateContainer p50 at 200, ms", quantile(at_200_.creates, 0.5), 0.3);
  print_aim("StopContainer p50 at 200, ms", quantile(at_200_.stops, 0.5), 0.3);
  print_aim("  p99 without updates, create, ms", quantile(only(at_200_.creates, false), 0.99), 0.2);
  print_aim("  p99 without updates, stop, ms", quantile(only(at_200_.stops, false), 0.99), 0.2);
  print_aim("Synchronize of 500 p50, ms", synchronize_ms_, 20);
  print_aim("RSS at 500, MiB", static_cast<double>(at_500_.memory.rss_kib) / 1024, 10);
  print_aim("back after a dropped connection, most, ms", back_ms_, 200);
  return {};
}

}  // namespace
}  // namespace pinion::bench

int main(int argc, char** argv) {
  using namespace pinion::bench;
  Options options;
  std::error_code error;
  const auto here = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  options.agent = here / "pinion-agent";
  options.floor = here / "pinion-nri-floor-go";
  if (!std::filesystem::exists(options.floor)) options.floor = here / "pinion-nri-floor";
  CLI::App app(
      "Measures pinion-agent's answers to a runtime against those of a do-nothing plugin.");
  app.add_option("--agent", options.agent, "The agent's program")->capture_default_str();
  app.add_option("--floor", options.floor, "The do-nothing plugin's program")
      ->capture_default_str();
  app.add_option("--log-level", options.log_level, "The agent's; its log goes to a file")
      ->capture_default_str();
  app.add_option("--lives", options.lives, "Pod lives at each number of standing containers")
      ->capture_default_str();
  app.add_option("--drops", options.drops, "Dropped connections")->capture_default_str();
  app.add_flag("--quick", options.quick, "200 lives, 2 drops: checks the answers, not the times");
  CLI11_PARSE(app, argc, argv);
  if (options.quick) {
    options.lives = 200;
    options.drops = 2;
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  if (const auto done = Bench(options).run(); !done) {
    std::fprintf(stderr, "pinion-nri-bench: %s\n", done.error().text.c_str());
    return 1;
  }
  return 0;
}
