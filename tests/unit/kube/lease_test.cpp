#include "cluster/extender/kube/lease.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/extender/kube/json_read.h"
#include "tests/support/eventually.h"
#include "tests/unit/kube/fake_api_server.h"

namespace pinion::kube {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using test_support::eventually;

constexpr const char* kLeases = "/apis/coordination.k8s.io/v1/namespaces/n/leases";
constexpr std::chrono::seconds kLeasePatience{30};

// Stores one Lease as an API server would: created once, replaced only by who names its version.
class LeaseStore {
 public:
  // It must outlive the server.
  void serve_at(FakeApiServer& server) {
    gate_ = server.new_gate();
    const std::string path = std::string(kLeases) + "/l";
    const auto locked =
        [this](void (LeaseStore::*method)(const httplib::Request&, httplib::Response&)) {
          return [this, method](const httplib::Request& request, httplib::Response& response) {
            const std::lock_guard lock(mutex_);
            (this->*method)(request, response);
          };
        };
    server.on("GET " + path, locked(&LeaseStore::get));
    server.on("PUT " + path, [this, put = locked(&LeaseStore::put)](const httplib::Request& request,
                                                                    httplib::Response& response) {
      if (hang_) gate_->wait();
      put(request, response);
    });
    server.on("POST " + std::string(kLeases), locked(&LeaseStore::post));
  }

  json lease() {
    const std::lock_guard lock(mutex_);
    return lease_;
  }
  std::string holder() { return json_text(lease(), "spec", "holderIdentity"); }
  // Somebody writes without asking.
  void overwrite(const std::string& holder) {
    const std::lock_guard lock(mutex_);
    lease_["spec"]["holderIdentity"] = holder;
    store(lease_);
  }
  // From now on replacing takes for ever.
  void hang() { hang_ = true; }

 private:
  void get(const httplib::Request&, httplib::Response& response) {
    if (lease_.is_null()) return refuse(response, 404, "NotFound");
    response.set_content(lease_.dump(), "application/json");
  }
  void post(const httplib::Request& request, httplib::Response& response) {
    if (!lease_.is_null()) return refuse(response, 409, "AlreadyExists");
    store(json::parse(request.body));
    response.status = 201;
    response.set_content(lease_.dump(), "application/json");
  }
  void put(const httplib::Request& request, httplib::Response& response) {
    const json wanted = json::parse(request.body);
    if (json_text(wanted, "metadata", "resourceVersion") !=
        json_text(lease_, "metadata", "resourceVersion")) {
      return refuse(response, 409, "Conflict");
    }
    store(wanted);
    response.set_content(lease_.dump(), "application/json");
  }
  void store(json lease) {
    lease["metadata"]["resourceVersion"] = std::to_string(++version_);
    lease_ = std::move(lease);
  }
  static void refuse(httplib::Response& response, int status, const std::string& reason) {
    response.status = status;
    response.set_content(status_object(status, reason, "").dump(), "application/json");
  }

  std::mutex mutex_;
  json lease_;  // these two under mutex_
  int version_ = 0;
  std::atomic<bool> hang_ = false;
  std::shared_ptr<Gate> gate_;
};

// What one candidate was told.
class Changes {
 public:
  void told(bool leading) {
    const std::lock_guard lock(mutex_);
    told_.push_back(leading);
    changed_.notify_all();
  }
  bool wait_for(const std::vector<bool>& all) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kLeasePatience, [&] { return told_ == all; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<bool> told_;
};

class Leases : public testing::Test {
 protected:
  Leases() { store_.serve_at(server_); }

  std::unique_ptr<Lease> start(const std::string& identity, Changes& changes,
                               const LeaseTiming& timing = {.duration = std::chrono::seconds(60),
                                                            .renew_deadline = milliseconds(30'000),
                                                            .retry = milliseconds(5)}) {
    auto lease = Lease::start(*api_, {.lease = {.name_space = "n", .name = "l"},
                                      .identity = identity,
                                      .timing = timing,
                                      .random = [] { return 0.5; },
                                      .on_change = [&](bool leading) { changes.told(leading); },
                                      .on_trouble = {}});
    EXPECT_TRUE(lease) << lease.error().text;
    return *std::move(lease);
  }

  LeaseStore store_;
  FakeApiServer server_;
  std::unique_ptr<Api> api_ = *Api::create(server_.access());
  Changes first_;
  Changes second_;
};

TEST_F(Leases, AreMadeTakenRenewedAndGivenBack) {
  const auto lease = start("one", first_);
  ASSERT_TRUE(first_.wait_for({true}));
  EXPECT_TRUE(lease->leading());
  EXPECT_EQ(lease->holder(), "one");
  const json made = store_.lease();
  EXPECT_EQ(json_integer(made, "spec", "leaseDurationSeconds"), 60);
  EXPECT_EQ(json_integer(made, "spec", "leaseTransitions"), 0);
  server_.wait_for(6);  // it goes on
  EXPECT_NE(json_text(store_.lease(), "metadata", "resourceVersion"), "1");
  EXPECT_EQ(json_text(store_.lease(), "spec", "acquireTime"),
            json_text(made, "spec", "acquireTime"));
  lease->stop();
  EXPECT_FALSE(lease->leading());
  EXPECT_TRUE(first_.wait_for({true, false}));
  EXPECT_EQ(store_.holder(), "");
}

TEST_F(Leases, AreHeldByOneAndHandedOver) {
  auto one = start("one", first_);
  ASSERT_TRUE(first_.wait_for({true}));
  const auto two = start("two", second_);
  EXPECT_TRUE(eventually([&] { return two->holder() == "one"; }));
  EXPECT_FALSE(two->leading());
  one.reset();
  ASSERT_TRUE(second_.wait_for({true}));
  EXPECT_EQ(store_.holder(), "two");
  EXPECT_EQ(json_integer(store_.lease(), "spec", "leaseTransitions"), 1);
}

TEST_F(Leases, AreLostWhenAnotherHoldsThem) {
  const auto lease = start("one", first_);
  ASSERT_TRUE(first_.wait_for({true}));
  store_.overwrite("intruder");
  ASSERT_TRUE(first_.wait_for({true, false}));
  EXPECT_FALSE(lease->leading());
  EXPECT_EQ(lease->holder(), "intruder");
}

// The thread is within a call that does not return, for a third of the deadline at least.
TEST_F(Leases, EndByThemselvesWhileACallHangs) {
  const auto lease = start("one", first_,
                           {.duration = std::chrono::seconds(4),
                            .renew_deadline = milliseconds(3000),
                            .retry = milliseconds(5)});
  ASSERT_TRUE(first_.wait_for({true}));
  store_.hang();
  const auto began = std::chrono::steady_clock::now();
  EXPECT_TRUE(eventually([&] { return !lease->leading(); }));
  EXPECT_LE(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));
  EXPECT_EQ(store_.holder(), "one") << "as far as others know";
  const auto stopping = std::chrono::steady_clock::now();
  lease->stop();
  EXPECT_LT(std::chrono::steady_clock::now() - stopping, std::chrono::seconds(10));
}

TEST_F(Leases, NeedTimesThatKeepTwoApart) {
  const auto refused = [this](const LeaseTiming& timing, const std::string& identity) {
    const auto lease = Lease::start(*api_, {.lease = {.name_space = "n", .name = "l"},
                                            .identity = identity,
                                            .timing = timing,
                                            .random = system_random(),
                                            .on_change = {},
                                            .on_trouble = {}});
    return !lease && lease.error().code == Errc::kInvalid;
  };
  EXPECT_TRUE(refused({.duration = std::chrono::seconds(10),
                       .renew_deadline = milliseconds(10'000),
                       .retry = milliseconds(2000)},
                      "a"));
  EXPECT_TRUE(refused({.duration = std::chrono::seconds(15),
                       .renew_deadline = milliseconds(2000),
                       .retry = milliseconds(2000)},
                      "a"));
  EXPECT_TRUE(refused({.duration = std::chrono::seconds(15),
                       .renew_deadline = milliseconds(10'000),
                       .retry = milliseconds(0)},
                      "a"));
  EXPECT_TRUE(refused({}, ""));
}

TEST(Identities, AreUnique) {
  const std::string one = unique_identity("pod");
  EXPECT_EQ(one.rfind("pod_", 0), 0U);
  EXPECT_EQ(one.size(), 20U);
  EXPECT_NE(one, unique_identity("pod"));
}

}  // namespace
}  // namespace pinion::kube
