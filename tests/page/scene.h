// A node as the page is given it: a machine, containers put on it by the real allocator, and
// figures that move with every answer. Its JSON is what protobuf writes for pinion.v1.Snapshot:
// snake_case names, 64-bit integers as strings, nothing that is unset.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "topology/allocate.h"

namespace pinion::page_test {

struct Names {
  std::string name_space;
  std::string pod;
  std::string container;
};

class Scene {
 public:
  Scene(topology::Topology machine, const topology::CpuSet& reserved);

  // Places an exclusive container; a refusal goes to the list of refusals. request.id is set here.
  void place(const Names& names, topology::Request request);
  void share(const Names& names);
  void trouble(const std::string& text);  // of the container added last
  void finish();                          // the container added last is gone
  void refuse(const Names& names, const std::string& reason, const std::string& text);
  // An event that this machine does not count; all others are counted.
  void not_counted(const std::string& event, const std::string& availability,
                   const std::string& detail);

  // The answer number `tick`, one second after the one before.
  [[nodiscard]] nlohmann::json snapshot(int tick) const;

  [[nodiscard]] const topology::Topology& machine() const { return machine_; }
  // The CPUs held by live containers, with the container's id.
  [[nodiscard]] std::map<int, std::string> holders() const;
  [[nodiscard]] std::size_t size() const { return containers_.size(); }

 private:
  struct Container {
    Names names;
    std::string id;
    topology::Request request;
    topology::Decision decision;  // of an exclusive one
    bool exclusive = false;
    bool finished = false;
    std::string trouble;
  };

  [[nodiscard]] std::string next_id() const;
  [[nodiscard]] bool counted(const std::string& event) const;
  [[nodiscard]] nlohmann::json machine_json() const;
  [[nodiscard]] nlohmann::json node_json(int tick) const;
  [[nodiscard]] nlohmann::json container_json(const Container& container, std::size_t at,
                                              int tick) const;
  [[nodiscard]] nlohmann::json rates_json(const Container& container, std::size_t at,
                                          int tick) const;
  [[nodiscard]] nlohmann::json figures_json(const Container& container, std::size_t at,
                                            int tick) const;

  topology::Topology machine_;
  topology::Ledger ledger_;
  std::vector<Container> containers_;
  nlohmann::json refusals_ = nlohmann::json::array();
  std::map<std::string, std::pair<std::string, std::string>> missing_;
};

// The scenes that the tests and the screenshots show.
Scene two_cpus();  // one rank and shared containers; no hardware events
Scene big();       // 256 CPUs, 8 NUMA nodes, 32 L3s; 40 containers
Scene hostile();   // names that would like to be markup
Scene mixed();     // hyper-threads kept idle, isolated and offline CPUs, memory-only nodes

}  // namespace pinion::page_test
