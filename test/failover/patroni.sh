#!/bin/sh
# Starts run.ts in a network, mounts and process ids of its own: nothing that it starts outlives it, and the addresses of
# deploy/ are free. Needs root and Linux.
set -eu
cd "$(dirname "$0")/../.."
export FAILOVER_SITE=patroni
for program in patroni etcd haproxy ip unshare setpriv psql; do
  command -v "$program" >/dev/null || {
    echo "needs $program: apt-get install patroni etcd-server haproxy postgresql iproute2 util-linux"
    exit 1
  }
done
[ "$(id -u)" = 0 ] || {
  echo "needs root, for namespaces and file systems"
  exit 1
}
# bash as process 1 reaps the processes whose parent has ended.
exec scripts/pinned unshare --net --mount --pid --fork --kill-child --mount-proc \
  bash -c 'node --import ./test/sim/sources.mjs test/failover/run.ts; exit $?'
