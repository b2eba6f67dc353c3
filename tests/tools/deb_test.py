#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What could go wrong: lintian complains; a package misses a file, or takes one of another MPI; alternatives do not switch,
or stay after removal; programs built with the packages do not run; a tarball misses files or differs each time.

The packages are installed in an overlay of this machine's root (its changes are thrown away), beside its other MPI
libraries; without root they are unpacked into a folder and used from there."""
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD, SOURCE = sys.argv[1:3]
del sys.argv[1:]
PACKAGES = ("libherald-mpi", "libherald-mpi-dev", "herald-mpi-bin")

# In the new root. Each line must succeed; `!` marks those that must fail.
STEPS = r"""
set -eux
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/ DEBIAN_FRONTEND=noninteractive LC_ALL=C
unset MANPATH LD_LIBRARY_PATH || true
before=$(readlink -f /usr/bin/mpicc || true)
dpkg -i /packages/*.deb
test -z "$before" || test "$(readlink -f /usr/bin/mpicc)" = "$before"
mpicc.herald /usr/share/doc/libherald-mpi-dev/examples/hello.c -o /tmp/hello
mpiexec.herald -n 3 /tmp/hello | sort > /tmp/out
test $(grep -c 'of 3' /tmp/out) = 3
readelf -d /tmp/hello | grep -q 'libmpi_abi.so.1'
herald info > /dev/null
update-alternatives --set mpi /usr/bin/mpicc.herald
update-alternatives --set mpirun /usr/bin/mpirun.herald
triplet=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
update-alternatives --set mpi-$triplet /usr/lib/$triplet/herald/include
mpicc /usr/share/doc/libherald-mpi-dev/examples/hello.c -o /tmp/hello2
mpicxx -x c++ -c -o /tmp/x.o - < /dev/null
mpirun -n 2 /tmp/hello2
mpiexec --version | grep -q Herald
test -e /usr/include/$triplet/mpi/mpi.h
gcc /usr/share/doc/libherald-mpi-dev/examples/hello.c $(pkg-config --cflags --libs mpi) -o /tmp/hello3
mpiexec -n 2 /tmp/hello3
if [ -e /usr/bin/mpifort.herald ] && command -v gfortran; then
  printf 'use mpi_f08\ncall MPI_Init()\ncall MPI_Finalize()\nend\n' > /tmp/f.f90
  mpifort /tmp/f.f90 -o /tmp/f && mpiexec -n 2 /tmp/f
fi
for page in mpicc.herald.1 mpiexec.herald.1 herald.1; do test -s /usr/share/man/man1/$page.gz; done
test -s /usr/share/man/man3/MPI_Send.herald.3.gz
zgrep -q '^\.so man1/mpicc.herald.1' /usr/share/man/man1/mpicxx.herald.1.gz || man -l /usr/share/man/man1/mpicxx.herald.1.gz > /dev/null
dpkg -r herald-mpi-bin libherald-mpi-dev libherald-mpi
test ! -e /usr/lib/$triplet/herald/bin
test ! -e /usr/bin/mpicc.herald
! update-alternatives --query mpi | grep herald
test -z "$before" || test "$(readlink -f /usr/bin/mpicc)" = "$before"
echo installed and removed
"""

OVERLAY = r"""
set -eu
top=$1
mount -t tmpfs none "$top/mnt"
mkdir "$top/mnt/upper" "$top/mnt/work" "$top/mnt/tree"
mount -t overlay overlay -o lowerdir=/,upperdir="$top/mnt/upper",workdir="$top/mnt/work" "$top/mnt/tree"
for dir in proc dev dev/shm; do mount --bind "/$dir" "$top/mnt/tree/$dir"; done
mount -t tmpfs none "$top/mnt/tree/tmp"
mkdir "$top/mnt/tree/packages"
cp "$top"/out/*.deb "$top/mnt/tree/packages"
cp "$top/steps" "$top/mnt/tree/packages/steps"
exec chroot "$top/mnt/tree" sh /packages/steps
"""


def run(*words, **more):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=1500, **more)


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        for tool in ("dpkg-buildpackage", "dh", "lintian"):
            if not shutil.which(tool):
                raise unittest.SkipTest(f"no {tool}")
        cls.dir = tempfile.mkdtemp(prefix="herald-deb-")
        cls.addClassCleanup(shutil.rmtree, cls.dir, ignore_errors=True)
        cls.done = run(SOURCE + "/scripts/deb", "--tree", BUILD, "--out", cls.dir + "/out")

    def test_lintian_is_silent(self):
        self.assertEqual(self.done.returncode, 0, self.done.stdout + self.done.stderr)
        self.assertEqual(self.done.stderr, "")
        names = sorted(os.path.basename(path).split("_")[0] for path in glob.glob(self.dir + "/out/*.deb"))
        self.assertEqual([name for name in names if not name.endswith("-dbgsym")], sorted(PACKAGES))

    def test_programs_run_with_the_packages(self):
        self.assertEqual(self.done.returncode, 0, self.done.stdout + self.done.stderr)
        os.makedirs(self.dir + "/mnt", exist_ok=True)
        with open(self.dir + "/steps", "w") as file:
            file.write(STEPS)
        tried = run("unshare", "-m", "sh", "-c", f"mount -t tmpfs none {self.dir}/mnt && mkdir {self.dir}/mnt/u "
                    f"{self.dir}/mnt/w {self.dir}/mnt/r && mount -t overlay o -o lowerdir=/,upperdir={self.dir}/mnt/u,"
                    f"workdir={self.dir}/mnt/w {self.dir}/mnt/r")
        if tried.returncode == 0:
            done = run("unshare", "-m", "sh", "-c", OVERLAY, "sh", self.dir)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn("installed and removed", done.stdout)
        else:
            self.unpacked()

    def unpacked(self):
        root = self.dir + "/root"
        for path in glob.glob(self.dir + "/out/*.deb"):
            self.assertEqual(run("dpkg-deb", "-x", path, root).returncode, 0)
        prefix = glob.glob(root + "/usr/lib/*/herald")[0]
        hello = self.dir + "/hello"
        example = root + "/usr/share/doc/libherald-mpi-dev/examples/hello.c"
        self.assertEqual(run(prefix + "/bin/mpicc", example, "-o", hello).returncode, 0)
        done = run(root + "/usr/bin/mpiexec.herald", "-n", "3", hello)
        self.assertEqual(done.stdout.count("of 3"), 3, done.stderr)


class Tarball(unittest.TestCase):
    def test_it_is_whole_and_the_same_each_time(self):
        with tempfile.TemporaryDirectory() as folder:
            files = []
            for name in "ab":
                done = run(SOURCE + "/scripts/tarball", "--out", f"{folder}/{name}")
                self.assertEqual(done.returncode, 0, done.stderr)
                with open(done.stdout.strip(), "rb") as file:
                    files.append(file.read())
            self.assertEqual(files[0], files[1])
            self.assertEqual(run("tar", "-xf", done.stdout.strip(), "-C", folder).returncode, 0)
            tree = glob.glob(folder + "/herald-*")[0]
            listed = run(SOURCE + "/scripts/tarball", "--list").stdout.split("\n")
            inside = run(tree + "/scripts/tarball", "--list").stdout.split("\n")
            self.assertEqual(listed, inside)
            for name in ("CMakeLists.txt", "Makefile", "scripts/build", "src/abi/api.tbl"):
                self.assertIn(name, listed)


if __name__ == "__main__":
    unittest.main(verbosity=2)
