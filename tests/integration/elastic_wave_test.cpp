// The example of an elastic MPI program, on this machine alone: its result, and its launcher's
// answers. In pods of a node with several cores: tests/guest/elastic_mpi_test.cpp.
#include <gtest/gtest.h>
#include <httplib.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "tests/lab/files.h"
#include "tests/lab/process.h"
#include "tests/support/wave_sheet.h"

namespace pinion {
namespace {

using nlohmann::json;
using test_support::read_wave;
using test_support::wave_after;

constexpr int kPoints = 48;
constexpr lab::Milliseconds kLimit{30000};

class Root_ElasticWave : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("wave-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override {
    launcher_.kill();
    if (HasFailure()) std::printf("%s\n", lab::tail_of(folder_ / "output", 40).c_str());
    std::filesystem::remove_all(folder_);
  }

  // With what MPI needs where all ranks are on this machine.
  [[nodiscard]] lab::Command command(std::vector<std::string> argv) const {
    return {
        .argv = std::move(argv),
        .env = {{"TMPDIR", folder_},  // Open MPI makes a folder for all of a user's programs there
                {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
                {"OMPI_MCA_hwloc_base_binding_policy", "none"},
                {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
                {"OMPI_MCA_mpi_yield_when_idle", "1"}},
        .log = folder_ / "output"};
  }
  // An mpirun that takes this machine for all hosts of the file but one, which is away: Open MPI's
  // own daemons cannot stand for several hosts on one machine, as their connections to each other
  // fail by chance.
  [[nodiscard]] std::string mpirun() const {
    std::string file = folder_ / "mpirun";
    std::ofstream(file) << "#!/bin/sh\n! grep -q wave-3.wave \"$2\" || exit 1\n"
                           "shift 2\nexec mpirun.openmpi \"$@\"\n";
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    return file;
  }
  void start_launcher(int workers) {
    auto launcher = lab::Process::start(command(
        {lab::program_folder() + "/elastic-launcher", "0", folder_ / "hosts",
         std::to_string(workers), folder_, mpirun(), lab::program_folder() + "/elastic-wave",
         folder_, std::to_string(kPoints), "1000000000", "5"}));
    ASSERT_TRUE(launcher) << launcher.error().text;
    launcher_ = std::move(*launcher);
    ASSERT_TRUE(
        lab::eventually(kLimit, [&] { return bool(std::ifstream(folder_ / "port") >> port_); }));
  }
  void name_hosts(int count) const {
    std::ofstream hosts(folder_ / "hosts");
    for (int i = 0; i < count; ++i) hosts << "wave-" << i << ".wave\n";
  }
  // HTTP's status; 0: nobody answers.
  [[nodiscard]] int ask(const json& wanted) const {
    httplib::Client client("127.0.0.1", port_);
    const json question = {
        {"namespace", "default"}, {"job", "wave"}, {"workers", 2}, {"wantedWorkers", wanted}};
    const auto answer = client.Post("/pinion/workers", question.dump(), "application/json");
    return answer ? answer->status : 0;
  }
  // Until it answers something else than "not yet".
  [[nodiscard]] int ask_until_answered(int wanted) const {
    int status = 0;
    lab::eventually(kLimit, [&] {
      status = ask(wanted);
      return status != 0 && status != 202;
    });
    return status;
  }
  [[nodiscard]] int ranks() const {
    std::int64_t step = 0;
    int ranks = 0;
    std::ifstream(folder_ / "progress") >> step >> ranks;
    return ranks;
  }

  // What it says is done; nothing: it does not say.
  [[nodiscard]] std::optional<double> done() const {
    httplib::Client client("127.0.0.1", port_);
    const auto answer = client.Get("/pinion/progress");
    if (!answer || answer->status != 200) return {};
    return json::parse(answer->body).at("done").get<double>();
  }

  std::filesystem::path folder_;
  int port_ = 0;
  lab::Process launcher_;
};

TEST_F(Root_ElasticWave, AnyNumberOfRanksComputesTheSame) {
  constexpr int kSteps = 100;
  for (const int ranks : {1, 2, 5}) {
    SCOPED_TRACE(ranks);
    std::filesystem::remove(folder_ / "checkpoint");
    const auto output = lab::run(command({"mpirun.openmpi", "-np", std::to_string(ranks),
                                          lab::program_folder() + "/elastic-wave", folder_,
                                          std::to_string(kPoints), std::to_string(kSteps)}),
                                 kLimit);
    ASSERT_TRUE(output) << output.error().text;
    const auto sheet = read_wave(folder_ / "checkpoint", kPoints);
    ASSERT_TRUE(sheet);
    EXPECT_TRUE(*sheet == wave_after(kSteps, kPoints));
  }
}

TEST_F(Root_ElasticWave, ItsLauncherFollowsWhatItIsAsked) {
  name_hosts(2);
  start_launcher(2);
  ASSERT_EQ(ask_until_answered(2), 200) << lab::tail_of(folder_ / "output", 20);
  const auto first = done();
  ASSERT_TRUE(first);
  EXPECT_TRUE(lab::eventually(kLimit, [&] { return done() > first; }));
  EXPECT_EQ(ask("many"), 400);
  EXPECT_EQ(ask(0), 409);
  EXPECT_EQ(ask(3), 202) << "the third host is not known yet";
  EXPECT_EQ(ask_until_answered(2), 200) << "it has not begun to change";

  name_hosts(4);
  EXPECT_EQ(ask(3), 202);
  EXPECT_EQ(ask_until_answered(3), 200);
  EXPECT_EQ(ranks(), 3);

  EXPECT_EQ(ask_until_answered(4), 409) << "the fourth cannot be reached";
  EXPECT_EQ(ask_until_answered(3), 200);
  EXPECT_EQ(ranks(), 3);

  EXPECT_EQ(ask_until_answered(1), 200);
  EXPECT_EQ(ranks(), 1);

  launcher_.signal(SIGTERM);
  EXPECT_EQ(launcher_.wait(kLimit), 143) << lab::tail_of(folder_ / "output", 20);
  const auto sheet = read_wave(folder_ / "checkpoint", kPoints);
  ASSERT_TRUE(sheet);
  EXPECT_GT(sheet->step, 0);
  EXPECT_TRUE(*sheet == wave_after(sheet->step, kPoints)) << "after " << sheet->step << " steps";
}

}  // namespace
}  // namespace pinion
