"""Connections with the Python SDK of today."""

import contextlib
import json
import sys

from harness import CONCERTINA
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client


def plain(value):
    return value.model_dump(by_alias=True, mode="json", exclude_none=True)


@contextlib.asynccontextmanager
async def spoken(argv, place, **client):
    """A connection to a program on its standard streams; what it says on stderr goes to a file."""
    with open(place.root / "stderr.log", "a") as log:
        parameters = StdioServerParameters(
            command=argv[0], args=argv[1:], env=place.environment, cwd=str(place.workspace))
        async with Client(stdio_client(parameters, errlog=log), **client) as connection:
            yield connection


def directly(place, server, **client):
    client.setdefault("mode", "legacy")
    return spoken(place.programs[server], place, **client)


def through(place, *options, **client):
    client.setdefault("mode", "legacy")
    return spoken([CONCERTINA, "mcp", *options], place, **client)


def words(result):
    """All text of a result."""
    return "\n".join(part.text for part in result.content if part.type == "text")


def others(result):
    """What is not text, as it was sent."""
    return [plain(part) for part in result.content if part.type != "text"]


async def opened(client, ref, **more):
    return await client.call_tool("open", {"ref": ref, **more})


async def called(client, tool, args=None, **more):
    return await client.call_tool("call", {"tool": tool, "args": args or {}}, **more)


def schemas_in(text):
    """Every JSON object that stands in a text."""
    decoder, found, at = json.JSONDecoder(), [], 0
    while (at := text.find("{", at)) >= 0:
        try:
            value, at = decoder.raw_decode(text, at)
            found.append(value)
        except json.JSONDecodeError:
            at += 1
    return found
