#!/usr/bin/env python3
"""Writes an image of one program as a tar of the OCI layout, without a container engine: the same bytes from the same
input. "ctr images import", "skopeo copy oci-archive:", "podman load" and "docker load" (25 and later) take it.

  oci.py OUT.tar NAME:TAG PROGRAM [--user UID] [--label K=V]... [--link NAME]... [--arg ARG]... [--path PATH]
         [--root TAR] [--file PATH=FILE]...

The image holds the program in /usr/bin, the shared libraries that it names with the loader, and nothing else: no shell, no
package manager. With --root it stands on a tar of a whole system, which is a layer of its own. All files are root's and
cannot be written by others, so the root may be read-only."""
import argparse, gzip, hashlib, io, json, os, re, subprocess, sys, tarfile

def libraries(program):
    """Path in the image -> file here, of the loader and of all libraries."""
    text = subprocess.run(["ldd", program], capture_output=True, text=True).stdout
    if "not found" in text:
        sys.exit(f"oci: a library of {program} is missing:\n{text}")
    paths = re.findall(r"=> (/\S+) \(0x", text) + re.findall(r"^\s*(/\S+) \(0x", text, re.M)
    found = {}
    for path in paths:
        # As the loader looks for it; /lib is a link to /usr/lib on a merged system.
        found[path if path.startswith("/lib64/") else "/usr" + path if path.startswith("/lib/") else path] = os.path.realpath(path)
    return found

class Layer:
    def __init__(self):
        self.bytes = io.BytesIO()
        self.tar = tarfile.open(fileobj=self.bytes, mode="w", format=tarfile.GNU_FORMAT)
        self.folders = set()
    def entry(self, path, kind, mode, **more):
        info = tarfile.TarInfo(path.lstrip("/"))
        info.type, info.mode = kind, mode
        info.mtime = 1  # the same for all, and not 0: slurmctld takes a script of that time as loaded already
        for name, value in more.items():
            setattr(info, name, value)
        return info
    def folder(self, path, mode=0o755):
        if path in ("", "/") or path in self.folders:
            return
        self.folder(os.path.dirname(path))
        self.folders.add(path)
        self.tar.addfile(self.entry(path, tarfile.DIRTYPE, mode))
    def file(self, path, data, mode):
        self.folder(os.path.dirname(path))
        self.tar.addfile(self.entry(path, tarfile.REGTYPE, mode, size=len(data)), io.BytesIO(data))
    def link(self, path, target):
        self.folder(os.path.dirname(path))
        self.tar.addfile(self.entry(path, tarfile.SYMTYPE, 0o777, linkname=target))
    def end(self):
        self.tar.close()
        return self.bytes.getvalue()

class Packed:
    """A layer, compressed."""
    def __init__(self, plain):
        self.plain_size = len(plain)
        self.plain_digest = "sha256:" + hashlib.sha256(plain).hexdigest()
        self.packed = gzip.compress(plain, 9, mtime=0)

def read(path):
    with open(path, "rb") as file:
        return file.read()

def blob(out, data):
    digest = hashlib.sha256(data).hexdigest()
    out.file("/blobs/sha256/" + digest, data, 0o644)
    return "sha256:" + digest

def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("out", "image", "program"):
        parser.add_argument(name)
    parser.add_argument("--user", default="0")
    parser.add_argument("--path", help="of the program in the image [/usr/bin/NAME]")
    parser.add_argument("--label", action="append", default=[])
    parser.add_argument("--link", action="append", default=[], help="another name for the program")
    parser.add_argument("--arg", action="append", default=[], help="a default argument")
    parser.add_argument("--root", help="a tar, the layer below")
    parser.add_argument("--file", action="append", default=[], metavar="PATH=FILE", help="another file of the image")
    asked = parser.parse_args()
    path = asked.path or "/usr/bin/" + os.path.basename(asked.program)
    layers, there, folders = [], set(), "/usr/bin"
    layer = Layer()
    if asked.root:
        layers.append(Packed(read(asked.root)))
        with tarfile.open(asked.root) as tar:
            members = tar.getmembers()
        there = {os.path.normpath("/" + member.name) for member in members if not member.isdir()}
        layer.folders = {os.path.normpath("/" + member.name) for member in members if member.isdir()}
        folders = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    else:
        for link, target in {"/lib": "usr/lib", "/lib64": "usr/lib64", "/bin": "usr/bin", "/sbin": "usr/bin"}.items():
            layer.folder("/" + target)
            layer.link(link, target)
        layer.folder("/tmp", 0o1777)
        # Names for "kubectl debug" and for libraries that ask who they are.
        layer.file("/etc/passwd", b"root:x:0:0:root:/:/none\nnonroot:x:65532:65532:nonroot:/:/none\n", 0o644)
        layer.file("/etc/group", b"root:x:0:\nnonroot:x:65532:\n", 0o644)
        layer.file("/etc/nsswitch.conf", b"passwd: files\nhosts: files dns\n", 0o644)
    layer.file(path, read(asked.program), 0o755)
    for link in asked.link:
        layer.link(link if link.startswith("/") else "/usr/bin/" + link, os.path.basename(path))
    for name, source in sorted(libraries(asked.program).items()):
        name = "/usr" + name if name.startswith("/lib64/") else name
        if name not in there:
            layer.file(name, read(source), 0o755)
    for each in asked.file:
        name, _, source = each.partition("=")
        layer.file(name, read(source), 0o755 if os.access(source, os.X_OK) else 0o644)
    layers.append(Packed(layer.end()))
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)
    config = {"architecture": machine, "os": "linux",
              "config": {"Entrypoint": [path], "Cmd": asked.arg, "User": asked.user, "WorkingDir": "/",
                         "Env": ["PATH=" + folders],
                         "Labels": dict(label.split("=", 1) for label in asked.label)},
              "rootfs": {"type": "layers", "diff_ids": [each.plain_digest for each in layers]}}
    out = Layer()
    config_bytes = json.dumps(config, sort_keys=True).encode()
    manifest = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
                "config": {"mediaType": "application/vnd.oci.image.config.v1+json",
                           "digest": blob(out, config_bytes), "size": len(config_bytes)},
                "layers": [{"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip",
                            "digest": blob(out, each.packed), "size": len(each.packed)} for each in layers]}
    manifest_bytes = json.dumps(manifest, sort_keys=True).encode()
    name, _, tag = asked.image.rpartition(":")
    index = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
             "manifests": [{"mediaType": manifest["mediaType"], "digest": blob(out, manifest_bytes),
                            "size": len(manifest_bytes), "platform": {"architecture": machine, "os": "linux"},
                            "annotations": {"io.containerd.image.name": asked.image,
                                            "org.opencontainers.image.ref.name": tag}}]}
    out.file("/index.json", json.dumps(index, sort_keys=True).encode(), 0o644)
    out.file("/oci-layout", b'{"imageLayoutVersion":"1.0.0"}', 0o644)
    with open(asked.out, "wb") as file:
        file.write(out.end())
    print(sum(len(each.packed) for each in layers), sum(each.plain_size for each in layers))  # compressed and plain size in bytes

main()
