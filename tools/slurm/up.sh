#!/bin/bash
# up.sh DIR [NODES=2] [CPUS=4] [GPUS=2]: a throwaway Slurm cluster on loopback, no systemd, no cgroups.
set -eu
D=$(mkdir -p "$1"; cd "$1"; pwd); N=${2:-2}; CPUS=${3:-4}; GPUS=${4:-2}; U=$(id -un)
PORT=${SLURM_TEST_PORT:-16817}; export PATH=$PATH:/usr/sbin:/sbin
# Loopback only, where the name allows it.
case $(getent ahostsv4 "$(hostname -s)" | head -n 1) in 127.*) COMM=NoInAddrAny,NoCtldInAddrAny;; *) COMM=;; esac
mkdir -p "$D"/{munge,state,dev}; chmod 700 "$D/munge"; chmod 755 "$D" "$D/state"
for i in $(seq 0 $((GPUS-1))); do ln -sfn /dev/zero "$D/dev/gpu$i"; done    # any char device: slurmd only stat()s it
cat > "$D/slurm.conf" <<C
ClusterName=t
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmctldPort=$PORT
SlurmUser=$U
SlurmdUser=$U
AuthType=auth/munge
AuthInfo=socket=$D/munge/sock,cred_expire=5
StateSaveLocation=$D/state
SlurmctldPidFile=$D/slurmctld.pid
SlurmctldLogFile=$D/slurmctld.log
SlurmdPidFile=$D/slurmd.%n.pid
SlurmdLogFile=$D/slurmd.%n.log
SlurmdSpoolDir=$D/spool.%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
GresTypes=gpu
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc=$D/jobcomp.txt
SchedulerType=sched/builtin
SchedulerParameters=sched_interval=1,sched_min_interval=100000,batch_sched_delay=0
KillWait=2
SlurmdTimeout=5
SlurmctldTimeout=5
ReturnToService=2
MinJobAge=3600
${COMM:+CommunicationParameters=$COMM}
SlurmdParameters=config_overrides
NodeName=DEFAULT CPUs=$CPUS RealMemory=1000 Gres=gpu:$GPUS State=UNKNOWN
NodeName=n[1-$N] NodeHostname=$(hostname -s) NodeAddr=127.0.0.1 Port=$((PORT+1))-$((PORT+N))
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=DEFAULT Nodes=ALL MaxTime=INFINITE DefaultTime=10 State=UP
PartitionName=debug Default=YES PriorityTier=1
PartitionName=high PriorityTier=10 PreemptMode=OFF
C
echo "NodeName=n[1-$N] Name=gpu AutoDetect=off File=$D/dev/gpu[0-$((GPUS-1))]" > "$D/gres.conf"
export SLURM_CONF=$D/slurm.conf
[ -f "$D/munge/key" ] || mungekey -c -k "$D/munge/key"
munged --force --key-file="$D/munge/key" --socket="$D/munge/sock" --pid-file="$D/munge/pid" \
       --log-file="$D/munge/log" --seed-file="$D/munge/seed" --num-threads=2
slurmctld -c -f "$SLURM_CONF"
for i in $(seq 1 $N); do mkdir -p "$D/spool.n$i"; slurmd -f "$SLURM_CONF" -N "n$i"; done
for t in $(seq 200); do                                             # wait until all nodes are idle
  [ "$(sinfo -h -N -p debug -o %T 2>/dev/null | grep -cx idle)" = "$N" ] && { echo "export SLURM_CONF=$D/slurm.conf"; exit 0; }
  sleep 0.05
done
sinfo -N -l >&2 || true; tail -n 5 "$D"/*.log >&2; "$(dirname "$0")/down.sh" "$D"; exit 1
