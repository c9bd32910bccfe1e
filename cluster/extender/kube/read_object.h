// Private to the folder: an object within a list or a line of a watch, with simdjson.
#pragma once

#include "cluster/extender/kube/object.h"
#include "cluster/extender/wire/json.h"

namespace pinion::kube {

// Where the object ends, and its metadata; nothing else of it is read. The views are valid as long
// as the document. Unlike in kube-scheduler's bodies upper and lower case differ: an object of a
// CRD may have any fields beside its metadata. Errors: kInvalid for no object, or a name that is no
// text.
Status read_object(RawObject& to, cluster::wire::ondemand::value& value,
                   const cluster::wire::Where& at);

}  // namespace pinion::kube
