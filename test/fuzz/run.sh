#!/usr/bin/env bash
# Fuzzes the native decoder, then the native encoder, under the address and undefined-behaviour sanitizers, each for
# SECONDS: test/fuzz/run.sh [SECONDS]. SANITIZERS=thread looks for data races between the decoder's two threads instead.
# The decoder starts from the kept corpus; new inputs go to build/fuzz. Needs `npm ci`; installs clang from Debian if missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
seconds=${1:-300}
sanitizers=${SANITIZERS:-address,undefined}

if ! command -v clang++ > /dev/null; then
  apt-get update -q
  apt-get install -y -q clang
fi

simdjson=node_modules/simdjson/simdjson/src
native=src/codec/native
build=build/fuzz
mkdir -p "$build/corpus" "$build/encoder-corpus"

flags=(-std=c++17 -O1 -g -pthread -fno-omit-frame-pointer "-fsanitize=$sanitizers" -fno-sanitize-recover=all -Wall -Wextra -Wno-psabi)
object=$build/simdjson-${sanitizers%%,*}.o
if [ ! -f "$object" ]; then
  clang++ -std=c++17 -O2 -g "-fsanitize=${sanitizers%%,*}" -w -c "$simdjson/simdjson.cpp" -o "$object"
fi
# The fuzzer's own counters are written by both threads, so that looking for races does without them.
coverage=()
[ "$sanitizers" != thread ] || coverage=(-fno-sanitize-coverage=inline-8bit-counters,pc-table,indirect-calls,trace-cmp)
sources=()
for source in "$native"/*.cc; do
  case $(basename "$source") in
    addon.cc | js_*.cc) ;; # N-API
    *) sources+=("$source") ;;
  esac
done
clang++ "${flags[@]}" -fsanitize=fuzzer "${coverage[@]}" -isystem "$simdjson" -I "$native" \
  test/fuzz/decoder_fuzz.cc "${sources[@]}" "$object" -o "$build/decoder_fuzz"

CYCLE_PLAN=test/fuzz/cycle-plan.json "$build/decoder_fuzz" \
  -max_total_time="$seconds" -max_len=8192 -timeout=10 -dict=test/fuzz/cycle.dict -print_final_stats=1 \
  -artifact_prefix="$build/" "$build/corpus" test/fuzz/corpus

[ "$sanitizers" != thread ] || exit 0
clang++ "${flags[@]}" -fsanitize=fuzzer -I "$native" \
  test/fuzz/encoder_fuzz.cc "$native/response_rows.cc" "$native/float_text.cc" -o "$build/encoder_fuzz"
"$build/encoder_fuzz" -max_total_time="$seconds" -max_len=4096 -timeout=10 -print_final_stats=1 \
  -artifact_prefix="$build/" "$build/encoder-corpus"
