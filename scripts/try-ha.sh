# Three PostgreSQL servers, three processes of one environment and HAProxy on this machine, in /tmp/try-ha (docs/high-availability.md).
# Source it in bash in a checkout, as a user other than root: `start` starts everything, `stop` stops and removes it, and without a word
# it sets the variables and the functions `serve NUMBER` and `follow STANDBY PRIMARY`.
export UNDERSTUDY_JOURNAL=postgres://postgres@127.0.0.1:5441,127.0.0.1:5442,127.0.0.1:5443/understudy
export UNDERSTUDY_ENVIRONMENT=rehearsal UNDERSTUDY_API_KEYS=try-high-availability UNDERSTUDY_ADMIN_TOKEN=try-the-admin-listener

serve() {
  bin/understudy serve --data-dir /tmp/try-ha/process$1 --port 900$1 --admin-port 910$1 > /tmp/try-ha/process$1.log 2>&1 &
  echo $! > /tmp/try-ha/process$1.pid
}

follow() {
  psql -h 127.0.0.1 -p 544$1 -U postgres \
    -c "alter system set primary_conninfo = 'host=127.0.0.1 port=544$2 user=postgres'" -c 'select pg_reload_conf()'
}

if [ "${1-}" = start ]; then
  mkdir /tmp/try-ha
  initdb --pgdata /tmp/try-ha/db1 --username postgres --auth trust --data-checksums > /dev/null
  cat >> /tmp/try-ha/db1/postgresql.conf <<'END'
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
port = 5441
cluster_name = 'db1'
synchronous_standby_names = 'ANY 1 (db1, db2, db3)'
END
  pg_ctl --pgdata /tmp/try-ha/db1 --log /tmp/try-ha/db1.log start
  for n in 2 3; do
    pg_basebackup --dbname 'host=127.0.0.1 port=5441 user=postgres' --pgdata /tmp/try-ha/db$n --write-recovery-conf --checkpoint fast
    printf "port = 544$n\ncluster_name = 'db$n'\n" >> /tmp/try-ha/db$n/postgresql.conf
    pg_ctl --pgdata /tmp/try-ha/db$n --log /tmp/try-ha/db$n.log start
  done
  createdb --host 127.0.0.1 --port 5441 --username postgres understudy
  bin/understudy journal migrate
  bin/understudy journal create rehearsal
  for n in 1 2 3; do serve $n; done
  sed -e 's/bind :443 .*/bind 127.0.0.1:9000/' -e 's/check port 8081/check/' \
    -e 's/understudy\([123]\) .*/understudy\1 127.0.0.1:900\1 port 910\1/' deploy/haproxy.cfg > /tmp/try-ha/haproxy.cfg
  haproxy -D -p /tmp/try-ha/haproxy.pid -f /tmp/try-ha/haproxy.cfg
elif [ "${1-}" = stop ]; then
  kill $(cat /tmp/try-ha/*.pid)
  for n in 1 2 3; do pg_ctl --pgdata /tmp/try-ha/db$n stop; done
  rm -r /tmp/try-ha
fi
