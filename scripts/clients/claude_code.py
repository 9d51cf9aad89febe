"""Claude Code with `contexture mcp` in its configuration, against a fake provider on loopback.

Usage: python3 claude_code.py CLAUDE CONTEXTURE FOLDER NODE_BIN
The fake model calls find, then expand with the page that was found, then answers with what it read. What Claude
Code sent is looked at: the tools are offered, results come back whole, and nothing of them is an error.
"""

import json
import os
import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CLAUDE, CONTEXTURE, FOLDER, NODE = sys.argv[1:5]
requests = []


def results(messages):
    """Returns the results of tools in a conversation, by the id of their call."""
    found = {}
    for message in messages:
        content = message["content"]
        for block in content if isinstance(content, list) else []:
            if block.get("type") == "tool_result":
                said = block["content"]
                text = said if isinstance(said, str) else "".join(it.get("text", "") for it in said)
                found[block["tool_use_id"]] = (text, block.get("is_error", False))
    return found


def answer(body):
    """Decides what the model says next."""
    if "mcp__contexture__find" not in json.dumps(body):
        return {"type": "text", "text": "ok"}
    got = results(body["messages"])
    # Schemas of MCP tools are loaded when the model asks for them.
    offered = {tool["name"] for tool in body.get("tools", [])}
    if "ToolSearch" in offered and "call_search" not in got:
        wanted = {"query": "select:mcp__contexture__find,mcp__contexture__expand"}
        return {"type": "tool_use", "id": "call_search", "name": "ToolSearch", "input": wanted}
    if "call_find" not in got:
        return call("find", {"query": "pelican tests"})
    if "call_expand" not in got:
        page = re.search(r"[a-z]+-\d+", got["call_find"][0]).group()
        return call("expand", {"page": page})
    when = re.search(r"On (\w+), after", got["call_expand"][0]).group(1)
    return {"type": "text", "text": f"The launch is on {when}."}


def call(name, arguments):
    return {"type": "tool_use", "id": f"call_{name}", "name": f"mcp__contexture__{name}", "input": arguments}


class Provider(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_HEAD(self):
        self.reply({})

    def do_GET(self):
        self.reply({})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        if "count_tokens" in self.path:
            return self.reply({"input_tokens": 100})
        if "/v1/messages" not in self.path:
            return self.reply({})
        requests.append(body)
        block = answer(body)
        stop = "tool_use" if block["type"] == "tool_use" else "end_turn"
        message = {"id": f"msg_{len(requests)}", "type": "message", "role": "assistant", "model": body["model"]}
        usage = {"input_tokens": 100, "output_tokens": 10}
        if not body.get("stream"):
            whole = message | {"content": [block], "stop_reason": stop, "stop_sequence": None, "usage": usage}
            return self.reply(whole)
        if block["type"] == "text":
            start, delta = block | {"text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            start = block | {"input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        begin = message | {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
        events = [
            ("message_start", {"message": begin}),
            ("content_block_start", {"index": 0, "content_block": start}),
            ("content_block_delta", {"index": 0, "delta": delta}),
            ("content_block_stop", {"index": 0}),
            ("message_delta", {"delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage}),
            ("message_stop", {}),
        ]
        lines = [f"event: {name}\ndata: {json.dumps({'type': name} | data)}\n\n" for name, data in events]
        self.reply("".join(lines).encode(), "text/event-stream")

    def reply(self, body, kind="application/json"):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
threading.Thread(target=server.serve_forever, daemon=True).start()
configuration = os.path.join(FOLDER, "mcp.json")
with open(configuration, "w") as file:
    json.dump({"mcpServers": {"contexture": {"command": CONTEXTURE, "args": ["mcp"]}}}, file)
home = os.path.join(FOLDER, "home")
os.makedirs(home, exist_ok=True)
environment = {
    "HOME": home,
    "PATH": f"{NODE}:/usr/local/bin:/usr/bin:/bin",
    "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{server.server_address[1]}",
    "ANTHROPIC_API_KEY": "none",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
}
allowed = "mcp__contexture__find,mcp__contexture__expand"
line = [os.path.abspath(CLAUDE), "-p", "When is the launch?", "--output-format", "json"]
line += ["--mcp-config", configuration, "--strict-mcp-config", "--allowedTools", allowed]
done = subprocess.run(
    line, cwd=FOLDER, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300
)
if done.returncode != 0:
    sys.exit(f"claude ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
said = json.loads(done.stdout)
if os.environ.get("SHOW"):
    for body in requests:
        print([tool["name"] for tool in body.get("tools", [])])
        print(json.dumps(body)[:int(os.environ["SHOW"])])
print("Claude Code said:", said["result"])
assert said["result"] == "The launch is on Friday.", said
first, last = (json.dumps(body) for body in (requests[0], requests[-1]))
names = "window read find expand hide pin write organise undo".split()
assert all(f"mcp__contexture__{name}" in first for name in names), "all tools are offered"
assert "Contexture keeps what was said" in first, "the server's instructions are in the prompt"
for identifier, (text, failed) in results(requests[-1]["messages"]).items():
    print(f"{identifier}: {text!r}")
    assert not failed
loaded = [tool for body in requests for tool in body.get("tools", []) if "contexture" in tool["name"]]
print(f"{len(requests)} requests; tools loaded: {sorted({tool['name'] for tool in loaded})}")
