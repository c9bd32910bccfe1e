// What a container is entitled to: QoS class, CPU request, annotations.
#include "policy/policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/unit/agent/node_events.h"

namespace pinion::policy {
namespace {

using test_support::cpu;
using test_support::cpus;
using test_support::make_pod;
using testing::HasSubstr;
using topology::Bytes;
using topology::CpuSet;
using Kind = Entitlement::Kind;

TEST(Policy, QosOf) {
  struct Case {
    const char* name;
    const char* parent;
    Qos qos;
  };
  const Case cases[] = {
      {"cgroupfs guaranteed", "/kubepods/pod1234", Qos::kGuaranteed},
      {"cgroupfs burstable", "/kubepods/burstable/pod1234", Qos::kBurstable},
      {"cgroupfs besteffort", "/kubepods/besteffort/pod1234", Qos::kBestEffort},
      {"systemd guaranteed", "kubepods-pod1234_5.slice", Qos::kGuaranteed},
      {"systemd burstable", "kubepods-burstable-pod1234.slice", Qos::kBurstable},
      {"systemd besteffort", "kubepods-besteffort-pod1234.slice", Qos::kBestEffort},
      {"systemd, whole path",
       "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1.slice", Qos::kBurstable},
      {"systemd, whole path, guaranteed", "/kubepods.slice/kubepods-pod1.slice", Qos::kGuaranteed},
      {"custom root", "/kubelet/kubepods/burstable/pod1", Qos::kBurstable},
      {"custom systemd root", "kubelet-kubepods-pod1.slice", Qos::kGuaranteed},
      {"empty", "", Qos::kUnknown},
      {"root", "/", Qos::kUnknown},
      {"no kubelet", "/system.slice/docker.service", Qos::kUnknown},
      {"kubepods alone", "/kubepods", Qos::kUnknown},
      {"kubepods and a slash", "/kubepods/", Qos::kUnknown},
      {"not a pod", "/kubepods/other", Qos::kUnknown},
      {"a longer word", "/mykubepodsx/pod1", Qos::kUnknown},
      {"separators only", "/-./-.", Qos::kUnknown},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(to_string(qos_of(c.parent)), to_string(c.qos));
  }
}

TEST(Policy, QosGroupOf) {
  struct Case {
    const char* name;
    const char* parent;
    const char* group;
    std::vector<std::string> both;
  };
  const Case cases[] = {
      {"burstable",
       "/kubepods/burstable/pod1",
       "/kubepods/burstable",
       {"/kubepods/besteffort", "/kubepods/burstable"}},
      {"best effort below another root",
       "/a/b/kubepods/besteffort/pod1",
       "/a/b/kubepods/besteffort",
       {"/a/b/kubepods/besteffort", "/a/b/kubepods/burstable"}},
      {"systemd",
       "kubepods-burstable-pod1_2.slice",
       "kubepods-burstable.slice",
       {"kubepods-besteffort.slice", "kubepods-burstable.slice"}},
      {"systemd, a root of its own",
       "x-kubepods-besteffort-pod1.slice",
       "x-kubepods-besteffort.slice",
       {"x-kubepods-besteffort.slice", "x-kubepods-burstable.slice"}},
      {"systemd, whole path",
       "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1.slice",
       "/kubepods.slice/kubepods-burstable.slice",
       {"/kubepods.slice/kubepods-besteffort.slice", "/kubepods.slice/kubepods-burstable.slice"}},
      {"guaranteed", "/kubepods/pod1", "", {"/kubepods/besteffort", "/kubepods/burstable"}},
      {"guaranteed, systemd",
       "kubepods-pod1.slice",
       "",
       {"kubepods-besteffort.slice", "kubepods-burstable.slice"}},
      {"guaranteed, systemd, whole path below another root",
       "/x.slice/x-kubepods.slice/x-kubepods-pod1.slice",
       "",
       {"/x.slice/x-kubepods.slice/x-kubepods-besteffort.slice",
        "/x.slice/x-kubepods.slice/x-kubepods-burstable.slice"}},
      {"not a kubelet's", "/machine/pod1", "", {}},
      {"no pod below", "kubepods-burstable.slice", "", {}},
      {"nothing", "", "", {}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(qos_group_of(c.parent), c.group);
    EXPECT_EQ(qos_groups_of(c.parent), c.both);
  }
}

TEST(Policy, RequestedMemory) {
  constexpr topology::Bytes gib = 1ULL << 30;
  constexpr topology::Bytes machine = 256 * gib;
  struct Case {
    const char* name;
    Qos qos;
    std::int64_t limit;  // 0: none is stated
    std::optional<std::int64_t> score;
    topology::Bytes want;
  };
  for (const Case& c : {
           Case{"Guaranteed: its limit", Qos::kGuaranteed, 4 * std::int64_t{gib}, -997, 4 * gib},
           Case{"Guaranteed without one", Qos::kGuaranteed, 0, -997, 0},
           Case{"no more than there is", Qos::kGuaranteed, INT64_MAX, -997, machine},
           // The kubelet's arithmetic for a request of 64 GiB of 256.
           Case{"Burstable: as its score says", Qos::kBurstable, 0, 750, machine / 1000 * 250},
           Case{"within its limit", Qos::kBurstable, std::int64_t{gib}, 750, gib},
           Case{"less than a thousandth", Qos::kBurstable, 0, 999, 0},
           Case{"all of it", Qos::kBurstable, 0, 3, machine / 1000 * 997},
           Case{"a critical pod's score says nothing", Qos::kBurstable, 0, -997, 0},
           Case{"no score is told", Qos::kBurstable, 0, std::nullopt, 0},
           Case{"no score of a kubelet", Qos::kBurstable, 0, INT64_MIN, 0},
           Case{"BestEffort", Qos::kBestEffort, std::int64_t{gib}, 1000, 0},
           Case{"of no kubelet", Qos::kUnknown, std::int64_t{gib}, 0, 0},
       }) {
    Resources resources;
    if (c.limit != 0) resources.memory = c.limit;
    EXPECT_EQ(requested_memory(c.qos, resources, c.score, machine), c.want) << c.name;
  }
}

TEST(Policy, MilliCpus) {
  struct Case {
    const char* name;
    std::optional<std::uint64_t> shares;
    std::optional<std::int64_t> quota;
    std::optional<std::uint64_t> period;
    std::optional<std::int64_t> milli;
  };
  constexpr auto kNone = std::nullopt;
  const Case cases[] = {
      {"nothing stated", kNone, kNone, kNone, kNone},
      {"quota and period", 2048U, 200'000, 100'000U, 2000},
      {"quota wins over shares", 1024U, 350'000, 100'000U, 3500},
      {"quota, the kernel's period", kNone, 400'000, kNone, 4000},
      {"another period", kNone, 10'000, 5'000U, 2000},
      {"no limit: shares", 4096U, -1, 100'000U, 4000},
      {"quota 0: shares", 512U, 0, 100'000U, 500},
      {"period 0: shares", 3072U, 100'000, 0U, 3000},
      {"shares 2 is nothing", 2U, kNone, kNone, kNone},
      {"shares 0", 0U, kNone, kNone, kNone},
      {"shares at the cap", 262'144U, kNone, kNone, kNone},
      {"shares below the cap", 261'120U, kNone, kNone, 255'000},
      {"at the cap, but with a quota", 262'144U, 30'000'000, 100'000U, 300'000},
      {"1001m in shares is not one CPU", 1025U, kNone, kNone, 1001},
      {"999m in shares", 1022U, kNone, kNone, 999},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Resources resources;
    resources.shares = c.shares;
    resources.quota = c.quota;
    resources.period = c.period;
    EXPECT_EQ(milli_cpus(resources), c.milli);
  }
}

TEST(Policy, MilliCpusOfHugeNumbersIsPositive) {
  Resources resources;
  resources.quota = std::numeric_limits<std::int64_t>::max();
  resources.period = std::numeric_limits<std::uint64_t>::max();
  EXPECT_GE(milli_cpus(resources).value_or(-1), 0);
  resources.period = 1;
  EXPECT_EQ(milli_cpus(resources), kMostMilliCpus);
  const Entitlement entitlement = entitlement_of(make_pod("p"), "c", resources, {});
  EXPECT_EQ(entitlement.request.cpus, CpuSet::kCapacity);
}

TEST(Policy, EveryWholeRequestInSharesIsSeenAsWhole) {
  for (std::int64_t milli = 10; milli < 200'000; milli += 1) {
    Resources resources;
    resources.shares = static_cast<std::uint64_t>(milli * 1024 / 1000);  // as the kubelet
    ASSERT_EQ(milli_cpus(resources), milli);
  }
}

TEST(Policy, MergeTakesWhatIsStated) {
  const Resources record{
      .shares = 1024, .quota = 100'000, .period = 100'000, .memory = 50, .cpus = "1", .mems = "0"};
  struct Case {
    const char* name;
    Resources wanted;
    Resources expected;
  };
  Resources all = record;
  all.shares = 2048;
  all.quota = -1;
  all.period = 50'000;
  all.memory = -1;
  all.cpus = "2-3";
  all.mems = "1";
  Resources zeros;
  zeros.shares = 0;
  zeros.quota = 0;
  zeros.period = 0;
  zeros.memory = 0;
  Resources memory_only;
  memory_only.memory = 99;
  Resources after_memory = record;
  after_memory.memory = 99;
  const Case cases[] = {{"nothing", {}, record},
                        {"zero is no statement", zeros, record},
                        {"memory only", memory_only, after_memory},
                        {"everything, limits lifted", all, all}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(merge(record, c.wanted), c.expected);
  }
}

TEST(Policy, WhoGetsCores) {
  struct Case {
    const char* name;
    Qos qos;
    std::int64_t milli;
    const char* cpus;  // annotation, or nullptr
    Kind kind;
    const char* text;
  };
  const Case cases[] = {
      {"whole", Qos::kGuaranteed, 2000, nullptr, Kind::kExclusive, ""},
      {"whole, insisting", Qos::kGuaranteed, 2000, "exclusive", Kind::kExclusive, ""},
      {"whole, opting out", Qos::kGuaranteed, 2000, "shared", Kind::kShared, "asked for shared"},
      {"fraction above one", Qos::kGuaranteed, 1500, nullptr, Kind::kShared, "1500m CPU"},
      {"less than one", Qos::kGuaranteed, 500, nullptr, Kind::kShared, "500m CPU"},
      {"no limit", Qos::kGuaranteed, 0, nullptr, Kind::kShared, "no CPU limit"},
      {"fraction, insisting", Qos::kGuaranteed, 1500, "exclusive", Kind::kRefused, "1500m CPU"},
      {"burstable", Qos::kBurstable, 2000, nullptr, Kind::kShared, "Burstable"},
      {"burstable, insisting", Qos::kBurstable, 2000, "exclusive", Kind::kRefused, "Burstable"},
      {"besteffort", Qos::kBestEffort, 0, nullptr, Kind::kShared, "BestEffort"},
      {"besteffort, insisting", Qos::kBestEffort, 0, "exclusive", Kind::kRefused, "BestEffort"},
      {"no kubelet", Qos::kUnknown, 2000, nullptr, Kind::kShared, "unknown QoS"},
      {"no kubelet, insisting", Qos::kUnknown, 2000, "exclusive", Kind::kRefused, "unknown QoS"},
      {"burstable, opting out", Qos::kBurstable, 2000, "shared", Kind::kShared, "asked for"},
      {"a word nobody knows", Qos::kGuaranteed, 2000, "mine", Kind::kRefused, "exclusive, shared"},
      {"the empty word", Qos::kGuaranteed, 2000, "", Kind::kRefused, "unknown value ''"},
      {"capital letters", Qos::kGuaranteed, 2000, "Exclusive", Kind::kRefused, "unknown value"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Pod pod = make_pod("p", c.qos);
    if (c.cpus != nullptr) pod.annotations["pinion.dev/cpus"] = c.cpus;
    const Entitlement entitlement = entitlement_of(pod, "main", cpu(c.milli), {});
    EXPECT_EQ(entitlement.kind, c.kind);
    EXPECT_THAT(entitlement.text, HasSubstr(c.text));
    EXPECT_EQ(entitlement.text.empty(), c.kind == Kind::kExclusive) << entitlement.text;
    EXPECT_TRUE(entitlement.warnings.empty());
    EXPECT_EQ(entitlement.request.cpus, c.kind == Kind::kExclusive ? c.milli / 1000 : 0);
  }
}

TEST(Policy, WhoRequestsLessThanItsLimitIsShared) {
  const Pod pod = make_pod("p", Qos::kGuaranteed);
  Resources resources = cpu(4000);
  for (const std::uint64_t shares : {2U, 102U, 4095U}) {
    resources.shares = shares;
    EXPECT_THAT(entitlement_of(pod, "main", resources, {}).text,
                HasSubstr("less CPU than its limit"));
  }
  resources.shares.reset();  // not told
  EXPECT_EQ(entitlement_of(pod, "main", resources, {}).kind, Kind::kExclusive);
  // The kubelet's most shares, from 256 CPUs on.
  Resources large = cpu(300'000);
  large.shares = 262'144;
  EXPECT_EQ(entitlement_of(pod, "main", large, {}).kind, Kind::kExclusive);
  large.shares = 262'143;
  EXPECT_EQ(entitlement_of(pod, "main", large, {}).kind, Kind::kShared);
}

TEST(Policy, AnErrorNamesTheAnnotationAsThePodHasIt) {
  Pod pod = make_pod("p", Qos::kGuaranteed);
  pod.annotations["pinion.dev/align.main"] = "foo";
  EXPECT_THAT(entitlement_of(pod, "main", cpu(2000), {}).text,
              HasSubstr("annotation pinion.dev/align.main: unknown value 'foo'"));
}

TEST(Policy, APodThatStatesItsCpusAsAWholeSaysWhyItsContainersAreShared) {
  Pod pod = make_pod("p");
  pod.resources = cpu(4000);
  const Entitlement entitlement = entitlement_of(pod, "main", cpu(0), {});
  EXPECT_EQ(entitlement.kind, Kind::kShared);
  EXPECT_THAT(entitlement.text, HasSubstr("only its pod does"));
}

TEST(Policy, WhatIsPlannedForTheOthersOfThePodIsKnown) {
  Pod pod = make_pod("p");
  pod.annotations["pinion.dev/planned"] = "one=0-1 main=2-3 two=6 odd nothing= three=x";
  const Entitlement entitlement = entitlement_of(pod, "main", cpu(2000), {});
  EXPECT_EQ(entitlement.request.preferred, cpus("2-3"));
  EXPECT_EQ(entitlement.beside, cpus("0-1,6")) << "what is nonsense for others is theirs to refuse";
}

TEST(Policy, AnnotationsSetTheRequest) {
  struct Case {
    const char* name;
    const char* value;
    void (*check)(const topology::Request&);
  };
  using topology::Align;
  using topology::MemoryPolicy;
  using topology::Profile;
  using topology::Request;
  using topology::Smt;
  using topology::Strength;
  const Case cases[] = {
      {"align", "l3", [](const Request& r) { EXPECT_EQ(r.align, Align::kL3); }},
      {"align", "numa", [](const Request& r) { EXPECT_EQ(r.align, Align::kNuma); }},
      {"align", "socket",
       [](const Request& r) {
         EXPECT_EQ(r.align, Align::kSocket);
         EXPECT_EQ(r.memory_policy, MemoryPolicy::kAny);
       }},
      {"align", "none", [](const Request& r) { EXPECT_EQ(r.align, Align::kNone); }},
      {"strength", "required",
       [](const Request& r) {
         EXPECT_EQ(r.strength, Strength::kRequired);
         EXPECT_EQ(r.memory_policy, MemoryPolicy::kBind);
       }},
      {"strength", "preferred",
       [](const Request& r) { EXPECT_EQ(r.strength, Strength::kPreferred); }},
      {"smt", "full-core", [](const Request& r) { EXPECT_EQ(r.smt, Smt::kFullCore); }},
      {"smt", "one-per-core", [](const Request& r) { EXPECT_EQ(r.smt, Smt::kOnePerCore); }},
      {"smt", "prefer-full", [](const Request& r) { EXPECT_EQ(r.smt, Smt::kPreferFull); }},
      {"smt", "pack", [](const Request& r) { EXPECT_EQ(r.smt, Smt::kPack); }},
      {"memory", "bind", [](const Request& r) { EXPECT_EQ(r.memory_policy, MemoryPolicy::kBind); }},
      {"memory", "preferred",
       [](const Request& r) { EXPECT_EQ(r.memory_policy, MemoryPolicy::kPreferred); }},
      {"memory", "any", [](const Request& r) { EXPECT_EQ(r.memory_policy, MemoryPolicy::kAny); }},
      {"isolation", "none", [](const Request& r) { EXPECT_FALSE(r.use_isolated); }},
      {"isolation", "isolated", [](const Request& r) { EXPECT_TRUE(r.use_isolated); }},
      {"profile", "cpu", [](const Request& r) { EXPECT_EQ(r.profile, Profile::kCpu); }},
      {"profile", "memory", [](const Request& r) { EXPECT_EQ(r.profile, Profile::kMemory); }},
      {"profile", "network", [](const Request& r) { EXPECT_EQ(r.profile, Profile::kNetwork); }},
      {"job", "lammps",
       [](const Request& r) {
         EXPECT_EQ(r.job, "lammps");
         EXPECT_EQ(r.strength, Strength::kRequired);
         EXPECT_EQ(r.memory_policy, MemoryPolicy::kBind);
       }},
      {"task-group", "g1", [](const Request& r) { EXPECT_EQ(r.task_group, "g1"); }},
      {"near-device", "mlx5_0", [](const Request& r) { EXPECT_EQ(r.near_device, "mlx5_0"); }},
      {"planned", "side=1 main=4-5",
       [](const Request& r) { EXPECT_EQ(r.preferred.to_string(), "4-5"); }},
      {"planned", "main-2=1 side=2", [](const Request& r) { EXPECT_TRUE(r.preferred.empty()); }},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(std::string(c.name) + "=" + c.value);
    Pod pod = make_pod("p");
    pod.annotations[std::string("pinion.dev/") + c.name] = c.value;
    Defaults defaults;
    defaults.privileges = {Privilege::kOnePerCore, Privilege::kIsolated, Privilege::kNearDevice};
    const Entitlement entitlement = entitlement_of(pod, "main", cpu(2000, 77), defaults);
    ASSERT_EQ(entitlement.kind, Kind::kExclusive) << entitlement.text;
    EXPECT_EQ(entitlement.request.memory, Bytes{77});
    EXPECT_TRUE(entitlement.warnings.empty());
    c.check(entitlement.request);
  }
}

TEST(Policy, PlannedCpusThatAreNoneAreRefused) {
  Pod pod = make_pod("p");
  pod.annotations["pinion.dev/planned"] = "main=4-";
  const Entitlement entitlement = entitlement_of(pod, "main", cpu(2000), {});
  EXPECT_EQ(entitlement.kind, Kind::kRefused);
  EXPECT_TRUE(entitlement.text.starts_with("annotation pinion.dev/planned: ")) << entitlement.text;
  EXPECT_EQ(entitlement_of(pod, "other", cpu(2000), {}).kind, Kind::kExclusive);
}

// Every container of the pod has it read, those without cores as well.
TEST(Policy, OfAPlanNoMoreIsReadThanTheExtenderWrites) {
  Pod pod = make_pod("p");
  std::string& plan = pod.annotations["pinion.dev/planned"];
  plan = "main=2-3 main=4-5";
  EXPECT_EQ(entitlement_of(pod, "main", cpu(2000), {}).request.preferred, cpus("2-3"));
  for (int i = 0; i < 1000; ++i) plan.insert(0, "x=7 ");
  EXPECT_TRUE(entitlement_of(pod, "main", cpu(2000), {}).request.preferred.empty());
  plan = "main=2-3 side=" + std::string(20'000, ' ');
  const Entitlement long_one = entitlement_of(pod, "main", cpu(2000), {});
  EXPECT_EQ(long_one.kind, Kind::kExclusive);
  EXPECT_FALSE(long_one.request.planned);
  EXPECT_THAT(long_one.warnings, testing::ElementsAre(HasSubstr("is longer than 16384 bytes")));
}

// Where it would be refused with cores of its own, it is warned of.
TEST(Policy, WrongValuesOfASharedContainerWarn) {
  const std::pair<const char*, const char*> wrong[] = {
      {"align", "l4"},      {"strength", "very"},  {"smt", "half"},        {"memory", "some"},
      {"profile", "disks"}, {"isolation", "some"}, {"planned", "main=4-"},
  };
  for (const auto& [name, value] : wrong) {
    SCOPED_TRACE(name);
    Pod pod = make_pod("p");
    pod.annotations[std::string("pinion.dev/") + name] = value;
    const std::string why = entitlement_of(pod, "main", cpu(2000), {}).text;
    EXPECT_THAT(why, HasSubstr(name));
    const std::vector<std::string> warning = {why + "; ignored, as it gets no CPUs alone"};
    const Entitlement fraction = entitlement_of(pod, "main", cpu(1500), {});
    EXPECT_EQ(fraction.kind, Kind::kShared);
    EXPECT_EQ(fraction.warnings, warning);
    pod.annotations["pinion.dev/cpus"] = "shared";
    const Entitlement opting_out = entitlement_of(pod, "main", cpu(2000), {});
    EXPECT_EQ(opting_out.kind, Kind::kShared);
    EXPECT_EQ(opting_out.text, "it asked for shared CPUs");
    EXPECT_EQ(opting_out.warnings, warning);
  }
}

TEST(Policy, PrivilegesNeedTheOperatorsLeave) {
  struct Case {
    const char* name;
    const char* value;
    Privilege privilege;
    const char* text;
  };
  const Case cases[] = {
      {"smt", "one-per-core", Privilege::kOnePerCore,
       "annotation pinion.dev/smt: one-per-core holds more CPUs than the pod's request counts; "
       "this node's allowedPrivileges does not have 'one-per-core'"},
      {"isolation", "isolated", Privilege::kIsolated,
       "annotation pinion.dev/isolation: isolated CPUs are set apart by the operator; this node's "
       "allowedPrivileges does not have 'isolated'"},
      {"near-device", "eth0", Privilege::kNearDevice,
       "annotation pinion.dev/near-device: CPUs beside a device are left to those who use it; this "
       "node's allowedPrivileges does not have 'near-device'"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Pod pod = make_pod("p");
    pod.annotations[std::string("pinion.dev/") + c.name] = c.value;
    Defaults strict;
    strict.privileges.clear();
    const Entitlement entitlement = entitlement_of(pod, "main", cpu(2000), strict);
    EXPECT_EQ(entitlement.kind, Kind::kRefused);
    EXPECT_EQ(entitlement.text, c.text);
    Defaults lenient;
    lenient.privileges = {c.privilege};
    EXPECT_EQ(entitlement_of(pod, "main", cpu(2000), lenient).kind, Kind::kExclusive);
    const bool by_default = entitlement_of(pod, "main", cpu(2000), {}).kind == Kind::kExclusive;
    EXPECT_EQ(by_default, c.privilege == Privilege::kNearDevice);
    // A container that shares its CPUs asks for nothing.
    EXPECT_EQ(entitlement_of(pod, "main", cpu(2500), strict).kind, Kind::kShared);
  }
}

TEST(Policy, TheOperatorChoosesThePods) {
  struct Case {
    const char* name;
    Defaults defaults;
    const char* annotation;
    const char* value;
    Kind kind;
  };
  const Defaults annotated{.pods = ExclusivePods::kAnnotated};
  const Defaults elsewhere{.namespaces = {"hpc"}};
  const Defaults here{.namespaces = {"default"}};
  const Case cases[] = {
      {"all", {}, "align", "numa", Kind::kExclusive},
      {"not annotated", annotated, "align", "numa", Kind::kShared},
      {"annotated", annotated, "cpus", "exclusive", Kind::kExclusive},
      {"annotated for the container", annotated, "cpus.main", "exclusive", Kind::kExclusive},
      {"annotated for another", annotated, "cpus.side", "exclusive", Kind::kShared},
      {"of a job", annotated, "job", "j", Kind::kExclusive},
      {"opted out", annotated, "cpus", "shared", Kind::kShared},
      {"of another namespace", elsewhere, "job", "j", Kind::kShared},
      {"insists in another namespace", elsewhere, "cpus", "exclusive", Kind::kRefused},
      {"of the namespace", here, "align", "numa", Kind::kExclusive},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Pod pod = make_pod("p");
    pod.name_space = "default";
    pod.annotations[std::string("pinion.dev/") + c.annotation] = c.value;
    const Entitlement entitlement = entitlement_of(pod, "main", cpu(2000), c.defaults);
    EXPECT_EQ(entitlement.kind, c.kind) << entitlement.text;
    EXPECT_EQ(entitlement.text.empty(), entitlement.kind == Kind::kExclusive);
  }
}

TEST(Policy, APodInAVirtualMachineIsShared) {
  struct Case {
    std::string handler;
    std::vector<std::string> patterns;
    bool in_vm;
  };
  const Case cases[] = {
      {"", {"kata*", "*"}, false},   {"runc", {"kata*"}, false},
      {"kata", {"kata*"}, true},     {"kata-qemu", {"kata*"}, true},
      {"my-kata", {"kata*"}, false}, {"kata-qemu", {"kata"}, false},
      {"vm", {"kata*", "vm"}, true}, {"vm", {}, false},
      {"anything", {"*"}, true},     {std::string(1 << 20, 'x'), {"*"}, true},
  };
  for (const Case& c : cases) {
    Pod pod = make_pod("p");
    pod.runtime_handler = c.handler;
    SCOPED_TRACE(pod.runtime_handler.substr(0, 16));
    Defaults defaults;
    defaults.vm_handlers = c.patterns;
    const Entitlement entitlement = entitlement_of(pod, "main", cpu(2000), defaults);
    EXPECT_EQ(entitlement.kind, c.in_vm ? Kind::kShared : Kind::kExclusive);
    if (!c.in_vm) continue;
    EXPECT_THAT(entitlement.text, HasSubstr("runs in a virtual machine"));
    EXPECT_LT(entitlement.text.size(), 300U);
    pod.annotations["pinion.dev/cpus"] = "exclusive";
    const Entitlement insists = entitlement_of(pod, "main", cpu(2000), defaults);
    EXPECT_EQ(insists.kind, Kind::kRefused);
    EXPECT_EQ(insists.text, entitlement.text);
  }
  EXPECT_EQ(Defaults().vm_handlers, std::vector<std::string>{"kata*"});
}

TEST(Policy, DefaultsAreTheNodes) {
  const Entitlement plain = entitlement_of(make_pod("p"), "main", cpu(2000), {});
  EXPECT_EQ(plain.request.align, topology::Align::kNuma);
  EXPECT_EQ(plain.request.strength, topology::Strength::kPreferred);
  EXPECT_EQ(plain.request.smt, topology::Smt::kPreferFull);
  EXPECT_EQ(plain.request.memory_policy, topology::MemoryPolicy::kPreferred);
  const Defaults defaults{.align = topology::Align::kSocket,
                          .smt = topology::Smt::kPack,
                          .strength = topology::Strength::kRequired};
  const Entitlement entitlement = entitlement_of(make_pod("p"), "main", cpu(2000), defaults);
  EXPECT_EQ(entitlement.request.align, topology::Align::kSocket);
  EXPECT_EQ(entitlement.request.strength, topology::Strength::kRequired);
  EXPECT_EQ(entitlement.request.smt, topology::Smt::kPack);
  Pod job = make_pod("p");
  job.annotations["pinion.dev/job"] = "j";
  const Defaults lenient{.strength = topology::Strength::kPreferred};
  EXPECT_EQ(entitlement_of(job, "main", cpu(2000), lenient).request.strength,
            topology::Strength::kPreferred);
}

TEST(Policy, OneContainersAnnotationWinsOverThePods) {
  Pod pod = make_pod("p");
  pod.annotations = {{"pinion.dev/align", "l3"},
                     {"pinion.dev/align.main", "socket"},
                     {"pinion.dev/cpus.side.car", "shared"}};
  EXPECT_EQ(entitlement_of(pod, "main", cpu(2000), {}).request.align, topology::Align::kSocket);
  EXPECT_EQ(entitlement_of(pod, "other", cpu(2000), {}).request.align, topology::Align::kL3);
  EXPECT_EQ(entitlement_of(pod, "side.car", cpu(2000), {}).kind, Kind::kShared);
  EXPECT_TRUE(entitlement_of(pod, "main", cpu(2000), {}).warnings.empty());
}

TEST(Policy, TheClassSaysWhetherItIsAService) {
  Pod pod = make_pod("p");
  EXPECT_EQ(labels_of(pod, "main").service, std::nullopt);
  pod.annotations["pinion.dev/class"] = "service";
  EXPECT_EQ(labels_of(pod, "main").service, true);
  EXPECT_EQ(entitlement_of(pod, "main", cpu(2000), {}).kind, Kind::kExclusive);
  EXPECT_TRUE(entitlement_of(pod, "main", cpu(2000), {}).warnings.empty());
  pod.annotations["pinion.dev/class"] = "hpc";
  EXPECT_EQ(labels_of(pod, "main").service, false);
  // Whether it gets cores or not.
  pod.annotations["pinion.dev/class"] = "batch";
  for (const int milli : {2000, 500}) {
    const Entitlement entitlement = entitlement_of(pod, "main", cpu(milli), {});
    EXPECT_EQ(entitlement.kind, Kind::kRefused);
    EXPECT_EQ(entitlement.text,
              "annotation pinion.dev/class: unknown value 'batch', use one of: hpc, service");
  }
}

TEST(Policy, AutoIsNoProfileThatANodeCouldDecide) {
  Pod pod = make_pod("p");
  pod.annotations["pinion.dev/profile"] = "auto";
  const Entitlement entitlement = entitlement_of(pod, "main", cpu(2000), {});
  EXPECT_EQ(entitlement.kind, Kind::kRefused);
  EXPECT_EQ(entitlement.text,
            "annotation pinion.dev/profile: 'auto' is for the extender's webhook to decide, which "
            "has not seen this pod; use one of: cpu, memory, network");
}

TEST(Policy, AnnotationsOfTheExtenderAndTheSlurmBridgeAreKnown) {
  Pod pod = make_pod("p");
  for (const char* name : {"profile-why",   "gang-size",       "task-groups",     "role",
                           "hostfile",      "owner",           "decided",         "tasks",
                           "cpus-per-task", "memory-per-task", "policy",          "nodes",
                           "planned",       "woken",           "placement",       "owner-uid",
                           "slurm-index",   "slurm-nodes",     "slurm-partition", "worker-role",
                           "min-workers",   "wanted-workers"}) {
    pod.annotations["pinion.dev/" + std::string(name)] = "1";
  }
  EXPECT_TRUE(entitlement_of(pod, "main", cpu(2000), {}).warnings.empty());
}

TEST(Policy, UnknownAnnotationsOfOursWarn) {
  Pod pod = make_pod("p");
  pod.annotations = {{"pinion.dev/aling", "l3"},  // misspelt on purpose
                     {"pinion.dev/" + std::string(500, 'x'), "1"},
                     {"pinion.dev/", "1"},
                     {"pinion.device/align", "1"},
                     {"example.com/align", "1"}};
  const Entitlement entitlement = entitlement_of(pod, "main", cpu(2000), {});
  EXPECT_EQ(entitlement.kind, Kind::kExclusive);
  ASSERT_EQ(entitlement.warnings.size(), 3U);
  EXPECT_THAT(entitlement.warnings, testing::Contains(HasSubstr("pinion.dev/aling")));
  for (const auto& warning : entitlement.warnings) EXPECT_LT(warning.size(), 120U);
}

TEST(Policy, OfManyUnknownAnnotationsTheFirstFewAreNamed) {
  Pod pod = make_pod("p");
  for (int i = 1; i <= 6; ++i) pod.annotations["pinion.dev/x" + std::to_string(i)] = "1";
  for (int i = 10; i < 1000; ++i) pod.annotations["pinion.dev/y" + std::to_string(i)] = "1";
  const auto warnings = entitlement_of(pod, "main", cpu(2000), {}).warnings;
  ASSERT_EQ(warnings.size(), 6U);
  EXPECT_THAT(warnings[4], HasSubstr("pinion.dev/x5 is not known"));
  EXPECT_EQ(warnings[5], "991 more annotations of pinion.dev/ are not known and ignored");
}

TEST(Policy, HostileValuesAreRefusedWithAShortText) {
  const std::string values[] = {std::string(1'000'000, 'a'),
                                std::string("l3\0", 3),
                                "l3\n",
                                " l3",
                                "\xff\xfe\x80",
                                "l3,numa",
                                "../../etc"};
  for (const char* name :
       {"cpus", "align", "strength", "smt", "memory", "profile", "isolation", "class"}) {
    for (const std::string& value : values) {
      SCOPED_TRACE(std::string(name) + " of " + std::to_string(value.size()) + " bytes");
      Pod pod = make_pod("p");
      pod.annotations[std::string("pinion.dev/") + name] = value;
      const Entitlement entitlement = entitlement_of(pod, "main", cpu(2000), {});
      EXPECT_EQ(entitlement.kind, Kind::kRefused);
      EXPECT_THAT(entitlement.text, HasSubstr(name));
      EXPECT_LT(entitlement.text.size(), 250U);
    }
  }
}

// Half a character would make every message unreadable that has the text in it.
TEST(Policy, NoCharacterIsCutInTwo) {
  const std::string umlauts = "\xC3\xA4\xC3\xB6\xC3\xBC";
  for (std::size_t before = 50; before < 66; ++before) {
    auto pod = make_pod("p");
    std::string value(before, 'x');
    for (int i = 0; i < 8; ++i) value += umlauts;
    const auto whole = [](const std::string& text) {
      std::size_t leads = 0;
      std::size_t rest = 0;
      for (const char c : text) {
        leads += c == '\xC3' ? 1U : 0U;
        rest += c != '\xC3' && (static_cast<unsigned char>(c) & 0x80U) != 0 ? 1U : 0U;
      }
      return leads == rest;
    };
    pod.annotations["pinion.dev/" + value] = "x";
    pod.annotations["pinion.dev/align"] = value;
    const Entitlement wrong = entitlement_of(pod, "main", cpu(2000), {});
    EXPECT_TRUE(whole(wrong.text)) << wrong.text;
    ASSERT_EQ(wrong.warnings.size(), 1U);
    EXPECT_TRUE(whole(wrong.warnings[0])) << wrong.warnings[0];
    pod.annotations.clear();
    pod.annotations["pinion.dev/planned"] = "main=" + value;
    EXPECT_TRUE(whole(entitlement_of(pod, "main", cpu(2000), {}).text));
  }
}

// Each of a pod's containers carries them, in every snapshot.
TEST(Policy, LongNamesAreCut) {
  const std::string umlaut = "\xC3\xA4";
  std::string longest(252, 'x');
  Pod pod = make_pod("p");
  for (const char* name : {"job", "task-group"}) {
    pod.annotations[std::string("pinion.dev/") + name] =
        longest + umlaut + std::string(250'000, 'y');
  }
  const Entitlement entitlement = entitlement_of(pod, "main", cpu(2000), {});
  EXPECT_EQ(entitlement.kind, Kind::kExclusive);
  EXPECT_EQ(entitlement.request.job, longest) << "no half of a character";
  EXPECT_EQ(entitlement.request.task_group, longest);
  const Labels labels = labels_of(pod, "main");
  EXPECT_EQ(labels.job, longest);
  EXPECT_EQ(labels.task_group, longest);
  longest += 'z';
  EXPECT_EQ(cut_name(longest), longest);
}

TEST(Policy, ALongNameOfADeviceIsRefusedWithAShortText) {
  Defaults defaults;
  defaults.privileges = {Privilege::kNearDevice};
  Pod pod = make_pod("p");
  std::string& device = pod.annotations["pinion.dev/near-device"];
  device = std::string(255, 'x');
  EXPECT_EQ(entitlement_of(pod, "main", cpu(2000), defaults).request.near_device, device);
  device += 'x';
  const Entitlement entitlement = entitlement_of(pod, "main", cpu(2000), defaults);
  EXPECT_EQ(entitlement.kind, Kind::kRefused);
  EXPECT_THAT(entitlement.text, testing::StartsWith("annotation pinion.dev/near-device: 'xxx"));
  EXPECT_LT(entitlement.text.size(), 200U);
}

TEST(Policy, WhomCoresAreLentToHasNoLongName) {
  const std::string longest(253, 'x');
  EXPECT_TRUE(parse_lend_to(longest + "/" + longest));
  EXPECT_TRUE(parse_lend_to(longest + "*/main"));
  EXPECT_FALSE(parse_lend_to(longest + "x/main"));
  EXPECT_FALSE(parse_lend_to("p/x" + longest));
}

TEST(Policy, LendTo) {
  struct Case {
    const char* text;
    std::optional<LendTo> to;
  };
  const Case cases[] = {
      {"vc-0/slurm", LendTo{"vc-0", false, "slurm"}},
      {"vc-*/slurm", LendTo{"vc-", true, "slurm"}},
      {"", {}},
      {"/", {}},
      {"vc-0", {}},
      {"vc-0/", {}},
      {"/slurm", {}},
      {"*/slurm", {}},  // any pod at all
      {"v*c/slurm", {}},
      {"vc**/slurm", {}},
      {"vc-0/*", {}},
      {"a/b/c", {}},
      {"a/b,c/d", {}},
      {"vc-0/slurm ", {}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    const auto to = parse_lend_to(c.text);
    EXPECT_EQ(to, c.to);
    if (to) {
      EXPECT_EQ(to->to_string(), c.text);
    }
    auto pod = make_pod("p");
    pod.annotations["pinion.dev/lend-to"] = c.text;
    const Entitlement entitlement = entitlement_of(pod, "main", cpu(2000), {});
    EXPECT_EQ(entitlement.kind, c.to ? Kind::kExclusive : Kind::kRefused);
    if (!c.to) {
      EXPECT_THAT(entitlement.text, HasSubstr("lend-to"));
    }
    EXPECT_EQ(lending_of(pod, "main").lend_to, c.to);
  }
}

TEST(Policy, WhoBorrows) {
  struct Case {
    const char* name;
    std::map<std::string, std::string> annotations;
    bool borrows;
    Kind kind;
  };
  const Case cases[] = {
      {"nothing said", {}, false, Kind::kShared},
      {"the pod", {{"pinion.dev/borrow", "true"}}, true, Kind::kShared},
      {"the container alone", {{"pinion.dev/borrow.main", "true"}}, true, Kind::kShared},
      {"another container", {{"pinion.dev/borrow.side", "true"}}, false, Kind::kShared},
      {"all but this one",
       {{"pinion.dev/borrow", "true"}, {"pinion.dev/borrow.main", "false"}},
       false,
       Kind::kShared},
      {"another word", {{"pinion.dev/borrow", "yes"}}, false, Kind::kRefused},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    auto pod = make_pod("p");
    pod.annotations = c.annotations;
    EXPECT_EQ(lending_of(pod, "main").borrows, c.borrows);
    const Entitlement entitlement = entitlement_of(pod, "main", cpu(500), {});
    EXPECT_EQ(entitlement.kind, c.kind);
    EXPECT_TRUE(entitlement.warnings.empty());
  }
}

TEST(Policy, MemoryWithoutLimitPromisesNothing) {
  Resources resources = cpu(2000);
  for (const std::int64_t memory :
       {std::int64_t{0}, std::int64_t{-1}, std::numeric_limits<std::int64_t>::min()}) {
    resources.memory = memory;
    EXPECT_EQ(entitlement_of(make_pod("p"), "main", resources, {}).request.memory, Bytes{0});
  }
}

}  // namespace
}  // namespace pinion::policy
