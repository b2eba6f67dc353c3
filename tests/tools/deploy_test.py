#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""deploy_test.py BUILD SOURCE [image]: what could go wrong: the modulefile does not load, or not all of it; the Spack recipe
is no Python, sets CMake options that do not exist, or names another version; the Kubernetes job starts programs that the
image does not have.

image: also runs the steps of the Containerfile in an overlay of this machine's root (its changes are thrown away; packages
are those of the machine), then a worker (sshd) and the launcher of the Kubernetes job in it, as the mpi-operator would."""
import ast
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD, SOURCE = map(os.path.abspath, sys.argv[1:3])
IMAGE = sys.argv[3:4] == ["image"]
del sys.argv[1:]
LMOD = "/usr/share/lmod/lmod/libexec/lmod"


def run(*words, **more):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=1500, **more)


def text_of(path):
    with open(f"{SOURCE}/{path}", encoding="utf-8") as file:
        return file.read()


def steps(text):
    """[(instruction, words)] of a Containerfile, with continued lines joined."""
    lines = [line for line in text.replace("\\\n", " ").splitlines() if line and not line.startswith("#")]
    return [tuple(line.split(None, 1)) for line in lines]


def commands(text):
    """The commands of a Kubernetes job, by the name of the container."""
    found = re.findall(r"name: (launcher|worker)\n(?:.*\n)*?\s+command: \[(.*)\]", text)
    return {name: re.findall(r'"([^"]*)"', words) for name, words in found}


class Modulefile(unittest.TestCase):
    def load(self, words, **env):
        with tempfile.TemporaryDirectory() as folder:
            os.makedirs(folder + "/herald")
            text = text_of("packaging/modulefile").replace("set prefix /opt/herald", "set prefix /opt/there")
            with open(folder + "/herald/1.0", "w", encoding="utf-8") as file:
                file.write(text)
            clean = {"PATH": "/usr/bin:/bin", "HOME": folder, "MODULEPATH": folder, "MANPATH": ":", **env}
            done = run(*words, env=clean)
            script = done.stdout + '\nprintf "%s\\n" "$PATH" "$LD_LIBRARY_PATH" "$MPI_HOME" "$PKG_CONFIG_PATH" "$MANPATH"\n'
            shown = run("bash", "-c", script, env=clean)
        self.assertEqual(shown.returncode, 0, done.stderr + shown.stderr)
        path, library, home, packages, manual = shown.stdout.splitlines()[-5:]
        self.assertEqual(path.split(":")[0], "/opt/there/bin", done.stderr)
        self.assertEqual((library.split(":")[0], home, packages.split(":")[0], manual.split(":")[0]),
                         ("/opt/there/lib", "/opt/there", "/opt/there/lib/pkgconfig", "/opt/there/share/man"))

    def test_environment_modules(self):
        found = glob.glob("/usr/lib/*/modulecmd.tcl")
        if not found or not shutil.which("tclsh"):
            self.skipTest("no Environment Modules (package environment-modules)")
        self.load(["tclsh", found[0], "bash", "load", "herald/1.0"])

    def test_lmod(self):
        if not os.path.exists(LMOD):
            self.skipTest("no Lmod (package lmod)")
        self.load([LMOD, "bash", "load", "herald/1.0"])


class Spack(unittest.TestCase):
    def test_the_recipe_fits_the_build(self):
        tree = ast.parse(text_of("packaging/spack/package.py"))
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args]
        named = lambda name: [node.args[0].value for node in calls
                              if getattr(node.func, "attr", getattr(node.func, "id", "")) == name]
        cmake = "".join(text_of(os.path.relpath(path, SOURCE))
                        for path in [SOURCE + "/CMakeLists.txt", *glob.glob(SOURCE + "/cmake/*.cmake")])
        options = set(re.findall(r"option\((\w+)", cmake)) | set(re.findall(r"set\((\w+) \S* ?CACHE", cmake))
        defined = named("define") + named("define_from_variant")
        self.assertIn("HERALD_FORTRAN", defined)
        self.assertEqual([name for name in defined if name.startswith("HERALD_") and name not in options], [])
        self.assertEqual(named("version"), re.findall(r"^project\(herald VERSION ([\d.]+)", cmake, re.M))
        wrappers = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and str(node.value).startswith("mpi")]
        for name in ("mpicc", "mpicxx"):
            self.assertIn(name, wrappers)
            self.assertTrue(os.path.exists(f"{BUILD}/bin/{name}"))


# $1: the folder; $2: the source; $3: the build tree. In namespaces of mounts, processes and network.
ROOT = r"""
set -eu
top=$1
mount -t tmpfs none "$top/mnt"
mkdir "$top/mnt/upper" "$top/mnt/work" "$top/mnt/tree"
mount -t overlay overlay -o lowerdir=/,upperdir="$top/mnt/upper",workdir="$top/mnt/work" "$top/mnt/tree"
tree=$top/mnt/tree
mount -t proc proc "$tree/proc"
mount --bind /dev "$tree/dev"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$tree/dev/pts"
mount -t tmpfs none "$tree/dev/shm"
mount -t tmpfs none "$tree/tmp"
mount -t tmpfs none "$tree/run"
mkdir -p "$tree/src" "$tree/tree" "$tree/steps"
mount --bind "$2" "$tree/src"
mount --bind "$3" "$tree/tree"
cp "$top/steps" "$top/apt-get" "$tree/steps"
ip link set lo up
exec chroot "$tree" bash /steps/steps
"""


@unittest.skipUnless(IMAGE, "only as `deploy_test.py BUILD SOURCE image`")
class Image(unittest.TestCase):
    def test_the_steps_of_the_image_and_the_job(self):
        for tool in ("/usr/sbin/sshd", "/usr/bin/ssh", "/usr/bin/ip"):
            if not os.path.exists(tool):
                self.skipTest(f"no {tool}")
        folder = tempfile.mkdtemp(prefix="herald-image-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        os.mkdir(folder + "/mnt")
        if run("unshare", "-mnp", "--fork", "true").returncode != 0:
            self.skipTest("no root, or no namespaces")
        self.write(folder + "/steps", self.script())
        self.write(folder + "/apt-get", "#!/bin/sh\nexit 0\n")  # the packages are those of the machine
        done = run("unshare", "-mnp", "--fork", "--kill-child", "sh", "-c", ROOT, "sh", folder, SOURCE, BUILD)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        said = done.stdout.partition("== the job\n")[2]
        self.assertEqual(sorted(re.findall(r"(\d) of (\d)", said)), [(str(r), "4") for r in range(4)], done.stdout + done.stderr)

    @staticmethod
    def write(path, text):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)

    @staticmethod
    def script():
        """Both stages in one root: what is copied from the first to the second is there already."""
        lines = ["set -eux", "export HERALD_TREE=/tree HOME=~root LC_ALL=C", "PATH=/steps:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "mkdir -p /opt"]
        for kind, rest in steps(text_of("deploy/Containerfile")):
            if kind == "RUN":
                lines.append(f"( {rest} )")
            elif kind == "ENV":
                lines.append(f"export {rest.replace('PATH=', 'PATH=/steps:')}")
            elif kind == "CMD":
                image = re.findall(r'"([^"]*)"', rest)
        job = commands(text_of("deploy/mpijob.yaml"))
        assert job["worker"] == image, "the worker of the job is not what the image runs"
        keys = "$HOME/.ssh"
        lines += [
            f"rm -rf {keys} && mkdir -m 700 {keys} && ssh-keygen -q -t ed25519 -N '' -f {keys}/id_ed25519",
            f"cp {keys}/id_ed25519.pub {keys}/authorized_keys",
            "test -e /etc/ssh/ssh_host_ed25519_key || ssh-keygen -A",
            "printf '127.0.0.1 localhost\\n127.0.0.2 worker-0\\n127.0.0.3 worker-1\\n' > /etc/hosts",
            "mkdir -p /etc/mpi /run/sshd && printf 'worker-0 slots=2\\nworker-1 slots=2\\n' > /etc/mpi/hostfile",
            " ".join(job["worker"]) + " 2>/tmp/sshd.log &",
            "for i in $(seq 100); do ssh -o ConnectTimeout=2 worker-1 true && break; sleep 0.2; done",
            "set +x; echo '== the job'",
            "export OMPI_MCA_orte_default_hostfile=/etc/mpi/hostfile",
            " ".join(job["launcher"]) + " || { code=$?; cat /tmp/sshd.log >&2; exit $code; }",
        ]
        return "\n".join(lines) + "\n"


if __name__ == "__main__":
    unittest.main(verbosity=2)
