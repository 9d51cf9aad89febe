"""Passes requests on to a server on loopback with a token added: for suites that cannot send one.

Usage: TOKEN=... python3 proxy.py http://127.0.0.1:PORT
Prints its own address, and passes on Host and Origin as they came.
"""

import http.client
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

TARGET = urlsplit(sys.argv[1]).netloc
TOKEN = os.environ["TOKEN"]
HOPS = {"connection", "transfer-encoding", "keep-alive"}


class Proxy(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def pass_on(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        upstream = http.client.HTTPConnection(TARGET, timeout=300)
        upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            if name.lower() not in HOPS:
                upstream.putheader(name, value)
        upstream.putheader("Authorization", f"Bearer {TOKEN}")
        upstream.endheaders(body or None)
        answer = upstream.getresponse()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in HOPS | {"content-length"}:
                self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()
        while piece := answer.read1(65536):
            self.wfile.write(piece)
            self.wfile.flush()
        upstream.close()
        self.close_connection = True

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = pass_on

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
server.daemon_threads = True
print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
server.serve_forever()
