# SPDX-License-Identifier: Apache-2.0
"""scripts/renew-hashes with a package index of its own: a folder of HTML pages, or a server on 127.0.0.1."""

import http.server
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "renew-hashes"
A, B, C = "a" * 64, "b" * 64, "c" * 64


class RenewHashesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        (self.root / "scripts").mkdir()
        shutil.copy(SCRIPT, self.root / "scripts")
        self.write("# LibTorch\ntorch==2.11.0\n", "numpy==2.2.6; python_version < \"3.11\"\n", "# none\n")
        self.index("torch", {"torch-2.11.0-cp310-cp310-manylinux_2_28_x86_64.whl": B,
                             "torch-2.11.0-cp314-cp314t-manylinux_2_28_x86_64.whl": A})
        self.index("numpy", {"numpy-2.2.6-cp310-cp310-manylinux_2_17_x86_64.manylinux2014_x86_64.whl": C})

    def write(self, *texts):
        for name, text in zip(("requirements.txt", "requirements-test.txt", "tests/train/weights/layouts-requirements.txt"), texts):
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(text)

    def index(self, name, files):
        links = "".join(f'<a href="../../packages/{file}#sha256={digest}">{file}</a>\n' for file, digest in files.items())
        (self.root / "index" / name).mkdir(parents=True, exist_ok=True)
        (self.root / "index" / name / "index.html").write_text(f"<!DOCTYPE html><html><body>{links}</body></html>")

    def run_script(self, *arguments, url=None):
        environment = {**os.environ, "PIP_INDEX_URL": url or (self.root / "index").as_uri()}
        return subprocess.run([sys.executable, str(self.root / "scripts/renew-hashes"), *arguments], env=environment,
                              capture_output=True, text=True, timeout=60)

    def text(self, name="requirements.txt"):
        return (self.root / name).read_text()

    def test_writes_the_hashes_of_every_file_that_a_machine_may_install(self):
        result = self.run_script()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.text(), f"# LibTorch\ntorch==2.11.0 \\\n    --hash=sha256:{A} \\\n    --hash=sha256:{B}\n")
        self.assertEqual(self.text("requirements-test.txt"),
                         f"numpy==2.2.6; python_version < \"3.11\" \\\n    --hash=sha256:{C}\n")
        self.assertEqual(self.text("tests/train/weights/layouts-requirements.txt"), "# none\n")

    def test_leaves_out_what_no_supported_machine_installs(self):
        self.index("torch", {"torch-2.11.0-cp311-cp311-manylinux_2_28_x86_64.whl": A,
                             "torch-2.11.0-cp39-cp39-manylinux_2_28_x86_64.whl": B,
                             "torch-2.11.0-cp315-cp315-manylinux_2_28_x86_64.whl": B,
                             "torch-2.11.0-cp311-cp311-manylinux_2_28_aarch64.whl": B,
                             "torch-2.11.0-cp311-cp311-musllinux_1_2_x86_64.whl": B,
                             "torch-2.11.0-cp311-none-macosx_11_0_arm64.whl": B,
                             "torch-2.11.0-cp311-cp311-win_amd64.whl": B,
                             "torch-2.11.0-pp310-pypy310_pp73-manylinux_2_17_x86_64.whl": B,
                             "torch-2.11.0-py2-none-any.whl": B,
                             "torch-2.11.1-cp311-cp311-manylinux_2_28_x86_64.whl": B,
                             "torch-2.11.0.tar.gz": B})
        self.run_script()
        self.assertEqual(self.text(), f"# LibTorch\ntorch==2.11.0 \\\n    --hash=sha256:{A}\n")

    def test_takes_what_serves_every_version_of_python(self):
        self.index("torch", {"torch-2.11.0-py2.py3-none-any.whl": A, "torch-2.11.0-1-cp38-abi3-manylinux1_x86_64.whl": B})
        self.run_script()
        self.assertEqual(self.text(), f"# LibTorch\ntorch==2.11.0 \\\n    --hash=sha256:{A} \\\n    --hash=sha256:{B}\n")

    def test_check_writes_nothing_and_says_what_differs(self):
        before = self.text()
        result = self.run_script("--check")
        self.assertEqual(result.returncode, 1)
        self.assertIn("requirements.txt: torch==2.11.0: 2 hashes, 2 of them new, 0 gone\n", result.stdout)
        self.assertEqual(result.stderr, "scripts/renew-hashes: the hashes are not those of the index; "
                                        "`scripts/renew-hashes` renews them\n")
        self.assertEqual(self.text(), before)
        self.run_script()
        result = self.run_script("--check")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))

    def test_says_which_hashes_are_gone(self):
        self.run_script()
        self.index("torch", {"torch-2.11.0-cp310-cp310-manylinux_2_28_x86_64.whl": C})
        self.assertEqual(self.run_script().stdout, "requirements.txt: torch==2.11.0: 1 hashes, 1 of them new, 2 gone\n")

    def test_refuses_a_version_without_a_wheel(self):
        self.index("torch", {"torch-2.11.0.tar.gz": A})
        result = self.run_script()
        self.assertEqual(result.returncode, 4)
        self.assertEqual(result.stderr, "scripts/renew-hashes: torch==2.11.0: the index has no wheel of it for Python 3.10 "
                                        "to 3.14 on Linux x86_64; name a version that has one\n")

    def test_refuses_an_index_without_hashes(self):
        self.index("torch", {"torch-2.11.0-py3-none-any.whl": ""})
        result = self.run_script()
        self.assertEqual(result.returncode, 4)
        self.assertIn("torch-2.11.0-py3-none-any.whl: the index does not say its SHA-256", result.stderr)

    def test_says_that_the_index_cannot_be_read(self):
        result = self.run_script(url="http://127.0.0.1:9/simple")
        self.assertEqual(result.returncode, 4)
        self.assertRegex(result.stderr, r"^scripts/renew-hashes: http://127.0.0.1:9/simple/torch/: .*refused.*; check the "
                                        r"network, or set PIP_INDEX_URL\n$")

    def test_reads_the_index_as_json(self):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                name = self.path.strip("/").rsplit("/", 1)[-1]
                version = {"torch": "2.11.0", "numpy": "2.2.6"}[name]
                files = [{"filename": f"{name}-{version}-py3-none-any.whl", "hashes": {"sha256": A}}]
                self.send_response(200)
                self.send_header("Content-Type", "application/vnd.pypi.simple.v1+json")
                self.end_headers()
                self.wfile.write(json.dumps({"files": files}).encode())

            def log_message(self, *arguments):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        result = self.run_script(url=f"http://127.0.0.1:{server.server_address[1]}/simple")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.text(), f"# LibTorch\ntorch==2.11.0 \\\n    --hash=sha256:{A}\n")


class RepositoryTest(unittest.TestCase):
    def test_every_package_has_a_hash(self):
        root = SCRIPT.parents[1]
        for name in (*root.glob("requirements*.txt"), "tests/train/weights/layouts-requirements.txt"):
            lines = (root / name).read_text().replace(" \\\n", " ").splitlines()
            for line in lines:
                if line and not line.startswith("#"):
                    self.assertRegex(line, r"^[A-Za-z0-9_.-]+==[^ ;]+(; [^-]+)?( +--hash=sha256:[0-9a-f]{64})+$", name)


if __name__ == "__main__":
    unittest.main()
