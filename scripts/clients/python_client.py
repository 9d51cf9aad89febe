"""The Python SDK as a client: both revisions over HTTP, and over stdio.

Usage: python_client.py URL CONTEXTURE FOLDER
"""

import asyncio
import sys

from mcp import Client, StdioServerParameters

URL, CONTEXTURE, FOLDER = sys.argv[1:4]
NAMES = ["window", "read", "find", "expand", "hide", "pin", "write", "organise", "undo"]


async def use(name, server, mode):
    async with Client(server, mode=mode) as client:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == NAMES, tools
        found = await client.call_tool("find", {"query": "pelican tests"})
        assert not found.is_error and "usr-1" in found.content[0].text, found
        made = await client.call_tool("write", {"action": "create", "name": "Note", "text": name})
        page = made.structured_content["pages"][0]
        assert page["version"] == 1, made
        missing = await client.call_tool("read", {"page": "usr-900"})
        assert missing.is_error and "not found" in missing.content[0].text, missing
        resources = (await client.list_resources()).resources
        uri = f"contexture://default/{page['index']}"
        assert uri in [str(resource.uri) for resource in resources], resources
        read = await client.read_resource(uri)
        assert name in read.contents[0].text, read
        templates = (await client.list_resource_templates()).resource_templates
        assert len(templates) == 2, templates
        prompt = await client.get_prompt("continue", {"budget": "2000"})
        assert "pelican" in prompt.messages[0].content.text, prompt
        print(f"{name}: {len(tools)} tools, {len(resources)} resources, revision {client.protocol_version}")


async def main():
    for mode in ("auto", "2026-07-28", "legacy"):
        await use(f"HTTP, {mode}", URL, mode)
    program = StdioServerParameters(command=CONTEXTURE, args=["mcp"], cwd=FOLDER)
    for mode in ("auto", "2026-07-28", "legacy"):
        await use(f"stdio, {mode}", program, mode)


asyncio.run(main())
