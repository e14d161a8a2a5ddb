"""What is published: a source distribution that builds without the repository, and a wheel that needs no protoc."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

SDK = Path(__file__).parents[1]
PROTO = SDK.parents[1] / "proto"


def python(*arguments, folder):
    ended = subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def test_the_wheel_built_from_the_source_distribution_is_complete(tmp_path):
    left_out = shutil.ignore_patterns(".*", "build", "dist", "*.egg-info", "_proto", "__pycache__")
    shutil.copytree(SDK, tmp_path / "repository/sdk/python", ignore=left_out)
    shutil.copytree(PROTO / "crossbridge", tmp_path / "repository/proto/crossbridge")
    dist = tmp_path / "dist"
    python("-m", "build", "--no-isolation", "--sdist", "--outdir", str(dist), ".", folder=tmp_path / "repository/sdk/python")
    shutil.rmtree(tmp_path / "repository")
    (source,) = dist.glob("crossbridge_sdk-*.tar.gz")
    shutil.unpack_archive(source, tmp_path, filter="data")
    (unpacked,) = tmp_path.glob("crossbridge_sdk-*")
    assert not (unpacked / "tests").exists()
    python("-m", "build", "--no-isolation", "--wheel", "--outdir", str(dist), ".", folder=unpacked)
    (wheel,) = dist.glob("*.whl")
    installed = tmp_path / "installed"
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        archive.extractall(installed)
    for file in sorted((PROTO / "crossbridge/provider/v1alpha1").glob("*.proto")):
        for ending in ("py", "pyi"):
            assert f"crossbridge_sdk/_proto/{file.stem}_pb2.{ending}" in names
    assert "crossbridge_sdk/py.typed" in names
    assert "crossbridge_sdk/testing/harness.py" in names
    assert not [name for name in names if not name.startswith("crossbridge_sdk")]
    program = f"import sys; sys.path.insert(0, {str(installed)!r}); import crossbridge_sdk as sdk; print(sdk.__file__, sdk.Plugin.__name__)"
    said = python("-I", "-c", program, folder=tmp_path)
    assert said.startswith(str(installed))
