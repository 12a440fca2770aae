# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the scripts of this folder share: messages, and how a preset is configured and built. Scripts source this file.

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
readonly root
readonly what_tidy_installs="clang-format and clang-tidy, about 30 MB"
readonly environment_error=4  # the exit code that rnnlab itself uses for an unfit device or environment

say() { printf '%s\n' "$*" >&2; }

# fail "what is wrong: got, wanted" "what to do next"...
fail() {
  printf 'error: %s\n' "$1" >&2
  shift
  (($# == 0)) || printf '  %s\n' "$@" >&2
  exit "$environment_error"
}

# A unit that includes LibTorch's headers takes about a gigabyte of memory to compile.
num_jobs() {
  local processors memory
  processors="$(nproc)"
  memory="$(awk '/^MemAvailable:/ {print int($2 / 1048576)}' /proc/meminfo)"
  echo $((memory < 1 ? 1 : memory < processors ? memory : processors))
}

has_gpu() { [[ "$(nvidia-smi -L 2>/dev/null)" == GPU* ]]; }

# Whether rnnlab is to be built for NVIDIA GPUs: as RNNLAB_CUDA says (ON or OFF), else where there is one, or where its
# packages are installed already.
wants_cuda() {
  case "${RNNLAB_CUDA:-}" in
    ON) return 0 ;;
    OFF) return 1 ;;
    "") has_gpu || [[ -e $root/.venv/cuda/bin/nvcc ]] ;;
    *) fail "RNNLAB_CUDA=$RNNLAB_CUDA: expected ON or OFF" "unset it: then it is ON where nvidia-smi finds a GPU" ;;
  esac
}

# Why GPUs are not used.
why_no_cuda() {
  if [[ ${RNNLAB_CUDA:-} == OFF ]]; then echo "RNNLAB_CUDA is OFF"; else echo "nvidia-smi finds no NVIDIA GPU here"; fi
}

# take_lock FD REASON: returns when this script alone holds the lock of the open file FD. Only the exit status 1 of flock
# means that another process holds it. Where flock does not work, the script continues without the lock.
take_lock() {
  local fd="$1" reason="$2" status=0
  flock --nonblock "$fd" || status=$?
  ((status != 1)) || say "$reason"
  while ((status == 1)); do
    status=0
    flock --timeout 15 "$fd" || status=$?
    ((status != 1)) || say "      it still runs"
  done
  ((status == 0)) || say "warning: flock does not work here (exit status $status): run no other script in this clone until this one ends"
}

# holder_of LOCK_FILE: "process 12 (test)", or "another script" if the file is empty or names a process that has ended.
holder_of() {
  local holder
  holder="$(<"$1")"
  if [[ -n $holder && -e /proc/${holder%% *} ]]; then echo "process $holder"; else echo "another script"; fi
}

# alone COMMAND...: runs it while no other script configures or builds in this clone. Two at the same time would compile
# the same files twice, into the same places. COMMAND may itself call `alone`.
alone() {
  [[ -z ${is_alone:-} ]] || { "$@"; return; }
  local lock="$root/build/.lock" status=0 fd is_alone=1
  mkdir -p "$root/build"
  exec {fd}>>"$lock"
  take_lock "$fd" "Waiting until $(holder_of "$lock") has built here"
  echo "$$ ($(basename "$0"))" >"$lock"
  "$@" {fd}>&- || status=$?
  exec {fd}>&-
  return "$status"
}

# log_to FILE COMMAND...
log_to() { "${@:2}" >"$1" 2>&1; }

# configure PRESET [cmake options]: CMake's own talk, LibTorch's warnings among it, goes to a log that is shown when it fails.
configure() {
  local preset="$1" log="$root/build/configure-$1.log"
  shift
  mkdir -p "$root/build"
  say "Configuring the preset '$preset', a few seconds"
  local cuda=OFF
  ! wants_cuda || [[ $preset == fuzz ]] || cuda=ON
  if ! alone log_to "$log" "$root/.venv/bin/cmake" --preset "$preset" "-DRNNLAB_CUDA=$cuda" "$@"; then
    cat "$log" >&2
    say "error: CMake could not configure the preset '$preset'; the whole output is above and in $log"
    exit 1
  fi
}

# num_steps PRESET [cmake --build arguments]: how many steps this build has. In a dry run, ninja looks for new files first
# and then ends without its other steps; a different name of its file prevents that.
num_steps() {
  local preset="$1" link="$root/build/$1/count-steps.ninja" separator=(--)
  shift
  [[ " $* " != *" -- "* ]] || separator=()
  ln -sf build.ninja "$link"
  "$root/.venv/bin/cmake" --build --preset "$preset" "$@" ${separator[@]+"${separator[@]}"} -n -f "$link" 2>/dev/null |
    grep -c '^\[' || true
  rm -f "$link"
}

# how_long STEPS: only the first build has this many steps.
how_long() { (($1 < 60)) || echo "; the first build takes 3 to 8 minutes on two cores"; }

build_alone() {
  local preset="$1" steps
  shift
  steps="$(num_steps "$preset" "$@")"
  ((steps < 20)) || say "Building in $steps steps by $(num_jobs) at a time$(how_long "$steps")"
  "$root/.venv/bin/cmake" --build --preset "$preset" --parallel "$(num_jobs)" "$@" >&2
}

# build PRESET [cmake --build arguments]: ninja says a line for each step.
build() { alone build_alone "$@"; }

# configure_and_build PRESET [cmake options] -- [cmake --build arguments]: no other script configures the preset between
# the two steps.
configure_and_build() {
  local preset="$1" options=()
  shift
  while (($# > 0)) && [[ $1 != -- ]]; do options+=("$1"); shift; done
  alone configure_then_build "$preset" "${@:2}"
}

# It uses the `options` of configure_and_build.
configure_then_build() {
  configure "$1" ${options[@]+"${options[@]}"}
  build "$@"
}

# build_generated PRESET: makes the files that sources include and the build generates.
build_generated() {
  local targets=(--target=rnnlab_git_revision --target=rnnlab_compiled_programs)
  ! wants_cuda || targets+=(--target=rnnlab_kernel_sources --target=rnnlab_step_sources)
  build "$1" "${targets[@]}"
}

# install_checked PYTHON REQUIREMENTS [pip options]: installs the wheels that the file names, and nothing that they depend
# on. pip compares each with the SHA-256 in the file before it unpacks it. Fails where pip does; ends the script where a
# wheel is a different one.
install_checked() {
  local interpreter="$1" requirements="$2" log status=0 wanted="is not the one in the repository (see pip's message above)"
  shift 2
  log="$(mktemp)"
  "$interpreter" -m pip --disable-pip-version-check install --quiet --no-cache-dir --no-deps --only-binary=:all: --require-hashes \
    "$@" -r "$requirements" 2>&1 </dev/null | tee "$log" >&2 || status=1
  if grep -q "DO NOT MATCH THE HASHES" "$log"; then
    rm -f "$log"
    fail "pip was given a different file for $(names_in "$requirements"): its SHA-256 $wanted. It was not installed" \
      "a proxy or a mirror that changes files: use another network, or set PIP_INDEX_URL to another mirror" \
      "if the same happens there: somebody has replaced the file. Do not install it by hand; report it (SECURITY.md)"
  fi
  rm -f "$log"
  return "$status"
}

# install_apart NAME WHAT: installs the packages of requirements-NAME.txt into .venv/NAME-packages, where only the tools that
# need them look. WHAT tells the user what is installed.
install_apart() {
  local folder="$root/.venv/$1-packages" requirements="$root/requirements-$1.txt"
  [[ -e $folder/made-from && "$(<"$folder/made-from")" == "$(sha256sum <"$requirements")" ]] && return
  say "Installing $2, once"
  rm -rf "$folder"
  install_checked "$root/.venv/bin/python" "$requirements" --target "$folder" || return 1
  sha256sum <"$requirements" >"$folder/made-from"
}

# must_install_apart NAME WHAT: ends the script if the packages cannot be installed.
must_install_apart() {
  install_apart "$@" || fail "pip could not install requirements-$1.txt (see pip's message above)" \
    "check the network, then run the same command again"
}

# Lets the Python of .venv import torch. Where torch belongs to another Python, .venv's Python looks there. Fails where pip or
# the compiler does.
make_torch_importable() {
  local requirements="$root/requirements-python.txt" mark="$root/.venv/installed/requirements-python" site torch
  torch="$(realpath "$root/.venv/torch")"
  site="$(echo "$root"/.venv/lib/python3*/site-packages)"
  if [[ $torch != "$(realpath "$site")"/* ]]; then
    dirname "$torch" >"$site/rnnlab_torch.pth"
    return
  fi
  if [[ ! -e $mark || "$(<"$mark")" != "$(sha256sum <"$requirements")" ]]; then
    say "Installing what \`import torch\` needs in Python, about 30 MB, once"
    install_checked "$root/.venv/bin/python" "$requirements" || return 1
    sha256sum <"$requirements" >"$mark"
  fi
  "$root/scripts/stand-in-for-cuda" "$torch/lib"
}

# names_in REQUIREMENTS: "torch==2.11.0" of a file with one requirement, else the file's name.
names_in() {
  local names
  mapfile -t names < <(grep -o '^[A-Za-z0-9][^ ;]*==[^ ;]*' "$1")
  if ((${#names[@]} == 1)); then echo "${names[0]}"; else echo "one of $(basename "$1")"; fi
}

# print_header SCRIPT: the comment it opens with is its help.
print_header() { sed -n '2,/^[^#]/ { /^# SPDX/d; s/^# \{0,1\}//p }' "$1"; }
