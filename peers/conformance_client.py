"""Concertina as the client that the conformance suite tests: the suite's server is the one behind it.

The suite starts this with the address of its server as the last argument and says in the environment which
scenario runs and, where that needs it, which calls to make.
"""

import asyncio
import json
import os
import sys

from harness import Place
from mcp.types import ElicitResult
from today import called, opened, through, words

SAMPLES = {"number": 2, "integer": 2, "boolean": True, "array": [], "object": {}}


def sample(schema):
    """Arguments that a schema accepts, as far as the suite's tools need any."""
    properties = schema.get("properties", {})
    return {name: SAMPLES.get(properties.get(name, {}).get("type"), "x") for name in schema.get("required", [])}


async def answer(context, params):
    properties = (params.requested_schema or {}).get("properties", {})
    given = {name: one["default"] for name, one in properties.items() if "default" in one}
    return ElicitResult(action="accept", content=given or sample(params.requested_schema or {}))


async def drive(url):
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    async with Place([]) as place:
        place.configure(f"[upstream.suite]\nurl = {json.dumps(url)}\n")
        async with through(place, "--listed", elicitation_callback=answer) as client:
            print(words(await opened(client, "menu:suite")))
            tools = [tool for tool in (await client.list_tools()).tools if tool.name.startswith("suite__")]
            calls = context.get("toolCalls")
            if calls is None:
                calls = [{"name": t.name.removeprefix("suite__"), "arguments": sample(t.input_schema)} for t in tools]
            schemas = {tool.name.removeprefix("suite__"): tool.input_schema for tool in tools}
            for call in calls:
                arguments = call.get("arguments") or {}
                if "schema" in arguments:
                    # The scenario wants the schema of its other tool back, as it arrived here.
                    arguments = {"schema": next(one for name, one in schemas.items() if name != call["name"])}
                print(call["name"], words(await called(client, f"suite/{call['name']}", arguments)))
            for resource in (await client.list_resources()).resources:
                print(await client.read_resource(str(resource.uri)))
            for prompt in (await client.list_prompts()).prompts:
                if prompt.name.startswith("suite"):
                    given = {one.name: "x" for one in prompt.arguments or []}
                    print(await client.get_prompt(prompt.name, given))


if __name__ == "__main__":
    asyncio.run(drive(sys.argv[-1]))
