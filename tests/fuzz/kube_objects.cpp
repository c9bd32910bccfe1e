// Objects of the API server other than pods: any JSON is a Lease, a PodGroup, a Status and a list,
// with whatever it lacks taken for absent.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "cluster/extender/kube/answer.h"
#include "cluster/extender/kube/json_read.h"
#include "cluster/extender/kube/known_objects.h"
#include "cluster/extender/kube/lease_object.h"
#include "cluster/extender/kube/object.h"
#include "cluster/extender/pods/pod_group.h"
#include "cluster/extender/scheduling/demand.h"
#include "tests/fuzz/target.h"

namespace pinion::fuzz::kube_objects {
namespace {

using nlohmann::json;
using pinion::kube::KnownObjects;

// What is read is written such that the same is read again, and who reads it comes to a decision.
void as_lease(const json& object) {
  using pinion::kube::Election;
  const auto record = pinion::kube::lease_record(object);
  if (pinion::kube::lease_record(lease_object({"ns", "name"}, record)) != record) std::abort();
  const Election::TimePoint start{};
  Election election("us", {});
  election.observe(record, start);
  const auto action =
      election.decide(start + std::max(record.duration, pinion::kube::LeaseTiming{}.duration));
  if (action == Election::Action::kWait) std::abort();  // its time is over
  if (election.proposal(action, "now").holder != "us") std::abort();
}

void as_status(const json& object, const std::string& text) {
  // One of them for each input: the text is parsed again each time.
  constexpr std::array kStatuses = {-1, 0, 200, 404, 409, 410, 500};
  const auto error = pinion::kube::error_of(kStatuses[text.size() % kStatuses.size()], text);
  // A reason is not cut.
  if (error.text.empty() || error.text.size() > text.size() + 100) std::abort();
  if (pinion::kube::error_of(object).text.empty()) std::abort();
}

// Everything on the page is seen once and gone when the next list is without it.
void as_list(const std::string& text) {
  const auto page = pinion::kube::read_list_page(text);
  if (!page) {
    if (page.error().text.empty()) std::abort();
    return;
  }
  KnownObjects known;
  known.begin_list();
  for (const pinion::kube::RawObject& item : page->items) {
    if (!item.json.starts_with('{') || !item.json.ends_with('}')) std::abort();
    known.seen(item);
    if (!item.version.empty() && known.seen(item).change) std::abort();  // nothing new
  }
  if (!known.end_list().empty() || known.size() > page->items.size()) std::abort();
  known.begin_list();
  const std::size_t all = known.size();
  if (known.end_list().size() != all || known.size() != 0) std::abort();
}

}  // namespace

PINION_FUZZ_TARGET(kube_objects) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
  as_status(object, text);
  as_list(text);
  if (object.is_discarded()) return 0;
  as_lease(object);
  using pinion::cluster::PodGroupApi;
  for (const PodGroupApi api : {PodGroupApi::kSigs, PodGroupApi::kNative}) {
    const auto group = pinion::cluster::pod_group_of(api, object);
    if (group.key.find('/') == std::string::npos) std::abort();
  }
  return 0;
}

}  // namespace pinion::fuzz::kube_objects
