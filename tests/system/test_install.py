# SPDX-License-Identifier: BSD-3-Clause
"""What `meson install` installs is enough to build and run a program.

Usage: test_install.py WEIR_TESTPMD: the program in the build folder that is
installed from.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from weirtest import Skip, Tap, check, lcores

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
HELLO = os.path.join(TOP, "apps", "hello", "hello.c")
EXCEPTIONS = os.path.join(TOP, "tests", "system", "exceptions.cpp")


def run(*args, env=None):
    done = subprocess.run(args, capture_output=True, text=True, timeout=60,
                          env=env, stdin=subprocess.DEVNULL)
    check(done.returncode == 0,
          f"{' '.join(args)}: exit {done.returncode}\n{done.stdout}"
          f"{done.stderr}")
    return done.stdout


def find(folder, name):
    for here, _, files in os.walk(folder):
        if name in files:
            return here
    check(False, f"{name} was not installed")


class Installed:
    def __init__(self, build, folder):
        run("meson", "install", "-C", build, "--no-rebuild", "--destdir",
            folder)
        self.folder = folder
        self.lib = find(folder, "libweir.so")
        self.env = dict(os.environ, PKG_CONFIG_PATH=find(folder, "libweir.pc"),
                        LD_LIBRARY_PATH=self.lib,
                        RUNTIME_DIRECTORY=folder)  # of EAL's files

    def pkg_config(self, *options):
        """Flags; paths of our own files are those they were installed to."""
        flags = run("pkg-config", *options, "libweir", env=self.env).split()
        moved = [flag[:2] + self.folder + flag[2:] for flag in flags]
        return [there if os.path.isdir(there[2:]) else flag
                for flag, there in zip(flags, moved)]

    def build(self, source, *libs):
        program = os.path.join(self.folder,
                               os.path.splitext(os.path.basename(source))[0])
        run("g++" if source.endswith(".cpp") else "cc",
            *self.pkg_config("--cflags"), source, "-o", program, *libs)
        return program

    def start(self, program, workers):
        """What it prints."""
        prefix = f"weir-install-{os.getpid()}"
        return run(program, "--no-huge", "-m", "256", "--no-pci",
                   "--lcores", lcores(workers), "--no-shconf",
                   "--no-telemetry", f"--file-prefix={prefix}", env=self.env)

    def hello(self, *libs):
        out = self.start(self.build(HELLO, *libs), 1)
        check("hello: 12 squared is 144" in out, f"hello printed: {out}")

    def exceptions(self, *libs):
        for workers in 1, 2:
            out = self.start(self.build(EXCEPTIONS, *libs), workers)
            check("exceptions: each fiber had its own" in out,
                  f"exceptions printed: {out}")


def shared(installed):
    installed.hello(*installed.pkg_config("--libs"))


def stays(installed):
    """DPDK goes on to call what it was told of: whoever loads it has it for good."""
    run(sys.executable, "-c", "import _ctypes, ctypes, sys\n"
        "_ctypes.dlclose(ctypes.CDLL(sys.argv[1])._handle)\n"
        "with open('/proc/self/maps', encoding='ascii') as maps:\n"
        "    sys.exit('libweir' not in maps.read())\n",
        os.path.join(installed.lib, "libweir.so"), env=installed.env)


def with_archive(installed, *options):
    """Flags to link with, with the static library in the place of the other."""
    archive = os.path.join(find(installed.folder, "libweir.a"), "libweir.a")
    return [archive if flag == "-lweir" else flag
            for flag in installed.pkg_config("--libs", *options)]


def statically(installed):
    return [*with_archive(installed), "-lnuma", "-lpthread"]


def static(installed):
    installed.hello(*statically(installed))


def exceptions(installed):
    installed.exceptions(*installed.pkg_config("--libs"))
    installed.exceptions(*statically(installed))
    installed.exceptions(*statically(installed), "-static-libstdc++")


def is_there(flag):
    """Whether the linker can find a library: DPDK's static ones name some that only
    drivers of devices need, and that are packages of their own."""
    if not flag.startswith("-l"):
        return True
    names = ([flag[3:]] if flag[2] == ":" else
             [f"lib{flag[2:]}.{end}" for end in ("so", "a")])
    return any(
        os.path.isabs(run("cc", f"-print-file-name={name}").strip())
        for name in names)


def all_static(installed):
    libs = filter(is_there, with_archive(installed, "--static"))
    installed.hello(*libs)
    needed = run("readelf", "--dynamic", os.path.join(installed.folder, "hello"))
    check("librte_" not in needed and "libweir" not in needed, needed)


def manual_of(installed, name, *helps):
    """Each option that the program's help has is in its manual, and no other. helps:
    by which arguments it says them."""
    program = os.path.join(find(installed.folder, name), name)
    helped = "".join(run(program, *args, env=installed.env) for args in helps)
    check(f"usage: {program}" in helped or f"usage: {name}" in helped,
          f"no help: {helped}")
    folder = find(installed.folder, f"{name}.1")
    check(folder.endswith("/man1"), "the manual is in no folder of manuals")
    with open(os.path.join(folder, f"{name}.1"), encoding="utf-8") as file:
        written = set(re.findall(r"^\.It Fl Fl ([a-z-]+)", file.read(),
                                 re.MULTILINE))
    options = set(re.findall(r"^ +--([a-z-]+)", helped, re.MULTILINE))
    differ = (options ^ written) - {"help"}
    check(len(options) > 2 and not differ, f"in one of both: {differ}")


def testpmd(installed):
    manual_of(installed, "weir-testpmd", ("--", "--help"))


def lcores_tool(installed):
    manual_of(installed, "weir-lcores", ("--help",),
              *((command, "--help") for command
                in ("show", "check", "suggest", "record", "diff")))


def top_tool(installed):
    """It goes by the name under which it was installed."""
    manual_of(installed, "weir-top", ("--help",))
    program = os.path.join(find(installed.folder, "weir-top"), "weir-top")
    done = subprocess.run([program, "--bogus"], capture_output=True, text=True,
                          timeout=60)
    check(done.returncode == 2 and done.stderr.startswith("weir-top: "),
          f"exit {done.returncode}: {done.stderr}")


CONSUMER = """project('consumer', 'c', default_options: ['c_std=gnu11'])
executable('hello', 'hello.c',
	dependencies: dependency('libweir', fallback: 'weir'))
"""


def subproject(folder):
    """A program that has the library so gets that alone."""
    os.makedirs(os.path.join(folder, "subprojects"))
    os.symlink(TOP, os.path.join(folder, "subprojects", "weir"))
    shutil.copy(HELLO, folder)
    with open(os.path.join(folder, "meson.build"), "w",
              encoding="ascii") as text:
        text.write(CONSUMER)
    build = os.path.join(folder, "build")
    env = dict(os.environ, PKG_CONFIG_PATH="")
    run("meson", "setup", "--force-fallback-for=libweir", build, folder,
        env=env)
    targets = json.loads(run("meson", "introspect", "--targets", build))
    names = {target["name"] for target in targets}
    check(names == {"hello", "weir"}, f"it has {sorted(names)}")
    tests = json.loads(run("meson", "introspect", "--tests", build))
    check(tests == [], f"it has {len(tests)} tests")


def pages(build):
    if not re.search("^doc:", run("ninja", "-C", build, "-t", "targets", "all"),
                     re.MULTILINE):
        raise Skip("this was configured where there is no doxygen")
    run("ninja", "-C", build, "doc")
    html = os.path.join(build, "doc", "html")
    with open(os.path.join(html, "index.html"), encoding="utf-8") as index:
        for name in re.findall(r'href="(weir\w*_8h\.html)"', index.read()):
            check(os.path.exists(os.path.join(html, name)), f"no {name}")
    check(os.path.exists(os.path.join(html, "weir__task_8h.html")), "no pages")


def main():
    build = os.path.abspath(os.path.join(os.path.dirname(sys.argv[1]),
                                         "..", ".."))
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix="weir-install-") as folder:
        installed = Installed(build, folder)
        tap.run("a program built with pkg-config runs", shared, installed)
        tap.run("and one with the static library", static, installed)
        tap.run("and one with DPDK's as well", all_static, installed)
        tap.run("what was loaded stays", stays, installed)
        tap.run("fibers in C++ have their own exceptions", exceptions,
                installed)
        tap.run("weir-testpmd and its manual", testpmd, installed)
        tap.run("weir-lcores and its manual", lcores_tool, installed)
        tap.run("weir-top and its manual", top_tool, installed)
    with tempfile.TemporaryDirectory(prefix="weir-consumer-") as folder:
        tap.run("a program has it as a subproject", subproject, folder)
    tap.run("pages of the documentation", pages, build)
    tap.finish()


if __name__ == "__main__":
    main()
