"""Clients that others wrote, in front of Concertina, with real servers behind it."""

import asyncio
import json

from harness import CONCERTINA, MODULES, NODE, Place, case, equal, has_the_four, holds, main, program, serving
from mcp import Client
from today import called, opened, plain, through, words

CONVERSION = {"source_timezone": "UTC", "time": "10:30", "target_timezone": "Asia/Tokyo"}


async def inspector(place, *arguments, target=None, limit=45):
    """The inspector's command line; what it printed, as JSON."""
    launcher = MODULES / "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
    target = target or [CONCERTINA, "mcp"]
    argv = [NODE, launcher, "--cli", *target, "--format", "json", *arguments]
    code, out, err = await program(argv, place, limit)
    assert code == 0, f"the inspector ended with {code}: {err[-400:] or out[-400:]}"
    return json.loads(out)["result"]


@case
async def inspector_lists_the_four_tools():
    async with Place(["everything"]) as place:
        listed = await inspector(place, "--method", "tools/list")
        has_the_four(tool["name"] for tool in listed["tools"])


@case
async def inspector_calls_a_real_server_through_concertina():
    async with Place(["everything", "time"]) as place:
        arguments = json.dumps({"tool": "everything/echo", "args": {"message": "from the inspector"}})
        result = await inspector(
            place, "--method", "tools/call", "--tool-name", "call", "--tool-args-json", arguments)
        holds(json.dumps(result), "Echo: from the inspector", "the result")


@case
async def inspector_finds_and_opens():
    async with Place(["time"]) as place:
        query = json.dumps({"query": "convert a time between timezones"})
        found = await inspector(place, "--method", "tools/call", "--tool-name", "find", "--tool-args-json", query)
        holds(json.dumps(found), "time/convert_time", "what was found")
        ref = json.dumps({"ref": "tool:time/convert_time"})
        unfolded = await inspector(place, "--method", "tools/call", "--tool-name", "open", "--tool-args-json", ref)
        holds(json.dumps(unfolded), "source_timezone", "the schema")


@case
async def inspector_speaks_over_http():
    async with Place(["time"]) as place:
        async with serving(place) as url:
            listed = await inspector(place, "--method", "tools/list", target=[url])
            has_the_four(tool["name"] for tool in listed["tools"])
            arguments = json.dumps({"tool": "time/convert_time", "args": CONVERSION})
            result = await inspector(
                place, "--method", "tools/call", "--tool-name", "call", "--tool-args-json", arguments, target=[url])
            holds(json.dumps(result), "19:30", "the result")


@case
async def inspector_of_the_new_era_lists_and_calls():
    async with Place(["time"]) as place:
        async with serving(place) as url:
            listed = await inspector(place, "--method", "tools/list", "--protocol-era", "modern", target=[url])
            has_the_four(tool["name"] for tool in listed["tools"])


@case
async def inspector_finds_no_fault_in_the_schemas():
    async with Place(["everything", "time"]) as place:
        await inspector(place, "--method", "tools/list", "--strict")


async def converts(client):
    has_the_four(tool.name for tool in (await client.list_tools()).tools)
    found = words(await client.call_tool("find", {"query": "convert a time between timezones"}))
    holds(found, "time/convert_time", "what was found")
    holds(words(await opened(client, "tool:time/convert_time")), "source_timezone", "the schema")
    holds(words(await called(client, "time/convert_time", CONVERSION)), "19:30", "the result")


async def converts_over_stdio(mode, revision):
    async with Place(["time"]) as place:
        async with through(place, mode=mode) as client:
            equal(client.protocol_version, revision, "the revision")
            await converts(client)


async def converts_over_http(mode, revision):
    async with Place(["time"]) as place:
        async with serving(place) as url, Client(url, mode=mode) as client:
            equal(client.protocol_version, revision, "the revision")
            await converts(client)


@case
async def python_client_2025_11_25_over_stdio():
    await converts_over_stdio("legacy", "2025-11-25")


@case
async def python_client_2025_11_25_over_http():
    await converts_over_http("legacy", "2025-11-25")


@case
async def python_client_2026_07_28_over_stdio():
    await converts_over_stdio("auto", "2026-07-28")


@case
async def python_client_2026_07_28_over_http():
    await converts_over_http("auto", "2026-07-28")


@case
async def python_client_is_asked_for_input_over_stdio():
    await asked(lambda place, answer: through(place, mode="legacy", elicitation_callback=answer))


@case
async def python_client_is_asked_for_input_over_stdio_2026_07_28():
    await asked(lambda place, answer: through(place, mode="auto", elicitation_callback=answer))


async def asked(connect):
    from mcp.types import ElicitResult

    heard = []

    async def answer(context, params):
        heard.append(plain(params))
        return ElicitResult(action="accept", content={"username": "ada", "email": "ada@example.org"})

    async with Place(["conformance"]) as place:
        async with connect(place, answer) as client:
            result = await called(client, "conformance/test_elicitation", {"message": "Who are you?"})
            holds(words(result), "ada@example.org", "the result")
    equal(len(heard), 1, "questions")
    holds(heard[0]["message"], "Who are you?", "the question")
    equal(sorted(heard[0]["requestedSchema"]["properties"]), ["email", "username"], "what is asked for")


@case
async def python_client_is_asked_for_input_over_http():
    await declines("legacy")


@case
async def python_client_is_asked_for_input_over_http_2026_07_28():
    await declines("auto")


async def declines(mode):
    from mcp.types import ElicitResult

    heard = []

    async def answer(context, params):
        heard.append(params)
        return ElicitResult(action="decline")

    async with Place(["conformance"]) as place:
        async with serving(place) as url, Client(url, mode=mode, elicitation_callback=answer) as client:
            result = await called(client, "conformance/test_elicitation", {"message": "Who are you?"})
            holds(words(result), "decline", "the result")
    equal(len(heard), 1, "questions")


@case
async def python_client_that_cannot_be_asked_gets_an_answer():
    async with Place(["conformance"]) as place:
        async with through(place) as client:
            result = await called(client, "conformance/test_elicitation", {"message": "Who are you?"})
            assert words(result), "nothing was said"


@case
async def python_client_hears_progress_over_http():
    await hears_progress("legacy")


@case
async def python_client_hears_progress_over_http_2026_07_28():
    await hears_progress("auto")


async def hears_progress(mode):
    heard = []

    async def progress(done, total, message):
        heard.append(done)

    async with Place(["everything"]) as place:
        async with serving(place) as url, Client(url, mode=mode) as client:
            arguments = {"duration": 1, "steps": 4}
            await called(client, "everything/trigger-long-running-operation", arguments, progress_callback=progress)
    equal(heard, [1, 2, 3, 4], "progress")


@case
async def python_client_cancels_and_goes_on():
    async with Place(["everything", "time"]) as place:
        async with through(place) as client:
            await opened(client, "menu:everything")
            slow = {"duration": 30, "steps": 30}
            call = asyncio.create_task(called(client, "everything/trigger-long-running-operation", slow))
            await asyncio.sleep(1)
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
            echoed = await asyncio.wait_for(called(client, "everything/echo", {"message": "still here"}), 10)
            holds(words(echoed), "still here", "the next call")


@case
async def python_client_runs_a_hundred_calls_at_once():
    async with Place(["everything"]) as place:
        async with through(place) as client:
            await opened(client, "menu:everything")
            calls = (called(client, "everything/echo", {"message": f"call {n}"}) for n in range(100))
            for n, result in enumerate(await asyncio.gather(*calls)):
                holds(words(result), f"Echo: call {n}", f"call {n}")


@case
async def two_http_clients_do_not_see_each_other():
    async with Place(["everything"]) as place:
        async with serving(place) as url, Client(url, mode="legacy") as one, Client(url, mode="legacy") as other:
            secret = {"message": "only for the first " + "x" * 30_000}
            first = words(await called(one, "everything/echo", secret))
            holds(first, "only for the first", "the first client's result")
            for ref in ("ev:1", "ev:2", "ev:3"):
                seen = words(await opened(other, ref))
                assert "only for the first" not in seen, f"{ref} of the first client was read by the second"


if __name__ == "__main__":
    main()
