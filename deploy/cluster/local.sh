#!/bin/sh
# Two hubs that act as one on this machine, with PostgreSQL, NATS and a TCP load balancer, without
# containers. It needs parley, nats-server, socat, openssl and PostgreSQL.
#
#	deploy/cluster/local.sh FOLDER
#	PARLEY_API_KEY=$(cat FOLDER/admin.key) parley send --url http://127.0.0.1:4100 hello
#
# It runs until it is interrupted. The folder keeps the data for the next run. PARLEY_STORE names a
# database that exists; otherwise the script runs one, and PostgreSQL refuses to do so as root.
set -eu
dir=${1:?usage: local.sh FOLDER}
here=$(cd "$(dirname "$0")" && pwd)
: "${PARLEY:=parley}" "${PORT:=4100}" "${PORT_ONE:=4101}" "${PORT_TWO:=4102}" "${PORT_NATS:=4222}" "${PORT_DATABASE:=5433}"
mkdir -p "$dir/one" "$dir/two" "$dir/nats"
chmod 700 "$dir" "$dir/one" "$dir/two"
dir=$(cd "$dir" && pwd)

pids=
end() {
  trap - INT TERM EXIT
  # shellcheck disable=SC2086 # the ids are words
  [ -z "$pids" ] || kill $pids 2>/dev/null || true
  wait
  [ -z "${own_database-}" ] || pg_ctl -D "$dir/database" -m fast stop >/dev/null
}
trap end EXIT
trap 'exit 0' INT TERM

secret() { # NAME BYTES
  [ -s "$dir/$1.key" ] || (umask 077 && openssl rand -hex "$2" >"$dir/$1.key")
  cat "$dir/$1.key"
}
PARLEY_ADMIN_KEY=$(secret admin 24)
PARLEY_MASTER_KEY=$(secret master 32)
PARLEY_PUBLIC_URL=http://127.0.0.1:$PORT
NATS_URL=nats://127.0.0.1:$PORT_NATS

if [ -z "${PARLEY_STORE-}" ]; then
  PATH=$PATH:$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -1)
  [ -d "$dir/database" ] || initdb -D "$dir/database" -U parley --auth=trust >/dev/null
  pg_ctl -D "$dir/database" -w -l "$dir/database.log" \
    -o "-p $PORT_DATABASE -h 127.0.0.1 -k '$dir'" start >/dev/null
  own_database=yes
  createdb -h 127.0.0.1 -p "$PORT_DATABASE" -U parley parley 2>/dev/null || true # it exists already
  PARLEY_STORE="postgres://parley@127.0.0.1:$PORT_DATABASE/parley?sslmode=disable"
fi
export PARLEY_ADMIN_KEY PARLEY_MASTER_KEY PARLEY_PUBLIC_URL NATS_URL PARLEY_STORE

nats-server --addr 127.0.0.1 --port "$PORT_NATS" --jetstream --store_dir "$dir/nats" >"$dir/nats.log" 2>&1 &
pids="$pids $!"

hub() { # NAME PORT
  HUB_ID=$1 "$PARLEY" serve --config "$here/parley.yaml" --data "$dir/$1" --listen "127.0.0.1:$2" >"$dir/$1.log" 2>&1 &
  pids="$pids $!"
  echo $! >"$dir/$1.pid"
}
hub one "$PORT_ONE"
hub two "$PORT_TWO"

# Each connection goes to one of the hubs by the number of its process, and to the other one if that
# hub does not listen.
cat >"$dir/connect" <<END
#!/bin/sh
to() { exec socat -t 3600 - "TCP:127.0.0.1:\$1,connect-timeout=2"; }
if [ \$((\$\$ % 2)) = 0 ]; then first=$PORT_ONE second=$PORT_TWO; else first=$PORT_TWO second=$PORT_ONE; fi
socat -u /dev/null "TCP:127.0.0.1:\$first,connect-timeout=2" 2>/dev/null && to "\$first"
to "\$second"
END
chmod 700 "$dir/connect"
(cd "$dir" && exec socat TCP-LISTEN:"$PORT",bind=127.0.0.1,fork,reuseaddr EXEC:./connect 2>balancer.log) &
pids="$pids $!"

for port in "$PORT_ONE" "$PORT_TWO"; do
  until "$PARLEY" health --url "http://127.0.0.1:$port" >/dev/null 2>&1; do
    # shellcheck disable=SC2086
    kill -0 $pids 2>/dev/null || { echo "a server has ended; its log is in $dir" >&2; exit 1; }
    sleep 0.2
  done
done
echo "ready: http://127.0.0.1:$PORT; the administrator's key is in $dir/admin.key"
wait
