#include "agent/systemd/manager.h"

#include <systemd/sd-bus.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "agent/systemd/cpu_bytes.h"

namespace pinion::systemd {
namespace {

using topology::CpuSet;
using Clock = std::chrono::steady_clock;
using Micros = std::chrono::microseconds;

constexpr const char* kService = "org.freedesktop.systemd1";
constexpr const char* kManagerPath = "/org/freedesktop/systemd1";
constexpr const char* kManager = "org.freedesktop.systemd1.Manager";
constexpr const char* kSlice = "org.freedesktop.systemd1.Slice";
constexpr const char* kProperties = "org.freedesktop.DBus.Properties";
constexpr const char* kAllowedCpus = "AllowedCPUs";

// What a bus tells unasked, after the connection was made, is a message or two.
constexpr int kMostUnasked = 64;

struct BusError {
  BusError() = default;
  BusError(const BusError&) = delete;
  BusError& operator=(const BusError&) = delete;
  ~BusError() { sd_bus_error_free(&value); }

  sd_bus_error value{};
};

// sd-bus takes 0 for its own limit of 25 s.
std::uint64_t left_until(Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<Micros>(deadline - Clock::now()).count();
  return static_cast<std::uint64_t>(std::max<Micros::rep>(left, 1));
}

// In a D-Bus address everything but letters, digits and these stands as %XX.
constexpr std::string_view kPlain = "-_/.\\*";
constexpr std::string_view kDigits = "0123456789abcdef";

std::string escaped(std::string_view path) {
  std::string text;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       kPlain.find(c) != std::string_view::npos;
    if (plain) {
      text += c;
    } else {
      text.append(1, '%').append(1, kDigits[byte >> 4U]).append(1, kDigits[byte & 0xfU]);
    }
  }
  return text;
}

// Until the bus has let us in: sd_bus_call() would wait for that by a limit of its own, 90 s.
// Returns as sd-bus does: negative is an errno.
int wait_until_ready(sd_bus* bus, Clock::time_point deadline) {
  while (true) {
    const int ready = sd_bus_is_ready(bus);
    if (ready != 0) return ready;
    if (Clock::now() >= deadline) return -ETIMEDOUT;
    const int done = sd_bus_process(bus, nullptr);
    if (done < 0) return done;
    if (done > 0) continue;
    const int waited = sd_bus_wait(bus, left_until(deadline));
    if (waited < 0 && waited != -EINTR) return waited;
  }
}

// Takes in what has come unasked, an end of the connection too. False: it is at its end.
bool still_open(sd_bus* bus) {
  for (int taken = 0; taken < kMostUnasked; ++taken) {
    const int done = sd_bus_process(bus, nullptr);
    if (done < 0) return false;
    if (done == 0) break;
  }
  return sd_bus_is_open(bus) > 0;
}

tl::unexpected<Error> refusal(const sd_bus_error& error, int code) {
  const std::string_view name = error.name == nullptr ? "" : error.name;
  Errc meaning = Errc::kUnavailable;
  // Before version 244 slices have no such property.
  if (name == "org.freedesktop.systemd1.NoSuchUnit" || name == SD_BUS_ERROR_UNKNOWN_PROPERTY) {
    meaning = Errc::kNotFound;
  }
  if (code == -EACCES || code == -EPERM) meaning = Errc::kDenied;
  std::string text = error.message == nullptr ? std::strerror(-code) : error.message;
  if (!name.empty()) text += " (" + std::string(name) + ")";
  return failure(meaning, std::move(text));
}

// sd_bus_message_append() and its like fail for want of memory or a mistake of ours.
Status built(int code) {
  return code < 0 ? Status(sys_failure("make a D-Bus message", -code)) : Status();
}

int append_allowed_cpus(sd_bus_message* message, const std::string& slice, const CpuSet& cpus) {
  const auto bytes = to_cpu_bytes(cpus);
  int done = sd_bus_message_append(message, "sb", slice.c_str(), 1);
  if (done >= 0) done = sd_bus_message_open_container(message, 'a', "(sv)");
  if (done >= 0) done = sd_bus_message_open_container(message, 'r', "sv");
  if (done >= 0) done = sd_bus_message_append(message, "s", kAllowedCpus);
  if (done >= 0) done = sd_bus_message_open_container(message, 'v', "ay");
  if (done >= 0) done = sd_bus_message_append_array(message, 'y', bytes.data(), bytes.size());
  for (int open = 0; open < 3 && done >= 0; ++open) done = sd_bus_message_close_container(message);
  return done;
}

Result<CpuSet> read_allowed_cpus(sd_bus_message* reply) {
  const void* bytes = nullptr;
  std::size_t size = 0;
  int done = sd_bus_message_enter_container(reply, 'v', "ay");
  if (done >= 0) done = sd_bus_message_read_array(reply, 'y', &bytes, &size);
  if (done < 0) return failure(Errc::kInvalid, "the answer is not an array of bytes");
  return parse_cpu_bytes({static_cast<const std::uint8_t*>(bytes), size});
}

}  // namespace

std::vector<Address> manager_addresses(const std::string& host_root) {
  const std::string root = escaped(host_root == "/" ? "" : host_root);
  const char* named = host_root == "/" ? std::getenv("DBUS_SYSTEM_BUS_ADDRESS") : nullptr;
  return {{.text = named != nullptr ? named : "unix:path=" + root + "/run/dbus/system_bus_socket"},
          {.text = "unix:path=" + root + "/run/systemd/private", .through_bus = false}};
}

void Manager::CloseBus::operator()(sd_bus* bus) const {
  sd_bus_close_unref(bus);  // without a flush, which could wait
}

void Manager::UnrefMessage::operator()(sd_bus_message* message) const {
  sd_bus_message_unref(message);
}

Manager::Manager(std::vector<Address> addresses, Timing timing)
    : addresses_(std::move(addresses)), timing_(timing) {}
Manager::Manager(Manager&&) noexcept = default;
Manager& Manager::operator=(Manager&&) noexcept = default;
Manager::~Manager() = default;

tl::unexpected<Error> Manager::no_answer() const {
  return failure(Errc::kUnavailable,
                 "no answer within " + std::to_string(timing_.limit.count()) + " ms");
}

tl::unexpected<Error> Manager::timed_out() {
  bus_.reset();
  not_before_ = Clock::now() + timing_.pause;
  return no_answer();
}

Status Manager::connect(Clock::time_point deadline) {
  if (Clock::now() < not_before_) return no_answer();
  if (bus_ && still_open(bus_.get())) return {};
  bus_.reset();
  std::string why = "no address";
  for (const Address& address : addresses_) {
    sd_bus* made = nullptr;
    int done = sd_bus_new(&made);
    Bus bus(made);
    if (done >= 0) done = sd_bus_set_address(made, address.text.c_str());
    if (done >= 0) done = sd_bus_set_bus_client(made, address.through_bus ? 1 : 0);
    if (done >= 0) done = sd_bus_start(made);
    if (done >= 0) done = wait_until_ready(made, deadline);
    if (done >= 0) {
      bus_ = std::move(bus);
      return {};
    }
    if (done == -ETIMEDOUT) return timed_out();
    why = sys_failure("connect to " + address.text, -done).value().text;
  }
  return failure(Errc::kUnavailable, why);
}

Result<Manager::Message> Manager::new_call(const char* path, const char* interface,
                                           const char* member) const {
  sd_bus_message* made = nullptr;
  const int done =
      sd_bus_message_new_method_call(bus_.get(), &made, kService, path, interface, member);
  if (done < 0) return failure(built(done).error());
  return Message(made);
}

Result<Manager::Message> Manager::call(const Message& request, Clock::time_point deadline) {
  BusError error;
  sd_bus_message* reply = nullptr;
  const int done =
      sd_bus_call(bus_.get(), request.get(), left_until(deadline), &error.value, &reply);
  if (done == -ETIMEDOUT) return timed_out();
  if (done < 0) return refusal(error.value, done);
  return Message(reply);
}

Result<std::string> Manager::path_of(const std::string& slice, Clock::time_point deadline) {
  const auto request = new_call(kManagerPath, kManager, "GetUnit");
  if (!request) return failure(request.error());
  if (auto done = built(sd_bus_message_append(request->get(), "s", slice.c_str())); !done) {
    return failure(done.error());
  }
  const auto reply = call(*request, deadline);
  if (!reply) return failure(reply.error());
  const char* path = nullptr;
  if (sd_bus_message_read(reply->get(), "o", &path) < 0) {
    return failure(Errc::kInvalid, "the answer is not an object's path");
  }
  return std::string(path);
}

Result<CpuSet> Manager::allowed_cpus(const std::string& slice) {
  const std::string what = "ask systemd for AllowedCPUs of " + slice;
  const auto deadline = Clock::now() + timing_.limit;
  if (auto connected = connect(deadline); !connected) {
    return failure(connected.error().within(what));
  }
  const auto path = path_of(slice, deadline);
  if (!path) return failure(path.error().within(what));
  const auto request = new_call(path->c_str(), kProperties, "Get");
  if (!request) return failure(request.error().within(what));
  if (auto done = built(sd_bus_message_append(request->get(), "ss", kSlice, kAllowedCpus)); !done) {
    return failure(done.error().within(what));
  }
  const auto reply = call(*request, deadline);
  if (!reply) return failure(reply.error().within(what));
  auto cpus = read_allowed_cpus(reply->get());
  if (!cpus) return failure(cpus.error().within(what));
  return cpus;
}

Status Manager::set_allowed_cpus(const std::string& slice, const CpuSet& cpus) {
  const std::string what = "have systemd set AllowedCPUs of " + slice;
  if (cpus.empty()) return failure(Errc::kInternal, what + ": an empty CPU set is never written");
  const auto deadline = Clock::now() + timing_.limit;
  if (auto connected = connect(deadline); !connected) {
    return failure(connected.error().within(what));
  }
  const auto request = new_call(kManagerPath, kManager, "SetUnitProperties");
  if (!request) return failure(request.error().within(what));
  if (auto done = built(append_allowed_cpus(request->get(), slice, cpus)); !done) {
    return failure(done.error().within(what));
  }
  const auto reply = call(*request, deadline);
  return reply ? Status() : Status(failure(reply.error().within(what)));
}

}  // namespace pinion::systemd
