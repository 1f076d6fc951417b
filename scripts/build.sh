#!/usr/bin/env bash
# Builds targets and says how far the build is: build.sh PRESET|FOLDER TARGET...
# A preset of CMakePresets.json is configured first and builds into build/PRESET. A FOLDER has a slash in its
# name and is already configured. CMAKE_BUILD_PARALLEL_LEVEL=N compiles N units at a time.
# The progress goes to standard error: on a terminal one line that changes, otherwise a line every 10 % or
# 30 s. What the compiler says is shown in full. The exit code is that of CMake.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

[[ $# -ge 2 ]] || {
  echo "usage: scripts/build.sh PRESET|FOLDER TARGET..." >&2
  exit 2
}
folder=$1
shift
targets=("$@")

if [[ $folder != */* ]]; then
  configured=$(cmake --preset "$folder" < /dev/null) || {
    code=$?
    printf '%s\n' "$configured" >&2
    exit "$code"
  }
  folder=build/$folder
fi
build=(cmake --build "$folder" --target "${targets[@]}")
[[ -f $folder/build.ninja ]] || exec "${build[@]}" # another generator has its own progress

# The steps that ninja would run now. A manifest of its own keeps ninja from first looking for new files, which
# is where a dry run would end.
list_steps() {
  printf 'include build.ninja\n' > "$folder/steps.ninja"
  NINJA_STATUS='' ninja -C "$folder" -f steps.ninja -n "${targets[@]}" 2> /dev/null | sed '/^ninja: /d'
}

# Reads steps and prints each after its expected cost in ms of a 2.3 GHz core: a constant per unit for its
# headers, and 8 ms per line of its sources. Sources for several SIMD targets and those that use Eigen cost more.
weigh_steps() {
  awk -v folder="$folder" '
    function read_source(name,    text, count, factor, extra, part) {
      factor = 1
      while ((getline text < name) > 0) {
        if (text ~ /^#include "\/.*\.cc"$/) {  # a unit that CMake wrote
          part = text
          gsub(/^#include "|"$/, "", part)
          extra += read_source(part)
          continue
        }
        ++count
        if (text ~ /hwy\/foreach_target\.h/) factor = 6
        else if (text ~ /^#include <(Eigen|Spectra)\//) extra = extra < 10000 ? 10000 : extra
        else if (text ~ /^#include "mfl\/.*-inl\.h"/) {
          split(text, part_of, "\"")
          part = part_of[2]
          while ((getline text < part) > 0) ++count
          close(part)
        }
      }
      close(name)
      return 8 * count * factor + extra
    }
    FILENAME != "-" {
      if ($1 == "build" && $3 ~ /^CXX_COMPILER__/) {
        gsub(/\$ /, "\001")  # a blank in a path
        object = $2
        source = $4
        sub(/:$/, "", object)
        gsub("\001", " ", object)
        gsub("\001", " ", source)
        source_of[object] = source
      }
      next
    }
    {
      object = $0
      cost = 200
      if (sub(/^Building CXX object /, "", object)) cost = 3000 + read_source(source_of[object])
      else if ($0 ~ /^Linking CXX (executable|shared)/) cost = 1000
      print cost, $0
    }' "$folder/build.ninja" -
}

count() {
  if (($1 == 1)); then printf '1 unit'; else printf '%d units' "$1"; fi
}

# exactly SECONDS: a time that was measured.
exactly() {
  if (($1 >= 60)); then printf '%d min %d s' $(($1 / 60)) $(($1 % 60)); else printf '%d s' "$1"; fi
}

# about SECONDS: an estimate, no more precise than it can be.
about() {
  if (($1 >= 90)); then
    printf 'about %d min' $((($1 + 30) / 60))
  elif (($1 >= 10)); then
    printf 'about %d s' $((($1 + 5) / 10 * 10))
  else
    printf 'a few seconds'
  fi
}

mark=$'\x1e' # starts the lines of ninja that say which step has ended
declare -A cost_of=()
total=0 units=0
done_cost=0 done_units=0 ended=0 running=0
left=0 estimated_at=0 # the seconds that were left at that second
patience=0            # how many of them may pass without the end of a step
cores=$(nproc)
jobs=${CMAKE_BUILD_PARALLEL_LEVEL:-$cores}
if ((jobs < cores)); then cores=$jobs; fi
terminal=no
if [[ -t 2 && ${TERM:-dumb} != dumb ]]; then terminal=yes; fi
drawn=no next_share=10 next_time=30

# Estimates the seconds left from the speed so far. The speed at which the costs were measured counts as if 5 %
# had been done at it, so that the first estimates are not noise; running steps count as half done.
estimate() {
  local remaining=$((total - done_cost)) expected=$((total / 20)) steps=$((${#cost_of[@]} - ended)) inside=0
  if ((steps > 0)); then inside=$((remaining / steps * (running < steps ? running : steps) / 2)); fi
  local worked=$((expected + done_cost + inside))
  left=$(((remaining - inside) * (expected / cores + SECONDS * 1000) / (worked > 0 ? worked : 1) / 1000))
  estimated_at=$SECONDS
  patience=$((steps > 0 ? 3 * left / steps + 1 : 0))
}

show() {
  local share=$((total > 0 ? done_cost * 100 / total : 0)) passed=$((SECONDS - estimated_at)) text
  if ((passed > patience)); then passed=$patience; fi # slower than expected: do not count down to zero
  text=$(about $((left - passed)))
  printf -v text '%3d %%, %d of %d units, %s left' "$share" "$done_units" "$units" "$text"
  if [[ $terminal == yes ]]; then
    local bar
    printf -v bar '%*s' $((share / 5)) ''
    printf '\r\033[K   [%-20s] %s' "${bar// /#}" "$text" >&2
    drawn=yes
  elif ((share >= next_share || SECONDS >= next_time)); then
    printf '   %s\n' "$text" >&2
    next_share=$((share / 10 * 10 + 10)) next_time=$((SECONDS + 30))
  fi
}

clear_line() {
  [[ $drawn == no ]] || printf '\r\033[K' >&2
  drawn=no
}

# A line of ninja: the end of a step, or what a command printed.
take_line() {
  if [[ $1 != "$mark"* ]]; then
    if [[ $1 != 'ninja: Entering directory '* && $1 != 'ninja: no work to do.' ]]; then
      clear_line
      printf '%s\n' "$1" >&2
    fi
    return 0
  fi
  local step cost
  read -r running step <<< "${1#"$mark"}"
  cost=${cost_of["$step"]:-}
  [[ -n $cost ]] || return 0
  ended=$((ended + 1)) done_cost=$((done_cost + cost))
  if [[ $step == 'Building '* ]]; then done_units=$((done_units + 1)); fi
  estimate
  show
}

report() {
  trap '' INT # ninja stops; what it says then is shown
  local line part=''
  while true; do
    if IFS= read -r -t 1 line; then
      take_line "$part$line"
      part=''
    elif (($? > 128)); then # a second without a line
      part+=$line
      if ((${#cost_of[@]} > 0)); then show; fi
    else
      break
    fi
  done
  clear_line
}

while read -r cost step; do
  cost_of["$step"]=$cost
  total=$((total + cost))
  if [[ $step == 'Building '* ]]; then units=$((units + 1)); fi
done < <(list_steps | weigh_steps)

SECONDS=0
if ((units > 0)); then
  estimate
  printf '   %s to compile, %s with %d at a time\n' "$(count "$units")" "$(about "$left")" "$cores" >&2
fi
code=0
NINJA_STATUS="$mark%r " "${build[@]}" 2>&1 < /dev/null | report || code=${PIPESTATUS[0]}
if ((code != 0)); then
  printf 'build.sh: the build failed with exit code %d; its errors are above\n' "$code" >&2
elif ((units > 0)); then
  printf '   compiled %s in %s\n' "$(count "$units")" "$(exactly "$SECONDS")" >&2
else
  printf '   up to date\n' >&2
fi
exit "$code"
