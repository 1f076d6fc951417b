"""The build backend of the Python package (PEP 517, PEP 660): CMake for libmfl.so and the mfl program, then a wheel of them.

It needs the standard library alone. Debian packages that are missing are installed through scripts/install_packages.sh if
this is root or sudo asks for no password; otherwise the build stops with the command that installs them. CMake builds into
build/wheel, so a second build compiles only what changed. MFL_CMAKE_ARGUMENTS adds arguments to the configure step.
"""
from __future__ import annotations

import base64
import hashlib
import io
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "mfl"
TARGETS = ("mfl_capi", "mfl_cli")  # libmfl.so and the program
NOT_SOURCE = {"build", "dist", "results", "__pycache__", ".git"}


class BuildError(SystemExit):
    """Ends the build with one line instead of a traceback."""


def say(text: str) -> None:
    print(f"mfl: {text}", file=sys.stderr, flush=True)


# --- metadata ---------------------------------------------------------------------------------------------------------


def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def version() -> str:
    found = re.search(r"project\(mfl VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))
    if not found:
        raise BuildError("mfl: CMakeLists.txt has no version")
    return found[1]


def metadata() -> str:
    """METADATA of a wheel and PKG-INFO of an sdist (core metadata 2.4)."""
    values = project()
    lines = ["Metadata-Version: 2.4", f"Name: {values['name']}", f"Version: {version()}", f"Summary: {values['description']}",
             f"Keywords: {','.join(values['keywords'])}", f"License-Expression: {values['license']}"]
    lines += [f"License-File: {name}" for name in values["license-files"]]
    lines += [f"Classifier: {text}" for text in values["classifiers"]]
    lines.append(f"Requires-Python: {values['requires-python']}")
    lines += [f"Requires-Dist: {text}" for text in values["dependencies"]]
    for extra, needs in values["optional-dependencies"].items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f'Requires-Dist: {text}; extra == "{extra}"' for text in needs]
    lines += ["Description-Content-Type: text/markdown", "", (ROOT / values["readme"]).read_text(encoding="utf-8")]
    return "\n".join(lines)


def dist_info() -> str:
    return f"{project()['name']}-{version()}.dist-info"


def info_files(tag: str) -> dict[str, bytes]:
    """The files of dist-info but RECORD, by their names in the wheel."""
    scripts = "".join(f"{name} = {target}\n" for name, target in project()["scripts"].items())
    folder = dist_info()
    files = {
        f"{folder}/METADATA": metadata(),
        f"{folder}/WHEEL": f"Wheel-Version: 1.0\nGenerator: mfl_build {version()}\nRoot-Is-Purelib: false\nTag: {tag}\n",
        f"{folder}/entry_points.txt": f"[console_scripts]\n{scripts}",
    }
    texts = {name: text.encode("utf-8") for name, text in files.items()}
    for name in project()["license-files"]:
        texts[f"{folder}/licenses/{name}"] = (ROOT / name).read_bytes()
    return texts


def wheel_tag() -> str:
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return f"py3-none-{platform}"


# --- CMake ------------------------------------------------------------------------------------------------------------


def run(command: list[str]) -> None:
    code = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL).returncode
    if code != 0:
        raise BuildError(f"mfl: {shlex.join(command[:2])} failed with exit code {code}; its output is above")


def is_root() -> bool:
    """Whether packages can be installed without a question to the user."""
    if os.geteuid() == 0:
        return True
    if not shutil.which("sudo"):
        return False
    return subprocess.run(["sudo", "-n", "true"], stdin=subprocess.DEVNULL, capture_output=True).returncode == 0


def install_packages() -> None:
    """Installs the Debian packages that a build needs; a BuildError says which command does if this process cannot."""
    script = ROOT / "scripts" / "install_packages.sh"
    if not shutil.which("apt-get"):
        if not shutil.which("cmake"):
            raise BuildError("mfl: no cmake on the path; install CMake, a C++20 compiler and the libraries of docs/dependencies.md")
        return  # CMake names what it does not find
    listed = subprocess.run([script, "--list", "compile"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if listed.returncode != 0:
        raise BuildError(f"mfl: {listed.stderr.strip()}")
    missing = listed.stdout.split()
    if not missing:
        return
    if not is_root():
        raise BuildError(f"mfl: Debian packages are missing; run: sudo apt-get install --no-install-recommends {' '.join(missing)}")
    say(f"installing Debian packages: {' '.join(missing)}")
    run([str(script), "compile"])


def build_folder() -> Path:
    folder = ROOT / "build" / "wheel"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:  # a checkout that is read-only
        return Path(tempfile.mkdtemp(prefix="mfl-wheel-"))


def compile_mfl() -> dict[str, Path]:
    """Builds the native parts: their files by their places in the package."""
    install_packages()
    folder = build_folder()
    generator = ["-G", "Ninja"] if shutil.which("ninja") and not (folder / "Makefile").exists() else []
    say(f"configuring and building into {folder}; a first build takes some minutes")
    run(["cmake", "-S", str(ROOT), "-B", str(folder), *generator, "-DCMAKE_BUILD_TYPE=Release", "-DMFL_TESTS=OFF",
         "-DMFL_INSTALL=OFF", "-DMFL_WARNINGS_AS_ERRORS=OFF", "-DMFL_MPI=OFF", "-DMFL_STATIC_RUNTIME=ON",
         "-DCMAKE_SHARED_LINKER_FLAGS=-s", "-DCMAKE_EXE_LINKER_FLAGS=-s -static-libstdc++ -static-libgcc",
         *shlex.split(os.environ.get("MFL_CMAKE_ARGUMENTS", ""))])
    jobs = [] if "CMAKE_BUILD_PARALLEL_LEVEL" in os.environ else ["--parallel", str(os.cpu_count() or 1)]
    run(["cmake", "--build", str(folder), *jobs, "--target", *TARGETS])
    library = next((path for path in sorted(folder.rglob("libmfl.so*")) if path.is_file()), None)
    program = folder / "bin" / "mfl"
    if library is None or not program.is_file():
        raise BuildError(f"mfl: the build left no libmfl.so and bin/mfl in {folder}")
    return {"mfl/_lib/libmfl.so": library.resolve(), "mfl/_lib/mfl": program}


# --- wheels -----------------------------------------------------------------------------------------------------------


def package_files() -> dict[str, Path]:
    """What is not compiled, by its place in the package: the Python files, and the experiments that `mfl reproduce` looks for."""
    experiments = ROOT / "experiments" / "paper"
    found = {f"mfl/share/mfl/experiments/paper/{path.name}": path for path in sorted(experiments.glob("*.toml"))}
    for path in sorted(PACKAGE.rglob("*")):
        inside = path.relative_to(PACKAGE)
        if path.is_file() and not {"__pycache__", "_lib"} & set(inside.parts):
            found[f"mfl/{inside.as_posix()}"] = path
    return found


def write_wheel(folder: Path, files: dict[str, bytes | Path]) -> str:
    """Writes a wheel with dates of 1980, so that the same files are the same wheel. Returns its name."""
    tag = wheel_tag()
    name = f"{project()['name']}-{version()}-{tag}.whl"
    record = io.StringIO()
    with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for place, content in {**files, **info_files(tag)}.items():
            data = content.read_bytes() if isinstance(content, Path) else content
            executable = isinstance(content, Path) and os.access(content, os.X_OK) and place.startswith("mfl/_lib/")
            entry = zipfile.ZipInfo(place)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (stat.S_IFREG | (0o755 if executable else 0o644)) << 16
            wheel.writestr(entry, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.write(f"{place},sha256={digest},{len(data)}\n")
        place = f"{dist_info()}/RECORD"
        entry = zipfile.ZipInfo(place)
        entry.external_attr = (stat.S_IFREG | 0o644) << 16
        wheel.writestr(entry, record.getvalue() + f"{place},,\n")
    return name


def get_requires_for_build_wheel(config_settings=None) -> list[str]:
    return []


def get_requires_for_build_sdist(config_settings=None) -> list[str]:
    return []


def get_requires_for_build_editable(config_settings=None) -> list[str]:
    return []


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None) -> str:
    for place, data in info_files(wheel_tag()).items():
        path = Path(metadata_directory) / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return dist_info()


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None) -> str:
    native = compile_mfl()
    return write_wheel(Path(wheel_directory), {**package_files(), **native})


def build_editable(wheel_directory, config_settings=None, metadata_directory=None) -> str:
    """The package is read from the checkout; its native parts are copied to python/mfl/_lib."""
    for place, path in compile_mfl().items():
        target = PACKAGE.parent / place
        target.parent.mkdir(exist_ok=True)
        shutil.copy2(path, target)
    return write_wheel(Path(wheel_directory), {"mfl_editable.pth": f"{PACKAGE.parent}\n".encode()})


def source_files() -> list[Path]:
    """What an sdist has: the files that git tracks, or all but builds where this is no checkout."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True) if shutil.which("git") else None
    if listed and listed.returncode == 0 and listed.stdout:
        return [Path(name) for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()]
    found = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = sorted(set(folders) - NOT_SOURCE)
        found += [(Path(folder) / name).relative_to(ROOT) for name in sorted(names) if name != "PKG-INFO"]
    return found


def build_sdist(sdist_directory, config_settings=None) -> str:
    base = f"{project()['name']}-{version()}"

    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = entry.mtime = 0
        entry.uname = entry.gname = ""
        return entry

    with tarfile.open(Path(sdist_directory) / f"{base}.tar.gz", "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for name in source_files():
            archive.add(ROOT / name, f"{base}/{name.as_posix()}", recursive=False, filter=plain)
        text = metadata().encode("utf-8")
        entry = plain(tarfile.TarInfo(f"{base}/PKG-INFO"))
        entry.size = len(text)
        archive.addfile(entry, io.BytesIO(text))
    return f"{base}.tar.gz"
