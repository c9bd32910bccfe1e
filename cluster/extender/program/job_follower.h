// Looks at the job objects of gangs that the webhook has cut, whenever their pods come or go, and
// while some of their pods are still to come: how many workers a job has now, which is not what its
// pods' template said when it was made, and may change without any pod that comes or goes; and its
// hostfile, a ConfigMap that is made when the first pod is there, as the job has no uid before, and
// that follows its size, as its PodGroup does where it has one. Besides, of which MPIJob a launcher
// is, that its operator owns through a batch Job: the pod is told (annotation::kOwnerUid), so that
// everybody can read it there.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "base/log/log.h"
#include "cluster/extender/jobs/job_object.h"
#include "cluster/extender/kube/api.h"
#include "cluster/extender/kube/cancel.h"
#include "cluster/extender/program/keyed_queue.h"
#include "cluster/extender/program/owned_object.h"
#include "cluster/extender/wire/pod.h"

namespace pinion::cluster {

class JobFollower {
 public:
  // Called on a thread of our own.
  struct Asks {
    // Before each look and change: nothing is read or made while another replica leads.
    std::function<bool()> may_act;
    // A gang (gang_of()) has so many members now.
    std::function<void(const std::string& gang, int members)> sized;
    // Whether all of a gang have started that start together; of gang_of_group().
    std::function<bool(const std::string& gang)> started;
    // Whether some members of a gang do not exist yet; of the same, or of gang_of().
    std::function<bool(const std::string& gang)> lacks_members;
  };

  // What is passed must outlive it. `first_pause`: before what failed is tried again, or a gang
  // that lacks members is looked at again; doubled each time, up to 20 s.
  JobFollower(kube::Api& api, Log& log, Asks asks,
              std::chrono::milliseconds first_pause = std::chrono::seconds(1));
  JobFollower(const JobFollower&) = delete;
  JobFollower& operator=(const JobFollower&) = delete;
  ~JobFollower();

  // A pod has come, or is gone. Only notes what is to be done.
  void changed(const wire::PodSpecView& pod);

 private:
  struct Job {
    std::string name_space;
    std::string path;  // of the job, on the API server
    std::string gang;
    std::string group{};           // the PodGroup that its pods are of; empty: none
    std::string priority_class{};  // of those pods
    // Of a pod whose job this one's owner is: its name and uid, and the uid of this one.
    std::string pod{};
    std::string pod_uid{};
    std::string uid{};

    auto operator<=>(const Job&) const = default;  // NOLINT(modernize-use-nullptr)
  };

  Worked follow(const Job& job);
  // Errors: as kube/api.h, or of the job; kUnavailable while the ConfigMap of a job of the same
  // name that is gone has not been collected.
  Status look_at(const Job& job);
  // As `Asks` name it.
  static std::string gang_called(const Job& job);
  // Errors: kUnavailable whatever is wrong, as the job's pods wait for their group.
  Status keep_group(const Job& job, const nlohmann::json& object, const jobs::CutJob& cut);
  // What goes with the job; `what`: for the log.
  Status keep(const Job& job, const OwnedObject& owned, const char* what);
  Status tell_owner(const Job& job);

  kube::Api& api_;
  Log& log_;
  const Asks asks_;
  kube::Cancel cancel_;
  KeyedQueue<Job, std::string> queue_;  // the namespace; last: it uses all above
};

}  // namespace pinion::cluster
