#include "cluster/extender/program/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace pinion::cluster {
namespace {

using testing::HasSubstr;

Config with_tls() {
  Config config;
  config.tls_cert = "tls.crt";
  config.tls_key = "tls.key";
  config.tls_client_ca = "ca.crt";
  return config;
}

TEST(ConfigCheck, TlsNeedsACaOfCallers) {
  EXPECT_TRUE(check(Config()));
  EXPECT_TRUE(check(with_tls()));
  Config open = with_tls();
  open.tls_client_ca.clear();
  ASSERT_FALSE(check(open));
  EXPECT_THAT(check(open).error().text, HasSubstr("tlsClientCA: missing"));
}

TEST(ConfigCheck, NamesOfCallersAreNamesAndHaveTls) {
  Config config = with_tls();
  for (const char* good : {"pinion-scheduler", "a.test,system:kube-scheduler", "a, b"}) {
    config.tls_client_names = good;
    EXPECT_TRUE(check(config)) << good;
  }
  // What OpenSSL would take for no name, or for more than one.
  for (const char* wrong : {",", " ", ", ", "a,,b", "a ,b", ".svc"}) {
    config.tls_client_names = wrong;
    ASSERT_FALSE(check(config)) << wrong;
    EXPECT_THAT(check(config).error().text, HasSubstr("tlsClientNames")) << wrong;
  }
  Config plain;
  plain.tls_client_names = "a";
  plain.tls_client_ca = "ca.crt";
  EXPECT_FALSE(check(plain));
}

TEST(ConfigCheck, WhatCanNeverServeIsRefused) {
  struct Case {
    std::string Config::*setting;
    const char* value;
    const char* error;
  };
  for (const Case& one : {Case{&Config::listen, "foo", "listen: "},
                          Case{&Config::web_listen, "127.0.0.1:99999", "webListen: "},
                          Case{&Config::services_prometheus, "ftp://x", "servicesPrometheus: "},
                          Case{&Config::agent_cert, "x", "agentKey: missing beside agentCert"},
                          Case{&Config::agent_key, "x", "agentCert: missing beside agentKey"},
                          Case{&Config::tls_key, "x", "tlsCert: missing beside tlsKey"},
                          Case{&Config::agents, "/nowhere/agents.yaml", "agents: "}}) {
    Config config;
    config.*one.setting = one.value;
    const Status done = check(config);
    ASSERT_FALSE(done) << one.error;
    EXPECT_EQ(done.error().text.rfind(one.error, 0), 0U) << done.error().text;
  }
  Config good;
  good.listen = "[::1]:0";
  good.services_prometheus = "http://prometheus:9090";
  EXPECT_TRUE(check(good));
}

std::string flag_value(Config& config, const std::string& key, const std::string& value) {
  for (const settings::Setting& setting : settings_of(config)) {
    if (setting.key != key) continue;
    const Status done = setting.set(value);
    return done ? "" : done.error().text;
  }
  return "no such setting";
}

TEST(ManagedResource, IsTheNameOfAnExtendedResource) {
  Config config;
  for (const char* wrong : {"foo", "/foo", "pinion.dev/", "pinion.dev/A", "a/b/c"}) {
    EXPECT_THAT(flag_value(config, "managedResource", wrong), HasSubstr("is not DOMAIN/NAME"));
  }
  EXPECT_EQ(flag_value(config, "managedResource", "pinion.dev/managed"), "");
  EXPECT_EQ(flag_value(config, "managedResource", ""), "");
}

TEST(ElasticSettings, AreTheKnobsOfThePolicyWithinTheirRanges) {
  const ElasticKnobs normal;
  const auto from_config = knobs_of(Config());
  EXPECT_EQ(from_config.ageing_ms, normal.ageing_ms);
  EXPECT_EQ(from_config.patience_ms, normal.patience_ms);
  EXPECT_EQ(from_config.strict_ms, normal.strict_ms);
  EXPECT_EQ(from_config.rescale_percent, normal.rescale_percent);
  EXPECT_EQ(from_config.broken_percent, normal.broken_percent);

  const std::function<std::int64_t(const ElasticKnobs&)> ageing = &ElasticKnobs::ageing_ms;
  const std::function<std::int64_t(const ElasticKnobs&)> patience = &ElasticKnobs::patience_ms;
  const std::function<std::int64_t(const ElasticKnobs&)> strict = &ElasticKnobs::strict_ms;
  const std::function<std::int64_t(const ElasticKnobs&)> rescale = &ElasticKnobs::rescale_percent;
  const std::function<std::int64_t(const ElasticKnobs&)> broken = &ElasticKnobs::broken_percent;
  struct Good {
    const char* key;
    const char* text;
    std::function<std::int64_t(const ElasticKnobs&)> of;
    std::int64_t value;
  };
  for (const Good& c :
       {Good{"elasticAgeing", "1s", ageing, 1000},
        Good{"elasticAgeing", "525600m", ageing, kLongestKnobMs},
        Good{"elasticPatience", "0", patience, 0},
        Good{"elasticPatience", "90m", patience, 5'400'000}, Good{"elasticStrict", "0s", strict, 0},
        Good{"elasticStrict", "2880m", strict, 172'800'000},
        Good{"elasticRescalePercent", "1", rescale, 1},
        Good{"elasticRescalePercent", "100", rescale, 100},
        Good{"elasticBrokenPercent", "75", broken, 75}}) {
    Config config;
    EXPECT_EQ(flag_value(config, c.key, c.text), "") << c.key;
    EXPECT_EQ(c.of(knobs_of(config)), c.value) << c.key;
  }
  struct Wrong {
    const char* key;
    const char* text;
    const char* says;
  };
  for (const Wrong& c : {Wrong{"elasticAgeing", "999ms", "'999ms' is not between 1s and 525600m"},
                         Wrong{"elasticAgeing", "0", "is not between"},
                         Wrong{"elasticPatience", "525601m", "is not between 0s and 525600m"},
                         Wrong{"elasticPatience", "-1s", "is not a duration such as"},
                         Wrong{"elasticStrict", "7d", "is not a duration such as"},
                         Wrong{"elasticRescalePercent", "0", "is not a number from 1 to 100"},
                         Wrong{"elasticRescalePercent", "0.05", "is not a number from 1 to 100"},
                         Wrong{"elasticBrokenPercent", "101", "is not a number from 1 to 100"}}) {
    Config config;
    EXPECT_THAT(flag_value(config, c.key, c.text), HasSubstr(c.says)) << c.key << ' ' << c.text;
  }
}

}  // namespace
}  // namespace pinion::cluster
