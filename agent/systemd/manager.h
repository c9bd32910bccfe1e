// A client of systemd's manager on D-Bus: the property AllowedCPUs of slices. libsystemd is used in
// this folder alone.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "topology/cpuset.h"

struct sd_bus;
struct sd_bus_message;

namespace pinion::systemd {

struct Address {
  std::string text;         // as D-Bus writes it, "unix:path=/run/dbus/system_bus_socket"
  bool through_bus = true;  // false: the manager itself listens there
};

// Where the manager of the machine below `host_root` can be reached: on its system bus, for "/" the
// one that DBUS_SYSTEM_BUS_ADDRESS names if that is set, then on its private socket, which is for
// root alone and needs no bus.
[[nodiscard]] std::vector<Address> manager_addresses(const std::string& host_root);

struct Timing {
  // For one call with all that it needs, a new connection too. The agent's end waits for the one
  // that is under way.
  std::chrono::milliseconds limit{250};
  // After a time-out every call fails at once for so long: one that hangs costs one limit.
  std::chrono::milliseconds pause{5000};
};

// Connects when first needed, and anew when the connection is lost. For one thread.
class Manager {
 public:
  explicit Manager(std::vector<Address> addresses, Timing timing = {});
  Manager(Manager&&) noexcept;
  Manager& operator=(Manager&&) noexcept;
  ~Manager();

  // The CPUs that the slice's unit has by AllowedCPUs; empty where that is not set. Errors:
  // kNotFound (no such unit), kDenied, kInvalid (an answer that makes no sense), kUnavailable (not
  // reached, no answer in time).
  [[nodiscard]] Result<topology::CpuSet> allowed_cpus(const std::string& slice);

  // Sets it until the next boot, also over a reload of systemd; systemd has written the group's
  // file when this returns. Precondition: `cpus` is not empty. Errors: as above.
  [[nodiscard]] Status set_allowed_cpus(const std::string& slice, const topology::CpuSet& cpus);

 private:
  using Clock = std::chrono::steady_clock;
  struct CloseBus {
    void operator()(sd_bus* bus) const;
  };
  struct UnrefMessage {
    void operator()(sd_bus_message* message) const;
  };
  using Bus = std::unique_ptr<sd_bus, CloseBus>;
  using Message = std::unique_ptr<sd_bus_message, UnrefMessage>;

  [[nodiscard]] Status connect(Clock::time_point deadline);
  [[nodiscard]] Result<Message> call(const Message& request, Clock::time_point deadline);
  [[nodiscard]] Result<Message> new_call(const char* path, const char* interface,
                                         const char* member) const;
  [[nodiscard]] Result<std::string> path_of(const std::string& slice, Clock::time_point deadline);
  [[nodiscard]] tl::unexpected<Error> no_answer() const;
  [[nodiscard]] tl::unexpected<Error> timed_out();

  std::vector<Address> addresses_;
  Timing timing_;
  Bus bus_;
  Clock::time_point not_before_;
};

}  // namespace pinion::systemd
