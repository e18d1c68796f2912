"""A Hugging Face Hub of our own over a directory: the dataset u/n, with large files in a storage that answers on another port."""

import contextlib
import hashlib
import http.server
import json
import pathlib
import threading
import urllib.parse

COMMIT = "0123456789abcdef0123456789abcdef01234567"
LARGE = 16 << 10


def version(path):
    """(name of the version, whether it lies in the storage)."""
    data = path.read_bytes()
    if len(data) < LARGE:
        return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest(), False
    return hashlib.sha256(data).hexdigest(), True


class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        self.server.asked.append(f"{self.command} {self.path}")
        self.answer(urllib.parse.urlsplit(self.path))

    def say(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def say_file(self, path, **headers):
        """A file, or the range of it that was asked for."""
        data, asked = path.read_bytes(), self.headers.get("Range")
        if asked is None:
            return self.say(200, data, Accept_Ranges="bytes", **headers)
        first, last = asked.removeprefix("bytes=").split("-")
        part = data[int(first):int(last or len(data)) + 1]
        return self.say(206, part, Content_Range=f"bytes {first}-{int(first) + len(part) - 1}/{len(data)}", **headers)


class Hub(Answer):
    def answer(self, url):
        root, token = self.server.root, self.server.token
        if token and self.headers.get("Authorization") != f"Bearer {token}":
            return self.say(401, X_Error_Code="RepoNotFound")
        path = urllib.parse.unquote(url.path)
        if path in ("/api/datasets/u/n", "/api/datasets/u/n/revision/main", f"/api/datasets/u/n/revision/{COMMIT}"):
            about = {"_id": "0", "id": "u/n", "sha": COMMIT, "private": False, "disabled": False, "downloads": 0, "likes": 0, "tags": []}
            return self.say(200, json.dumps(about).encode(), Content_Type="application/json", X_Repo_Commit=COMMIT)
        for revision in ("main", COMMIT):
            if (path + "/").startswith(tree := f"/api/datasets/u/n/tree/{revision}/"):
                return self.tree(root / path[len(tree):], "recursive=true" in url.query.lower())
            if path.startswith(resolve := f"/datasets/u/n/resolve/{revision}/"):
                return self.resolve(root / path[len(resolve):])
        return self.say(404, X_Error_Code="RepoNotFound")

    def tree(self, directory, recursive):
        if not directory.is_dir():
            return self.say(404, X_Error_Code="EntryNotFound")
        entries = []
        for path in sorted(directory.rglob("*") if recursive else directory.iterdir()):
            name = str(path.relative_to(self.server.root))
            if path.is_dir():
                entries.append({"type": "directory", "oid": "0", "size": 0, "path": name})
                continue
            (oid, large), size = version(path), path.stat().st_size
            entries.append({"type": "file", "oid": oid, "size": size, "path": name})
            if large:
                entries[-1]["lfs"] = {"oid": oid, "size": size, "pointerSize": 130}
        return self.say(200, json.dumps(entries).encode(), Content_Type="application/json")

    def resolve(self, path):
        if not path.is_file():
            return self.say(404, X_Error_Code="EntryNotFound")
        tag, large = version(path)
        if not large:
            return self.say_file(path, ETag=f'"{tag}"', X_Repo_Commit=COMMIT)
        address = f"{self.server.storage}/{urllib.parse.quote(str(path.relative_to(self.server.root)))}?Signature=x"
        return self.say(302, Location=address, X_Linked_ETag=f'"{tag}"', X_Linked_Size=str(path.stat().st_size), X_Repo_Commit=COMMIT)


class Storage(Answer):
    def answer(self, url):
        if "Authorization" in self.headers or url.query != "Signature=x":
            return self.say(403)
        return self.say_file(self.server.root / urllib.parse.unquote(url.path[1:]), ETag='"of the storage"')


class Server(http.server.ThreadingHTTPServer):
    """Of a directory; asked has the requests so far."""

    def __init__(self, answer, root, storage=""):
        super().__init__(("127.0.0.1", 0), answer)
        self.root, self.storage, self.token, self.asked = pathlib.Path(root), storage, "", []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


@contextlib.contextmanager
def hub(root):
    """The server while it runs: its url, what it was asked, and the token that it asks for."""
    with Server(Storage, root) as storage, Server(Hub, root, storage.url) as server:
        running = [threading.Thread(target=s.serve_forever) for s in (storage, server)]
        for thread in running:
            thread.start()
        try:
            yield server
        finally:
            for s, thread in zip((storage, server), running):
                s.shutdown()
                thread.join()
