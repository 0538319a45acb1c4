"""The official Python SDK's client against a server of ours, in a process of its own: it needs an event loop.

``python -m tests.mcp_sdk_child URL SECRET MODE`` prints what it saw as one JSON object.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import httpx2
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client


async def look(url: str, secret: str, mode: str) -> dict[str, Any]:
    """Do what a host does: agree on a revision, list, read, ask for progress, propose, and call what is not there."""
    heard: list[Any] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append([progress, message])

    headers = {"Authorization": f"Bearer {secret}"}
    async with httpx2.AsyncClient(headers=headers, timeout=30) as http:
        transport = streamable_http_client(url, http_client=http)
        async with Client(transport, mode=mode) as client:
            listed = await client.list_tools()
            stock = await client.call_tool("stock", {})
            echo = await client.call_tool("echo", {"text": "grün"})
            counted = await client.call_tool("count", {"number": 3}, progress_callback=hear)
            refund = await client.call_tool("refund", {"order": 1})
            try:
                unknown: Any = await client.call_tool("approve", {})
            except MCPError as error:
                unknown = error.error.code
            return {
                "revision": client.protocol_version,
                "tools": [tool.name for tool in listed.tools],
                "stock": stock.structured_content,
                "echo": echo.structured_content,
                "counted": counted.structured_content,
                "heard": heard,
                "refund": refund.structured_content,
                "is_error": refund.is_error,
                "unknown": unknown,
            }


def main() -> None:
    print(json.dumps(asyncio.run(look(*sys.argv[1:4]))))


if __name__ == "__main__":
    main()
