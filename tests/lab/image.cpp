#include "tests/lab/image.h"

#include <sys/utsname.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/lab/cri_client.h"
#include "tests/lab/files.h"
#include "tests/lab/process.h"

namespace pinion::lab {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr Milliseconds kLimit{20000};

// The OCI name of this machine's architecture.
std::string architecture() {
  utsname name{};
  ::uname(&name);
  const std::string machine = static_cast<const char*>(name.machine);
  if (machine == "x86_64") return "amd64";
  if (machine == "aarch64") return "arm64";
  return machine;
}

Result<std::string> digest_of(const std::string& file, const std::string& work) {
  fs::remove(work + "/digest");
  auto line = run({.argv = {"sha256sum", file}, .env = {}, .log = work + "/digest"}, kLimit);
  if (!line) return failure(line.error());
  return line->substr(0, 64);
}

Status pack(const std::string& folder, const std::string& tar, const std::string& work) {
  const auto done = run({.argv = {"tar", "--sort=name", "--owner=0", "--group=0", "--numeric-owner",
                                  "-C", folder, "-cf", tar, "."},
                         .env = {},
                         .log = work + "/tar.log"},
                        kLimit);
  if (!done) return failure(done.error());
  return {};
}

// Moves `file` to its place among the blobs; answers its descriptor.
Result<json> add_blob(const std::string& file, const std::string& layout, const std::string& type,
                      const std::string& work) {
  const auto digest = digest_of(file, work);
  if (!digest) return failure(digest.error());
  const auto size = fs::file_size(file);
  fs::rename(file, layout + "/blobs/sha256/" + *digest);
  return json{{"mediaType", type}, {"digest", "sha256:" + *digest}, {"size", size}};
}

Result<json> add_json(const json& document, const std::string& layout, const std::string& type,
                      const std::string& work) {
  const std::string file = work + "/document.json";
  if (Status done = write_file(file, document.dump()); !done) return failure(done.error());
  return add_blob(file, layout, type, work);
}

Result<json> add_layer(const std::string& busybox, const std::string& pause,
                       const std::string& layout, const std::string& work) {
  const std::string root = work + "/rootfs";
  for (const char* dir : {"/bin", "/proc", "/sys", "/dev", "/etc", "/tmp"}) {
    fs::create_directories(root + dir);
  }
  const auto replace = fs::copy_options::overwrite_existing;
  fs::copy_file(busybox, root + "/bin/busybox", replace);
  fs::copy_file(pause, root + "/pause", replace);
  fs::create_symlink("busybox", root + "/bin/sh");
  // Where a Debian's /usr is mounted into a container, its programs find their loader by these.
  fs::create_symlink("usr/lib", root + "/lib");
  fs::create_symlink("usr/lib64", root + "/lib64");
  if (Status done = pack(root, work + "/layer.tar", work); !done) return failure(done.error());
  return add_blob(work + "/layer.tar", layout, "application/vnd.oci.image.layer.v1.tar", work);
}

Status write_layout(const std::string& busybox, const std::string& pause, const std::string& work,
                    const std::string& tar) {
  const std::string layout = work + "/layout";
  fs::create_directories(layout + "/blobs/sha256");
  auto layer = add_layer(busybox, pause, layout, work);
  if (!layer) return failure(layer.error());
  const json image = {
      {"architecture", architecture()},
      {"os", "linux"},
      {"config", {{"Entrypoint", {"/pause"}}, {"Env", {"PATH=/bin"}}, {"WorkingDir", "/"}}},
      {"rootfs", {{"type", "layers"}, {"diff_ids", {(*layer)["digest"]}}}}};
  auto config = add_json(image, layout, "application/vnd.oci.image.config.v1+json", work);
  if (!config) return failure(config.error());
  const std::string manifest_type = "application/vnd.oci.image.manifest.v1+json";
  const json manifest = {{"schemaVersion", 2},
                         {"mediaType", manifest_type},
                         {"config", *config},
                         {"layers", json::array({*layer})}};
  auto entry = add_json(manifest, layout, manifest_type, work);
  if (!entry) return failure(entry.error());
  (*entry)["annotations"] = {{"io.containerd.image.name", kImage}};
  (*entry)["platform"] = {{"architecture", architecture()}, {"os", "linux"}};
  const json index = {{"schemaVersion", 2}, {"manifests", json::array({*entry})}};
  Status done = write_file(layout + "/index.json", index.dump());
  if (done) done = write_file(layout + "/oci-layout", R"({"imageLayoutVersion":"1.0.0"})");
  if (done) done = pack(layout, tar, work);
  return done;
}

}  // namespace

Status make_image(const std::string& busybox, const std::string& pause, const std::string& work,
                  const std::string& tar) {
  try {
    return write_layout(busybox, pause, work, tar);
  } catch (const std::exception& error) {  // std::filesystem and the JSON library throw
    return failure(Errc::kInternal, std::string("make image: ") + error.what());
  }
}

}  // namespace pinion::lab
