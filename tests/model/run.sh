#!/usr/bin/env bash
# Check the protocol models with spin: every configuration must hold, every deliberate bug must be caught.
#
#   tests/model/run.sh [--quick] [PATTERN]
#
# --quick runs a slice of less than a minute; PATTERN keeps the rows whose name contains it. Each run uses one core
# and at most MODEL_MB megabytes (3000) and MODEL_SECONDS seconds (300). Exits 1 if a property fails, a bug survives
# or a run is cut short; 77 if spin or gcc is missing.
set -u
cd "$(dirname "$0")" || exit 1
here=$PWD
quick=0
pattern=
for arg in "$@"; do
	case $arg in
	--quick) quick=1 ;;
	-h | --help) sed -n '2,8s/^# \{0,1\}//p' "$here/run.sh"; exit 0 ;;
	-*) echo "model: unknown option \"$arg\"; see --help" >&2; exit 2 ;;
	*) pattern=$arg ;;
	esac
done
for tool in spin gcc; do
	command -v "$tool" >/dev/null || { echo "model: skipped: no $tool; apt-get install spin gcc" >&2; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0 rows=0 states_sum=0

# explore MODEL FLAG... : leaves states, seconds and, when a property fails, error. ENDLESS=1 looks for runs
# that never end instead of for failed assertions.
explore() {
	local model=$1 mode="-DSAFETY" options="-E"
	shift
	[ "${ENDLESS:-0}" = 1 ] && mode="-DNP" options="-E -l"
	rm -rf "$work/run" && mkdir "$work/run" && cd "$work/run" || exit 1
	states=0 seconds=0 error=
	if ! spin -a "$@" "$here/$model.pml" >log 2>&1 ||
		! gcc -w "${O:--O2}" $mode -DCOLLAPSE -DNOREDUCE -DMEMLIM="${MODEL_MB:-3000}" -o pan pan.c >>log 2>&1; then
		error="does not build: $(tail -1 log)"
		return
	fi
	timeout "${MODEL_SECONDS:-300}" ./pan -m1000000 $options >out 2>&1
	local rc=$?
	states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' out)
	states=$(printf '%.0f' "${states:-0}")
	seconds=$(sed -n 's/.*elapsed time \([0-9.]*\) seconds.*/\1/p' out)
	error=$(sed -n 's/^pan:1: //p' out | head -1)
	if [ -z "$error" ] && { [ $rc -ne 0 ] || ! grep -q 'errors: 0' out || grep -qE 'too small|out of memory|not completed' out; }; then
		error="cut short (exit $rc)"
	fi
}

bug_optimize=-O1
[ $quick = 1 ] && O=-O1 bug_optimize=-O0

wanted() { # QUICK NAME
	{ [ $quick = 0 ] || [ "$1" = q ]; } && [[ $2 == *"$pattern"* ]]
}

holds() { # QUICK NAME MODEL FLAG...
	wanted "$1" "$2" || return
	local name=$2
	shift 2
	explore "$@"
	rows=$((rows + 1)) states_sum=$((states_sum + states))
	if [ -z "$error" ]; then
		printf '%-30s %10s %7ss  holds\n' "$name" "$states" "$seconds"
	else
		printf '%-30s %10s %7ss  FAILS: %s\n' "$name" "$states" "$seconds" "$error"
		failed=$((failed + 1))
	fi
}

meaning() { # of a failed assertion, in words
	case $1 in
	*"cut short"* | *"does not build"*) return 1 ;;
	*"==consumed"*) echo "a ticket comes twice, or not at all" ;;
	*"content[s]=="*) echo "a stage gets a batch that is not whole" ;;
	*"handed[i]"*) echo "END before its epoch has left the stages" ;;
	*"consumed=="*) echo "a batch is kept back for ever" ;;
	*"state[((0*"*) echo "a batch is taken from a live worker" ;;
	*"(s<"*) echo "a batch passes the one before it" ;;
	*"staged[s]"*) echo "a batch on its way is overwritten" ;;
	*"non-progress"*) echo "a run that never ends" ;;
	*"registered[i]"*) echo "a dead member is forgotten" ;;
	*"fin[i]"*) echo "a live member waits for ever" ;;
	*"(fin||"*) echo "a polling member is never signalled" ;;
	*"EPOCH_OF"* | *"==epoch[m])&&"*) echo "END before its epoch is completed" ;;
	*"redo_tail"*) echo "a member rests while a batch of its epoch is there" ;;
	*"d_lane[s]==q"*) echo "a lane gets another lane's batch" ;;
	*"d_epoch[s]==epoch[m]"*) echo "a batch of another epoch is handed out" ;;
	*"completed[d_ticket[s]]"*) echo "a completed batch comes back" ;;
	*"attempts[s]"*) echo "a delivery is not counted" ;;
	*"lease[s]"*) echo "a leased slot is refilled, or has two holders" ;;
	*"word[s]=="*) echo "a live holder's batch is taken from it" ;;
	*"completed[i]"*) echo "a ticket is lost" ;;
	*"todo[w]"*) echo "a ticket is completed twice" ;;
	*"todo["*) echo "a slot in use is refilled" ;;
	*"finished[0]"*) echo "the engine waits for ever beside a free slot" ;;
	*"taken[g]"* | *"seen[g]"*) echo "a ticket comes twice, or not at all" ;;
	*"seen[0]"*) echo "a ticket is lost" ;;
	*"state[((g"*) echo "a batch is put where another one is" ;;
	*"entry["*) echo "an entry below the tail is not written" ;;
	*"guilty"*) echo "an innocent member is accused" ;;
	*) echo "$1" ;;
	esac
}

caught() { # QUICK BUG MODEL FLAG...
	wanted "$1" "$2" || return
	local name=$2 why
	shift 2
	O=$bug_optimize explore "$@" "-D$name" # most fall at once: compiling is the longer part
	rows=$((rows + 1))
	if [ -n "$error" ] && why=$(meaning "$error"); then
		printf '%-30s %10s %7ss  caught: %s\n' "$name" "$states" "$seconds" "$why"
	else
		printf '%-30s %10s %7ss  SURVIVES %s\n' "$name" "$states" "$seconds" "$error"
		failed=$((failed + 1))
	fi
}

two="-DNQ=1 -DNM=2 -DNJ=2 -DNS=2 -DNE=2"   # a shared group of two members, two slots
three="-DNQ=1 -DNM=2 -DNJ=2 -DNS=3 -DNE=4" # the same with room for two leases
lanes="-DNQ=2 -DNM=2 -DNJ=2 -DNS=2 -DNE=2"
e22="-DPER=2 -DNEP=2"                      # two epochs of two tickets
e31="-DPER=3 -DNEP=1"
e21="-DPER=2 -DNEP=1"

printf '%-30s %10s %8s  %s\n' configuration states time verdict
holds q shared ring $two $e22
holds . shared-fine ring $two $e22 -DFINE
holds q shared-kill-short ring $two $e21 -DKILLS=1
holds . shared-kill ring $two $e22 -DKILLS=1
holds . shared-kill-fine ring $two $e31 -DKILLS=1 -DFINE
holds . shared-kill-two-of-three ring -DNQ=1 -DNM=3 -DNJ=3 -DNS=1 -DNE=1 -DPER=1 -DNEP=1 -DKILLS=2 -DKILLABLE=2
holds . shared-join-kill ring -DNQ=1 -DNM=2 -DNJ=1 -DNS=2 -DNE=2 $e22 -DKILLS=1
holds . shared-no-redelivery ring $two $e31 -DKILLS=1 -DNO_REDELIVERY
holds . shared-drop ring $two $e22 -DDROPS=1
holds . shared-stop-net ring $two $e22 -DSTOPS=1 -DNET
holds q shared-stop ring $two $e21 -DSTOPS=1
holds . shared-stop-kill ring $two $e21 -DSTOPS=1 -DKILLS=1 -DNET
holds . shared-hang-up ring $two $e22 -DHANGUP
holds . shared-release-twice ring $two $e21 -DMISUSE
holds . shared-engine-dies ring $two $e22 -DENGINE_DIES -DNET
holds . shared-engine-dies-kill ring $two $e21 -DENGINE_DIES -DNET -DKILLS=1
holds . done-then-next ring $three $e22 -DSTYLE=1
holds . done-then-next-kill ring $three $e21 -DSTYLE=1 -DKILLS=1
holds . hold-one ring $three $e22 -DSTYLE=2
holds . hold-one-kill ring $three $e31 -DSTYLE=2 -DKILLS=1
holds q lanes ring $lanes $e22
holds . lanes-replace-dead ring -DNQ=2 -DNM=3 -DNJ=2 -DNS=2 -DNE=2 $e21 -DKILLS=1 -DKILLABLE=1
holds . lanes-two-threads ring -DNQ=2 -DNM=3 -DNJ=3 -DNS=2 -DNE=2 $e21
ENDLESS=1 holds . no-endless-run ring $two $e21 -DKILLS=1
ENDLESS=1 holds . no-endless-run-lanes ring $lanes $e22
holds . harmless-epoch-before-tail ring $two $e22 -DH_EPOCH_BEFORE_TAIL
holds . harmless-desc-before-entry ring $two $e22 -DH_DESC_BEFORE_ENTRY
holds q slots slots -DNS=2 -DNM=2 -DNT=4
holds . slots-one-left slots -DNS=1 -DNM=3 -DNT=3 -DKILLS=1 -DKILLABLE=1
holds . slots-kill slots -DNS=2 -DNM=3 -DNT=3 -DKILLS=1 -DKILLABLE=1
holds . slots-stop-net slots -DNS=2 -DNM=3 -DNT=4 -DSTOPS=1 -DKILLABLE=1 -DNET
holds q stage stage -DNG=1 -DNW=2 -DNS=2 $e22 -DKILLS=1
holds . stage-kill-two stage -DNG=1 -DNW=3 -DNS=3 $e22 -DKILLS=2 -DKILLABLE=2
holds . stages-kill stage -DNG=2 -DNW=3 -DNS=2 $e22 -DKILLS=1 -DKILLABLE=1
holds . stages-kill-two stage -DNG=2 -DNW=4 -DNS=2 $e21 -DKILLS=2
holds . stages-fail-kill stage -DNG=2 -DNW=3 -DNS=3 $e31 -DKILLS=1 -DKILLABLE=1 -DFAILS=1
holds q event event -DNT=4
holds q event-kill event -DNT=4 -DKILL
holds . event-stop-tick event -DNT=4 -DSTOP
holds q adopt adopt -DNS=2 -DNT=4 -DKILLS=2
holds . adopt-one-slot adopt -DNS=1 -DNT=4 -DKILLS=3
holds q adopt-ready adopt -DNS=2 -DNT=4 -DKILLS=1 -DAHEAD=1
holds . adopt-ready-two adopt -DNS=2 -DNT=5 -DKILLS=2 -DAHEAD=2
holds q restage restage -DNG=2 -DNW=2 -DNS=2 -DNT=3 -DKILLS=1
holds . restage-kill-two restage -DNG=2 -DNW=3 -DNS=2 -DNT=3 -DKILLS=2 -DWKILLS=1
holds . restage-fail-kill restage -DNG=2 -DNW=3 -DNS=2 -DNT=3 -DKILLS=1 -DWKILLS=1 -DFAILS=1
holds . restage-one-slot restage -DNG=2 -DNW=2 -DNS=1 -DNT=3 -DKILLS=3
holds q audit audit -DROUNDS=4
holds q audit-finds-greed audit -DROUNDS=2 -DGREEDY

printf '\n%-30s %10s %8s  %s\n' 'deliberate bug' states time verdict
caught . M_TWO_STEP ring $two $e22 -DKILLS=1
caught . M_HEAD_FIRST ring $two $e22 -DKILLS=1
caught . M_CLAIM_ANY ring $two $e22
caught q M_WORD_LATE ring $two $e22
caught . M_TAIL_EARLY ring $two $e22
caught . M_DESC_LATE ring $two $e22
caught q M_EPOCH_EARLY ring $two $e22
caught . M_LANE_SEQ ring -DNQ=2 -DNM=3 -DNJ=3 -DNS=3 -DNE=4 -DPER=4 -DNEP=2
caught . M_SEQ_REUSE ring $two $e22 -DKILLS=1
caught . M_REDO_AT_TAIL ring $two $e22 -DKILLS=1
caught . M_REDO_WORD_LATE ring $two $e22 -DKILLS=1
caught q M_NO_REAP ring $two $e22 -DKILLS=1
caught q M_REAP_HANGUP ring $two $e22 -DHANGUP
caught . M_REGISTER_LATE ring -DNQ=1 -DNM=2 -DNJ=1 -DNS=2 -DNE=2 $e22 -DKILLS=1
caught . M_WELCOME_NEXT ring -DNQ=1 -DNM=2 -DNJ=1 -DNS=2 -DNE=2 $e22 -DKILLS=1 -DKILLABLE=1
caught q M_END_CLAIMED ring $two $e22
caught . M_END_RELEASED ring $three $e22 -DSTYLE=1
caught q M_UNDONE_ALL ring $three $e22 -DSTYLE=2
caught . M_RELEASE_STORE ring $two $e22 -DMISUSE
caught . M_DONE_QUIET ring $two $e22
caught . M_REAP_QUIET ring $two $e22 -DKILLS=1
caught q M_WAKE_ORDER ring $two $e22
caught q M_NO_RECHECK ring $two $e22
caught . M_MEMBER_CLEARS ring $two $e22 -DSTOPS=1
caught . M_LOST_EARLY ring $two $e22 -DENGINE_DIES -DNET
ENDLESS=1 caught . M_SPIN ring $two $e21
caught q M_ONE_GROUP slots -DNS=2 -DNM=2 -DNT=4
caught q M_HANDS_EARLY slots -DNS=2 -DNM=2 -DNT=4
caught . M_HANDS_QUIET slots -DNS=1 -DNM=2 -DNT=3
caught . M_PARK_LATE slots -DNS=1 -DNM=2 -DNT=3
caught . M_KICK_FIRST slots -DNS=2 -DNM=2 -DNT=4
caught . M_KICKS_LOST slots -DNS=1 -DNM=3 -DNT=3 -DKILLS=1 -DKILLABLE=1
stages="-DNG=2 -DNW=4 -DNS=2 -DKILLS=1 -DKILLABLE=2"
caught q M_FREE_STAGED stage $stages $e22
caught q M_PASSING stage $stages $e22
caught . M_LAST_KICK stage $stages $e22
caught . M_HALF stage $stages $e22
caught . M_SAME_STAGE stage $stages $e22
caught . M_NO_KICK stage $stages $e22
caught q M_END_EARLY stage $stages $e22
caught . M_DONE_KEPT stage $stages $e22
caught . M_DRAIN_LATE event -DNT=3
caught . M_LANE_FIRST event -DNT=3
caught . M_CLEAR_LATE event -DNT=3
caught q M_NO_LOOK event -DNT=3
caught . M_KICK_NOBODY event -DNT=3
caught . M_DEATH_UNTOLD event -DNT=3 -DKILL
caught . M_TOLD_ELSEWHERE event -DNT=3 -DSTOP
caught q M_NEXT_EARLY adopt -DNS=2 -DNT=4 -DKILLS=1
caught q M_TICKET_FIRST adopt -DNS=2 -DNT=4 -DKILLS=1
caught q M_NO_REQUEUE adopt -DNS=2 -DNT=4 -DKILLS=1
caught q M_BY_WORD adopt -DNS=2 -DNT=4 -DKILLS=1
caught . M_ONE_LIST adopt -DNS=2 -DNT=4 -DKILLS=1 -DAHEAD=1
restage="-DNG=2 -DNW=3 -DNS=2 -DNT=3 -DKILLS=1 -DWKILLS=1 -DFAILS=1"
caught q M_WAY_LATE restage $restage
caught . M_NEXT_FIRST restage $restage
caught . M_SETTLED restage $restage
caught . M_OFF_EARLY restage $restage
caught . M_TOLD_BY_PUT restage $restage
caught . M_FREE_FIRST restage $restage
caught q M_SPOILED_STAYS restage $restage
caught q M_ONE_PASS audit -DROUNDS=3

printf '\n%d rows, %d states in the configurations, %d failed\n' "$rows" "$states_sum" "$failed"
[ "$rows" -gt 0 ] || { echo "model: no row matches \"$pattern\"" >&2; exit 2; }
[ "$failed" -eq 0 ]
