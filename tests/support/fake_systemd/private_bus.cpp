#include "tests/support/fake_systemd/private_bus.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <fstream>

#include "base/fd.h"

namespace pinion::test_support {
namespace {

constexpr const char* kDenied =
    R"(<deny send_interface="org.freedesktop.systemd1.Manager" send_member="SetUnitProperties"/>)";

}  // namespace

PrivateBus::PrivateBus(std::filesystem::path folder, Policy policy) : folder_(std::move(folder)) {
  std::ofstream(folder_ / "bus.conf")
      << "<busconfig><type>session</type><listen>" << address()
      << "</listen><auth>EXTERNAL</auth><policy context=\"default\">"
      << R"(<allow user="*"/><allow own="*"/><allow send_destination="*"/>)"
      << R"(<allow receive_sender="*"/>)" << (policy == Policy::kNoSetUnitProperties ? kDenied : "")
      << "</policy></busconfig>\n";
}

PrivateBus::~PrivateBus() {
  stop();
}

std::string PrivateBus::address() const {
  return "unix:path=" + (folder_ / "bus").string();
}

bool PrivateBus::start() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), 0) != 0) return false;
  const Fd listens(ends[0]);
  Fd says(ends[1]);
  fcntl(listens.get(), F_SETFD, FD_CLOEXEC);
  const std::string config = "--config-file=" + (folder_ / "bus.conf").string();
  const std::string print = "--print-address=" + std::to_string(says.get());
  process_ = fork();
  if (process_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execlp("dbus-daemon", "dbus-daemon", config.c_str(), print.c_str(), "--nofork", "--nopidfile",
           "--nosyslog", nullptr);
    _exit(127);
  }
  says.reset();
  char first = 0;
  if (process_ > 0 && ::read(listens.get(), &first, 1) == 1) return true;
  stop();
  return false;
}

void PrivateBus::stop() {
  if (process_ <= 0) return;
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
  process_ = -1;
}

void PrivateBus::hang() const {
  kill(process_, SIGSTOP);
  siginfo_t info{};
  waitid(P_PID, static_cast<id_t>(process_), &info, WSTOPPED | WNOWAIT);
}

}  // namespace pinion::test_support
