#include "tests/support/fake_runtime/samples.h"

#include <cstdio>
#include <string_view>

namespace pinion::test_support {
namespace {

std::string number_text(const char* format, int number) {
  char text[80];
  const int size = std::snprintf(text, sizeof(text), format, number);
  return {text, static_cast<std::size_t>(size)};
}

std::string pod_id(int pod) {
  return number_text("%064d", pod);
}
std::string pod_uid(int pod) {
  return number_text("00000000-0000-4000-8000-%012d", pod);
}

std::string cgroup_parent(const std::string& qos, int pod) {
  const std::string middle = qos == "guaranteed" ? "" : "/" + qos;
  return "/kubepods" + middle + "/pod" + pod_uid(pod);
}

std::string varint(std::size_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(0x80 | (value & 0x7f));
  return out + static_cast<char>(value);
}

// One entry of a map<string, string>.
std::string map_field(int number, std::string_view key, std::string_view value) {
  return text_field(number, text_field(1, key) + text_field(2, value));
}

std::string mount(int number) {
  return text_field(1, number_text("/etc/configuration/part-%d", number)) + text_field(2, "bind") +
         text_field(
             3, number_text("/var/lib/kubelet/pods/volumes/kubernetes.io~projected/%d", number)) +
         text_field(4, "rbind") + text_field(4, "rprivate") + text_field(4, "rw");
}

}  // namespace

std::string text_field(int number, std::string_view text) {
  return varint(static_cast<std::size_t>(number) << 3 | 2) + varint(text.size()) +
         std::string(text);
}

wire::PodSandbox make_pod(const PodSample& sample) {
  wire::PodSandbox pod;
  pod.set_id(pod_id(sample.number));
  pod.set_name(number_text("pod-%d", sample.number));
  pod.set_uid(pod_uid(sample.number));
  pod.set_namespace_("default");
  for (const auto& [key, value] : sample.annotations) (*pod.mutable_annotations())[key] = value;
  pod.mutable_linux()->set_cgroup_parent(cgroup_parent(sample.qos, sample.number));
  if (!sample.bulk) return pod;
  auto& annotations = *pod.mutable_annotations();
  annotations["kubernetes.io/config.source"] = "api";
  annotations["kubernetes.io/config.seen"] = "2026-01-01T00:00:00.000000000Z";
  annotations["io.kubernetes.cri.container-type"] = "sandbox";
  for (int i = 0; i < 8; ++i) {
    annotations[number_text("io.kubernetes.cri.sandbox-fact-%d", i)] = pod_id(i);
  }
  std::string rest;
  for (int i = 0; i < 8; ++i) rest += map_field(5, number_text("label-%d", i), pod_uid(i));
  rest += text_field(7, "runc");
  pod.MergeFromString(rest);  // keeps them as unknown fields
  return pod;
}

wire::Container make_container(const ContainerSample& sample) {
  wire::Container container;
  container.set_id(number_text("%032d", sample.pod) + number_text("%032d", sample.number));
  container.set_pod_sandbox_id(pod_id(sample.pod));
  container.set_name(number_text("container-%d", sample.number));
  container.set_state(sample.state);
  container.set_pid(sample.pid);
  container.mutable_linux()->set_cgroups_path(cgroup_parent(sample.qos, sample.pod) + "/" +
                                              container.id());
  auto* resources = container.mutable_linux()->mutable_resources();
  if (sample.memory > 0) resources->mutable_memory()->mutable_limit()->set_value(sample.memory);
  auto* cpu = resources->mutable_cpu();
  const auto cpus = static_cast<std::uint64_t>(sample.cpus);
  cpu->mutable_shares()->set_value(sample.qos == "besteffort" ? 2 : 1024 * cpus);
  cpu->mutable_period()->set_value(100000);
  if (sample.qos == "guaranteed") cpu->mutable_quota()->set_value(sample.cpus * 100000);
  cpu->set_cpus(sample.cpuset_cpus);
  cpu->set_mems(sample.cpuset_mems);
  if (!sample.bulk) return container;
  std::string rest;
  for (int i = 0; i < 5; ++i) rest += map_field(5, number_text("label-%d", i), pod_uid(i));
  for (int i = 0; i < 12; ++i) rest += map_field(6, number_text("annotation-%d", i), pod_id(i));
  for (int i = 0; i < 16; ++i)
    rest += text_field(8, number_text("SERVICE_%d_ADDRESS=", i) + pod_uid(i));
  for (int i = 0; i < 12; ++i) rest += text_field(9, mount(i));
  container.MergeFromString(rest);
  return container;
}

}  // namespace pinion::test_support
