// What files and processes say, as text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "ctl/doctor/containerd_config.h"
#include "ctl/doctor/kubelet_config.h"
#include "ctl/doctor/processes.h"
#include "ctl/doctor/program_settings.h"
#include "tests/unit/ctl/doctor/cases.h"

namespace pinion::ctl::doctor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

TEST(KubeletConfig, IsRead) {
  KubeletSettings settings;
  ASSERT_TRUE(
      apply_kubelet_config("apiVersion: kubelet.config.k8s.io/v1beta1\n"
                           "kind: KubeletConfiguration\n"
                           "cpuManagerPolicy: static\n"
                           "memoryManagerPolicy: Static\n"
                           "cgroupDriver: systemd\n"
                           "reservedSystemCPUs: 0-1,8\n"
                           "systemReserved: {cpu: 500m, memory: 1Gi}\n"
                           "kubeReserved: {cpu: '1.5'}\n",
                           settings));
  EXPECT_EQ(settings, (KubeletSettings{.cpu_manager_policy = "static",
                                       .memory_manager_policy = "Static",
                                       .cgroup_driver = "systemd",
                                       .reserved_cpus = cpus("0-1,8"),
                                       .reserved_milli = 2000}));
}

TEST(KubeletConfig, LaterFilesAndFlagsWin) {
  KubeletSettings settings;
  ASSERT_TRUE(
      apply_kubelet_config("cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n", settings));
  ASSERT_TRUE(apply_kubelet_config("{\"cpuManagerPolicy\": \"none\"}", settings));
  EXPECT_EQ(settings.cpu_manager_policy, "none");
  EXPECT_EQ(settings.reserved_cpus, cpus("0"));
  ASSERT_TRUE(apply_kubelet_flags({"--cpu-manager-policy=static", "--cgroup-driver", "cgroupfs",
                                   "--reserved-cpus=2-3", "--memory-manager-policy=Static"},
                                  settings));
  EXPECT_EQ(settings, (KubeletSettings{.cpu_manager_policy = "static",
                                       .memory_manager_policy = "Static",
                                       .cgroup_driver = "cgroupfs",
                                       .reserved_cpus = cpus("2-3"),
                                       .reserved_milli = 0}));
}

TEST(KubeletConfig, AnEmptyOneStatesNothing) {
  for (const char* text :
       {"", "---\n", "# nothing\n", "evictionHard: {}\n", "cgroupDriver: []\n"}) {
    SCOPED_TRACE(text);
    KubeletSettings settings;
    ASSERT_TRUE(apply_kubelet_config(text, settings));
    EXPECT_EQ(settings, KubeletSettings());
  }
}

TEST(KubeletConfig, WhatIsWrongIsNamed) {
  struct Case {
    const char* text;
    const char* error;
  };
  for (const Case& one :
       {Case{"[1]", "not a map"}, Case{"a: [", ""},
        Case{"reservedSystemCPUs: 3-1", "reservedSystemCPUs"},
        Case{"kubeReserved: {cpu: many}", "kubeReserved"},
        Case{"kubeReserved: {cpu: 9e15}\nsystemReserved: {cpu: 9e15}", "too much CPU"}}) {
    SCOPED_TRACE(one.text);
    KubeletSettings settings;
    const Status done = apply_kubelet_config(one.text, settings);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Errc::kInvalid);
    EXPECT_THAT(done.error().text, HasSubstr(one.error));
  }
  KubeletSettings settings;
  EXPECT_FALSE(apply_kubelet_flags({"--reserved-cpus=x"}, settings));
}

TEST(KubeletState, SaysItsPolicy) {
  EXPECT_EQ(policy_of_state(R"({"policyName":"static","defaultCpuSet":"0-7","checksum":1})"),
            "static");
  for (const char* text : {"", "[]", "{}", R"({"policyName":1})"}) {
    SCOPED_TRACE(text);
    EXPECT_FALSE(policy_of_state(text));
  }
}

TEST(ContainerdConfig, OfVersion2IsRead) {
  ContainerdSettings settings;
  ASSERT_TRUE(apply_containerd_config(R"(version = 2
imports = ["/etc/containerd/conf.d/*.toml", "more.toml"]
[plugins."io.containerd.nri.v1.nri"]
  disable = true
  disable_connections = false
  socket_path = "/run/nri.sock"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
  SystemdCgroup = true
)",
                                      settings));
  EXPECT_EQ(settings,
            (ContainerdSettings{.version = 2,
                                .nri_disabled = true,
                                .connections_disabled = false,
                                .nri_socket = "/run/nri.sock",
                                .systemd_cgroup = true,
                                .imports = {"/etc/containerd/conf.d/*.toml", "more.toml"}}));
}

TEST(ContainerdConfig, OfVersion3IsReadAndImportsWin) {
  ContainerdSettings settings;
  ASSERT_TRUE(apply_containerd_config(
      "version = 3\n[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]\n"
      "SystemdCgroup = true\n",
      settings));
  EXPECT_EQ(settings.version, 3);
  EXPECT_EQ(settings.systemd_cgroup, true);
  EXPECT_EQ(settings.nri_disabled, std::nullopt);
  ASSERT_TRUE(apply_containerd_config(
      "version = 3\n[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]\n"
      "SystemdCgroup = false\n[plugins.'io.containerd.nri.v1.nri']\ndisable = false\n",
      settings));
  EXPECT_EQ(settings.systemd_cgroup, false);
  EXPECT_EQ(settings.nri_disabled, false);
}

TEST(ContainerdConfig, OtherTypesAreNotTaken) {
  ContainerdSettings settings;
  ASSERT_TRUE(
      apply_containerd_config("version = \"two\"\nimports = \"x\"\nplugins = 1\n", settings));
  EXPECT_EQ(settings, ContainerdSettings());
}

TEST(ContainerdConfig, LettersBeyondAsciiAreNoneOfOurs) {
  ContainerdSettings settings;
  ASSERT_TRUE(
      apply_containerd_config("version = 3 # f\u00fcr die Knoten\n\"\u02a6\" = \"\u00e9\"\n"
                              "imports = [\"/etc/\u00e9/*.toml\"]\n",
                              settings));
  EXPECT_EQ(settings.version, 3);
  EXPECT_EQ(settings.imports, std::vector<std::string>{"/etc/?\?/*.toml"});
}

TEST(ContainerdConfig, BrokenTextIsNamedByItsLine) {
  ContainerdSettings settings;
  for (const char* table : {"[plugins\n", "[!]\n", "[]\n", "\u02a6\n", "\xff\n"}) {
    const Status done = apply_containerd_config(std::string("version = 2\n") + table, settings);
    ASSERT_FALSE(done) << table;
    EXPECT_THAT(done.error().text, HasSubstr("line 2")) << table;
  }
}

TEST(FlagValue, IsFoundInBothForms) {
  const std::vector<std::string> arguments = {"--config",     "/a", "-v=2", "--config=/b",
                                              "--config-dir", "/d", "word", "--last"};
  EXPECT_EQ(flag_value(arguments, "config"), "/b");
  EXPECT_EQ(flag_value(arguments, "config-dir"), "/d");
  EXPECT_EQ(flag_value(arguments, "v"), "2");
  EXPECT_EQ(flag_value(arguments, "last"), std::nullopt);
  EXPECT_EQ(flag_value(arguments, "word"), std::nullopt);
}

TEST(ProgramSettings, FlagsWinOverTheFile) {
  const std::vector<ProgramKey> keys = {{"apiListen", "api-listen"}, {"apiCert", "api-cert"}};
  const auto settings =
      program_settings("apiListen: 'off'\napiCert: /a\nother: 1\n", {"--api-listen=unix:/x"}, keys);
  ASSERT_TRUE(settings);
  EXPECT_THAT(*settings, ElementsAre(Pair("apiCert", "/a"), Pair("apiListen", "unix:/x")));
  EXPECT_EQ(value_of(*settings, "apiCert", "none"), "/a");
  EXPECT_EQ(value_of(*settings, "apiKey", "none"), "none");
  EXPECT_THAT(program_settings(std::nullopt, {}, keys).value(), IsEmpty());
  EXPECT_THAT(program_settings("", {}, keys).value(), IsEmpty());
  EXPECT_FALSE(program_settings("- a\n", {}, keys));
  EXPECT_FALSE(program_settings("a: [", {}, keys));
}

TEST(Capabilities, AreReadAsBits) {
  EXPECT_EQ(effective_capabilities("Name:\tx\nCapPrm:\t1\nCapEff:\t0000004000200000\n"),
            0x4000200000U);
  EXPECT_EQ(effective_capabilities("CapEff:\tnone\n"), std::nullopt);
  EXPECT_EQ(effective_capabilities("Name:\tx\n"), std::nullopt);
}

}  // namespace
}  // namespace pinion::ctl::doctor
