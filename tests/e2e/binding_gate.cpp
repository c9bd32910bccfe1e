#include "tests/e2e/binding_gate.h"

#include <httplib.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "cluster/extender/kube/base64.h"
#include "cluster/extender/kube/path.h"
#include "tests/e2e/collection.h"
#include "tests/lab/files.h"

namespace pinion::e2e {

using nlohmann::json;

namespace {

constexpr std::size_t kThreads = 64;  // one for each binding that is held
constexpr int kLongestHead = 30;      // seconds that the API server waits: its own limit

json answer_to(const json& review, bool allowed) {
  return {{"apiVersion", "admission.k8s.io/v1"},
          {"kind", "AdmissionReview"},
          {"response", {{"uid", review.at("request").at("uid")}, {"allowed", allowed}}}};
}

}  // namespace

BindingGate::BindingGate() = default;

Result<std::unique_ptr<BindingGate>> BindingGate::start(const Cluster& cluster, Admin& admin) {
  std::unique_ptr<BindingGate> gate(new BindingGate());
  const std::string folder = cluster.folder();
  gate->server_ = std::make_unique<httplib::SSLServer>((folder + "/server.crt").c_str(),
                                                       (folder + "/server.key").c_str());
  httplib::Server& server = *gate->server_;
  server.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
  server.Post("/binding", [all = gate.get()](const auto& request, auto& response) {
    const json review = json::parse(request.body);
    response.set_content(answer_to(review, all->may_pass()).dump(), "application/json");
  });
  const int port = server.bind_to_any_port("127.0.0.1");
  if (port < 0) return failure(Errc::kUnavailable, "no port for the webhook of bindings");
  gate->thread_ = std::thread([&server] { server.listen_after_bind(); });
  if (Status done = gate->put_in_force(cluster, admin, port); !done) return failure(done.error());
  return gate;
}

BindingGate::~BindingGate() {
  open();
  server_->stop();
  if (thread_.joinable()) thread_.join();
}

// The API server takes a webhook up a moment after it was told of it.
Status BindingGate::put_in_force(const Cluster& cluster, Admin& admin, int port) {
  const json client = {{"url", "https://127.0.0.1:" + std::to_string(port) + "/binding"},
                       {"caBundle", kube::encode_base64(cluster.ca())}};
  const json rule = {{"operations", {"CREATE"}},
                     {"apiGroups", {""}},
                     {"apiVersions", {"v1"}},
                     {"resources", {"pods/binding"}}};
  const auto made =
      admin.api().create("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
                         {{"apiVersion", "admissionregistration.k8s.io/v1"},
                          {"kind", "ValidatingWebhookConfiguration"},
                          {"metadata", {{"name", "bindings"}}},
                          {"webhooks", json::array({{{"name", "bindings.e2e.pinion.dev"},
                                                     {"admissionReviewVersions", {"v1"}},
                                                     {"sideEffects", "None"},
                                                     {"failurePolicy", "Fail"},
                                                     {"timeoutSeconds", kLongestHead},
                                                     {"clientConfig", client},
                                                     {"rules", json::array({rule})}}})}});
  if (!made) return failure(made.error());
  const bool asked = lab::eventually(kPatience, [&] {
    (void)kube::bind_pod(admin.api(), {.name_space = "default", .name = "nobody", .uid = {}},
                         "nowhere");
    const std::lock_guard lock(mutex_);
    return asked_ > 0;
  });
  if (!asked) return failure(Errc::kUnavailable, "the API server does not ask about bindings");
  return {};
}

bool BindingGate::may_pass() {
  std::unique_lock lock(mutex_);
  ++asked_;
  if (open_ || left_-- > 0) return true;
  ++held_;
  changed_.notify_all();
  changed_.wait(lock, [&] { return open_; });
  --held_;
  return held_pass_;
}

void BindingGate::let_pass(int bindings) {
  const std::lock_guard lock(mutex_);
  open_ = false;
  held_pass_ = false;
  left_ = bindings;
}

void BindingGate::open() {
  const std::lock_guard lock(mutex_);
  open_ = true;
  changed_.notify_all();
}

void BindingGate::open_for_held() {
  {
    const std::lock_guard lock(mutex_);
    held_pass_ = true;
  }
  open();
}

bool BindingGate::wait_for_held(int bindings) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, lab::patient(kPatience), [&] { return held_ >= bindings; });
}

}  // namespace pinion::e2e
