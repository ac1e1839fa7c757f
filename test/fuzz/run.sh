#!/usr/bin/env bash
# Fuzzes the native decoder, then the native encoder, with libFuzzer under the address and undefined-behaviour sanitizers,
# each for SECONDS: test/fuzz/run.sh [SECONDS]. The decoder starts from the kept corpus; new inputs go to build/fuzz.
# Needs `npm ci` and clang++. `npm run test:sanitizers` runs both targets for a short time with g++ alone.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
seconds=${1:-300}

command -v clang++ > /dev/null || {
  echo "clang++ is not installed: libFuzzer is part of clang" >&2
  exit 1
}

simdjson=node_modules/simdjson/simdjson/src
native=src/codec/native
build=build/fuzz
mkdir -p "$build/corpus" "$build/encoder-corpus"

flags=(-std=c++17 -O1 -g -fno-omit-frame-pointer "-fsanitize=address,undefined" -fno-sanitize-recover=all -Wall -Wextra -Wno-psabi)
object=$build/simdjson.o
if [ ! -f "$object" ]; then
  clang++ -std=c++17 -O2 -g -fsanitize=address -w -c "$simdjson/simdjson.cpp" -o "$object"
fi
sources=()
for source in "$native"/*.cc; do
  case $(basename "$source") in
    addon.cc | js_*.cc) ;; # N-API
    *) sources+=("$source") ;;
  esac
done
clang++ "${flags[@]}" -fsanitize=fuzzer -isystem "$simdjson" -I "$native" \
  test/fuzz/decoder_fuzz.cc "${sources[@]}" "$object" -o "$build/decoder_fuzz"

"$build/decoder_fuzz" \
  -max_total_time="$seconds" -max_len=8192 -timeout=10 -dict=test/fuzz/cycle.dict -print_final_stats=1 \
  -artifact_prefix="$build/" "$build/corpus" test/fuzz/corpus

clang++ "${flags[@]}" -fsanitize=fuzzer -I "$native" \
  test/fuzz/encoder_fuzz.cc "$native/response_rows.cc" "$native/float_text.cc" -o "$build/encoder_fuzz"
"$build/encoder_fuzz" -max_total_time="$seconds" -max_len=4096 -timeout=10 -print_final_stats=1 \
  -artifact_prefix="$build/" "$build/encoder-corpus"
