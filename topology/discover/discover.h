// Where a Topology comes from. The only folder that includes hwloc and libnuma headers, in
// discover.cpp alone.
#pragma once

#include <stop_token>
#include <string>

#include "topology/topology.h"

namespace pinion::topology {

struct Source {
  enum class Kind {
    kLive,       // this machine
    kXml,        // hwloc XML file ("lstopo machine.xml")
    kSynthetic,  // hwloc synthetic string ("package:2 [numa(memory=1GB)] l3:2 core:4 pu:2")
    kRoot,       // a directory that holds another machine's /sys and /proc
  };
  Kind kind = Kind::kLive;
  std::string value;  // file, string or directory; empty for kLive

  // "live", "xml:FILE", "synthetic:STRING", "root:DIR". Error: kInvalid, listing these forms.
  static Result<Source> parse(std::string_view text);
};

// Reads the machine. Errors: kNotFound (no such file or directory), kInvalid (hwloc cannot read it,
// or it has no CPUs), each naming the source; kUnavailable once `stop` asks for an end, which
// hwloc's own reading does not hear.
Result<Topology> discover(const Source& source, const std::stop_token& stop = {});

}  // namespace pinion::topology
