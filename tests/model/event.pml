/* event.pml - the event descriptor: arm on demand, signal, and nobody polls for ever.
 *
 * One member polls: acquire(0), and after TIMEOUT waits for its eventfd. Another takes batches too and completes
 * them. The engine publishes NT batches, signals armed members, and when a member kicks it because the lane is
 * armed, looks who is armed. The poller must see every batch that is left to it and the end of the epoch, which
 * comes when all are completed. With KILL the other member may die before any step and is reaped; what it held is
 * ready again. One d_step is one shared access; no net.
 */
byte ready;       /* published, unclaimed */
byte completed;   /* END is due when NT */
bool armed;       /* the poller's member.armed */
bool lane_armed;
bool event;       /* the poller's eventfd: level */
bool space;       /* the engine's */
bool fin;
bool killed, reaped, held; /* of the other member; held: it has claimed and not completed */

#define IDLE 0
#define SIGNAL 1
#define LOOK 2
#define CLEAR 3

active proctype Engine() {
	byte pc, t;
	bool was;
	do
	:: d_step { pc == IDLE && t < NT -> ready++; t++; pc = SIGNAL }
	:: d_step { pc == SIGNAL -> was = armed; armed = 0; if :: was -> event = 1 :: else fi; was = 0; pc = IDLE } /* exchange, then write */
#ifdef M_CLEAR_LATE /* bug: looks who is armed, then clears the lane's flag */
	:: d_step { pc == IDLE && space -> space = 0; pc = LOOK }
	:: d_step { pc == LOOK -> was = armed; armed = 0; if :: was -> event = 1 :: else fi; was = 0; pc = CLEAR }
	:: d_step { pc == CLEAR -> lane_armed = 0; pc = IDLE }
#else
	:: d_step { pc == IDLE && space -> space = 0; pc = CLEAR }
	:: d_step { pc == CLEAR -> lane_armed = 0; pc = SIGNAL }
#endif
	:: d_step { pc == IDLE && killed && !reaped ->
		reaped = 1;
		if :: held -> ready++; held = 0 :: else fi;
#ifdef M_DEATH_UNTOLD /* bug: the dead may have completed a batch and told nobody */
		pc = IDLE }
#else
		pc = SIGNAL }
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
#define AT(x) (polls || !killed) && pc == x

#ifdef M_DRAIN_LATE /* bug: arm, drain, look: swallows a signal */
#define FIRST ARM
#define AFTER_LANE DRAIN
#define AFTER_DRAIN TRY
#else
#define FIRST DRAIN
#define AFTER_LANE TRY
#define AFTER_DRAIN ARM
#endif

/* Both members; only member 0 polls by descriptor, the other looks whenever it likes. */
proctype Member(bool polls) {
	byte pc;
	bool asked;
	do
	:: d_step { AT(TRY) && (polls || ready > 0 || completed == NT) -> if :: ready > 0 -> ready--; held = held || !polls; asked = 0; pc = DONE :: else -> pc = TRY_END fi }
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
active proctype Fate() { if :: killed = 1 :: true fi }
#endif

active proctype Verdict() { atomic { timeout -> assert(fin) } }

init { atomic { run Member(1); run Member(0) } }
