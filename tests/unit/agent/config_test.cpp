// The configuration file: every key, every mistake with its line, and back to YAML. Flags above it.
#include "agent/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <vector>

#include "agent/reload.h"
#include "tests/support/tree.h"
#include "tests/unit/agent/node_events.h"

namespace pinion::agent {
namespace {

using test_support::cpus;
using testing::HasSubstr;
using topology::Align;
using topology::Smt;
using topology::Strength;

struct ConfigCase {
  const char* name;
  const char* yaml;
  bool (*holds)(const Config&);
};

const ConfigCase kGood[] = {
    {"nriSocket", "nriSocket: /x.sock", [](const Config& c) { return c.nri_socket == "/x.sock"; }},
    {"nriIndex", "nriIndex: \"07\"", [](const Config& c) { return c.nri_index == "07"; }},
    {"hostRoot", "hostRoot: /host", [](const Config& c) { return c.host_root == "/host"; }},
    {"topology", "topology: xml:m.xml", [](const Config& c) { return c.topology == "xml:m.xml"; }},
    {"reserved", "reservedSystemCPUs: 0-1,64",
     [](const Config& c) { return c.reserved == cpus("0-1,64"); }},
    {"reservedMemory, the kubelet's file",
     "reservedMemory:\n  - numaNode: 0\n    limits: {memory: 1Gi, hugepages-2Mi: 4Mi}\n"
     "  - numaNode: 1\n    limits: {memory: \"5\"}",
     [](const Config& c) {
       return c.reserved_memory == topology::ReservedMemory{{0, 1 << 30}, {1, 5}};
     }},
    {"reservedMemory, the kubelet's flag",
     "reservedMemory: '0:memory=1Gi,hugepages-2Mi=4Mi;1:memory=5'",
     [](const Config& c) {
       return c.reserved_memory == topology::ReservedMemory{{0, 1 << 30}, {1, 5}};
     }},
    {"no reservedMemory", "reservedMemory: []",
     [](const Config& c) { return c.reserved_memory == topology::ReservedMemory{}; }},
    {"exclusivePods", "exclusivePods: annotated",
     [](const Config& c) { return c.defaults.pods == policy::ExclusivePods::kAnnotated; }},
    {"exclusiveNamespaces", "exclusiveNamespaces: 'hpc, hpc-2'",
     [](const Config& c) {
       return c.defaults.namespaces == std::set<std::string>{"hpc", "hpc-2"};
     }},
    {"allowedPrivileges", "allowedPrivileges: one-per-core,isolated",
     [](const Config& c) {
       return c.defaults.privileges ==
              std::set{engine::Privilege::kOnePerCore, engine::Privilege::kIsolated};
     }},
    {"no allowedPrivileges", "allowedPrivileges: ''",
     [](const Config& c) { return c.defaults.privileges.empty(); }},
    {"vmRuntimeHandlers", "vmRuntimeHandlers: 'kata*, vm-1.x'",
     [](const Config& c) {
       return c.defaults.vm_handlers == std::vector<std::string>{"kata*", "vm-1.x"};
     }},
    {"no vmRuntimeHandlers", "vmRuntimeHandlers: ''",
     [](const Config& c) { return c.defaults.vm_handlers.empty(); }},
    {"cpuManagerPolicy", "cpuManagerPolicy: static",
     [](const Config& c) { return c.reserved.empty(); }},
    {"single-numa-node", "topologyManagerPolicy: single-numa-node",
     [](const Config& c) {
       return c.defaults.align == Align::kNuma && c.defaults.strength == Strength::kRequired;
     }},
    {"best-effort", "topologyManagerPolicy: best-effort",
     [](const Config& c) { return c.defaults.strength == Strength::kPreferred; }},
    {"none", "topologyManagerPolicy: none",
     [](const Config& c) { return c.defaults.align == Align::kNone; }},
    {"full-pcpus-only off", "cpuManagerPolicyOptions: {full-pcpus-only: \"false\"}",
     [](const Config& c) { return c.defaults.smt == Smt::kPreferFull; }},
    {"full-pcpus-only on", "cpuManagerPolicyOptions:\n  full-pcpus-only: true",
     [](const Config& c) { return c.defaults.smt == Smt::kFullCore; }},
    {"strict", "cpuManagerPolicyOptions: {strict-cpu-reservation: true}",
     [](const Config& c) { return c.strict_reservation; }},
    {"by socket", "cpuManagerPolicyOptions: {align-by-socket: true}",
     [](const Config& c) { return c.defaults.align == Align::kSocket; }},
    {"by socket, refines a policy after it",
     "cpuManagerPolicyOptions: {align-by-socket: true}\ntopologyManagerPolicy: best-effort",
     [](const Config& c) {
       return c.defaults.align == Align::kSocket && c.defaults.strength == Strength::kPreferred;
     }},
    {"not by socket, of one node",
     "topologyManagerPolicy: single-numa-node\ncpuManagerPolicyOptions: {align-by-socket: false}",
     [](const Config& c) { return c.defaults.align == Align::kNuma; }},
    {"the last option of two",
     "cpuManagerPolicyOptions: {align-by-socket: true, prefer-align-cpus-by-uncorecache: true}",
     [](const Config& c) { return c.defaults.align == Align::kL3; }},
    {"by uncore cache", "cpuManagerPolicyOptions: {prefer-align-cpus-by-uncorecache: true}",
     [](const Config& c) { return c.defaults.align == Align::kL3; }},
    {"fence auto", "fence: auto", [](const Config& c) { return c.fence == FenceChoice::kAuto; }},
    {"fence tree", "fence: tree", [](const Config& c) { return c.fence == FenceChoice::kTree; }},
    {"fence leaf", "fence: leaf", [](const Config& c) { return c.fence == FenceChoice::kLeaf; }},
    {"fence runtime", "fence: runtime",
     [](const Config& c) { return c.fence == FenceChoice::kRuntime; }},
    {"kernelNoise", "kernelNoise: irq",
     [](const Config& c) { return c.kernel_noise == std::set{noise::Kind::kIrq}; }},
    {"all kernel noise", "kernelNoise: rcu, irq,workqueue",
     [](const Config& c) { return c.kernel_noise.size() == 3; }},
    {"no kernel noise", "kernelNoise: ''", [](const Config& c) { return c.kernel_noise.empty(); }},
    {"stateDir", "stateDir: /s", [](const Config& c) { return c.state_dir == "/s"; }},
    {"kubeletDir", "kubeletDir: /k", [](const Config& c) { return c.kubelet_dir == "/k"; }},
    {"shortest interval", "auditInterval: 100ms",
     [](const Config& c) { return c.audit_interval.count() == 100; }},
    {"longest interval", "auditInterval: 60m",
     [](const Config& c) { return c.audit_interval.count() == 3'600'000; }},
    {"seconds", "auditInterval: 5s",
     [](const Config& c) { return c.audit_interval.count() == 5'000; }},
    {"readyFile", "readyFile: /r", [](const Config& c) { return c.ready_file == "/r"; }},
    {"logLevel", "logLevel: debug", [](const Config& c) { return c.log_level == "debug"; }},
    {"logFormat", "logFormat: json",
     [](const Config& c) { return c.log_format == LogFormat::kJson; }},
    {"metricsListen", "metricsListen: '[::1]:0'",
     [](const Config& c) { return c.metrics_listen == "[::1]:0"; }},
    {"probeListen", "probeListen: 0.0.0.0:0",
     [](const Config& c) { return c.probe_listen == "0.0.0.0:0"; }},
    {"pageAnywhere", "pageAnywhere: true", [](const Config& c) { return c.page_anywhere; }},
    {"apiListen", "apiListen: 'off'", [](const Config& c) { return c.api_listen == "off"; }},
    {"certificates", "apiCert: /c\napiKey: /k\napiClientCA: /a",
     [](const Config& c) {
       return c.api_cert == "/c" && c.api_key == "/k" && c.api_client_ca == "/a";
     }},
    {"counters software", "counters: software",
     [](const Config& c) { return c.counters == CountersChoice::kSoftware; }},
    {"counters off", "counters: 'off'",
     [](const Config& c) { return c.counters == CountersChoice::kOff; }},
    {"sharedCounters", "sharedCounters: full",
     [](const Config& c) { return c.shared_counters == SharedCounters::kFull; }},
    {"countersInterval", "countersInterval: 250ms",
     [](const Config& c) { return c.counters_interval.count() == 250; }},
    {"nothing", "", [](const Config& c) { return c.nri_index == "10"; }},
    {"a comment", "# nothing\n", [](const Config& c) { return c.nri_index == "10"; }},
};

TEST(ConfigFile, EveryKey) {
  for (const ConfigCase& c : kGood) {
    SCOPED_TRACE(c.name);
    Config config;
    const auto done = apply_yaml(c.yaml, config);
    ASSERT_TRUE(done) << done.error().text;
    EXPECT_TRUE(c.holds(config));
  }
}

TEST(ConfigFile, SurvivesBeingWrittenAndRead) {
  for (const ConfigCase& c : kGood) {
    SCOPED_TRACE(c.name);
    Config config;
    ASSERT_TRUE(apply_yaml(c.yaml, config));
    const std::string yaml = to_yaml(config);
    Config again;
    const auto done = apply_yaml(yaml, again);
    ASSERT_TRUE(done) << done.error().text << "\n" << yaml;
    EXPECT_EQ(to_yaml(again), yaml);
    EXPECT_TRUE(c.holds(again)) << yaml;
  }
}

TEST(ConfigFile, OddTextSurvivesBeingWrittenAndRead) {
  for (const char* value : {"/a b", "/a: b", "/a #b", "/it's", "/\"q\"", "~", "/a\\b"}) {
    SCOPED_TRACE(value);
    Config config;
    config.state_dir = value;
    config.nri_socket = value;
    config.topology = std::string("xml:") + value + "x";
    config.ready_file = std::string(value) + "r";
    Config again;
    const auto done = apply_yaml(to_yaml(config), again);
    ASSERT_TRUE(done) << done.error().text << "\n" << to_yaml(config);
    EXPECT_EQ(again.state_dir, config.state_dir);
    EXPECT_EQ(again.nri_socket, config.nri_socket);
    EXPECT_EQ(again.topology, config.topology);
    EXPECT_EQ(again.ready_file, config.ready_file);
  }
}

TEST(CommandLine, FlagsWinOverTheFile) {
  const test_support::TempDir directory;
  const std::string path = directory.path() / "agent.yaml";
  std::ofstream(path) << "stateDir: /from-file\nauditInterval: 7s\nlogLevel: warn\n";
  const std::vector<const char*> argv{"pinion-agent", "--config",    path.c_str(), "--state-dir",
                                      "/from-flag",   "--log-level", "debug"};
  const auto read = read_config(static_cast<int>(argv.size()), argv.data());
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(read->state_dir, "/from-flag");
  EXPECT_EQ(read->log_level, "debug");
  EXPECT_EQ(read->audit_interval, std::chrono::seconds(7));
}

TEST(CommandLine, AMistakeIsNamedByItsFlagOrItsFile) {
  const char* const flag[] = {"pinion-agent", "--audit-interval", "1ms"};
  const auto wrong_flag = read_config(3, flag);
  ASSERT_FALSE(wrong_flag);
  EXPECT_THAT(wrong_flag.error().text, HasSubstr("--audit-interval"));
  const char* const file[] = {"pinion-agent", "--config", "/nowhere.yaml"};
  const auto no_file = read_config(3, file);
  ASSERT_FALSE(no_file);
  EXPECT_THAT(no_file.error().text, HasSubstr("configuration: read /nowhere.yaml"));
  const char* const directory[] = {"pinion-agent", "--config", "/"};
  const auto no_text = read_config(3, directory);
  ASSERT_FALSE(no_text);
  EXPECT_THAT(no_text.error().text, HasSubstr("configuration: read /: "));
}

TEST(ConfigFile, MistakesAreNamedWithTheirLine) {
  struct Mistake {
    const char* name;
    const char* yaml;
    const char* text;
  };
  const Mistake mistakes[] = {
      {"unknown key", "fence: leaf\n\nfense: leaf", "line 3: unknown key 'fense'"},
      {"doubled key", "fence: leaf\nlogLevel: info\nfence: auto", "line 3: fence: set twice"},
      {"two documents", "fence: leaf\n---\nfence: auto", "line 2: a second document"},
      {"not YAML", "fence: leaf\nlogLevel: [", "line 2"},
      {"a list", "- fence", "expected a map"},
      {"one word", "fence", "expected a map"},
      {"a map as value", "fence: {a: b}", "line 1: fence: expected a single value"},
      {"a list as key", "[a]: b", "line 1: a key is not a word"},
      {"unknown fence", "\nfence: wall", "line 2: fence: unknown value 'wall'"},
      {"unknown noise", "kernelNoise: irq,nmi",
       "kernelNoise: unknown value 'nmi', use one of: irq, workqueue, rcu"},
      {"a list of noise", "kernelNoise: [irq]",
       "kernelNoise: expected a single value: several go in one text, with commas"},
      {"unknown level", "logLevel: loud", "trace, debug"},
      {"unknown format", "logFormat: xml", "text, json"},
      {"policy none", "cpuManagerPolicy: none", "stop the agent"},
      {"restricted", "topologyManagerPolicy: restricted", "no counterpart"},
      {"CPU list", "reservedSystemCPUs: 0-x", "reservedSystemCPUs"},
      {"no node", "reservedMemory: memory=1Gi", "'memory=1Gi' is no number of a NUMA node"},
      {"no amount", "reservedMemory: '0:memory'", "reservedMemory: memory"},
      {"no memory", "reservedMemory: '0'", "expected NODE:memory=AMOUNT"},
      {"unknown resource", "reservedMemory: '0:disk=1'", "unknown resource 'disk'"},
      {"a node twice", "reservedMemory: '0:memory=1;0:memory=2'", "NUMA node 0 is stated twice"},
      {"no limits", "reservedMemory:\n  - numaNode: 0", "line 2: expected {numaNode: N"},
      {"a wrong limit", "reservedMemory:\n  - numaNode: 0\n    limits: {memory: x}",
       "line 3: memory"},
      {"unknown pods", "exclusivePods: some", "guaranteed, annotated"},
      {"no namespace", "exclusiveNamespaces: 'hpc,,x'", "'' is no name of a namespace"},
      {"no handler", "vmRuntimeHandlers: 'kata,,x'", "'' is no name of a runtime handler"},
      {"a star within", "vmRuntimeHandlers: 'k*ta'", "'k*ta' is no name of a runtime handler"},
      {"two stars", "vmRuntimeHandlers: 'kata**'", "'kata**' is no name of a runtime handler"},
      {"a capital", "vmRuntimeHandlers: Kata", "'Kata' is no name of a runtime handler"},
      {"no port", "metricsListen: 127.0.0.1:99999999", "line 1: metricsListen: listen address"},
      {"no port of the probes", "probeListen: 127.0.0.1", "line 1: probeListen: listen address"},
      {"no port of the API", "apiListen: 127.0.0.1:99999999",
       "line 1: apiListen: '127.0.0.1:99999"},
      {"unknown privilege", "allowedPrivileges: all", "one-per-core, isolated, near-device"},
      {"index of one digit", "nriIndex: \"7\"", "nriIndex"},
      {"index of letters", "nriIndex: ab", "nriIndex"},
      {"topology", "topology: magic", "topology"},
      {"no socket", "nriSocket: ''", "line 1: nriSocket: it may not be empty"},
      {"no state directory", "stateDir: ''", "line 1: stateDir: it may not be empty"},
      {"two lines", "stateDir: \"/a\\nb\"", "a control character in it"},
      {"too often", "auditInterval: 99ms", "between 100ms and 60m"},
      {"too seldom", "auditInterval: 61m", "between 100ms and 60m"},
      {"no unit", "auditInterval: 10", "not a duration"},
      {"negative", "auditInterval: -5s", "not a duration"},
      {"huge", "auditInterval: 99999999999999999999s", "not a duration"},
      {"counters too often", "countersInterval: 10ms", "between 100ms and 1m"},
      {"counters too seldom", "countersInterval: 2m", "between 100ms and 1m"},
      {"unknown counters", "counters: some", "all, software, off"},
      {"unknown shared counters", "sharedCounters: none", "light, full"},
      {"page neither", "pageAnywhere: maybe", "neither true"},
      {"unknown option", "cpuManagerPolicyOptions:\n  distribute-cpus-across-numa: true", "line 2"},
      {"option not bool", "cpuManagerPolicyOptions:\n  align-by-socket: maybe",
       "'align-by-socket': 'maybe' is neither"},
      {"an option twice",
       "cpuManagerPolicyOptions:\n  full-pcpus-only: true\n  full-pcpus-only: false",
       "line 3: full-pcpus-only: set twice"},
      {"by socket and of one node",
       "cpuManagerPolicyOptions: {align-by-socket: true}\n"
       "topologyManagerPolicy: single-numa-node",
       "line 1: align-by-socket cannot go with topologyManagerPolicy: single-numa-node"},
      {"options not a map", "cpuManagerPolicyOptions: true", "expected a map"},
  };
  for (const Mistake& m : mistakes) {
    SCOPED_TRACE(m.name);
    Config config;
    const auto done = apply_yaml(m.yaml, config);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Errc::kInvalid);
    EXPECT_THAT(done.error().text, HasSubstr(m.text));
  }
}

// Each good by itself.
TEST(Settings, ThatCanNeverStartTogether) {
  struct Case {
    const char* name;
    std::string yaml;
    const char* text;  // empty: they can
  };
  const std::string deep(100, 'd');
  const Case cases[] = {
      {"the defaults", "", ""},
      {"TCP without TLS", "apiListen: 0.0.0.0:9465",
       "apiListen: 0.0.0.0:9465 is served with mutual TLS only: set apiCert, apiKey and "
       "apiClientCA"},
      {"TCP with half of TLS", "apiListen: 0.0.0.0:9465\napiCert: /c\napiKey: /k",
       "mutual TLS only"},
      {"TCP", "apiListen: 0.0.0.0:9465\napiCert: /c\napiKey: /k\napiClientCA: /a", ""},
      {"one address", "metricsListen: 127.0.0.1:9464\nprobeListen: 127.0.0.1:9464",
       "metricsListen and probeListen are the same address: 127.0.0.1:9464"},
      {"one address in two forms", "metricsListen: '[::1]:9464'\nprobeListen: '[0:0::1]:9464'",
       "metricsListen and probeListen are the same address: [::1]:9464"},
      {"one of the API's",
       "probeListen: 0.0.0.0:9465\napiListen: 0.0.0.0:9465\n"
       "apiCert: /c\napiKey: /k\napiClientCA: /a",
       "probeListen and apiListen are the same address"},
      {"any two ports", "metricsListen: 127.0.0.1:0\nprobeListen: 127.0.0.1:0", ""},
      {"two ports", "metricsListen: 127.0.0.1:9464\nprobeListen: 127.0.0.1:9463", ""},
      {"no room for agent.sock", "stateDir: /" + deep, "stateDir: socket path is longer than 107"},
      {"which is not served", "stateDir: /" + deep + "\napiListen: 'off'", ""},
      {"or elsewhere", "stateDir: /" + deep + "\napiListen: unix:/s", ""},
      {"no machine", "topology: synthetic:foo", "topology synthetic:foo: hwloc cannot read it"},
      {"a machine", "topology: 'synthetic:package:1 core:2 pu:1'", ""},
      {"a file that may be there at the start", "topology: xml:/nowhere.xml", ""},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Config config;
    ASSERT_TRUE(apply_yaml(c.yaml, config));
    const Status done = check(config);
    EXPECT_EQ(done.has_value(), std::string(c.text).empty());
    if (done) continue;
    EXPECT_THAT(done.error().text, HasSubstr(c.text));
  }
}

TEST(Settings, OfASocketHaveALimit) {
  Config config;
  EXPECT_TRUE(apply_yaml("nriSocket: /" + std::string(106, 's'), config));
  const Status longer = apply_yaml("nriSocket: /" + std::string(107, 's'), config);
  ASSERT_FALSE(longer);
  EXPECT_THAT(longer.error().text, HasSubstr("nriSocket: socket path is longer than 107 bytes"));
}

TEST(Settings, ThatDoNothingAreNamed) {
  struct Case {
    const char* yaml;
    std::vector<std::string> named;
  };
  const Case cases[] = {
      {"", {}},
      {"apiCert: /c", {"apiCert, apiKey and apiClientCA: apiListen is no ADDR:PORT"}},
      {"apiClientCA: /a\napiListen: unix:/s",
       {"apiCert, apiKey and apiClientCA: apiListen is no ADDR:PORT"}},
      {"apiCert: /c\napiKey: /k\napiClientCA: /a\napiListen: 0.0.0.0:1", {}},
      {"partition: isolated\nfence: leaf", {"partition: the fence is leaf"}},
      {"partition: asked\nfence: runtime", {"partition: the fence is runtime"}},
      {"partition: root\nfence: leaf", {}},
      {"partition: isolated", {}},
      {"partition: isolated\nfence: partition", {}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.yaml);
    Config config;
    ASSERT_TRUE(apply_yaml(c.yaml, config));
    EXPECT_EQ(without_effect(config), c.named);
  }
}

TEST(Reload, TakesWhatCanChangeWhileTheAgentRuns) {
  struct Case {
    const char* yaml;
    std::vector<std::string> taken;
    std::vector<std::string> restart;
  };
  const Case cases[] = {
      {"", {}, {}},
      {"logLevel: warn\nauditInterval: 5s", {"auditInterval", "logLevel"}, {}},
      {"exclusivePods: annotated\nexclusiveNamespaces: hpc\nallowedPrivileges: isolated\n"
       "vmRuntimeHandlers: vm",
       {"allowedPrivileges", "exclusiveNamespaces", "exclusivePods", "vmRuntimeHandlers"},
       {}},
      {"topologyManagerPolicy: best-effort\ncpuManagerPolicyOptions:\n"
       "  full-pcpus-only: \"true\"\n  align-by-socket: \"true\"\n  strict-cpu-reservation: "
       "\"true\"",
       {"cpuManagerPolicyOptions: align-by-socket", "cpuManagerPolicyOptions: full-pcpus-only",
        "topologyManagerPolicy"},
       {"cpuManagerPolicyOptions: strict-cpu-reservation"}},
      {"reservedSystemCPUs: \"0\"\nfence: leaf\nlogFormat: json\nlogLevel: debug",
       {"logLevel"},
       {"fence", "logFormat", "reservedSystemCPUs"}},
      {"reservedMemory: '0:memory=1Gi'\nnriSocket: /x\napiListen: 'off'",
       {},
       {"apiListen", "nriSocket", "reservedMemory"}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.yaml);
    Config config;
    Config next;
    ASSERT_TRUE(apply_yaml(c.yaml, next));
    const Reloaded reloaded = take_over(config, next);
    EXPECT_EQ(reloaded.taken, c.taken);
    EXPECT_EQ(reloaded.restart, c.restart);
    EXPECT_TRUE(take_over(config, next).taken.empty()) << "they are in `config` now";
  }
}

TEST(Reload, AWrongFileChangesNothing) {
  Log log("error", LogFormat::kText);
  Config config;
  config.log_level = "error";
  const std::string before = to_yaml(config);
  EXPECT_FALSE(reload(
      config, [] { return Result<Config>(failure(Errc::kInvalid, "no")); }, log));
  EXPECT_EQ(to_yaml(config), before);
}

TEST(Reload, WhereNothingHasChangedThatIsSaid) {
  Config config;
  testing::internal::CaptureStderr();
  {
    Log log("info", LogFormat::kText);
    EXPECT_TRUE(reload(
        config, [&] { return Result<Config>(config); }, log));
  }
  EXPECT_NE(testing::internal::GetCapturedStderr().find("read again changed=nothing"),
            std::string::npos);
}

}  // namespace
}  // namespace pinion::agent
