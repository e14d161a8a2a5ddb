"""Generates the contract's stubs into what is installed."""

from pathlib import Path

import grpc_tools
from grpc_tools import protoc
from setuptools import setup
from setuptools.command.build_py import build_py

PROTO = Path(__file__).parent / "../../proto"
WELL_KNOWN = Path(grpc_tools.__file__).parent / "_proto"


class BuildWithStubs(build_py):
    def run(self):
        super().run()
        files = sorted(PROTO.glob("crossbridge/provider/v1alpha1/*.proto"))
        outputs = [f"--{plugin}_out={self.build_lib}" for plugin in ("python", "pyi", "grpc_python")]
        arguments = [f"-I{PROTO}", f"-I{WELL_KNOWN}", *outputs, *map(str, files)]
        if not files or protoc.main(["protoc", *arguments]) != 0:
            raise SystemExit(f"cannot generate the stubs of {PROTO}")


setup(cmdclass={"build_py": BuildWithStubs})
