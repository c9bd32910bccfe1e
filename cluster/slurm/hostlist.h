// Slurm's short way to write many names: "n[1,3-5],login" is n1, n3, n4, n5, login.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pinion::slurm {

// Most names that a list may stand for.
inline constexpr std::size_t kMostHosts = 65'536;

// In the list's order; numbers keep their leading zeros. nullopt for what is no such list, has a
// second pair of brackets in one name, or stands for more than kMostHosts.
[[nodiscard]] std::optional<std::vector<std::string>> expand_hosts(std::string_view list);

// The first `most` numbers of an array's "0,2-9:2%4", as far as the text can be understood: Slurm
// cuts a long one off with "...".
[[nodiscard]] std::vector<int> first_tasks(std::string_view list, std::size_t most);

}  // namespace pinion::slurm
