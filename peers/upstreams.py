"""Servers that others wrote, behind Concertina: what a client sees through it is what they say directly."""

import asyncio
import subprocess

from harness import Place, Skip, case, equal, has_the_four, holds, main
from today import called, directly, opened, others, plain, schemas_in, through, words

CONVERSION = {"source_timezone": "UTC", "time": "10:30", "target_timezone": "Asia/Tokyo"}


def anywhere(value, wanted):
    """Whether `wanted` stands somewhere in a JSON value."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return value == wanted or any(anywhere(one, wanted) for one in inside)


async def lists_and_unfolds(server, hidden=()):
    """Every tool that is not hidden is in the server's menu, can be found, and has the server's own schema."""
    async with Place([server]) as place:
        async with directly(place, server) as direct:
            tools = (await direct.list_tools()).tools
        assert {tool.name for tool in tools} >= set(hidden), "the server lacks a tool that should be hidden"
        async with through(place) as client:
            menu = words(await opened(client, f"menu:{server}"))
            root = words(await opened(client, "menu:"))
            holds(root, server, "the menu of all servers")
            for tool in tools:
                name = f"{server}/{tool.name}"
                if tool.name in hidden:
                    assert name not in menu, f"{name} is destructive and yet in the menu"
                    assert (await opened(client, f"tool:{name}")).is_error, f"{name} was opened"
                    continue
                holds(menu, name, "the menu of the server")
                found = await client.call_tool("find", {"query": tool.description[:200], "kind": "tool", "k": 10})
                holds(words(found), name, f"what is found for the description of {name}")
                text = words(await opened(client, f"tool:{name}"))
                schema = tool.input_schema
                assert any(anywhere(one, schema) for one in schemas_in(text)), f"{name}: another schema than {schema}: {text}"


async def answers_alike(server, calls, prepare=lambda place: None):
    """Each call says through Concertina what it says directly."""
    async with Place([server]) as place:
        prepare(place)
        async with directly(place, server) as direct, through(place) as client:
            for tool, arguments in calls:
                arguments = arguments(place) if callable(arguments) else arguments
                expected = await direct.call_tool(tool, arguments)
                found = await called(client, f"{server}/{tool}", arguments)
                alike(found, expected, tool)


def alike(found, expected, what):
    equal(bool(found.is_error), bool(expected.is_error), f"{what}: whether it is an error")
    for part in expected.content:
        if part.type == "text":
            holds(words(found), part.text, f"{what}: the text")
    sent = others(expected)
    equal([part for part in others(found) if part in sent], sent, f"{what}: what is not text")
    if expected.structured_content is not None:
        given = found.structured_content
        in_text = any(anywhere(one, expected.structured_content) for one in schemas_in(words(found)))
        in_text = in_text or only_wraps(expected.structured_content, words(found))
        assert in_text or anywhere(given, expected.structured_content), f"{what}: the structured result is lost: {given}"


def only_wraps(data, text):
    """A result of one field that holds the text says nothing the text does not."""
    values = list(data.values())
    return len(values) == 1 and isinstance(values[0], str) and values[0].strip() in text


@case
async def everything_lists_and_unfolds():
    await lists_and_unfolds("everything")


@case
async def filesystem_lists_and_unfolds_what_destroys_nothing():
    await lists_and_unfolds("filesystem", hidden=["write_file", "edit_file", "move_file"])


@case
async def memory_lists_and_unfolds_what_destroys_nothing():
    await lists_and_unfolds("memory", hidden=["delete_entities", "delete_observations", "delete_relations"])


@case
async def git_lists_and_unfolds_what_destroys_nothing():
    await lists_and_unfolds("git", hidden=["git_reset"])


@case
async def time_lists_and_unfolds():
    await lists_and_unfolds("time")


@case
async def everything_answers_alike():
    await answers_alike("everything", [
        ("echo", {"message": "with \"quotes\", <tags>, {braces}, & 你好"}),
        ("get-sum", {"a": 2, "b": 3.5}),
        ("get-structured-content", {"location": "New York"}),
        ("get-tiny-image", {}),
        ("get-resource-links", {"count": 3}),
        ("get-annotated-message", {"messageType": "error", "includeImage": True}),
    ])


@case
async def everything_passes_embedded_resources_on():
    async with Place(["everything"]) as place:
        arguments = {"resourceType": "Text", "resourceId": 1}
        async with directly(place, "everything") as direct, through(place) as client:
            expected = await direct.call_tool("get-resource-reference", arguments)
            found = await called(client, "everything/get-resource-reference", arguments)
            uri = others(expected)[0]["resource"]["uri"]
            assert any(part.get("resource", {}).get("uri") == uri for part in others(found)), f"no {uri} in {others(found)}"


@case
async def filesystem_answers_alike():
    note = lambda place: {"path": str(place.files / "note.txt")}
    await answers_alike("filesystem", [
        ("read_text_file", note),
        ("get_file_info", note),
        ("list_directory", lambda place: {"path": str(place.files)}),
        # Its own refusal is an error on both ways.
        ("read_text_file", lambda place: {"path": str(place.files / "none.txt")}),
    ])


@case
async def filesystem_keeps_the_directories_of_its_settings():
    async with Place(["filesystem"]) as place:
        async with through(place) as client:
            # It asks for roots after it has started, and then forgets its arguments.
            for _ in range(20):
                allowed = words(await called(client, "filesystem/list_allowed_directories"))
                await asyncio.sleep(0.1)
        if str(place.files) not in allowed:
            raise Skip("not so yet: the workspace, which servers are told as a root, replaces their own directories")


@case
async def filesystem_big_results_are_paged_and_read_back_whole():
    lines = [f"{number:05d} " + "x" * 60 for number in range(2000)]
    async with Place(["filesystem"]) as place:
        path = place.files / "big.txt"
        path.write_text("\n".join(lines) + "\n")
        async with through(place) as client:
            found = await called(client, "filesystem/read_text_file", {"path": str(path)})
            first = words(found)
            assert len(first.encode()) <= 10_000, f"{len(first.encode())} bytes in one result"
            holds(first, lines[0], "the first page")
            handle = next((word for word in first.replace("`", " ").replace('"', " ").split() if word.startswith("ev:")), None)
            assert handle, f"no handle for the rest in {first[:400]}…{first[-400:]}"
            page = words(await opened(client, handle.split("@")[0].rstrip(".,;:") + "@1500-1510"))
            holds(page, lines[1504], "lines 1500 to 1510")


@case
async def memory_answers_alike():
    entity = {"name": "Ada", "entityType": "person", "observations": ["wrote the first program"]}
    async with Place(["memory"]) as place:
        async with through(place) as client:
            made = await called(client, "memory/create_entities", {"entities": [entity]})
            assert not made.is_error, words(made)
            graph = await called(client, "memory/read_graph")
        async with directly(place, "memory") as direct:
            alike(graph, await direct.call_tool("read_graph", {}), "read_graph")


@case
async def git_answers_alike():
    def prepare(place):
        repository = place.directory("repository")
        (repository / "a.txt").write_text("one\n")
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
        for words_ in (["init", "-q"], ["add", "a.txt"], [*identity, "commit", "-q", "-m", "First"]):
            subprocess.run(["git", "-C", str(repository), *words_], check=True, env=place.environment)
        (repository / "a.txt").write_text("two\n")

    repository = lambda place: {"repo_path": str(place.root / "repository")}
    await answers_alike("git", [
        ("git_status", repository),
        ("git_diff_unstaged", repository),
        ("git_log", repository),
        ("git_show", lambda place: repository(place) | {"revision": "HEAD"}),
        ("git_branch", lambda place: repository(place) | {"branch_type": "local"}),
        ("git_status", {"repo_path": "/no/such/repository"}),
    ], prepare)


@case
async def time_answers_alike():
    await answers_alike("time", [
        ("convert_time", {"source_timezone": "Asia/Shanghai", "time": "10:30", "target_timezone": "Asia/Tokyo"}),
        ("convert_time", {"source_timezone": "Nowhere/At all", "time": "10:30", "target_timezone": "UTC"}),
    ])


@case
async def wrong_arguments_are_refused_with_the_schema():
    async with Place(["everything", "time"]) as place:
        async with through(place) as client:
            for tool, wrong, named in (
                ("everything/get-sum", {"a": "two", "b": 3}, "b"),
                ("everything/echo", {}, "message"),
                ("time/get_current_time", {"zone": "UTC"}, "timezone"),
            ):
                refused = await called(client, tool, wrong)
                assert refused.is_error, f"{tool} took {wrong}"
                text = words(refused)
                schemas = [one for one in schemas_in(text) if anywhere(one, "object")]
                assert any("properties" in str(one) and named in str(one) for one in schemas), f"{tool}: no schema in {text}"


@case
async def a_destructive_tool_called_by_name_does_nothing():
    async with Place(["filesystem"]) as place:
        target = place.files / "new.txt"
        arguments = {"path": str(target), "content": "x"}
        async with through(place) as client:
            for name in ("filesystem/write_file", "write_file", "filesystem__write_file"):
                refused = await called(client, name, arguments)
                assert refused.is_error, words(refused)
                try:
                    refused = await client.call_tool(name, arguments)
                    assert refused.is_error, words(refused)
                except Exception as error:
                    assert not isinstance(error, AssertionError), error
            assert not target.exists(), "the file was written"


@case
async def progress_of_a_real_server_arrives():
    async with Place(["everything"]) as place:
        heard = []

        async def progress(done, total, message):
            heard.append((done, total))

        arguments = {"duration": 1, "steps": 4}
        async with through(place) as client:
            result = await called(client, "everything/trigger-long-running-operation", arguments, progress_callback=progress)
            assert not result.is_error, words(result)
        assert [done for done, _ in heard] == [1, 2, 3, 4], heard
        assert {total for _, total in heard} == {4}, heard


@case
async def instructions_of_a_server_can_be_read():
    async with Place(["everything"]) as place:
        async with directly(place, "everything") as direct:
            instructions = direct.instructions
        async with through(place) as client:
            menu = words(await opened(client, "menu:everything"))
        line = next(line for line in instructions.splitlines() if line.strip())
        if line not in menu:
            raise Skip("not so yet: what a server says of itself is shown nowhere")


@case
async def prompts_of_a_server_are_passed_on():
    async with Place(["everything"]) as place:
        async with directly(place, "everything") as direct, through(place) as client:
            await opened(client, "menu:everything")
            expected = {prompt.name for prompt in (await direct.list_prompts()).prompts}
            found = {prompt.name: prompt for prompt in (await client.list_prompts()).prompts}
            given = await direct.get_prompt("args-prompt", {"city": "Paris"})
            ours = next((name for name in found if name.endswith("args-prompt")), None)
            missing = [name for name in expected if not any(one.endswith(name) for one in found)]
            equal(missing, [], "prompts that are missing")
            passed = await client.get_prompt(ours, {"city": "Paris"})
            equal([plain(m) for m in passed.messages], [plain(m) for m in given.messages], "the prompt's messages")


@case
async def resources_of_a_server_are_passed_on():
    async with Place(["everything"]) as place:
        async with directly(place, "everything") as direct, through(place) as client:
            await opened(client, "menu:everything")
            expected = {str(one.uri) for one in (await direct.list_resources()).resources}
            found = {str(one.uri) for one in (await client.list_resources()).resources}
            equal(sorted(expected - found), [], "resources that are missing")
            templates = {one.uri_template for one in (await direct.list_resource_templates()).resource_templates}
            offered = {one.uri_template for one in (await client.list_resource_templates()).resource_templates}
            equal(sorted(templates - offered), [], "templates that are missing")
            uri = sorted(expected)[0]
            before, after = await direct.read_resource(uri), await client.read_resource(uri)
            equal([plain(one) for one in after.contents], [plain(one) for one in before.contents], uri)


@case
async def five_servers_stand_behind_one():
    async with Place(["everything", "filesystem", "memory", "git", "time"]) as place:
        async with through(place) as client:
            has_the_four(tool.name for tool in (await client.list_tools()).tools)
            root = words(await opened(client, "menu:"))
            for server in place.programs:
                holds(root, server, "the menu of all servers")
            holds(words(await opened(client, "tool:time/convert_time")), "source_timezone", "the schema")
            converted = await client.call_tool("time/convert_time", CONVERSION)
            holds(words(converted), "19:30", "a tool by its name")


@case
async def a_server_that_was_never_started_is_waited_for_or_said_to_start():
    async with Place(["time"], met=False) as place:
        async with through(place) as client:
            while (converted := await called(client, "time/convert_time", CONVERSION)).is_error:
                holds(words(converted), "still starts", "the refusal")
            holds(words(converted), "19:30", "the result")


@case
async def the_state_of_a_server_outlives_a_call():
    """One program for all calls of a client, not one for each."""
    async with Place(["memory"]) as place:
        async with through(place) as client:
            for name in ("Ada", "Grace"):
                entity = {"name": name, "entityType": "person", "observations": []}
                assert not (await called(client, "memory/create_entities", {"entities": [entity]})).is_error
            graph = words(await called(client, "memory/read_graph"))
            holds(graph, "Ada", "the graph")
            holds(graph, "Grace", "the graph")


@case
async def a_server_that_does_not_start_costs_only_itself():
    async with Place(["time"]) as place:
        place.configure('\n[upstream.broken]\ncommand = "/no/such/program"\n\n[upstream.silent]\ncommand = "sleep"\nargs = ["600"]\n')
        async with through(place) as client:
            converted = await called(client, "time/convert_time", CONVERSION)
            holds(words(converted), "19:30", "the server that works")
            root = words(await opened(client, "menu:"))
            holds(root, "broken", "the menu of all servers")


if __name__ == "__main__":
    main()
