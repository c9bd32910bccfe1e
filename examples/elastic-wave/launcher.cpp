// Runs an MPI program with as many ranks as Pinion says, in the pod with index 0 of an elastic job:
// the application's side of `pinion.dev/acknowledge: http:PORT` (docs/elastic.md).
//
// Usage: elastic-launcher PORT HOSTS WORKERS FOLDER MPIRUN ARGUMENT...
//
// Starts `MPIRUN --hostfile FOLDER/hostfile -np WORKERS ARGUMENT...`, on the first WORKERS of the
// hosts in the file HOSTS, one on a line. Asked for another number, it makes FOLDER/stop, waits
// until the program has left its checkpoint there and ended, and starts it anew. The program makes
// FOLDER/progress once all ranks run; the number with which the file begins is what is done.
// SIGTERM ends it the same way, but with status 143, as the work is not done: else the job would
// count as complete. Otherwise it ends with MPIRUN's status. Where it listens stands in
// FOLDER/port: PORT, or where that is 0 any.
#include <fcntl.h>
#include <httplib.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace fs = std::filesystem;

constexpr int kReady = 200;
constexpr int kNotYet = 202;
constexpr int kDeclines = 409;
constexpr int kNoQuestion = 400;
constexpr int kNotDone = 128 + SIGTERM;

volatile std::sig_atomic_t ending = 0;
std::string stop_file;  // the program ends at its next checkpoint when it is there

// Also in a signal's handler.
void make_stop_file() {
  const int file = ::open(stop_file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (file >= 0) ::close(file);
}

class Launcher {
 public:
  Launcher(std::string hosts, int workers, std::string folder, std::vector<std::string> command)
      : hosts_(std::move(hosts)),
        folder_(std::move(folder)),
        command_(std::move(command)),
        workers_(workers),
        wanted_(workers) {}

  // Until the program has ended by itself, or was ended; its status.
  int run() {
    while (begin()) {
      const int status = run_program();
      if (const auto end = ended(status)) return *end;
    }
    return kNotDone;
  }

  // To be called as often as somebody asks; answers at once.
  int answer(int wanted) {
    const std::lock_guard lock(mutex_);
    if (wanted < 1 || wanted == refused_) {
      refused_.reset();
      return kDeclines;
    }
    if (wanted == workers_ && wanted == wanted_) return runs() ? kReady : kNotYet;
    // The new hosts may come to the file later than the question to us.
    if (!runs() || hosts(wanted).empty()) return kNotYet;
    wanted_ = wanted;
    make_stop_file();
    return kNotYet;
  }

  // What is done, as the program says; nothing while it does not run.
  [[nodiscard]] std::optional<double> done() const {
    double done = 0;
    if (std::ifstream(folder_ / "progress") >> done) return done;
    return {};
  }

 private:
  // False: it is not to start any more.
  bool begin() {
    const std::lock_guard lock(mutex_);
    fs::remove(stop_file);
    fs::remove(folder_ / "progress");
    std::ofstream(folder_ / "hostfile") << hosts(workers_);
    return ending == 0;
  }

  int run_program() {
    std::vector<std::string> words = {command_.front(), "--hostfile", folder_ / "hostfile", "-np",
                                      std::to_string(workers_)};
    words.insert(words.end(), command_.begin() + 1, command_.end());
    std::vector<char*> argv(words.size() + 1, nullptr);
    for (std::size_t i = 0; i < words.size(); ++i) argv[i] = words[i].data();
    pid_t pid = 0;
    if (::posix_spawnp(&pid, argv[0], nullptr, nullptr, argv.data(), environ) != 0) return 127;
    // As the first process of a container it also takes what others have left.
    int status = 0;
    for (pid_t one = 0; one != pid;) one = ::waitpid(-1, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  // What to end with; nothing where the program is to start again.
  std::optional<int> ended(int status) {
    const std::lock_guard lock(mutex_);
    if (ending != 0) return status == 0 ? kNotDone : status;
    if (wanted_ != workers_) {
      before_ = workers_;
      workers_ = wanted_;
      return {};
    }
    // It could not start with the new number: it goes on with the old one.
    if (status != 0 && !runs() && before_) {
      refused_ = workers_;
      workers_ = wanted_ = *before_;
      before_.reset();
      return {};
    }
    return status;
  }

  [[nodiscard]] bool runs() const { return fs::exists(folder_ / "progress"); }

  // A hostfile of the first so many, each for one rank; "" where there are fewer.
  [[nodiscard]] std::string hosts(int count) const {
    std::ifstream file(hosts_);
    std::string text;
    std::string line;
    for (int i = 0; i < count; ++i) {
      if (!std::getline(file, line)) return {};
      text += line + " slots=1\n";
    }
    return text;
  }

  const fs::path hosts_;
  const fs::path folder_;
  const std::vector<std::string> command_;
  std::mutex mutex_;  // of what follows
  int workers_;       // it runs with so many, or starts or ends with them
  int wanted_;
  std::optional<int> before_;   // with so many it ran
  std::optional<int> refused_;  // with so many it did not start
};

void answer_question(Launcher& launcher, const httplib::Request& request,
                     httplib::Response& response) {
  const auto question = nlohmann::json::parse(request.body, nullptr, false);
  const bool is_one = question.is_object() && question.contains("wantedWorkers") &&
                      question["wantedWorkers"].is_number_integer();
  response.status = is_one ? launcher.answer(question["wantedWorkers"].get<int>()) : kNoQuestion;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) {
    std::fprintf(stderr, "usage: elastic-launcher PORT HOSTS WORKERS FOLDER MPIRUN ARGUMENT...\n");
    return 2;
  }
  stop_file = std::string(argv[4]) + "/stop";
  std::signal(SIGTERM, [](int) {
    ending = 1;
    make_stop_file();
  });
  Launcher launcher(argv[2], std::atoi(argv[3]), argv[4], {argv + 5, argv + argc});
  httplib::Server server;
  server.Post("/pinion/workers", [&](const auto& request, auto& response) {
    answer_question(launcher, request, response);
  });
  server.Get("/pinion/progress", [&](const auto&, auto& response) {
    const auto done = launcher.done();
    response.status = done ? kReady : kNotYet;
    if (done) response.set_content(nlohmann::json({{"done", *done}}).dump(), "application/json");
  });
  const int wanted = std::atoi(argv[1]);
  const int port = wanted == 0                              ? server.bind_to_any_port("0.0.0.0")
                   : server.bind_to_port("0.0.0.0", wanted) ? wanted
                                                            : -1;
  if (port < 0) {
    std::fprintf(stderr, "elastic-launcher: cannot listen at port %s\n", argv[1]);
    return 1;
  }
  std::ofstream(std::string(argv[4]) + "/port") << port << "\n";
  std::thread listener([&] { server.listen_after_bind(); });
  const int status = launcher.run();
  server.stop();
  listener.join();
  return status;
}
