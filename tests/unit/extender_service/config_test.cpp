#include "cluster/extender/program/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace pinion::cluster
