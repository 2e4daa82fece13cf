#!/bin/bash
# down.sh DIR: end the cluster of up.sh DIR, its job steps and what they started. A throwaway
# cluster keeps no state, so the daemons are killed (an orderly stop takes 4 to 12 s); munged goes last.
D=$(cd "$1" && pwd) || exit 1

# Whether a process carries this cluster's SLURM_CONF and is a job's, or slurmstepd.
is_of_job() {
  grep -qzxF "SLURM_CONF=$D/slurm.conf" "/proc/$1/environ" 2>/dev/null || return 1
  grep -qzE '^SLURM_(JOB_ID|JOBID)=' "/proc/$1/environ" 2>/dev/null || grep -q slurmstepd "/proc/$1/comm" 2>/dev/null
}

for p in "$D"/slurmctld.pid "$D"/slurmd.*.pid; do [ -s "$p" ] && kill -9 "$(cat "$p")" 2>/dev/null; rm -f "$p"; done
for round in 1 2; do
  for e in /proc/[0-9]*; do
    pid=${e#/proc/}
    [ "$pid" != $$ ] && [ "$pid" != $PPID ] && is_of_job "$pid" && kill -9 "$pid" 2>/dev/null
  done
done
[ -s "$D/munge/pid" ] && kill "$(cat "$D/munge/pid")" 2>/dev/null
exit 0
