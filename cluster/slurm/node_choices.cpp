#include "cluster/slurm/node_choices.h"

#include <algorithm>

namespace pinion::slurm {
namespace {

constexpr std::uint64_t kMostChoices = 100;
constexpr std::uint64_t kMostOfUser = kMostChoices / 4;

// The same in all versions of the program: the next one must know it again. FNV-1a.
std::string short_for(const std::vector<std::string>& names) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const std::string& name : names) {
    for (const char c : name + ",") {
      hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    }
  }
  return std::to_string(hash);
}

}  // namespace

NodeChoices::Wanted NodeChoices::wanted_of(const Job& job, const std::string& partition) {
  return {partition, job.constraint, job.excluded};
}

// The same for all jobs that want the same.
const NodeChoices::Chosen& NodeChoices::chosen_in(const Job& job, const std::string& partition) {
  std::shared_ptr<const Chosen>& chosen = choices_[wanted_of(job, partition)];
  if (chosen == nullptr) {
    Choice choice = choose_nodes(job, partition, nodes_);
    std::string list = short_for(choice.nodes);
    chosen = std::make_shared<const Chosen>(
        Chosen{.partition = partition, .choice = std::move(choice), .list = std::move(list)});
  }
  return *chosen;
}

const NodeChoices::Chosen& NodeChoices::choose(const Job& job,
                                               const std::vector<std::string>& partitions,
                                               const Shape& shape) {
  const Chosen* most = &chosen_in(job, partitions.front());
  for (const std::string& partition : partitions) {
    const Chosen& chosen = chosen_in(job, partition);
    if (enough(shape, chosen.choice)) return chosen;
    if (chosen.choice.nodes.size() > most->choice.nodes.size()) most = &chosen;
  }
  return *most;
}

bool NodeChoices::may_choose(const Job& job, const std::vector<std::string>& partitions, int of) {
  const auto missing = static_cast<std::uint64_t>(std::count_if(
      partitions.begin(), partitions.end(),
      [&](const std::string& partition) { return !choices_.contains(wanted_of(job, partition)); }));
  if (missing == 0) return true;
  std::uint64_t& of_user = chosen_of_[job.user];
  if (chosen_ < kMostChoices && of_user < kMostOfUser) {
    chosen_ += missing;
    of_user += missing;
    return true;
  }
  const std::uint64_t groups = static_cast<std::uint64_t>(of) / kMostChoices + 1;
  const std::uint64_t drawn = (static_cast<std::uint64_t>(now_s_) * 0x9e3779b97f4a7c15U) >> 32U;
  const bool its = left_++ / kMostChoices == drawn % groups;
  if (its) drawn_ += missing;
  return its && drawn_ <= kMostChoices;
}

std::shared_ptr<const std::vector<std::string>> NodeChoices::nodes_for(
    const Job& job, const std::string& partition) const {
  const auto& chosen = choices_.at(wanted_of(job, partition));
  return {chosen, &chosen->choice.nodes};
}

bool enough(const Shape& shape, const Choice& choice) {
  return choice.nodes.size() >= static_cast<std::size_t>(shape.nodes);
}

std::string why_too_few(const Shape& shape, const Choice& choice) {
  if (enough(shape, choice)) return "";
  std::string why = "waits: needs " + std::to_string(shape.nodes) + " nodes, Slurm has " +
                    std::to_string(choice.nodes.size()) + " for it";
  if (!choice.others.empty()) why.append(": ").append(choice.others);
  return why;
}

}  // namespace pinion::slurm
