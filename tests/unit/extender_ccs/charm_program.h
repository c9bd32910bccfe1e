// What stands for an elastic Charm++ program: a CCS server on a port of 127.0.0.1 that keeps to the
// wire, and misbehaves on request.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "cluster/extender/ccs/client.h"

namespace pinion::test_support {

struct CharmManners {
  int looks_before_step = 0;      // so many ccs_getinfo until it acts on a request
  int looks_while_restart = 0;    // so many connections are closed at once after that
  int looks_until_it_dies = 0;    // so many are answered after that, and no more; 0: it lives on
  bool acts = true;               // false: it answers, and never changes
  bool answers = true;            // false: connections stay open and silent
  bool answers_at_step = false;   // a request, and not at once
  int ends_with = 0;              // PEs that it restarts with instead of those wanted; 0: as wanted
  const char* garbage = nullptr;  // sent instead of each answer
};

class CharmProgram {
 public:
  explicit CharmProgram(int pes, const CharmManners& manners = {});
  CharmProgram(const CharmProgram&) = delete;
  CharmProgram& operator=(const CharmProgram&) = delete;
  ~CharmProgram();

  [[nodiscard]] cluster::ccs::Address address() const {
    return {.host = "127.0.0.1", .port = port_};
  }
  // From now on; at first it does both. While it may not answer, connections stay open and silent;
  // while it may not act, it keeps what it is asked for its next step.
  void may_answer(bool may) { may_answer_ = may; }
  void may_act(bool may) { may_act_ = may; }
  // The data of each set_bitmap.
  [[nodiscard]] std::vector<std::string> asked() const;
  [[nodiscard]] int pes() const { return pes_; }
  // How often it was asked for that, and has answered.
  [[nodiscard]] int looks() const { return answered_; }
  // With answers_at_step: whoever had sent the request was still there.
  [[nodiscard]] bool found_asker() const { return found_asker_; }

 private:
  void run();
  void serve(Fd from);
  void act();

  const CharmManners manners_;
  std::atomic<int> pes_;
  std::atomic<bool> found_asker_ = false;
  std::atomic<int> answered_ = 0;
  std::atomic<bool> may_answer_ = true;
  std::atomic<bool> may_act_ = true;
  int wanted_ = 0;  // 0: nothing is asked
  int looks_ = 0;   // since it was asked
  int restart_ = 0;
  int rest_of_life_ = -1;  // looks; -1: endless
  std::vector<Fd> silent_;
  Fd asker_;
  mutable std::mutex mutex_;
  std::vector<std::string> asked_;
  Fd listener_;
  Fd stop_;
  int port_ = 0;
  std::thread thread_;
};

}  // namespace pinion::test_support
