"""Coding agents that people use, with a scripted model: each finds, opens and calls through Concertina.

What is asserted is what the model was shown, as the agent passes it on.
"""

import json
import os
import pathlib

from harness import CONCERTINA, NODE, Place, Skip, case, equal, holds, main, program
from scripted_model import LAST_WORD, Model

AGENTS = pathlib.Path(os.environ["PEERS_AGENTS"])
CONVERSION = {"source_timezone": "UTC", "time": "10:30", "target_timezone": "Asia/Tokyo"}
CALLS = [
    ("find", {"query": "convert a time between timezones"}),
    ("open", {"ref": "tool:time/convert_time"}),
    ("call", {"tool": "time/convert_time", "args": CONVERSION}),
]
TASK = "Convert 10:30 UTC to Tokyo."


def server(place):
    """The program and the environment that an agent starts as its MCP server."""
    return CONCERTINA, ["mcp"], place.environment


def shown(model, offered):
    """Asserts that the tools were offered and that each step's result reached the model."""
    assert model.heard, f"the model was asked for nothing but {model.seen}"
    first, last = json.dumps(model.heard[0]), json.dumps(model.heard[-1])
    for tool in ("find", "open", "call", "close"):
        holds(first, offered(tool), "what the model was offered")
    for part in ("time/convert_time", "source_timezone", "19:30"):
        holds(last, part, "what the model was shown")


@case
async def codex_finds_opens_and_calls():
    async with Place(["time"]) as place:
        command, args, environment = server(place)
        with Model(CALLS, lambda tool: {"name": tool, "namespace": "mcp__concertina"}) as model:
            home = place.directory("codex")
            (home / "config.toml").write_text(f"""\
model = "scripted"
model_provider = "loopback"

[model_providers.loopback]
name = "loopback"
base_url = "{model.url}/v1"
env_key = "LOOPBACK_KEY"
wire_api = "responses"

[mcp_servers.concertina]
command = {json.dumps(command)}
args = {json.dumps(args)}
default_tools_approval_mode = "approve"
required = true

[mcp_servers.concertina.env]
{chr(10).join(f"{key} = {json.dumps(value)}" for key, value in environment.items())}
""")
            argv = [NODE, AGENTS / "@openai/codex/bin/codex.js", "exec", "--skip-git-repo-check", TASK]
            code, out, err = await program(argv, place, CODEX_HOME=str(home), LOOPBACK_KEY="none")
            assert code == 0, f"codex ended with {code}: {err[-400:]}"
            shown(model, lambda tool: f'"{tool}"')
            holds(json.dumps(model.heard[0]), "mcp__concertina", "what the model was offered")
            holds(out, LAST_WORD, "what codex printed")


@case
async def opencode_finds_opens_and_calls():
    async with Place(["time"]) as place:
        command, args, environment = server(place)
        with Model(CALLS, lambda tool: f"concertina_{tool}") as model:
            (place.workspace / "opencode.json").write_text(json.dumps({
                "model": "loopback/scripted",
                "autoupdate": False,
                "share": "disabled",
                "provider": {"loopback": {
                    "npm": "@ai-sdk/openai-compatible",
                    "options": {"baseURL": f"{model.url}/v1", "apiKey": "none"},
                    "models": {"scripted": {"name": "scripted", "limit": {"context": 200000, "output": 8000}}},
                }},
                "mcp": {"concertina": {
                    "type": "local", "command": [command, *args], "environment": environment, "enabled": True}},
            }))
            argv = [*opencode(), "run", TASK]
            code, out, err = await program(argv, place)
            assert code == 0, f"opencode ended with {code}: {err[-400:]}"
            shown(model, lambda tool: f"concertina_{tool}")
            holds(out, LAST_WORD, "what opencode printed")


def opencode():
    """Its package holds a starter for the program of each kind of processor; the baseline one runs everywhere."""
    for kind in ("", "-baseline"):
        path = AGENTS / f"opencode-linux-x64{kind}/bin/opencode"
        if path.exists():
            return [path]
    raise Skip("opencode has no program for this machine")


@case
async def gemini_finds_opens_and_calls():
    async with Place(["time"]) as place:
        command, args, environment = server(place)
        with Model(CALLS, lambda tool: f"mcp_concertina_{tool}") as model:
            settings = place.directory(".gemini")
            (settings / "settings.json").write_text(json.dumps({
                "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
                "general": {"disableAutoUpdate": True},
                "privacy": {"usageStatisticsEnabled": False},
                "telemetry": {"enabled": False},
                "mcpServers": {"concertina": {
                    "command": command, "args": args, "env": environment, "trust": True}},
            }))
            argv = [NODE, AGENTS / "@google/gemini-cli/bundle/gemini.js", "--model", "gemini-2.5-flash", "--prompt", TASK]
            code, out, err = await program(
                argv, place, GOOGLE_GEMINI_BASE_URL=model.url, GEMINI_API_KEY="none", GEMINI_CLI_NO_RELAUNCH="true")
            assert code == 0, f"gemini ended with {code}: {err[-400:]}"
            shown(model, lambda tool: f"mcp_concertina_{tool}")
            holds(out, LAST_WORD, "what gemini printed")


if __name__ == "__main__":
    main()
