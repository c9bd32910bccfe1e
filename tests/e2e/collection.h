// What a collection of the API server holds, as its watch tells, and waiting until it is as wanted.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cluster/extender/kube/watch.h"

namespace pinion::e2e {

inline constexpr std::chrono::seconds kPatience{60};  // too long for anything

class Collection : private kube::WatchHandler {
 public:
  using Objects = std::map<std::string, nlohmann::json>;  // by name

  // `api` must outlive it.
  Collection(kube::Api& api, kube::WatchOptions options);
  Collection(kube::Api& api, const std::string& path);
  Collection(const Collection&) = delete;
  Collection& operator=(const Collection&) = delete;
  ~Collection() override { watch_.stop(); }

  // As soon as the condition holds; false when it does not within `limit`.
  bool wait(const std::function<bool(const Objects&)>& condition,
            std::chrono::milliseconds limit = kPatience);
  // The same with what the watch itself has been through.
  bool wait_for_lists(std::uint64_t lists);  // complete ones
  bool wait_for_trouble(std::size_t times);
  // The object is there and as wanted.
  bool wait_for(const std::string& name,
                const std::function<bool(const nlohmann::json&)>& condition,
                std::chrono::milliseconds limit = kPatience);
  bool wait_until_gone(const std::string& name);

  [[nodiscard]] Objects now() const;
  [[nodiscard]] std::vector<std::string> trouble() const;
  [[nodiscard]] std::uint64_t lists() const;

 private:
  void on_object(kube::Change change, const nlohmann::json& object) override;
  void on_synced(std::uint64_t generation) override;
  void on_trouble(const Error& error, std::chrono::milliseconds pause) override;
  bool wait_until(const std::function<bool()>& condition, std::chrono::milliseconds limit);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Objects objects_;
  std::uint64_t lists_ = 0;
  std::vector<std::string> trouble_;
  kube::Watch watch_;  // the last: it uses all the others
};

// "" while the pod is not bound.
std::string node_of(const nlohmann::json& pod);
// Why the scheduler says that it cannot place the pod; "" when it does not.
std::string why_unscheduled(const nlohmann::json& pod);

}  // namespace pinion::e2e
