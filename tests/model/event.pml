/* event.pml - the event descriptor: arm on demand, signal, and nobody polls for ever.
 *
 * One member polls: acquire(0), and after TIMEOUT waits for its eventfd. Another takes batches too and completes
 * them. The engine publishes NT batches; its ringer, woken by a publish or by a member's kick that finds the lane
 * armed, signals the members that are armed. The poller must see what is left to it and the end of the epoch, due
 * when all are completed. One d_step is one shared access.
 *
 *   KILL: the other member may die before any step; it is reaped, and what it held is ready again
 *   STOP: it may stop for ever; then, once nothing else can run, housekeeping has a look (its 50 ms tick)
 * Deliberate bugs: the M_* switches.
 */
byte ready;      /* published, unclaimed */
byte completed;  /* END is due when NT */
byte told;       /* completions that housekeeping has told of */
bool armed;      /* the poller's member.armed */
bool lane_armed;
bool event;      /* the poller's eventfd: level */
bool space;      /* the engine's */
bool bell;       /* the ringer's queue of one */
bool run_ok = 1, killed, reaped, held; /* of the other member; held: claimed and not completed */
bool fin;

#define IDLE 0
#define NEWS 1

/* The writer: publish, then look whether the lane is armed. A kick makes it look as well. */
active proctype Engine() {
	byte pc, t;
	do
	:: d_step { pc == IDLE && t < NT -> ready++; t++; pc = NEWS }
	:: d_step { pc == NEWS -> bell = bell || lane_armed; pc = IDLE }
	:: d_step { pc == IDLE && space -> space = 0; pc = NEWS }
	:: d_step { pc == IDLE && killed && !reaped ->
		reaped = 1;
		if :: held -> ready++; held = 0 :: else fi;
#ifndef M_DEATH_UNTOLD /* bug: the dead may have completed a batch and told nobody */
		bell = 1
#endif
		}
#ifdef STOP
#ifdef M_TOLD_ELSEWHERE /* bug: whoever looks at the words takes the completion for told */
	:: d_step { pc == IDLE && told != completed -> told = completed }
#endif
	:: d_step { timeout && told != completed -> told = completed; bell = 1 }
#endif
	od
}

#define CLEAR 1
#define LOOK 2
active proctype Ringer() { /* the lane's flag first, then who is armed: who arms meanwhile sets the lane's again */
	byte pc;
	bool was;
	do
	:: d_step { pc == IDLE && bell -> bell = 0; pc = CLEAR }
#ifdef M_CLEAR_LATE /* bug: the other order */
	:: d_step { pc == CLEAR -> was = armed; armed = 0; pc = LOOK }
	:: d_step { pc == LOOK -> lane_armed = 0; event = event || was; was = 0; pc = IDLE }
#else
	:: d_step { pc == CLEAR -> lane_armed = 0; pc = LOOK }
	:: d_step { pc == LOOK -> was = armed; armed = 0; pc = NEWS + LOOK }
	:: d_step { pc == NEWS + LOOK -> event = event || was; was = 0; pc = IDLE }
#endif
	od
}

#define TRY 0
#define TRY_END 1
#define DONE 2
#define TELL 3
#define TELL2 4
#define DRAIN 5
#define ARM 6
#define ARM_LANE 7
#define POLL 8
#define OVER 9
#define AT(x) (polls || run_ok) && pc == x

#ifdef M_DRAIN_LATE /* bug: arm, drain, look: swallows a signal */
#define FIRST ARM
#define AFTER_LANE DRAIN
#define AFTER_DRAIN TRY
#else
#define FIRST DRAIN
#define AFTER_LANE TRY
#define AFTER_DRAIN ARM
#endif

/* Both members; only one polls by descriptor, the other looks whenever it likes. */
proctype Member(bool polls) {
	byte pc;
	bool asked;
	do
	:: d_step { AT(TRY) && (polls || ready > 0 || completed == NT) ->
		if
		:: ready > 0 -> ready--; held = held || !polls; asked = 0; pc = DONE
		:: else -> pc = TRY_END
		fi }
	:: d_step { AT(TRY_END) ->
		if
		:: completed == NT -> pc = OVER; if :: polls -> fin = 1 :: else fi
		:: completed < NT && polls && asked -> asked = 0; pc = POLL /* TIMEOUT, armed */
		:: completed < NT && polls && !asked -> asked = 1; pc = FIRST
		:: else -> pc = TRY
		fi }
	:: d_step { AT(DRAIN) -> event = 0; pc = AFTER_DRAIN }
#ifdef M_LANE_FIRST /* bug: the lane first, then itself */
	:: d_step { AT(ARM) -> lane_armed = 1; pc = ARM_LANE }
	:: d_step { AT(ARM_LANE) -> armed = 1; pc = AFTER_LANE }
#else
	:: d_step { AT(ARM) -> armed = 1; pc = ARM_LANE }
#ifdef M_NO_LOOK /* bug: armed, then TIMEOUT without another look */
	:: d_step { AT(ARM_LANE) -> lane_armed = 1; asked = 0; pc = POLL }
#else
	:: d_step { AT(ARM_LANE) -> lane_armed = 1; pc = AFTER_LANE }
#endif
#endif
	:: d_step { AT(POLL) && event -> pc = TRY }
	:: d_step { AT(DONE) -> completed++; held = held && polls; pc = TELL }
#ifdef M_KICK_NOBODY /* bug: a completion kicks nobody */
	:: d_step { AT(TELL) -> pc = TRY }
#else
	:: d_step { AT(TELL) -> pc = (lane_armed -> TELL2 : TRY) }
	:: d_step { AT(TELL2) -> space = 1; pc = TRY }
#endif
	od
}

#ifdef KILL
active proctype Fate() { if :: d_step { killed = 1; run_ok = 0 } :: true fi }
#endif
#ifdef STOP
active proctype Fate() { if :: run_ok = 0 :: true fi }
#define QUIET (told == completed)
#else
#define QUIET 1
#endif

/* A stopped member that holds a batch holds up the end. */
active proctype Verdict() { atomic { timeout && QUIET -> assert(fin || (!run_ok && !killed && held)) } }

init { atomic { run Member(1); run Member(0) } }
