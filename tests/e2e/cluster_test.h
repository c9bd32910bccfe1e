// The fixture of tests that share one cluster: started with the first of them, its logs shown with
// each that fails. Skips, with the reason, where Kubernetes is not built.
#pragma once

#include <gtest/gtest.h>

#include <iostream>
#include <memory>
#include <set>
#include <string>

#include "tests/e2e/admin.h"
#include "tests/e2e/cluster.h"
#include "tests/e2e/collection.h"
#include "tests/e2e/ok.h"

namespace pinion::e2e {

// Derived may have `static ClusterOptions options()`. A SetUp() of its own calls this one first,
// and goes on if `admin()` may be used: ready().
template <class Derived>
class ClusterTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto cluster = Cluster::start(Derived::options());
    if (cluster) {
      shared() = *std::move(cluster);
    } else {
      why_none() = cluster.error();
    }
  }
  static void TearDownTestSuite() { shared().reset(); }
  static ClusterOptions options() { return {}; }

  void SetUp() override {
    if (!shared() && why_none().code == Errc::kNotFound) GTEST_SKIP() << why_none().text;
    ASSERT_TRUE(shared()) << why_none().text;
    admin_ = std::make_unique<Admin>(shared()->access());
  }
  void TearDown() override {
    if (shared()) {
      EXPECT_EQ(shared()->denied(), std::set<std::string>()) << "to the extender";
    }
    if (HasFailure() && shared()) std::cerr << shared()->logs() << '\n';
  }

  static Cluster& cluster() { return *shared(); }
  [[nodiscard]] bool ready() const { return admin_ != nullptr; }
  Admin& admin() { return *admin_; }
  kube::Api& api() { return admin_->api(); }

 private:
  static std::unique_ptr<Cluster>& shared() {
    static std::unique_ptr<Cluster> cluster;
    return cluster;
  }
  static Error& why_none() {
    static Error error;
    return error;
  }

  std::unique_ptr<Admin> admin_;
};

}  // namespace pinion::e2e
