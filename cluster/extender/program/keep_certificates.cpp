#include "cluster/extender/program/keep_certificates.h"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/rfc3339.h"
#include "base/settings/settings.h"
#include "base/whole_file.h"
#include "cluster/extender/kube/base64.h"
#include "cluster/extender/kube/json_read.h"
#include "cluster/extender/kube/path.h"
#include "cluster/extender/program/clocks.h"

namespace pinion::cluster {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;

constexpr std::chrono::milliseconds kCallLimit = 4s;
// Names that the chart uses, too.
constexpr const char* kAuthoritySecret = "pinion-ca";
constexpr const char* kOwnSecret = "pinion-extender-tls";
constexpr const char* kServiceAccount = "pinion-extender";
constexpr const char* kWebhook =
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/pinion-extender";

struct KeptSecret {
  std::string secret;
  certificates::Wanted wanted;
};

// The scheduler's lasts, as it may lie on the disks of control-plane nodes.
std::array<KeptSecret, 3> all_kept(const std::vector<std::string>& own_names) {
  const auto wanted = [](const char* name, std::vector<std::string> names, bool lasting) {
    return certificates::Wanted{.subject = {.common_name = name, .names = std::move(names)},
                                .lasting = lasting};
  };
  return {
      KeptSecret{kOwnSecret, wanted("pinion-extender", own_names, false)},
      KeptSecret{"pinion-agent-tls", wanted("pinion-agent", {"pinion-agent"}, false)},
      KeptSecret{"pinion-scheduler-tls", wanted("pinion-scheduler", {"pinion-scheduler"}, true)}};
}

std::string in_namespace(const std::string& name_space, const std::string& resource) {
  return "/api/v1/namespaces/" + kube::percent_encoded(name_space) + "/" + resource;
}

Result<certificates::Secret> data_of(const json& secret) {
  certificates::Data data;
  for (const auto& [key, value] : kube::json_at(secret, "data").items()) {
    if (!value.is_string()) continue;
    auto bytes = kube::decode_base64(value.get_ref<const std::string&>());
    if (!bytes) return failure(bytes.error().within(key));
    data[key] = *std::move(bytes);
  }
  return data;
}

std::int64_t now_s() {
  return unix_ms() / 1000;
}

}  // namespace

Result<std::unique_ptr<KeepCertificates>> KeepCertificates::start(const Config& config, Log& log) {
  if (config.certificate_names.empty()) return nullptr;
  const auto access = kube::read_access(config.kubeconfig, config.kube_context);
  if (!access) return failure(access.error());
  auto api = kube::Api::create(*access);
  if (!api) return failure(api.error());
  Options options{.name_space = own_namespace(config, *access),
                  .names = settings::parts_of(config.certificate_names, ','),
                  .certificate = config.tls_cert,
                  .key = config.tls_key,
                  .authorities = config.tls_client_ca};
  return std::make_unique<KeepCertificates>(*std::move(api), std::move(options), log);
}

KeepCertificates::KeepCertificates(std::unique_ptr<kube::Api> api, Options options, Log& log)
    : api_(std::move(api)),
      options_(std::move(options)),
      log_(log),
      backoff_(500ms, options_.every),
      rounds_([this] { return round(); }) {}

KeepCertificates::~KeepCertificates() {
  rounds_.stop();
  cancel_.cancel();
}

kube::Call KeepCertificates::how() const {
  return {.cancel = &cancel_, .whole = kCallLimit};
}

std::chrono::milliseconds KeepCertificates::round() {
  const Status done = keep();
  if (done) {
    backoff_.reset();
    told_trouble_.clear();
    return options_.every;
  }
  const bool another_was_first = done.error().code == Errc::kConflict;
  if (!another_was_first && !rounds_.stopping() &&
      std::exchange(told_trouble_, done.error().text) != done.error().text) {
    log_.warn("the certificates cannot be kept, trying again", {{"why", done.error().text}});
  }
  return backoff_.next();
}

Status KeepCertificates::keep() {
  const auto step = [this](const std::string& secret,
                           const auto& plan) -> Result<certificates::Data> {
    const auto there = read(secret);
    if (!there) return failure(there.error().within(secret));
    auto planned = plan(there->data);
    if (!planned) return failure(planned.error().within("the Secret " + secret));
    if (Status done = write(secret, *there, *planned); !done) {
      return failure(done.error().within(secret));
    }
    return std::move(planned->data);
  };
  const auto authority = step(kAuthoritySecret, [](const certificates::Secret& there) {
    auto planned = certificates::authority(there, now_s());
    if (planned || planned.error().code != Errc::kInvalid) return planned;
    return Result<certificates::Step>(failure(
        Errc::kInvalid, planned.error().text + "; delete the Secret, and another one is made"));
  });
  if (!authority) return failure(authority.error());
  for (const KeptSecret& kept : all_kept(options_.names)) {
    const auto data = step(kept.secret, [&](const certificates::Secret& there) {
      return certificates::certificate(there, *authority, kept.wanted, now_s());
    });
    if (!data) return failure(data.error());
    if (kept.secret != kOwnSecret) continue;
    if (Status done = write_files(*data); !done) return done;
  }
  ready_ = true;
  return tell_webhook(authority->at(certificates::kAuthorities));
}

Result<KeepCertificates::Read> KeepCertificates::read(const std::string& secret) {
  const auto there = api_->get(in_namespace(options_.name_space, "secrets/" + secret), how());
  if (!there) {
    if (there.error().code == Errc::kNotFound) return Read();
    return failure(there.error());
  }
  auto data = data_of(*there);
  if (!data) return failure(data.error());
  return Read{.data = *std::move(data),
              .version = kube::json_text(*there, "metadata", "resourceVersion")};
}

Status KeepCertificates::write(const std::string& secret, const Read& there,
                               const certificates::Step& step) {
  if (step.why.empty()) return {};
  const std::string all = in_namespace(options_.name_space, "secrets");
  json object = {{"data", json::object()}};
  for (const auto& [key, value] : there.data.value_or(certificates::Data())) {
    object["data"][key] = nullptr;
  }
  for (const auto& [key, value] : step.data) object["data"][key] = kube::encode_base64(value);
  if (there.data) {
    object["metadata"] = {{"resourceVersion", there.version}};
    const auto changed = api_->patch(all + "/" + secret, kube::PatchKind::kMerge, object, how());
    if (!changed) return failure(changed.error());
  } else {
    auto owners = owner();
    if (!owners) return failure(owners.error());
    object["type"] = "kubernetes.io/tls";
    object["metadata"] = {{"name", secret},
                          {"labels", {{"app.kubernetes.io/part-of", "pinion"}}},
                          {"ownerReferences", *std::move(owners)}};
    const auto made = api_->create(all, object, how());
    if (!made) return failure(made.error());
  }
  const auto made = x509::read_certificates(step.data.at(certificates::kCertificate));
  const std::int64_t until_s = made ? made->front().validity.to_s : 0;
  log_.info("a certificate is made",
            {{"secret", secret},
             {"why", step.why},
             {"until",
              micro_time(std::chrono::system_clock::time_point(std::chrono::seconds(until_s)))}});
  return {};
}

// The service account, so that who uninstalls the chart leaves no keys. Outside of a pod there may
// be none.
Result<json> KeepCertificates::owner() {
  const auto account = api_->get(
      in_namespace(options_.name_space, std::string("serviceaccounts/") + kServiceAccount), how());
  if (account) {
    return json{{{"apiVersion", "v1"},
                 {"kind", "ServiceAccount"},
                 {"name", kServiceAccount},
                 {"uid", kube::json_text(*account, "metadata", "uid")}}};
  }
  if (account.error().code == Errc::kNotFound) return json::array();
  return failure(account.error());
}

// The key first: who reads in between finds that it does not fit, and reads again.
Status KeepCertificates::write_files(const certificates::Data& own) {
  if (own == written_) return {};
  for (const auto& [path, key] : {std::pair(&options_.key, certificates::kKey),
                                  std::pair(&options_.certificate, certificates::kCertificate),
                                  std::pair(&options_.authorities, certificates::kAuthorities)}) {
    if (Status done = replace_file(*path, own.at(key), /*synced=*/false); !done) return done;
  }
  written_ = own;
  return {};
}

// Whose configuration it is, as of somebody who has no webhook, is not ours to say.
Status KeepCertificates::tell_webhook(const std::string& authorities) {
  const auto there = api_->get(kWebhook, how());
  if (!there) {
    if (there.error().code == Errc::kNotFound) return {};
    return failure(there.error().within("the webhook"));
  }
  const std::string bundle = kube::encode_base64(authorities);
  json changes = json::array();
  const json& webhooks = kube::json_at(*there, "webhooks");
  for (std::size_t i = 0; i < webhooks.size(); ++i) {
    if (kube::json_text(webhooks.at(i), "clientConfig", "caBundle") == bundle) continue;
    const std::string path = "/webhooks/" + std::to_string(i);
    changes.push_back({{"op", "test"},
                       {"path", path + "/name"},
                       {"value", kube::json_text(webhooks.at(i), "name")}});
    changes.push_back(
        {{"op", "add"}, {"path", path + "/clientConfig/caBundle"}, {"value", bundle}});
  }
  if (changes.empty()) return {};
  const auto changed = api_->patch(kWebhook, kube::PatchKind::kJson, changes, how());
  if (!changed) return failure(changed.error().within("the webhook"));
  log_.info("the webhook is given its authority", {});
  return {};
}

}  // namespace pinion::cluster
