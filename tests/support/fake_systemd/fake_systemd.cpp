#include "tests/support/fake_systemd/fake_systemd.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-bus.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <vector>

#include "agent/systemd/cpu_bytes.h"

namespace pinion::test_support {
namespace {

using topology::CpuSet;

constexpr const char* kUnits = "/org/freedesktop/systemd1/unit";
constexpr const char* kNoSuchUnit = "org.freedesktop.systemd1.NoSuchUnit";

void must(int code, const char* what) {
  if (code >= 0) return;
  std::fprintf(stderr, "fake systemd: %s: %s\n", what, std::strerror(-code));
  std::abort();
}

// systemd sends whole words of 64 bits.
std::vector<std::uint8_t> sent_bytes(const CpuSet& cpus) {
  auto bytes = systemd::to_cpu_bytes(cpus);
  bytes.resize((bytes.size() + 7) / 8 * 8);
  return bytes;
}

std::string unit_at(const char* path) {
  char* unit = nullptr;
  must(sd_bus_path_decode(path, kUnits, &unit), "read a path");
  const std::string name = unit == nullptr ? "" : unit;
  std::free(unit);
  return name;
}

int no_such_unit(sd_bus_message* call, const char* name) {
  return sd_bus_reply_method_errorf(call, kNoSuchUnit, "Unit %s not loaded.", name);
}

}  // namespace

FakeSystemd::FakeSystemd(const std::string& address) : stop_(eventfd(0, EFD_CLOEXEC)) {
  must(sd_bus_new(&bus_), "make a connection");
  must(sd_bus_set_address(bus_, address.c_str()), "take the address");
  must(sd_bus_set_bus_client(bus_, 1), "be a client");
  must(sd_bus_start(bus_), "connect");
  must(sd_bus_request_name(bus_, "org.freedesktop.systemd1", 0), "take the name");
  thread_ = std::thread([this] { serve(bus_); });
}

FakeSystemd::FakeSystemd(const std::filesystem::path& socket)
    : stop_(eventfd(0, EFD_CLOEXEC)),
      listening_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  sockaddr_un name{.sun_family = AF_UNIX, .sun_path = {}};
  socket.string().copy(name.sun_path, sizeof name.sun_path - 1);
  const auto* address = reinterpret_cast<const sockaddr*>(&name);
  if (bind(listening_.get(), address, sizeof name) != 0 || listen(listening_.get(), 4) != 0) {
    must(-errno, "listen");
  }
  thread_ = std::thread([this] { serve_all(); });
}

FakeSystemd::~FakeSystemd() {
  let_go();
  const std::uint64_t one = 1;
  if (::write(stop_.get(), &one, sizeof one) != sizeof one) std::abort();
  thread_.join();
  sd_bus_close_unref(bus_);
}

void FakeSystemd::set(const std::string& slice, const CpuSet& allowed,
                      const std::filesystem::path& group) {
  const std::lock_guard lock(mutex_);
  slices_[slice] = {.allowed = allowed, .group = group};
  write(slices_[slice]);
}

void FakeSystemd::start_below(const std::string& slice) {
  const std::lock_guard lock(mutex_);
  write(slices_.at(slice));
}

CpuSet FakeSystemd::allowed(const std::string& slice) {
  const std::lock_guard lock(mutex_);
  return slices_.at(slice).allowed;
}

void FakeSystemd::refuse(const std::string& error) {
  const std::lock_guard lock(mutex_);
  refusal_ = error;
}

void FakeSystemd::write(const Slice& slice) const {
  if (!writes_ || slice.group.empty() || slice.allowed.empty()) return;
  std::ofstream(slice.group / "cpuset.cpus") << slice.allowed.to_string() << "\n";
}

bool FakeSystemd::wait_for(int fd, int events) const {
  while (true) {
    std::array<pollfd, 2> fds = {{{.fd = stop_.get(), .events = POLLIN, .revents = 0},
                                  {.fd = fd, .events = static_cast<short>(events), .revents = 0}}};
    const int ready = poll(fds.data(), fds.size(), -1);
    if (ready < 0 && errno == EINTR) continue;
    return ready > 0 && fds[0].revents == 0;
  }
}

void FakeSystemd::serve(sd_bus* bus) {
  const auto filter = [](sd_bus_message* message, void* self, sd_bus_error* /*error*/) {
    return static_cast<FakeSystemd*>(self)->answer(message);
  };
  must(sd_bus_add_filter(bus, nullptr, filter, this), "listen");
  while (true) {
    const int done = sd_bus_process(bus, nullptr);
    if (done < 0) return;
    if (done == 0 && !wait_for(sd_bus_get_fd(bus), sd_bus_get_events(bus))) return;
  }
}

void FakeSystemd::serve_all() {
  while (wait_for(listening_.get(), POLLIN)) {
    Fd peer(accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!peer.valid()) continue;
    sd_bus* bus = nullptr;
    sd_id128_t id{};
    must(sd_id128_randomize(&id), "make an id");
    must(sd_bus_new(&bus), "make a connection");
    must(sd_bus_set_fd(bus, peer.get(), peer.get()), "take the connection");
    (void)peer.release();  // owned by `bus` from here on
    must(sd_bus_set_server(bus, 1, id), "be the server");
    must(sd_bus_start(bus), "begin");
    serve(bus);
    sd_bus_close_unref(bus);
  }
}

// Positive: it was a call and is done with.
int FakeSystemd::answer(sd_bus_message* call) {
  if (sd_bus_message_is_method_call(call, nullptr, nullptr) <= 0) return 0;
  ++calls_;
  if (silent_) return 1;
  held_.wait(true);
  const std::lock_guard lock(mutex_);
  if (!refusal_.empty()) {
    return sd_bus_reply_method_errorf(call, refusal_.c_str(), "the test says no");
  }
  constexpr const char* kManager = "org.freedesktop.systemd1.Manager";
  if (sd_bus_message_is_method_call(call, kManager, "GetUnit") > 0) return get_unit(call);
  if (sd_bus_message_is_method_call(call, kManager, "SetUnitProperties") > 0) {
    return set_properties(call);
  }
  if (sd_bus_message_is_method_call(call, "org.freedesktop.DBus.Properties", "Get") > 0) {
    return get_property(call);
  }
  return 0;
}

int FakeSystemd::get_unit(sd_bus_message* call) {
  const char* name = nullptr;
  must(sd_bus_message_read(call, "s", &name), "read GetUnit");
  if (!slices_.contains(name)) return no_such_unit(call, name);
  char* path = nullptr;
  must(sd_bus_path_encode(kUnits, name, &path), "make a path");
  const int done = sd_bus_reply_method_return(call, "o", path);
  std::free(path);
  return done;
}

int FakeSystemd::get_property(sd_bus_message* call) {
  const char* interface = nullptr;
  const char* property = nullptr;
  must(sd_bus_message_read(call, "ss", &interface, &property), "read Get");
  if (std::strcmp(interface, "org.freedesktop.systemd1.Slice") != 0 ||
      std::strcmp(property, "AllowedCPUs") != 0) {
    return sd_bus_reply_method_errorf(call, SD_BUS_ERROR_UNKNOWN_PROPERTY, "%s", property);
  }
  const auto bytes = sent_bytes(slices_.at(unit_at(sd_bus_message_get_path(call))).allowed);
  sd_bus_message* reply = nullptr;
  must(sd_bus_message_new_method_return(call, &reply), "answer");
  must(sd_bus_message_open_container(reply, 'v', "ay"), "answer");
  must(sd_bus_message_append_array(reply, 'y', bytes.data(), bytes.size()), "answer");
  must(sd_bus_message_close_container(reply), "answer");
  const int done = sd_bus_send(nullptr, reply, nullptr);
  sd_bus_message_unref(reply);
  return done;
}

int FakeSystemd::set_properties(sd_bus_message* call) {
  const char* name = nullptr;
  const char* property = nullptr;
  int runtime = 0;
  const void* bytes = nullptr;
  std::size_t size = 0;
  must(sd_bus_message_read(call, "sb", &name, &runtime), "read SetUnitProperties");
  must(sd_bus_message_enter_container(call, 'a', "(sv)"), "read properties");
  must(sd_bus_message_enter_container(call, 'r', "sv"), "read a property");
  must(sd_bus_message_read(call, "s", &property), "read its name");
  must(sd_bus_message_enter_container(call, 'v', "ay"), "read its value");
  must(sd_bus_message_read_array(call, 'y', &bytes, &size), "read bytes");
  const auto cpus = systemd::parse_cpu_bytes({static_cast<const std::uint8_t*>(bytes), size});
  const auto slice = slices_.find(name);
  if (slice == slices_.end()) return no_such_unit(call, name);
  if (runtime == 0 || std::strcmp(property, "AllowedCPUs") != 0 || !cpus) {
    return sd_bus_reply_method_errorf(call, SD_BUS_ERROR_INVALID_ARGS, "not for this fake");
  }
  slice->second.allowed = *cpus;
  write(slice->second);
  ++sets_;
  return sd_bus_reply_method_return(call, "");
}

}  // namespace pinion::test_support
