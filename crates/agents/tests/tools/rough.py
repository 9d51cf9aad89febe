"""An MCP server that misbehaves: each call is first written to a file, then goes wrong in its own way."""

import json
import os
import sys

TOOLS = ["die", "unreadable", "internal", "refuse", "huge", "many", "picture"]


def result(request):
    method = request["method"]
    if method == "initialize":
        return {
            "protocolVersion": request["params"]["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "rough", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]}
    if method != "tools/call":
        raise KeyError(-32601, "no such method")
    name = request["params"]["name"]
    with open(sys.argv[1], "a") as file:
        file.write(name + "\n")
    if name == "die":
        os._exit(1)
    if name == "unreadable":
        return {"content": "not a list"}
    if name == "internal":
        raise KeyError(-32603, "the pen broke")
    if name == "refuse":
        raise KeyError(-32602, "no pen named so")
    if name == "huge":
        return {"content": [{"type": "text", "text": "中" * 7_000_000}]}
    if name == "many":
        return {"content": [{"type": "text", "text": "a"}] * 700_000}
    return {"content": [{"type": "image", "data": "A" * 4_000_000, "mimeType": "image/png"}]}


for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    answer = {"jsonrpc": "2.0", "id": request["id"]}
    try:
        answer["result"] = result(request)
    except KeyError as error:
        answer["error"] = {"code": error.args[0], "message": error.args[1]}
    print(json.dumps(answer), flush=True)
