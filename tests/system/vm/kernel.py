# SPDX-License-Identifier: BSD-3-Clause
"""A Debian kernel and the first file system of the virtual machine.

The kernel comes out of its package, which is fetched but not installed, into a
folder that serves the next time too. The file system has a static busybox and a
few modules: no more than it takes to get at the host's own files.
"""

import contextlib
import fcntl
import glob
import io
import lzma
import os
import re
import shutil
import struct
import subprocess
import tempfile

PACKAGE = "linux-image-amd64"  # its only dependency has the kernel
MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay", "vfio-pci",
           "vfio_iommu_type1")
BUSYBOX = "/usr/bin/busybox", "/bin/busybox"
DOWNLOAD_SECONDS = 300

# Where in a bzImage its header says that the compressed kernel is.
SETUP_SECTORS, PAYLOAD = 0x1f1, 0x248
XZ = b"\xfd7zXZ\0"


class Lacking(Exception):
    """Something that the virtual machine needs cannot be had."""


def call(*argv, cwd=None):
    try:
        done = subprocess.run(argv, cwd=cwd, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=DOWNLOAD_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as e:
        raise Lacking(f"{argv[0]}: {e}") from None
    if done.returncode != 0:
        last = done.stderr.decode(errors="replace").strip().split("\n")[-1]
        raise Lacking(f"{' '.join(argv)}: {last}")
    return done.stdout.decode(errors="replace")


def package_name():
    text = call("apt-cache", "depends", "--important", PACKAGE)
    found = re.search(r"Depends: (linux-image-\S+)", text)
    if not found:
        raise Lacking(f"no package {PACKAGE} is known to apt")
    return found[1]


def uncompressed(image):
    """The kernel in a bzImage, which starts sooner; or the image as it is."""
    offset, length = struct.unpack_from("<II", image, PAYLOAD)
    start = (image[SETUP_SECTORS] + 1) * 512 + offset
    payload = image[start:start + length]
    if not payload.startswith(XZ):
        return image
    return lzma.LZMADecompressor().decompress(payload)


def modules_in(folder):
    """Where each module is, by its name as other modules have it."""
    found = {}
    for place, _, names in os.walk(folder):
        for name in names:
            m = re.fullmatch(r"(.+)\.ko(\.xz)?", name)
            if m:
                found[m[1].replace("-", "_")] = f"{place}/{name}"
    return found


def module(path):
    with open(path, "rb") as f:
        data = f.read()
    return lzma.decompress(data) if path.endswith(".xz") else data


def wanted_modules(folder):
    """Pairs of name and content of MODULES and what they need, before them."""
    places, wanted = modules_in(folder), {}

    def add(name):
        name = name.replace("-", "_")
        if name in wanted or name not in places:  # it may be built in
            return
        data = module(places[name])
        needs = re.search(rb"\0depends=([^\0]*)\0", data)
        for other in needs[1].decode().split(",") if needs else ():
            add(other)
        wanted[name] = data

    for name in MODULES:
        add(name)
    return list(wanted.items())


def cpio(entries):
    """An archive of (name, mode, content), in the form that Linux takes."""
    out = io.BytesIO()

    def put(data):
        out.write(data + b"\0" * (-len(data) % 4))

    for i, (name, mode, data) in enumerate([*entries, ("TRAILER!!!", 0, b"")]):
        name = name.encode() + b"\0"
        head = (i + 1, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name), 0)
        put(b"070701" + b"".join(b"%08X" % n for n in head) + name)
        put(data)
    return out.getvalue()


INIT = """\
#!/bin/busybox sh
b=/bin/busybox
for m in {modules}; do $b insmod /modules/$m; done
try() {{ "$@" || {{ echo "init: $* fails"; $b poweroff -f; }}; }}
mount() {{ try $b mount "$@"; }}
mount -t tmpfs tmp /tmp
$b mkdir /tmp/host /tmp/new /tmp/work /tmp/root
mount -t 9p -o trans=virtio,version=9p2000.L,ro,cache=loose,msize=512000 \\
	host /tmp/host
mount -t overlay \\
	-o lowerdir=/tmp/host,upperdir=/tmp/new,workdir=/tmp/work \\
	overlay /tmp/root
root=/tmp/root
mount -t proc proc $root/proc
mount -t sysfs sys $root/sys
mount -t devtmpfs dev $root/dev
mount -t tmpfs run $root/run
$b mkdir -p $root/dev/shm $root/dev/hugepages $root/run/share
mount -t tmpfs shm $root/dev/shm
mount -t 9p -o trans=virtio,version=9p2000.L,cache=none,msize=512000 \\
	share $root/run/share
$b ln -s /proc/self/fd $root/dev/fd
$b ln -s /proc/self/fd/0 $root/dev/stdin
$b ln -s /proc/self/fd/1 $root/dev/stdout
$b ln -s /proc/self/fd/2 $root/dev/stderr
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
$b ip link set lo up
$b chroot $root /usr/bin/python3 -B {agent} /dev/ttyS1
echo o >$root/proc/sysrq-trigger
$b sleep 60
"""


def busybox():
    for path in BUSYBOX:
        with contextlib.suppress(OSError), open(path, "rb") as f:
            data = f.read()
            # A static program names no loader.
            if b"ld-linux" not in data[:4096]:
                return data
    raise Lacking("no static busybox here; package busybox-static has it")


def initramfs(modules, agent):
    init = INIT.format(modules=" ".join(name for name, _ in modules),
                       agent=agent)
    entries = [(d, 0o040755, b"") for d in ("bin", "modules", "tmp", "dev")]
    entries += [("bin/busybox", 0o100755, busybox()),
                ("init", 0o100755, init.encode())]
    entries += [(f"modules/{name}", 0o100644, data) for name, data in modules]
    return cpio(entries)


def write(path, data):
    with open(path, "wb") as f:
        f.write(data)


def unpack(folder):
    """Leaves the kernel, and the modules in order, of the package there."""
    package, = glob.glob(f"{folder}/*.deb")
    call("dpkg-deb", "-x", package, f"{folder}/all")
    image, = glob.glob(f"{folder}/all/boot/vmlinuz-*")
    with open(image, "rb") as f:
        write(f"{folder}/kernel", uncompressed(f.read()))
    for i, (name, data) in enumerate(wanted_modules(f"{folder}/all")):
        write(f"{folder}/{i:02}-{name}.ko", data)
    shutil.rmtree(f"{folder}/all")
    os.unlink(package)


def fetch(cache):
    """The folder that has the kernel and its modules."""
    name = package_name()
    folder = f"{cache}/{name}"
    os.makedirs(cache, exist_ok=True)
    with open(f"{cache}/lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(folder):
            # Whole, or not there: the last step is its name.
            with tempfile.TemporaryDirectory(dir=cache) as new:
                os.mkdir(f"{new}/made")
                call("apt-get", "download", name, cwd=f"{new}/made")
                unpack(f"{new}/made")
                os.rename(f"{new}/made", folder)
    return folder


def files(cache, agent):
    """Paths of the kernel, and the content of its first file system."""
    folder = fetch(cache)
    modules = []
    for path in sorted(glob.glob(f"{folder}/*.ko")):
        with open(path, "rb") as f:
            modules.append((os.path.basename(path)[3:-3], f.read()))
    return f"{folder}/kernel", initramfs(modules, agent)
