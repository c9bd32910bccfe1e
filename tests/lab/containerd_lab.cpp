#include "tests/lab/containerd_lab.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>

#include "tests/lab/containerd_config.h"
#include "tests/lab/image.h"
#include "tests/lab/made.h"

namespace pinion::lab {
namespace {

namespace fs = std::filesystem;

constexpr Milliseconds kReady{20000};
constexpr Milliseconds kStop{10000};

// The kubelet gives 2. On two cores full of noise it would then take seconds until such a
// container's first instruction, and the lab is about where things run, not how much.
constexpr std::uint64_t kBestEffortShares = 256;

std::string environment_or(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

// Several labs may follow one another, or run beside each other, in one process.
std::string next_number() {
  static std::atomic<int> count{0};
  return std::to_string(::getpid()) + "-" + std::to_string(++count);
}

}  // namespace

Result<std::string> default_runtime() {
  if (std::string set = environment_or("PINION_RUNTIME", ""); !set.empty()) return set;
  static const Result<std::string> found = made_by("runtime.sh");
  return found;
}

std::string why_no_lab(const LabOptions& options) {
  if (::geteuid() != 0) return "needs root";
  const auto runtime = options.runtime.empty() ? default_runtime() : options.runtime;
  if (!runtime) return runtime.error().text;
  const std::string containerd = *runtime + "/" + options.containerd + "/containerd";
  if (::access(containerd.c_str(), X_OK) != 0) {
    return "no " + containerd + ": run scripts/runtime.sh" +
           (options.containerd == "2.4" ? " --v24" : "");
  }
  if (const auto tree = CgroupTree::discover(); !tree) return tree.error().text;
  return {};
}

Result<std::unique_ptr<ContainerdLab>> ContainerdLab::start(const LabOptions& options) {
  if (const std::string why = why_no_lab(options); !why.empty()) {
    return failure(Errc::kUnavailable, "lab: " + why);
  }
  auto cgroups = CgroupTree::discover();
  if (!cgroups) return failure(cgroups.error());
  std::unique_ptr<ContainerdLab> lab(new ContainerdLab(options, std::move(*cgroups)));
  if (lab->options_.runtime.empty()) lab->options_.runtime = *default_runtime();
  Status done = lab->make_folder();
  if (done) done = lab->make_cgroups();
  if (done) done = lab->start_containerd();
  if (done) done = lab->import_image();
  if (!done) {
    const std::string tail = tail_of(lab->containerd_log(), 15);
    return failure(done.error().code, "lab: " + done.error().text + "\n" + tail);
  }
  return lab;
}

Status ContainerdLab::close() {
  cri_.reset();
  // The guard ends containerd with all the rest.
  Status done = guard_.finish();
  containerd_.kill();
  return done;
}

std::map<std::string, std::string> ContainerdLab::environment() const {
  return {{"PINION_LAB", dir_}};
}

std::string ContainerdLab::bin(const std::string& name) const {
  return options_.runtime + "/" + options_.containerd + "/" + name;
}

Status ContainerdLab::make_folder() {
  const std::string number = next_number();
  // Short, because socket paths may have 107 characters only.
  std::string dir = environment_or("TMPDIR", "/tmp") + "/pinion-lab-" + number + "-XXXXXX";
  if (::mkdtemp(dir.data()) == nullptr) return sys_failure("mkdtemp " + dir);
  dir_ = dir;
  cgroup_root_ = "/pinion-lab-" + number;
  logs_ = options_.logs.empty() ? dir_ + "/logs" : options_.logs;
  std::error_code error;
  for (const auto& folder : {logs_, dir_ + "/pods", dir_ + "/scratch"}) {
    fs::create_directories(folder, error);
    if (error) return failure(Errc::kUnavailable, "make " + folder + ": " + error.message());
  }
  auto guard = Guard::start(dir_, cgroup_root_, logs_ + "/guard.log");
  if (!guard) {
    fs::remove_all(dir_, error);
    return failure(guard.error());
  }
  guard_ = std::move(*guard);
  const ContainerdConfig config{.version3 = options_.containerd != "1.7",
                                .dir = dir_,
                                .runc = options_.runtime + "/runc",
                                .registration_timeout = patient(options_.registration_timeout),
                                .request_timeout = patient(options_.request_timeout),
                                .required_plugin = options_.required_plugin};
  return write_file(dir_ + "/config.toml", to_toml(config));
}

Status ContainerdLab::make_cgroups() {
  const std::string kubepods = cgroup_root_ + "/kubepods";
  const auto all_cpus = static_cast<std::uint64_t>(::sysconf(_SC_NPROCESSORS_ONLN)) * 1024;
  Status done = cgroups_.create(cgroup_root_, all_cpus);
  if (done) done = cgroups_.create(kubepods, all_cpus);  // as the kubelet gives it
  if (done) done = cgroups_.create(kubepods + "/burstable", 0);
  if (done) done = cgroups_.create(kubepods + "/besteffort", kBestEffortShares);
  return done;
}

Status ContainerdLab::start_containerd() {
  auto environment = this->environment();
  // Its own shim, not that of a containerd which is installed here.
  environment["PATH"] = options_.runtime + "/" + options_.containerd + ":" +
                        environment_or("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
  auto process = Process::start({.argv = {bin("containerd"), "--config", dir_ + "/config.toml"},
                                 .env = environment,
                                 .log = containerd_log(),
                                 .mount_namespace = guard_.mount_namespace(),
                                 .standard_input = -1});
  if (!process) return failure(process.error());
  containerd_ = std::move(*process);
  Status last = failure(Errc::kUnavailable, "not asked");
  const bool ready = eventually(kReady, [&] {
    if (!containerd_.running()) return true;
    if (::access(cri_socket().c_str(), F_OK) != 0 || ::access(nri_socket().c_str(), F_OK) != 0) {
      return false;
    }
    // A new client each time: a channel that was refused once by a stale socket waits and waits.
    cri_ = std::make_unique<CriClient>(cri_socket());
    const auto version = cri_->version(Milliseconds(1000));
    last = version ? Status() : Status(failure(version.error()));
    return version.has_value();
  });
  if (!containerd_.running()) return failure(Errc::kUnavailable, "containerd ended at once");
  if (!ready) return failure(Errc::kUnavailable, "containerd is not ready: " + last.error().text);
  return {};
}

Status ContainerdLab::import_image() {
  const std::string work = dir_ + "/scratch";
  const std::string tar = work + "/image.tar";
  const std::string pause = program_folder() + "/pinion-pause";
  Status made = make_image(options_.runtime + "/busybox", pause, work, tar);
  if (!made) return made;
  const auto done = run({.argv = {bin("ctr"), "-a", cri_socket(), "-n", "k8s.io", "images",
                                  "import", "--snapshotter", "overlayfs", tar},
                         .env = environment(),
                         .log = work + "/import.log",
                         .mount_namespace = guard_.mount_namespace(),
                         .standard_input = -1},
                        kReady);
  if (!done) return failure(done.error());
  // The CRI plugin hears of it a moment later, and would ask a registry until then.
  if (eventually(kReady, [&] { return cri_->has_image(kImage).value_or(false); })) return {};
  return failure(Errc::kUnavailable, "containerd's CRI plugin does not see the imported image");
}

Status ContainerdLab::stop_containerd() {
  const auto status = containerd_.stop(kStop);
  if (!status) return failure(status.error().within("stop containerd"));
  return {};
}

void ContainerdLab::kill_containerd() {
  containerd_.kill();
}

PodPlace ContainerdLab::place_of(const PodSpec& spec) const {
  return {.cgroup_parent = cgroup_parent(cgroup_root_, spec),
          .log_directory = dir_ + "/pods/" + spec.name};
}

Result<RunningPod> ContainerdLab::run_pod(const PodSpec& spec) {
  const PodPlace place = place_of(spec);
  std::error_code error;
  fs::create_directories(place.log_directory, error);
  if (Status made = cgroups_.create(place.cgroup_parent, pod_shares(spec)); !made) {
    return failure(made.error());
  }
  if (const std::int64_t quota = pod_quota(spec); quota > 0) {
    if (Status limited = cgroups_.limit(place.cgroup_parent, quota); !limited) {
      return failure(limited.error());
    }
  }
  if (qos_of(spec) == Qos::kBurstable) {
    Status added = add_burstable(static_cast<std::int64_t>(pod_shares(spec)));
    if (!added) return failure(added.error());
  }
  auto id = cri_->run_pod(spec, place);
  if (!id) return failure(id.error());
  return RunningPod{.spec = spec, .id = *id, .cgroup = place.cgroup_parent};
}

// As the kubelet: the group of all Burstable pods weighs what they request together.
Status ContainerdLab::add_burstable(std::int64_t shares) {
  const std::lock_guard lock(mutex_);
  burstable_shares_ += shares;
  return cgroups_.create(cgroup_root_ + "/kubepods/burstable",
                         static_cast<std::uint64_t>(std::max<std::int64_t>(2, burstable_shares_)));
}

Result<std::string> ContainerdLab::create_container(const RunningPod& pod,
                                                    const ContainerSpec& container) {
  return cri_->create_container(pod.id, pod.spec, place_of(pod.spec), container);
}

Result<std::string> ContainerdLab::start_container(const RunningPod& pod,
                                                   const ContainerSpec& container) {
  auto id = create_container(pod, container);
  if (!id) return id;
  if (Status started = cri_->start_container(*id); !started) {
    Status ignored = cri_->remove_container(*id);
    return failure(started.error());
  }
  return id;
}

Status ContainerdLab::remove_pod(const RunningPod& pod) {
  Status done = cri_->stop_pod(pod.id);  // stops its containers too
  if (done) done = cri_->remove_pod(pod.id);
  // runc may still be taking the last group away.
  const bool gone =
      eventually(Milliseconds(30'000), [&] { return cgroups_.remove(pod.cgroup).has_value(); });
  if (qos_of(pod.spec) == Qos::kBurstable && done) {
    done = add_burstable(-static_cast<std::int64_t>(pod_shares(pod.spec)));
  }
  if (done && !gone) return failure(Errc::kInternal, "cgroup " + pod.cgroup + " cannot be removed");
  return done;
}

}  // namespace pinion::lab
