"""The Python SDK that still sends 2025-06-18, in front of Concertina."""

import contextlib

from harness import CONCERTINA, Place, case, equal, has_the_four, holds, main, serving
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client
from mcp.types import ElicitResult

CONVERSION = {"source_timezone": "UTC", "time": "10:30", "target_timezone": "Asia/Tokyo"}


def words(result):
    return "\n".join(part.text for part in result.content if part.type == "text")


@contextlib.asynccontextmanager
async def stdio(place, **client):
    parameters = StdioServerParameters(
        command=CONCERTINA, args=["mcp"], env=place.environment, cwd=str(place.workspace))
    with open(place.root / "stderr.log", "w") as log:
        async with stdio_client(parameters, errlog=log) as (read, write):
            async with ClientSession(read, write, **client) as session:
                yield session


async def converts(session):
    started = await session.initialize()
    equal(started.protocolVersion, "2025-06-18", "the revision")
    holds(started.instructions or "", "find", "the instructions")
    has_the_four(tool.name for tool in (await session.list_tools()).tools)
    found = await session.call_tool("find", {"query": "convert a time between timezones"})
    holds(words(found), "time/convert_time", "what was found")
    opened = await session.call_tool("open", {"ref": "tool:time/convert_time"})
    holds(words(opened), "source_timezone", "the schema")
    result = await session.call_tool("call", {"tool": "time/convert_time", "args": CONVERSION})
    holds(words(result), "19:30", "the result")


@case
async def python_client_2025_06_18_over_stdio():
    async with Place(["time"]) as place:
        async with stdio(place) as session:
            await converts(session)


@case
async def python_client_2025_06_18_over_http():
    async with Place(["time"]) as place:
        async with serving(place) as url, streamablehttp_client(url) as (read, write, _):
            async with ClientSession(read, write) as session:
                await converts(session)


@case
async def python_client_2025_06_18_is_asked_for_input():
    async def answer(context, params):
        return ElicitResult(action="accept", content={"username": "ada", "email": "ada@example.org"})

    async with Place(["conformance"]) as place:
        async with stdio(place, elicitation_callback=answer) as session:
            await session.initialize()
            arguments = {"tool": "conformance/test_elicitation", "args": {"message": "Who are you?"}}
            holds(words(await session.call_tool("call", arguments)), "ada@example.org", "the result")


if __name__ == "__main__":
    main()
