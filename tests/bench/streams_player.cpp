#include "tests/bench/streams_player.h"

#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include "agent/api/watchers.h"
#include "proto/pinion/v1/node.grpc.pb.h"
#include "tests/unit/api/samples.h"

namespace pinion::bench {
namespace {

std::string padded(std::size_t width, int number) {
  std::string text = std::to_string(number);
  return std::string(width - text.size(), '0') + text;
}

// 128 CPUs; no two kinds have as much memory.
topology::Topology machine_of(int kind) {
  return test_support::machine(
      {.packages = 2,
       .l3s_per_node = 8,
       .cores_per_l3 = 8,
       .memory_per_node =
           (1 << 18) * test_support::kMiB + static_cast<unsigned>(kind) * test_support::kMiB});
}

// What all agents of one kind say.
class Kind {
 public:
  Kind(const PlayedAgents& load, int number)
      : view_(agent::api::empty_view(machine_of(number))),
        watchers_(pictures_, views_, samples_,
                  {.times = {}, .most = static_cast<std::size_t>(load.agents)}, figures_) {
    for (int i = number * load.containers; i < (number + 1) * load.containers; ++i) {
      ids_.push_back(padded(64, i));
      full_ = full_ || !agent::api::place(view_, agent::api::request(ids_.back(), 8));
    }
    for (agent::ContainerView& container : view_.containers) {
      container.pod_uid = "1e70bd56-ea79-4ce5-b63e-" + container.id.substr(52);
    }
    change();
  }

  // Not all containers fit.
  [[nodiscard]] bool full() const { return full_; }
  agent::api::Watchers& watchers() { return watchers_; }

  void change() {
    ++view_.generation;
    views_.publish(std::make_shared<const agent::NodeView>(view_));
  }
  void measure(std::uint64_t pass) {
    std::vector<metrics::ContainerFigures> figures;
    for (const std::string& id : ids_) {
      figures.push_back(agent::api::figures(id));
      figures.back().rates.l3_misses_per_second = 1e6 * static_cast<double>(pass);
    }
    samples_.publish(
        std::make_shared<const metrics::Sample>(agent::api::sample(pass, std::move(figures))));
  }

 private:
  agent::NodeView view_;
  std::vector<std::string> ids_;  // of the containers
  bool full_ = false;
  agent::Published<agent::NodeView> views_;
  agent::Published<metrics::Sample> samples_;
  agent::api::ApiFigures figures_;
  agent::api::Pictures pictures_{{"node", "1", "instance"}, views_, samples_};
  agent::api::Watchers watchers_;
};

using Kinds = std::vector<std::unique_ptr<Kind>>;

// Of the streams, each is another kind's than the one before.
class Service final : public v1::Node::CallbackService {
 public:
  explicit Service(Kinds& kinds) : kinds_(kinds) {}

  grpc::ServerWriteReactor<v1::WatchNodeResponse>* WatchNode(
      grpc::CallbackServerContext* context, const v1::WatchNodeRequest* request) override {
    return kinds_[next_++ % kinds_.size()]->watchers().watch(*context, *request);
  }

 private:
  Kinds& kinds_;
  std::atomic<std::size_t> next_ = 0;
};

}  // namespace

bool play_agents(const std::string& socket, const PlayedAgents& load, int orders) {
  Kinds kinds;
  for (int i = 0; i < load.kinds; ++i) {
    kinds.push_back(std::make_unique<Kind>(load, i));
    if (kinds.back()->full()) {
      std::fprintf(stderr, "so many containers do not fit\n");
      return false;
    }
  }
  Service service(kinds);
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + socket, grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  if (!server || write(orders, "s", 1) != 1) return false;
  std::thread changes([&] {
    for (char order = 0; read(orders, &order, 1) == 1;) {
      for (const auto& kind : kinds) kind->change();
    }
  });
  for (std::uint64_t pass = 1;; ++pass) {
    for (const auto& kind : kinds) kind->measure(pass);
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
}

}  // namespace pinion::bench
