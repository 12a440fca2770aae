# SPDX-License-Identifier: Apache-2.0
"""data/fetch against a server of our own on 127.0.0.1 that can be told to misbehave."""

import gzip
import http.server
import os
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "data" / "fetch"

# The script with checksums of small stand-ins, for the real files are not here.
STAND_IN = b"To be, or not to be, that is the question.\n" * 2000
PACKED = gzip.compress(STAND_IN, mtime=0)
RUNNER = """
import hashlib, runpy, sys
script = runpy.run_path({script!r})
content = open({content!r}, "rb").read()
checksum = hashlib.sha256(content).hexdigest()
for mirrors, files in script["DATA_SETS"].values():
    for name in files:
        files[name] = checksum
sys.exit(script["main"](sys.argv[1:]))
"""


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        server.requests.append((self.path, self.headers.get("Range")))
        body = server.bodies.get(self.path.rsplit("/", 1)[-1])
        if server.raw_answer is not None:
            self.wfile.write(server.raw_answer)
            return
        if body is None:
            self.send_error(404)
            return
        first = self.first_byte()
        if first >= len(body):
            self.send_error(416)
            return
        self.send_response(206 if first else 200)
        if first:
            self.send_header("Content-Range", f"bytes {first}-{len(body) - 1}/{len(body)}")
        self.send_header("Content-Length", server.announces or str(len(body) - first))
        self.end_headers()
        sent = body[first:]
        self.wfile.write(sent[:server.cut_after] if server.cut_after is not None else sent)

    def first_byte(self):
        wanted = self.headers.get("Range")
        if wanted is None or self.server.ignores_range:
            return 0
        return int(wanted.removeprefix("bytes=").rstrip("-"))

    def log_message(self, *arguments):
        pass


class FetchTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        (self.root / "content").write_bytes(STAND_IN)
        self.runner = self.root / "runner.py"
        self.runner.write_text(RUNNER.format(script=str(SCRIPT), content=str(self.root / "content")))
        self.to = self.root / "data"
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.requests = []
        self.server.bodies = {"input.txt": STAND_IN}
        self.server.cut_after = None
        self.server.announces = None
        self.server.raw_answer = None
        self.server.ignores_range = False
        thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.base = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.file = self.to / "tinyshakespeare" / "input.txt"
        self.part = self.to / "tinyshakespeare" / "input.txt.part"

    def fetch(self, name="tinyshakespeare", base=None):
        command = [sys.executable, str(self.runner), name, "--to", str(self.to), "--base-url", base or self.base]
        return subprocess.run(command, capture_output=True, text=True, timeout=60)

    def leave_part(self, content):
        self.part.parent.mkdir(parents=True)
        self.part.write_bytes(content)

    def expect_fetched(self, result):
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.file.read_bytes(), STAND_IN)
        self.assertFalse(self.part.exists())

    def expect_refused(self, result, *messages):
        self.assertEqual(result.returncode, 3, result.stdout)
        self.assertFalse(self.file.exists())
        for message in messages:
            self.assertIn(message, result.stderr)
        self.assertNotIn("Traceback", result.stderr)

    def test_brings_a_file(self):
        self.expect_fetched(self.fetch())
        self.assertEqual(self.server.requests, [("/tinyshakespeare/input.txt", None)])

    def test_brings_all_four_files_of_mnist_however_they_are_packed(self):
        names = [f"{part}-{kind}-ubyte.gz" for part in ("train", "t10k") for kind in ("images-idx3", "labels-idx1")]
        self.server.bodies = {name: gzip.compress(STAND_IN, level, mtime=level) for level, name in enumerate(names)}
        result = self.fetch("mnist")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(sorted(file.name for file in (self.to / "mnist").iterdir()), sorted(names))

    def test_takes_the_mirror_from_the_environment(self):
        command = [sys.executable, str(self.runner), "tinyshakespeare", "--to", str(self.to)]
        environment = {**os.environ, "RNNLAB_FETCH_BASE": self.base}
        self.expect_fetched(subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment))

    def test_asks_for_nothing_when_the_file_is_here(self):
        self.fetch()
        self.server.requests.clear()
        result = self.fetch()
        self.expect_fetched(result)
        self.assertIn("already here, checksum right", result.stdout)
        self.assertEqual(self.server.requests, [])

    def test_replaces_a_file_that_is_damaged(self):
        self.fetch()
        self.file.write_bytes(b"damaged")
        result = self.fetch()
        self.expect_fetched(result)
        self.assertIn("its checksum is wrong: fetching it again", result.stdout)

    def test_goes_on_where_a_download_broke_off(self):
        self.leave_part(STAND_IN[:1000])
        self.expect_fetched(self.fetch())
        self.assertEqual(self.server.requests, [("/tinyshakespeare/input.txt", "bytes=1000-")])

    def test_keeps_what_came_before_the_connection_was_cut(self):
        self.server.cut_after = 5000
        result = self.fetch()
        self.expect_refused(result, f"broke off after 5000 of {len(STAND_IN)} bytes",
                            "is kept: the same command goes on from there")
        self.assertEqual(self.part.read_bytes(), STAND_IN[:5000])
        self.server.cut_after = None
        self.expect_fetched(self.fetch())
        self.assertEqual(self.server.requests[-1], ("/tinyshakespeare/input.txt", "bytes=5000-"))

    def test_starts_over_when_the_server_knows_no_ranges(self):
        self.server.ignores_range = True
        self.leave_part(STAND_IN[:1000])
        self.expect_fetched(self.fetch())

    def test_starts_over_when_what_is_left_is_of_another_file(self):
        self.leave_part(b"x" * 1000)
        result = self.fetch()
        self.expect_fetched(result)
        self.assertIn("does not fit, starting over", result.stdout)

    def test_takes_a_whole_part_that_was_never_renamed(self):
        self.leave_part(STAND_IN)
        self.expect_fetched(self.fetch())

    def test_starts_over_when_the_part_is_longer_than_the_file(self):
        self.leave_part(STAND_IN + b"more")
        self.expect_fetched(self.fetch())

    def test_refuses_a_length_that_is_no_number(self):
        for announced in ("abc", "-5", "9" * 5000):
            self.server.announces = announced
            self.expect_refused(self.fetch(), f"input.txt sent the header Content-Length: {announced[:40]!r}, expected a "
                                              "number of bytes")
        self.server.announces = None
        self.expect_fetched(self.fetch())

    def test_writes_through_no_link(self):
        elsewhere = self.root / "elsewhere"
        self.part.parent.mkdir(parents=True)
        for content in (b"precious", None):
            if content is None:
                elsewhere.unlink()
            else:
                elsewhere.write_bytes(content)
            self.part.unlink(missing_ok=True)
            self.part.symlink_to(elsewhere)
            self.expect_refused(self.fetch(), f"data/fetch: {self.part}: a link, a folder or a device, expected a file or "
                                              "nothing; remove it, then run the same command again\n")
            self.assertEqual(elsewhere.read_bytes() if content else elsewhere.exists(), content or False)

    def test_waits_for_no_pipe(self):
        self.part.parent.mkdir(parents=True)
        os.mkfifo(self.part)
        self.expect_refused(self.fetch(), f"{self.part}: a link, a folder or a device")
        os.mkfifo(self.file)
        result = self.fetch()
        self.assertEqual(result.returncode, 3)
        self.assertIn(f"{self.file}: a folder, a pipe or a device, expected a file or nothing", result.stderr)

    def test_refuses_a_chunk_of_a_negative_size(self):
        self.server.raw_answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nabc\r\n"
        self.expect_refused(self.fetch(), "input.txt broke off after 0 bytes: ")

    def test_shows_no_control_character_that_a_server_sends(self):
        self.server.raw_answer = "HTTP/1.1 404 \x1b]0;owned\x07\x9b31m\r\n\r\n".encode("latin-1")
        result = self.fetch()
        self.expect_refused(result, "input.txt answered 404 \\x1b]0;owned\\x07\\x9b31m")
        self.assertTrue((result.stdout + result.stderr).replace("\n", "").isprintable())

    def test_refuses_wrong_content(self):
        self.server.bodies = {"input.txt": b"<html>please log in</html>"}
        self.expect_refused(self.fetch(), "sent wrong content: its SHA-256 is", "no mirror delivered input.txt:")
        self.assertFalse(self.part.exists())

    def test_refuses_what_is_no_gzip_file(self):
        self.server.bodies = {"train-images-idx3-ubyte.gz": b"<html>please log in</html>"}
        result = self.fetch("mnist")
        self.expect_refused(result, "sent wrong content: its SHA-256 is not to be had, for it is no gzip file")
        self.assertFalse(self.to.exists())

    def test_leaves_no_empty_folder_that_it_made(self):
        self.server.bodies = {}
        self.fetch()
        self.assertFalse(self.to.exists())
        self.to.mkdir()
        self.fetch()
        self.assertEqual(list(self.to.iterdir()), [])
        (self.to / "tinyshakespeare").mkdir()
        self.fetch()
        self.assertTrue((self.to / "tinyshakespeare").is_dir(), "it was here before")

    def test_says_that_the_server_has_no_such_file(self):
        self.server.bodies = {}
        self.expect_refused(self.fetch(), f"{self.base}/tinyshakespeare/input.txt answered 404 Not Found",
                            "train on generated data (data.source: digits)")

    def test_prints_in_the_order_of_events_where_both_streams_go_to_one_file(self):
        command = [sys.executable, str(self.runner), "tinyshakespeare", "--to", str(self.to), "--base-url", self.base]
        self.server.bodies = {}
        result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
        url = f"{self.base}/tinyshakespeare/input.txt"
        self.assertEqual(result.stdout.splitlines()[:3], [
            f"{self.file}: from {url}", "  answered 404 Not Found", "data/fetch: no mirror delivered input.txt:"])

    def test_says_that_no_server_can_be_reached(self):
        self.expect_refused(self.fetch(base="http://127.0.0.1:9"), "cannot be reached:",
                            f"copy the file from another machine to {self.file}")

    def test_says_that_the_folder_cannot_be_made(self):
        self.to.write_text("a file where the folder should be")
        result = self.fetch()
        self.assertEqual(result.returncode, 3)
        self.assertRegex(result.stderr, "^data/fetch: .*tinyshakespeare: Not a directory\n$")

    def test_knows_only_its_data_sets(self):
        result = self.fetch("imagenet")
        self.assertEqual(result.returncode, 2)
        self.assertIn("invalid choice: 'imagenet'", result.stderr)


class RealChecksumsTest(unittest.TestCase):
    def test_the_listed_checksums_are_those_of_the_data_at_hand(self):
        data = os.environ.get("RNNLAB_DATA")
        if not data or not (Path(data) / "mnist").is_dir():
            self.skipTest("needs the real data in $RNNLAB_DATA")
        with tempfile.TemporaryDirectory() as folder:
            for name in ("mnist", "tinyshakespeare"):
                (Path(folder) / name).mkdir()
                for file in (Path(data) / name).iterdir():
                    (Path(folder) / name / file.name).write_bytes(file.read_bytes())
            command = [sys.executable, str(SCRIPT), "all", "--to", folder, "--base-url", "http://127.0.0.1:9"]
            result = subprocess.run(command, capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.count("already here, checksum right"), 5)


if __name__ == "__main__":
    unittest.main(verbosity=2)
