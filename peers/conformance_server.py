"""An MCP server with the tools, prompts and resources that the conformance suite asks for.

It speaks on its standard streams, as a server behind a gateway does; with `--http PORT` it listens on
loopback instead, so that the suite can be run against it directly and what it lacks itself is known.
With `--before-2026` or `--since-2026` it has the tools alone that the suite calls in that revision, which
are few enough to be shown without a menu.
What it needs from a client it asks for in the way of the client's revision: by a request of its own
before 2026-07-28, by an answer that says what is missing since.
"""

import asyncio
import hashlib
import hmac
import json
import secrets
import sys

import mcp_types as types
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA=="
MISSING_CAPABILITY = -32021
INVALID_PARAMS = -32602
# Guards the state that a client carries between rounds.
KEY = secrets.token_bytes(32)


def text(words):
    return {"type": "text", "text": words}


def resource(uri, kind, words):
    return {"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": words}}


IMAGE = {"type": "image", "data": PNG, "mimeType": "image/png"}
AUDIO = {"type": "audio", "data": WAV, "mimeType": "audio/wav"}


def done(*content):
    return {"content": list(content)}


def form(message, properties, required=()):
    schema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = list(required)
    return {"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}}


def question(message, name, kind="string"):
    return form(message, {name: {"type": kind}}, [name])


def sampling(prompt, tokens):
    message = {"role": "user", "content": text(prompt)}
    return {"method": "sampling/createMessage", "params": {"messages": [message], "maxTokens": tokens}}


ROOTS = {"method": "roots/list", "params": {}}
# Which capability a client must have declared to be asked, and the type of its answer.
ASKABLE = {
    "elicitation/create": ("elicitation", types.ElicitRequest, types.ElicitResult),
    "sampling/createMessage": ("sampling", types.CreateMessageRequest, types.CreateMessageResult),
    "roots/list": ("roots", types.ListRootsRequest, types.ListRootsResult),
}

# What a tool that only answers answers.
PLAIN = {
    "test_simple_text": ("Returns a simple text", done(text("This is a simple text response for testing."))),
    "test_image_content": ("Returns an image", done(IMAGE)),
    "test_audio_content": ("Returns a sound", done(AUDIO)),
    "test_embedded_resource": (
        "Returns a resource inside the result",
        done(resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")),
    ),
    "test_multiple_content_types": (
        "Returns text, an image and a resource",
        done(
            text("Multiple content types test:"),
            IMAGE,
            resource("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
        ),
    ),
    "test_error_handling": (
        "Always fails",
        {**done(text("This tool intentionally returns an error for testing")), "isError": True},
    ),
    "json_schema_2020_12_tool": ("Tool with JSON Schema 2020-12 features", done(text("ok"))),
    "test_x_mcp_header": ("Takes a value that HTTP clients repeat in a header", done(text("ok"))),
}


def echo(answers):
    return done(text(json.dumps(answers)))


def hello(answers):
    name = (answers["user_name"].get("content") or {}).get("name")
    return done(text(f"Hello, {name}!"))


def response(answers):
    only = answers["input"]
    return done(text(f"User response: action={only['action']}, content={json.dumps(only.get('content'))}"))


def completed(answers):
    only = answers["input"]
    return done(text(f"Elicitation completed: action={only['action']}, content={json.dumps(only.get('content'))}"))


def said(answers):
    return done(text(f"LLM response: {answers['input']['content']['text']}"))


DEFAULTS = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": True},
}


def titled(*pairs):
    return [{"const": value, "title": title} for value, title in pairs]


ENUMS = {
    "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
    "titledSingle": {
        "type": "string",
        "oneOf": titled(("value1", "First Option"), ("value2", "Second Option"), ("value3", "Third Option")),
    },
    "legacyEnum": {
        "type": "string",
        "enum": ["opt1", "opt2", "opt3"],
        "enumNames": ["Option One", "Option Two", "Option Three"],
    },
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
    "titledMulti": {
        "type": "array",
        "items": {"anyOf": titled(("value1", "First Choice"), ("value2", "Second Choice"), ("value3", "Third Choice"))},
    },
}

USER = {
    "username": {"type": "string", "description": "User's response"},
    "email": {"type": "string", "description": "User's email address"},
}

# A tool that asks: rounds of requests by key, given the tool's arguments, and what it makes of the answers.
# A state is carried where the third says so.
ASKING = {
    "test_elicitation": (
        lambda a: [{"input": form(a["message"], USER, ["username", "email"])}], response, False),
    "test_sampling": (lambda a: [{"input": sampling(a["prompt"], 100)}], said, False),
    "test_elicitation_sep1034_defaults": (
        lambda _: [{"input": form("Please review", DEFAULTS)}], completed, False),
    "test_elicitation_sep1330_enums": (lambda _: [{"input": form("Please choose", ENUMS)}], completed, False),
    "test_streaming_elicitation": (lambda _: [{"input": question("Go on?", "ok", "boolean")}], completed, False),
    "test_input_required_result_elicitation": (
        lambda _: [{"user_name": question("What is your name?", "name")}], hello, False),
    "test_input_required_result_sampling": (
        lambda _: [{"capital_question": sampling("What is the capital of France?", 100)}], echo, False),
    "test_input_required_result_list_roots": (lambda _: [{"client_roots": ROOTS}], echo, False),
    "test_input_required_result_request_state": (
        lambda _: [{"confirm": question("Please confirm", "ok", "boolean")}],
        lambda _: done(text("state-ok")), True),
    "test_input_required_result_multiple_inputs": (
        lambda _: [{
            "user_name": question("What is your name?", "name"),
            "greeting": sampling("Generate a greeting", 50),
            "client_roots": ROOTS,
        }], echo, True),
    "test_input_required_result_multi_round": (
        lambda _: [
            {"step1": question("Step 1: What is your name?", "name")},
            {"step2": question("Step 2: What is your favorite color?", "color")},
        ], echo, True),
    "test_input_required_result_tampered_state": (
        lambda _: [{"confirm": question("Please confirm", "ok", "boolean")}], echo, True),
    "test_input_required_result_capabilities": (
        lambda _: [{"elicited": question("What is your name?", "name"), "sampled": sampling("Say hello", 50)}],
        echo, False),
}
# Asks for what the client can give and leaves the rest out.
LENIENT = {"test_input_required_result_capabilities"}

ACTING = {
    "test_tool_with_logging": "Logs three times while it runs",
    "test_logging_tool": "Logs once while it runs",
    "test_tool_with_progress": "Says how far it is while it runs",
    "test_reconnection": "Answers after its stream was closed",
    "test_missing_capability": "Needs a client that answers sampling requests",
    "test_trigger_tool_change": "Says that the tools changed",
    "test_trigger_prompt_change": "Says that the prompts changed",
}

# What the suite calls before 2026-07-28 alone; of the rest, what asks or has to do with subscriptions is new.
OLD = {
    "test_elicitation", "test_sampling", "test_elicitation_sep1034_defaults", "test_elicitation_sep1330_enums",
    "test_tool_with_logging", "test_reconnection",
}
BOTH = {*PLAIN, "test_tool_with_progress"}
LEFT_OUT = {
    "--before-2026": lambda name: name not in OLD | BOTH,
    "--since-2026": lambda name: name in OLD,
}

ADDRESS = {"street": {"type": "string"}, "city": {"type": "string"}}
SCHEMAS = {
    "test_elicitation": {
        "type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]},
    "test_sampling": {"type": "object", "properties": {"prompt": {"type": "string"}}, "required": ["prompt"]},
    "test_x_mcp_header": {
        "type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}},
    "json_schema_2020_12_tool": {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": ADDRESS}},
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": False,
    },
}

PROMPTS = {
    "test_simple_prompt": ([], lambda _: [text("This is a simple prompt for testing.")]),
    "test_prompt_with_arguments": (
        ["arg1", "arg2"],
        lambda a: [text(f"Prompt with arguments: arg1='{a['arg1']}', arg2='{a['arg2']}'")]),
    "test_prompt_with_embedded_resource": (
        ["resourceUri"],
        lambda a: [
            resource(a["resourceUri"], "text/plain", "Embedded resource content for testing."),
            text("Please process the embedded resource above."),
        ]),
    "test_prompt_with_image": ([], lambda _: [IMAGE, text("Please analyze the image above.")]),
    "test_input_required_result_prompt": ([], None),
}

RESOURCES = {
    "test://static-text": ("text/plain", {"text": "This is the content of the static text resource."}),
    "test://static-binary": ("image/png", {"blob": PNG}),
    "test://watched-resource": ("text/plain", {"text": "This one may be watched."}),
}
TEMPLATE = "test://template/{id}/data"

changes = InMemorySubscriptionBus()


def seal(state):
    return state + "." + hmac.new(KEY, state.encode(), hashlib.sha256).hexdigest()


def opened(sealed):
    state = sealed.rpartition(".")[0]
    if not hmac.compare_digest(seal(state), sealed):
        raise MCPError(INVALID_PARAMS, "the request state was changed")
    return json.loads(state)


def plain(value):
    return value.model_dump(by_alias=True, mode="json", exclude_none=True)


def declared(ctx):
    """The capabilities of whoever sent this request."""
    own = (ctx.meta or {}).get("io.modelcontextprotocol/clientCapabilities")
    if own is None and ctx.session.client_capabilities:
        own = plain(ctx.session.client_capabilities)
    return own or {}


def missing(capability):
    data = {"requiredCapabilities": {capability: {}}}
    return MCPError(MISSING_CAPABILITY, f"the client did not declare {capability}", data)


async def ask(ctx, params, rounds, lenient, stateful):
    """The answers to every request of every round, or what to answer so that they come."""
    can = declared(ctx)
    for requests in rounds:
        for key, request in list(requests.items()):
            capability = ASKABLE[request["method"]][0]
            if capability in can:
                continue
            if not lenient:
                raise missing(capability)
            del requests[key]
    if ctx.session.can_send_request:
        answers = {}
        for requests in rounds:
            for key, request in requests.items():
                _, sent, received = ASKABLE[request["method"]]
                answer = await ctx.session.send_request(sent.model_validate(request), received)
                answers[key] = plain(answer)
        return answers, None
    answers = opened(params.request_state) if params.request_state else {}
    for key, answer in (params.input_responses or {}).items():
        answers[key] = answer if isinstance(answer, dict) else plain(answer)
    for requests in rounds:
        lacking = {key: request for key, request in requests.items() if not fits(request, answers.get(key))}
        if lacking:
            required = {"resultType": "input_required", "inputRequests": lacking}
            if stateful:
                required["requestState"] = seal(json.dumps({k: v for k, v in answers.items() if k not in lacking}))
            return None, required
    return answers, None


def fits(request, answer):
    key = {"elicitation/create": "action", "sampling/createMessage": "content", "roots/list": "roots"}
    return isinstance(answer, dict) and key[request["method"]] in answer


def is_left_out(name):
    return any(LEFT_OUT[word](name) for word in sys.argv if word in LEFT_OUT)


async def list_tools(ctx, params):
    described = {name: words for name, (words, _) in PLAIN.items()}
    described |= {name: "Asks the client while it runs" for name in ASKING} | ACTING
    nothing = {"type": "object", "properties": {}}
    return {
        "tools": [
            {
                "name": name,
                "description": words,
                "inputSchema": SCHEMAS.get(name, nothing),
                "annotations": {"readOnlyHint": True},
            }
            for name, words in sorted(described.items())
            if not is_left_out(name)
        ]
    }


async def call_tool(ctx, params):
    name, arguments = params.name, params.arguments or {}
    if name in PLAIN:
        return PLAIN[name][1]
    if name in ASKING:
        rounds, conclude, stateful = ASKING[name]
        answers, required = await ask(ctx, params, rounds(arguments), name in LENIENT, stateful)
        return required or conclude(answers)
    if name in ACTING:
        return await act(ctx, name)
    raise MCPError(INVALID_PARAMS, f"there is no tool {name}")


async def act(ctx, name):
    if name == "test_tool_with_logging":
        for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
            await ctx.session.send_log_message("info", words, related_request_id=ctx.request_id)
            await asyncio.sleep(0.05)
    elif name == "test_logging_tool":
        await ctx.session.send_log_message("info", "Tool execution started", related_request_id=ctx.request_id)
    elif name == "test_tool_with_progress":
        for progress in (0, 50, 100):
            await ctx.session.report_progress(progress, 100)
            await asyncio.sleep(0.05)
    elif name == "test_reconnection":
        if ctx.close_sse_stream:
            await ctx.close_sse_stream()
        await asyncio.sleep(0.1)
    elif name == "test_missing_capability" and "sampling" not in declared(ctx):
        raise missing("sampling")
    elif name == "test_trigger_tool_change":
        await changed(ctx, ToolsListChanged(), ctx.session.send_tool_list_changed)
    elif name == "test_trigger_prompt_change":
        await changed(ctx, PromptsListChanged(), ctx.session.send_prompt_list_changed)
    return done(text(f"{name} is done"))


async def changed(ctx, event, notify):
    await changes.publish(event)
    if ctx.session.can_send_request:
        await notify()


async def list_prompts(ctx, params):
    return {
        "prompts": [
            {
                "name": name,
                "description": f"The prompt {name}",
                "arguments": [{"name": argument, "required": True} for argument in arguments],
            }
            for name, (arguments, _) in sorted(PROMPTS.items())
        ]
    }


async def get_prompt(ctx, params):
    if params.name not in PROMPTS:
        raise MCPError(INVALID_PARAMS, f"there is no prompt {params.name}")
    messages = PROMPTS[params.name][1]
    if messages is None:
        rounds = [{"user_context": question("What context should the prompt use?", "context")}]
        answers, required = await ask(ctx, params, rounds, False, False)
        if required:
            return required
        content = [text(json.dumps(answers))]
    else:
        content = messages(params.arguments or {})
    return {"messages": [{"role": "user", "content": part} for part in content]}


async def list_resources(ctx, params):
    return {
        "resources": [
            {"uri": uri, "name": uri.rpartition("/")[2], "description": f"The resource {uri}", "mimeType": kind}
            for uri, (kind, _) in sorted(RESOURCES.items())
        ]
    }


async def list_templates(ctx, params):
    template = {"uriTemplate": TEMPLATE, "name": "template", "mimeType": "application/json"}
    return {"resourceTemplates": [template | {"description": "Data by its id"}]}


async def read_resource(ctx, params):
    uri = str(params.uri)
    before, after = TEMPLATE.split("{id}")
    if uri in RESOURCES:
        kind, content = RESOURCES[uri]
    elif uri.startswith(before) and uri.endswith(after):
        number = uri[len(before):len(uri) - len(after)]
        kind = "application/json"
        content = {"text": json.dumps({"id": number, "templateTest": True, "data": f"Data for ID: {number}"})}
    else:
        raise MCPError(INVALID_PARAMS, "Resource not found", {"uri": uri})
    return {"contents": [{"uri": uri, "mimeType": kind, **content}]}


async def complete(ctx, params):
    words = [word for word in ("paris", "park", "party") if word.startswith(params.argument.value)]
    return {"completion": {"values": words, "total": len(words), "hasMore": False}}


async def nothing(ctx, params):
    return {}


def answering(result, handler):
    """The handler, with its answer as the type that is written in each revision's own way."""

    async def answer(ctx, params):
        given = await handler(ctx, params)
        required = given.get("resultType") == "input_required"
        return (types.InputRequiredResult if required else result).model_validate(given)

    return answer


def server():
    return Server(
        "conformance-server",
        version="1.0.0",
        instructions="Everything that the conformance suite asks for.",
        on_list_tools=answering(types.ListToolsResult, list_tools),
        on_call_tool=answering(types.CallToolResult, call_tool),
        on_list_prompts=answering(types.ListPromptsResult, list_prompts),
        on_get_prompt=answering(types.GetPromptResult, get_prompt),
        on_list_resources=answering(types.ListResourcesResult, list_resources),
        on_list_resource_templates=answering(types.ListResourceTemplatesResult, list_templates),
        on_read_resource=answering(types.ReadResourceResult, read_resource),
        on_subscribe_resource=answering(types.EmptyResult, nothing),
        on_unsubscribe_resource=answering(types.EmptyResult, nothing),
        on_completion=answering(types.CompleteResult, complete),
        # Known before 2026-07-28 only.
        on_set_logging_level=answering(types.EmptyResult, nothing),
        on_subscriptions_listen=ListenHandler(changes),
    )


async def speak():
    it = server()
    options = it.create_initialization_options(NotificationOptions(tools_changed=True, prompts_changed=True))
    async with stdio_server() as (read, write):
        await it.run(read, write, options)


def listen(port):
    import uvicorn

    uvicorn.run(server().streamable_http_app(), host="127.0.0.1", port=port, log_level="warning")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--http"]:
        listen(int(sys.argv[2]))
    else:
        asyncio.run(speak())
