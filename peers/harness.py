"""Cases, and the two ways to a server: directly, and through Concertina.

A script of cases registers each with `@case` and ends with `main()`. Each case prints one line when it
ends: `passed: NAME`, `failed: NAME: WHY` or `skipped: NAME: WHY`.
"""

import asyncio
import contextlib
import json
import os
import pathlib
import shutil
import sys
import tempfile
import traceback

CONCERTINA = os.environ["PEERS_CONCERTINA"]
PYTHON = os.environ["PEERS_PYTHON"]
NODE = os.environ["PEERS_NODE"]
MODULES = pathlib.Path(os.environ["PEERS_MODULES"])
HERE = pathlib.Path(__file__).parent

# For one case, in seconds.
LIMIT = 60
# Cases at once. Most of them wait for programs to start.
PARALLEL = 3

CASES = []


class Skip(Exception):
    """The case cannot run here; why."""


def case(function):
    CASES.append(function)
    return function


def equal(found, expected, what):
    assert found == expected, f"{what}: expected {brief(expected)}, found {brief(found)}"


def holds(whole, part, what):
    assert part in whole, f"{what}: no {brief(part)} in {brief(whole)}"


def has_the_four(names):
    equal(sorted({"find", "open", "call", "close"} - set(names)), [], "tools that are missing")


def brief(value):
    words = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return words if len(words) <= 600 else f"{words[:600]}… ({len(words)} characters)"


class Place:
    """A directory with a workspace, settings and state of its own.

    When it is entered, Concertina has met the servers once, so that no case depends on how long a program takes
    to start on this machine; with `met=False` they are new to it.
    """

    def __init__(self, servers, met=True):
        self.met = met
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="peers-", dir=os.environ.get("PEERS_TMP")))
        self.workspace = self.root / "workspace"
        self.workspace.mkdir()
        self.files = self.workspace / "files"
        self.environment = {
            "PATH": os.environ["PATH"],
            # Some clients give a server no other variables, so everything has to lie below it.
            "HOME": str(self.root),
        }
        self.programs = {name: SERVERS[name](self) for name in servers}
        self.settings = self.root / ".config/concertina/concertina.toml"
        self.settings.parent.mkdir(parents=True)
        lines = []
        for name, argv in self.programs.items():
            lines += [f"[upstream.{name}]", f"command = {json.dumps(argv[0])}", f"args = {json.dumps(argv[1:])}", ""]
        self.settings.write_text("\n".join(lines))

    def configure(self, text):
        """Adds to the user's settings."""
        with open(self.settings, "a") as settings:
            settings.write(text)

    def directory(self, name):
        path = self.root / name
        path.mkdir(exist_ok=True)
        return path

    async def __aenter__(self):
        if self.met and self.programs:
            await meet(self)
        return self

    async def __aexit__(self, *_):
        shutil.rmtree(self.root, ignore_errors=True)


async def meet(place):
    """Asks Concertina for the menu of each server until it is there."""
    process = await asyncio.create_subprocess_exec(
        CONCERTINA, "mcp", cwd=place.workspace, env=place.environment, limit=2**24,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL)

    async def ask(number, method, params):
        request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        process.stdin.write(json.dumps(request).encode() + b"\n")
        while line := await process.stdout.readline():
            message = json.loads(line)
            if message.get("id") == number and "method" not in message:
                return message
        raise AssertionError(f"concertina mcp ended before it answered {method}")

    try:
        client = {"name": "harness", "version": "1"}
        await ask(0, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})
        process.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        number = 0
        for name in place.programs:
            opened = {"name": "open", "arguments": {"ref": f"menu:{name}"}}
            while (await ask(number := number + 1, "tools/call", opened))["result"].get("isError"):
                await asyncio.sleep(0.1)
    finally:
        process.stdin.close()
        await process.wait()


def module(package):
    return str(MODULES / "@modelcontextprotocol" / package / "dist/index.js")


def git(place):
    if not shutil.which("git"):
        raise Skip("there is no git")
    return [PYTHON, "-W", "ignore", "-m", "mcp_server_git"]


def filesystem(place):
    # Inside the workspace: that is the root which Concertina tells, and this server prefers it to its arguments.
    files = place.files
    files.mkdir(exist_ok=True)
    (files / "note.txt").write_text("first line\nsecond line\n")
    return [NODE, module("server-filesystem"), str(files)]


SERVERS = {
    "everything": lambda place: [NODE, module("server-everything"), "stdio"],
    "filesystem": filesystem,
    "memory": lambda place: ["/usr/bin/env", f"MEMORY_FILE_PATH={place.root}/memory.jsonl", NODE, module("server-memory")],
    "git": git,
    "time": lambda place: [PYTHON, "-W", "ignore", "-m", "mcp_server_time", "--local-timezone", "UTC"],
    "conformance": lambda place: [
        PYTHON, "-W", "ignore", str(HERE / "conformance_server.py"), "--before-2026"],
}


@contextlib.asynccontextmanager
async def serving(place):
    """`concertina serve` on an address of its own; gives its URL."""
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    log = open(place.root / "serve.log", "w")
    process = await asyncio.create_subprocess_exec(
        CONCERTINA, "serve", "--no-token", address, cwd=place.workspace, env=place.environment,
        stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        host, port = address.split(":")
        for _ in range(400):
            assert process.returncode is None, f"serve ended: {(place.root / 'serve.log').read_text()}"
            try:
                _, writer = await asyncio.open_connection(host, int(port))
                writer.close()
                break
            except OSError:
                await asyncio.sleep(0.05)
        yield f"http://{address}/mcp"
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()
        log.close()


async def program(argv, place, limit=LIMIT, **environment):
    """Runs a program to its end; its exit code, what it printed and what it said."""
    process = await asyncio.create_subprocess_exec(
        *map(str, argv), cwd=place.workspace, env=place.environment | environment,
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
    try:
        out, err = await asyncio.wait_for(process.communicate(), limit)
    except BaseException:
        process.kill()
        await process.wait()
        raise
    return process.returncode, out.decode(errors="replace"), err.decode(errors="replace")


async def end(function):
    name = function.__name__
    try:
        await asyncio.wait_for(function(), LIMIT)
        return f"passed: {name}"
    except Skip as why:
        return f"skipped: {name}: {why}"
    except asyncio.TimeoutError:
        return f"failed: {name}: not done after {LIMIT} seconds"
    except BaseException as error:
        return f"failed: {name}: {reason(error)}"


def reason(error):
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    frames = [f for f in traceback.extract_tb(error.__traceback__) if pathlib.Path(f.filename).parent == HERE]
    where = f" [{pathlib.Path(frames[-1].filename).name}:{frames[-1].lineno}]" if frames else ""
    words = str(error) if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}"
    return " ".join(words.split()) + where


async def run(names):
    gate = asyncio.Semaphore(PARALLEL)

    async def one(function):
        async with gate:
            print(await end(function), flush=True)

    await asyncio.gather(*(one(function) for function in CASES if not names or function.__name__ in names))


def main():
    asyncio.run(run(sys.argv[1:]))
