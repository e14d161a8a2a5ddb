"""Generates the contract's stubs into what is installed, so that whoever installs it needs no protoc."""

import re
import shutil
from pathlib import Path

import grpc_tools
from grpc_tools import protoc
from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

HERE = Path(__file__).resolve().parent
PACKAGE = "crossbridge_sdk._proto"
FOLDER = Path("crossbridge/provider/v1alpha1")
WELL_KNOWN = Path(grpc_tools.__file__).parent / "_proto"


def contract() -> Path:
    """In a source distribution it lies beside; in the repository, at its root."""
    for root in (HERE / "proto", HERE.parent.parent / "proto"):
        if (root / FOLDER).is_dir():
            return root
    raise SystemExit(f"cannot generate stubs: neither {HERE / 'proto'} nor the repository's proto/ holds the contract")


def generate(into: Path) -> None:
    """Writes modules that import one another from this package, whatever else generates the same contract."""
    root = contract()
    scratch = into.with_name("_proto.generated")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    files = sorted((root / FOLDER).glob("*.proto"))
    arguments = [f"-I{root}", f"-I{WELL_KNOWN}", f"--python_out={scratch}", f"--pyi_out={scratch}", *map(str, files)]
    if not files or protoc.main(["protoc", *arguments]) != 0:
        raise SystemExit(f"cannot generate stubs of {root / FOLDER}")
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir()
    (into / "__init__.py").write_text('"""Generated from the contract."""\n')
    dotted = re.escape(".".join(FOLDER.parts))
    for module in sorted((scratch / FOLDER).iterdir()):
        text = module.read_text()
        text = re.sub(rf"^from {dotted} import", f"from {PACKAGE} import", text, flags=re.MULTILINE)
        (into / module.name).write_text(text.replace(f"'{'.'.join(FOLDER.parts)}.", f"'{PACKAGE}."))
    shutil.rmtree(scratch)


class BuildWithStubs(build_py):
    """An editable install finds them in the sources, a wheel holds them."""

    def run(self) -> None:
        super().run()
        root = HERE / "src" if self.editable_mode else Path(self.build_lib)
        generate(root / "crossbridge_sdk" / "_proto")


class WithContract(sdist):
    """A source distribution is built without the repository."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        super().make_release_tree(base_dir, files)
        shutil.copytree(contract() / FOLDER, Path(base_dir) / "proto" / FOLDER, dirs_exist_ok=True)


setup(cmdclass={"build_py": BuildWithStubs, "sdist": WithContract})
