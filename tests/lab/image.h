// The one image of the lab, made without a registry or docker: busybox, its sh, and the pause
// program, as an OCI layout in a tar file that "ctr images import" reads.
#pragma once

#include <string>

#include "base/error.h"

namespace pinion::lab {

// Writes `tar`; scratch files go below `work`, which must exist. Errors: as of the files, tar and
// sha256sum.
Status make_image(const std::string& busybox, const std::string& pause, const std::string& work,
                  const std::string& tar);

}  // namespace pinion::lab
