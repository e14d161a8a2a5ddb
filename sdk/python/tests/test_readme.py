"""The README's plugin and its test are what they are said to be."""

import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def test_the_plugin_of_the_readme_passes_its_test_and_the_type_checker(tmp_path):
    plugin, test = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    (tmp_path / "files_plugin.py").write_text(plugin)
    (tmp_path / "test_files_plugin.py").write_text(test)
    judges = {"1 passed": ["pytest", "-q", "-p", "no:cacheprovider"], "Success": ["mypy", "--strict", "files_plugin.py"]}
    for says, judge in judges.items():
        ended = subprocess.run([sys.executable, "-m", *judge], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
        assert says in ended.stdout, ended.stdout + ended.stderr
