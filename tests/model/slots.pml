/* slots.pml - whose is a slot: the planner that looks for a free one, the writer that publishes to two groups,
 * members that free it, the parked flag and the kick between them.
 *
 * Planner and writer are two goroutines of the engine: the planner claims a slot, fills it and hands it over, the
 * writer stores READY into each group's word, one after the other, and reaps. What a group does between claim
 * and free is ring.pml's; here a member takes any READY word of its group. One d_step is one shared access.
 * No 50 ms net unless NET is defined.
 *
 *   NS slots, NT tickets, NM members: member m belongs to group m % 2. KILLS, STOPS: of members 0..KILLABLE-1
 * Deliberate bugs: the M_* switches.
 */
#define NG 2
#ifndef KILLS
#define KILLS 0
#endif
#ifndef STOPS
#define STOPS 0
#endif
#ifndef KILLABLE
#define KILLABLE 2
#endif
#define FREE 0
#define READY 1
#define HELD 2
#define DONE 3
#define GROUP_OF(m) ((m) % NG)
#define AT_WORD(g, s) ((g) * NS + (s))

byte state[NG * NS], owner[NG * NS]; /* the word of a slot in a group */
bool parked;                         /* header: the planner waits for a free slot */
bool space;                          /* the eventfds that wake it, and the writer's own word to it: level, coalesced */
bool in_hand[NS];                    /* engine's shadow: claimed, not yet published to every group */
chan filled = [NS] of { byte };      /* planner to writer, in ticket order */

bool run_ok[NM], killed[NM], stopped[NM], reaped[NM];
byte todo[NG * NS]; /* ghost: this group has not completed what the slot holds */
byte finished[NG];  /* ghost: tickets completed */
bool news;
#ifdef NET
#define NEWS news = 1
#else
#define NEWS skip
#endif

/* ---- engine: planner ---------------------------------------------------------------------------------- */

#define SCAN 0
#define SCAN_WORD 1
#define FILL 2
#define PARK 3
#define WAIT 4

inline next_slot() {
	s++; g = 0;
	if
	:: s < NS -> pc = SCAN
	:: s == NS && !again -> pc = PARK
	:: s == NS && again -> pc = WAIT
	fi
}

active proctype Planner() {
	byte pc, t, s, g;
	bool again; /* parked is set; this is the scan after it */
	do
	:: d_step { pc == SCAN && t < NT -> if :: in_hand[s] -> next_slot() :: else -> pc = SCAN_WORD fi }
	:: d_step { pc == SCAN_WORD -> /* F1: a load-acquire of the word in each group */
		if
		:: state[AT_WORD(g, s)] != FREE -> next_slot()
		:: else ->
			g++;
#ifdef M_ONE_GROUP /* bug: one group's word is taken for all */
			g = NG;
#endif
			if :: g == NG -> g = 0; pc = FILL :: else fi
		fi }
	:: d_step { pc == FILL ->
		assert(!in_hand[s]);
		g = 0; do :: g < NG -> assert(!todo[AT_WORD(g, s)] && state[AT_WORD(g, s)] == FREE); todo[AT_WORD(g, s)] = 1; g++ :: else -> break od;
		g = 0; in_hand[s] = 1; parked = 0; again = 0; t++; NEWS; filled!s; s = 0; pc = SCAN }
#ifdef M_PARK_LATE /* bug: parked is set after the last scan */
	:: d_step { pc == PARK -> parked = 1; s = 0; again = 1; pc = WAIT }
#else
	:: d_step { pc == PARK -> parked = 1; s = 0; again = 1; pc = SCAN } /* seq_cst, then scan once more */
#endif
	:: d_step { pc == WAIT && space -> space = 0; parked = 0; again = 0; s = 0; pc = SCAN } /* reads the eventfd */
	od
}

/* ---- engine: writer ------------------------------------------------------------------------------------- */

#define IDLE 0
#define WORDS 1
#define HANDS 2
#define NOTIFY 3
#define REAP 4
#define DUE(x) (x < NM && killed[x % NM] && !reaped[x % NM])

active proctype Writer() {
	byte pc, s, g, m;
	do
	:: d_step { pc == IDLE && nempty(filled) -> filled?s; g = 0; pc = WORDS }
	:: d_step { pc == WORDS ->
		state[AT_WORD(g, s)] = READY; g++; NEWS;
#ifdef M_HANDS_EARLY /* bug: handed back after the first group; its members may be done before the second */
		in_hand[s] = 0;
#endif
		if :: g == NG -> g = 0; pc = HANDS :: else fi }
	:: d_step { pc == HANDS -> in_hand[s] = 0; s = 0;
#ifdef M_HANDS_QUIET /* bug: every group may have freed it before: nobody else will kick */
		pc = IDLE }
#else
		pc = NOTIFY }
#endif
	:: d_step { pc == NOTIFY -> space = 1; NEWS; pc = IDLE }
	:: d_step { pc == IDLE && (DUE(0) || DUE(1) || DUE(2) || DUE(3)) ->
		m = 0; do :: !DUE(m) -> m++ :: else -> break od;
		g = GROUP_OF(m); reaped[m] = 1; s = 0; pc = REAP }
	:: d_step { pc == REAP ->
		do :: s < NS && owner[AT_WORD(g, s)] != m + 1 -> s++ :: else -> break od;
		if
		:: s < NS && state[AT_WORD(g, s)] == HELD -> state[AT_WORD(g, s)] = READY; owner[AT_WORD(g, s)] = 0
		:: s < NS && state[AT_WORD(g, s)] != HELD -> state[AT_WORD(g, s)] = FREE; owner[AT_WORD(g, s)] = 0
		:: s == NS -> s = 0; g = 0; m = 0; NEWS;
#ifdef M_KICKS_LOST /* bug: the dead may have freed a slot and not kicked */
			pc = IDLE
#else
			pc = NOTIFY
#endif
		fi }
	od
}

/* ---- members ---------------------------------------------------------------------------------------------- */

#define TAKE 0
#define USE 1
#define RELEASE 2
#define KICK 3
#define KICK2 4
#define KICK0 5
#define AT(x) run_ok[m] && pc == x

inline completed() { assert(todo[w]); todo[w] = 0; finished[g]++; NEWS }

proctype Member(byte m) {
	byte pc, g, w;
	bool kick;
	g = GROUP_OF(m);
	do
	:: d_step { AT(TAKE) && (state[AT_WORD(g, 0)] == READY || (NS > 1 && state[AT_WORD(g, 1 % NS)] == READY) || (NS > 2 && state[AT_WORD(g, 2 % NS)] == READY)) ->
		w = AT_WORD(g, 0); do :: state[w] != READY -> w++ :: else -> break od;
		state[w] = HELD; owner[w] = m + 1; NEWS; pc = USE }
	:: d_step { AT(USE) -> state[w] = DONE; completed(); pc = KICK0 } /* done, the memory stays leased */
#ifdef M_KICK_FIRST /* bug: looks at parked before it frees */
	:: d_step { AT(USE) -> kick = parked; pc = RELEASE }
	:: d_step { AT(KICK0) -> kick = parked; pc = RELEASE }
	:: d_step { AT(RELEASE) -> if :: state[w] == HELD -> completed() :: else fi; state[w] = FREE; owner[w] = 0; w = 0; pc = (kick -> KICK2 : TAKE); kick = 0 }
#else
	:: d_step { AT(USE) -> pc = RELEASE }
	:: d_step { AT(KICK0) -> pc = RELEASE }
	:: d_step { AT(RELEASE) -> if :: state[w] == HELD -> completed() :: else fi; state[w] = FREE; owner[w] = 0; w = 0; pc = KICK } /* F1 */
	:: d_step { AT(KICK) -> pc = (parked -> KICK2 : TAKE) } /* after a seq_cst fence */
#endif
	:: d_step { AT(KICK2) -> space = 1; pc = TAKE }
	od
}

/* ---- fate and verdict ---------------------------------------------------------------------------------------- */

#define ALIVE(x) (x < KILLABLE && x < NM && run_ok[x % NM])
#define VICTIM :: ALIVE(0) -> v = 0 :: ALIVE(1) -> v = 1 :: ALIVE(2) -> v = 2
active proctype Fate() {
	byte n, v;
	do
	:: atomic { n < KILLS -> if VICTIM fi; killed[v] = 1; run_ok[v] = 0; NEWS; n++; v = 0 }
	:: atomic { n < KILLS + STOPS && (STOPS > 0) -> if VICTIM fi; stopped[v] = 1; run_ok[v] = 0; n = (n < KILLS -> KILLS + 1 : n + 1); v = 0 }
	:: atomic { n = 0; break }
	od
}

/* Every ticket was filled and completed in every group. A stopped member keeps its one slot and its one ticket. */
active proctype Verdict() {
	byte i, kept;
	do
#ifdef NET
	:: atomic { timeout && news -> news = 0; space = 1 }
	:: atomic { timeout && !news ->
#else
	:: atomic { timeout ->
#endif
		i = 0;
		do
		:: i < NG * NS -> if :: state[i] == HELD && stopped[owner[i] - 1] -> kept++ :: else fi; i++
		:: else -> break
		od;
		assert(finished[0] + finished[1] + kept >= NG * NT);
		break }
	od
}

init {
	byte i;
	atomic {
		do
		:: i < NM -> run_ok[i] = 1; run Member(i); i++
		:: else -> break
		od;
		i = 0
	}
}
