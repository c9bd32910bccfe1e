#include "tests/e2e/slurm_lab.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <sstream>

#include "base/process/run_program.h"
#include "cluster/slurm/job_json.h"
#include "tests/e2e/collection.h"
#include "tests/lab/files.h"
#include "tests/support/places.h"

namespace pinion::e2e {
namespace {

namespace fs = std::filesystem;
using lab::Milliseconds;

constexpr Milliseconds kCommandLimit{120'000};
constexpr Milliseconds kStartLimit{120'000};
constexpr int kKeyBytes = 1024;
constexpr int kTries = 5;
constexpr std::array kScripts = {"job_submit.lua", "prolog.sh", "task_prolog.sh", "epilog.sh"};

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  const std::string full = name.data();
  return full.substr(0, full.find('.'));
}

// Debian's folder of daemons is not in everybody's PATH.
std::string daemon(const std::string& name) {
  for (const char* folder : {"/usr/sbin/", "/usr/bin/", "/usr/local/sbin/"}) {
    if (fs::exists(folder + name)) return folder + name;
  }
  return "";
}

Result<std::string> output_of(std::vector<std::string> argv) {
  const auto end = run_program(std::move(argv), {.time = lab::patient(kCommandLimit)});
  if (!end) return failure(end.error());
  if (end->status != 0) return failure(Errc::kInternal, end->errors + end->out);
  return end->out;
}

}  // namespace

// A port that was free may be somebody else's by the time Slurm listens there.
Result<std::unique_ptr<SlurmLab>> SlurmLab::start(const SlurmOptions& options) {
  for (int left = kTries;; --left) {
    auto lab = try_start(options);
    if (lab || left == 1) return lab;
    if (lab.error().text.find("Address already in use") == std::string::npos) return lab;
  }
}

Result<std::unique_ptr<SlurmLab>> SlurmLab::try_start(const SlurmOptions& options) {
  for (const char* part : {"munged", "slurmctld", "slurmd"}) {
    if (daemon(part).empty()) {
      return failure(Errc::kNotFound, std::string(part) + " is not here: scripts/deps.sh test");
    }
  }
  if (geteuid() != 0) return failure(Errc::kNotFound, "needs root, to run jobs as other users");
  std::unique_ptr<SlurmLab> lab(new SlurmLab);
  if (Status made = lab->make_files(options); !made) return failure(made.error());
  const std::string dir = lab->folder();
  Status done = lab->start_part(
      lab->munged_, "munged",
      {daemon("munged"), "--force", "--foreground", "--socket=" + dir + "/munge.sock",
       "--key-file=" + dir + "/munge.key", "--pid-file=" + dir + "/munged.pid",
       "--log-file=" + dir + "/munged.log", "--seed-file=" + dir + "/munge.seed"});
  if (done && !lab::eventually(kStartLimit, [&] { return fs::exists(dir + "/munge.sock"); })) {
    done = failure(Errc::kUnavailable, "munged does not listen");
  }
  if (done && options.accounting) done = lab->start_accounting();
  if (!done) return failure(done.error());
  done = lab->restart_slurmctld();
  for (const std::string& node : options.nodes) {
    lab->slurmds_.emplace_back();
    if (done) {
      done = lab->start_part(lab->slurmds_.back(), node, {daemon("slurmd"), "-D", "-N", node});
    }
  }
  const auto all_run = [&] {
    return std::all_of(lab->slurmds_.begin(), lab->slurmds_.end(),
                       [](lab::Process& slurmd) { return slurmd.running(); });
  };
  bool idle = false;
  if (done) {
    (void)lab::eventually(kStartLimit, [&] {
      idle = lab->idle(options.nodes.size());
      return idle || !all_run();
    });
  }
  if (done && !idle) done = failure(Errc::kUnavailable, "its nodes are not idle");
  if (!done) return failure(Errc::kUnavailable, done.error().text + "\n" + lab->logs());
  return lab;
}

SlurmLab::~SlurmLab() {
  cancel_all();
  (void)lab::eventually(Milliseconds(5000), [&] {
    const auto left = run({"squeue", "--noheader"});
    return !left || left->empty();
  });
}

// MariaDB, which has nothing of this machine's own, and slurmdbd.
Status SlurmLab::start_accounting() {
  const std::string install = daemon("mariadb-install-db");
  for (const std::string& path : {install, daemon("mariadbd"), daemon("slurmdbd")}) {
    if (path.empty()) {
      return failure(Errc::kNotFound, "no slurmdbd and mariadbd here: scripts/deps.sh test");
    }
  }
  const std::string dir = folder();
  const std::string data = "--datadir=" + dir + "/db";
  const std::string socket = dir + "/db.sock";
  // Each MariaDB that starts deletes all temporary tables of its folder, whosesoever.
  const std::string own = "TMPDIR=" + dir;
  const auto installed =
      output_of({"env", own, install, "--no-defaults", "--user=root", "--skip-test-db",
                 "--auth-root-authentication-method=socket", data});
  if (!installed) return failure(installed.error().within("mariadb-install-db"));
  Status done = start_part(database_, "mariadbd",
                           {"env", own, daemon("mariadbd"), "--no-defaults", "--user=root", data,
                            "--socket=" + socket, "--pid-file=" + dir + "/mariadbd.pid",
                            "--skip-networking", "--innodb-buffer-pool-size=32M"});
  if (!done) return done;
  if (!lab::eventually(kStartLimit, [&] { return fs::exists(socket); })) {
    return failure(Errc::kUnavailable, "mariadbd does not listen");
  }
  const int port = free_port();
  const std::string munge = dir + "/munge.sock";
  std::ostringstream conf;
  conf << "AuthType=auth/munge\nAuthInfo=socket=" << munge
       << "\nDbdHost=localhost\nDbdPort=" << port
       << "\nSlurmUser=root\nStorageType=accounting_storage/mysql\nStorageHost=localhost\n"
       << "StorageUser=root\nStorageLoc=slurm\nPidFile=" << dir << "/slurmdbd.pid\n";
  const std::string path = dir + "/slurmdbd.conf";
  done = lab::write_file(path, conf.str());
  if (!done) return done;
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
  done = start_part(slurmdbd_, "slurmdbd",
                    {"env", "MYSQL_UNIX_PORT=" + socket, daemon("slurmdbd"), "-D"});
  if (!done) return done;
  std::ostringstream more;
  more << lab::read_file(this->conf()).value_or("")
       << "AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageHost=localhost\n"
       << "AccountingStoragePort=" << port << "\nAccountingStoragePass=" << munge << "\n";
  done = lab::write_file(this->conf(), more.str());
  if (!done) return done;
  // slurmctld ends where it is not there.
  if (lab::eventually(kStartLimit, [&] {
        return run({"sacctmgr", "--noheader", "show", "cluster"}).has_value();
      })) {
    return {};
  }
  return failure(Errc::kUnavailable, "slurmdbd does not answer");
}

Status SlurmLab::make_files(const SlurmOptions& options) {
  const std::string dir = folder();
  std::error_code error;
  for (const char* sub : {"/spool", "/state"}) fs::create_directories(dir + sub, error);
  // Users' commands find the configuration and munge's socket.
  fs::permissions(dir, fs::perms::owner_all | fs::perms::group_exec | fs::perms::others_exec |
                           fs::perms::group_read | fs::perms::others_read);
  if (Status done = lab::write_file(dir + "/munge.key", std::string(kKeyBytes, 'k')); !done) {
    return done;
  }
  fs::permissions(dir + "/munge.key", fs::perms::owner_read | fs::perms::owner_write);
  for (const char* script : kScripts) {
    if (Status done = install_script(script); !done) return done;
  }
  std::ostringstream conf;
  conf << "ClusterName=wind\n"
       << "SlurmctldHost=" << host_name() << "(127.0.0.1)\n"
       << "SlurmctldPort=" << free_port() << "\n"
       << "SlurmUser=root\nSlurmdUser=root\n"
       << "AuthInfo=socket=" << dir << "/munge.sock\n"
       << "StateSaveLocation=" << dir << "/state\n"
       << "SlurmctldPidFile=" << dir << "/slurmctld.pid\n"
       << "SlurmdPidFile=" << dir << "/%n.pid\n"
       << "SlurmdSpoolDir=" << dir << "/spool/%n\n"
       << "ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n"
       << "JobAcctGatherType=jobacct_gather/none\nMpiDefault=none\n"
       << "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\n"
       << "SlurmdParameters=config_overrides\nReturnToService=2\nKillWait=1\n"
       << "SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1,"
       << "permit_job_expansion\n"
       << "JobSubmitPlugins=lua\n"
       << "Prolog=" << dir << "/prolog.sh\nTaskProlog=" << dir << "/task_prolog.sh\n"
       << "Epilog=" << dir << "/epilog.sh\n"
       << options.more;
  for (const std::string& node : options.nodes) {
    conf << "NodeName=" << node << " NodeHostname=" << host_name()
         << " NodeAddr=127.0.0.1 Port=" << free_port() << " CPUs=" << options.cpus
         << " Sockets=1 CoresPerSocket=" << options.cpus << " ThreadsPerCore=1 RealMemory=8000\n";
  }
  conf << "PartitionName=main Nodes=ALL Default=YES State=UP\n";
  return lab::write_file(dir + "/slurm.conf", conf.str());
}

// Those that write something write it below our folder.
Status SlurmLab::install_script(const std::string& name) const {
  auto text = lab::read_file(test_support::in_checkout("cluster/slurm/" + name));
  if (!text) return failure(text.error());
  const std::string theirs = "run=/run/pinion-slurm\n";
  if (const auto at = text->find(theirs); at != std::string::npos) {
    text->replace(at, theirs.size(), "run=" + folder() + "/run\n");
  }
  // Imagined cores never come.
  const std::string patience = "wait_s=10\n";
  if (const auto at = text->find(patience); at != std::string::npos) {
    text->replace(at, patience.size(), "wait_s=1\n");
  }
  const std::string path = folder() + "/" + name;
  if (Status done = lab::write_file(path, *text); !done) return done;
  fs::permissions(path, fs::perms::others_exec | fs::perms::group_exec | fs::perms::owner_exec,
                  fs::perm_options::add);
  return {};
}

std::vector<std::string> SlurmLab::with_conf(std::vector<std::string> argv) const {
  argv.insert(argv.begin(), {"env", "SLURM_CONF=" + conf()});
  return argv;
}

Status SlurmLab::start_part(lab::Process& process, const std::string& name,
                            std::vector<std::string> argv) {
  auto started = start_mortal(with_conf(std::move(argv)), folder() + "/" + name + ".out");
  if (!started) return failure(started.error().within(name));
  process = *std::move(started);
  if (std::find(parts_.begin(), parts_.end(), name) == parts_.end()) parts_.push_back(name);
  return {};
}

// Killed, it would forget what it was told in the last seconds.
void SlurmLab::stop_slurmctld() {
  (void)slurmctld_.stop(kStartLimit);
}

Status SlurmLab::restart_slurmctld() {
  Status done = start_part(slurmctld_, "slurmctld", {daemon("slurmctld"), "-D"});
  if (!done) return done;
  if (lab::eventually(kStartLimit, [&] { return run({"scontrol", "ping"}).has_value(); })) {
    return {};
  }
  return failure(Errc::kUnavailable, "slurmctld does not answer");
}

bool SlurmLab::idle(std::size_t nodes) const {
  const auto states = run({"sinfo", "--noheader", "--Node", "--format=%T"});
  if (!states) return false;
  std::istringstream lines(*states);
  std::string line;
  std::size_t idle = 0;
  while (std::getline(lines, line)) idle += line == "idle" ? 1 : 0;
  return idle == nodes;
}

Result<std::string> SlurmLab::run(std::vector<std::string> argv) const {
  return output_of(with_conf(std::move(argv)));
}

Result<std::string> SlurmLab::run_as_nobody(std::vector<std::string> argv) const {
  argv = with_conf(std::move(argv));
  argv.insert(argv.begin(), {"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"});
  return output_of(std::move(argv));
}

Result<std::uint32_t> SlurmLab::submit(std::vector<std::string> options, int sleep_s) const {
  std::vector<std::string> argv = {"sbatch", "--parsable", "--chdir=/", "--output=/dev/null"};
  for (std::string& option : options) argv.push_back(std::move(option));
  argv.push_back("--wrap=exec sleep " + std::to_string(sleep_s));
  const auto number = run(std::move(argv));
  if (!number) return failure(number.error());
  return static_cast<std::uint32_t>(std::stoul(*number));
}

void SlurmLab::cancel_all() const {
  for (const char* state : {"PENDING", "RUNNING", "SUSPENDED"}) {
    (void)run({"scancel", "--quiet", std::string("--state=") + state});
  }
}

slurm::Job SlurmLab::job(std::uint32_t id) const {
  const auto text = run({"squeue", "--json"});
  const auto jobs = text ? slurm::read_jobs(*text) : Result<std::vector<slurm::Job>>();
  for (const slurm::Job& job : *jobs) {
    if (job.id == id) return job;
  }
  return {};
}

bool SlurmLab::wait_for(std::uint32_t id, slurm::Job::State state) const {
  return lab::eventually(kPatience, [&] {
    const slurm::Job now = job(id);
    return now.id == id && now.state == state;
  });
}

std::string SlurmLab::show(std::uint32_t id) const {
  const auto text = run({"scontrol", "show", "job", "--details", std::to_string(id)});
  return text ? *text : text.error().text;
}

std::string SlurmLab::logs() const {
  std::string text;
  for (const std::string& part : parts_) {
    text += "--- " + part + "\n" + lab::tail_of(folder() + "/" + part + ".out", 25);
  }
  return text;
}

}  // namespace pinion::e2e
