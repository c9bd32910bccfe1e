#include "tests/e2e/node_runtime.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "tests/e2e/cluster.h"
#include "tests/lab/made.h"

namespace pinion::e2e {

using nlohmann::json;

namespace {

// NRI's LinuxResources.
json linux_resources(const policy::Resources& has) {
  json cpu = json::object();
  if (has.shares) cpu["shares"] = {{"value", *has.shares}};
  if (has.quota) cpu["quota"] = {{"value", *has.quota}};
  if (has.period) cpu["period"] = {{"value", *has.period}};
  json resources = {{"cpu", cpu}};
  if (has.memory) resources["memory"] = {{"limit", {{"value", *has.memory}}}};
  return resources;
}

Result<std::string> program() {
  auto file = lab::made_by("kube.sh", {"--nodes"});
  if (file && ::access(file->c_str(), X_OK) != 0) {
    return failure(Errc::kNotFound, "no " + *file + ": run scripts/kube.sh --nodes");
  }
  return file;
}

}  // namespace

Status NodeRuntime::built() {
  const auto file = program();
  return file ? Status() : Status(failure(file.error()));
}

Result<std::unique_ptr<NodeRuntime>> NodeRuntime::start(const std::string& log, OnEvent on_event) {
  const auto file = program();
  if (!file) return failure(file.error());
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return sys_failure("socketpair");
  }
  std::unique_ptr<NodeRuntime> runtime(new NodeRuntime(std::move(on_event)));
  runtime->socket_ = Fd(ends[0]);
  const Fd other(ends[1]);
  auto process = start_mortal({*file}, log, other.get());
  if (!process) return failure(process.error());
  runtime->process_ = *std::move(process);
  runtime->listener_ = std::thread([&self = *runtime] { self.listen(); });
  return runtime;
}

NodeRuntime::~NodeRuntime() {
  process_.kill();
  if (listener_.joinable()) listener_.join();
}

void NodeRuntime::listen() {
  std::string text;
  std::array<char, 1 << 16> buffer{};
  while (true) {
    const auto got = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
    if (got <= 0) return;
    text.append(buffer.data(), static_cast<std::size_t>(got));
    std::size_t from = 0;
    for (auto end = text.find('\n'); end != std::string::npos; end = text.find('\n', from)) {
      on_event_(json::parse(text.substr(from, end - from)));
      from = end + 1;
    }
    text.erase(0, from);
  }
}

// A process that has ended takes none; who waits for what comes of it will say so.
void NodeRuntime::order(const json& order) {
  const std::string line = order.dump() + "\n";
  const std::lock_guard lock(mutex_);
  for (std::size_t sent = 0; sent < line.size();) {
    const auto now = ::send(socket_.get(), line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (now <= 0) return;
    sent += static_cast<std::size_t>(now);
  }
}

void NodeRuntime::open(const std::string& node, const std::string& socket) {
  order({{"open", {{"node", node}, {"socket", socket}}}});
}

void NodeRuntime::run(const std::string& node, const policy::Pod& pod,
                      const std::vector<ContainerToRun>& containers) {
  const json sandbox = {
      {"id", pod.id},
      {"name", pod.name},
      {"uid", pod.uid},
      {"namespace", pod.name_space},
      {"annotations", pod.annotations},
      {"linux",
       {{"cgroupParent", pod.cgroup_parent}, {"podResources", linux_resources(pod.resources)}}}};
  json all = json::array();
  for (const ContainerToRun& container : containers) {
    const json made = {{"id", container.id},
                       {"podSandboxId", pod.id},
                       {"name", container.name},
                       {"linux",
                        {{"cgroupsPath", pod.cgroup_parent + "/" + container.id},
                         {"resources", linux_resources(container.resources)}}}};
    all.push_back({{"container", made}, {"ends", container.ends}});
  }
  order({{"run", {{"node", node}, {"pod", sandbox}, {"containers", std::move(all)}}}});
}

void NodeRuntime::end(const std::string& node, const std::string& pod_id) {
  order({{"end", {{"node", node}, {"pod", pod_id}}}});
}

}  // namespace pinion::e2e
