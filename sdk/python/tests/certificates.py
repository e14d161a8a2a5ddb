"""Authorities and certificates for tests, by `openssl`."""

import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Signed:
    certificate: bytes
    key: bytes


def openssl(*arguments, folder):
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True, timeout=60)


class Authority:
    def __init__(self):
        self._folder = tempfile.TemporaryDirectory()
        new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
        openssl("req", "-x509", *new, "-subj", "/CN=authority", "-keyout", "ca.key", "-out", "ca.crt", folder=self._folder.name)
        self.certificate = self._read("ca.crt")

    def _read(self, name):
        return Path(self._folder.name, name).read_bytes()

    def signed(self, names="DNS:localhost"):
        folder = self._folder.name
        new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        openssl("req", *new, "-subj", "/CN=localhost", "-keyout", "one.key", "-out", "one.csr", folder=folder)
        Path(folder, "one.ext").write_text(f"subjectAltName={names}")
        signing = ["-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "one.ext"]
        openssl("x509", "-req", "-in", "one.csr", *signing, "-out", "one.crt", folder=folder)
        return Signed(self._read("one.crt"), self._read("one.key"))
