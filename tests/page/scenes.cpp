#include "tests/page/scene.h"
#include "tests/support/machine.h"

namespace pinion::page_test {
namespace {

using test_support::kGiB;
using topology::Align;
using topology::CpuSet;
using topology::Request;
using topology::Smt;
using topology::Strength;

Names names(const std::string& name_space, const std::string& pod, const std::string& container) {
  return {.name_space = name_space, .pod = pod, .container = container};
}

// `ranks` equal ranks of a job, two task groups.
void add_job(Scene& scene, const std::string& job, int ranks, const Request& each) {
  for (int i = 0; i < ranks; ++i) {
    Request request = each;
    request.job = job;
    request.task_group = job + (i < ranks / 2 ? "-0" : "-1");
    scene.place(names("hpc", job + "-rank-" + std::to_string(i), "rank"), request);
  }
}

}  // namespace

Scene two_cpus() {
  Scene scene(test_support::two_core_vm(), CpuSet{0});
  Request request;
  request.cpus = 1;
  request.memory = 2 * kGiB;
  request.job = "wind";
  scene.place(names("hpc", "wind-rank-0", "rank"), request);
  scene.share(names("kube-system", "coredns-5d78c9869d-k2x4p", "coredns"));
  scene.share(names("kube-system", "kube-proxy-z8wq7", "kube-proxy"));
  scene.share(names("web", "front-7c5ddbdf54-9hv2m", "nginx"));
  request.memory = 4 * kGiB;
  scene.place(names("hpc", "wind-rank-1", "rank"), request);
  for (const char* event : {"cycles", "instructions", "l3-misses", "local-dram", "remote-dram"}) {
    scene.not_counted(event, "no such PMU", "this machine shows no hardware counters");
  }
  return scene;
}

Scene big() {
  Scene scene(test_support::epyc_rome_256(), CpuSet{0, 1, 128, 129});
  Request request;
  request.cpus = 8;
  request.memory = 12 * kGiB;
  add_job(scene, "wind", 8, request);
  request.cpus = 4;
  request.align = Align::kL3;
  request.memory = 4 * kGiB;
  add_job(scene, "fluid", 12, request);
  request.align = Align::kNuma;
  request.smt = Smt::kOnePerCore;
  add_job(scene, "lattice", 2, request);
  request.smt = Smt::kFullCore;
  request.cpus = 16;
  request.memory = 20 * kGiB;
  scene.place(names("ml", "train-0", "trainer"), request);
  scene.trouble("its cgroup file says 0-255, not what was decided; written again twice");
  request.cpus = 2;
  request.memory = 2 * kGiB;
  for (const char* name : {"gateway", "queue", "ledger"}) {
    scene.place(names("services", std::string(name) + "-0", name), request);
  }
  scene.place(names("services", "batch-0", "import"), request);
  scene.finish();
  for (int i = 0; i < 13; ++i) {
    scene.share(names(i % 3 == 0 ? "kube-system" : "web", "shared-" + std::to_string(i),
                      i % 3 == 0 ? "system" : "server"));
  }
  request.cpus = 48;
  scene.place(names("hpc", "wide-rank-0", "rank"), request);
  request.cpus = 3;
  scene.place(names("hpc", "odd-rank-0", "rank"), request);
  request.cpus = 4;
  request.memory = 100 * kGiB;
  scene.place(names("hpc", "fat-rank-0", "rank"), request);
  return scene;
}

Scene hostile() {
  Scene scene(test_support::laptop(), CpuSet{0, 1});
  Request request;
  request.cpus = 2;
  request.job = "<img src=x onerror=\"window.pwned='job'\">";
  request.task_group = "</td></tr></table><script>window.pwned='group'</script>";
  scene.place(names("<svg/onload=window.pwned='ns'>", "<img src=x onerror=window.pwned='pod'>",
                    "<iframe srcdoc='<script>parent.pwned=1</script>'>"),
              request);
  scene.trouble("<b onmouseover=window.pwned='trouble'>\"quotes\" & 'more' &lt;b&gt;</b>");
  request.job = "\u202Egnol si boj siht\u202C";
  request.task_group.clear();
  scene.place(names("\u0645\u0633\u0627\u062D\u0629", "\u202Efdp.exe\u2066 pod",
                    "\u05E9\u05DC\u05D5\u05DD-\U0001F9EA\U0001F680"),
              request);
  scene.share(names("a'\"`><b>", std::string(253, 'p'), std::string(63, 'W')));
  scene.share(names("__proto__", "constructor", "toString"));
  scene.share(names("javascript:alert(1)", "${window.pwned=1}", "{{7*7}}"));
  scene.refuse(
      names("<img src=x onerror=window.pwned='refusal'>", std::string(253, 'q'), "<a href=//x>"),
      "<i>annotation</i>", "pinion.dev/align: \"<script>window.pwned='text'</script>\" is none");
  scene.not_counted("cycles", "not permitted", "<img src=x onerror=window.pwned='event'>");
  return scene;
}

Scene mixed() {
  Scene scene(test_support::machine({.packages = 2,
                                     .l3s_per_node = 2,
                                     .cores_per_l3 = 4,
                                     .threads_per_core = 2,
                                     .memory_only_nodes = 2,
                                     .siblings = test_support::Siblings::kAdjacent,
                                     .offline = CpuSet{30, 31},
                                     .isolated = CpuSet{24, 25, 26, 27}}),
              CpuSet{0, 1, 16, 17});
  Request request;
  request.cpus = 3;
  request.smt = Smt::kOnePerCore;
  request.memory = 3 * kGiB;
  add_job(scene, "spread", 2, request);
  request.smt = Smt::kFullCore;
  request.cpus = 2;
  request.use_isolated = true;
  scene.place(names("rt", "radio-0", "modem"), request);
  request.use_isolated = false;
  request.smt = Smt::kPack;
  request.cpus = 1;
  scene.place(names("services", "queue-0", "queue"), request);
  scene.trouble("CPU 8 of its set is offline");
  scene.share(names("web", "front-0", "nginx"));
  scene.not_counted("remote-dram", "not supported", "");
  scene.not_counted("l3-misses", "not permitted", "perf_event_paranoid is 3");
  return scene;
}

}  // namespace pinion::page_test
