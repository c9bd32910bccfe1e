// --seed, which all commands have that draw anything.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <string>

namespace pinion::sim {

// A number below 0 is refused: CLI11 would take it for a very large one.
inline CLI::Option* add_seed_option(CLI::App& command, std::uint64_t& seed,
                                    const std::string& what) {
  return command.add_option("--seed", seed, what)->check([](const std::string& text) {
    return text.starts_with('-') ? text + " is below 0" : std::string();
  });
}

}  // namespace pinion::sim
