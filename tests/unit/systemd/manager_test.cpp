// The client against a fake manager on a bus of its own.
#include "agent/systemd/manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fake_systemd/fake_systemd.h"
#include "tests/support/fake_systemd/private_bus.h"
#include "tests/support/tree.h"

namespace pinion::systemd {
namespace {

using std::chrono::milliseconds;
using test_support::FakeSystemd;
using test_support::PrivateBus;
using testing::HasSubstr;
using topology::CpuSet;

constexpr const char* kSlice = "kubepods-burstable.slice";
// For calls that are answered: far more than a busy machine takes.
constexpr Timing kPatient{.limit = milliseconds(30'000), .pause = milliseconds(0)};
// For those that are not.
constexpr Timing kHasty{.limit = milliseconds(50), .pause = milliseconds(3'600'000)};

class ManagerTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!bus_.start()) GTEST_SKIP() << "no dbus-daemon: run scripts/deps.sh test";
    fake_.emplace(bus_.address());
  }
  [[nodiscard]] Manager patient() const { return Manager(bus_.addresses(), kPatient); }

  test_support::TempDir dir_;
  PrivateBus bus_{dir_.path()};
  std::optional<FakeSystemd> fake_;
};

TEST_F(ManagerTest, AsksForTheProperty) {
  fake_->set(kSlice, {0, 1, 2, 3, 8});
  fake_->set("kubepods-besteffort.slice", {});
  Manager manager = patient();
  const auto set = manager.allowed_cpus(kSlice);
  ASSERT_TRUE(set) << set.error().text;
  EXPECT_EQ(set->to_string(), "0-3,8");
  const auto unset = manager.allowed_cpus("kubepods-besteffort.slice");
  ASSERT_TRUE(unset) << unset.error().text;
  EXPECT_TRUE(unset->empty());
}

TEST_F(ManagerTest, SetsIt) {
  fake_->set(kSlice, {0, 1});
  Manager manager = patient();
  const auto done = manager.set_allowed_cpus(kSlice, {2, 65});
  ASSERT_TRUE(done) << done.error().text;
  EXPECT_EQ(fake_->allowed(kSlice).to_string(), "2,65");
  EXPECT_EQ(manager.allowed_cpus(kSlice).value().to_string(), "2,65");
}

TEST_F(ManagerTest, NeverSetsAnEmptyOne) {
  fake_->set(kSlice, {0, 1});
  EXPECT_FALSE(patient().set_allowed_cpus(kSlice, {}));
  EXPECT_EQ(fake_->calls(), 0);
}

TEST_F(ManagerTest, AnUnknownUnitIsNotFound) {
  Manager manager = patient();
  const auto asked = manager.allowed_cpus("none.slice");
  ASSERT_FALSE(asked);
  EXPECT_EQ(asked.error().code, Errc::kNotFound);
  EXPECT_THAT(asked.error().text, HasSubstr("none.slice"));
  EXPECT_EQ(manager.set_allowed_cpus("none.slice", {1}).error().code, Errc::kNotFound);
}

TEST_F(ManagerTest, ARefusalIsDeniedAndSaysWhy) {
  fake_->set(kSlice, {0, 1});
  fake_->refuse("org.freedesktop.DBus.Error.AccessDenied");
  Manager manager = patient();
  const auto done = manager.set_allowed_cpus(kSlice, {1});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::kDenied);
  EXPECT_THAT(done.error().text, HasSubstr("the test says no"));
}

TEST_F(ManagerTest, ASystemdWithoutThePropertyIsNotFound) {
  fake_->set(kSlice, {0, 1});
  fake_->refuse("org.freedesktop.DBus.Error.UnknownProperty");
  EXPECT_EQ(patient().allowed_cpus(kSlice).error().code, Errc::kNotFound);
}

TEST_F(ManagerTest, ASilentOneCostsOneLimitAndIsNotAskedAgainForAWhile) {
  fake_->set(kSlice, {0, 1});
  fake_->fall_silent();
  Manager manager(bus_.addresses(), kHasty);
  const auto first = manager.allowed_cpus(kSlice);
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().code, Errc::kUnavailable);
  EXPECT_THAT(first.error().text, HasSubstr("no answer within 50 ms"));
  bus_.stop();  // a try to connect would say so
  const auto second = manager.set_allowed_cpus(kSlice, {1});
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().text, HasSubstr("no answer within 50 ms"));
}

TEST_F(ManagerTest, ABusThatLetsNobodyInCostsOneLimit) {
  bus_.hang();
  Manager manager(bus_.addresses(), kHasty);
  const auto begin = std::chrono::steady_clock::now();
  const auto asked = manager.allowed_cpus(kSlice);
  ASSERT_FALSE(asked);
  EXPECT_THAT(asked.error().text, HasSubstr("no answer within 50 ms"));
  // sd-bus by itself would wait for 25 s.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST_F(ManagerTest, ABusThatGoesAndComesBackIsFoundAgain) {
  fake_->set(kSlice, {0, 1});
  Manager manager = patient();
  ASSERT_TRUE(manager.allowed_cpus(kSlice));
  bus_.stop();
  const auto gone = manager.allowed_cpus(kSlice);
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, Errc::kUnavailable);
  EXPECT_THAT(gone.error().text, HasSubstr(bus_.address()));
  ASSERT_TRUE(bus_.start());
  fake_.emplace(bus_.address());
  fake_->set(kSlice, {3});
  const auto back = manager.allowed_cpus(kSlice);
  ASSERT_TRUE(back) << back.error().text;
  EXPECT_EQ(back->to_string(), "3");
}

TEST_F(ManagerTest, ABusWithoutAManagerIsUnavailable) {
  fake_.reset();
  EXPECT_EQ(patient().allowed_cpus(kSlice).error().code, Errc::kUnavailable);
}

TEST_F(ManagerTest, TheNextAddressIsTriedWhereNobodyListens) {
  fake_->set(kSlice, {5});
  auto addresses = bus_.addresses();
  addresses.insert(addresses.begin(), {.text = "unix:path=/nobody/is/here"});
  Manager manager(addresses, kPatient);
  const auto asked = manager.allowed_cpus(kSlice);
  ASSERT_TRUE(asked) << asked.error().text;
  EXPECT_EQ(asked->to_string(), "5");
}

TEST(ManagerPolicy, WhatTheBusForbidsIsDenied) {
  const test_support::TempDir dir;
  PrivateBus bus(dir.path(), PrivateBus::Policy::kNoSetUnitProperties);
  if (!bus.start()) GTEST_SKIP() << "no dbus-daemon: run scripts/deps.sh test";
  FakeSystemd fake(bus.address());
  fake.set(kSlice, {0, 1});
  Manager manager(bus.addresses(), kPatient);
  ASSERT_TRUE(manager.allowed_cpus(kSlice));
  const auto done = manager.set_allowed_cpus(kSlice, {1});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::kDenied);
  EXPECT_EQ(fake.allowed(kSlice).to_string(), "0-1");
}

TEST(ManagerPrivateSocket, NeedsNoBus) {
  const test_support::TempDir dir;
  const auto socket = dir.path() / "private";
  FakeSystemd fake(socket);
  fake.set(kSlice, {0, 1});
  Manager manager({{.text = "unix:path=/nobody/is/here"},
                   {.text = "unix:path=" + socket.string(), .through_bus = false}},
                  kPatient);
  const auto asked = manager.allowed_cpus(kSlice);
  ASSERT_TRUE(asked) << asked.error().text;
  EXPECT_EQ(asked->to_string(), "0-1");
  ASSERT_TRUE(manager.set_allowed_cpus(kSlice, {1}));
  EXPECT_EQ(fake.allowed(kSlice).to_string(), "1");
}

TEST(ManagerAddresses, AreBelowTheHostsRoot) {
  unsetenv("DBUS_SYSTEM_BUS_ADDRESS");
  const auto here = manager_addresses("/");
  ASSERT_EQ(here.size(), 2U);
  EXPECT_EQ(here[0].text, "unix:path=/run/dbus/system_bus_socket");
  EXPECT_TRUE(here[0].through_bus);
  EXPECT_EQ(here[1].text, "unix:path=/run/systemd/private");
  EXPECT_FALSE(here[1].through_bus);
  setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/elsewhere", 1);
  EXPECT_EQ(manager_addresses("/")[0].text, "unix:path=/elsewhere");
  EXPECT_EQ(manager_addresses("/a host,1")[0].text,
            "unix:path=/a%20host%2c1/run/dbus/system_bus_socket")
      << "another machine's bus is not named by our environment";
  unsetenv("DBUS_SYSTEM_BUS_ADDRESS");
}

TEST(ManagerWithoutAnyAddress, IsUnavailable) {
  EXPECT_EQ(Manager({}).allowed_cpus(kSlice).error().code, Errc::kUnavailable);
}

}  // namespace
}  // namespace pinion::systemd
