// The scheduler calls the extender over TLS, as docs/kubernetes.md writes it: each shows the other
// its certificate.
#include <gtest/gtest.h>

#include "tests/e2e/scene.h"
#include "tests/unit/api/certificates.h"

namespace pinion::e2e {
namespace {

class Tls : public Scene {
 protected:
  // Two authorities; the extender is of "one", and takes nobody else's clients.
  void start_extender_with_tls() {
    if (!agent::api::has_openssl()) GTEST_SKIP() << "there is no openssl";
    for (const char* authority : {"one", "two"}) {
      ASSERT_TRUE(agent::api::make_certificates(cluster().folder(), authority));
    }
    start_nodes(1);
    const auto own = agent::api::files_of(cluster().folder(), "one", "server");
    ASSERT_TRUE(agent::api::make_certificate(cluster().folder(), "one", "agent", "DNS:agent"));
    start_extender({"--tls-cert", own.certificate, "--tls-key", own.key, "--tls-client-ca", own.ca,
                    "--tls-client-names", "client"});
    extender().speak_tls(client_of("one"));
  }
  [[nodiscard]] TlsClient client_of(const std::string& authority,
                                    const std::string& name = "client") {
    const auto files = agent::api::files_of(cluster().folder(), authority, name);
    return {.ca = agent::api::files_of(cluster().folder(), "one", "client").ca,
            .certificate = files.certificate,
            .key = files.key};
  }
  void start_scheduler_as(TlsClient client) {
    cluster().kill_scheduler();
    start_scheduler({.extender = ExtenderCall{.url = extender().url(), .tls = std::move(client)}});
  }

  // The scheduler says so of the pod: in its status, as events may get lost.
  testing::AssertionResult told(const std::string& pod, const std::string& text) {
    std::string why;
    const bool found = pods().wait_for(pod, [&](const nlohmann::json& now) {
      why = why_unscheduled(now);
      return why.find(text) != std::string::npos;
    });
    if (found) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "not \"" << text << "\" but " << why;
  }
};

TEST_F(Tls, OnlyASchedulerWithACertificateOfTheRightAuthorityAndNameIsAnswered) {
  start_extender_with_tls();
  if (HasFailure() || IsSkipped()) return;
  start_scheduler_as(client_of("two"));
  add(PodShape{.name = "stranger", .milli_cpus = 4000});
  EXPECT_TRUE(told("stranger", "tls: unknown certificate authority"));
  TlsClient nobody = client_of("one");
  nobody.certificate.clear();
  start_scheduler_as(nobody);
  add(PodShape{.name = "nobody", .milli_cpus = 4000});
  EXPECT_TRUE(told("nobody", "tls: certificate required"));
  start_scheduler_as(client_of("one", "agent"));
  add(PodShape{.name = "agent", .milli_cpus = 4000});
  EXPECT_TRUE(told("agent", "tls: "));
  EXPECT_EQ(bound({"stranger", "nobody", "agent"}), 0);
  start_scheduler_as(client_of("one"));
  EXPECT_TRUE(run({"stranger", "nobody", "agent"}));
}

}  // namespace
}  // namespace pinion::e2e
