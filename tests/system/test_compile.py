# SPDX-License-Identifier: BSD-3-Clause
"""What a compiler says: nothing about right code, and what weir_stackless.h promises
about wrong code.

Each piece of code is compiled on its own, by every compiler that is there.
"""

import functools
import glob
import os
import re
import shutil
import subprocess

from weirtest import Skip, Tap, check

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))

FUNCTION = """
#include <weir.h>
#include <weir_fd.h>

struct state {{
	struct weir_place place;
	struct weir_sleep sleep;
	unsigned int i;
	struct weir_fd *fd;
	char bytes[8];
}};

#ifdef __cplusplus
template <typename Number, Number Ns>
static int
sleep_for(struct weir_context *ctx, struct weir_sleep *sleep)
{{
	return weir_sleep(ctx, sleep, Ns);
}}
#endif

int
poll_it(struct weir_context *ctx, void *state);

int
poll_it(struct weir_context *ctx, void *state)
{{
	struct state *s = (struct state *)state;
	int rc = 0;

{}
	return rc;
}}
"""

AWAIT = "WEIR_AWAIT(rc, weir_sleep(ctx, &s->sleep, 1));"
BEGIN = "WEIR_BEGIN(&s->place);\n"
END = "WEIR_END;"

RIGHT = f"""{BEGIN}
	for (s->i = 0; s->i < 3; s->i++) {{
		switch ((int)s->i) {{
		case 1:
			rc = 1;
			break;
		default:
			rc = 2;
		}}
		{{
			int n = rc;

			s->i += (unsigned int)n;
		}}
		{AWAIT}
	}}
	if (s->i == 0)
		{AWAIT}
	else
		WEIR_YIELD(ctx);
	WEIR_SUSPEND();
	{END}"""

# Each wrapper around a wait that gives a count.
READ = "weir_fd_read({}, s->fd, s->bytes, sizeof(s->bytes))"
COUNTS = f"""
	struct weir_fiber *f = weir_fiber_current();
	struct weir_wait stop = {{ {{ 0 }} }};

	rc = weir_fiber_await(f, {READ.format("weir_fiber_context(f)")});
	if (rc == 0)
		rc = weir_timeout(ctx, &s->sleep, 1, {READ.format("ctx")});
	if (rc == 0)
		rc = weir_token_bound(ctx, NULL, &stop, {READ.format("ctx")});
"""

# Its arguments have a comma outside of parentheses.
TEMPLATE = f"""{BEGIN}
	struct weir_fiber *f;
	WEIR_AWAIT(rc, sleep_for<unsigned int, 1>(ctx, &s->sleep));
	f = weir_fiber_current();
	rc = weir_fiber_await(f, sleep_for<int, 1>(weir_fiber_context(f), &s->sleep));
	{END}"""


def in_switch(type_):
    return (f"{BEGIN} switch (({type_})s->i) {{ case 1:\n {AWAIT} break;\n"
            f"default: break; }} {END}")


NAMES = {"gcc": ["gcc", "-xc", "-Werror=maybe-uninitialized"], "clang": ["clang", "-xc"],
         "g++": ["g++", "-xc++"]}

# name: (code, compilers that refuse it, what one of them must say)
WRONG = {
    "an await in a switch over an int":
        (in_switch("int"), NAMES, "overflow|narrowing"),
    "an await in a switch over an enum":
        (in_switch("enum weir_affinity"), NAMES, "overflow|changes|narrowing"),
    "an await in a switch over 64 bits":
        (in_switch("uint64_t"), NAMES, "overflow|changes|narrowing"),
    "an await in a switch over a signed number":
        (in_switch("long"), NAMES, "overflow|narrowing"),
    "two awaits in one line":
        (f"{BEGIN} {AWAIT} {AWAIT} {END}", NAMES, "duplicate"),
    "an await before the beginning":
        (f"{AWAIT} {BEGIN} {END}", NAMES, "weir_place_"),
    "an await behind the end":
        (f"{BEGIN} {END} {AWAIT}", NAMES, "weir_place_"),
    "no end":
        (f"{BEGIN} {AWAIT}", NAMES, "end of input|expected '}'"),
    "no beginning":
        (END, NAMES, "weir_place_|expected"),
    "a variable that was set before an await":
        (f"{BEGIN} int n = (int)s->i;\n {AWAIT} rc += n; {END}",
         ["gcc", "g++"], "jump"),
    "a loop's variable around an await":
        (f"{BEGIN} for (int n = 0; n < 3; n++) {{\n {AWAIT} }} {END}",
         ["gcc", "g++"], "jump"),
    "an array of variable length before an await":
        (f"{BEGIN} int a[s->i]; a[0] = 0;\n {AWAIT} rc += a[0]; {END}",
         NAMES, "jump"),
    "a variable that is set in between, and read behind":
        (f"int n; {BEGIN} n = (int)s->i;\n {AWAIT} rc += n; {END}",
         ["gcc"], "uninitialized"),
}


def compile_by(compiler, code):
    """Exit status and complaints."""
    dpdk = subprocess.run(["pkg-config", "--cflags", "libdpdk"], check=True,
                          capture_output=True, text=True).stdout.split()
    folders = [f"-I{folder}" for folder in
               [f"{TOP}/lib", *glob.glob(f"{TOP}/lib/*/"), f"{TOP}/drivers/fd"]]
    done = subprocess.run(
        [*NAMES[compiler], "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-D_GNU_SOURCE",
         "-S", "-o", os.devnull, *folders, *dpdk, "-"], input=FUNCTION.format(code), capture_output=True,
        text=True, timeout=60)
    return done.returncode, done.stderr.replace("‘", "'").replace("’", "'")


@functools.cache
def compilers():
    return [name for name, argv in NAMES.items() if shutil.which(argv[0])]


def compiles(code, by):
    there = [name for name in by if name in compilers()]
    if not there:
        raise Skip("no compiler")
    for compiler in there:
        status, said = compile_by(compiler, code)
        check(status == 0 and not said, f"{compiler}: {said}")


def is_refused(code, by, why):
    there = [name for name in by if name in compilers()]
    if not there:
        raise Skip("no compiler that refuses it")
    for compiler in there:
        status, said = compile_by(compiler, code)
        check(status != 0, f"{compiler} takes it: {said}")
        check(re.search(f"error:.*({why})", said), f"{compiler}: {said}")


def main():
    tap = Tap()
    tap.run("right code compiles without a warning", compiles, RIGHT, NAMES)
    tap.run("counts go through what bounds a wait", compiles, COUNTS, NAMES)
    tap.run("a template's arguments need no parentheses", compiles, TEMPLATE, ["g++"])
    for name, wrong in WRONG.items():
        tap.run(f"{name} is refused", is_refused, *wrong)
    tap.finish()


if __name__ == "__main__":
    main()
