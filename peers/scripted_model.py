"""A model on loopback that does as it is told, in the three ways in which clients speak to models.

It is given tool calls to make one after another and says a last word when all of them have been answered.
Which is next it sees from the conversation: as many results as it holds were asked for.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LAST_WORD = "That is all."


class Model:
    """Listens while it is entered. `heard` holds every request that offered tools."""

    def __init__(self, calls, name):
        """`calls` are pairs of a tool and its arguments; `name` makes the client's name for a tool."""
        self.calls, self.name, self.heard, self.seen = calls, name, [], []

    def __enter__(self):
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                self.reply("application/json", json.dumps({"data": [], "models": []}))

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
                model.seen.append(self.path)
                for part, speak in WAYS.items():
                    if part in self.path:
                        return self.reply(*speak(model, body))
                self.reply("application/json", json.dumps({"totalTokens": 1}))

            def reply(self, kind, text):
                data = text.encode()
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_port}"

    def next(self, request, answered):
        """The next call, or none when the last word is due."""
        self.heard.append(request)
        return self.calls[answered] if answered < len(self.calls) else None


def events(*objects, named=False):
    lines = []
    for one in objects:
        if named:
            lines.append(f"event: {one['type']}")
        lines += [f"data: {one if isinstance(one, str) else json.dumps(one)}", ""]
    return "text/event-stream", "\n".join(lines) + "\n"


def responses(model, request):
    answered = sum(item.get("type") == "function_call_output" for item in request.get("input", []))
    call = model.next(request, answered) if request.get("tools") else None
    if call:
        tool, arguments = call
        item = {"type": "function_call", "id": f"fc_{answered}", "call_id": f"call_{answered}",
                "arguments": json.dumps(arguments), **model.name(tool)}
    else:
        item = {"type": "message", "id": "msg", "role": "assistant",
                "content": [{"type": "output_text", "text": LAST_WORD}]}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    return events(
        {"type": "response.created", "response": {"id": "r"}},
        {"type": "response.output_item.done", "item": item},
        {"type": "response.completed", "response": {"id": "r", "usage": usage}},
        named=True,
    )


def completions(model, request):
    answered = sum(message.get("role") == "tool" for message in request.get("messages", []))
    call = model.next(request, answered) if request.get("tools") else None
    if call:
        tool, arguments = call
        function = {"name": model.name(tool), "arguments": json.dumps(arguments)}
        delta = {"role": "assistant", "tool_calls": [
            {"index": 0, "id": f"call_{answered}", "type": "function", "function": function}]}
    else:
        delta = {"role": "assistant", "content": LAST_WORD}
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": request.get("model", "")}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return events(
        {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls" if call else "stop"}],
         "usage": usage},
        "[DONE]",
    )


def generate(model, request):
    parts = [part for content in request.get("contents", []) for part in content.get("parts", [])]
    answered = sum("functionResponse" in part for part in parts)
    call = model.next(request, answered) if request.get("tools") else None
    if call:
        tool, arguments = call
        part = {"functionCall": {"name": model.name(tool), "args": arguments}}
    else:
        part = {"text": LAST_WORD}
    return events({
        "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
    })


def generate_at_once(model, request):
    kind, text = generate(model, request)
    return "application/json", text.removeprefix("data: ").strip()


# By what the path holds.
WAYS = {
    "/responses": responses,
    "/chat/completions": completions,
    ":streamGenerateContent": generate,
    ":generateContent": generate_at_once,
}
