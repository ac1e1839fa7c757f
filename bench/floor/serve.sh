#!/bin/sh
# Starts the floor server (server.ts) in the foreground, as an adapter of the duel, which sets PORT and DATA_DIR.
root=$(CDPATH='' cd "$(dirname "$0")/../.." && pwd -P) || exit 1
exec "$root/scripts/pinned" node --import "$root/bench/typescript.mjs" "$root/bench/floor/server.ts"
