// Certificates that the extender makes and renews itself, in Secrets of a real API server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <set>

#include "cluster/extender/kube/base64.h"
#include "cluster/extender/kube/json_read.h"
#include "cluster/extender/program/keep_certificates.h"
#include "tests/e2e/controllers.h"
#include "tests/e2e/scene.h"
#include "tests/lab/files.h"

namespace pinion::e2e {
namespace {

using cluster::KeepCertificates;
using nlohmann::json;
using testing::HasSubstr;

constexpr const char* kSecrets = "/api/v1/namespaces/kube-system/secrets";
constexpr const char* kAccounts = "/api/v1/namespaces/kube-system/serviceaccounts";
constexpr const char* kWebhooks =
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
constexpr const char* kNames = "pinion-extender.kube-system.svc,127.0.0.1";
constexpr std::array<const char*, 4> kKept{"pinion-ca", "pinion-extender-tls", "pinion-agent-tls",
                                           "pinion-scheduler-tls"};

class Certificates : public Scene {
 protected:
  [[nodiscard]] ClusterOptions cluster_options() const override {
    return {.controller_manager = true};
  }

  // Where one replica reads its own.
  [[nodiscard]] KeepCertificates::Options options(const std::string& replica) {
    const std::string folder = cluster().folder() + "/" + replica;
    std::filesystem::create_directory(folder);
    return {.name_space = "kube-system",
            .names = {"pinion-extender.kube-system.svc", "127.0.0.1"},
            .certificate = folder + "/tls.crt",
            .key = folder + "/tls.key",
            .authorities = folder + "/ca.crt",
            .every = std::chrono::milliseconds(50)};
  }
  std::unique_ptr<KeepCertificates> keep(const std::string& replica) {
    EXPECT_TRUE(ok(cluster().grant_rights_of_extender()));
    auto api = kube::Api::create(cluster().access(kExtenderUser));
    EXPECT_TRUE(ok(api));
    if (!api) return nullptr;
    return std::make_unique<KeepCertificates>(*std::move(api), options(replica), log_);
  }
  json secret(const std::string& name) {
    auto read = admin().api().get(std::string(kSecrets) + "/" + name);
    return read ? *std::move(read) : json();
  }
  // "": there is none.
  std::string part(const std::string& name, const char* key) {
    return kube::decode_base64(kube::json_text(secret(name), "data", key)).value_or("");
  }
  void add_webhook(const json& client_config) {
    const json rule = {{"operations", {"CREATE"}},
                       {"apiGroups", {"batch"}},
                       {"apiVersions", {"v1"}},
                       {"resources", {"jobs"}}};
    json webhook = {{"admissionReviewVersions", {"v1"}},
                    {"sideEffects", "None"},
                    {"clientConfig", client_config},
                    {"rules", json::array({rule})}};
    json both = json::array();
    for (const char* name : {"jobs.pinion.dev", "more.pinion.dev"}) {
      webhook["name"] = name;
      both.push_back(webhook);
    }
    ASSERT_TRUE(ok(admin().api().create(
        kWebhooks, {{"metadata", {{"name", "pinion-extender"}}}, {"webhooks", both}})));
  }
  // Of each of the webhook's parts.
  std::set<std::string> bundles() {
    std::set<std::string> all;
    const auto read = admin().api().get(std::string(kWebhooks) + "/pinion-extender");
    if (!read) return all;
    for (const json& one : read->at("webhooks")) {
      all.insert(
          kube::decode_base64(kube::json_text(one, "clientConfig", "caBundle")).value_or(""));
    }
    return all;
  }
  // Nothing is left to do: of one authority, in the webhook as well.
  bool all_fit() {
    const std::string authority = part("pinion-ca", "ca.crt");
    for (const char* name : kKept) {
      if (part(name, "ca.crt") != authority) return false;
      if (!x509::signed_by(part(name, "tls.crt"), part("pinion-ca", "tls.crt"))) return false;
    }
    return bundles() == std::set{authority};
  }

  Log log_{"info", LogFormat::kText};
};

TEST_F(Certificates, OfReplicasThatStartTogetherAreTheSame) {
  add_webhook({{"url", "https://127.0.0.1:1/mutate"}});
  const auto a = keep("a");
  const auto b = keep("b");
  ASSERT_TRUE(a && b);
  ASSERT_TRUE(lab::eventually(kPatience, [&] { return a->ready() && b->ready() && all_fit(); }));
  const auto same_files = [&] {
    for (const char* replica : {"a", "b"}) {
      for (const char* key : {"tls.crt", "tls.key", "ca.crt"}) {
        const auto text = lab::read_file(cluster().folder() + "/" + replica + "/" + key);
        if (!text || *text != part("pinion-extender-tls", key)) return false;
      }
    }
    return true;
  };
  EXPECT_TRUE(lab::eventually(kPatience, same_files));

  // Whoever deletes the authority gets another one, and certificates of it.
  const std::string before = part("pinion-ca", "tls.crt");
  ASSERT_TRUE(ok(admin().api().remove(std::string(kSecrets) + "/pinion-ca", json::object())));
  EXPECT_TRUE(lab::eventually(kPatience, [&] {
    const std::string now = part("pinion-ca", "tls.crt");
    return !now.empty() && now != before && all_fit() && same_files();
  }));
}

TEST_F(Certificates, ThatSomebodyHasSpoiltAreMadeAnew) {
  const auto kept = keep("a");
  ASSERT_TRUE(kept);
  ASSERT_TRUE(lab::eventually(kPatience, [&] { return kept->ready(); }));
  const std::string before = part("pinion-agent-tls", "tls.crt");
  ASSERT_TRUE(
      ok(admin().api().patch(std::string(kSecrets) + "/pinion-agent-tls", kube::PatchKind::kMerge,
                             {{"data", {{"tls.key", kube::encode_base64("none")}}}})));
  EXPECT_TRUE(lab::eventually(kPatience, [&] {
    const std::string now = part("pinion-agent-tls", "tls.crt");
    return now != before &&
           x509::check_pair({.certificate = now, .key = part("pinion-agent-tls", "tls.key")});
  }));
}

TEST_F(Certificates, AreTrustedByTheSchedulerAndTheApiServer) {
  // In a cluster it is there before the first pod with it.
  const auto account =
      admin().api().create(kAccounts, {{"metadata", {{"name", "pinion-extender"}}}});
  ASSERT_TRUE(ok(account));
  start_nodes(1);
  const auto own = options("own");
  start_extender({"--certificate-names", kNames, "--tls-cert", own.certificate, "--tls-key",
                  own.key, "--tls-client-ca", own.authorities, "--tls-client-names",
                  "pinion-scheduler"});
  if (HasFatalFailure()) return;
  EXPECT_EQ(kube::json_text(secret("pinion-ca").at("metadata").at("ownerReferences").at(0), "uid"),
            kube::json_text(*account, "metadata", "uid"));
  const std::string folder = cluster().folder() + "/scheduler";
  std::filesystem::create_directory(folder);
  const TlsClient client{
      .ca = folder + "/ca.crt", .certificate = folder + "/tls.crt", .key = folder + "/tls.key"};
  for (const char* key : {"tls.crt", "tls.key", "ca.crt"}) {
    ASSERT_TRUE(ok(lab::write_file(folder + "/" + key, part("pinion-scheduler-tls", key))));
  }
  extender().speak_tls(client);
  start_scheduler({.extender = ExtenderCall{.url = extender().url(), .tls = client}});
  add(PodShape{.name = "pinned", .milli_cpus = 4000});
  EXPECT_TRUE(run({"pinned"}));
  const auto until = x509::read_certificates(part("pinion-scheduler-tls", "tls.crt"));
  ASSERT_TRUE(ok(until));
  EXPECT_EQ(extender().figure(
                R"(pinion_extender_certificate_expiry_timestamp_seconds{certificate="scheduler"})"),
            static_cast<double>(until->front().validity.to_s));

  add_webhook({{"url", extender().web_url() + "/mutate"}});
  extender().kill();
  ASSERT_TRUE(ok(extender().restart()));
  json refused = captured("job_create", "probe");
  refused["metadata"]["annotations"] = {{"pinion.dev/tasks", "none"}};
  std::string why;
  EXPECT_TRUE(lab::eventually(kPatience, [&] {
    const auto made =
        admin().api().create("/apis/batch/v1/namespaces/default/jobs?dryRun=All", refused);
    why = made ? "it is taken" : made.error().text;
    return why.find("pinion.dev/tasks") != std::string::npos;
  })) << why;
}

}  // namespace
}  // namespace pinion::e2e
