# SPDX-License-Identifier: BSD-3-Clause
"""Tells configure what it needs to know of this interpreter, as shell assignments; or, with exit code 1, why it will
not do.
usage: probe_python.py PREFIX"""
import importlib.util
import os
import platform
import shlex
import site
import sys
import sysconfig

OLDEST = (3, 10)


def obstacle(include):
    if sys.version_info < OLDEST:
        return "Python %s is older than %d.%d" % ((platform.python_version(),) + OLDEST)
    lacking = []
    if importlib.util.find_spec("numpy") is None:
        lacking.append("no NumPy")
    if not os.path.exists(os.path.join(include, "Python.h")):
        lacking.append("no Python.h")
    return " and ".join(lacking)


def package_folder(prefix):
    """Where this interpreter looks for packages under the prefix, else the usual place, relative to the prefix."""
    for folder in site.getsitepackages() if hasattr(site, "getsitepackages") else []:
        if os.path.dirname(folder).startswith(os.path.join(prefix, "lib")):
            return os.path.relpath(folder, prefix)
    return "lib/python%d.%d/site-packages" % sys.version_info[:2]


def main(prefix):
    include = sysconfig.get_path("include")
    why = obstacle(include)
    if why:
        print(why)
        return 1
    import numpy

    folders = dict.fromkeys([include, sysconfig.get_path("platinclude"), numpy.get_include()])
    answer = {
        "PYTHON": sys.executable,
        "PYTHON_CPPFLAGS": " ".join("-isystem " + folder for folder in folders),
        "pythondir": "${prefix}/" + package_folder(prefix),
        "lsc_python_version": platform.python_version(),
        "lsc_numpy_version": numpy.__version__,
    }
    for module in "h5py", "mpi4py", "pytest":
        answer["lsc_has_" + module] = "yes" if importlib.util.find_spec(module) else ""
    for name, value in answer.items():
        print("%s=%s" % (name, shlex.quote(value)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
