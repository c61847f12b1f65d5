# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds the Spack and conda recipes to the build that they describe.

    recipes.py [--self-test]

Both must parse, have the version of core/version.hpp, name every package that CMake looks for, with
the least version that CMake asks for, and pass only options that CMake has. The minima of the two
must agree. What EinDecompConfig.cmake looks for must be there for those who use the library, too.
`--self-test` breaks each rule in a copy and expects a complaint.
"""

import ast
import pathlib
import re
import shutil
import sys
import tempfile

SPACK = "spack/packages/eindecomp/package.py"
SPACK_REPO = "spack/repo.yaml"
CONDA = "conda/recipe.yaml"
CONFIG = "cmake/EinDecompConfig.cmake.in"
LOOKS_FOR = ["cmake/dependencies.cmake", CONFIG, "tools/CMakeLists.txt", "tests/CMakeLists.txt"]
OPTIONS = ["CMakeLists.txt", "cmake/dependencies.cmake"]
VERSION = "include/eindecomp/core/version.hpp"

# The names of a package of CMake's in Spack and in conda-forge.
NAMES = {
    "Boost": ("boost", "libboost-headers"),
    "Kokkos": ("kokkos", "kokkos"),
    "KokkosKernels": ("kokkos-kernels", "kokkos-kernels"),
    "MPI": ("mpi", "openmpi"),
    "CLI11": ("cli11", "cli11"),
    "fmt": ("fmt", "fmt"),
    "nlohmann_json": ("nlohmann-json", "nlohmann_json"),
    "doctest": ("doctest", "doctest"),
    "Python3": ("python", "python"),
    "CMake": ("cmake", "cmake"),
}
DIRECTIVES = {"version", "variant", "depends_on", "conflicts", "license"}


class Wrong(Exception):
    pass


# --- YAML ---------------------------------------------------------------------------------------
# Python has no parser of YAML, and the recipes need little of it: mappings, lists, and scalars on
# one line.


def scalar(text, where):
    if text[0] in "\"'":
        if len(text) < 2 or text[-1] != text[0] or text[0] in text[1:-1]:
            raise Wrong(f"{where}: the quotes do not match")
        return text[1:-1]
    if text[0] in "[]{}&*!|>%@`" or ": " in text or text.endswith(":"):
        raise Wrong(f"{where}: '{text}' needs quotes, or more YAML than recipes.py reads")
    if text in ("true", "false"):
        return text == "true"
    return int(text) if re.fullmatch(r"\d+", text) else text


def read_yaml(text, name):
    """The mappings, lists and scalars of a document."""
    lines = []
    for number, line in enumerate(text.splitlines(), 1):
        line = re.sub(r"(^|\s)#.*$", "", line).rstrip()
        if "\t" in line:
            raise Wrong(f"{name}:{number}: a tab")
        if line:
            lines.append([len(line) - len(line.lstrip()), line.lstrip(), f"{name}:{number}"])

    def block(at, indent):
        value = None
        while at < len(lines) and lines[at][0] >= indent:
            depth, rest, where = lines[at]
            if depth != indent:
                raise Wrong(f"{where}: is indented by {depth}, not {indent}")
            if rest.startswith("- "):
                value = [] if value is None else value
                lines[at][:2] = [indent + 2, rest[2:].lstrip()]
                if not isinstance(value, list):
                    raise Wrong(f"{where}: a list within a mapping")
                if re.match(r"[\w-]+:( |$)", rest[2:]):
                    item, at = block(at, indent + 2)
                else:
                    item, at = scalar(lines[at][1], where), at + 1
                value.append(item)
                continue
            value = {} if value is None else value
            match = re.fullmatch(r"([\w-]+):(?: +(.*))?", rest)
            if not match or not isinstance(value, dict):
                raise Wrong(f"{where}: neither 'key: value' nor '- item' in its place")
            key, inline = match.groups()
            if key in value:
                raise Wrong(f"{where}: '{key}' twice")
            at += 1
            if inline:
                value[key] = scalar(inline, where)
            elif at < len(lines) and lines[at][0] > indent:
                value[key], at = block(at, lines[at][0])
            else:
                raise Wrong(f"{where}: '{key}' has no value")
        return value, at

    return block(0, 0)[0]


# --- What CMake asks for ------------------------------------------------------------------------


def cmake_packages(texts, files):
    """The packages that these files look for, each with its least version or ""."""
    found = {}
    for file in files:
        text = re.sub(r"#.*", "", texts[file])
        pairs = re.findall(r"\b(?:find_package|find_dependency)\(\s*(\w+)(?: ([\d.]+))?", text)
        pairs += [(name, "") for name in re.findall(r"\b(\w+)\|\w+", text)]
        for name, version in pairs:
            if name not in NAMES:
                raise Wrong(f"{file}: {name} is looked for, and recipes.py has no name for it in "
                            "Spack and conda")
            if version and found.get(name, version) not in ("", version):
                raise Wrong(f"{file}: {name} is looked for from {version}, elsewhere from "
                            f"{found[name]}")
            found[name] = version or found.get(name, "")
    return found


# --- The recipes --------------------------------------------------------------------------------


def spack_recipe(text):
    """(the version, {package: (least version, types)}, {option: variant or None})"""
    tree = ast.parse(text, SPACK)
    compile(tree, SPACK, "exec")
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    if [node.name for node in classes] != ["Eindecomp"]:
        raise Wrong(f"{SPACK}: Spack looks for one class, Eindecomp")
    recipe = classes[0]
    if "CMakePackage" not in [base.id for base in recipe.bases]:
        raise Wrong(f"{SPACK}: the class is no CMakePackage")
    if not ast.get_docstring(recipe):
        raise Wrong(f"{SPACK}: the class has no description")

    versions, packages, variants, conditions = [], {}, {"cuda"}, []
    in_class = [node for node in recipe.body if not isinstance(node, ast.FunctionDef)]
    for call in [node for part in in_class for node in ast.walk(part)]:
        if not (isinstance(call, ast.Expr) and isinstance(call.value, ast.Call)):
            continue
        call = call.value
        if call.func.id not in DIRECTIVES:
            raise Wrong(f"{SPACK}:{call.lineno}: {call.func.id} is no directive known here")
        keywords = {word.arg: word.value for word in call.keywords}
        if "when" in keywords:
            conditions += [(node.value, call.lineno) for node in ast.walk(keywords["when"])
                           if isinstance(node, ast.Constant)]
        first = call.args[0]
        if not isinstance(first, ast.Constant):
            continue
        if call.func.id == "version":
            versions.append(first.value)
        elif call.func.id == "variant":
            variants.add(first.value)
        elif call.func.id == "depends_on":
            match = re.match(r"([a-z0-9-]+)(?:@([\d.]+):)?", first.value)
            name, least = match.groups()
            types = ast.literal_eval(keywords["type"]) if "type" in keywords else "link"
            known = packages.get(name, (None, types))
            packages[name] = (least or known[0], types)
    for condition, line in conditions:
        for name in re.findall(r"[+~](\w+)", condition):
            if name not in variants:
                raise Wrong(f"{SPACK}:{line}: when '{condition}', and there is no variant {name}")

    options = {}
    for call in [node for node in ast.walk(recipe) if isinstance(node, ast.Call)]:
        if isinstance(call.func, ast.Attribute) and call.func.attr.startswith("define"):
            from_variant = call.func.attr == "define_from_variant"
            options[call.args[0].value] = call.args[1].value if from_variant else None
    for option, variant in options.items():
        if variant and variant not in variants:
            raise Wrong(f"{SPACK}: {option} is set from a variant {variant} that there is not")
    if len(versions) != 1:
        raise Wrong(f"{SPACK}: {len(versions)} versions")
    return versions[0], packages, options


def conda_items(items):
    for item in items:
        yield item["then"] if isinstance(item, dict) else item


def conda_recipe(text):
    """(the version, {package: (least version, sections)}, options)"""
    recipe = read_yaml(text, CONDA)
    for member, kind in (("context", dict), ("package", dict), ("source", dict), ("build", dict),
                         ("requirements", dict), ("tests", list), ("about", dict)):
        if not isinstance(recipe.get(member), kind):
            raise Wrong(f"{CONDA}: {member} is missing, or is no {kind.__name__}")
    if recipe.get("schema_version") != 1 or recipe["package"].get("name") != "eindecomp":
        raise Wrong(f"{CONDA}: is for schema_version 1 and the package eindecomp")
    packages = {}
    for section, items in recipe["requirements"].items():
        for item in conda_items(items):
            match = re.fullmatch(r"([a-z0-9_-]+)(?: >=([\d.]+))?", item)
            if match:
                name, least = match.groups()
                known, sections = packages.get(name, (least, set()))
                if known != least:
                    raise Wrong(f"{CONDA}: {name} has two minima, {known} and {least}")
                packages[name] = (least, sections | {section})
            elif not item.startswith("${{ compiler("):
                raise Wrong(f"{CONDA}: '{item}' is neither a package nor a compiler")
    script = " ".join(conda_items(recipe["build"]["script"]))
    return recipe["context"].get("version"), packages, re.findall(r"-D(\w+)=", script)


# --- Together -----------------------------------------------------------------------------------


def check(root):
    """What is wrong with the recipes of a source tree, in sentences."""
    try:
        texts = {name: (root / name).read_text() for name in
                 {SPACK, SPACK_REPO, CONDA, VERSION, *LOOKS_FOR, *OPTIONS}}
        if read_yaml(texts[SPACK_REPO], SPACK_REPO) != {"repo": {"namespace": "eindecomp"}}:
            raise Wrong(f"{SPACK_REPO}: is not the repository 'eindecomp'")
        spack_version, spack, spack_options = spack_recipe(texts[SPACK])
        conda_version, conda, conda_options = conda_recipe(texts[CONDA])
        asked = cmake_packages(texts, LOOKS_FOR)
        of_users = cmake_packages(texts, [CONFIG])
    except (Wrong, SyntaxError) as error:
        return [str(error)]
    least_cmake = re.search(r"cmake_minimum_required\(VERSION ([\d.]+)", texts["CMakeLists.txt"])
    asked["CMake"] = least_cmake[1]

    wrong = []
    version = ".".join(re.findall(r"EINDECOMP_VERSION_\w+ (\d+)", texts[VERSION]))
    for recipe, own in ((SPACK, spack_version), (CONDA, conda_version)):
        if own != version:
            wrong.append(f"{recipe}: version {own}, and {VERSION} has {version}")
    for name, least in asked.items():
        minima = []
        for recipe, packages, its_name in ((SPACK, spack, NAMES[name][0]),
                                           (CONDA, conda, NAMES[name][1])):
            if its_name not in packages:
                wrong.append(f"{recipe}: {its_name} is missing, and CMake looks for {name}")
                continue
            own, where = packages[its_name]
            minima.append(own)
            if least and own != least:
                wrong.append(f"{recipe}: {its_name} from {own}, and CMake asks for {least}")
            if name in of_users and not ("run" in where or where == "link"):
                wrong.append(f"{recipe}: {its_name} is not there for users of the library")
        if len(set(minima)) > 1:
            wrong.append(f"the recipes ask for {name} from {' and from '.join(map(str, minima))}")
    cmake = "".join(texts[name] for name in OPTIONS)
    for recipe, options in ((SPACK, spack_options), (CONDA, conda_options)):
        for option in options:
            declared = rf"option\({option} |set\({option} \w+ CACHE "
            if option.startswith("EINDECOMP_") and not re.search(declared, cmake):
                wrong.append(f"{recipe}: CMake has no option {option}")
    return wrong


# Each pair breaks a rule: in this file, this text becomes that, and the complaint has these words.
BREAKS = [
    (SPACK, 'depends_on("mpi", when="+mpi")', 'depends_on("mpi", when="+mpi"', "never closed"),
    (SPACK, "class Eindecomp(", "class EinDecomp(", "one class"),
    (SPACK, "(CMakePackage, CudaPackage)", "(CudaPackage)", "no CMakePackage"),
    (SPACK, '    variant("mpi"', '    varient("mpi"', "varient is no directive"),
    (SPACK, 'when="+mpi"', 'when="+MPI"', "no variant MPI"),
    (SPACK, '"EINDECOMP_BUILD_TOOLS", "tools"', '"EINDECOMP_BUILD_TOOLS", "tool"', "variant tool "),
    (SPACK, '"EINDECOMP_ENABLE_MPI"', '"EINDECOMP_WITH_MPI"', "no option EINDECOMP_WITH_MPI"),
    (SPACK, 'version("0.', 'version("9.', "version 9."),
    (SPACK, '    depends_on("mpi", when="+mpi")\n', "", "mpi is missing"),
    (SPACK, '    depends_on("doctest", type="test")\n', "", "doctest is missing"),
    (SPACK, "boost@1.70:", "boost@1.60:", "boost from 1.60"),
    (SPACK, "kokkos@3.4:", "kokkos@3.6:", "Kokkos from 3.6 and from 3.4"),
    (SPACK, 'depends_on("boost@1.70:")', 'depends_on("boost@1.70:", type="build")', "for users"),
    (SPACK_REPO, "namespace: eindecomp", "namespace eindecomp", "neither 'key: value'"),
    (SPACK_REPO, "namespace: eindecomp", "namespace: other", "not the repository"),
    (CONDA, '  version: "0.', '  version: "9.', "version 9."),
    (CONDA, '  version: "0.1.0"', '  version: "0.1.0', "quotes do not match"),
    (CONDA, "  name: eindecomp", "  name: other", "the package eindecomp"),
    (CONDA, "  name: eindecomp", "   name: eindecomp", "is indented by"),
    (CONDA, "  number: 0", "  number: 0\n  number: 1", "'number' twice"),
    (CONDA, "cmake >=3.25", "cmake >=3.20", "cmake from 3.20"),
    (CONDA, "    - fmt\n", "", "fmt is missing"),
    (CONDA, "  run:\n    - libboost-headers >=1.70\n", "  run:\n", "for users"),
    (CONDA, "  run:\n    - libboost-headers >=1.70\n", "  run:\n    - libboost-headers\n",
     "two minima"),
    (CONDA, "    - openmpi\n", "    - openmpi = 4\n", "neither a package"),
    (CONDA, "-DEINDECOMP_ENABLE_MPI=", "-DEINDECOMP_WITH_MPI=", "no option EINDECOMP_WITH_MPI"),
    (CONDA, "tests:\n", "test:\n", "tests is missing"),
    ("cmake/dependencies.cmake", "find_package(Boost 1.70", "find_package(Boost 1.80",
     "elsewhere from 1.80"),
    ("cmake/dependencies.cmake", "find_package(Boost 1.70 REQUIRED)",
     "find_package(Eigen3)", "Eigen3 is looked for"),
    (CONFIG, "find_dependency(MPI", "find_dependency(PETSc", "PETSc is looked for"),
    ("CMakeLists.txt", "cmake_minimum_required(VERSION 3.25)",
     "cmake_minimum_required(VERSION 3.28)", "asks for 3.28"),
    (VERSION, "EINDECOMP_VERSION_MINOR 1", "EINDECOMP_VERSION_MINOR 2", "has 0.2.0"),
]


def self_test(root):
    failures = []
    for name, text, broken, complaint in BREAKS:
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder)
            for file in {SPACK, SPACK_REPO, CONDA, VERSION, *LOOKS_FOR, *OPTIONS}:
                (copy / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(root / file, copy / file)
            before = (copy / name).read_text()
            (copy / name).write_text(before.replace(text, broken))
            said = check(copy) if text in before else ["the text is not there"]
            if not any(complaint in sentence for sentence in said):
                failures.append(f"{name} with '{broken}' for '{text}': {said or 'accepted'}")
    return failures


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    if sys.argv[1:] == ["--self-test"]:
        complaints = self_test(root)
    elif not sys.argv[1:]:
        complaints = check(root)
        try:
            import yaml  # where there is a whole parser, both read the same
        except ImportError:
            yaml = None
        for name in (SPACK_REPO, CONDA) if yaml and not complaints else ():
            text = (root / name).read_text()
            if yaml.safe_load(text) != read_yaml(text, name):
                complaints.append(f"{name}: PyYAML reads it otherwise than recipes.py")
    else:
        sys.exit(__doc__)
    if complaints:
        sys.exit("\n".join(complaints))


if __name__ == "__main__":
    main()
