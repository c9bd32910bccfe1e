// Paths of the API, percent-encoded.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace pinion::kube {

// All but letters, digits and "-._~" as %XX.
std::string percent_encoded(std::string_view text);

// "/api/v1/namespaces/NS/pods/NAME[/SUBRESOURCE]".
std::string pod_path(std::string_view name_space, std::string_view name,
                     std::string_view subresource = "");

// Appends "?a=b&c=d", or "&a=b" to a path that has a query; entries with an empty value are left
// out.
using Query = std::initializer_list<std::pair<std::string_view, std::string>>;
std::string with_query(std::string path, Query query);

}  // namespace pinion::kube
